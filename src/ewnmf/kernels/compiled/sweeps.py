"""A whole sweep of the multiplicative rule over a block, compiled: products, weights, codes step and sums.

It is `kernels.Kernel`'s sweep with `updates.multiplicative.Multiplicative`'s step, in groups of points small enough to
stay in the cache, and without Python in between. ``NP`` holds ``A * neg`` and ``A * pos`` of a point side by side, so
that one product serves both: its rows of ``2 m`` are ``2`` rows of ``m``. Weights are not divided by their sum, which
cancels in the codes step; the sums take it in through the codes.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from ewnmf.kernels.compiled.blas import add_transposed_product, product, product_with_transposed
from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.rows import (
    ENTRY,
    ROW,
    Alpha,
    Euclidean,
    KullbackLeibler,
    LowAlpha,
    NearZeroAlpha,
    copy_row,
    dot,
    judge_row,
    losses_of_row,
    pull_row,
    pull_row_again,
    sum_of_row,
    unknown_kind,
    weigh_and_pull_row,
    weigh_row,
)

__all__ = ["GROUP", "STEP", "encode", "sweep_codes_first", "sweep_components_first"]

GROUP, WIDTH, STEP = 64, 32, 8
"""Points whose sums are added at once, points whose weights are, and points that are encoded at once."""


def _weights_row(loss, A, pos):
    """Where the weights of a point are kept: with ``pos = 1`` they are its ``A * pos``."""
    raise NotImplementedError


@overload(_weights_row, jit_options=ROW)
def _weights_row_of_kind(loss, A, pos):
    if loss.instance_class is Euclidean:
        return lambda loss, A, pos: A
    if loss.instance_class in (KullbackLeibler, Alpha, LowAlpha, NearZeroAlpha):
        return lambda loss, A, pos: pos
    raise unknown_kind(loss)


def _factor(loss, num, den, cap):
    """`Loss.factor` of one entry."""
    raise NotImplementedError


@overload(_factor, jit_options=ROW)
def _factor_of_kind(loss, num, den, cap):
    kind = loss.instance_class
    if kind is NearZeroAlpha:

        def near_zero(loss, num, den, cap):
            value = num / den if den > 0 else num - num
            if loss.alpha != 0:
                value = np.log1p(max(loss.alpha * value, -1.0)) / loss.alpha
            return min(np.exp(value), cap)

        return near_zero
    if kind in (Alpha, LowAlpha):
        return lambda loss, num, den, cap: min((num / den) ** (1.0 / loss.alpha), cap) if den > 0 else 1.0
    if kind in (Euclidean, KullbackLeibler):
        return lambda loss, num, den, cap: num / den if den > 0 else 1.0
    raise unknown_kind(loss)


@njit(**ROW)
def _sloped(den, alpha, linear, size):
    """``den + alpha * linear``; where that may be negative, at least a trace of `size`."""
    moved = den + alpha * linear
    return moved if alpha >= 0 else max(moved, 1e-30 * size)


def _penalised_factor(loss, num, den, h, linear, ridge, cap):
    """`Loss.with_slope` and `Loss.penalised_factor` of one entry `h`."""
    raise NotImplementedError


@overload(_penalised_factor, jit_options=ROW)
def _penalised_factor_of_kind(loss, num, den, h, linear, ridge, cap):
    kind = loss.instance_class
    if kind is Euclidean:
        return lambda loss, num, den, h, linear, ridge, cap: _factor(loss, num, den + (linear + ridge * h) / 2, cap)
    if kind in (Alpha, LowAlpha):
        return lambda loss, num, den, h, linear, ridge, cap: _factor(
            loss, num, _sloped(den, loss.alpha, linear, num), cap
        )
    if kind is NearZeroAlpha:
        return lambda loss, num, den, h, linear, ridge, cap: _factor(
            loss, num - linear, _sloped(den, loss.alpha, linear, den + loss.alpha * num), cap
        )
    if kind is KullbackLeibler:

        def kullback_leibler(loss, num, den, h, linear, ridge, cap):
            slope = den + linear
            den = slope + np.hypot(slope, np.sqrt(4 * ridge * h) * np.sqrt(num))
            return _factor(loss, 2 * num, den, cap) if den > 0 or not ridge * h > 0 else 0.0

        return kullback_leibler
    raise unknown_kind(loss)


def _step(loss, num, den, codes, bounds, weight, new):
    """The new codes of a point; `weight` is what its penalty has to be multiplied by."""
    raise NotImplementedError


@overload(_step, jit_options=ROW)
def _step_of_kind(loss, num, den, codes, bounds, weight, new):
    if len(bounds) == 2:

        def plain(loss, num, den, codes, bounds, weight, new):
            real = new.dtype.type
            floor, cap = real(bounds[0]), real(bounds[1])
            most = real(1e-6 * bounds[1] * bounds[1])
            for k in range(codes.size):
                moved = codes[k] * _factor(loss, num[k], den[k], cap)
                new[k] = min(moved, most) if moved > floor else floor

        return plain

    def penalised(loss, num, den, codes, bounds, weight, new):
        real = new.dtype.type
        floor, cap, linear, ridge = real(bounds[0]), real(bounds[1]), weight * bounds[2], weight * bounds[3]
        most = real(1e-6 * bounds[1] * bounds[1])
        for k in range(codes.size):
            factor = _penalised_factor(loss, num[k], den[k], codes[k], linear, ridge, cap)
            moved = codes[k] * real(min(factor, cap))
            new[k] = min(moved, most) if moved > floor else floor

    return penalised


@njit(**ROW)
def _move_codes(gemm, loss, codes, Wt, NP, O, bounds, s, factors, new):
    """Eq. (21): the new codes of some points from their pulls, which have yet to be multiplied by `factors`."""
    n = codes.shape[0]
    product_with_transposed(gemm, NP, Wt, O[: 2 * n])
    for r in range(n):
        weight = (s[r] if s.size > 0 else 1.0) / factors[r]
        _step(loss, O[2 * r], O[2 * r + 1], codes[r], bounds, weight, new[r])


def _add_penalty(codes, bounds, s, J, E):
    """Add the penalties of the codes to the objectives of their points."""
    raise NotImplementedError


@overload(_add_penalty, jit_options=ROW)
def _add_penalty_of_kind(codes, bounds, s, J, E):
    if len(bounds) == 2:
        return lambda codes, bounds, s, J, E: None

    def penalised(codes, bounds, s, J, E):
        for r in range(codes.shape[0]):
            weight = s[r] if s.size > 0 else 1.0
            penalty = weight * (bounds[2] * sum_of_row(codes[r]) + bounds[3] / 2 * dot(codes[r], codes[r]))
            J[r] += penalty
            E[r] += penalty

    return penalised


@njit(**ROW)
def _weigh(given, P, how, at, to, Y, A, pulls, factors, seen, rows):
    """Weights, pulls and objective of the points from `at` to `to`, whose reconstructions are in `Y`."""
    X, s, silent, constant = given
    loss, gammas, limits = how
    J, E, L = seen
    d, e = rows[0], rows[1]
    m, real = X.shape[1], Y.dtype.type
    over_gamma = real(1.0 / gammas[1])
    for j in range(at, to):
        r = j - at
        x, y, neg, pos = X[j], Y[r], pulls[r, :m], pulls[r, m:]
        t = _weights_row(loss, A[r], pos)
        if constant.size > 0:
            copy_row(constant[j], t)
            losses_of_row(loss, x, y, d, real(limits[0]), real(limits[1]), real(limits[2]))
            J[j] = E[j] = L[j] = dot(t, d)
            factors[r] = real(1)
            pull_row(loss, x, y, t, neg, pos, real(limits[0]), real(limits[1]), real(limits[2]))
            continue
        p, weight = None if P is None else P[j], s[j] if s.size > 0 else 1.0
        weighed = weigh_and_pull_row(loss, x, y, p, silent, over_gamma, limits, d, t, neg, pos)
        J[j], E[j], L[j], factor = judge_row(loss, x, y, p, silent, weight, gammas, over_gamma, limits, d, e, weighed)
        factors[r] = real(factor)


@njit(**ROW)
def _weigh_only(given, P, how, at, to, Y, A, pulls, factors, rows):
    """The weights of the points from `at` to `to`, and what they have yet to be multiplied by."""
    X, s, silent, constant = given
    loss, gammas, limits = how
    m, real = X.shape[1], Y.dtype.type
    over_gamma = real(1.0 / gammas[1])
    for j in range(at, to):
        t = _weights_row(loss, A[j - at], pulls[j - at, m:])
        if constant.size > 0:
            copy_row(constant[j], t)
            factors[j - at] = real(1)
        else:
            p, weight = None if P is None else P[j], s[j] if s.size > 0 else 1.0
            weighed = weigh_row(loss, X[j], Y[j - at], p, silent, over_gamma, limits, rows[0], t)
            factors[j - at] = real(weight / weighed[0])


@njit(**ROW)
def _pull(X, how, at, to, Y, A, pulls, again):
    """The pulls of the points from `at` to `to` under weights that are there; `again`: only ``Y`` has changed."""
    loss, _, limits = how
    m, real = X.shape[1], Y.dtype.type
    small, limit, tiny = real(limits[0]), real(limits[1]), real(limits[2])
    for j in range(at, to):
        r = j - at
        neg, pos = pulls[r, :m], pulls[r, m:]
        t = _weights_row(loss, A[r], pos)
        if again:
            pull_row_again(loss, X[j], Y[r], t, neg, pos, small, limit, tiny)
        else:
            pull_row(loss, X[j], Y[r], t, neg, pos, small, limit, tiny)


@njit(**ROW)
def _scale_codes(codes, factors, scaled):
    for r in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            scaled[r, k] = factors[r] * codes[r, k]


@entry(**ENTRY)
def sweep_codes_first(gemm, given, P, how, codes, Wt, bounds, buffers, new, S, seen):
    """T, H, and the sums under that T."""
    A, Y, NP, O, scaled, rows, factors = buffers
    X, s, loss = given[0], given[1], how[0]
    for top in range(0, X.shape[0], GROUP):
        bottom = min(top + GROUP, X.shape[0])
        for at in range(top, bottom, WIDTH):
            to = min(at + WIDTH, bottom)
            pulls = NP[at - top : to - top]
            product(gemm, codes[at:to], Wt, Y)
            _weigh(given, P, how, at, to, Y, A, pulls, factors, seen, rows)
            _add_penalty(codes[at:to], bounds, s[at:to], seen[0][at:to], seen[1][at:to])
            _move_codes(gemm, loss, codes[at:to], Wt, pulls, O, bounds, s[at:to], factors, new[at:to])
            product(gemm, new[at:to], Wt, Y)
            _pull(X, how, at, to, Y, A, pulls, True)
            _scale_codes(new[at:to], factors, scaled[at - top : to - top])
        add_transposed_product(gemm, scaled[: bottom - top], NP[: bottom - top], S)


@entry(**ENTRY)
def sweep_components_first(
    gemm, before, given, P, how_before, how, codes, Wt_before, Wt, bounds, buffers, new, S, seen, room
):
    """H under the weights of the factors before the basis moved, then T (kept in `room`, if any), then the sums."""
    A, Y, NP, O, scaled, rows, factors = buffers
    X, s, loss = given[0], given[1], how[0]
    for top in range(0, X.shape[0], GROUP):
        bottom = min(top + GROUP, X.shape[0])
        for at in range(top, bottom, WIDTH):
            to = min(at + WIDTH, bottom)
            pulls = NP[at - top : to - top]
            if before[3].size == 0:
                product(gemm, codes[at:to], Wt_before, Y)
            _weigh_only(before, P, how_before, at, to, Y, A, pulls, factors, rows)
            product(gemm, codes[at:to], Wt, Y)
            _pull(X, how, at, to, Y, A, pulls, False)
            _move_codes(gemm, loss, codes[at:to], Wt, pulls, O, bounds, s[at:to], factors, new[at:to])
            product(gemm, new[at:to], Wt, Y)
            _weigh(given, P, how, at, to, Y, A, pulls, factors, seen, rows)
            _add_penalty(new[at:to], bounds, s[at:to], seen[0][at:to], seen[1][at:to])
            if room.size > 0:
                for r in range(to - at):
                    copy_row(_weights_row(loss, A[r], pulls[r, X.shape[1] :]), room[at + r])
            _scale_codes(new[at:to], factors, scaled[at - top : to - top])
        add_transposed_product(gemm, scaled[: bottom - top], NP[: bottom - top], S)


@njit(**ROW)
def _still_going(E, last, going, tol):
    any_going = False
    for r in range(E.size):
        if last[r] < np.inf and abs(last[r] - E[r]) <= tol * last[r]:
            going[r] = False
        last[r] = E[r]
        any_going = any_going or going[r]
    return any_going


@entry(**ENTRY)
def encode(gemm, first, given, P, how, Wt, bounds, buffers, limits, codes, seen):
    """Codes for a fixed basis, in place: each point until its ``E`` falls by at most `tol` of itself.

    `codes` has a multiple of `STEP` points, so that all products have one shape and a point's bits are its own.
    """
    A, Y, NP, O, moved, rows, factors = buffers
    tol, max_iter = limits
    E, s = seen[1], given[1]
    last, going = np.empty(STEP), np.empty(STEP, dtype=np.bool_)
    for at in range(0, codes.shape[0], STEP):
        to = at + STEP
        last[:], going[:] = np.inf, True
        product(gemm, codes[at:to], Wt, Y)
        _weigh(first, P, how, at, to, Y, A, NP, factors, seen, rows)
        for _ in range(max_iter):
            _move_codes(gemm, how[0], codes[at:to], Wt, NP, O, bounds, s[at:to], factors, moved)
            for r in range(STEP):
                if going[r]:
                    copy_row(moved[r], codes[at + r])
            product(gemm, codes[at:to], Wt, Y)
            _weigh(given, P, how, at, to, Y, A, NP, factors, seen, rows)
            _add_penalty(codes[at:to], bounds, s[at:to], seen[0][at:to], seen[1][at:to])
            if tol > 0 and not _still_going(E[at:to], last, going, tol):
                break
