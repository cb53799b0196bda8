"""What a notebook shows of an estimator: scikit-learn's diagram, and below it what was fitted."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr

__all__ = ["Notebook", "fitted_sentence"]


class Notebook:
    """The diagram of parameters, with a sentence on the fit where there is one."""

    def _repr_html_inner(self) -> str:
        said = fitted_sentence(self)
        return f"{estimator_html_repr(self)}{f'<p>{escape(said)}</p>' if said else ''}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle


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
