"""A whole sweep of the multiplicative rule over a block, compiled: products, weights, codes step and sums.

It is the sweep of `kernels.reference.Kernel` with the step of `models.nmf.Multiplicative`, in groups of points small
enough to stay in the cache, and without Python in between. ``NP`` holds ``A * neg`` and ``A * pos`` of a point side by
side, so that one product serves both: its rows of ``2 m`` are ``2`` rows of ``m``. Weights are not divided by their
sum, which cancels in the codes step; the sums take it in through the codes.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from ewnmf.kernels.compiled.blas import add_transposed_product, alike, product, product_with_transposed
from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.formulas import factor, has, penalised_factor
from ewnmf.kernels.compiled.options import ALLOCATING, ENTRY, ROW
from ewnmf.kernels.compiled.rows import (
    copy_row,
    dot,
    fill_row,
    judge_row,
    losses_of_row,
    prior_row,
    pull_row,
    pull_row_again,
    sum_of_row,
    weigh_and_pull_row,
    weigh_row,
    weights_row,
)
from ewnmf.kernels.compiled.vector_math import lesser

__all__ = [
    "GROUP",
    "STEP",
    "add_penalty",
    "encode",
    "scale_codes",
    "step_codes",
    "sweep_codes_first",
    "sweep_components_first",
]

GROUP, WIDTH, STEP = 64, 32, 8
"""Points whose sums are added at once, points whose weights are, and points that are encoded at once."""


def _step(loss, num, den, codes, bounds, weight, new):
    """The new codes of a point; `weight` is what its penalty has to be multiplied by."""
    raise NotImplementedError


@overload(_step, jit_options=ROW)
def _step_by(loss, num, den, codes, bounds, weight, new):
    if not has(loss, "penalised_factor"):
        return lambda loss, num, den, codes, bounds, weight, new: _step_plainly(loss, num, den, codes, bounds, new)

    def within(loss, num, den, codes, bounds, weight, new):
        if bounds.linear > 0 or bounds.ridge > 0:
            _step_penalised(loss, num, den, codes, bounds, weight, new)
        else:
            _step_plainly(loss, num, den, codes, bounds, new)

    return within


@njit(**ROW)
def _step_plainly(loss, num, den, codes, bounds, new):
    real = new.dtype.type
    floor, cap, most = real(bounds.floor), real(bounds.cap), real(bounds.most)
    for k in range(codes.size):
        moved = codes[k] * factor(loss, num[k], den[k], cap)
        new[k] = lesser(moved, most) if moved > floor else floor


@njit(**ROW)
def _step_penalised(loss, num, den, codes, bounds, weight, new):
    real = new.dtype.type
    floor, cap, most = real(bounds.floor), real(bounds.cap), real(bounds.most)
    linear, ridge = weight * bounds.linear, weight * bounds.ridge
    for k in range(codes.size):
        moved = codes[k] * real(lesser(penalised_factor(loss, num[k], den[k], codes[k], linear, ridge, cap), cap))
        new[k] = lesser(moved, most) if moved > floor else floor


@njit(**ROW)
def step_codes(loss, bounds, codes, O, s, factors, new):
    """Eq. (21) from the products of pulls and components, two rows of ``O`` a point."""
    for r in range(codes.shape[0]):
        weight = (s[r] if s.size > 0 else 1.0) / factors[r]
        _step(loss, O[2 * r], O[2 * r + 1], codes[r], bounds, weight, new[r])


@njit(**ROW)
def _move_codes(work, loss, codes, pulls, rows, O, s, factors, new):
    """Eq. (21): the new codes of some points from their pulls, which have yet to be multiplied by `factors`."""
    product_with_transposed(work.gemm, pulls, work.Wt, rows, O[: 2 * codes.shape[0]])
    step_codes(loss, work.bounds, codes, O, s, factors, new)


@njit(**ROW)
def add_penalty(codes, bounds, s, at, left):
    """Add the penalties of the codes, if any, to the objectives of their points, from `at` on."""
    if bounds.linear == 0 and bounds.ridge == 0:
        return
    for r in range(codes.shape[0]):
        weight = s[r] if s.size > 0 else 1.0
        penalty = weight * (bounds.linear * sum_of_row(codes[r]) + bounds.ridge / 2 * dot(codes[r], codes[r]))
        left.seen[0, at + r] += penalty
        left.seen[1, at + r] += penalty


@njit(**ROW)
def _weigh(given, how, at, to, room, pulls, left):
    """Weights, pulls and objective of the points from `at` to `to`, whose reconstructions are in ``Y``."""
    d, e = room.rows[0], room.rows[1]
    m, real = given.X.shape[1], room.Y.dtype.type
    for j in range(at, to):
        r = j - at
        x, y, up, down = given.X[j], room.Y[r], pulls[r, :m], pulls[r, m:]
        t = weights_row(how.loss, room.A[r], down)
        if given.constant.size > 0:
            copy_row(given.constant[j], t)
            losses_of_row(how.loss, x, y, d)
            left.seen[0, j] = left.seen[1, j] = left.seen[2, j] = dot(t, d)
            room.factors[r] = real(1)
            pull_row(how.loss, x, y, t, up, down)
            continue
        p, weight = prior_row(given.P, j), given.s[j] if given.s.size > 0 else 1.0
        seen, lacks = weigh_and_pull_row(how, x, y, p, given.silent, d, t, up, down)
        left.seen[0, j], left.seen[1, j], left.seen[2, j], rest = judge_row(
            how, x, y, p, given.silent, weight, d, e, seen, lacks
        )
        room.factors[r] = real(rest)


@njit(**ROW)
def _weigh_only(given, how, at, to, room, pulls):
    """The weights of the points from `at` to `to`, and what they have yet to be multiplied by."""
    m, real = given.X.shape[1], room.Y.dtype.type
    for j in range(at, to):
        r = j - at
        t = weights_row(how.loss, room.A[r], pulls[r, m:])
        if given.constant.size > 0:
            copy_row(given.constant[j], t)
            room.factors[r] = real(1)
        else:
            p, weight = prior_row(given.P, j), given.s[j] if given.s.size > 0 else 1.0
            seen = weigh_row(how, given.X[j], room.Y[r], p, given.silent, room.rows[0], t)
            room.factors[r] = real(weight / seen[0])


@njit(**ROW)
def _pull(X, loss, at, to, room, pulls, again):
    """The pulls of the points from `at` to `to` under weights that are there; `again`: only ``Y`` has changed."""
    m = X.shape[1]
    for j in range(at, to):
        r = j - at
        up, down = pulls[r, :m], pulls[r, m:]
        t = weights_row(loss, room.A[r], down)
        if again:
            pull_row_again(loss, X[j], room.Y[r], t, up, down)
        else:
            pull_row(loss, X[j], room.Y[r], t, up, down)


@njit(**ROW)
def scale_codes(codes, factors, scaled):
    """The codes of every point times its factor."""
    for r in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            scaled[r, k] = factors[r] * codes[r, k]


@njit(**ROW)
def _keep_weights(loss, room, pulls, whole, kept):
    """Copy weights into `kept`; `whole` with what they have yet to be multiplied by."""
    m, one = kept.shape[1], kept.dtype.type(1)
    for r in range(kept.shape[0]):
        t, factor = weights_row(loss, room.A[r], pulls[r, m:]), room.factors[r] if whole else one
        for i in range(m):
            kept[r, i] = factor * t[i]


@entry(**ENTRY)
def sweep_codes_first(given, how, work, room, left, kept):
    """T (left in `kept`, if any), H, and the sums under that T."""
    X, s, loss, gemm, new = given.X, given.s, how.loss, work.gemm, left.new
    for top in range(0, X.shape[0], GROUP):
        bottom = lesser(top + GROUP, X.shape[0])
        for at in range(top, bottom, WIDTH):
            to = lesser(at + WIDTH, bottom)
            codes, moved, weights, pulls = work.codes[at:to], new[at:to], s[at:to], room.NP[at - top : to - top]
            product(gemm, codes, work.Wt, WIDTH, room.Y)
            _weigh(given, how, at, to, room, pulls, left)
            if kept.size > 0:
                _keep_weights(loss, room, pulls, True, kept[at:to])
            add_penalty(codes, work.bounds, weights, at, left)
            _move_codes(work, loss, codes, pulls, 2 * WIDTH, room.O, weights, room.factors, moved)
            product(gemm, moved, work.Wt, WIDTH, room.Y)
            _pull(X, loss, at, to, room, pulls, True)
            scale_codes(moved, room.factors, room.scaled[at - top : to - top])
        add_transposed_product(gemm, room.scaled[: bottom - top], room.NP[: bottom - top], left.S)


@entry(**ENTRY)
def sweep_components_first(before, given, how, work, room, left, kept):
    """H under the weights of the factors before the basis moved, then T (left in `kept`, if any), then the sums."""
    X, s, loss, gemm, new = given.X, given.s, how.loss, work.gemm, left.new
    for top in range(0, X.shape[0], GROUP):
        bottom = lesser(top + GROUP, X.shape[0])
        for at in range(top, bottom, WIDTH):
            to = lesser(at + WIDTH, bottom)
            codes, moved, weights, pulls = work.codes[at:to], new[at:to], s[at:to], room.NP[at - top : to - top]
            if before.given.constant.size == 0:
                product(gemm, codes, before.Wt, WIDTH, room.Y)
            _weigh_only(before.given, before.how, at, to, room, pulls)
            product(gemm, codes, work.Wt, WIDTH, room.Y)
            _pull(X, loss, at, to, room, pulls, False)
            _move_codes(work, loss, codes, pulls, 2 * WIDTH, room.O, weights, room.factors, moved)
            product(gemm, moved, work.Wt, WIDTH, room.Y)
            _weigh(given, how, at, to, room, pulls, left)
            add_penalty(moved, work.bounds, weights, at, left)
            if kept.size > 0:
                _keep_weights(loss, room, pulls, False, kept[at:to])
            scale_codes(moved, room.factors, room.scaled[at - top : to - top])
        add_transposed_product(gemm, room.scaled[: bottom - top], room.NP[: bottom - top], left.S)


@njit(**ROW)
def _still_going(E, last, going, tol):
    any_going = False
    for r in range(E.size):
        if last[r] < np.inf and abs(last[r] - E[r]) <= tol * last[r]:
            going[r] = 0
        last[r] = E[r]
        any_going = any_going or going[r] > 0
    return any_going


@entry(**ALLOCATING)
def encode(first, given, how, work, room, left, tol, max_iter):
    """Codes for a fixed basis, in place: each point until its ``E`` falls by at most `tol` of itself.

    `first` has the weights of the first round. There is a multiple of `STEP` points, so that all products have one
    shape and a point's bits are its own.
    """
    _encode(first, given, how, work, room, left, tol, max_iter, np.empty(STEP), np.empty(STEP, dtype=np.int64))


@njit(**ROW)
def _encode(first, given, how, work, room, left, tol, max_iter, last, going):
    codes, moved, s, bounds = work.codes, room.scaled, given.s, work.bounds
    for at in range(0, codes.shape[0], STEP):
        to = at + STEP
        fill_row(last, np.inf)
        fill_row(going, 1)
        product(work.gemm, codes[at:to], work.Wt, alike(room.Y), room.Y)
        _weigh(first, how, at, to, room, room.NP, left)
        for left_over in range(max_iter - 1, -1, -1):
            _move_codes(work, how.loss, codes[at:to], room.NP, alike(room.O), room.O, s[at:to], room.factors, moved)
            for r in range(STEP):
                if going[r] > 0:
                    copy_row(moved[r], codes[at + r])
            if left_over == 0:
                break
            product(work.gemm, codes[at:to], work.Wt, alike(room.Y), room.Y)
            _weigh(given, how, at, to, room, room.NP, left)
            add_penalty(codes[at:to], bounds, s[at:to], at, left)
            if tol > 0 and not _still_going(left.seen[1, at:to], last, going, tol):
                break
