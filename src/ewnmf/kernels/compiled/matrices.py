"""Products with stored entries, compiled: the sums of `scipy.sparse` in its order and rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.compiled import loaded

__all__ = ["StoredMatrix"]


@dataclass(frozen=True, eq=False)
class StoredMatrix:
    """``X`` (m x n, compressed columns) or its transpose, for `product` with whole matrices."""

    X: Any
    flipped: bool = False

    __array_ufunc__ = None

    @property
    def T(self) -> StoredMatrix:
        """The transpose."""
        return StoredMatrix(self.X, not self.flipped)

    def __matmul__(self, other: Array) -> Array:
        assert self.flipped
        answer = np.empty((self.X.shape[1], other.shape[1]), other.dtype)
        loaded.stored().multiply(*self._stored, np.ascontiguousarray(other), answer)
        return answer

    def __rmatmul__(self, other: Array) -> Array:
        assert self.flipped
        answer = np.zeros((self.X.shape[0], other.shape[0]), other.dtype)
        loaded.stored().add_columns(*self._stored, np.ascontiguousarray(other.T), answer)
        return answer.T

    @property
    def _stored(self) -> tuple[Array, Array, Array]:
        return self.X.data, self.X.indices, self.X.indptr
