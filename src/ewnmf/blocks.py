"""How data is stored: cut into blocks of points, worked on by threads, summed in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ewnmf.problem import Problem
from ewnmf.threads import Workers
from ewnmf.updates.rule import Array, Block, Facts, product

__all__ = ["Dense", "add_arrays", "block_width"]

Answer = TypeVar("Answer")

_BLOCK_ENTRIES = 1 << 17


def block_width(n_attributes: int) -> int:
    """Points in a block: about 2^17 entries, a multiple of 16. It depends on the shape alone."""
    return max(16, _BLOCK_ENTRIES // max(1, n_attributes) // 16 * 16)


def add_arrays(total: tuple[Array, ...] | None, share: tuple[Array, ...]) -> tuple[Array, ...]:
    """The sums of two tuples of arrays; the first is added to in place."""
    if total is None:
        return share
    for mine, theirs in zip(total, share, strict=True):
        mine += theirs
    return total


@dataclass(frozen=True)
class Dense:
    """Data in memory: ``X`` (M x N, columns are points), priors ``P`` (M x N) and point weights ``s`` (N)."""

    X: Array
    P: Array | None = None
    s: Array | None = None
    width: int | None = None

    @property
    def n_points(self) -> int:
        """N."""
        return int(self.X.shape[1])

    @property
    def mass(self) -> float:
        """The prior weight of all entries, ``sum s P``."""
        weights = np.ones(self.n_points) if self.s is None else self.s
        columns = self.X.shape[0] if self.P is None else np.sum(self.P, axis=0, dtype=np.float64)
        return float(np.sum(weights * columns, dtype=np.float64))

    @property
    def scale(self) -> float:
        """The largest absolute value, and 1 where all are 0."""
        return max(float(self.X.max()), -float(self.X.min())) or 1.0

    def facts(self, problem: Problem) -> Facts:
        """What the update rules may know of the data."""
        shape = (self.X.shape[0], self.X.shape[1])
        limits = np.finfo(self.X.dtype)
        return Facts(
            n_attributes=shape[0],
            n_points=shape[1],
            floor=max(1e-60 * self.scale, 100 * float(limits.tiny)),
            signed=bool(self.X.min() < 0),
            mean_weight=problem.weighting.mean(shape, self.P, self.s),
            gram=lambda: product(self.X.T, self.X),
        )

    @property
    def tiny(self) -> float:
        """Reconstructions below this count as this where a loss divides by them."""
        limits = np.finfo(self.X.dtype)
        return max(self.scale * (1e-90 if limits.bits == 64 else 1e-30), 100 * float(limits.tiny))

    def cuts(self, whole: bool = False) -> list[slice]:
        """The blocks of points."""
        width = self.n_points if whole else self.width or block_width(self.X.shape[0])
        return [slice(at, min(at + width, self.n_points)) for at in range(0, self.n_points, width)]

    def block(self, cut: slice) -> Block:
        """The points of `cut`, each of them contiguous in memory."""
        X = np.asfortranarray(self.X[:, cut])
        P = None if self.P is None else np.asfortranarray(self.P[:, cut])
        return Block(X, P, None if self.s is None else self.s[cut])

    def map(self, work: Callable[[Block, slice], Answer], workers: Workers, cuts: Iterable[slice]) -> Iterator[Answer]:
        """``work`` on every block, the answers in the order of the blocks."""

        def on_block(cut: slice) -> Any:
            return work(self.block(cut), cut)

        return workers.map(on_block, cuts)
