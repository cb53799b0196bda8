"""Prior weights of points that have gaps and are not in memory: as large as the points, and made when they are read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.storage.lazy import Lazy

__all__ = ["PriorColumns", "Priors", "Survey", "prior_of"]


def prior_of(seen: Array, known: Array | None, dtype: Any) -> Array:
    """The priors (b x m) of points that were `seen` here: those `known` (m, or b x m; ones by default), else 0."""
    P: Array = seen.astype(dtype)
    if known is not None:
        P *= known
    return P


class Survey(NamedTuple):
    """Of priors (b x m): the sum of every point and whether all of them are 1, and what there is of every attribute."""

    sums: Array
    complete: Array
    attributes: Array
    """Whether one is above 0."""
    empty: Array
    """Whether nothing was observed, whatever its weight."""
    least: float
    most: float

    @classmethod
    def of(cls, seen: Array, known: Array | None, dtype: Any) -> Survey:
        """That of some points."""
        P = prior_of(seen, known, dtype)
        sums: Array = P.sum(axis=1, dtype=np.float64)
        complete, attributes, empty = np.all(P == 1, axis=1), np.any(P > 0, axis=0), ~np.any(seen, axis=0)
        return cls(sums, complete, attributes, empty, float(P.min()), float(P.max()))

    def plus(self, other: Survey) -> Survey:
        """That of these points and those that follow."""
        return Survey(
            np.concatenate([self.sums, other.sums]),
            np.concatenate([self.complete, other.complete]),
            self.attributes | other.attributes,
            self.empty & other.empty,
            min(self.least, other.least),
            max(self.most, other.most),
        )


class Priors(Lazy):
    """Priors (n x m) of points with gaps.

    Parameters
    ----------
    points : Gapped or Distributed
        The points, which know where something is missing.
    known : ndarray of shape (m,) or (n, m), or None
        Priors of what is not missing; None means ones.
    """

    ndim = 2

    def __init__(self, points: Any, known: Array | None) -> None:
        self.points, self.known, self.name = points, known, f"the weights of {points.name}"
        self.shape, self.dtype = points.shape, points.dtype
        self.survey: Survey = points.survey(known)

    def any(self, axis: int) -> Array:
        """Whether a prior is above 0: of every point (axis 1), or every attribute (axis 0)."""
        return self.survey.attributes if axis == 0 else self.survey.sums > 0

    @property
    def complete(self) -> Array:
        """Which points have the prior 1 for every entry."""
        return self.survey.complete

    def of(self, seen: Array, rows: Any) -> Array:
        """The priors of the points at `rows`, of which it is known what was `seen`."""
        return prior_of(seen, self._known_at(rows), self.dtype)

    def _known_at(self, rows: Any) -> Array | None:
        return self.known if self.known is None or self.known.ndim == 1 else self.known[rows]

    def __getitem__(self, rows: Any) -> Array:
        return self.of(self.points.seen(rows), rows)

    def take(self, rows: Array) -> Priors | None:
        """Those of the points where `rows` is True; None where all of them are 1."""
        if self.complete[rows].all():
            return None
        return Priors(self.points[rows], self._known_at(rows))

    @property
    def T(self) -> PriorColumns:
        """The same with points as columns."""
        return PriorColumns(self)


class PriorColumns:
    """Priors with points as columns (M x N), with the answers of an array."""

    def __init__(self, priors: Priors) -> None:
        self.priors, self.shape = priors, priors.shape[::-1]

    def __getitem__(self, places: tuple[slice, Any]) -> Array:
        return self.priors[places[1]].T

    def min(self) -> float:
        """The least prior."""
        return self.priors.survey.least

    def max(self) -> float:
        """The largest prior."""
        return self.priors.survey.most

    def sum(self, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """The sum of every point."""
        return self.priors.survey.sums

    def mean(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """The mean, or that of every point."""
        means = self.priors.survey.sums / self.shape[0]
        return means if axis == 0 else float(means.mean())
