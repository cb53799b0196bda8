"""What a model distrusts."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ewnmf._types import Array
from ewnmf.plots.display import BLUE, MISSING, VERMILION, bar_panel, framed, mosaic, shade, short, titled
from ewnmf.plots.parameters import documented
from ewnmf.plots.points import PointsDisplay, limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TrustDisplay"]

MOST_COLUMNS = 40
MOST_ROWS = 400
"""More points than this share the lines of a heat map."""


@documented()
class TrustDisplay(PointsDisplay):
    """How far entries can be trusted: 1 where they fit, towards 0 where they do not.

    Images are drawn above maps of their trust, series as lines with what is suspect shaded, both of the points that
    are least to be trusted; tables as a heat map of all points and the most distrusted attributes beside it, and words
    as these attributes alone.

    $sections
    """

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        trust: ArrayLike,
        *,
        n_points: int = 6,
        top: int = 12,
        kind: str = "auto",
        image_shape: Sequence[int] | None = None,
        feature_names: Any = None,
        point_names: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw points and their trust (n x m each).

        $sections
        """
        names = (feature_names, point_names)
        return cls._known(X, names, kind, image_shape, n_points=n_points, top=top, trust=trust).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a figure of pyplot.

        $sections
        """
        draw = {"images": self._images, "series": self._series, "table": self._table, "words": self._words}
        note = draw[self.judged.kind.name](ax)
        self._say(self.judged.kind.guess, note, f"{self.judged.sampled}." if self.judged.sampled else "")
        return self

    def _images(self, ax: Axes | None) -> str:
        judged, shape = self.judged, self.judged.kind.shape
        assert shape is not None
        at = judged.worst(self.n_points)
        aspect = shape[0] / shape[1]
        above, below = self._panels(ax, 2, 1, size=(2.2 + 1.1 * len(at), 0.6 + 2 * (1.1 * aspect + 0.15)))
        values = judged.values[at].reshape(-1, *shape)
        titles = [str(label) for label in judged.labels[at]]
        shown = mosaic(above, values, len(at), colours="gray", scale=limits(values), titles=titles, row_labels=["data"])
        trust = judged.trust[at].reshape(-1, *shape)
        mapped = mosaic(below, trust, len(at), colours="cividis", scale=(0, 1), row_labels=["trust"])
        self.figure_.colorbar(shown, ax=above, aspect=8)
        self.figure_.colorbar(mapped, ax=below, aspect=8)
        return ""

    def _series(self, ax: Axes | None) -> str:
        judged = self.judged
        at = judged.worst(self.n_points)
        columns = min(2, len(at))
        rows = ceil(len(at) / columns)
        made = self._panels(ax, rows, columns, size=(4.4 * columns, 0.6 + 1.5 * rows), sharex=True)
        axis = self._series_axis
        for where, point in zip(made, at, strict=False):
            where.plot(axis, judged.values[point], color=BLUE, lw=1)
            shade(where, axis, judged.suspects[point], "suspect")
            where.margins(x=0)
            framed(where, titled("point", judged.labels[point]))
        for left in made[len(at) :]:
            left.set_axis_off()
        return "Shaded: suspect." if judged.suspects[at].any() else "Nothing is suspect."

    def _table(self, ax: Axes | None) -> str:
        judged = self.judged
        m = judged.values.shape[1]
        few = m <= MOST_COLUMNS
        at = np.arange(m) if few else np.sort(judged.columns(MOST_COLUMNS))
        wide = 2.2 + 0.22 * max(len(at), 12)
        rows, spread = _binned(judged.trust[:, at])
        made = self._panels(ax, 1, 2, size=(wide + 4.0, max(4.2, 1.2 + 0.24 * min(self.top, m))))
        grid, bars = made
        from matplotlib import colormaps

        map_ = colormaps["cividis"].with_extremes(bad=MISSING)
        extent = (-0.5, len(at) - 0.5, len(judged.rows) - 0.5, -0.5)
        shown = grid.imshow(rows, cmap=map_, vmin=0, vmax=1, aspect="auto", interpolation="nearest", extent=extent)
        grid.set_xticks(range(len(at)), [short(judged.kind.names[j], 20) for j in at], rotation=90, fontsize=8)
        self._point_ticks(grid)
        self.figure_.colorbar(shown, ax=grid, label="trust", aspect=20)
        self._worst(bars)
        note = "" if few else f"Of {m:,} attributes the {MOST_COLUMNS} most distrusted."
        return note if spread == 1 else f"{note} A line is the least trust of {spread} points.".strip()

    def _point_ticks(self, where: Axes) -> None:
        judged = self.judged
        n = len(judged.rows)
        places = np.unique(np.linspace(0, n - 1, min(n, 8)).round().astype(int))
        where.set_yticks(places, [short(str(judged.labels[place]), 16) for place in places], fontsize=8)
        where.set_ylabel("point")

    def _words(self, ax: Axes | None) -> str:
        (where,) = self._panels(ax, size=(5.2, 1.2 + 0.24 * min(self.top, len(self.judged.kind.names))))
        self._worst(where)
        return ""

    def _worst(self, where: Axes) -> None:
        judged = self.judged
        at = judged.columns(self.top)
        seen = np.maximum((~np.isnan(judged.values[:, at])).sum(axis=0), 1)
        share = judged.suspects[:, at].sum(axis=0) / seen
        bar_panel(where, [judged.kind.names[j] for j in at], 100 * share, "most distrusted attributes", VERMILION)
        where.set_xlabel("% of their entries suspect", fontsize=9)
        if not share.any():
            where.set_xlim(0, 1)


def _binned(trust: Array) -> tuple[Array, int]:
    """At most 400 lines, each the least trust of as many points, and how many these are."""
    spread = ceil(len(trust) / MOST_ROWS)
    if spread == 1:
        return trust, 1
    n = ceil(len(trust) / spread)
    whole = np.full((n * spread, trust.shape[1]), np.nan)
    whole[: len(trust)] = trust
    blocks = whole.reshape(n, spread, -1)
    empty = np.isnan(blocks).all(axis=1)
    least = np.min(np.where(np.isnan(blocks), np.inf, blocks), axis=1)
    return np.where(empty, np.nan, least), spread
