"""Compiled code, loaded when it is first asked for: Numba takes its time."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["coordinates", "gemm", "least_squares", "passes", "sweeps"]


@cache
def sweeps() -> Any:
    from ewnmf.kernels.compiled import sweeps as found

    return found


@cache
def gemm(dtype: Any) -> int:
    from ewnmf.kernels.compiled.blas import gemm_address

    return gemm_address(dtype)


@cache
def coordinates() -> Any:
    from ewnmf.kernels.compiled import coordinates as found

    return found


@cache
def least_squares() -> Any:
    from ewnmf.kernels.compiled import least_squares as found

    return found


@cache
def passes() -> Any:
    from ewnmf.kernels.compiled import passes as found

    return found
