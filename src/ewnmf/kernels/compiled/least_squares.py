"""Codes for a fixed basis by least squares, compiled: `kernels.least_squares` with `SLOTS` points at a time.

Products have one shape, so that a point's bits do not depend on the points beside it; a slot without a point holds
zeros. The systems ``W' diag(c) W`` of all slots are one product of their weights with the products ``w_ik w_il``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ewnmf.kernels.compiled.blas import add_twice_transposed, product_with_transposed
from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.options import ALLOCATING, ENTRY, ROW
from ewnmf.kernels.compiled.rows import copy_row, dot, fill_row
from ewnmf.kernels.compiled.vector_math import larger, lesser
from ewnmf.kernels.least_squares import DEPENDENT, ROUNDS, SETTLED, SWEEPS

__all__ = [
    "SLOTS",
    "STRETCH",
    "add_systems",
    "desk_of",
    "nonnegative",
    "pair_rows",
    "solve",
    "solve_systems",
    "unpack",
]

SLOTS = 16
"""Points whose products are taken together."""
STRETCH = 64
"""Attributes whose products ``w_ik w_il`` are made at a time."""


@njit(**ROW)
def _sweep(G, h, g, most):
    """One coordinate after the other at its best value, the others fixed; `g` is ``b - G h`` before and after."""
    for k in range(h.size):
        if G[k, k] > 0:
            best = lesser(larger(h[k] + g[k] / G[k, k], 0.0), most)
            step = best - h[k]
            if step != 0:
                h[k] = best
                for l in range(h.size):
                    g[l] -= step * G[k, l]


@njit(**ROW)
def _factorize(G, free, n, U):
    """``U'U = G`` of the first `n` of `free`, as far as none depends on those before it: how many that are."""
    for i in range(n):
        for j in range(i, n):
            U[i, j] = G[free[i], free[j]]
    for k in range(n):
        if not U[k, k] > DEPENDENT * G[free[k], free[k]]:
            return k
        root = np.sqrt(U[k, k])
        for j in range(k, n):
            U[k, j] /= root
        for i in range(k + 1, n):
            share = U[k, i]
            for j in range(i, n):
                U[i, j] -= share * U[k, j]
    return n


@njit(**ROW)
def _exchange(U, held, d):
    """A step that gives the coordinate after the first `held`, which depends on them, to these."""
    for k in range(held - 1, -1, -1):
        total = U[k, held]
        for j in range(k + 1, held):
            total -= U[k, j] * d[j]
        d[k] = total / U[k, k]
    d[held] = -1.0


@njit(**ROW)
def _solve_face(U, n, d):
    """``U'U d = d``, in place."""
    for k in range(n):
        d[k] /= U[k, k]
        for j in range(k + 1, n):
            d[j] -= U[k, j] * d[k]
    for k in range(n - 1, -1, -1):
        total = d[k]
        for j in range(k + 1, n):
            total -= U[k, j] * d[j]
        d[k] = total / U[k, k]


@njit(**ROW)
def _residual(G, b, h, g):
    """``g = b - G h``."""
    for l in range(h.size):
        g[l] = b[l]
    for k in range(h.size):
        if h[k] != 0:
            for l in range(h.size):
                g[l] -= h[k] * G[k, l]


@njit(**ROW)
def _find_face(h, most, free):
    """How many coordinates lie between their ends, which `free` then begins with."""
    n = 0
    for k in range(h.size):
        if 0 < h[k] < most:
            free[n] = k
            n += 1
    return n


@njit(**ROW)
def _fit_face(G, b, h, g, most, free, d, U):
    """Go to the best point of the face that `h` lies in, or as far as its border, and on along that."""
    for _ in range(2 * h.size):
        n = _find_face(h, most, free)
        if n == 0:
            return
        held, share, first = _factorize(G, free, n, U), np.inf, -1
        if held < n:
            n = held + 1
            _exchange(U, held, d)
        else:
            for i in range(n):
                d[i] = g[free[i]]
            _solve_face(U, n, d)
            share = 1.0
        for i in range(n):
            end = 0.0 if d[i] < 0 else most
            if d[i] != 0 and (end - h[free[i]]) / d[i] < share:
                share, first = (end - h[free[i]]) / d[i], i
        for i in range(n):
            h[free[i]] = lesser(larger(h[free[i]] + share * d[i], 0.0), most)
        if first >= 0:
            h[free[first]] = 0.0 if d[first] < 0 else most
        _residual(G, b, h, g)
        if first < 0:
            return


@njit(**ROW)
def _settled(G, b, h, g, most):
    """Whether no coordinate has more to gain than rounding."""
    least = np.sqrt(larger(SETTLED * dot(b, h), 0.0))
    for k in range(h.size):
        stuck = (h[k] <= 0 and g[k] <= 0) or (h[k] >= most and g[k] >= 0)
        if G[k, k] > 0 and not stuck and abs(g[k]) > least * np.sqrt(G[k, k]):
            return False
    return True


@njit(**ROW)
def nonnegative(G, b, h, most, g, free, d, U):
    """``min h'Gh - 2 b'h`` over ``0 <= h <= most``, from `h` and in place."""
    for k in range(h.size):
        if not G[k, k] > 0:
            h[k] = 0.0
    _residual(G, b, h, g)
    for _ in range(ROUNDS):
        _fit_face(G, b, h, g, most, free, d, U)
        if _settled(G, b, h, g, most):
            return
        for _ in range(SWEEPS):
            _sweep(G, h, g, most)


@njit(**ALLOCATING)
def desk_of(K):
    """Room for a system: ``G``, its factors, four vectors, and the coordinates of a face."""
    room = np.empty((2 * K + 4, K))
    vectors = room[2 * K :]
    return room[:K], room[K : 2 * K], vectors[0], vectors[1], vectors[2], vectors[3], np.empty(K, dtype=np.int64)


@entry(**ALLOCATING)
def solve_systems(G, B, most, codes):
    """The codes (n x K) of points with one system ``G`` (K x K) and right sides ``B`` (n x K)."""
    _solve_systems(G, B, most, codes, desk_of(G.shape[0]))


@njit(**ROW)
def _solve_systems(G, B, most, codes, desk):
    _, U, b, h, g, d, free = desk
    for j in range(B.shape[0]):
        fill_row(h, 0.0)
        copy_row(B[j], b)
        nonnegative(G, b, h, most, g, free, d, U)
        copy_row(h, codes[j])


@njit(**ROW)
def _pair(rows, pairs):
    """``w_k w_l`` of every row, for ``k <= l``."""
    K = rows.shape[1]
    for i in range(rows.shape[0]):
        l = 0
        for k in range(K):
            w = rows[i, k]
            for j in range(k, K):
                pairs[i, l + j - k] = w * rows[i, j]
            l += K - k


@entry(**ENTRY)
def pair_rows(rows, pairs):
    """The products of the entries of every row (n x K) with each other, in `pairs` (n x K(K+1)/2)."""
    _pair(rows, pairs)


@njit(**ROW)
def add_systems(work, C, room):
    """``W' diag(c) W`` of every slot, its upper half row by row, in a column."""
    m, made = work.rows.shape[0], work.pairs.size > 0
    for at in range(0, m, STRETCH):
        n = lesser(STRETCH, m - at)
        if not made:
            _pair(work.rows[at : at + n], room.pairs)
        pairs = work.pairs[at : at + n] if made else room.pairs[:n]
        add_twice_transposed(work.double_gemm, pairs, C[:, at:], m, 0.0 if at == 0 else 1.0, room.V)


@njit(**ROW)
def unpack(half, G):
    """A system from its upper half, row by row."""
    l = 0
    for k in range(G.shape[0]):
        for j in range(k, G.shape[0]):
            G[k, j] = G[j, k] = half[l]
            l += 1


@entry(**ALLOCATING)
def solve(X, constant, gram, scale, work, room, codes):
    """The codes of points (n x m) under `constant` weights (n x m): one system each.

    Without such weights they share one, `gram`, which is ``scale W'W``.
    """
    _solve(X, constant, gram, scale, work, room, codes, desk_of(codes.shape[1]))


@njit(**ROW)
def _solve(X, constant, gram, scale, work, room, codes, desk):
    K, n, own = codes.shape[1], X.shape[0], constant.size > 0
    G, U, b, h, g, d, free = desk
    for k in range(K):
        copy_row(gram[k], G[k])
    for at in range(0, n, SLOTS):
        for r in range(SLOTS):
            pulled = room.R[r]
            if at + r >= n:
                fill_row(pulled, 0)
                fill_row(room.C[r], 0)
            elif own:
                copy_row(constant[at + r], room.C[r])
                for i in range(pulled.size):
                    pulled[i] = constant[at + r, i] * X[at + r, i]
            else:
                copy_row(X[at + r], pulled)
        product_with_transposed(work.double_gemm, work.double_Wt, room.R, room.Q.shape[0], room.Q)
        if own:
            add_systems(work, room.C, room)
        for r in range(lesser(SLOTS, n - at)):
            if own:
                unpack(room.V[:, r], G)
                for k in range(K):
                    G[k, k] += work.ridge
            for k in range(K):
                b[k] = scale * room.Q[k, r] - work.linear
                h[k] = 0.0
            nonnegative(G, b, h, work.most, g, free, d, U)
            copy_row(h, codes[at + r])
