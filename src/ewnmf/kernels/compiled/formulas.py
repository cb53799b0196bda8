"""The scalar forms of losses and weightings as compiled functions: a type without the formula ends in an error."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from numba import errors
from numba.extending import overload

from ewnmf.kernels.compiled.options import INLINE, ROW

__all__ = [
    "decline",
    "divergence",
    "factor",
    "has",
    "neg",
    "penalised_factor",
    "pos",
    "share",
    "shortfall",
    "slope",
    "value",
]


def has(c: Any, name: str) -> bool:
    """Whether the scalar form of the Numba type `c` brings the formula `name`."""
    return callable(getattr(c.instance_class, name, None))


def _formula(c: Any, name: str) -> Any:
    """The function, without its annotations, which Numba would compare."""
    if not has(c, name):
        raise errors.TypingError(f"the scalar form {c} has no formula {name}")
    formula = getattr(c.instance_class, name)
    return FunctionType(formula.__code__, formula.__globals__, name, None, formula.__closure__)


def divergence(c, x, y):
    """``d(x, y)``."""
    raise NotImplementedError


@overload(divergence, jit_options=INLINE)
def _divergence(c, x, y):
    return _formula(c, "divergence")


def neg_of_data(c, x):
    """``neg`` where it depends on the data alone."""
    raise NotImplementedError


@overload(neg_of_data, jit_options=INLINE)
def _neg_of_data(c, x):
    return _formula(c, "neg_of_data")


def neg(c, x, y):
    """The part of the slope that asks for a larger ``y``."""
    raise NotImplementedError


@overload(neg, jit_options=INLINE)
def _neg(c, x, y):
    return (lambda c, x, y: neg_of_data(c, x)) if has(c, "neg_of_data") else _formula(c, "neg")


def pos(c, x, y):
    """The part of the slope that asks for a smaller ``y``, where that is not 1."""
    raise NotImplementedError


@overload(pos, jit_options=INLINE)
def _pos(c, x, y):
    return _formula(c, "pos")


def factor(c, num, den, cap):
    """`Loss.factor` of one entry."""
    raise NotImplementedError


@overload(factor, jit_options=ROW)
def _factor(c, num, den, cap):
    return _formula(c, "factor")


def penalised_factor(c, num, den, h, linear, ridge, cap):
    """The factor of one entry `h` under a penalty."""
    raise NotImplementedError


@overload(penalised_factor, jit_options=ROW)
def _penalised_factor(c, num, den, h, linear, ridge, cap):
    return _formula(c, "penalised_factor")


def share(c, d, lowest):
    """The weight of a loss among those of its point, not yet divided by their sum."""
    raise NotImplementedError


@overload(share, jit_options=INLINE)
def _share(c, d, lowest):
    return _formula(c, "share")


def shortfall(c, d, lowest):
    """`share` less 1."""
    raise NotImplementedError


@overload(shortfall, jit_options=INLINE)
def _shortfall(c, d, lowest):
    return _formula(c, "shortfall")


def decline(c, d):
    """How fast the weight falls as the loss grows, ``-d phi'' / phi'``."""
    raise NotImplementedError


@overload(decline, jit_options=INLINE)
def _decline(c, d):
    return _formula(c, "decline")


def value(c, d):
    """The concave function of a loss."""
    raise NotImplementedError


@overload(value, jit_options=INLINE)
def _value(c, d):
    return _formula(c, "value")


def slope(c, d):
    """Its derivative, the weight."""
    raise NotImplementedError


@overload(slope, jit_options=INLINE)
def _slope(c, d):
    return _formula(c, "slope")
