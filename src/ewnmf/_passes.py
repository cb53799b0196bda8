"""The elementwise work of a sweep, compiled: from ``Y`` to weights, pulls and objective, row by row.

Rows are points (the core's columns, contiguous in memory). What is computed is defined in `losses` and `weights`; here
it is only computed faster, and tests compare the two. An empty ``P``, ``s`` or ``A`` stands for ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload

from ewnmf._vector_math import SAFE, exp, expm1, log_ratio

__all__ = [
    "Alpha",
    "Euclidean",
    "KullbackLeibler",
    "LowAlpha",
    "NearZeroAlpha",
    "measure_rows",
    "pull_rows",
    "weigh_rows",
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


def can_cache() -> bool:
    """Whether Numba finds a folder for its machine code; without one every process compiles anew."""
    try:
        njit(cache=True)(can_cache)
    except RuntimeError:
        return False
    return True


_ROW: dict[str, Any] = {"fastmath": SAFE, "error_model": "numpy", "nogil": True, "cache": can_cache()}
_SUM: dict[str, Any] = {**_ROW, "fastmath": {*SAFE, "reassoc"}}


@njit(**_SUM)
def _sum(row):
    total = 0.0
    for i in range(row.size):
        total += row[i]
    return total


@njit(**_SUM)
def _dot(left, right):
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@njit(**_SUM)
def _lowest(row):
    lowest = row[0]
    for i in range(row.size):
        lowest = min(lowest, row[i])
    return lowest


@njit(**_ROW)
def _euclidean_losses(x, y, d):
    for i in range(x.size):
        e = x[i] - y[i]
        d[i] = e * e


@njit(**_ROW)
def _kl_losses(x, y, d, small, tiny):
    zero = d.dtype.type(0)
    for i in range(x.size):
        v = max(y[i], tiny)
        d[i] = max((v - x[i]) - x[i] * log_ratio(v, max(x[i], small)), zero)


@njit(**_ROW)
def _alpha_losses(x, y, d, alpha, small, limit, tiny):
    kind = d.dtype.type
    a, t, zero = kind(alpha), kind(1.0 - alpha), kind(0)
    for i in range(x.size):
        v = max(y[i], tiny)
        r = log_ratio(v, max(x[i], small))
        grown = r if t == zero else expm1(min(t * r, limit)) / t
        value = max(((v - x[i]) - x[i] * grown) / a, zero)
        d[i] = value if x[i] > zero else v / a


@njit(**_ROW)
def _mirrored_alpha_losses(x, y, d, alpha, small, limit, tiny):
    kind = d.dtype.type
    a, t, zero = kind(alpha), kind(1.0 - alpha), kind(0)
    for i in range(x.size):
        v = max(y[i], tiny)
        r = log_ratio(max(x[i], small), v)
        grown = r if a == zero else expm1(min(a * r, limit)) / a
        value = max(((x[i] - v) - v * grown) / t, zero)
        d[i] = value if x[i] > zero else v / a


def _losses(loss, x, y, d, small, limit, tiny):
    """``d(x, y)`` of a row."""
    raise NotImplementedError


@overload(_losses, jit_options=_ROW)
def _losses_of_kind(loss, x, y, d, small, limit, tiny):
    kind = loss.instance_class
    if kind is Euclidean:
        return lambda loss, x, y, d, small, limit, tiny: _euclidean_losses(x, y, d)
    if kind is KullbackLeibler:
        return lambda loss, x, y, d, small, limit, tiny: _kl_losses(x, y, d, small, tiny)
    if kind is Alpha:
        return lambda loss, x, y, d, small, limit, tiny: _alpha_losses(x, y, d, loss.alpha, small, limit, tiny)
    return lambda loss, x, y, d, small, limit, tiny: _mirrored_alpha_losses(x, y, d, loss.alpha, small, limit, tiny)


@njit(**_ROW)
def _scale_by(y, t):
    for i in range(t.size):
        y[i] *= t[i]


@njit(**_ROW)
def _times(t, x, out):
    for i in range(t.size):
        out[i] = t[i] * x[i]


@njit(**_ROW)
def _euclidean_pulls(x, y, t, neg):
    _times(t, x, neg)
    _scale_by(y, t)


@njit(**_ROW)
def _kl_pulls(x, y, t, neg, tiny):
    for i in range(x.size):
        neg[i] = t[i] * (x[i] / max(y[i], tiny))


@njit(**_ROW)
def _alpha_pulls(x, y, t, neg, alpha, small, limit, tiny):
    kind = neg.dtype.type
    a, zero = kind(alpha), kind(0)
    for i in range(x.size):
        power = exp(min(a * log_ratio(max(x[i], small), max(y[i], tiny)), limit))
        neg[i] = t[i] * (power if x[i] > zero else zero)


@njit(**_ROW)
def _near_zero_pulls(x, y, t, neg, alpha, small, limit, tiny):
    kind = neg.dtype.type
    a, zero = kind(alpha), kind(0)
    for i in range(x.size):
        r = log_ratio(max(x[i], small), max(y[i], tiny))
        grown = r if a == zero else expm1(min(a * r, limit)) / a
        neg[i] = t[i] * (grown if x[i] > zero else -kind(1) / a)


def _pulls(loss, x, y, t, neg, small, limit, tiny):
    """``t * neg`` of a row and, for the Euclidean loss, ``t * pos`` in place of ``y``; else ``pos`` is 1."""
    raise NotImplementedError


@overload(_pulls, jit_options=_ROW)
def _pulls_of_kind(loss, x, y, t, neg, small, limit, tiny):
    kind = loss.instance_class
    if kind is Euclidean:
        return lambda loss, x, y, t, neg, small, limit, tiny: _euclidean_pulls(x, y, t, neg)
    if kind is KullbackLeibler:
        return lambda loss, x, y, t, neg, small, limit, tiny: _kl_pulls(x, y, t, neg, tiny)
    if kind is NearZeroAlpha:
        return lambda loss, x, y, t, neg, small, limit, tiny: _near_zero_pulls(
            x, y, t, neg, loss.alpha, small, limit, tiny
        )
    return lambda loss, x, y, t, neg, small, limit, tiny: _alpha_pulls(x, y, t, neg, loss.alpha, small, limit, tiny)


@njit(**_ROW)
def _hide(d, p):
    """Losses without prior weight count as the largest number."""
    large, zero = d.dtype.type(1e30), p.dtype.type(0)
    for i in range(d.size):
        d[i] = d[i] if p[i] > zero else large


@njit(**_ROW)
def _exponentials(d, t, lowest, over_gamma, flush):
    zero = t.dtype.type(0)
    for i in range(d.size):
        e = exp((lowest - d[i]) * over_gamma)
        t[i] = e if e >= flush else zero


@njit(**_ROW)
def _shortfalls(d, out, lowest, over_gamma):
    for i in range(d.size):
        out[i] = expm1((lowest - d[i]) * over_gamma)


@njit(**_ROW)
def _scale(t, factor):
    for i in range(t.size):
        t[i] *= factor


@njit(**_ROW)
def weigh_rows(X, Y, P, s, silent, loss, gamma, limits, A, neg, J, E, L):
    """Entropy weights ``A``, their pulls (where `neg` is not empty) and every row's ``J*``, ``E`` and loss."""
    real = A.dtype.type
    small, limit, tiny, flush = real(limits[0]), real(limits[1]), real(limits[2]), real(limits[3])
    over_gamma = real(1.0 / gamma)
    d, e = np.empty(X.shape[1], dtype=A.dtype), np.empty(X.shape[1], dtype=A.dtype)
    prior = P.size > 0
    for j in range(X.shape[0]):
        t = A[j]
        _losses(loss, X[j], Y[j], d, small, limit, tiny)
        if prior:
            _hide(d, P[j])
        lowest = _lowest(d) if silent == 0 else real(0)
        _exponentials(d, t, lowest, over_gamma, flush)
        total, L[j] = float(d.size), _sum(d)
        if prior:
            _scale_by(t, P[j])
            total, L[j] = _sum(P[j]), _dot(P[j], d)
        total += silent
        mass = _sum(t) + silent
        log_share = np.log(mass / total)
        if mass > 0.5 * total:
            _shortfalls(d, e, lowest, over_gamma)
            missing = _dot(P[j], e) if prior else _sum(e)
            log_share = np.log1p(max(missing / total, -0.5))
        weight = s[j] if s.size > 0 else 1.0
        E[j] = weight * (lowest - gamma * log_share)
        J[j] = E[j] - weight * gamma * np.log(total)
        L[j] *= weight
        _scale(t, real(weight / mass))
        if neg.size > 0:
            _pulls(loss, X[j], Y[j], t, neg[j], small, limit, tiny)


@njit(**_ROW)
def measure_rows(X, Y, A, loss, limits, L):
    """``sum A d`` of every row under given weights."""
    real = Y.dtype.type
    small, limit, tiny = real(limits[0]), real(limits[1]), real(limits[2])
    d = np.empty(X.shape[1], dtype=Y.dtype)
    for j in range(X.shape[0]):
        _losses(loss, X[j], Y[j], d, small, limit, tiny)
        L[j] = _dot(A[j], d) if A.size > 0 else _sum(d)


@njit(**_ROW)
def pull_rows(X, Y, A, loss, limits, neg):
    """``A * neg`` and, for the Euclidean loss, ``A * pos`` in place of ``Y``; without `neg` only the latter."""
    real = Y.dtype.type
    small, limit, tiny = real(limits[0]), real(limits[1]), real(limits[2])
    for j in range(X.shape[0]):
        if neg.size > 0:
            _pulls(loss, X[j], Y[j], A[j], neg[j], small, limit, tiny)
        else:
            _scale_by(Y[j], A[j])
