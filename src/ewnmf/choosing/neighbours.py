"""The data's own neighbourhoods: which points are alike, by a distance that a few bad attributes cannot spoil."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from ewnmf._types import Array, Float64
from ewnmf.fitting.points import Points
from ewnmf.losses.base import Loss
from ewnmf.storage.matrix import dense
from ewnmf.storage.threads import Workers, count_workers

__all__ = ["Neighbourhoods", "apart_from", "partitions", "unlike_within", "unlikeness"]


NEIGHBOURS = 5
FAR = 7
"""The neighbour whose distance is a point's unit of distance."""
STARTS = 10
"""Partitions of each kind of codes: with few of them, scores are as noisy as they are different."""
_FINE = 1e-8
"""Relative scales of the loss below this need double precision."""
_DIGITS = 5
"""Of distances: what is equal but for rounding, such as that of points with nothing in common, is equal."""
_OWN, _TIMES = 0.5, 2.0
"""Graphs are a structure of their own that have so much in common, and so many times as much as with others."""
_NOTHING = 1e-9
"""What is left of the points' variance at least, where it is to tell anything."""


def unlikeness(points: Points, loss: Loss, scale: float) -> Float64:
    """How unlike points are (n x n): the share of what two of them have that they do not have in common.

    Two values differ by ``g(x, y) = 1 - exp(-between(x, y) / scale)``, which no value however wrong takes above 1, and
    a point has ``sum g(x, 0)``. The answer is ``sum g(x, y) / sum (g(x, 0) + g(y, 0))`` over the attributes that were
    observed in both, weighted by their priors; 1 where there is none.
    """
    (found,) = _unlike(points, loss, scale, (0,))
    return found


def _unlike(points: Points, loss: Loss, scale: float, halvings: Sequence[int], n_jobs: int | None = 1) -> list[Float64]:
    """`unlikeness` at the scale halved so many times each."""
    X, scale = _scaled(points, loss, scale)
    if points.data.sparse:
        apart, has = _apart_sparse(X, loss, scale, halvings)
        have = has[:, :, None] + has[:, None]
    else:
        values = dense(X)
        R = np.ones((1, X.shape[1]), X.dtype) if points.P is None else np.sqrt(points.P, dtype=X.dtype)
        apart = _apart(values, R, loss, scale, halvings, n_jobs)
        alone = _gaps(loss, values, np.zeros_like(values[:1]), scale, halvings)
        have = np.stack([np.broadcast_to(((gap * R) @ R.T).astype(np.float64), apart.shape[1:]) for gap in alone])
        have = have + have.transpose(0, 2, 1)
    common = np.divide(apart, have, out=np.zeros_like(apart), where=have > 0)
    if points.P is not None:
        seen = (points.P > 0).astype(X.dtype)
        common[:, seen @ seen.T == 0] = 1
    own = np.arange(X.shape[0])
    common[:, own, own] = 0
    return list(common)


def _scaled(points: Points, loss: Loss, scale: float) -> tuple[Any, float]:
    """Data of magnitude one with its scale of the loss, in single precision where that does."""
    X: Any = points.X
    if loss.degree is None:
        return X.astype(np.float64), scale
    largest = points.data.scale
    relative = scale / largest**loss.degree
    return (X / largest).astype(np.float64 if relative < _FINE else np.float32), relative


def _gaps(loss: Loss, x: Array, y: Array, scale: float, halvings: Sequence[int]) -> Iterator[Array]:
    """``g(x, y)`` at the scale halved so many times each; 1 where a loss is infinite, 0 where it says nothing (0 / 0).

    Half the scale squares ``1 - g``, which takes no second exponential.
    """
    with np.errstate(all="ignore"):
        gap = loss.between(x, np.broadcast_to(y, x.shape))
        gap /= -scale
        np.expm1(gap, out=gap)
    np.negative(gap, out=gap)
    gap, done = np.nan_to_num(gap, copy=False, nan=0.0), 0
    for wanted in halvings:
        for _ in range(wanted - done):
            gap = gap * (2 - gap)
        done = wanted
        yield gap


def _apart(X: Array, R: Array, loss: Loss, scale: float, halvings: Sequence[int], n_jobs: int | None = 1) -> Float64:
    """``sum g(x, y)`` of all pairs, attributes weighted by the roots `R` of the priors of both."""
    n = X.shape[0]
    apart = np.zeros((len(halvings), n, n))

    def fill(i: int) -> None:
        for each, gap in zip(apart, _gaps(loss, X[i + 1 :], X[i], scale, halvings), strict=True):
            each[i, i + 1 :] = (gap if R.shape[0] == 1 else gap * R[i + 1 :]) @ R[i if R.shape[0] > 1 else 0]

    with Workers(count_workers(n_jobs)) as workers:
        for _ in workers.map(fill, range(n - 1)):
            pass
    return apart + apart.transpose(0, 2, 1)


def _apart_sparse(X: Any, loss: Loss, scale: float, halvings: Sequence[int]) -> tuple[Float64, Float64]:
    """``sum g(x, y)`` of all pairs and ``sum g(x, 0)`` of all points, of the stored entries alone."""
    n = X.shape[0]
    zero = np.zeros(1, X.dtype)
    alone = [type(X)((gap, X.indices, X.indptr), X.shape) for gap in _gaps(loss, X.data, zero, scale, halvings)]
    has = np.stack([np.asarray(each.sum(axis=1, dtype=np.float64)).ravel() for each in alone])
    apart = np.zeros((len(halvings), n, n))
    columns_first = X.tocsc()
    for i in range(n - 1):
        stored = slice(X.indptr[i], X.indptr[i + 1])
        rest = columns_first[:, X.indices[stored]].toarray()[i + 1 :]
        pairs, single = (_gaps(loss, rest, y, scale, halvings) for y in (X.data[stored], zero))
        for at, (gap, own) in enumerate(zip(pairs, single, strict=True)):
            apart[at, i, i + 1 :] = has[at, i + 1 :] + (gap - own).sum(axis=1, dtype=np.float64)
    return apart + apart.transpose(0, 2, 1), has


def unlike_within(points: Points, count: int) -> Float64 | None:
    """``1 - cos`` of the angles (n x n) between points without their mean and their `count` leading directions.

    What many points share to a different degree (light, size, loudness) is in the leading directions, and neighbours
    there may be alike in nothing else. None where nothing is left beside them. Missing values are at the mean.
    """
    S = _products(points)
    S -= S.mean(axis=0)
    S -= S.mean(axis=1, keepdims=True)
    sizes, directions = eigh(S)
    leading = slice(max(0, len(S) - count), None)
    rest = S - (directions[:, leading] * sizes[leading]) @ directions[:, leading].T
    lengths = np.sqrt(np.maximum(np.diag(rest), 0))
    if not np.square(lengths).sum() > _NOTHING * np.trace(S):
        return None
    lengths[lengths == 0] = np.inf
    apart: Float64 = np.maximum(1 - rest / (lengths[:, None] * lengths), 0)
    np.fill_diagonal(apart, 0)
    return apart


def _products(points: Points) -> Float64:
    """Products (n x n) of all pairs of points, attributes weighted by their priors; missing values at the mean."""
    X = (points.X / points.data.scale).astype(np.float64)
    if points.data.sparse:
        return np.asarray((X @ X.T).toarray())
    values = dense(X)
    if points.P is not None:
        seen = np.broadcast_to(points.P, values.shape) > 0
        means = np.sum(values, axis=0, where=seen) / np.maximum(seen.sum(axis=0), 1)
        values = np.where(seen, values - means, 0) * np.sqrt(points.P)
    products: Float64 = values @ values.T
    return products


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The smoothest functions on the graph that joins every point to its nearest ones.

    They vary least between neighbours, so they tell which points hang together, also through chains of neighbours.
    """

    functions: Float64
    """Orthonormal, one column each, the first of them constant but for the degrees."""
    roots: Float64
    """The square roots of the degrees."""

    @classmethod
    def of(
        cls,
        points: Points,
        loss: Loss,
        scale: float,
        count: int,
        halvings: Sequence[int] = (0,),
        n_jobs: int | None = 1,
    ) -> list[Neighbourhoods]:
        """`count` functions on the graph of the points, at the scale halved so many times each."""
        return [cls.joining(D, count) for D in _unlike(points, loss, scale, halvings, n_jobs)]

    @classmethod
    def joining(cls, D: Float64, count: int) -> Neighbourhoods:
        """The graph of distances `D`, taken in units of each point's own neighbourhood."""
        n, D = D.shape[0], np.round(D, _DIGITS)
        unit = np.maximum(np.sort(D, axis=1)[:, min(FAR, n - 1)], np.finfo(float).tiny)
        D /= np.sqrt(unit)[:, None] * np.sqrt(unit)
        np.fill_diagonal(D, np.inf)
        nearest = np.argsort(D, axis=1, kind="stable")[:, :NEIGHBOURS]
        joined = np.zeros((n, n))
        joined[np.arange(n)[:, None], nearest] = 1
        joined = np.maximum(joined, joined.T)
        roots = np.sqrt(joined.sum(axis=1))
        _, functions = eigh(joined / (roots[:, None] * roots), subset_by_index=(n - count, n - 1))
        return cls(functions[:, ::-1], roots)

    @property
    def count(self) -> int:
        """How many functions there are."""
        return int(self.functions.shape[1])

    def in_common(self, other: Neighbourhoods) -> float:
        """The share of the functions of one graph, without a constant, that lies in those of the other."""
        return float((np.linalg.norm(self.functions.T @ other.functions) ** 2 - 1) / (self.count - 1))

    def smooth_share(self, labels: Array) -> float:
        """The share of the groups' indicator functions, without the constant, that lies in the smooth functions."""
        groups = np.eye(self.count)[:, labels].T * self.roots[:, None]
        groups = groups[:, groups.any(axis=0)]
        groups /= np.linalg.norm(groups, axis=0)
        return float((np.linalg.norm(self.functions.T @ groups) ** 2 - 1) / (self.count - 1))


def apart_from(some: Sequence[Neighbourhoods], others: Sequence[Neighbourhoods]) -> bool:
    """Whether two graphs say the same of the points, and something else than the others do."""
    if len(some) < 2:
        return False
    alike = some[0].in_common(some[1])
    with_others = float(np.mean([one.in_common(other) for one in some for other in others]))
    return alike >= max(_OWN, _TIMES * with_others)


def partitions(codes: Array, components: Array, count: int) -> list[Array]:
    """Groups of points that k-means finds: in the codes as they are, and in unit codes.

    Unit codes are those of components of norm 1, every point's codes scaled to norm 1.
    """
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import normalize

    codes = codes / (codes.max() or 1)
    unit = normalize(codes * np.linalg.norm(components / (abs(components).max() or 1), axis=1))
    with warnings.catch_warnings():
        # Fewer distinct codes than groups: a partition like any other.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [
            KMeans(count, n_init=1, random_state=seed).fit_predict(kind)
            for kind in (codes, unit)
            for seed in range(STARTS)
        ]
