"""The objective over the iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ewnmf.plots.display import LINES, Display, finished
from ewnmf.plots.judged import model_of
from ewnmf.plots.parameters import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ObjectiveDisplay"]


@documented(X="Not looked at; all displays take it.")
class ObjectiveDisplay(Display):
    """The objective ``J*`` over the iterations at the final gamma.

    $sections

    Examples
    --------
    >>> from ewnmf.plots import ObjectiveDisplay
    >>> display = ObjectiveDisplay.from_data([3.0, 2.0, 1.5])
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    def __init__(self, history: ArrayLike, *, last: int | None = None, name: str | None = None) -> None:
        self.history = np.asarray(history, dtype=float)
        if self.history.ndim != 1 or self.history.size == 0:
            raise ValueError(f"model has a history of shape {self.history.shape}; give one value per iteration.")
        self.last = self.history.size if last is None else last
        self.name = name

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, name: str | None = None, ax: Axes | None = None) -> Self:
        """Draw the history of a fitted estimator or a `Factorization`.

        $sections
        """
        model = model_of(estimator)
        history = getattr(model, "loss_curve_", getattr(model, "history", None))
        if history is None:
            raise TypeError(f"{type(estimator).__name__} has no history; give a fitted estimator, or use from_data.")
        last = getattr(model, "n_iter_", getattr(model, "n_iter", None))
        return cls(history, last=last, name=name).plot(ax=ax)

    @classmethod
    def from_data(cls, history: ArrayLike, *, name: str | None = None, ax: Axes | None = None) -> Self:
        """Draw values of the objective.

        $sections
        """
        return cls(history, name=name).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a figure of pyplot.

        $sections
        """
        (where,) = self._panels(ax, size=(6, 3.6))
        colour = LINES[(len(where.lines) + 1) % len(LINES)][0]
        iterations = np.arange(self.last - self.history.size, self.last) + 1
        where.plot(iterations, self.history, color=colour, label=self.name)
        where.set(xlabel="iteration", ylabel="objective $J^*$")
        finished(where, legend=self.name is not None)
        return self
