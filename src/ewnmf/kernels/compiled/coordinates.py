"""Coordinate descent on the rows of a factor, compiled: the steps of `models.coordinate.Coordinates`."""

from __future__ import annotations

import numpy as np
from numba import njit

from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.formulas import ENTRY, ROW
from ewnmf.kernels.compiled.rows import copy_row, dot

__all__ = ["measure_rows", "move_rows"]


@njit(**ROW)
def _sweep(G, ridge, first, h, g):
    """One coordinate after the other at its best value; `g` is half the slope downwards, before and after."""
    for k in range(first, h.size):
        curvature = G[k, k] + ridge
        if curvature > 0:
            best = max(h[k] + g[k] / curvature, 0.0)
            step = best - h[k]
            if step != 0:
                h[k] = best
                for l in range(h.size):
                    g[l] -= step * G[k, l]
                g[k] -= step * ridge


@njit(**ROW)
def _residual(G, b, h, g):
    """``g = b - G h``."""
    for l in range(h.size):
        g[l] = b[l]
    for k in range(h.size):
        if h[k] != 0:
            for l in range(h.size):
                g[l] -= h[k] * G[k, l]


@entry(**ENTRY)
def move_rows(G, B, linear, ridge, sweeps, first, factor, new):
    """The rows of `factor` (n x K) after sweeps on ``f'Gf - 2 b'f``, ``b`` a row of ``B``, with half the penalty."""
    K = G.shape[0]
    h, g, b = np.empty(K), np.empty(K), np.empty(K)
    for j in range(B.shape[0]):
        copy_row(factor[j], h)
        copy_row(B[j], b)
        _residual(G, b, h, g)
        for k in range(K):
            g[k] -= linear + ridge * h[k]
        for _ in range(sweeps):
            _sweep(G, ridge, first, h, g)
        copy_row(h, new[j])


@njit(**ROW)
def _whole(x, h, Wt, y):
    """``|x - W h|^2``, entry by entry."""
    copy_row(x, y)
    for k in range(h.size):
        if h[k] != 0:
            for i in range(y.size):
                y[i] -= h[k] * Wt[k, i]
    return dot(y, y)


@entry(**ENTRY)
def measure_rows(X, squares, G, B, Wt, codes, near, E):
    """The loss of every point, ``x'x - h'(b + (b - G h))``; entry by entry where that would have lost its digits.

    Without ``X`` (n x m) `squares` are ``x'x``, and a point that lost its digits gets the loss -1.
    """
    K = G.shape[0]
    h, g, b, y = np.empty(K), np.empty(K), np.empty(K), np.empty(Wt.shape[1])
    for j in range(B.shape[0]):
        copy_row(codes[j], h)
        copy_row(B[j], b)
        _residual(G, b, h, g)
        size = dot(X[j], X[j]) if X.size > 0 else squares[j]
        E[j] = size - dot(h, b) - dot(h, g)
        if E[j] <= near * size:
            E[j] = _whole(X[j], h, Wt, y) if X.size > 0 else -1.0
