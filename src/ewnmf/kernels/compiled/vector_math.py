"""The functions of `ewnmf.scalar` as the compiler can vectorise them, in double and single precision.

``exp(x) = 2^n exp(r)`` with ``n`` the nearest whole number to ``x / ln 2``, and Taylor's polynomial for ``|r|`` up to
``ln(2) / 2``. ``log(2^e m) = e ln 2 + 2 artanh((m - 1) / (m + 1))`` with ``m`` in [sqrt(1/2), sqrt(2)). Arguments of
`exp` are held within the range whose results are normal numbers, and `gradual_exp` adds ``64 ln 2`` below it, which a
power of two takes back; ratios must be normal and positive.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

from ewnmf.kernels.compiled.options import INLINE
from ewnmf.scalar import exp, expm1, gradual_exp, log1p, log_of_ratio, square

__all__ = ["bits", "larger", "lesser", "number"]

_KINDS = {
    types.float64: ir.DoubleType(),
    types.float32: ir.FloatType(),
    types.int64: ir.IntType(64),
    types.int32: ir.IntType(32),
}


def _cast_to(target: Any, source: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _KINDS[target])

    return target(source), codegen


def _bitcast(source: Any, target: Any) -> Any:
    return intrinsic(lambda typingctx, value: _cast_to(target, source))


_float64_of = _bitcast(types.int64, types.float64)
_int64_of = _bitcast(types.float64, types.int64)
_float32_of = _bitcast(types.int32, types.float32)
_int32_of = _bitcast(types.float32, types.int32)


def _chosen(typingctx: Any, compare: Any, x: Any, y: Any) -> Any:
    """Signature and code of ``y if compare(y, x) else x``."""
    kind = typingctx.unify_types(x, y)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        u, v = (context.cast(builder, arg, given, kind) for arg, given in zip(args, (x, y), strict=True))
        compared = context.get_function(compare, types.boolean(kind, kind))
        return builder.select(compared(builder, (v, u)), v, u)

    return kind(x, y), codegen


_s = np.float32
_E13, _E12, _E11, _E10, _E9, _E8, _E7, _E6, _E5, _E4, _E3 = (1.0 / math.factorial(k) for k in range(13, 2, -1))
_S7, _S6, _S5, _S4, _S3, _S2, _S1 = (_s(1.0 / math.factorial(k)) for k in range(7, 0, -1))
_L10, _L9, _L8, _L7, _L6, _L5, _L4, _L3, _L2, _L1 = (2.0 / (2 * k + 1) for k in range(10, 0, -1))
_M4, _M3, _M2, _M1, _M0 = (_s(2.0 / (2 * k + 1)) for k in range(4, -1, -1))

_LOG2E, _ROUND, _LOW, _HIGH = 1 / math.log(2), 1.5 * 2.0**52, -708.0, 709.0
_LN2_HEAD = math.ldexp(math.floor(math.ldexp(math.log(2), 32)), -32)
_LN2_TAIL = 1.9082149292705877e-10 + (0.6931471803691238 - _LN2_HEAD)
_LOG2E_S, _ROUND_S, _LOW_S, _HIGH_S = _s(_LOG2E), _s(1.5 * 2.0**23), _s(-87.0), _s(88.0)
_LN2_HEAD_S = _s(math.ldexp(math.floor(math.ldexp(math.log(2), 9)), -9))
_LN2_TAIL_S = _s(math.log(2) - float(_LN2_HEAD_S))
_LIFT, _SUNK = 64 * math.log(2), 2.0**-64
_LIFT_S, _SUNK_S = _s(_LIFT), _s(_SUNK)
_ONE_S = _s(1)
_ROOT_HALF_BITS, _ROUND_BITS = (np.float64(v).view(np.int64) for v in (math.sqrt(0.5), 1.5 * 2.0**52))
_ROOT_HALF_BITS_S, _ROUND_BITS_S = (_s(v).view(np.int32) for v in (math.sqrt(0.5), 1.5 * 2.0**23))
_LN2, _LN2_S = math.log(2), _s(math.log(2))


@njit(**INLINE)
def _parts64(x: float) -> tuple[float, float]:
    """``2^n`` and ``e^r - 1``; after adding 1.5 * 2^52 the last bits of a number are its nearest integer."""
    shifted = x * _LOG2E + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LN2_HEAD) - n * _LN2_TAIL
    p = _E13
    p = p * r + _E12
    p = p * r + _E11
    p = p * r + _E10
    p = p * r + _E9
    p = p * r + _E8
    p = p * r + _E7
    p = p * r + _E6
    p = p * r + _E5
    p = p * r + _E4
    p = p * r + _E3
    p = p * r + 0.5
    p = p * r + 1.0
    return _float64_of((_int64_of(shifted) + np.int64(1023)) << np.int64(52)), p * r


@njit(**INLINE)
def _parts32(x: np.float32) -> tuple[np.float32, np.float32]:
    shifted = x * _LOG2E_S + _ROUND_S
    n = shifted - _ROUND_S
    r = (x - n * _LN2_HEAD_S) - n * _LN2_TAIL_S
    p = _S7
    p = p * r + _S6
    p = p * r + _S5
    p = p * r + _S4
    p = p * r + _S3
    p = p * r + _S2
    p = p * r + _ONE_S
    return _float32_of(np.int32((_int32_of(shifted) + np.int32(127)) << np.int32(23))), p * r


@overload(exp, jit_options=INLINE)
def _exp(x: Any) -> Any:
    if x == types.float32:

        def single(x: Any) -> Any:
            power, grown = _parts32(lesser(larger(x, _LOW_S), _HIGH_S))
            return power + grown * power

        return single

    def double(x: Any) -> Any:
        power, grown = _parts64(lesser(larger(x, _LOW), _HIGH))
        return power + grown * power

    return double


@overload(gradual_exp, jit_options=INLINE)
def _gradual_exp(x: Any) -> Any:
    if x == types.float32:

        def single(x: Any) -> Any:
            low = x < _LOW_S
            return exp(x + _LIFT_S if low else x) * (_SUNK_S if low else _ONE_S)

        return single

    def double(x: Any) -> Any:
        low = x < _LOW
        return exp(x + _LIFT if low else x) * (_SUNK if low else 1.0)

    return double


@overload(expm1, jit_options=INLINE)
def _expm1(x: Any) -> Any:
    if x == types.float32:

        def single(x: Any) -> Any:
            power, grown = _parts32(lesser(larger(x, _LOW_S), _HIGH_S))
            return grown * power + (power - _ONE_S)

        return single

    def double(x: Any) -> Any:
        power, grown = _parts64(lesser(larger(x, _LOW), _HIGH))
        return grown * power + (power - 1.0)

    return double


@njit(**INLINE)
def _log64(ratio, above, total):
    """The logarithm of `ratio`; where that is close to 1, from its distance to 1 and its sum with 1."""
    bits = _int64_of(ratio)
    exponent = (bits - _ROOT_HALF_BITS) >> np.int64(52)
    m = _float64_of(bits - (exponent << np.int64(52)))
    e = _float64_of(exponent + _ROUND_BITS) - _ROUND
    close = exponent == np.int64(0)
    s = (above if close else m - 1.0) / (total if close else m + 1.0)
    z = s * s
    p = _L10
    p = p * z + _L9
    p = p * z + _L8
    p = p * z + _L7
    p = p * z + _L6
    p = p * z + _L5
    p = p * z + _L4
    p = p * z + _L3
    p = p * z + _L2
    p = p * z + _L1
    return e * _LN2 + (s * (z * p) + 2.0 * s)


@njit(**INLINE)
def _log32(ratio, above, total):
    bits = _int32_of(ratio)
    exponent = np.int32((bits - _ROOT_HALF_BITS_S) >> np.int32(23))
    m = _float32_of(np.int32(bits - (exponent << np.int32(23))))
    e = _float32_of(np.int32(exponent + _ROUND_BITS_S)) - _ROUND_S
    close = exponent == np.int32(0)
    s = (above if close else m - _ONE_S) / (total if close else m + _ONE_S)
    z = s * s
    p = _M4
    p = p * z + _M3
    p = p * z + _M2
    p = p * z + _M1
    p = p * z + _M0
    return e * _LN2_S + s * p


@overload(log_of_ratio, jit_options=INLINE)
def _log_of_ratio(y, x):
    if y == types.float32:
        return lambda y, x: _log32(y / x, y - x, y + x)
    return lambda y, x: _log64(y / x, y - x, y + x)


@overload(log1p, jit_options=INLINE)
def _log1p(x):
    if x == types.float32:
        return lambda x: _log32(_ONE_S + x, x, (_ONE_S + _ONE_S) + x)
    return lambda x: _log64(1.0 + x, x, 2.0 + x)


@overload(square, jit_options={**INLINE, "fastmath": {"nnan", "nsz"}})
def _square(x):
    """Rounded: fused with what follows, the least of them would differ from itself."""
    return lambda x: x * x


@intrinsic
def bits(typingctx: Any, x: Any) -> Any:
    """A nonnegative number as an integer of the same order: their least is found in vectors, that of floats is not."""
    return _cast_to(types.int32 if x == types.float32 else types.int64, x)


@intrinsic
def number(typingctx: Any, order: Any) -> Any:
    """The number of these `bits`."""
    return _cast_to(types.float32 if order == types.int32 else types.float64, order)


@intrinsic
def lesser(typingctx: Any, x: Any, y: Any) -> Any:
    """``min(x, y)``, for which Numba would compile a function."""
    return _chosen(typingctx, operator.lt, x, y)


@intrinsic
def larger(typingctx: Any, x: Any, y: Any) -> Any:
    """``max(x, y)``, for which Numba would compile a function."""
    return _chosen(typingctx, operator.gt, x, y)
