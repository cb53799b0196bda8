"""Ratios, powers and logarithms that stay finite, shared by the losses."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.scalar import Numbers

__all__ = [
    "box_cox",
    "capped_power",
    "grown",
    "inverse_box_cox",
    "largest_exponent",
    "largest_power",
    "log_ratio",
    "numbers",
    "quotient",
]


def quotient(num: Array, den: Array, otherwise: Any) -> Array:
    """``num / den``, and `otherwise` where ``den`` is not positive."""
    with np.errstate(over="ignore"):
        return np.divide(num, den, out=np.full_like(num, otherwise), where=den > 0)


@cache
def largest_exponent(dtype: Any) -> float:
    """Powers are held below ``exp`` of this, about the root of the largest number, so that their sums stay finite."""
    return 44.0 if np.finfo(dtype).bits == 32 else 354.0


@cache
def largest_power(dtype: Any) -> float:
    """Where powers end."""
    return math.exp(largest_exponent(dtype))


def capped_power(base: Array, exponent: float, cap: float | None = None) -> Array:
    """``base ** exponent``, held below `largest_power`."""
    with np.errstate(over="ignore", divide="ignore"):
        power = base**exponent
    return np.minimum(power, largest_power(power.dtype) if cap is None else cap, out=power)


def log_ratio(y: Array, x: Array) -> Array:
    """``ln(y / x)`` with the digits of ``y - x`` where the two are close, and 0 where ``x = 0``."""
    there = x > 0
    ratio = np.divide(y, x, out=np.ones_like(y), where=there)
    apart = np.divide(y - x, x, out=np.zeros_like(y), where=there)
    with np.errstate(divide="ignore"):
        return np.where(np.abs(apart) < 0.4, np.log1p(np.maximum(apart, -0.5)), np.log(ratio))


def box_cox(base: Array, exponent: float) -> Array:
    """``(base^e - 1) / e``, and ``ln(base)`` at ``e = 0``."""
    with np.errstate(divide="ignore"):
        return grown(np.log(base), exponent)


def grown(log: Array, exponent: float) -> Array:
    """``(exp(e log) - 1) / e``, and `log` at ``e = 0``."""
    if exponent == 0:
        return log
    limit = largest_exponent(log.dtype)
    return np.expm1(np.minimum(exponent * log, limit)) / exponent


def inverse_box_cox(value: Array, exponent: float) -> Array:
    limit = largest_exponent(value.dtype)
    with np.errstate(divide="ignore"):
        log = value if exponent == 0 else np.log1p(np.maximum(exponent * value, -1)) / exponent
    return np.exp(np.minimum(log, limit))


@cache
def numbers(dtype: Any, tiny: float, real: Any = None) -> Numbers:
    """Where numbers of `dtype` end, for scalar forms, as numbers of the type `real` (the same where not given)."""
    real = np.dtype(dtype).type if real is None else real
    small = 1e-37 if dtype == np.float32 else 1e-300
    return Numbers(real(small), real(largest_exponent(dtype)), real(tiny), real(0), real(1))
