"""Losses and pulls of a tile of attributes, and their products: of all its entries, or of those that are stored.

Where zeros are not stored and ``neg(0, y) = 0``, what they ask for depends on ``Y`` alone: their losses need no data,
and ``A * neg`` is there for stored entries only, which are multiplied one by one.
"""

from __future__ import annotations

from numba import njit, types
from numba.extending import overload

from ewnmf.kernels.compiled.blas import add_tile_product, add_tile_sums
from ewnmf.kernels.compiled.formulas import divergence, has, neg, pos
from ewnmf.kernels.compiled.options import ROW
from ewnmf.kernels.compiled.rows import copy_row, losses_of_row, pull_row

__all__ = ["losses_of_tile", "multiply_tile", "sum_tile"]


@njit(**ROW)
def _first_from(indices, low, high, i):
    """The first place from `low` on whose index is at least `i`, and `high` where none before that is."""
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**ROW)
def _within(stored, j, start, end):
    """Where the stored entries of a point from `start` to `end` begin and end."""
    first = _first_from(stored.indices, stored.indptr[j], stored.indptr[j + 1], start)
    return first, _first_from(stored.indices, first, stored.indptr[j + 1], end)


@njit(**ROW)
def _losses_of_zeros(loss, y, d):
    zero = y.dtype.type(0)
    for i in range(d.size):
        d[i] = divergence(loss, zero, y[i])


def losses_of_tile(loss, X, stored, j, start, y, d):
    """``d(x, y)`` of the attributes of a point from `start` on."""
    raise NotImplementedError


@overload(losses_of_tile, jit_options=ROW)
def _losses_of_tile(loss, X, stored, j, start, y, d):
    if isinstance(stored, types.NoneType):
        return lambda loss, X, stored, j, start, y, d: losses_of_row(loss, X[j, start : start + y.size], y, d)

    def of_stored(loss, X, stored, j, start, y, d):
        _losses_of_zeros(loss, y, d)
        first, last = _within(stored, j, start, start + y.size)
        for a in range(first, last):
            i = stored.indices[a] - start
            d[i] = divergence(loss, stored.data[a], y[i])

    return of_stored


def _pull_down(loss, y, t, down):
    """``t * pos`` of zeros."""
    raise NotImplementedError


@overload(_pull_down, jit_options=ROW)
def _pull_down_by(loss, y, t, down):
    if not has(loss, "pos"):
        return lambda loss, y, t, down: copy_row(t, down)

    def by_pos(loss, y, t, down):
        zero = y.dtype.type(0)
        for i in range(down.size):
            down[i] = t[i] * pos(loss, zero, y[i])

    return by_pos


def _pull_row(loss, x, y, t, up, down):
    """``t * neg`` in `up` and ``t * pos`` in `down`."""
    raise NotImplementedError


@overload(_pull_row, jit_options=ROW)
def _pull_row_by(loss, x, y, t, up, down):
    if has(loss, "pos"):
        return lambda loss, x, y, t, up, down: pull_row(loss, x, y, t, up, down)

    def with_pos_of_one(loss, x, y, t, up, down):
        pull_row(loss, x, y, t, up, down)
        copy_row(t, down)

    return with_pos_of_one


def _pull_tile(loss, X, stored, weights, at, n, start, end, NP, Y):
    """The pulls of a tile under `weights` (n x m), side by side in ``NP``; of `stored` entries ``A * pos`` alone."""
    raise NotImplementedError


@overload(_pull_tile, jit_options=ROW)
def _pull_tile_of(loss, X, stored, weights, at, n, start, end, NP, Y):
    if isinstance(stored, types.NoneType):

        def of_all(loss, X, stored, weights, at, n, start, end, NP, Y):
            width = end - start
            for r in range(n):
                up, down = NP[2 * r, :width], NP[2 * r + 1, :width]
                _pull_row(loss, X[at + r, start:end], Y[r, :width], weights[r, start:end], up, down)

        return of_all

    def of_stored(loss, X, stored, weights, at, n, start, end, NP, Y):
        width = end - start
        for r in range(n):
            _pull_down(loss, Y[r, :width], weights[r, start:end], NP[2 * r + 1, :width])

    return of_stored


def multiply_tile(work, loss, X, stored, weights, at, n, start, end, room):
    """Add the products of pulls and components to ``O``, two rows a point."""
    raise NotImplementedError


@overload(multiply_tile, jit_options=ROW)
def _multiply_tile(work, loss, X, stored, weights, at, n, start, end, room):
    if isinstance(stored, types.NoneType):

        def of_all(work, loss, X, stored, weights, at, n, start, end, room):
            _pull_tile(loss, X, stored, weights, at, n, start, end, room.NP, room.Y)
            add_tile_product(work.gemm, room.NP, work.Wt, start, end - start, 1, room.O[: 2 * n])

        return of_all

    def of_stored(work, loss, X, stored, weights, at, n, start, end, room):
        _pull_tile(loss, X, stored, weights, at, n, start, end, room.NP, room.Y)
        add_tile_product(work.gemm, room.NP[1:], work.Wt, start, end - start, 2, room.O[1 : 2 * n])
        for r in range(n):
            first, last = _within(stored, at + r, start, end)
            for a in range(first, last):
                i = stored.indices[a]
                up = weights[r, i] * neg(loss, stored.data[a], room.Y[r, i - start])
                for k in range(room.O.shape[1]):
                    room.O[2 * r, k] += up * work.Wt[k, i]

    return of_stored


def sum_tile(gemm, loss, X, stored, weights, at, n, start, end, room, S):
    """Add the products of scaled codes and pulls to ``S`` (K x 2m)."""
    raise NotImplementedError


@overload(sum_tile, jit_options=ROW)
def _sum_tile(gemm, loss, X, stored, weights, at, n, start, end, room, S):
    if isinstance(stored, types.NoneType):

        def of_all(gemm, loss, X, stored, weights, at, n, start, end, room, S):
            _pull_tile(loss, X, stored, weights, at, n, start, end, room.NP, room.Y)
            add_tile_sums(gemm, room.scaled[:n], room.NP, start, end - start, 0, S)

        return of_all

    def of_stored(gemm, loss, X, stored, weights, at, n, start, end, room, S):
        _pull_tile(loss, X, stored, weights, at, n, start, end, room.NP, room.Y)
        add_tile_sums(gemm, room.scaled[:n], room.NP, start, end - start, 1, S)
        for r in range(n):
            first, last = _within(stored, at + r, start, end)
            for a in range(first, last):
                i = stored.indices[a]
                up = weights[r, i] * neg(loss, stored.data[a], room.Y[r, i - start])
                for k in range(S.shape[0]):
                    S[k, i] += up * room.scaled[r, k]

    return of_stored
