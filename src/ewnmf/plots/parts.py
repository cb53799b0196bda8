"""The parts that data is made of."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf.fitting.checks import check_count
from ewnmf.plots.display import BLUE, Display, bar_panel, framed, mosaic, short
from ewnmf.plots.judged import model_of, names_of
from ewnmf.plots.kinds import Kind, kind_of
from ewnmf.plots.parameters import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ComponentsDisplay"]

MOST_COLUMNS = 40
"""Up to so many attributes of a table are shown as a heat map, more as bars of the largest."""
MOST_SHOWN = 100


@documented(X="Data by which names and kind of the attributes are known.")
class ComponentsDisplay(Display):
    """Components (K x m), each divided by its largest absolute value: only the pattern is shown, as the scale is free.

    Images are drawn as images, series as lines, tables as a heat map (above 40 attributes as bars of the largest), and
    words as lists of those that a topic has most of.

    $sections

    Examples
    --------
    >>> from ewnmf.plots import ComponentsDisplay
    >>> display = ComponentsDisplay.from_data([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0]], feature_names=["a", "b", "c"])
    >>> display.kind.name
    'table'
    """

    def __init__(
        self,
        components: ArrayLike,
        *,
        kind: Kind | str = "auto",
        feature_names: Any = None,
        image_shape: Sequence[int] | None = None,
        top: int = 10,
        n_columns: int | None = None,
    ) -> None:
        self.components = np.asarray(components, dtype=float)
        if self.components.ndim != 2 or self.components.size == 0:
            raise ValueError(f"components has shape {self.components.shape}; give a table with one row for each.")
        self.kind = kind if isinstance(kind, Kind) else kind_of(self.components, feature_names, kind, image_shape)
        self.top = check_count("top", top)
        self.n_columns = None if n_columns is None else check_count("n_columns", n_columns)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        kind: str = "auto",
        feature_names: Any = None,
        image_shape: Sequence[int] | None = None,
        top: int = 10,
        n_columns: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the components of a fitted estimator or a `Factorization`.

        $sections
        """
        model = model_of(estimator)
        components = getattr(model, "components_", getattr(model, "components", None))
        if components is None:
            raise TypeError(f"{type(estimator).__name__} has no components; give a fitted estimator, or use from_data.")
        components = np.asarray(components, dtype=float)
        seen = components if X is None else _checked(X, components.shape[1])
        found = kind_of(seen, names_of(estimator, X, feature_names), kind, image_shape, sparse=issparse(seen))
        return cls(components, kind=found, top=top, n_columns=n_columns).plot(ax=ax)

    @classmethod
    def from_data(
        cls,
        components: ArrayLike,
        *,
        kind: str = "auto",
        feature_names: Any = None,
        image_shape: Sequence[int] | None = None,
        top: int = 10,
        n_columns: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rows of a table (K x m).

        $sections
        """
        how: dict[str, Any] = {"kind": kind, "feature_names": feature_names, "image_shape": image_shape}
        return cls(components, top=top, n_columns=n_columns, **how).plot(ax=ax)

    @property
    def patterns(self) -> Array:
        """The components, each divided by its largest absolute value; of more than 100 the first."""
        shown = self.components[:MOST_SHOWN]
        largest = np.abs(shown).max(axis=1, keepdims=True)
        patterns: Array = shown / np.where(largest == 0, 1, largest)
        return patterns

    def largest(self, k: int) -> Array:
        """The attributes that a component has most of.

        Parameters
        ----------
        k : int
            The component, from 0.

        Returns
        -------
        ndarray of int
            Their numbers, the largest first; at most `top`.
        """
        return np.argsort(-np.abs(self.components[k]), kind="stable")[: self.top]

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a figure of pyplot.

        $sections
        """
        if self.kind.name == "images":
            self._images(ax)
        elif self.kind.name == "series":
            self._series(ax)
        elif self.kind.name == "table" and self.components.shape[1] <= MOST_COLUMNS:
            self._heat_map(ax)
        else:
            self._bars(ax)
        K = len(self.components)
        self._say(self.kind.guess, "" if K <= MOST_SHOWN else f"The first {MOST_SHOWN} of {K} components.")
        return self

    @property
    def _scale(self) -> tuple[tuple[float, float], bool]:
        signed = bool((self.patterns < 0).any())
        return ((-1.0, 1.0) if signed else (0.0, 1.0)), signed

    def _images(self, ax: Axes | None) -> None:
        patterns, (scale, signed) = self.patterns, self._scale
        assert self.kind.shape is not None
        width = min(self.n_columns or 10, len(patterns))
        height = ceil(len(patterns) / width)
        aspect = self.kind.shape[0] / self.kind.shape[1]
        (where,) = self._panels(ax, size=(1.6 + 0.95 * width, max(1.7, 0.5 + (0.95 * aspect + 0.2) * height)))
        images = patterns.reshape(-1, *self.kind.shape)
        titles = [str(k + 1) for k in range(len(images))]
        shown = mosaic(where, images, width, colours="PuOr" if signed else "gray", scale=scale, titles=titles)
        bar = self.figure_.colorbar(shown, ax=where, aspect=15, shrink=0.8)
        bar.set_label("share of the largest", fontsize=8)

    def _heat_map(self, ax: Axes | None) -> None:
        patterns, (scale, signed) = self.patterns, self._scale
        K, m = patterns.shape
        (where,) = self._panels(ax, size=(2.4 + 0.28 * max(m, 10), 1.8 + 0.3 * K))
        shown = where.imshow(
            patterns, cmap="PuOr" if signed else "cividis", vmin=scale[0], vmax=scale[1], aspect="auto"
        )
        where.set_xticks(range(m), [short(name, 20) for name in self.kind.names], rotation=90, fontsize=8)
        step = max(1, ceil(K / 30))
        where.set_yticks(range(0, K, step), [str(k + 1) for k in range(0, K, step)])
        where.set_ylabel("component")
        self.figure_.colorbar(shown, ax=where, label="share of the largest", aspect=15)

    def _bars(self, ax: Axes | None) -> None:
        patterns, panels = (
            self.patterns,
            self._small_panels(ax, 3.2, 0.5 + 0.2 * min(self.top, self.components.shape[1])),
        )
        title = "topic" if self.kind.name == "words" else "component"
        for k, where in enumerate(panels):
            at = self.largest(k)
            bar_panel(where, [self.kind.names[j] for j in at], patterns[k, at], f"{title} {k + 1}", BLUE)
            where.set_xticks([])
            where.spines["bottom"].set_visible(False)

    def _series(self, ax: Axes | None) -> None:
        patterns, (scale, _) = self.patterns, self._scale
        axis = np.arange(patterns.shape[1]) if self.kind.axis is None else self.kind.axis
        for k, where in enumerate(self._small_panels(ax, 3.2, 1.5, sharex=True, sharey=True)):
            where.plot(axis, patterns[k], color=BLUE, lw=1)
            where.set_ylim(scale[0] - 0.05, scale[1] + 0.05)
            where.margins(x=0)
            framed(where, f"component {k + 1}")

    def _small_panels(self, ax: Axes | None, width: float, height: float, **sharing: Any) -> list[Axes]:
        """One for each component; those that remain are empty."""
        K = len(self.patterns)
        columns = min(self.n_columns or 3, K)
        rows = ceil(K / columns)
        made = self._panels(ax, rows, columns, size=(width * columns, 0.3 + height * rows), **sharing)
        for left in made[K:]:
            left.set_axis_off()
        self.axes_ = made[:K]
        return self.axes_


def _checked(X: Any, m: int) -> Any:
    """``X`` as numbers, if it has the components' attributes."""
    values: Any = X if issparse(X) else np.asarray(X, dtype=float)
    if values.ndim != 2 or values.shape[1] != m:
        raise ValueError(f"X has shape {values.shape}, but the components have {m} attributes; give the same columns.")
    return values.tocsr() if issparse(values) else values
