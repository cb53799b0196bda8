"""What a notebook shows of an estimator: scikit-learn's diagram, and below it what was fitted."""

from __future__ import annotations

import math
import os
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr

__all__ = ["Notebook", "documentation", "fitted_sentence"]

HOME = "EWNMF_DOCS"
"""The environment variable that says where the documentation is: the address of the site, or of a built copy."""


class Notebook:
    """The diagram of parameters, with a sentence on the fit where there is one.

    Its question mark leads to the class's page where it is known where the documentation is, and is absent else.
    """

    _doc_link_module = "ewnmf"

    @property
    def _doc_link_template(self) -> str:
        home = documentation()
        return "" if home is None else f"{home}/api/generated/ewnmf.{{estimator_name}}.html"

    def _repr_html_inner(self) -> str:
        said = fitted_sentence(self)
        return f"{estimator_html_repr(self)}{f'<p>{escape(said)}</p>' if said else ''}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def documentation() -> str | None:
    """The address of the documentation: as the environment says, or the package's own; None where there is none."""
    home = os.environ.get(HOME) or _published()
    if not home or not home.startswith(("https://", "http://", "file://")):
        return None
    return escape(home.rstrip("/")).replace("{", "%7B").replace("}", "%7D")


@cache
def _published() -> str | None:
    """``Documentation`` of the package's project URLs; there is none before the first release."""
    try:
        urls = metadata("ewnmf").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    known = dict(url.split(", ", 1) for url in urls if ", " in url)
    return known.get("Documentation")


def fitted_sentence(estimator: Any) -> str:
    """Components, gamma, iterations and why gamma is what it is; nothing of an estimator that is not fitted."""
    model = getattr(estimator, "model_", estimator)
    if not hasattr(model, "components_") or not hasattr(model, "n_iter_"):
        return ""
    K, m = model.components_.shape
    gamma, path = getattr(model, "gamma_", None), getattr(model, "gamma_path_", None)
    strength = "" if gamma is None else ", gamma infinite" if gamma == math.inf else f", gamma {gamma:.4g}"
    reason = f" ({model.stop_reason_})" if hasattr(model, "stop_reason_") else ""
    why = "" if path is None else f" {path.verdict}"
    return f"Fitted: {K} components of {m} attributes{strength}, {model.n_iter_} iterations{reason}.{why}"
