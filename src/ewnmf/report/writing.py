"""From a model and data to the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf.damage.repair import check_false_alarms
from ewnmf.fitting.checks import check_count
from ewnmf.io.atomic import atomic_file
from ewnmf.plots.parameters import documented
from ewnmf.report.content import Asked, gather
from ewnmf.report.survey import MOST_ENTRIES

__all__ = ["check_installed", "render", "write"]

_TEMPLATES = Path(__file__).parent / "templates"
_DATA = "Rows are points, with the attributes of `fit`."
_PATH = ("path-like", "The file, which appears when it is complete; an older one is replaced.")


@documented(X=_DATA, path=_PATH)
def write(
    estimator: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    title: str = "EWNMF report",
    labels: Any = None,
    false_alarms: float = 0.01,
    kind: str = "auto",
    image_shape: Sequence[int] | None = None,
    feature_names: Any = None,
    point_names: Any = None,
    max_entries: int = MOST_ENTRIES,
) -> Path:
    """Write a report on what a fitted model makes of ``X`` (n x m): one HTML file that needs no network.

    It says what was found and how much is damaged, lets the reader pick points and see what is expected of them, and
    shows components, suspects, the choice of gamma and a map of the codes. It needs Jinja2, which comes with
    ``pip install "ewnmf[report]"``.

    $sections

    Returns
    -------
    Path
        The file.
    """
    page = render(
        estimator,
        X,
        title=title,
        labels=labels,
        false_alarms=false_alarms,
        kind=kind,
        image_shape=image_shape,
        feature_names=feature_names,
        point_names=point_names,
        max_entries=max_entries,
    )
    with atomic_file(path) as stream:
        stream.write(page.encode("utf-8", "replace"))
    return Path(path)


@documented(X=_DATA)
def render(
    estimator: Any,
    X: Any,
    *,
    title: str = "EWNMF report",
    labels: Any = None,
    false_alarms: float = 0.01,
    kind: str = "auto",
    image_shape: Sequence[int] | None = None,
    feature_names: Any = None,
    point_names: Any = None,
    max_entries: int = MOST_ENTRIES,
) -> str:
    """The page that `write` would write, as text.

    $sections

    Returns
    -------
    str
        HTML.
    """
    template = _template()
    X = X if hasattr(X, "shape") else np.asarray(X)
    _check(estimator, X, labels)
    asked = Asked(
        str(title),
        check_false_alarms(false_alarms),
        kind,
        image_shape,
        feature_names,
        point_names,
        labels,
        check_count("max_entries", max_entries),
    )
    page: str = template.render(**gather(estimator, X, asked))
    return page


def _check(estimator: Any, X: Any, labels: Any) -> None:
    if not hasattr(estimator, "_decided"):
        raise TypeError(f"{type(estimator).__name__} is no estimator of ewnmf, such as a fitted EWNMF or Repairer.")
    estimator._calibrated()
    if len(X.shape) != 2:
        raise ValueError(f"X has shape {tuple(X.shape)}; give a table with one row for each point.")
    if X.shape[0] == 0:
        raise ValueError("X has 0 points, and a report needs at least one.")
    if labels is not None and np.shape(labels) != (X.shape[0],):
        raise ValueError(f"labels has shape {np.shape(labels)}, and X has {X.shape[0]} points; give one for each.")


def check_installed() -> None:
    """Refuse where Jinja2 is missing."""
    _template()


@lru_cache(maxsize=1)
def _template() -> Any:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ImportError('ewnmf.report needs Jinja2: pip install "ewnmf[report]".') from error
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda share: f"{100 * share * (1 + 1e-9):.2g} %"  # halves go up, as in scripts
    environment.filters["figures"] = lambda value: f"{value:.4g}"
    return environment.get_template("report.html")
