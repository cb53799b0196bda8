"""Products with stored entries, entry by entry; they are not fused with sums, so that these are SciPy's to the bit."""

from __future__ import annotations

from typing import Any

from numba import njit

from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.options import APART, ENTRY

__all__ = ["add_columns", "multiply"]

_ROUNDED: dict[str, Any] = {**ENTRY, "fastmath": False}


@entry(**_ROUNDED)
def multiply(data, indices, indptr, rows, out):
    """``out = X' rows`` (n x K) for ``X`` (m x n, compressed columns) and `rows` (m x K).

    Four entries at a time, one after the other: sums go to memory and back a quarter as often.
    """
    K = rows.shape[1]
    for j in range(out.shape[0]):
        total, first, end = out[j], indptr[j], indptr[j + 1]
        for k in range(K):
            total[k] = 0
        fours = first + (end - first) // 4 * 4
        for t in range(first, fours, 4):
            x0, x1, x2, x3 = data[t], data[t + 1], data[t + 2], data[t + 3]
            r0, r1, r2, r3 = rows[indices[t]], rows[indices[t + 1]], rows[indices[t + 2]], rows[indices[t + 3]]
            for k in range(K):
                total[k] = (((total[k] + x0 * r0[k]) + x1 * r1[k]) + x2 * r2[k]) + x3 * r3[k]
        for t in range(fours, end):
            x, row = data[t], rows[indices[t]]
            for k in range(K):
                total[k] += x * row[k]


@njit(**{**APART, "fastmath": False})
def _add_scaled(x, row, out):
    for k in range(out.size):
        out[k] += x * row[k]


@entry(**_ROUNDED)
def add_columns(data, indices, indptr, codes, out):
    """``out += X codes`` (m x K) for ``X`` (m x n, compressed columns) and `codes` (n x K)."""
    for j in range(codes.shape[0]):
        code = codes[j]
        for t in range(indptr[j], indptr[j + 1]):
            _add_scaled(data[t], code, out[indices[t]])
