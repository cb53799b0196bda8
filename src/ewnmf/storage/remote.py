"""Points in the memory of a Dask cluster, and what stands for codes there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf.storage import visits
from ewnmf.storage.base import Answer
from ewnmf.storage.chunks import check_rows
from ewnmf.storage.fleet import Fleet, Version, check_workers, default_client
from ewnmf.storage.lazy import Lazy, Place
from ewnmf.storage.priors import Survey
from ewnmf.storage.visits import How, Part, Recipe

__all__ = ["Distributed", "RemoteCodes", "RemoteColumns", "distribute", "nonzero"]


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
    def _extremes(self) -> _Extremes:
        return self.ask(_extremes, _wider)

    def min(self) -> float:
        """The least value; NaN where one is not a number."""
        return math.nan if self._extremes.gaps else self._extremes.low

    def max(self) -> float:
        """The largest value; NaN where one is not a number."""
        return math.nan if self._extremes.gaps else self._extremes.high

    @property
    def observed(self) -> tuple[float, float]:
        """The least and the largest value of what is not missing."""
        return self._extremes.low, self._extremes.high

    def gapped(self, fill: float) -> Distributed:
        """The same with a number in place of what is missing, which the chunks keep in mind."""
        if self.stored is not None:
            raise ValueError(
                "X has sparse chunks and contains NaN among stored entries; missing values need dense chunks "
                "(X.map_blocks(lambda chunk: chunk.toarray()))."
            )
        low, high, stored, _ = self._extremes
        filled = self._mapped(partial(_filled, self.dtype.type(fill)))
        filled.__dict__["_extremes"] = _Extremes(float(np.fmin(low, fill)), float(np.fmax(high, fill)), stored, False)
        return filled

    def survey(self, known: Array | None) -> Survey:
        """What is to be known of the priors of all points, those `known` of the attributes."""
        return self.fleet.visit(How(), partial(_survey, known), Survey.plus)

    def seen(self, rows: Array) -> Array:
        """Where entries of some points are not missing."""
        return self._gathered(rows, "seen", bool)

    def astype(self, dtype: Any, copy: bool = False) -> Distributed:
        """The same in another precision."""
        if self.dtype == dtype:
            return self
        same = self._mapped(partial(_cast, np.dtype(dtype)))
        same.dtype = np.dtype(dtype)
        return same

    @property
    def stored(self) -> float | None:
        """The share of stored entries, where zeros are not stored."""
        share = self._extremes.stored
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
        parts = self.fleet.visit(How(), partial(_row, work), _join)
        return np.concatenate(parts).astype(dtype, copy=False)

    def largest(self, seen: Array) -> float:
        """The largest absolute value of attributes that were seen."""
        return self.ask(partial(_largest, np.flatnonzero(seen[0])), max)

    def sums(self) -> Array:
        """The sums of every attribute over the points, times their weights, and of these weights (2 x m)."""
        return self.fleet.visit(How(), _sums, np.add)

    def __getitem__(self, rows: Any) -> Any:
        rows = np.asarray(rows)
        if rows.dtype == bool:
            return self if rows.all() else self._chosen(rows)
        return self._gathered(rows, "X", self.dtype)

    def _gathered(self, rows: Array, what: str, dtype: Any) -> Array:
        """What the chunks have of some points, here."""
        order = np.argsort(rows, kind="stable")
        parts = self.fleet.visit(How(), _Take(self.fleet.by_chunk(rows[order]), what), _join)
        found = np.empty((rows.size, self.shape[1]), dtype)
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

    def __mul__(self, scales: Array) -> RemoteCodes:
        return self / (1 / scales)

    def astype(self, dtype: Any, copy: bool = False) -> RemoteCodes:
        """Itself: codes have the precision of their points."""
        return self

    def of_each_point(self, function: Callable[[Array], Array]) -> RemoteCodes:
        """Codes that are not made yet, of which a function is taken when they are."""
        recipe = replace(self.recipe, start=partial(_then, self.recipe.start, function))
        return RemoteCodes(self.fleet, None, recipe, self.shape[0])

    def of_points_that_show(self, attributes: Array) -> RemoteCodes:
        """Codes that are not made yet, and are 0 for points of which none of these attributes was observed."""
        recipe = replace(self.recipe, start=partial(_unless_blind, self.recipe.start, attributes))
        return RemoteCodes(self.fleet, None, recipe, self.shape[0])

    def norms(self) -> Array:
        """The Euclidean norms of the codes of every component (K), points by their weights."""
        work = partial(_squares, visits.Read({}, self.version.number, self.recipe))
        norms: Array = np.sqrt(self.fleet.visit(How(), work, np.add))
        return norms


def _then(start: Callable[..., Array], function: Callable[[Array], Array], X: Any, rows: slice) -> Array:
    return function(start(X, rows).T).T


def _unless_blind(start: Callable[..., Array], attributes: Array, X: Any, rows: slice) -> Array:
    codes = start(X, rows)
    if attributes.size == 0:
        codes[:] = 0
    elif not issparse(X):
        codes[np.isnan(X[:, attributes]).all(axis=1)] = 0
    return codes


def _squares(codes: visits.Read, chunk: Any) -> Array:
    H, s = chunk.codes(codes.version, codes.recipe).astype(np.float64), chunk.part.s
    squares: Array = np.sum(H * H if s is None else H * H * s, axis=1)
    return squares


def _of_points(work: Callable[[Any], Answer], chunk: Any) -> Answer:
    return work(chunk.part.X)


class _Extremes(NamedTuple):
    """The least and the largest number, how many are stored, NaN where all are, and whether an entry is no number."""

    low: float
    high: float
    stored: float
    gaps: bool


def _extremes(X: Any) -> _Extremes:
    low, high, gaps = float(X.min()), float(X.max()), False
    if math.isnan(low):
        values, gaps = X.data if issparse(X) else X, True
        low, high = (float(least.reduce(values, axis=None)) for least in (np.fmin, np.fmax))
    return _Extremes(low, high, float(X.nnz) if issparse(X) else math.nan, gaps)


def _wider(one: _Extremes, other: _Extremes) -> _Extremes:
    low, high = float(np.fmin(one.low, other.low)), float(np.fmax(one.high, other.high))
    return _Extremes(low, high, one.stored + other.stored, one.gaps or other.gaps)


def _filled(fill: Any, part: Part) -> Part:
    seen = ~np.isnan(part.X)
    return Part(np.where(seen, part.X, fill), part.s, seen)


def _survey(known: Array | None, chunk: Any) -> Survey:
    return Survey.of(chunk.part.seen, known, chunk.part.X.dtype)


def _cast(dtype: Any, part: Part) -> Part:
    return part._replace(X=part.X.astype(dtype))


def _place(where: Callable[[Array], Array], chunk: Any) -> tuple[int, int, int] | None:
    X = chunk.part.X.toarray() if issparse(chunk.part.X) else chunk.part.X
    found = where(X)
    return (chunk.number, *divmod(int(found.argmax()), X.shape[1])) if found.any() else None


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one


def _join(one: list[Array], other: list[Array]) -> list[Array]:
    return [*one, *other]


def _row(work: Callable[[Any, slice], Array], chunk: Any) -> list[Array]:
    return [work(chunk.part.marked, slice(None))]


def _largest(columns: Array, X: Any) -> float:
    some = X[:, columns]
    return max(float(some.max()), -float(some.min()), 0.0)


def nonzero(chunk: Any) -> Array:
    """Which attributes of a chunk are not zero somewhere."""
    X, _, seen = chunk.part
    there = X != 0 if seen is None else (X != 0) & seen
    return np.asarray(there.sum(axis=0)).ravel() > 0


def _sums(chunk: Any) -> Array:
    X, s, seen = chunk.part
    s = np.ones(X.shape[0]) if s is None else s.astype(np.float64)
    if seen is None:
        return np.stack([s @ X, np.full(X.shape[1], s.sum())])
    return np.stack([np.einsum("i,ij,ij->j", s, seen, X), s @ seen])


class _Take:
    """Rows of chunks: of the points, or of what is known of them."""

    def __init__(self, rows: dict[int, Array], what: str) -> None:
        self.rows, self.what = rows, what

    def __call__(self, chunk: Any) -> list[Array]:
        if chunk.number not in self.rows:
            return []
        some = getattr(chunk.part, self.what)[self.rows[chunk.number]]
        return [some.toarray() if issparse(some) else some]


def _choose(part: Part, mask: Array) -> Part:
    return Part(*(None if of_points is None else of_points[mask] for of_points in part))


def _weighted(part: Part, s: Array) -> Part:
    return part._replace(s=s)


def _times(factor: Any, part: Part) -> Part:
    return part._replace(X=part.X * factor)


def distribute(X: Any) -> Distributed:
    """A Dask array as points on the workers of the cluster whose client is the default."""
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
