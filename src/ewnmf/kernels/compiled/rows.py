"""One point at a time, compiled: from a row of ``Y`` to losses, weights, pulls and objective.

Rows are points (the core's columns, contiguous in memory). What is computed is defined in `losses` and `weights`; here
it is only computed faster, and tests compare the two. Priors that are None stand for ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import errors, njit, types
from numba.extending import overload

from ewnmf.kernels.compiled.vector_math import SAFE, bits, exp, expm1, log_ratio, number

__all__ = [
    "ENTRY",
    "ROW",
    "Alpha",
    "Euclidean",
    "KullbackLeibler",
    "LowAlpha",
    "NearZeroAlpha",
    "copy_row",
    "dot",
    "judge_row",
    "losses_of_row",
    "pull_row",
    "pull_row_again",
    "scale_by",
    "scale_row",
    "sum_of_row",
    "unknown_kind",
    "weigh_and_pull_row",
    "weigh_row",
]


class Euclidean(NamedTuple):
    """Compiled form of `losses.Euclidean`; each of these types gets machine code of its own."""

    alpha: float


class KullbackLeibler(NamedTuple):
    """Compiled form of `losses.KullbackLeibler`."""

    alpha: float


class Alpha(NamedTuple):
    """Compiled form of `losses.Alpha` for ``alpha >= 1/2``."""

    alpha: float


class LowAlpha(NamedTuple):
    """Compiled form of `losses.Alpha` for ``alpha < 1/2``."""

    alpha: float


class NearZeroAlpha(NamedTuple):
    """Compiled form of `losses.Alpha` near 0."""

    alpha: float


def unknown_kind(loss: Any) -> errors.TypingError:
    """What a dispatch raises, when it is compiled, for a type that it has no code for."""
    return errors.TypingError(f"no compiled form is known for {loss}")


ENTRY: dict[str, Any] = {"fastmath": SAFE, "error_model": "numpy", "nogil": True}
"""For what Python calls, through `entry`: its machine code, with all that it calls, is kept on disk."""
ROW: dict[str, Any] = {**ENTRY, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""For what only compiled code calls."""
_SUM: dict[str, Any] = {**ROW, "fastmath": {*SAFE, "reassoc"}}


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
def _lowest(row):
    lowest = bits(row[0])
    for i in range(row.size):
        lowest = min(lowest, bits(row[i]))
    return number(lowest)


@njit(**_SUM)
def _lowest_seen(row, p):
    """The least of the entries that have a prior weight."""
    zero, largest = p.dtype.type(0), bits(row.dtype.type(np.inf))
    lowest = largest
    for i in range(row.size):
        order = bits(row[i])
        lowest = min(lowest, order if p[i] > zero else largest)
    return number(lowest)


@njit(**{**ROW, "fastmath": {"nnan", "nsz"}})
def _squared(x, y):
    """``(x - y)^2``, rounded: fused with what follows, the least of them would differ from itself."""
    e = x - y
    return e * e


@njit(**_SUM)
def _scan(x, y):
    """The least and the sum of ``(x - y)^2``."""
    lowest, total = bits(_squared(x[0], y[0])), 0.0
    for i in range(x.size):
        d = _squared(x[i], y[i])
        lowest = min(lowest, bits(d))
        total += d
    return number(lowest), total


@njit(**ROW)
def _euclidean_losses(x, y, d):
    for i in range(x.size):
        d[i] = _squared(x[i], y[i])


@njit(**ROW)
def _kl_losses(x, y, d, small, tiny):
    zero = d.dtype.type(0)
    for i in range(x.size):
        v = max(y[i], tiny)
        d[i] = max((v - x[i]) - x[i] * log_ratio(v, max(x[i], small)), zero)


@njit(**ROW)
def _alpha_losses(x, y, d, alpha, small, limit, tiny):
    kind = d.dtype.type
    a, t, zero = kind(alpha), kind(1.0 - alpha), kind(0)
    for i in range(x.size):
        v = max(y[i], tiny)
        r = log_ratio(v, max(x[i], small))
        grown = r if t == zero else expm1(min(t * r, limit)) / t
        value = max(((v - x[i]) - x[i] * grown) / a, zero)
        d[i] = value if x[i] > zero else v / a


@njit(**ROW)
def _mirrored_alpha_losses(x, y, d, alpha, small, limit, tiny):
    kind = d.dtype.type
    a, t, zero = kind(alpha), kind(1.0 - alpha), kind(0)
    for i in range(x.size):
        v = max(y[i], tiny)
        r = log_ratio(max(x[i], small), v)
        grown = r if a == zero else expm1(min(a * r, limit)) / a
        value = max(((x[i] - v) - v * grown) / t, zero)
        d[i] = value if x[i] > zero else v / a


def losses_of_row(loss, x, y, d, small, limit, tiny):
    """``d(x, y)`` of a row."""
    raise NotImplementedError


@overload(losses_of_row, jit_options=ROW)
def _losses_of_kind(loss, x, y, d, small, limit, tiny):
    kind = loss.instance_class
    if kind is Euclidean:
        return lambda loss, x, y, d, small, limit, tiny: _euclidean_losses(x, y, d)
    if kind is KullbackLeibler:
        return lambda loss, x, y, d, small, limit, tiny: _kl_losses(x, y, d, small, tiny)
    if kind is Alpha:
        return lambda loss, x, y, d, small, limit, tiny: _alpha_losses(x, y, d, loss.alpha, small, limit, tiny)
    if kind in (LowAlpha, NearZeroAlpha):
        return lambda loss, x, y, d, small, limit, tiny: _mirrored_alpha_losses(x, y, d, loss.alpha, small, limit, tiny)
    raise unknown_kind(loss)


@njit(**ROW)
def scale_by(y, t):
    for i in range(t.size):
        y[i] *= t[i]


@njit(**ROW)
def _euclidean_pulls(x, y, t, neg, pos):
    for i in range(x.size):
        neg[i] = t[i] * x[i]
        pos[i] = t[i] * y[i]


@njit(**ROW)
def _kl_pulls(x, y, t, neg, tiny):
    for i in range(x.size):
        neg[i] = t[i] * (x[i] / max(y[i], tiny))


@njit(**ROW)
def _alpha_pulls(x, y, t, neg, alpha, small, limit, tiny):
    kind = neg.dtype.type
    a, zero = kind(alpha), kind(0)
    for i in range(x.size):
        power = exp(min(a * log_ratio(max(x[i], small), max(y[i], tiny)), limit))
        neg[i] = t[i] * (power if x[i] > zero else zero)


@njit(**ROW)
def _near_zero_pulls(x, y, t, neg, alpha, small, limit, tiny):
    kind = neg.dtype.type
    a, zero = kind(alpha), kind(0)
    for i in range(x.size):
        r = log_ratio(max(x[i], small), max(y[i], tiny))
        grown = r if a == zero else expm1(min(a * r, limit)) / a
        neg[i] = t[i] * (grown if x[i] > zero else -kind(1) / a)


def pull_row(loss, x, y, t, neg, pos, small, limit, tiny):
    """``t * neg`` of a row and, for the Euclidean loss, ``t * pos``; else ``pos`` is 1, and `pos` is left alone."""
    raise NotImplementedError


@overload(pull_row, jit_options=ROW)
def _pulls_of_kind(loss, x, y, t, neg, pos, small, limit, tiny):
    kind = loss.instance_class
    if kind is Euclidean:
        return lambda loss, x, y, t, neg, pos, small, limit, tiny: _euclidean_pulls(x, y, t, neg, pos)
    if kind is KullbackLeibler:
        return lambda loss, x, y, t, neg, pos, small, limit, tiny: _kl_pulls(x, y, t, neg, tiny)
    if kind is NearZeroAlpha:
        return lambda loss, x, y, t, neg, pos, small, limit, tiny: _near_zero_pulls(
            x, y, t, neg, loss.alpha, small, limit, tiny
        )
    if kind in (Alpha, LowAlpha):
        return lambda loss, x, y, t, neg, pos, small, limit, tiny: _alpha_pulls(
            x, y, t, neg, loss.alpha, small, limit, tiny
        )
    raise unknown_kind(loss)


@njit(**ROW)
def _times(t, y, out):
    for i in range(t.size):
        out[i] = t[i] * y[i]


@njit(**ROW)
def copy_row(source, target):
    """``target = source``."""
    for i in range(source.size):
        target[i] = source[i]


def pull_row_again(loss, x, y, t, neg, pos, small, limit, tiny):
    """`pull_row` for another ``y``: only what depends on it."""
    raise NotImplementedError


@overload(pull_row_again, jit_options=ROW)
def _pull_row_again_of_kind(loss, x, y, t, neg, pos, small, limit, tiny):
    if loss.instance_class is Euclidean:
        return lambda loss, x, y, t, neg, pos, small, limit, tiny: _times(t, y, pos)
    return lambda loss, x, y, t, neg, pos, small, limit, tiny: pull_row(loss, x, y, t, neg, pos, small, limit, tiny)


@njit(**ROW)
def _exponentials(d, t, lowest, over_gamma, flush):
    """``exp((lowest - d) / gamma)``. Summed in a loop of its own: in this one the order would depend on addresses."""
    zero = t.dtype.type(0)
    for i in range(d.size):
        e = exp((lowest - d[i]) * over_gamma)
        t[i] = e if e >= flush else zero


@njit(**ROW)
def _euclidean_weights_and_pulls(x, y, t, neg, pos, lowest, over_gamma, flush):
    """The same from ``d = (x - y)^2``, with ``t * neg`` and ``t * pos``, in one go."""
    zero = t.dtype.type(0)
    for i in range(x.size):
        e = exp((lowest - _squared(x[i], y[i])) * over_gamma)
        e = e if e >= flush else zero
        t[i] = e
        neg[i] = e * x[i]
        pos[i] = e * y[i]


@njit(**ROW)
def _shortfalls(d, out, lowest, over_gamma):
    for i in range(d.size):
        out[i] = expm1((lowest - d[i]) * over_gamma)


@njit(**ROW)
def _above(d, out, lowest):
    for i in range(d.size):
        out[i] = d[i] - lowest


@njit(**ROW)
def scale_row(t, factor):
    for i in range(t.size):
        t[i] *= factor


@njit(**ROW)
def _excess(loss, x, y, p, silent, mass, lowest, gamma, over_gamma, limits, d, e):
    """``E`` of a point, ``lowest - gamma ln(mass / total)``, and `total`; by what `mass` lacks where that is little."""
    real = d.dtype.type
    total = float(silent + x.size) if p is None else silent + sum_of_row(p)
    log_share = np.log(mass / total)
    if mass > limits[4] * total:
        losses_of_row(loss, x, y, d, real(limits[0]), real(limits[1]), real(limits[2]))
        _shortfalls(d, e, lowest, over_gamma)
        lacking = (sum_of_row(e) if p is None else dot(p, e)) / total
        if lacking > -limits[5]:
            _above(d, e, lowest)
            return lowest + (sum_of_row(e) if p is None else dot(p, e)) / total, total
        log_share = np.log1p(max(lacking, -0.5))
    return lowest - gamma * log_share, total


@njit(**ROW)
def weigh_row(loss, x, y, p, silent, over_gamma, limits, d, t):
    """Weights ``t`` of a row, not yet divided by their sum: that sum, the least loss, and the sum of the losses.

    What has no prior weight has no part in any of them.
    """
    real = t.dtype.type
    losses_of_row(loss, x, y, d, real(limits[0]), real(limits[1]), real(limits[2]))
    lowest = real(0)
    if silent == 0:
        lowest = _lowest(d) if p is None else _lowest_seen(d, p)
    _exponentials(d, t, lowest, over_gamma, real(limits[3]))
    if p is not None:
        scale_by(t, p)
    return sum_of_row(t) + silent, lowest, sum_of_row(d) if p is None else dot(p, d)


def weigh_and_pull_row(loss, x, y, p, silent, over_gamma, limits, d, t, neg, pos):
    """`weigh_row` and the pulls under those weights; where ``pos`` is 1, `t` is the row of `pos`."""
    raise NotImplementedError


@overload(weigh_and_pull_row, jit_options=ROW)
def _weigh_and_pull_row_of_kind(loss, x, y, p, silent, over_gamma, limits, d, t, neg, pos):
    if loss.instance_class is Euclidean and isinstance(p, types.NoneType):

        def at_once(loss, x, y, p, silent, over_gamma, limits, d, t, neg, pos):
            lowest, total = _scan(x, y)
            if silent > 0:
                lowest = lowest - lowest
            _euclidean_weights_and_pulls(x, y, t, neg, pos, lowest, over_gamma, t.dtype.type(limits[3]))
            return sum_of_row(t) + silent, lowest, total

        return at_once

    def one_by_one(loss, x, y, p, silent, over_gamma, limits, d, t, neg, pos):
        real = t.dtype.type
        seen = weigh_row(loss, x, y, p, silent, over_gamma, limits, d, t)
        pull_row(loss, x, y, t, neg, pos, real(limits[0]), real(limits[1]), real(limits[2]))
        return seen

    return one_by_one


@njit(**ROW)
def judge_row(loss, x, y, p, silent, weight, gammas, over_gamma, limits, d, e, seen):
    """``J*``, ``E`` and loss of a row that was weighed, and what its weights have yet to be multiplied by.

    `gammas` are gamma as it is, and within the numbers of the data's type.
    """
    mass, lowest, total_loss = seen
    gamma, held = gammas
    excess, total = _excess(loss, x, y, p, silent, mass, lowest, held, over_gamma, limits, d, e)
    return weight * (excess - gamma * np.log(total)), weight * excess, weight * total_loss, weight / mass
