"""Tables of numbers as lists of rows, and the few loops over them that every rule needs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

Table = list[list[float]]


def table(rows: int, columns: int, entry: Callable[[int, int], float]) -> Table:
    """``B_ij = entry(i, j)``."""
    return [[entry(i, j) for j in range(columns)] for i in range(rows)]


def as_table(B: ArrayLike) -> Table:
    """The numbers of a two-dimensional array as lists of Python floats."""
    return [[float(b) for b in row] for row in np.asarray(B)]


def size(B: Table) -> tuple[int, int]:
    """Rows and columns."""
    return len(B), len(B[0])


def transpose(B: Table) -> Table:
    """``(B')_ji = B_ij``."""
    rows, columns = size(B)
    return table(columns, rows, lambda j, i: B[i][j])


def product(B: Table, C: Table) -> Table:
    """``(B C)_ij = sum_k B_ik C_kj``."""
    (rows, inner), (_, columns) = size(B), size(C)
    return table(rows, columns, lambda i, j: math.fsum(B[i][k] * C[k][j] for k in range(inner)))


def positive(b: float) -> float:
    """``P(b) = max(b, 0)``."""
    return max(b, 0.0)


def negative(b: float) -> float:
    """``N(b) = max(-b, 0)``."""
    return max(-b, 0.0)


def quotient(numerator: float, denominator: float) -> float:
    """``numerator / denominator``, the factor of a multiplicative step; 1 where the denominator is 0."""
    return numerator / denominator if denominator != 0.0 else 1.0


def floored(factor: Table, X: Table) -> Table:
    """``max(factor, 1e-60 max|X|)``: a factor that reached zero could never leave it."""
    floor = 1e-60 * max(abs(x) for row in X for x in row)
    return table(*size(factor), lambda i, j: max(factor[i][j], floor))


def solve(B: Table, c: list[float]) -> list[float]:
    """``z`` with ``B z = c`` by Gaussian elimination with partial pivoting."""
    n = len(c)
    rows = [[*B[i], c[i]] for i in range(n)]
    for p in range(n):
        pivot = max(range(p, n), key=lambda i: abs(rows[i][p]))
        rows[p], rows[pivot] = rows[pivot], rows[p]
        for i in range(p + 1, n):
            share = rows[i][p] / rows[p][p]
            for j in range(p, n + 1):
                rows[i][j] -= share * rows[p][j]
    z = [0.0] * n
    for i in reversed(range(n)):
        z[i] = (rows[i][n] - math.fsum(rows[i][j] * z[j] for j in range(i + 1, n))) / rows[i][i]
    return z
