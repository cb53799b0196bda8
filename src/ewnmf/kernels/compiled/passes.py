"""The elementwise work of any rule's sweep, compiled: all rows of a block, by the functions of `_rows`.

``P`` may be None, and an empty ``s`` or ``A`` stands for ones too.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.rows import (
    ENTRY,
    ROW,
    dot,
    judge_row,
    losses_of_row,
    pull_row,
    scale_by,
    scale_row,
    sum_of_row,
    weigh_row,
)

__all__ = ["look_at_stored", "measure_rows", "pull_rows", "weigh_rows"]


@entry(**ENTRY)
def weigh_rows(X, Y, P, s, silent, loss, gammas, limits, A, neg, J, E, L):
    """Entropy weights ``A``, their pulls (where `neg` is not empty) and every row's ``J*``, ``E`` and loss."""
    real = A.dtype.type
    small, limit, tiny = real(limits[0]), real(limits[1]), real(limits[2])
    over_gamma = real(1.0 / gammas[1])
    d, e = np.empty(X.shape[1], dtype=A.dtype), np.empty(X.shape[1], dtype=A.dtype)
    for j in range(X.shape[0]):
        p = None if P is None else P[j]
        weight = s[j] if s.size > 0 else 1.0
        seen = weigh_row(loss, X[j], Y[j], p, silent, over_gamma, limits, d, A[j])
        judged = judge_row(loss, X[j], Y[j], p, silent, weight, gammas, over_gamma, limits, d, e, seen)
        J[j], E[j], L[j], factor = judged
        scale_row(A[j], real(factor))
        if neg.size > 0:
            pull_row(loss, X[j], Y[j], A[j], neg[j], Y[j], small, limit, tiny)


@entry(**ENTRY)
def measure_rows(X, Y, A, loss, limits, L):
    """``sum A d`` of every row under given weights."""
    real = Y.dtype.type
    small, limit, tiny = real(limits[0]), real(limits[1]), real(limits[2])
    d = np.empty(X.shape[1], dtype=Y.dtype)
    for j in range(X.shape[0]):
        losses_of_row(loss, X[j], Y[j], d, small, limit, tiny)
        L[j] = dot(A[j], d) if A.size > 0 else sum_of_row(d)


@entry(**ENTRY)
def pull_rows(X, Y, A, loss, limits, neg):
    """``A * neg`` and, for the Euclidean loss, ``A * pos`` in place of ``Y``; without `neg` only the latter."""
    real = Y.dtype.type
    small, limit, tiny = real(limits[0]), real(limits[1]), real(limits[2])
    for j in range(X.shape[0]):
        if neg.size > 0:
            pull_row(loss, X[j], Y[j], A[j], neg[j], Y[j], small, limit, tiny)
        else:
            scale_by(Y[j], A[j])


@njit(**ROW)
def _whole_loss(data, indices, at, n, code, W, loss, limits, x, y, d):
    """The loss of a row, zeros and all."""
    x[:] = 0.0
    for t in range(n):
        x[indices[at + t]] = data[at + t]
    for i in range(W.shape[0]):
        y[i] = dot(W[i], code)
    losses_of_row(loss, x, y, d, limits[0], limits[1], limits[2])
    return sum_of_row(d)


@entry(**ENTRY)
def look_at_stored(stored, codes, W, near, loss, limits, neg, costs):
    """``neg`` at the stored entries, and every row's loss in `costs`, which come with its loss against zeros.

    Losses of up to `near` are summed over all entries. An empty `neg`, or empty `costs`, are not asked for.
    """
    data, indices, indptr = stored
    small, limit, tiny = limits[0], limits[1], limits[2]
    x, y, d, e = np.empty(W.shape[0]), np.empty(W.shape[0]), np.empty(W.shape[0]), np.empty(W.shape[0])
    ones = np.ones(W.shape[0])
    for j in range(codes.shape[0]):
        at, n = indptr[j], indptr[j + 1] - indptr[j]
        for t in range(n):
            x[t] = data[at + t]
            y[t] = dot(W[indices[at + t]], codes[j])
        if neg.size > 0:
            pull_row(loss, x[:n], y[:n], ones[:n], d[:n], e[:n], small, limit, tiny)
            for t in range(n):
                neg[at + t] = d[t]
        if costs.size == 0:
            continue
        losses_of_row(loss, x[:n], y[:n], d[:n], small, limit, tiny)
        cost = costs[j] + sum_of_row(d[:n])
        x[:n] = 0.0
        losses_of_row(loss, x[:n], y[:n], d[:n], small, limit, tiny)
        costs[j] = cost - sum_of_row(d[:n])
        if costs[j] <= near[j]:
            costs[j] = _whole_loss(data, indices, at, n, codes[j], W, loss, limits, x, y, d)
