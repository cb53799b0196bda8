"""What was there, and what a model puts in its place."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ewnmf._types import Array
from ewnmf.plots.display import BLUE, GREY, VERMILION, framed, mosaic, shade, short, titled
from ewnmf.plots.parameters import documented
from ewnmf.plots.points import PointsDisplay, limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RepairDisplay"]

NOTHING = 1e-4


@documented()
class RepairDisplay(PointsDisplay):
    """Points before and after: what is distrusted is replaced by what is expected there, all else stays.

    Images are drawn as four lines of pictures (data, expected, trust, repaired) and series as lines, both of the points
    with most to repair. Of a table the most repaired attributes are drawn over its points; where `points` were asked
    for, their most suspicious attributes as named pairs of value and expectation. Words are drawn in this way, too.

    $sections
    """

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        repaired: ArrayLike,
        trust: ArrayLike,
        *,
        n_points: int = 6,
        top: int = 12,
        kind: str = "auto",
        image_shape: Sequence[int] | None = None,
        feature_names: Any = None,
        point_names: Any = None,
        one_by_one: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Draw points, what they were repaired to and their trust (n x m each).

        $sections
        """
        tables = {"trust": trust, "repaired": repaired, "one_by_one": one_by_one}
        names = (feature_names, point_names)
        return cls._known(X, names, kind, image_shape, n_points=n_points, top=top, **tables).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a figure of pyplot.

        $sections
        """
        kind = self.judged.kind.name
        if kind == "images":
            self._images(ax)
        elif kind == "series":
            self._series(ax)
        elif kind == "table" and not self.judged.one_by_one and len(self.judged.rows) > 1:
            self._columns(ax)
        else:
            self._pairs(ax)
        self._say(self.judged.kind.guess, f"{self.judged.sampled}." if self.judged.sampled else "")
        return self

    def _images(self, ax: Axes | None) -> None:
        judged, shape = self.judged, self.judged.kind.shape
        assert shape is not None
        at = judged.worst(self.n_points)
        aspect = shape[0] / shape[1]
        made = self._panels(ax, 4, 1, size=(2.2 + 1.1 * len(at), 0.7 + 4 * (1.1 * aspect + 0.12)))
        scale = limits(judged.values[at])
        titles = [str(label) for label in judged.labels[at]]
        lines = {"data": judged.values, "expected": judged.expected, "trust": judged.trust, "repaired": judged.repaired}
        for where, (name, table) in zip(made, lines.items(), strict=True):
            trusted = name == "trust"
            how: dict[str, Any] = {"colours": "cividis" if trusted else "gray", "scale": (0, 1) if trusted else scale}
            first = titles if name == "data" else ()
            shown = mosaic(where, table[at].reshape(-1, *shape), len(at), titles=first, row_labels=[name], **how)
            self.figure_.colorbar(shown, ax=where, aspect=8)

    def _series(self, ax: Axes | None) -> None:
        judged = self.judged
        at = judged.worst(self.n_points)
        self._lines(
            ax,
            self._series_axis,
            [(titled("point", judged.labels[p]), judged.values[p], judged.repaired[p], judged.suspects[p]) for p in at],
        )

    def _columns(self, ax: Axes | None) -> None:
        judged = self.judged
        drawn = []
        for j in judged.columns(min(self.n_points, judged.values.shape[1])):
            share = 100 * judged.suspects[:, j].mean()
            name = titled("", judged.kind.names[j], f"({share:.2g} % suspect)")
            drawn.append((name, judged.values[:, j], judged.repaired[:, j], judged.suspects[:, j]))
        self._lines(ax, judged.rows, drawn)
        self.axes_[-1].set_xlabel("point")

    def _lines(self, ax: Axes | None, axis: Array, drawn: list[tuple[str, Array, Array, Array]]) -> None:
        """Panels of a name, values, repaired values and where they were suspect."""
        columns = 1 if len(drawn) <= 3 else 2
        rows = ceil(len(drawn) / columns)
        made = self._panels(
            ax, rows, columns, size=(4.6 * columns + 1.2 * (columns == 1), 0.8 + 1.55 * rows), sharex=True
        )
        for where, (name, values, mended, suspects) in zip(made, drawn, strict=False):
            shade(where, axis, suspects)
            where.plot(axis, values, color=VERMILION, lw=1, label="data")
            where.plot(axis, mended, color=BLUE, lw=1.2, label="repaired")
            missing = np.isnan(values)
            where.plot(axis[missing], mended[missing], ".", color=BLUE, ms=4)
            where.margins(x=0)
            framed(where, name)
        for left in made[len(drawn) :]:
            left.set_axis_off()
        self.axes_ = made[: len(drawn)]
        made[0].legend(fontsize=8, frameon=True, framealpha=0.85, edgecolor="none", loc="best")

    def _pairs(self, ax: Axes | None) -> None:
        judged = self.judged
        at = judged.worst(self.n_points)
        columns = min(2, len(at))
        rows, top = ceil(len(at) / columns), min(self.top, judged.values.shape[1])
        made = self._panels(ax, rows, columns, size=(5.2 * columns, 0.4 + (0.9 + 0.24 * top) * rows))
        for where, point in zip(made, at, strict=False):
            self._pair_panel(where, int(point), top)
        handles, names = made[0].get_legend_handles_labels()
        self.figure_.legend(handles, names, loc="outside upper center", ncols=3, fontsize=8, frameon=False)
        for left in made[len(at) :]:
            left.set_axis_off()
        self.axes_ = made[: len(at)]

    def _pair_panel(self, where: Axes, point: int, top: int) -> None:
        judged = self.judged
        trust = np.where(np.isnan(judged.trust[point]), 0, judged.trust[point])
        order = np.argsort(trust, kind="stable")[:top]
        places = np.arange(len(order))
        values, expected = judged.values[point, order], judged.expected[point, order]
        numbers = [f"{_figures(v, y)}  →  {_figures(y, v)}" for v, y in zip(values, expected, strict=True)]
        if judged.kind.name == "table":  # attributes of different units
            largest = np.fmax(np.abs(values), np.abs(expected))
            unit = np.where(largest > 0, largest, 1)
            values, expected = values / unit, expected / unit
            where.set_xlabel("share of the larger one", fontsize=8)
            where.set_xlim(min(0.0, np.nanmin([values, expected])) - 0.05, 1.05)
        where.hlines(places, values, expected, color=GREY, lw=2, zorder=1)
        suspect = judged.suspects[point, order]
        where.scatter(values[~suspect], places[~suspect], color="black", marker="o", s=26, label="value", zorder=3)
        where.scatter(
            values[suspect], places[suspect], color=VERMILION, marker="X", s=44, label="suspect value", zorder=3
        )
        where.scatter(expected, places, facecolor="white", edgecolor=BLUE, marker="D", s=26, label="expected", zorder=2)
        where.set_yticks(places, [short(judged.kind.names[j]) for j in order])
        where.set_ylim(len(order) - 0.4, -0.6)
        beside = where.secondary_yaxis("right")
        beside.set_yticks(places, ["missing" + said[3:] if said.startswith("nan") else said for said in numbers])
        beside.tick_params(length=0, labelsize=8)
        beside.spines["right"].set_visible(False)
        framed(where, titled("point", judged.labels[point]))
        where.grid(axis="x", color="#E5E5E5")


def _figures(value: float, beside: float) -> str:
    """Four figures of a value; 0 for what is nothing beside the other."""
    return "0" if abs(value) < NOTHING * abs(beside) else f"{value:.4g}"
