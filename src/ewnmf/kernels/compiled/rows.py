"""One point at a time, compiled: from a row of ``Y`` to losses, weights, pulls and objective.

Rows are points (the core's columns, contiguous in memory). What is computed stands in `losses` and `weightings`, as
scalar forms; tests compare it with their array forms. Priors that are None stand for ones.
"""

from __future__ import annotations

from operator import getitem
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

from ewnmf.kernels.compiled.formulas import divergence, has, neg, pos, share, shortfall, slope, value
from ewnmf.kernels.compiled.options import ROW, SAFE
from ewnmf.kernels.compiled.vector_math import bits, larger, lesser, number

__all__ = [
    "UNKNOWN",
    "copy_row",
    "dot",
    "fill_row",
    "judge_row",
    "losses_of_row",
    "lowest_of_row",
    "prior_row",
    "pull_row",
    "pull_row_again",
    "scale_row",
    "shares",
    "slopes",
    "sum_of_row",
    "values",
    "weigh_and_pull_row",
    "weigh_row",
    "weights_row",
]

UNKNOWN = 1.0
"""No sum of what shares lack, which is 0 or less."""
_SUM: dict[str, Any] = {**ROW, "fastmath": {*SAFE, "reassoc"}}


@intrinsic
def prior_row(typingctx: Any, P: Any, j: Any) -> Any:
    """The priors of a point, or None; compiled code that makes no arrays cannot return a part of one."""
    if isinstance(P, types.NoneType):
        return types.none(P, j), lambda context, builder, signature, args: context.get_dummy_value()
    part = typingctx.resolve_value_type(getitem)
    found = part.get_call_type(typingctx, (P, j), {})

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_function(part, found)(builder, args)

    return found, codegen


@njit(**_SUM)
def sum_of_row(row):
    total = 0.0
    for i in range(row.size):
        total += row[i]
    return total


@njit(**_SUM)
def dot(left, right):
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@njit(**_SUM)
def lowest_of_row(row):
    """The least of numbers that are not negative."""
    lowest = bits(row[0])
    for i in range(row.size):
        lowest = lesser(lowest, bits(row[i]))
    return number(lowest)


@njit(**_SUM)
def _lowest_seen(row, p):
    """The least of the entries that have a prior weight."""
    zero, largest = p.dtype.type(0), bits(row.dtype.type(np.inf))
    lowest = largest
    for i in range(row.size):
        order = bits(row[i])
        lowest = lesser(lowest, order if p[i] > zero else largest)
    return number(lowest)


@njit(**_SUM)
def _scan(loss, x, y):
    """The least and the sum of the losses."""
    lowest, total = bits(divergence(loss, x[0], y[0])), 0.0
    for i in range(x.size):
        d = divergence(loss, x[i], y[i])
        lowest = lesser(lowest, bits(d))
        total += d
    return number(lowest), total


@njit(**ROW)
def losses_of_row(loss, x, y, d):
    """``d(x, y)`` of a row."""
    for i in range(x.size):
        d[i] = divergence(loss, x[i], y[i])


@njit(**ROW)
def _scale_by(y, t):
    for i in range(t.size):
        y[i] *= t[i]


def _pull_up(loss, x, y, t, up, down):
    for i in range(x.size):
        up[i] = t[i] * neg(loss, x[i], y[i])


def _pull_down(loss, x, y, t, up, down):
    for i in range(x.size):
        down[i] = t[i] * pos(loss, x[i], y[i])


def _pull_both(loss, x, y, t, up, down):
    for i in range(x.size):
        u, v = x[i], y[i]
        up[i] = t[i] * neg(loss, u, v)
        down[i] = t[i] * pos(loss, u, v)


def pull_row(loss, x, y, t, up, down):
    """``t * neg`` of a row in `up` and ``t * pos`` in `down`; where ``pos`` is 1, `down` is left alone."""
    raise NotImplementedError


@overload(pull_row, jit_options=ROW)
def _pull_row(loss, x, y, t, up, down):
    return _pull_both if has(loss, "pos") else _pull_up


def pull_row_again(loss, x, y, t, up, down):
    """`pull_row` for another ``y``: only what depends on it."""
    raise NotImplementedError


@overload(pull_row_again, jit_options=ROW)
def _pull_row_again(loss, x, y, t, up, down):
    return _pull_down if has(loss, "neg_of_data") else _pull_row(loss, x, y, t, up, down)


def weights_row(loss, A, down):
    """Where the weights of a point are kept: with ``pos = 1`` they are its ``A * pos``."""
    raise NotImplementedError


@overload(weights_row, jit_options=ROW)
def _weights_row(loss, A, down):
    return (lambda loss, A, down: A) if has(loss, "pos") else (lambda loss, A, down: down)


@njit(**ROW)
def copy_row(source, target):
    """``target = source``."""
    for i in range(source.size):
        target[i] = source[i]


@njit(**ROW)
def fill_row(row, value):
    """``row = value``."""
    for i in range(row.size):
        row[i] = value


@njit(**ROW)
def scale_row(t, factor):
    for i in range(t.size):
        t[i] *= factor


@njit(**ROW)
def shares(weighting, d, t, lowest):
    """The weights of losses (in `t`) before the division by their sum.

    They are summed in a loop of its own: in this one the order would depend on addresses.
    """
    for i in range(d.size):
        t[i] = share(weighting, d[i], lowest)


@njit(**ROW)
def _shares_and_pulls(loss, weighting, x, y, t, up, down, lowest):
    """The same from ``x`` and ``y``, with ``t * neg`` and ``t * pos``, in one go."""
    for i in range(x.size):
        e = share(weighting, divergence(loss, x[i], y[i]), lowest)
        t[i] = e
        up[i] = e * neg(loss, x[i], y[i])
        down[i] = e * pos(loss, x[i], y[i])


@njit(**ROW)
def _shares_pulls_and_shortfalls(loss, weighting, x, y, t, up, down, lacks, lowest):
    """The same, with what shares lack: one exponential serves both."""
    for i in range(x.size):
        d = divergence(loss, x[i], y[i])
        e = share(weighting, d, lowest)
        lacks[i] = shortfall(weighting, d, lowest)
        t[i] = e
        up[i] = e * neg(loss, x[i], y[i])
        down[i] = e * pos(loss, x[i], y[i])


@njit(**ROW)
def _shortfalls(weighting, d, out, lowest):
    for i in range(d.size):
        out[i] = shortfall(weighting, d[i], lowest)


@njit(**ROW)
def _above(d, out, lowest):
    for i in range(d.size):
        out[i] = d[i] - lowest


@njit(**ROW)
def slopes(weighting, d, t):
    """The weights of losses (in `t`) that are not shares."""
    for i in range(d.size):
        t[i] = slope(weighting, d[i])


@njit(**ROW)
def values(weighting, d, out):
    """The concave function of losses."""
    for i in range(d.size):
        out[i] = value(weighting, d[i])


def weigh_row(how, x, y, p, silent, d, t):
    """Weights ``t`` of a row, not yet divided by their sum: that sum, the least loss, and the sum of the losses.

    What has no prior weight has no part in any of them. Weights that are not shares have no sum: it is 1.
    """
    raise NotImplementedError


@overload(weigh_row, jit_options=ROW)
def _weigh_row(how, x, y, p, silent, d, t):
    if has(how[1], "share"):

        def shared(how, x, y, p, silent, d, t):
            losses_of_row(how.loss, x, y, d)
            lowest = t.dtype.type(0)
            if silent == 0:
                lowest = lowest_of_row(d) if p is None else _lowest_seen(d, p)
            shares(how.weighting, d, t, lowest)
            if p is not None:
                _scale_by(t, p)
            return sum_of_row(t) + silent, lowest, sum_of_row(d) if p is None else dot(p, d)

        return shared

    def separate(how, x, y, p, silent, d, t):
        losses_of_row(how.loss, x, y, d)
        slopes(how.weighting, d, t)
        if p is not None:
            _scale_by(t, p)
        return 1.0, t.dtype.type(0), sum_of_row(d) if p is None else dot(p, d)

    return separate


def weigh_and_pull_row(how, x, y, p, silent, d, t, up, down):
    """`weigh_row` and the pulls under those weights; where ``pos`` is 1, `t` is the row of `down`.

    Behind them the sum of what shares lack, where it was found on the way: of points with silent attributes, most of
    whose other entries weigh nearly as much. Else `UNKNOWN`.
    """
    raise NotImplementedError


@overload(weigh_and_pull_row, jit_options=ROW)
def _weigh_and_pull_row(how, x, y, p, silent, d, t, up, down):
    if has(how[0], "neg_of_data") and has(how[1], "share") and isinstance(p, types.NoneType):

        def at_once(how, x, y, p, silent, d, t, up, down):
            lowest, total = _scan(how.loss, x, y)
            if silent > 0:
                lowest = lowest - lowest
                _shares_pulls_and_shortfalls(how.loss, how.weighting, x, y, t, up, down, d, lowest)
                return (sum_of_row(t) + silent, lowest, total), sum_of_row(d)
            _shares_and_pulls(how.loss, how.weighting, x, y, t, up, down, lowest)
            return (sum_of_row(t) + silent, lowest, total), UNKNOWN

        return at_once

    def one_by_one(how, x, y, p, silent, d, t, up, down):
        seen = weigh_row(how, x, y, p, silent, d, t)
        pull_row(how.loss, x, y, t, up, down)
        return seen, UNKNOWN

    return one_by_one


@njit(**ROW)
def _excess(how, x, y, p, silent, mass, lowest, d, e, lacks):
    """``E`` of a point, ``lowest - gamma ln(mass / total)``, and `total`; by what `mass` lacks where that is little."""
    weighting = how.weighting
    total = float(silent + x.size) if p is None else silent + sum_of_row(p)
    log_share = np.log(mass / total)
    if mass > weighting.nearly * total:
        if lacks == UNKNOWN:
            losses_of_row(how.loss, x, y, d)
            _shortfalls(weighting, d, e, lowest)
            lacks = sum_of_row(e) if p is None else dot(p, e)
        lacking = lacks / total
        if lacking > -weighting.even_below:
            losses_of_row(how.loss, x, y, d)
            _above(d, e, lowest)
            return lowest + (sum_of_row(e) if p is None else dot(p, e)) / total, total
        log_share = np.log1p(larger(lacking, -0.5))
    return lowest - weighting.held * log_share, total


def judge_row(how, x, y, p, silent, weight, d, e, seen, lacks):
    """``J*``, ``E`` and loss of a row that was weighed, and what its weights have yet to be multiplied by.

    `lacks` is the sum of what shares lack, or `UNKNOWN`.
    """
    raise NotImplementedError


@overload(judge_row, jit_options=ROW)
def _judge_row(how, x, y, p, silent, weight, d, e, seen, lacks):
    if has(how[1], "share"):

        def shared(how, x, y, p, silent, weight, d, e, seen, lacks):
            mass, lowest, total_loss = seen
            excess, total = _excess(how, x, y, p, silent, mass, lowest, d, e, lacks)
            J = weight * (excess - how.weighting.gamma * np.log(total))
            return J, weight * excess, weight * total_loss, weight / mass

        return shared

    def separate(how, x, y, p, silent, weight, d, e, seen, lacks):
        values(how.weighting, d, e)
        excess = weight * (sum_of_row(e) if p is None else dot(p, e))
        return excess, excess, weight * seen[2], weight / seen[0]

    return separate
