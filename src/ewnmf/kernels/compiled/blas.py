"""Matrix products from compiled code: SciPy's own BLAS, called by address and without Python."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

from ewnmf.kernels.compiled.options import ROW
from ewnmf.kernels.compiled.vector_math import lesser

__all__ = [
    "add_tile_product",
    "add_tile_sums",
    "add_transposed_product",
    "add_twice_transposed",
    "alike",
    "gemm_address",
    "product",
    "product_with_transposed",
    "tile_product",
]

_PLAIN, _TRANSPOSED = 78, 84
"""``N`` and ``T``."""
_SMALL = 1_000_000
"""Multiplications up to which OpenBLAS computes a product without repacking its operands, at nearly its peak."""
_ALIKE = 8
"""Rows of a product in single precision whose bits do not depend on which of them they are: OpenBLAS takes twelve at a
time where it can, and six of these by other code than the rest."""
_VOID_POINTER = ir.IntType(8).as_pointer()
_OPTIONS: Any = {**ROW, "fastmath": False}


@cache
def gemm_address(dtype: Any) -> int:
    """Where the general matrix product of this type lies in this process."""
    name = "sgemm" if dtype == np.float32 else "dgemm"
    return int(get_cython_function_address("scipy.linalg.cython_blas", name))


@intrinsic
def _gemm(typingctx: Any, address: Any, flips: Any, shape: Any, a: Any, lda: Any, b: Any, ldb: Any, beta: Any, c: Any,
          ldc: Any) -> Any:  # fmt: skip
    """``C = op(A) op(B) + beta C``, columns contiguous: BLAS's ``xGEMM``."""
    real = c.dtype
    signature = types.void(address, flips, shape, a, lda, b, ldb, real, c, ldc)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def slot(value: Any) -> Any:
            return builder.bitcast(cgutils.alloca_once_value(builder, value), _VOID_POINTER)

        def integer(value: Any, bits: int = 32) -> Any:
            return slot(builder.trunc(value, ir.IntType(bits)))

        def data(at: int) -> Any:
            array = context.make_array(signature.args[at])(context, builder, args[at])
            return builder.bitcast(array.data, _VOID_POINTER)

        flip_a, flip_b = cgutils.unpack_tuple(builder, args[1], 2)
        m, n, k = cgutils.unpack_tuple(builder, args[2], 3)
        one = slot(context.get_constant(real, 1.0))
        kind = ir.FunctionType(ir.VoidType(), [_VOID_POINTER] * 13)
        function = builder.inttoptr(args[0], kind.as_pointer())
        values = [integer(flip_a, 8), integer(flip_b, 8), integer(m), integer(n), integer(k), one]
        values += [data(3), integer(args[4]), data(5), integer(args[6]), slot(args[7]), data(8), integer(args[9])]
        builder.call(function, values)
        return context.get_dummy_value()

    return signature, codegen


@njit(**_OPTIONS)
def _stretch(length, others, unit):
    """How much of a side makes a small product, the two other sides having `others` for a product; else all of it."""
    most = _SMALL // others // unit * unit
    return length if most == 0 else lesser(most, length)


@njit(**_OPTIONS)
def alike(out):
    """How many rows of a product may be taken together so that each has bits of its own."""
    return _ALIKE if out.itemsize == 4 else out.shape[0]


@njit(**_OPTIONS)
def product(gemm, left, right, rows, out):
    """``out = left @ right``, rows contiguous, so many of them at a time."""
    b, K, m = left.shape[0], left.shape[1], right.shape[1]
    for top in range(0, b, rows):
        n = lesser(rows, b - top)
        step = _stretch(m, n * K, 64)
        for at in range(0, m, step):
            shape = (lesser(step, m - at), n, K)
            _gemm(gemm, (_PLAIN, _PLAIN), shape, right[:, at:], m, left[top:], K, 0.0, out[top:, at:], m)


@njit(**_OPTIONS)
def add_twice_transposed(gemm, left, right, stride, beta, out):
    """``out = left.T @ right.T + beta out``, rows contiguous but for those of `right`, which are `stride` apart."""
    n, m = left.shape
    _gemm(gemm, (_TRANSPOSED, _TRANSPOSED), (out.shape[1], m, n), right, stride, left, m, beta, out, out.shape[1])


@njit(**_OPTIONS)
def product_with_transposed(gemm, left, right, rows, out):
    """``out = left @ right.T``, rows contiguous, so many at a time; one of `left` may hold several of the product."""
    b, K, m = out.shape[0], right.shape[0], right.shape[1]
    many = left.shape[1] // m
    step = lesser(rows, _stretch(b, m * K, 8 * many))
    for at in range(0, b, step):
        shape = (K, lesser(step, b - at), m)
        _gemm(gemm, (_TRANSPOSED, _PLAIN), shape, right, m, left[at // many :], m, 0.0, out[at:], K)


@njit(**_OPTIONS)
def add_transposed_product(gemm, left, right, out):
    """``out += left.T @ right``, rows contiguous."""
    b, K, m = left.shape[0], left.shape[1], right.shape[1]
    step = _stretch(m, b * K, 64)
    for at in range(0, m, step):
        shape = (lesser(step, m - at), K, b)
        _gemm(gemm, (_PLAIN, _TRANSPOSED), shape, right[:, at:], m, left, K, 1.0, out[:, at:], m)


@njit(**_OPTIONS)
def tile_product(gemm, left, right, start, width, out):
    """``out[:, :width] = left @ right[:, start : start + width]``, rows contiguous."""
    n, K = left.shape
    _gemm(gemm, (_PLAIN, _PLAIN), (width, n, K), right[:, start:], right.shape[1], left, K, 0.0, out, out.shape[1])


@njit(**_OPTIONS)
def add_tile_product(gemm, left, right, start, width, every, out):
    """``out += left[:, :width] @ right[:, start : start + width].T``, rows contiguous, for as many as `out` has.

    Only `every` so many-th row, from the first on.
    """
    n, K = out.shape
    shape, stride = (K, -(-n // every), width), every * left.shape[1]
    _gemm(gemm, (_TRANSPOSED, _PLAIN), shape, right[:, start:], right.shape[1], left, stride, 1.0, out, every * K)


@njit(**_OPTIONS)
def add_tile_sums(gemm, codes, pulls, start, width, first, out):
    """Add ``codes.T @ pulls`` to a tile of `out` (K x 2m): even rows to its first half, odd ones to its last.

    With ``first = 1`` to its last half alone.
    """
    n, K = codes.shape
    m, stride = out.shape[1] // 2, pulls.shape[1]
    for half in range(first, 2):
        right, sums = pulls[half:], out[:, half * m + start :]
        _gemm(gemm, (_PLAIN, _TRANSPOSED), (width, K, n), right, 2 * stride, codes, K, 1.0, sums, 2 * m)
