"""The sweep over stored entries alone, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ewnmf._types import Float64
from ewnmf.kernels.compiled import loaded
from ewnmf.kernels.compiled.matrices import StoredMatrix
from ewnmf.kernels.stored import Look, StoredKernel
from ewnmf.losses.elementary import numbers

__all__ = ["FusedStoredKernel"]


@dataclass(frozen=True, eq=False)
class FusedStoredKernel(StoredKernel):
    """The stored entries of a block in one compiled pass."""

    @property
    def encodes_at_once(self) -> int:
        """Points that `encode` takes together; those of least squares have nothing to do with each other."""
        return 1 if self.rule.solves_codes else super().encodes_at_once

    def solve_systems(self, G: Float64, B: Float64, most: float) -> Float64:
        """The codes (K x b) of points with one system and right sides ``B`` (K x b)."""
        codes = np.empty(B.shape[::-1])
        loaded.least_squares().solve_systems(G, np.ascontiguousarray(B.T), most, codes)
        return codes.T

    def multiplied(self, X: Any) -> Any:
        """``X`` for products that are compiled."""
        return StoredMatrix(X)

    def look(self, X: Any, Y: Any, judge: bool = True) -> Look:
        """The stored entries of a block under ``Y``; without their losses, unless they are to `judge` it."""
        codes = np.ascontiguousarray(Y.right.T, dtype=np.float64)
        costs, near = self.against_zeros(Y) if judge else (np.empty(0), np.empty(0))
        neg = np.empty(X.data.size if self.rule.needs_pulls else 0, X.dtype)
        form = self.problem.loss.scalar(numbers(X.dtype, self.tiny, np.float64))
        stored, rows = (X.data, X.indices, X.indptr), self.prepared(Y.left).rows
        loaded.passes().look_at_stored(stored, codes, rows, near, form, neg, costs)
        return Look(neg, costs)
