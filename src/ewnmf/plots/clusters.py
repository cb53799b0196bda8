"""A map of the codes."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from ewnmf._types import Array
from ewnmf.fitting.checks import check_count
from ewnmf.plots.display import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, Display, framed, short
from ewnmf.plots.judged import model_of
from ewnmf.plots.parameters import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ClusterDisplay", "clusters_of", "map_of"]

MOST_POINTS = 5000
MOST_NAMED = 12
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, "#56B4E9", "#000000", "#882255")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@documented(
    X="Rows are points; of more than 5000, points in equal distances are drawn, and the picture says so.",
    labels="Cluster or class of each; where not given, codes are clustered by k-means.",
)
class ClusterDisplay(Display):
    """Codes (n x K) as a map of two dimensions, coloured by cluster or by known labels.

    Codes are brought to norm one, since their size says how much there is of a point and not what; the map shows the
    two directions in which they differ most (principal components).

    $sections
    """

    def __init__(self, codes: ArrayLike, labels: ArrayLike, *, named: bool = True, total: int | None = None) -> None:
        self.codes = np.asarray(codes, dtype=float)
        self.labels = np.asarray(labels)
        self.named = named
        if self.codes.ndim != 2 or self.codes.size == 0:
            raise ValueError(f"codes has shape {self.codes.shape}; give a table with one row for each point.")
        if self.labels.shape != self.codes.shape[:1]:
            raise ValueError(
                f"labels has shape {self.labels.shape}, and there are {len(self.codes)} points; give one for each."
            )
        self.total = len(self.codes) if total is None else total

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        labels: ArrayLike | None = None,
        n_clusters: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the codes of ``X`` (n x m) under a fitted estimator or `Repairer`.

        $sections
        """
        X = X if hasattr(X, "shape") else np.asarray(X)
        n = int(X.shape[0])
        rows = np.arange(0, n, max(1, -(-n // MOST_POINTS)))
        given = None if labels is None else np.asarray(labels)
        if given is not None and given.shape != (n,):
            raise ValueError(f"labels has shape {given.shape}, and there are {n} points; give one for each.")
        codes = codes_of(estimator, X if len(rows) == n else _safe_indexing(X, rows))
        if given is not None:
            return cls(codes, given[rows], total=n).plot(ax=ax)
        count = codes.shape[1] if n_clusters is None else check_count("n_clusters", n_clusters)
        return cls(codes, clusters_of(codes, count), named=False, total=n).plot(ax=ax)

    @classmethod
    def from_data(cls, codes: ArrayLike, labels: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Draw codes (n x K) and their labels (n).

        $sections
        """
        return cls(codes, labels).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a figure of pyplot.

        $sections
        """
        (where,) = self._panels(ax, size=(6.4, 4.6))
        places, shares = map_of(self.codes)
        names, counts = np.unique(self.labels, return_counts=True)
        named = names[np.sort(np.argsort(-counts, kind="stable")[:MOST_NAMED])]
        size = float(np.clip(12000 / len(places), 9, 45))
        rest = ~np.isin(self.labels, named)
        if rest.any():
            where.scatter(
                places[rest, 0], places[rest, 1], s=size, color=GREY, label=f"{len(names) - len(named)} others"
            )
        looks = zip(cycle(COLOURS), cycle(MARKERS), strict=False)
        for name, (colour, marker) in zip(named, looks, strict=False):
            at = self.labels == name
            label = short(str(name)) if self.named else f"cluster {int(name) + 1}"
            where.scatter(
                places[at, 0], places[at, 1], s=size, color=colour, marker=marker, alpha=0.75, lw=0, label=label
            )
        where.set_xlabel(f"first direction ({100 * shares[0]:.0f} % of the variance)")
        where.set_ylabel(f"second direction ({100 * shares[1]:.0f} %)")
        framed(where)
        where.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
        n = len(self.codes)
        self._say("" if n == self.total else f"{n:,} of {self.total:,} points, in equal distances.")
        return self


def codes_of(estimator: Any, X: Any) -> Array:
    """Codes of the points; of a `Repairer` those of its model."""
    model = model_of(estimator)
    if model is not estimator:
        columns = estimator._columns
        X = columns.bounded(columns.scaled(np.asarray(X, dtype=float)))
    codes: Array = np.asarray(model.transform(X), dtype=float)
    return codes


def clusters_of(codes: Array, count: int) -> Array:
    """Clusters by k-means of codes of norm one; no more than there are different points."""
    from sklearn.cluster import KMeans

    unit = _unit(codes)
    count = min(count, len(np.unique(unit, axis=0)))
    labels: Array = KMeans(count, n_init=3, random_state=0).fit_predict(unit)
    return labels


def map_of(codes: Array) -> tuple[Array, Array]:
    """Places in two dimensions (n x 2), and the shares of the variance that these have."""
    unit = _unit(codes)
    centred = unit - unit.mean(axis=0)
    _, sizes, directions = np.linalg.svd(centred.T @ centred)
    found = np.zeros((len(codes), 2))
    shares = np.zeros(2)
    count = min(2, directions.shape[0])
    found[:, :count] = centred @ directions[:count].T
    shares[:count] = sizes[:count] / (sizes.sum() or 1.0)
    return found, shares


def _unit(codes: Array) -> Array:
    lengths = np.linalg.norm(codes, axis=1, keepdims=True)
    unit: Array = codes / np.where(lengths > 0, lengths, 1)
    return unit
