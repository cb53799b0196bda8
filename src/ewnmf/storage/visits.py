"""What a worker of a cluster does to the points that it has, and the codes that it keeps beside them.

A visit is one task: it goes through all chunks of points that a worker is to look after. Codes of a chunk stay in the
memory of the worker, by fit, chunk and version, and never travel. Where they are missing, since a worker was lost or
the task was moved, they are made anew from the points. Sums are added in a tree that the numbers of the chunks fix.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from ewnmf import __version__
from ewnmf._types import Array
from ewnmf.models.base import Rule
from ewnmf.problem import Problem
from ewnmf.storage.allocator import keeping_memory
from ewnmf.storage.dense import Dense
from ewnmf.storage.priors import prior_of
from ewnmf.storage.sparse import Sparse
from ewnmf.storage.threads import Workers

__all__ = [
    "Blend",
    "Fold",
    "How",
    "Part",
    "Read",
    "Recipe",
    "Sweep",
    "Tree",
    "check_chunk",
    "forget",
    "version",
    "visit",
]

_OPENING, _ROUNDS = 4, 1
"""Sweeps that make codes anew which were lost, first under the weights of a first round: a few, so that a lost worker
costs no more than iterations do."""

_FITS: dict[str, dict[int, dict[int, Array]]] = {}
"""In the process of a worker: by fit, chunk and version, the codes (K x b)."""


def version() -> str:
    """Of the package, where this is called."""
    return __version__


async def forget(fit: str) -> None:
    """Free the codes of a fit."""
    _FITS.pop(fit, None)


class Part(NamedTuple):
    """A chunk: its points (b x m), their weights, and where entries are not missing (b x m), if some are."""

    X: Any
    s: Array | None = None
    seen: Array | None = None

    @property
    def marked(self) -> Any:
        """The points, NaN where they are missing."""
        return self.X if self.seen is None else np.where(self.seen, self.X, self.X.dtype.type(np.nan))


def check_chunk(chunk: Any, number: int, shape: tuple[int, int], dtype: Any) -> Part:
    """A chunk as floats, refused unless it is what its array says it is."""
    if not issparse(chunk):
        chunk = np.asarray(chunk)
    if chunk.ndim != 2 or chunk.shape[1] != shape[1]:
        raise ValueError(
            f"X has {chunk.shape[1] if chunk.ndim == 2 else chunk.ndim} columns in block {number}, but {shape[1]} by "
            "its shape; give all blocks the same columns."
        )
    if chunk.shape[0] != shape[0]:
        raise ValueError(
            f"X has {chunk.shape[0]} rows in block {number}, but {shape[0]} by its chunks; make it anew with "
            "X.compute_chunk_sizes()."
        )
    if chunk.dtype.kind not in "fiub":
        raise ValueError(f"X is of type {chunk.dtype} in block {number}, and numbers are needed.")
    if chunk.dtype == np.float64 and dtype == np.float32:
        raise ValueError(f"X is of type {chunk.dtype} in block {number}, but of {dtype} by its own; use X.astype.")
    if issparse(chunk):
        X = csr_array(chunk, dtype=dtype)
        X.sum_duplicates()
        return Part(X)
    return Part(np.ascontiguousarray(chunk, dtype=dtype))


@dataclass(frozen=True, eq=False)
class How:
    """What makes a storage of a chunk: weights of attributes, what is known of all points, whether there are gaps."""

    feature_weight: Array | None = None
    known: dict[str, Any] | None = None
    thin: tuple[Problem, Rule] | None = None
    gaps: bool = False

    def storage(self, part: Part) -> Dense:
        """The points of the chunk, as columns."""
        X, f = part.X.T, self.feature_weight
        P = None if f is None else np.broadcast_to(f[:, None], X.shape)
        if self.gaps:
            assert part.seen is not None
            P = prior_of(part.seen, f, X.dtype).T
        known = self.known or {}
        data = Sparse(X.tocsc(), P, part.s, **known) if issparse(X) else Dense(X, P, part.s, **known)
        return data if self.thin is None else data.thin(*self.thin)


@dataclass(frozen=True, eq=False)
class Recipe:
    """How codes are made anew: from the numbers that the points start from, by the last sweep, several times."""

    start: Callable[[Any, slice], Array]
    dtype: Any
    sweep: Callable[..., Any] | None = None

    def make(self, part: Part, data: Dense, workers: Workers) -> Array:
        """The codes (K x b) of a chunk."""
        H = np.asfortranarray(self.start(part.marked, slice(None)).astype(self.dtype, copy=False).T)
        for sweep in () if self.sweep is None else (*[_opening(self.sweep)] * _OPENING, *[self.sweep] * _ROUNDS):
            H = data.hold(H, workers=workers).sweep(sweep)[0].read()[0]
        return H


def _opening(sweep: Callable[..., Any]) -> Callable[..., Any]:
    """The sweep under the weights of a first round: those of a start are far from any that are learned."""
    known: dict[str, Any] = sweep.keywords  # type: ignore[attr-defined]
    if "before" in known:
        basis, weighting = known["before"]
        return partial(sweep, before=(basis, weighting.start()))
    return partial(sweep, weighting=known["weighting"].start())


class _Chunk:
    """A chunk in the course of a visit."""

    def __init__(self, number: int, part: Part, how: How, kept: dict[int, Array], workers: Workers) -> None:
        self.number, self.part, self.kept, self.workers = number, part, kept, workers
        self.data = how.storage(part)
        self.lost = False

    def codes(self, version: int, recipe: Recipe) -> Array:
        """Those of that version, made anew where they are missing; of a start they are the same."""
        if version not in self.kept:
            self.lost |= recipe.sweep is not None
            self.kept[version] = recipe.make(self.part, self.data, self.workers)
        return self.kept[version]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Codes of a new version from those of an old one; statistics and measure."""

    work: Callable[..., Any]
    old: int
    recipe: Recipe
    new: int

    def __call__(self, chunk: _Chunk) -> Any:
        codes = chunk.data.hold(chunk.codes(self.old, self.recipe), workers=chunk.workers)
        moved, stats, measure = codes.sweep(self.work)
        chunk.kept[self.new] = moved.read()[0]
        return stats, measure


@dataclass(frozen=True, eq=False)
class Blend:
    """Codes of a new version from those of two old ones; where the earlier ones are lost, the later ones."""

    function: Callable[[Array, Array], Array]
    now: int
    before: int
    recipe: Recipe
    new: int

    def __call__(self, chunk: _Chunk) -> None:
        H = chunk.codes(self.now, self.recipe)
        chunk.kept[self.new] = self.function(H, chunk.kept.get(self.before, H))


@dataclass(frozen=True, eq=False)
class Fold:
    """The answers of work on blocks and codes, added."""

    work: Callable[..., Any]
    add: Callable[[Any, Any], Any]
    version: int
    recipe: Recipe

    def __call__(self, chunk: _Chunk) -> Any:
        codes = chunk.data.hold(chunk.codes(self.version, self.recipe), workers=chunk.workers)
        return codes.fold(self.work, self.add)


@dataclass(frozen=True, eq=False)
class Read:
    """Some of the codes, by the rows of the chunks that are asked for."""

    rows: dict[int, Array]
    version: int
    recipe: Recipe

    def __call__(self, chunk: _Chunk) -> list[Array]:
        if chunk.number not in self.rows:
            return []
        return [chunk.codes(self.version, self.recipe)[:, self.rows[chunk.number]].T]


class Tree:
    """Sums of chunks in a tree: neighbours of equal height are added, whoever has them, whenever both are there."""

    def __init__(self, count: int, add: Callable[[Any, Any], Any]) -> None:
        self._count, self._add = count, add
        self.nodes: dict[tuple[int, int], Any] = {}

    def put(self, level: int, place: int, answer: Any) -> None:
        """Take an answer in, and add what can be added."""
        while True:
            width = -(-self._count // (1 << level))
            if width == 1:
                break
            other = place ^ 1
            if other < width:
                beside = self.nodes.pop((level, other), None)
                if beside is None:
                    break
                answer = self._add(*((beside[0], answer) if other < place else (answer, beside[0])))
            level, place = level + 1, place // 2
        self.nodes[level, place] = (answer,)

    @property
    def root(self) -> Any:
        """The sum of all."""
        ((answer,),) = self.nodes.values()
        return answer


def visit(
    fit: str,
    live: frozenset[int],
    numbers: Sequence[int],
    parts: Sequence[Part],
    how: How,
    work: Callable[[_Chunk], Any],
    add: Callable[[Any, Any], Any],
    count: int,
) -> bytes:
    """One task: work on every chunk, the answers added as far as chunks are neighbours; and how many codes were lost.

    Versions of codes that nobody refers to any more are freed. The answer is packed, so that its arrays can be written.
    """
    chunks = _FITS.setdefault(fit, {})
    tree, lost = Tree(count, add), 0
    with keeping_memory(), Workers(_threads()) as workers:
        for number, part in zip(numbers, parts, strict=True):
            kept = chunks.setdefault(number, {})
            for old in [old for old in kept if old not in live]:
                kept.pop(old, None)
            chunk = _Chunk(number, part, how, kept, workers)
            tree.put(0, number, work(chunk))
            lost += chunk.lost
    return pickle.dumps((tree.nodes, lost), protocol=5)


def _threads() -> int:
    """Of this worker, which gives all of them to its one task."""
    from distributed import get_worker

    return max(1, int(get_worker().state.nthreads))
