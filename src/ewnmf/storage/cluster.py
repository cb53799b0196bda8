"""Points in the memory of a Dask cluster, and their codes beside them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure, Swept, add_sums
from ewnmf.models.base import Basis, Block, Facts, Rule, Stats
from ewnmf.problem import Problem
from ewnmf.storage import visits
from ewnmf.storage.base import Answer, Codes
from ewnmf.storage.dense import Dense
from ewnmf.storage.fleet import Fleet, Version, check_columns, check_rows, check_workers, default_client
from ewnmf.storage.lazy import Lazy, Place
from ewnmf.storage.sparse import RARE
from ewnmf.storage.threads import Workers
from ewnmf.storage.visits import How, Part, Recipe

__all__ = ["Clustered", "Distributed", "RemoteCodes", "RemoteColumns", "distribute"]


class Distributed(Lazy):
    """A matrix (n x m) in chunks of whole rows on the workers of a cluster."""

    ndim = 2

    def __init__(self, fleet: Fleet, n_features: int, dtype: Any) -> None:
        self.fleet = fleet
        self.shape, self.dtype = (int(fleet.edges[-1]), n_features), np.dtype(dtype)
        self.name = "X (Dask)"

    def ask(self, work: Callable[[Any], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """The answers of ``work(points)`` of every chunk (b x m), added."""
        return self.fleet.visit(How(), partial(_of_points, work), add)

    @cached_property
    def _extremes(self) -> tuple[float, float, float]:
        return self.ask(_extremes, _wider)

    def min(self) -> float:
        """The least value; NaN where one is not a number."""
        return self._extremes[0]

    def max(self) -> float:
        """The largest value; NaN where one is not a number."""
        return self._extremes[1]

    @property
    def stored(self) -> float | None:
        """The share of stored entries, where zeros are not stored."""
        share = self._extremes[2]
        return None if math.isnan(share) else share / (self.shape[0] * self.shape[1])

    def place(self, where: Callable[[Array], Array]) -> Place | None:
        """The first entry at which ``where(points)`` is True."""
        found = self.fleet.visit(How(), partial(_place, where), _first)
        if found is None:
            return None
        number, row, column = found
        return Place(number, int(self.fleet.edges[number]) + row, column)

    def table(self, work: Callable[[Any, slice], Array], n_columns: int, dtype: Any, *, stays: bool) -> Any:
        """``work(points, rows)`` of all points: codes, drawn by the workers, where it `stays`, else an array."""
        if stays:
            return RemoteCodes(self.fleet, None, Recipe(work, np.dtype(dtype)), n_columns).T
        parts = self.ask(partial(_row, work), _join)
        return np.concatenate(parts).astype(dtype, copy=False)

    def largest(self, seen: Array) -> float:
        """The largest absolute value of attributes that were seen."""
        return self.ask(partial(_largest, np.flatnonzero(seen[0])), max)

    def sums(self) -> Array:
        """The sums of every attribute (m) over the points, times their weights, in double precision."""
        return self.fleet.visit(How(), _sums, np.add)

    def __getitem__(self, rows: Any) -> Any:
        rows = np.asarray(rows)
        if rows.dtype == bool:
            return self if rows.all() else self._chosen(rows)
        order = np.argsort(rows, kind="stable")
        parts = self.fleet.visit(How(), _Take(self.fleet.by_chunk(rows[order])), _join)
        found = np.empty((rows.size, self.shape[1]), self.dtype)
        found[order] = np.concatenate(parts) if parts else found
        return found

    def _chosen(self, rows: Array) -> Distributed:
        """The points where `rows` is True; chunks that lose all of theirs go."""
        masks = [rows[at:end] for at, end in zip(self.fleet.edges, self.fleet.edges[1:], strict=False)]
        some = [(part, mask) for part, mask in zip(self.fleet.parts, masks, strict=True) if mask.any()]
        parts = self.fleet.client.map(_choose, *zip(*some, strict=True), pure=False)
        fleet = self.fleet.with_parts(parts, [int(mask.sum()) for _, mask in some])
        return Distributed(fleet, self.shape[1], self.dtype)

    def __mul__(self, factor: Any) -> Distributed:
        return self._mapped(partial(_times, self.dtype.type(factor)))

    def weighted(self, s: Array) -> Distributed:
        """The same with weights of the points (n)."""
        edges = zip(self.fleet.edges, self.fleet.edges[1:], strict=False)
        same = self._mapped(_weighted, [s[at:end] for at, end in edges])
        same.__dict__["_extremes"] = self._extremes
        return same

    def _mapped(self, function: Callable[..., Part], *beside: Any) -> Distributed:
        parts = self.fleet.client.map(function, self.fleet.parts, *beside, pure=False)
        return Distributed(self.fleet.with_parts(parts, self.fleet.lengths), self.shape[1], self.dtype)

    @property
    def T(self) -> RemoteColumns:
        """The same with points as columns."""
        return RemoteColumns(self)


class RemoteColumns:
    """Points as columns (M x N)."""

    def __init__(self, points: Distributed) -> None:
        self.points = points
        self.shape, self.dtype = points.shape[::-1], points.dtype


class RemoteCodes(Lazy):
    """The codes (K x N, or transposed) of a moment of a run, in the workers; some of them can be had."""

    ndim = 2

    def __init__(
        self, fleet: Fleet, version: Version | None, recipe: Recipe, n_components: int, scales: Array | None = None
    ) -> None:
        self.fleet, self.version, self.recipe = fleet, version or Version(fleet), recipe
        self.shape, self.dtype, self._scales = (n_components, int(fleet.edges[-1])), recipe.dtype, scales

    @property
    def T(self) -> RemoteCodes:
        """The same, points as rows or as columns."""
        turned = RemoteCodes(self.fleet, self.version, self.recipe, min(self.shape), self._scales)
        turned.shape = self.shape[::-1]
        return turned

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, places: Any) -> Array:
        """Codes of some points: ``[rows]`` where points are rows, ``[:, rows]`` where they are columns."""
        rows = np.asarray(places[1] if isinstance(places, tuple) else places)
        order = np.argsort(rows, kind="stable")
        how, numbers = How(), self.fleet.by_chunk(rows[order])
        parts = self.fleet.visit(how, visits.Read(numbers, self.version.number, self.recipe), _join)
        found = np.empty((rows.size, parts[0].shape[1]), self.dtype)
        found[order] = np.concatenate(parts)
        if self._scales is not None:
            found /= self._scales.ravel()
        return found.T if isinstance(places, tuple) else found

    def __truediv__(self, scales: Array) -> RemoteCodes:
        return RemoteCodes(self.fleet, self.version, self.recipe, self.shape[0], scales)


class CodesInCluster(Codes):
    """A version of codes; every piece of work is one task for each worker."""

    def __init__(self, data: Clustered, version: Version, recipe: Recipe, n_components: int) -> None:
        self._data, self._version, self._recipe, self._n_components = data, version, recipe, n_components

    @property
    def _fleet(self) -> Fleet:
        return self._data.X.points.fleet  # type: ignore[no-any-return]

    def _moved(self, version: Version, sweep: Any) -> CodesInCluster:
        return CodesInCluster(self._data, version, replace(self._recipe, sweep=sweep), self._n_components)

    def sweep(self, work: Callable[..., Swept], *, keep: bool = False) -> tuple[Codes, Stats, Measure]:
        """New codes in the workers, summed statistics and summed measure."""
        new = Version(self._fleet)
        task = visits.Sweep(work, self._version.number, self._recipe, new.number)
        stats, measure = self._fleet.visit(self._data.how, task, add_sums)
        return self._moved(new, work), stats, measure

    def blend(self, before: Codes, function: Callable[[Array, Array], Array]) -> Codes:
        """Where the codes are."""
        assert isinstance(before, CodesInCluster)
        new = Version(self._fleet)
        task = visits.Blend(function, self._version.number, before._version.number, self._recipe, new.number)
        self._fleet.visit(self._data.how, task, _neither)
        return self._moved(new, self._recipe.sweep)

    def fold(self, work: Callable[[Block, Array], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """The answers, added by workers and here."""
        task = visits.Fold(work, add, self._version.number, self._recipe)
        answer: Answer = self._fleet.visit(self._data.how, task, add)
        return answer

    def read(self) -> tuple[Any, Array | None]:
        """What stands for the codes."""
        return RemoteCodes(self._fleet, self._version, self._recipe, self._n_components), None

    def combine(self, work: Callable[[Block, Array], tuple[Array, Basis]]) -> tuple[Codes, Basis]:
        """Not asked for: Convex-NMF is refused."""
        raise NotImplementedError

    def tabulate(self, work: Callable[[Block, Array], Array], n_rows: int) -> Array:
        """Not asked for: what is as large as the points stays lazy."""
        raise NotImplementedError


@dataclass(frozen=True)
class Clustered(Dense):
    """Points (M x N) on the workers of a cluster."""

    X: Any
    thinned: tuple[Problem, Rule] | None = field(default=None, compare=False)

    @property
    def how(self) -> How:
        """What makes a storage of a chunk."""
        weights = None if self.P is None else np.ascontiguousarray(self.P[:, 0])
        return How(weights, {"unit": self.unit, "known_extremes": self.extremes}, self.thinned)

    @property
    def mass(self) -> float:
        """The prior weight of all entries, ``sum s P``."""
        points = self.n_points if self.s is None else float(np.sum(self.s, dtype=np.float64))
        return points * float(self.X.shape[0] if self.P is None else self.P[:, 0].sum())

    @property
    def stores_zeros(self) -> bool:
        """Whether zeros are stored as any other value."""
        return self.X.points.stored is None

    @property
    def sparse(self) -> bool:
        """Whether zeros are not stored and have no priors of their own."""
        return not self.stores_zeros and self.P is None

    def facts(self, problem: Problem) -> Facts:
        """What the update rules may know of the data; none may ask for all points at once."""
        share = self.X.points.stored
        rare = share is not None and share <= RARE
        return replace(super().facts(problem), gram=None, stored=bool(self.sparse and rare))

    def thin(self, problem: Problem, rule: Rule) -> Dense:
        """The same data in blocks that stay sparse, where the problem and its rule allow it."""
        return replace(self, thinned=(problem, rule)) if self.sparse else self

    def zero_attributes(self) -> Array:
        """The attributes that are zero in all points."""
        there = self.X.points.ask(_nonzero, np.logical_or)
        zero = np.flatnonzero(~there)
        return zero if self.P is None else zero[self.P[zero, 0] > 0]

    def hold(self, H: Any, U: Array | None = None, *, workers: Workers, whole: bool = False) -> Codes:
        """Codes in the workers."""
        assert isinstance(H, RemoteCodes)
        return CodesInCluster(self, H.version, H.recipe, H.shape[0])


def _of_points(work: Callable[[Any], Answer], chunk: Any) -> Answer:
    return work(chunk.part.X)


_Extremes = tuple[float, float, float]
"""The least and the largest value, and how many are stored, NaN where all are."""


def _extremes(X: Any) -> _Extremes:
    return float(X.min()), float(X.max()), float(X.nnz) if issparse(X) else math.nan


def _wider(one: _Extremes, other: _Extremes) -> _Extremes:
    low, high = np.minimum(one[0], other[0]), np.maximum(one[1], other[1])
    return float(low), float(high), one[2] + other[2]


def _place(where: Callable[[Array], Array], chunk: Any) -> tuple[int, int, int] | None:
    X = chunk.part.X.toarray() if issparse(chunk.part.X) else chunk.part.X
    found = where(X)
    return (chunk.number, *divmod(int(found.argmax()), X.shape[1])) if found.any() else None


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one


def _neither(one: None, other: None) -> None:
    """Nothing is added."""


def _join(one: list[Array], other: list[Array]) -> list[Array]:
    return [*one, *other]


def _row(work: Callable[[Any, slice], Array], X: Any) -> list[Array]:
    return [work(X, slice(None))]


def _largest(columns: Array, X: Any) -> float:
    some = X[:, columns]
    return max(float(some.max()), -float(some.min()), 0.0)


def _nonzero(X: Any) -> Array:
    return np.asarray((X != 0).sum(axis=0)).ravel() > 0


def _sums(chunk: Any) -> Array:
    X, s = chunk.part
    s = np.ones(X.shape[0]) if s is None else s.astype(np.float64)
    sums: Array = s @ X
    return sums


class _Take:
    """Rows of chunks."""

    def __init__(self, rows: dict[int, Array]) -> None:
        self.rows = rows

    def __call__(self, chunk: Any) -> list[Array]:
        if chunk.number not in self.rows:
            return []
        some = chunk.part.X[self.rows[chunk.number]]
        return [some.toarray() if issparse(some) else some]


def _choose(part: Part, mask: Array) -> Part:
    return Part(part.X[mask], None if part.s is None else part.s[mask])


def _weighted(part: Part, s: Array) -> Part:
    return Part(part.X, s)


def _times(factor: Any, part: Part) -> Part:
    return Part(part.X * factor, part.s)


def distribute(X: Any) -> Distributed:
    """A Dask array, or data frame, as points on the workers of the cluster whose client is the default."""
    X = check_columns(X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X)
    client = default_client()
    lengths, dtype = check_rows(X), np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    check_workers(client)
    m = int(X.shape[1])
    chunks = client.compute(list(X.to_delayed().ravel()))
    parts = [
        client.submit(visits.check_chunk, chunk, i, (length, m), dtype, pure=False)
        for i, (chunk, length) in enumerate(zip(chunks, lengths, strict=True))
    ]
    return Distributed(Fleet(client, parts, lengths), m, dtype)
