"""Formulas of single numbers: plain Python, which the kernel room compiles where Numba is there.

A *scalar form* is a NamedTuple. Its fields are constants in the precision of the data, its static methods the formulas
of a loss or a weighting for one entry; `c` is the tuple itself. They use nothing but arithmetic, comparisons and the
functions here. What a loss and a weighting may bring is in `losses.base` and `weightings.base`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

__all__ = ["Numbers", "exp", "expm1", "gradual_exp", "log1p", "log_of_ratio", "square"]


class Numbers(NamedTuple):
    """Where numbers end: the least that is divided by, the largest exponent, the least ``Y``; 0 and 1 beside them."""

    small: Any
    limit: Any
    tiny: Any
    zero: Any
    one: Any


def exp(x: Any) -> Any:
    """``e^x``."""
    return math.exp(x)


def gradual_exp(x: Any) -> Any:
    """``e^x`` down to 0 through the subnormal numbers, where `exp` may end at the normal ones."""
    return math.exp(x)


def expm1(x: Any) -> Any:
    """``e^x - 1``, with all its digits near 0."""
    return math.expm1(x)


def log1p(x: Any) -> Any:
    """``ln(1 + x)`` for ``x >= 0``, with all its digits near 0."""
    return math.log1p(x)


def log_of_ratio(y: Any, x: Any) -> Any:
    """``ln(y / x)``, with the digits of ``y - x`` where the two are close; both are positive."""
    apart = (y - x) / x
    return math.log1p(apart) if abs(apart) < 0.4 else math.log(y / x)


def square(x: Any) -> Any:
    """``x * x``, rounded before anything is subtracted from it."""
    return x * x
