"""Some points at a time, so that what is made of them on the way stays small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf.storage.lazy import Lazy

__all__ = ["row_blocks", "tabulated_here"]


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
