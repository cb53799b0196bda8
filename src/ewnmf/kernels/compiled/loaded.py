"""Compiled code, loaded when it is first asked for, for Numba takes its time; and who hears of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["coordinates", "gemm", "least_squares", "passes", "rounds", "stored", "sweeps", "tell", "telling", "wide"]

_listeners: list[Callable[[], None]] = []


@contextmanager
def telling(say: Callable[[str], object] | None) -> Iterator[None]:
    """Say in one line that something is compiled in the body, if it is and if there is somebody to `say` it."""
    said: list[bool] = []

    def listen() -> None:
        if say is not None and not said:
            said.append(True)
            say("compiling for this processor, which takes some seconds; it is kept for the next time")

    _listeners.append(listen)
    try:
        yield
    finally:
        _listeners.remove(listen)


def tell() -> None:
    """Something is about to be compiled."""
    for listen in tuple(_listeners):
        listen()


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
def rounds() -> Any:
    from ewnmf.kernels.compiled import rounds as found

    return found


@cache
def stored() -> Any:
    from ewnmf.kernels.compiled import stored as found

    return found


@cache
def passes() -> Any:
    from ewnmf.kernels.compiled import passes as found

    return found


@cache
def wide() -> Any:
    from ewnmf.kernels.compiled import wide as found

    return found
