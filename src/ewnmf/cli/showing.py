"""What the commands draw and write to be looked at."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf.io import Table

__all__ = ["about", "check_report", "draw_pictures", "quiet_names", "save", "write_report"]

_DPI = 120


def about(table: Table) -> dict[str, Any]:
    """What a file says of its points and attributes, as displays and reports take it."""
    size = table.image_size
    return {
        "feature_names": None if table.features is None else list(table.features),
        "point_names": None if table.ids is None else [str(name) for name in table.ids],
        "image_shape": None if size is None else (size[1], size[0]),
    }


def draw_pictures(estimator: Any, X: Any, table: Table, folder: Path, *, asked: bool) -> str:
    """Write pictures of the components, and of the points with most to repair; what to say of them.

    Where matplotlib is missing they are left out with a sentence, unless they were `asked` for.
    """
    from ewnmf.plots import ComponentsDisplay, RepairDisplay, TrustDisplay

    known = about(table)
    of_parts = {name: known[name] for name in ("feature_names", "image_shape")}
    try:
        with quiet_names():
            save(ComponentsDisplay.from_estimator(estimator, X, **of_parts), folder / "components.png")
            save(TrustDisplay.from_estimator(estimator, X, **known), folder / "trust.png")
            save(RepairDisplay.from_estimator(estimator, X, **known), folder / "repair.png")
    except ImportError as error:
        if asked:
            raise
        return f"no pictures: {error}"
    return ""


def save(display: Any, path: Any, kind: str | None = None) -> None:
    """Write the figure and close it."""
    from matplotlib import pyplot

    display.figure_.savefig(path, dpi=_DPI, format=kind)
    pyplot.close(display.figure_)


def check_report() -> None:
    """Refuse a report where its extra is missing, before anything is computed."""
    from ewnmf.report.writing import check_installed

    check_installed()


def write_report(estimator: Any, X: Any, table: Table, path: Path, **asked: Any) -> Path:
    """Write the report on the points of a file."""
    from ewnmf import report

    labels = None if table.labels is None else np.array([str(label) for label in table.labels], dtype=object)
    known: dict[str, Any] = {"title": f"EWNMF report: {Path(table.source).name}", "labels": labels} | about(table)
    with quiet_names():
        return report.write(estimator, X, path, **(known | asked))


@contextmanager
def quiet_names() -> Iterator[None]:
    """Names come from the file, not from what the estimator is given."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield
