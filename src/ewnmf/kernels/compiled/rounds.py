"""Rounds of least squares under weights that depend on the losses, compiled: `kernels.least_squares`."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from ewnmf.kernels.compiled.batch import LARGEST, LOOKS, add_products, begin, look_at_faces, set_less
from ewnmf.kernels.compiled.blas import alike, product, product_with_transposed
from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.formulas import decline, has
from ewnmf.kernels.compiled.least_squares import SLOTS, add_systems, nonnegative, unpack
from ewnmf.kernels.compiled.options import ENTRY, ROW
from ewnmf.kernels.compiled.rows import UNKNOWN, copy_row, dot, fill_row, judge_row, prior_row, sum_of_row, weigh_row
from ewnmf.kernels.compiled.vector_math import larger
from ewnmf.kernels.least_squares import CURVED, SHARES, SOON

__all__ = ["descend", "desks"]

_TRIES = len(SHARES)


def _curvature(weighting, loss):
    """How much of a weight is left as curvature, where the weight falls as the loss grows."""
    raise NotImplementedError


@overload(_curvature, jit_options=ROW)
def _curvature_of(weighting, loss):
    if has(weighting, "decline"):

        def falling(weighting, loss):
            return 2 * larger(0.5 - decline(weighting, loss), CURVED / 2)

        return falling
    return lambda weighting, loss: 1.0


@njit(**ROW)
def _model(how, x, y, d, t, factor, curved, c, r):
    """What a round needs of a point: the weights of its system, and those of its slope times the residual."""
    real = t.dtype.type
    if curved:
        for i in range(x.size):
            c[i] = factor * t[i] * real(_curvature(how.weighting, d[i]))
    else:
        for i in range(x.size):
            c[i] = factor * t[i]
    for i in range(x.size):
        r[i] = factor * t[i] * (x[i] - y[i])


@njit(**ROW)
def _lay(work, room, vectors):
    """The models of all slots side by side; those of points that are being solved are what they were, to the bit."""
    b, at, G, K, l = vectors[0], vectors[6], room.V, vectors.shape[1], 0
    for k in range(K):
        set_less(room.Q[k], work.linear, b[k])
    for k in range(K):
        add_products(G[l], at[k], b[k])
        for j in range(k + 1, K):
            add_products(G[l + j - k], at[k], b[j])
            add_products(G[l + j - k], at[j], b[k])
        for r in range(SLOTS):
            G[l, r] += work.ridge
        l += K - k


@njit(**ROW)
def _aim(room, r, code, vectors, most, G, U, b, h, g, free, d, aim):
    """Where the model of a point has its least value."""
    unpack(room.V[:, r], G)
    copy_row(code, h)
    for k in range(code.size):
        b[k] = vectors[0, k, r]
    nonnegative(G, b, h, most, g, free, d, U)
    copy_row(h, aim)


@njit(**ROW)
def _ahead(fall, fell):
    """What the next round is expected to gain after the last two."""
    return larger(fall * (fall / fell), SOON * fall) if 0 < fall < fell else fall


@njit(**ROW)
def _empty_slot(room, trial, point, r):
    point[r] = -1
    fill_row(trial[r], 0)
    fill_row(room.C[r], 0)
    fill_row(room.R[r], 0)


def desks(K, dtype):
    """The room of `descend` for a single system, for what is known of the slots, and for systems side by side."""
    both, vectors, side = np.empty((2, K, K)), np.empty((4, K)), K if K <= LARGEST else 0
    single = *both, *vectors, np.empty(K, dtype=np.int64)
    slots = np.empty((2 * SLOTS, K), dtype), np.empty(SLOTS), np.empty(SLOTS), np.empty(7 * SLOTS, np.int64)
    return single, slots, (np.empty((side, side, SLOTS)), np.zeros((7, K, SLOTS)), np.zeros((4, SLOTS)))


@entry(**ENTRY)
def descend(given, how, work, room, desks, flat, tol, max_iter, codes):
    """Lower ``E`` of every point from its codes (n x K), in place, until that falls by at most `tol` of itself.

    Steps are taken up to `flat` times the last ``E``, and a fall by that much is none.
    """
    tol = larger(tol, flat - 1)
    X, K, n, real = given.X, codes.shape[1], given.X.shape[0], codes.dtype.type
    (G, U, b, h, g, d, free), (steps, last, fell, marks), (factors, vectors, left) = desks
    trial, aim = steps[:SLOTS], steps[SLOTS:]
    point, tries, rounds = marks[:SLOTS], marks[SLOTS : 2 * SLOTS], marks[2 * SLOTS : 3 * SLOTS]
    curved, again, fresh = marks[3 * SLOTS : 4 * SLOTS], marks[4 * SLOTS : 5 * SLOTS], marks[5 * SLOTS : 6 * SLOTS]
    looks = marks[6 * SLOTS :]
    for r in range(SLOTS):
        _empty_slot(room, trial, point, r)
        looks[r] = -1
    ready, busy = 0, 0
    while ready < n or busy > 0:
        for r in range(SLOTS):
            if point[r] < 0 and ready < n:
                point[r], last[r], rounds[r], tries[r], curved[r], again[r] = ready, np.inf, 0, 0, True, False
                fell[r] = 0.0
                copy_row(codes[ready], trial[r])
                ready += 1
                busy += 1
        product(work.gemm, trial, work.Wt, alike(trial), room.Y)
        moving = False
        for r in range(SLOTS):
            j, fresh[r] = point[r], False
            if j < 0 or looks[r] >= 0:
                continue
            x, y, t, e = X[j], room.Y[r], room.rows[0], room.rows[1]
            p = prior_row(given.P, j)
            seen = weigh_row(how, x, y, p, given.silent, room.losses, t)
            _, E, _, rest = judge_row(how, x, y, p, given.silent, 1.0, room.losses, e, seen, UNKNOWN)
            E += 2 * work.linear * sum_of_row(trial[r]) + work.ridge * dot(trial[r], trial[r])
            over = False
            if again[r] or E <= flat * last[r]:
                over = rounds[r] >= max_iter
                if not again[r]:
                    if last[r] < np.inf:
                        fall = last[r] - E
                        next_fall = _ahead(fall, fell[r]) if tries[r] == 0 else fall
                        over = over or not next_fall > tol * last[r]
                        fell[r] = fall
                    copy_row(trial[r], codes[j])
                    last[r], curved[r] = E, True
                again[r] = False
                if not over:
                    _model(how, x, y, room.losses, t, real(rest), curved[r], room.C[r], room.R[r])
                    fresh[r] = moving = True
            elif tries[r] < _TRIES:
                share = real(SHARES[tries[r]])
                tries[r] += 1
                for k in range(K):
                    trial[r, k] = codes[j, k] + share * (aim[r, k] - codes[j, k])
            elif curved[r]:
                curved[r], again[r] = False, True
                copy_row(codes[j], trial[r])
            else:
                over = True
            if over:
                _empty_slot(room, trial, point, r)
                busy -= 1
        if moving:
            product_with_transposed(work.double_gemm, work.double_Wt, room.R, room.Q.shape[0], room.Q)
            add_systems(work, room.C, room)
            for r in range(SLOTS):
                if fresh[r]:
                    begin(room.V, work.ridge, codes[point[r]], r, vectors, left)
                    looks[r] = 0
            _lay(work, room, vectors)
        if K <= LARGEST and busy > 0:
            look_at_faces(room.V, factors, vectors, left, work.most)
        for r in range(SLOTS):
            if looks[r] < 0:
                continue
            looks[r] += 1
            if K > LARGEST or left[1, r] > 0 or looks[r] == LOOKS:
                _aim(room, r, codes[point[r]], vectors, work.most, G, U, b, h, g, free, d, aim[r])
            elif left[0, r] > 0:
                continue
            else:
                for k in range(K):
                    aim[r, k] = vectors[1, k, r]
            copy_row(aim[r], trial[r])
            left[0, r], looks[r], tries[r] = 0.0, -1, 0
            rounds[r] += 1
