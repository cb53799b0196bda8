"""Nonnegative least squares of several points at once, compiled: entries of their systems lie side by side.

Block pivoting (Judice and Pires 1994): solve for the components that are free, then free at once all that would gain,
and bind all that went below 0, until nothing changes. That is where `least_squares._nonnegative` ends, too, to which is
left what does not end soon, depends on rounding or meets the largest code. No point has a part in another's answer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ewnmf.kernels.compiled.options import APART, ROW
from ewnmf.kernels.compiled.vector_math import larger
from ewnmf.kernels.least_squares import DEPENDENT, SETTLED

__all__ = ["LARGEST", "LOOKS", "add_products", "begin", "look_at_faces", "set_less"]

LARGEST = 32
"""Components up to which systems are solved side by side; larger ones are vectors in themselves."""
LOOKS = 8
"""Sets of free components that are tried."""


@njit(**APART)
def _take_products(u, v, out):
    for r in range(out.size):
        out[r] -= u[r] * v[r]


@njit(**APART)
def set_less(u, v, out):
    """``out = u - v`` for a number ``v``."""
    for r in range(out.size):
        out[r] = u[r] - v


@njit(**APART)
def add_products(u, v, out):
    """``out += u * v``."""
    for r in range(out.size):
        out[r] += u[r] * v[r]


@njit(**APART)
def _multiply(u, out):
    for r in range(out.size):
        out[r] *= u[r]


@njit(**APART)
def _copy(source, out):
    for r in range(out.size):
        out[r] = source[r]


@njit(**APART)
def _fill(out, value):
    for r in range(out.size):
        out[r] = value


@njit(**APART)
def _mask(row, u, v, out):
    for r in range(out.size):
        out[r] = row[r] * (u[r] * v[r])


@njit(**APART)
def _fill_up(free, out):
    """Ones on the diagonal for what is not free."""
    for r in range(out.size):
        out[r] += 1.0 - free[r]


@njit(**APART)
def _pivot(U, G, free, lost, over):
    for r in range(U.size):
        u, was = U[r], lost[r]
        lost[r] = was if u > DEPENDENT * (G[r] * free[r]) else 1.0
        over[r] = 1.0 / np.sqrt(u)


@njit(**APART)
def _go(d, going, h):
    for r in range(h.size):
        at = h[r]
        h[r] = d[r] if going[r] > 0 else at


@njit(**APART)
def _root(row):
    for r in range(row.size):
        row[r] = np.sqrt(larger(SETTLED * row[r], 0.0))


@njit(**APART)
def _look(g, G, most, least, going, h, free, more, lost):
    """Free what would gain, bind what is below 0; mark in `more` where that, or a slope on the face, is left.

    Where a bound component would neither gain nor lose there may be other answers, and a point is `lost`.
    """
    for r in range(h.size):
        at, slope, was, unsettled, gone = h[r], g[r], free[r], more[r], lost[r]
        enough = least[r] * np.sqrt(larger(G[r], 0.0))
        gains = (was == 0) & (slope > enough) & (G[r] > 0)
        below = (was > 0) & (at <= 0)
        more[r] = 1.0 if gains | below | ((was > 0) & (abs(slope) > enough)) else unsettled
        vague = (was == 0) & (abs(slope) <= enough) & (G[r] > 0)
        lost[r] = 1.0 if vague | (not at < most) else gone
        free[r] = 1.0 if gains else (0.0 if below else was)
        h[r] = 0.0 if below & (going[r] > 0) else at


@njit(**APART)
def _end(more, lost, going):
    for r in range(going.size):
        goes, wants, gone = going[r], more[r], lost[r]
        going[r] = goes if (wants > 0) & (gone == 0) else 0.0


@njit(**ROW)
def _residual(G, b, h, g):
    """``g = b - G h``."""
    K = h.shape[0]
    for k in range(K):
        _copy(b[k], g[k])
    l = 0
    for k in range(K):
        _take_products(h[k], G[l], g[k])
        for j in range(k + 1, K):
            _take_products(h[k], G[l + j - k], g[j])
            _take_products(h[j], G[l + j - k], g[k])
        l += K - k


@njit(**ROW)
def _factorize(G, free, lost, over, U):
    """``U'U = G`` of the free components, with ones for the others; `over` are its pivots' inverses."""
    K, l = over.shape[0], 0
    for k in range(K):
        for j in range(k, K):
            _mask(G[l + j - k], free[k], free[j], U[k, j])
        _fill_up(free[k], U[k, k])
        l += K - k
    l = 0
    for k in range(K):
        _pivot(U[k, k], G[l], free[k], lost, over[k])
        l += K - k
        for j in range(k + 1, K):
            _multiply(over[k], U[k, j])
        for i in range(k + 1, K):
            for j in range(i, K):
                _take_products(U[k, i], U[k, j], U[i, j])


@njit(**ROW)
def _solve_face(U, over, d):
    """``U'U d = d``, in place."""
    K = d.shape[0]
    for k in range(K):
        _multiply(over[k], d[k])
        for j in range(k + 1, K):
            _take_products(U[k, j], d[k], d[j])
    for k in range(K - 1, -1, -1):
        for j in range(k + 1, K):
            _take_products(U[k, j], d[j], d[k])
        _multiply(over[k], d[k])


@njit(**ROW)
def _gain(b, h, least):
    """What a coordinate may still gain."""
    _fill(least, 0.0)
    for k in range(h.shape[0]):
        add_products(b[k], h[k], least)
    _root(least)


@njit(**ROW)
def begin(G, ridge, code, r, vectors, marks):
    """Point `r` goes on from `code`, where what is above 0 is free, but for components that are nothing.

    Its system does not have the `ridge` yet; the last of the `vectors` keep the code.
    """
    h, free, at, l = vectors[1], vectors[2], vectors[6], 0
    for k in range(code.size):
        there = code[k] > 0 and G[l, r] + ridge > 0
        at[k, r] = code[k]
        h[k, r] = code[k] if there else 0.0
        free[k, r] = 1.0 if there else 0.0
        l += code.size - k
    marks[0, r], marks[1, r] = 1.0, 0.0


@njit(**ROW)
def look_at_faces(G, U, vectors, marks, most):
    """One look at ``min h'Gh - 2 b'h`` over ``0 <= h < most`` for the points that are `going`: their next `free` sets.

    Afterwards those that are not `going` any more have their answer in `h`, unless they are `lost`. ``G``
    (K(K+1)/2 x n) holds upper halves, ``U`` (K x K x n) is room, `vectors` (7 x K x n) are ``b``, `h`, `free` and room,
    `marks` (4 x n) `going`, `lost` and room.
    """
    b, h, free, g, d, over = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5]
    going, lost, more, least = marks[0], marks[1], marks[2], marks[3]
    K, l = h.shape[0], 0
    for k in range(K):
        _mask(b[k], free[k], free[k], d[k])
    _factorize(G, free, lost, over, U)
    _solve_face(U, over, d)
    for k in range(K):
        _go(d[k], going, h[k])
    _residual(G, b, h, g)
    _gain(b, h, least)
    _fill(more, 0.0)
    for k in range(K):
        _look(g[k], G[l], most, least, going, h[k], free[k], more, lost)
        l += K - k
    _end(more, lost, going)
