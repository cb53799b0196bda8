"""The elementwise work of any rule's sweep, compiled: all rows of a block, by the functions of `rows`."""

from __future__ import annotations

import numpy as np
from numba import njit

from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.options import ALLOCATING, ENTRY, ROW
from ewnmf.kernels.compiled.rows import (
    UNKNOWN,
    dot,
    judge_row,
    losses_of_row,
    prior_row,
    pull_row,
    pull_row_again,
    scale_row,
    sum_of_row,
    weigh_row,
)

__all__ = ["look_at_stored", "measure_rows", "pull_rows", "weigh_rows"]


@entry(**ALLOCATING)
def weigh_rows(given, Y, how, A, up, J, E, L):
    """Weights ``A``, their pulls (where `up` is not empty) and every row's ``J*``, ``E`` and loss."""
    _weigh_rows(given, Y, how, A, up, J, E, L, np.empty((2, A.shape[1]), dtype=A.dtype))


@njit(**ROW)
def _weigh_rows(given, Y, how, A, up, J, E, L, room):
    X, P, s, real = given.X, given.P, given.s, A.dtype.type
    d, e = room[0], room[1]
    for j in range(X.shape[0]):
        p, weight = prior_row(P, j), s[j] if s.size > 0 else 1.0
        seen = weigh_row(how, X[j], Y[j], p, given.silent, d, A[j])
        J[j], E[j], L[j], factor = judge_row(how, X[j], Y[j], p, given.silent, weight, d, e, seen, UNKNOWN)
        scale_row(A[j], real(factor))
        if up.size > 0:
            pull_row(how.loss, X[j], Y[j], A[j], up[j], Y[j])


@entry(**ALLOCATING)
def measure_rows(X, Y, A, loss, L):
    """``sum A d`` of every row under given weights."""
    _measure_rows(X, Y, A, loss, L, np.empty(X.shape[1], dtype=Y.dtype))


@njit(**ROW)
def _measure_rows(X, Y, A, loss, L, d):
    for j in range(X.shape[0]):
        losses_of_row(loss, X[j], Y[j], d)
        L[j] = dot(A[j], d) if A.size > 0 else sum_of_row(d)


@entry(**ENTRY)
def pull_rows(X, Y, A, loss, up):
    """``A * neg`` and, where it is not 1, ``A * pos`` in place of ``Y``; without `up` only the latter."""
    for j in range(X.shape[0]):
        if up.size > 0:
            pull_row(loss, X[j], Y[j], A[j], up[j], Y[j])
        else:
            pull_row_again(loss, X[j], Y[j], A[j], A[j], Y[j])


@njit(**ROW)
def _whole_loss(data, indices, at, n, code, W, loss, x, y, d):
    """The loss of a row, zeros and all."""
    x[:] = 0.0
    for t in range(n):
        x[indices[at + t]] = data[at + t]
    for i in range(W.shape[0]):
        y[i] = dot(W[i], code)
    losses_of_row(loss, x, y, d)
    return sum_of_row(d)


@entry(**ALLOCATING)
def look_at_stored(stored, codes, W, near, loss, up, costs):
    """``neg`` at the stored entries, and every row's loss in `costs`, which come with its loss against zeros.

    Losses of up to `near` are summed over all entries. An empty `up`, or empty `costs`, are not asked for.
    """
    _look_at_stored(stored, codes, W, near, loss, up, costs, np.ones((5, W.shape[0])))


@njit(**ROW)
def _look_at_stored(stored, codes, W, near, loss, up, costs, room):
    data, indices, indptr = stored
    x, y, d, e, ones = room[0], room[1], room[2], room[3], room[4]
    for j in range(codes.shape[0]):
        at, n = indptr[j], indptr[j + 1] - indptr[j]
        for t in range(n):
            x[t] = data[at + t]
            y[t] = dot(W[indices[at + t]], codes[j])
        if up.size > 0:
            pull_row(loss, x[:n], y[:n], ones[:n], d[:n], e[:n])
            for t in range(n):
                up[at + t] = d[t]
        if costs.size == 0:
            continue
        losses_of_row(loss, x[:n], y[:n], d[:n])
        cost = costs[j] + sum_of_row(d[:n])
        x[:n] = 0.0
        losses_of_row(loss, x[:n], y[:n], d[:n])
        costs[j] = cost - sum_of_row(d[:n])
        if costs[j] <= near[j]:
            costs[j] = _whole_loss(data, indices, at, n, codes[j], W, loss, x, y, d)
