"""What was tried to choose gamma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ewnmf.plots.display import BLUE, VERMILION, Display, finished
from ewnmf.plots.judged import model_of
from ewnmf.plots.parameters import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SCORES", "GammaPathDisplay"]

SCORES = {
    "neighbourhoods": "agreement with neighbourhoods",
    "hidden entries": "minus loss of hidden entries",
    "trimmed loss": "minus loss of all but the worst entries",
}


@documented(
    X="Not looked at; all displays take it.",
    path='What was tried; `ewnmf.gamma_path` returns it, and an estimator with ``gamma="auto"`` has it.',
)
class GammaPathDisplay(Display):
    """The scores of a path of gammas, with plain NMF as a flat line and the chosen gamma marked.

    $sections
    """

    def __init__(self, path: Any) -> None:
        if path is None or not hasattr(path, "scores"):
            raise ValueError(f"path={path!r} has no scores; fit with gamma='auto', or use ewnmf.gamma_path.")
        if not np.isfinite(path.scores).all():
            raise ValueError(f"the path has no scores to draw: its gamma comes from the rule {path.rule!r}.")
        self.path = path

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Axes | None = None) -> Self:
        """Draw the path of an estimator that was fitted with ``gamma="auto"``.

        $sections
        """
        return cls(getattr(model_of(estimator), "gamma_path_", None)).plot(ax=ax)

    @classmethod
    def from_data(cls, path: Any, *, ax: Axes | None = None) -> Self:
        """Draw what `ewnmf.gamma_path` returns.

        $sections
        """
        return cls(path).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a figure of pyplot; gammas are in units of plain NMF's mean loss.

        $sections
        """
        path = self.path
        (where,) = self._panels(ax, size=(6.4, 4.0))
        finite = np.isfinite(path.relative)
        plain = where.axhline(path.scores[0], color=VERMILION, ls="--", label="plain NMF")
        where.plot(path.relative[finite], path.scores[finite], "o-", color=BLUE, label="EWNMF")
        if finite[path.chosen]:
            at = path.relative[path.chosen], path.scores[path.chosen]
            said = f"chosen: {at[0]:.3g}x (gamma = {path.gamma:.3g})"
            where.plot(*at, "o", ms=13, mfc="none", mec="black", label=said)
        else:
            plain.set_label("plain NMF (chosen)")
        where.set_xscale("log")
        where.margins(x=0.12)
        where.set_xticks(path.relative[finite], [f"{value:.3g}x" for value in path.relative[finite]])
        where.set_xticks([], minor=True)
        where.set_xlabel("gamma / mean loss of plain NMF (to the left: fewer attributes are trusted)")
        where.set_ylabel(SCORES.get(path.rule, "score"))
        finished(where)
        return self
