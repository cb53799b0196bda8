"""Data in memory: cut into blocks of points, worked on by threads, summed in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf.models.base import Block, Facts, Rule, product
from ewnmf.problem import Problem
from ewnmf.storage.base import Answer, Codes, Storage
from ewnmf.storage.lazy import Lazy
from ewnmf.storage.memory import CodesInMemory
from ewnmf.storage.threads import Workers, single_threaded_blas

__all__ = ["Dense", "block_height", "block_width", "row_blocks", "tabulated_here"]

_BLOCK_ENTRIES = 1 << 17
_HIGH_ENTRIES = 1 << 21


def block_width(n_attributes: int) -> int:
    """Points in a block: about 2^17 entries, a multiple of 16. It depends on the shape alone."""
    return max(16, _BLOCK_ENTRIES // max(1, n_attributes) // 16 * 16)


def block_height(n_attributes: int) -> int:
    """Points that are read, or judged, together: about 2^21 entries, a multiple of 32."""
    return max(32, _HIGH_ENTRIES // max(1, n_attributes) // 32 * 32)


def row_blocks(X: Any, n_entries: int, beside: int) -> Iterator[slice]:
    """Consecutive points, at most `n_entries` at a time of them and of what is made of a point, `beside` numbers.

    Those that are read by blocks come in their blocks.
    """
    if isinstance(X, Lazy):
        yield from X.cuts()  # type: ignore[attr-defined]
        return
    n, m = X.shape
    at, most = 0, max(1, n_entries // max(beside, 1 if issparse(X) else m))
    while at < n:
        end = min(at + most, n)
        if issparse(X):
            end = min(end, max(at + 1, int(np.searchsorted(X.indptr, X.indptr[at] + n_entries, "right")) - 1))
        yield slice(at, end)
        at = end


def tabulated_here(
    work: Callable[[Any, slice], Array], n_columns: int, dtype: Any, n_entries: int, beside: int, X: Any, at: slice
) -> Array:
    """``work(points, rows)`` of points in memory, as one table; they are the rows `at` of all points."""
    table: Array = np.empty((X.shape[0], n_columns), dtype)
    first = at.start or 0
    for rows in row_blocks(X, n_entries, beside):
        table[rows] = work(X[rows], slice(first + rows.start, first + rows.stop))
    return table


def _cut(n_points: int, width: int) -> list[slice]:
    return [slice(at, min(at + width, n_points)) for at in range(0, n_points, width)]


def _writable(part: Array) -> Array:
    """The columns of `part` contiguous, copied where they are not or cannot be written: one layout for all passes."""
    block = np.asfortranarray(part)
    return block if block.flags.writeable else block.copy(order="F")


@dataclass(frozen=True)
class Dense(Storage):
    """Data in memory: ``X`` (M x N, columns are points), priors ``P`` (M x N) and point weights ``s`` (N)."""

    X: Array
    P: Array | None = None
    s: Array | None = None
    width: int | None = None
    silent: int = 0
    mean_prior: float | None = None
    """The mean prior weight with silent attributes, where those have priors."""
    unit: float = 1.0
    """What ``X`` was multiplied by."""
    known_extremes: tuple[float, float] | None = None
    """The least and the largest value, where they are known; then ``X`` is not searched for them again."""

    @property
    def n_points(self) -> int:
        """N."""
        return int(self.X.shape[1])

    @property
    def mass(self) -> float:
        """The prior weight of all entries, ``sum s P``."""
        weights = np.ones(self.n_points) if self.s is None else self.s
        if self.mean_prior is not None:
            n_entries = (self.X.shape[0] + self.silent) * np.sum(weights, dtype=np.float64)
            return float(self.mean_prior * n_entries)
        columns = self.silent + (self.X.shape[0] if self.P is None else np.sum(self.P, axis=0, dtype=np.float64))
        return float(np.sum(weights * columns, dtype=np.float64))

    @property
    def extremes(self) -> tuple[float, float]:
        """The least and the largest value."""
        return self.known_extremes or (float(self.X.min()), float(self.X.max()))

    @property
    def scale(self) -> float:
        """The largest absolute value, and 1 where all are 0."""
        low, high = self.extremes
        return max(high, -low) or 1.0

    @property
    def counted_scale(self) -> float:
        """The same among the points of positive weight, as though the others were not there."""
        if self.s is None or self.s.all() or not self.s.any():
            return self.scale
        low, high = (self._of_points(values)[self.s > 0] for values in (self.X.min(axis=0), self.X.max(axis=0)))
        return float(max(high.max(), -low.min())) or 1.0

    def _of_points(self, values: Any) -> Array:
        """A value for every point (N) as an array."""
        return np.asarray(values)

    def facts(self, problem: Problem) -> Facts:
        """What the update rules may know of the data."""
        shape = (self.X.shape[0], self.X.shape[1])
        limits = np.finfo(self.X.dtype)
        return Facts(
            n_attributes=shape[0] + self.silent,
            n_points=shape[1],
            floor=max(1e-60, 100 * float(limits.tiny)),
            basis_floor=max(1e-60 * self.counted_scale, 100 * float(limits.tiny) * max(1.0, self.counted_scale)),
            signed=self.extremes[0] < 0,
            mass=float(shape[1] if self.s is None else np.sum(self.s, dtype=np.float64)),
            priors=self.P is not None,
            mean_weight=self.mean_weight(problem),
            gram=self.gram,
            unit=self.unit,
        )

    def mean_weight(self, problem: Problem) -> float:
        """The mean weight of an entry, for a point of weight 1."""
        if self.mean_prior is not None:
            return self.mean_prior
        return problem.weighting.mean((self.X.shape[0] + self.silent, self.n_points), self.P, self.s)

    @property
    def stores_zeros(self) -> bool:
        """Whether zeros are stored as any other value."""
        return True

    @property
    def sparse(self) -> bool:
        """Whether zeros are not stored and have no priors of their own."""
        return False

    @property
    def tiny(self) -> float:
        """Reconstructions below this count as this where a loss divides by them."""
        limits = np.finfo(self.X.dtype)
        return max(self.counted_scale * (1e-90 if limits.bits == 64 else 1e-30), 100 * float(limits.tiny))

    def cuts(self, whole: bool = False) -> list[slice]:
        """The blocks of points."""
        width = self.n_points if whole else self.width or block_width(self.X.shape[0])
        return _cut(self.n_points, width)

    def part(self, cut: slice) -> Dense:
        """Some consecutive points, with what is known of all."""
        P = None if self.P is None else self.P[:, cut]
        s, known = None if self.s is None else self.s[cut], self.extremes
        return replace(self, X=self.X[:, cut], P=P, s=s, known_extremes=known)

    def block(self, cut: slice) -> Block:
        """The points of `cut`, each of them contiguous in memory."""
        P = None if self.P is None else _writable(self.P[:, cut])
        return Block(self.points(cut), P, None if self.s is None else self.s[cut], self.silent)

    def points(self, cut: slice) -> Array:
        """The data of `cut`, dense (M x b)."""
        return _writable(self.X[:, cut])

    def gram(self) -> Array:
        """``X'X`` (N x N)."""
        X = self.points(slice(None))
        return product(X.T, X)

    def without_zeros(self, problem: Problem, needed: Array) -> tuple[Dense, Array | None]:
        """The data without attributes that are zero in every point, and which attributes those are not.

        Attributes where `needed` is True stay in any case.
        """
        return self, None

    def zero_attributes(self) -> Array:
        """The attributes that were observed, and are zero wherever they were."""
        P, left = self.P, np.arange(self.X.shape[0])
        for cut in self.cuts():
            if left.size == 0:
                return left
            X = self.points(cut)[left]
            left = left[~(X.any(axis=1) if P is None else ((X != 0) & (P[left, cut] > 0)).any(axis=1))]
        return left if P is None else left[P[left].any(axis=1)]

    def blinded(self, H: Any, zero: Array) -> Any:
        """Codes ``H`` (K x N) that are 0 for points that show nothing but the attributes `zero`."""
        blind = np.zeros(0, dtype=bool) if self.P is None else self._blind(np.delete(np.arange(self.X.shape[0]), zero))
        if not blind.any():
            return H
        H = H.copy(order="F")
        H[:, blind] = 0
        return H

    def _blind(self, attributes: Array) -> Array:
        """Which points (N) show none of these attributes."""
        assert self.P is not None
        blind: Array = ~np.any(self.P[attributes] > 0, axis=0)
        return blind

    def thin(self, problem: Problem, rule: Rule) -> Dense:
        """The same data in blocks that stay sparse, where the problem and its rule allow it."""
        return self

    def hold(self, H: Array, U: Array | None = None, *, workers: Workers, whole: bool = False) -> Codes:
        """Codes in memory."""
        return CodesInMemory(self, workers, self.cuts(whole), H, U)

    def tabulate(
        self, work: Callable[[Block], Array], n_rows: int, dtype: Any, *, workers: Workers, width: int
    ) -> Array:
        """The columns that ``work(block)`` makes of `width` points at a time, in one array."""
        table, cuts = np.empty((n_rows, self.n_points), dtype=dtype, order="F"), _cut(self.n_points, width)
        with single_threaded_blas():
            columns = self.map(lambda block, cut: work(block), workers, cuts)
            for cut, part in zip(cuts, columns, strict=True):
                table[:, cut] = part
        return table

    def map(self, work: Callable[[Block, slice], Answer], workers: Workers, cuts: Iterable[slice]) -> Iterator[Answer]:
        """``work`` on every block, the answers in the order of the blocks."""

        def on_block(cut: slice) -> Any:
            return work(self.block(cut), cut)

        return workers.map(on_block, cuts)
