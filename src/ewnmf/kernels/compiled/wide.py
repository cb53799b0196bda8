"""The sweeps of `sweeps` for points of many attributes, by tiles of these, so that what is worked on stays near.

Rows of tens of thousands of attributes fill the caches long before a group of points is through. Here ``Y``, losses and
pulls of a tile are made, used and forgotten. Only weights are written out, since they have yet to be divided by a sum
over all tiles of their point; where nothing else holds that back, ``Y`` is made once more for it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import overload

from ewnmf.kernels.compiled.blas import tile_product
from ewnmf.kernels.compiled.entry import entry
from ewnmf.kernels.compiled.formulas import has, share, shortfall
from ewnmf.kernels.compiled.options import ENTRY, ROW
from ewnmf.kernels.compiled.rows import (
    copy_row,
    fill_row,
    lowest_of_row,
    shares,
    slopes,
    sum_of_row,
    values,
)
from ewnmf.kernels.compiled.sweeps import add_penalty, scale_codes, step_codes
from ewnmf.kernels.compiled.tiles import losses_of_tile, multiply_tile, sum_tile
from ewnmf.kernels.compiled.vector_math import larger, lesser

__all__ = ["POINTS", "TILE", "sweep_codes_first", "sweep_components_first"]

POINTS, TILE = 32, 512
"""Points that are worked on at once, and attributes of a tile."""


@njit(**ROW)
def _shares_and_shortfalls(weighting, d, t, lacks, lowest):
    for i in range(d.size):
        t[i] = share(weighting, d[i], lowest)
        lacks[i] = shortfall(weighting, d[i], lowest)


def _weigh_part(how, lowest, d, e, t, sums, judge):
    """Weights ``t`` of losses ``d`` of a point; what makes its objective is added to `sums`, if they `judge` it.

    These are the weights that are shares (in any case), the losses, and what shares lack or the weighting's values.
    """
    raise NotImplementedError


@overload(_weigh_part, jit_options=ROW)
def _weigh_part_by(how, lowest, d, e, t, sums, judge):
    if has(how[1], "share"):

        def shared(how, lowest, d, e, t, sums, judge):
            if judge:
                _shares_and_shortfalls(how.weighting, d, t, e, lowest)
                sums[1] += sum_of_row(d)
                sums[2] += sum_of_row(e)
            else:
                shares(how.weighting, d, t, lowest)
            sums[0] += sum_of_row(t)

        return shared

    def separate(how, lowest, d, e, t, sums, judge):
        slopes(how.weighting, d, t)
        if judge:
            values(how.weighting, d, e)
            sums[1] += sum_of_row(d)
            sums[2] += sum_of_row(e)

    return separate


def _judge(how, sums, lowest, silent, m, weight):
    """``J*``, ``E`` and loss of a point by its sums, and what its weights have yet to be multiplied by."""
    raise NotImplementedError


@overload(_judge, jit_options=ROW)
def _judge_by(how, sums, lowest, silent, m, weight):
    if has(how[1], "share"):

        def shared(how, sums, lowest, silent, m, weight):
            weighting, total, mass = how.weighting, float(silent + m), sums[0] + silent
            lacking = sums[2] / total
            if mass <= weighting.nearly * total:
                excess = lowest - weighting.held * np.log(mass / total)
            elif lacking > -weighting.even_below:
                excess = sums[1] / total
            else:
                excess = lowest - weighting.held * np.log1p(larger(lacking, -0.5))
            J = weight * (excess - weighting.gamma * np.log(total))
            return J, weight * excess, weight * sums[1], weight / mass

        return shared

    def separate(how, sums, lowest, silent, m, weight):
        return weight * sums[2], weight * sums[2], weight * sums[1], weight

    return separate


def _compares(weighting):
    """Whether weights depend on the least loss of their point."""
    raise NotImplementedError


@overload(_compares, jit_options=ROW)
def _compares_by(weighting):
    return (lambda weighting: True) if has(weighting, "share") else (lambda weighting: False)


@njit(**ROW)
def _find_lowest(given, how, gemm, codes, Wt, at, room):
    """The least loss of every point, which is 0 where attributes are silent."""
    n, m, real = codes.shape[0], given.X.shape[1], room.Y.dtype.type
    if not _compares(how.weighting) or given.silent > 0:
        fill_row(room.lowest, real(0))
        return
    fill_row(room.lowest, real(np.inf))
    for start in range(0, m, TILE):
        end = lesser(start + TILE, m)
        width = end - start
        tile_product(gemm, codes, Wt, start, width, room.Y)
        for r in range(n):
            d = room.rows[0, :width]
            losses_of_tile(how.loss, given.X, given.stored, at + r, start, room.Y[r, :width], d)
            room.lowest[r] = lesser(room.lowest[r], lowest_of_row(d))


@njit(**ROW)
def _weigh_tile(given, how, at, n, start, end, room, judge):
    """The weights of a tile, in ``A``, of the points from `at` on whose reconstructions are in ``Y``."""
    width = end - start
    for r in range(n):
        y, t, d, e = room.Y[r, :width], room.A[r, start:end], room.rows[0, :width], room.rows[1, :width]
        losses_of_tile(how.loss, given.X, given.stored, at + r, start, y, d)
        _weigh_part(how, room.lowest[r], d, e, t, room.sums[r], judge)


@njit(**ROW)
def _judge_points(given, how, at, n, room, left):
    """The objective of the points from `at` on, and what their weights have yet to be multiplied by."""
    m, real = given.X.shape[1], room.Y.dtype.type
    for r in range(n):
        j = at + r
        weight = given.s[j] if given.s.size > 0 else 1.0
        J, E, L, rest = _judge(how, room.sums[r], room.lowest[r], given.silent, m, weight)
        if left.seen.size > 0:
            left.seen[0, j], left.seen[1, j], left.seen[2, j] = J, E, L
        room.factors[r] = real(rest)


@njit(**ROW)
def _forget(room):
    for r in range(room.sums.shape[0]):
        fill_row(room.sums[r], 0.0)
    for r in range(room.O.shape[0]):
        fill_row(room.O[r], room.O.dtype.type(0))


@njit(**ROW)
def _add_sums(given, loss, work, at, n, new, room, left):
    """Add the sums of the points from `at` on under the weights in ``A``."""
    m = given.X.shape[1]
    scale_codes(new, room.factors, room.scaled[:n])
    for start in range(0, m, TILE):
        end = lesser(start + TILE, m)
        tile_product(work.gemm, new, work.Wt, start, end - start, room.Y)
        sum_tile(work.gemm, loss, given.X, given.stored, room.A, at, n, start, end, room, left.S)


@entry(**ENTRY)
def sweep_codes_first(given, how, work, room, left, kept):
    """T (left in `kept`, if any), H, and the sums under that T."""
    X, s, loss, m = given.X, given.s, how.loss, given.X.shape[1]
    for at in range(0, X.shape[0], POINTS):
        to = lesser(at + POINTS, X.shape[0])
        n, codes, new = to - at, work.codes[at:to], left.new[at:to]
        _find_lowest(given, how, work.gemm, codes, work.Wt, at, room)
        _forget(room)
        for start in range(0, m, TILE):
            end = lesser(start + TILE, m)
            tile_product(work.gemm, codes, work.Wt, start, end - start, room.Y)
            _weigh_tile(given, how, at, n, start, end, room, True)
            multiply_tile(work, loss, X, given.stored, room.A, at, n, start, end, room)
        _judge_points(given, how, at, n, room, left)
        add_penalty(codes, work.bounds, s[at:to], at, left)
        if kept.size > 0:
            for r in range(n):
                for i in range(m):
                    kept[at + r, i] = room.factors[r] * room.A[r, i]
        step_codes(loss, work.bounds, codes, room.O, s[at:to], room.factors, new)
        _add_sums(given, loss, work, at, n, new, room, left)


@entry(**ENTRY)
def sweep_components_first(before, given, how, work, room, left, kept):
    """H under the weights of the factors before the basis moved, then T (left in `kept`, if any), then the sums."""
    X, s, loss, m = given.X, given.s, how.loss, given.X.shape[1]
    constant = before.given.constant
    for at in range(0, X.shape[0], POINTS):
        to = lesser(at + POINTS, X.shape[0])
        n, codes, new = to - at, work.codes[at:to], left.new[at:to]
        _forget(room)
        if constant.size > 0:
            fill_row(room.factors, room.factors.dtype.type(1))
        else:
            _find_lowest(before.given, before.how, work.gemm, codes, before.Wt, at, room)
        for start in range(0, m, TILE):
            end = lesser(start + TILE, m)
            if constant.size == 0:
                tile_product(work.gemm, codes, before.Wt, start, end - start, room.Y)
                _weigh_tile(before.given, before.how, at, n, start, end, room, False)
            tile_product(work.gemm, codes, work.Wt, start, end - start, room.Y)
            weights = constant[at:to] if constant.size > 0 else room.A
            multiply_tile(work, loss, X, given.stored, weights, at, n, start, end, room)
        if constant.size == 0:
            _judge_points(before.given, before.how, at, n, room, left)
        step_codes(loss, work.bounds, codes, room.O, s[at:to], room.factors, new)
        _find_lowest(given, how, work.gemm, new, work.Wt, at, room)
        _forget(room)
        for start in range(0, m, TILE):
            end = lesser(start + TILE, m)
            tile_product(work.gemm, new, work.Wt, start, end - start, room.Y)
            _weigh_tile(given, how, at, n, start, end, room, True)
        _judge_points(given, how, at, n, room, left)
        add_penalty(new, work.bounds, s[at:to], at, left)
        if kept.size > 0:
            for r in range(n):
                copy_row(room.A[r], kept[at + r])
        _add_sums(given, loss, work, at, n, new, room, left)
