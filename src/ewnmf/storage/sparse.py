"""Sparse data in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from ewnmf._types import Array
from ewnmf.models.base import Block, Facts, Rule, SparseBlock
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense, block_width

__all__ = ["RARE", "Sparse", "Stored"]

_BLOCK_STORED = 1 << 17
_WIDEST, _BLOCKS = 64, 16
"""Points of a block that is made dense, however wide they are, while there are so many blocks."""


RARE = 0.2
"""Up to this share of stored entries sparse products are faster than dense ones."""


@dataclass(frozen=True)
class Sparse(Dense):
    """Sparse data (M x N, compressed columns): one block at a time is made dense."""

    X: Any

    def points(self, cut: slice) -> Array:
        """The data of `cut`, dense (M x b)."""
        dense: Array = self._part(cut).toarray(order="F")
        return dense

    def _part(self, cut: slice) -> Any:
        return self.X if (cut.start, cut.stop) == (0, self.n_points) else self.X[:, cut]

    def block(self, cut: slice) -> Block:
        """The points of `cut`, dense where somebody asks for that."""
        if self.P is not None or not self.X.has_canonical_format:
            return super().block(cut)
        return SparseBlock(self._part(cut), None, None if self.s is None else self.s[cut], self.silent)

    def cuts(self, whole: bool = False) -> list[slice]:
        """The blocks of points; of wide ones not too few, since the sums (M x K) of every block are made and added."""
        if whole or self.width is not None:
            return super().cuts(whole)
        most = min(_WIDEST, self.n_points // _BLOCKS // 16 * 16)
        return replace(self, width=max(most, block_width(self.X.shape[0]))).cuts()

    def _of_points(self, values: Any) -> Array:
        """A value for every point (N) as an array."""
        whole: Array = values.toarray().ravel()
        return whole

    @property
    def stores_zeros(self) -> bool:
        """Whether zeros are stored as any other value."""
        return False

    @property
    def sparse(self) -> bool:
        """Whether zeros are not stored and have no priors of their own."""
        return self.P is None

    def facts(self, problem: Problem) -> Facts:
        """What the update rules may know of the data."""
        rare = self.X.nnz <= RARE * self.X.shape[0] * self.X.shape[1]
        return replace(super().facts(problem), stored=bool(self.sparse and rare))

    def gram(self) -> Array:
        """``X'X`` (N x N)."""
        dense: Array = (self.X.T @ self.X).toarray(order="F")
        return dense

    def without_zeros(self, problem: Problem, needed: Array) -> tuple[Dense, Array | None]:
        """Attributes that are zero in every point have a closed form: see `Block.silent`.

        Not where they have priors of their own and share the weights of a point with the others, nor for a loss or
        weighting of the user's own.
        """
        if not problem.is_known or (self.P is not None and problem.weighting.shared):
            return self, None
        present = needed.copy()
        present[self.X.indices[self.X.data != 0]] = True
        if present.all() or not present.any() or not problem.loss.silent_zeros:
            return self, None
        rows = np.flatnonzero(present)
        P = None if self.P is None else self.P[rows]
        mean = None if self.P is None else self.mean_weight(problem)
        X = self.X.tocsr()[rows].tocsc()
        return replace(self, X=X, P=P, silent=self.X.shape[0] - rows.size, mean_prior=mean), rows

    def zero_attributes(self) -> Array:
        """The attributes that were observed, and are zero wherever they were."""
        if self.P is not None:
            return super().zero_attributes()
        zero = np.ones(self.X.shape[0], dtype=bool)
        zero[self.X.indices[self.X.data != 0]] = False
        return np.flatnonzero(zero)

    def thin(self, problem: Problem, rule: Rule) -> Dense:
        """The same data in blocks that stay sparse, where the problem and its rule allow it."""
        if not problem.looks_at_stored(rule):
            return self
        X = csc_array(self.X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return Stored(**{**vars(self), "X": X})


@dataclass(frozen=True)
class Stored(Sparse):
    """Sparse data whose blocks stay sparse."""

    made: dict[int, Block] = field(default_factory=dict, repr=False, compare=False)
    """Blocks by where they begin: every sweep asks for the same ones."""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "made": {}}  # a copy elsewhere makes its own

    def part(self, cut: slice) -> Dense:
        """Some consecutive points, with what is known of all."""
        return replace(super().part(cut), made={})  # type: ignore[call-arg]

    def cuts(self, whole: bool = False) -> list[slice]:
        """The blocks of points, alike, and so large that their sums (M x K) are small against their products."""
        if whole or self.width is not None:
            return super().cuts(whole)
        blocks = max(1, self.X.nnz // max(_BLOCK_STORED, 4 * self.X.shape[0]))
        return replace(self, width=-(-self.n_points // (16 * blocks)) * 16).cuts()

    def block(self, cut: slice) -> Block:
        """The points of `cut`, sparse; nothing is copied."""
        found = self.made.get(cut.start)
        if found is None or found.X.shape[1] != cut.stop - cut.start:
            found = self.made[cut.start] = self._make_block(cut)
        return found

    def _make_block(self, cut: slice) -> Block:
        X, ends = self.X, self.X.indptr[cut.start : cut.stop + 1]
        part = slice(ends[0], ends[-1])
        points = csc_array((X.data[part], X.indices[part], ends - ends[0]), shape=(X.shape[0], ends.size - 1))
        return Block(points, None, None if self.s is None else self.s[cut], self.silent)
