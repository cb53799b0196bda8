"""Coordinate descent on the rows of a factor, compiled: the steps of `models.coordinate.Coordinates`."""

from __future__ import annotations

import numpy as np
from numba import njit

from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.options import ALLOCATING, ROW
from ewnmf.kernels.compiled.rows import copy_row, dot
from ewnmf.kernels.compiled.vector_math import larger, lesser

__all__ = ["measure_rows", "move_rows"]


@njit(**ROW)
def _sweep(G, ridge, most, first, h, g):
    """One coordinate after the other at its best value; `g` is half the slope downwards, before and after."""
    for k in range(first, h.size):
        curvature = G[k, k] + ridge
        if curvature > 0:
            best = lesser(larger(h[k] + g[k] / curvature, 0.0), most)
            step = best - h[k]
            if step != 0:
                h[k] = best
                for l in range(h.size):
                    g[l] -= step * G[k, l]
                g[k] -= step * ridge


@entry(**ALLOCATING)
def move_rows(G, slopes, linear, ridge, most, sweeps, first, factor, new):
    """The rows ``f`` of `factor` (n x K) after sweeps on ``f'Gf - 2 b'f``, with half the penalty.

    `slopes` are ``b - G f``, which is half the slope downwards; no entry goes beyond `most`.
    """
    _move_rows(G, slopes, linear, ridge, most, sweeps, first, factor, new, np.empty((2, G.shape[0])))


@njit(**ROW)
def _move_rows(G, slopes, linear, ridge, most, sweeps, first, factor, new, room):
    K, h, g = G.shape[0], room[0], room[1]
    for j in range(slopes.shape[0]):
        copy_row(factor[j], h)
        for k in range(K):
            g[k] = slopes[j, k] - linear - ridge * h[k]
        for _ in range(sweeps):
            _sweep(G, ridge, most, first, h, g)
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


@entry(**ALLOCATING)
def measure_rows(X, B, slopes, Wt, codes, near, E):
    """The loss of every point, ``x'x - h'(b + (b - G h))``; entry by entry where that would have lost its digits."""
    _measure_rows(X, B, slopes, Wt, codes, near, E, np.empty(codes.shape[1]), np.empty(Wt.shape[1]))


@njit(**ROW)
def _measure_rows(X, B, slopes, Wt, codes, near, E, h, y):
    for j in range(B.shape[0]):
        copy_row(codes[j], h)
        size = dot(X[j], X[j])
        E[j] = size - dot(h, B[j]) - dot(h, slopes[j])
        if E[j] <= near * size:
            E[j] = _whole(X[j], h, Wt, y)
