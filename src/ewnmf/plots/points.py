"""What displays of points share: they are judged by a model, or come with their trust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ewnmf._types import Array
from ewnmf.fitting.checks import check_count
from ewnmf.plots.display import Display
from ewnmf.plots.judged import Judged, as_judged, judge
from ewnmf.plots.kinds import kind_of
from ewnmf.plots.parameters import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PointsDisplay", "limits"]


@documented(
    X="Rows are points. Above 4 million entries, points in equal distances are looked at, and the picture says so."
)
class PointsDisplay(Display):
    """A picture of points and of what a model makes of them.

    $sections
    """

    def __init__(self, judged: Judged, *, n_points: int = 6, top: int = 12) -> None:
        self.judged = judged
        self.n_points = check_count("n_points", n_points)
        self.top = check_count("top", top)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        points: Any = None,
        n_points: int = 6,
        top: int = 12,
        false_alarms: float = 0.01,
        kind: str = "auto",
        image_shape: Sequence[int] | None = None,
        feature_names: Any = None,
        point_names: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw what a fitted estimator or `Repairer` makes of ``X`` (n x m).

        $sections
        """
        found = judge(
            estimator,
            X,
            false_alarms=false_alarms,
            points=points,
            kind=kind,
            image_shape=image_shape,
            feature_names=feature_names,
            point_names=point_names,
        )
        return cls(found, n_points=n_points if points is None else len(found.rows), top=top).plot(ax=ax)

    @classmethod
    def _known(
        cls,
        X: ArrayLike,
        names: tuple[Any, Any],
        kind: str,
        image_shape: Sequence[int] | None,
        *,
        n_points: int,
        top: int,
        **tables: Any,
    ) -> Self:
        """Of points whose trust is known already, with the names of attributes and of points."""
        values = np.asarray(X, dtype=float)
        found = kind_of(values, names[0], kind, image_shape)
        return cls(as_judged(values, found, names[1], **tables), n_points=n_points, top=top)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a figure of pyplot.

        $sections
        """
        raise NotImplementedError

    @property
    def _series_axis(self) -> Array:
        """Where samples of a series stand."""
        axis = self.judged.kind.axis
        return np.arange(self.judged.values.shape[1]) if axis is None else axis


def limits(values: Array) -> tuple[float, float]:
    """Least and largest of what is there."""
    there = values[np.isfinite(values)]
    return (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
