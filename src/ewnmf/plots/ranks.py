"""What was tried to choose the number of components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ewnmf.plots.display import LINES, Display, finished
from ewnmf.plots.judged import model_of
from ewnmf.plots.parameters import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RankPathDisplay"]


@documented(X="Not looked at; all displays take it.", path=("RankPath", "What `ewnmf.select_rank` returns."))
class RankPathDisplay(Display):
    """The mean held-out loss of every number of components, with the chosen one marked.

    Bars are one standard error of the difference to the best candidate, which has none.

    $sections
    """

    def __init__(self, path: Any, *, name: str | None = None) -> None:
        if not hasattr(path, "standard_errors"):
            raise TypeError(
                f"path={path!r} has no scores of candidates; give what select_rank returns, or an estimator that was "
                "fitted with n_components='cv'."
            )
        self.path = path
        self.name = name

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, name: str | None = None, ax: Axes | None = None) -> Self:
        """Draw the path of an estimator that was fitted with ``n_components="cv"``.

        $sections
        """
        return cls(getattr(model_of(estimator), "rank_path_", estimator), name=name).plot(ax=ax)

    @classmethod
    def from_data(cls, path: Any, *, name: str | None = None, ax: Axes | None = None) -> Self:
        """Draw what `ewnmf.select_rank` returns.

        $sections
        """
        return cls(path, name=name).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a figure of pyplot.

        $sections
        """
        found = self.path
        (where,) = self._panels(ax, size=(6, 3.6))
        colour, style = LINES[(len(where.containers) + 1) % len(LINES)]
        prefix = "" if self.name is None else f"{self.name}: "
        losses, chosen = -found.means, found.candidates == found.chosen
        look: dict[str, Any] = {"color": colour, "ls": style, "marker": ".", "capsize": 2, "lw": 1.2}
        where.errorbar(found.candidates, losses, found.standard_errors, label=self.name, **look)
        mark: dict[str, Any] = {"ls": "", "marker": "o", "ms": 10, "mfc": "none", "mew": 1.6, "color": colour}
        where.plot(found.candidates[chosen], losses[chosen], label=f"{prefix}{found.chosen} chosen", **mark)
        where.set(xlabel="number of components", ylabel="held-out loss (trimmed mean)")
        if found.candidates[-1] >= 8 * found.candidates[0]:
            where.set_xscale("log", base=2)
            where.xaxis.set_major_formatter("{x:g}")
        else:
            where.locator_params(axis="x", integer=True)
        finished(where)
        return self
