"""Entry points of compiled code: kept on disk by the sources of all that they inline, compiled without losing Ctrl-C.

Numba looks at the file of a cached function alone, not at those of the functions that it calls. Here the names of the
files that it keeps hold a fingerprint of every source of compiled code.
"""

from __future__ import annotations

import hashlib
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from importlib.resources import files
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache

__all__ = ["SOURCES", "entry", "fingerprint", "interrupts_wait"]

SOURCES = ("blas", "entry", "passes", "rows", "sweeps", "vector_math")
"""The modules of this room whose code an entry point may hold. A test compares them with what imports Numba."""


@cache
def fingerprint() -> str:
    """What machine code depends on, besides the processor: the sources, and the versions of what compiles them."""
    content = hashlib.blake2b(f"{numba.__version__} {llvmlite.__version__}".encode(), digest_size=8)
    for name in SOURCES:
        content.update(hashlib.blake2b(files("ewnmf.kernels.compiled").joinpath(f"{name}.py").read_bytes()).digest())
    return content.hexdigest()


class _Files(CompileResultCacheImpl):  # type: ignore[misc, unused-ignore]
    """Numba's files, in the folder that it picks, with the fingerprint in their names."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}-{fingerprint()}"


class _Cache(FunctionCache):  # type: ignore[misc, unused-ignore]
    """Numba's cache with these files; what cannot be written is compiled again by the next process."""

    _impl_class = _Files

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)
            _remove_stale(self.cache_path)


@cache
def _remove_stale(folder: str) -> None:
    """Remove what earlier sources have left for this Python; a process that still uses it compiles again."""
    python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    ours = re.compile(rf"({'|'.join(SOURCES)})\.[\w.]+-\w+\.{python}(-[0-9a-f]+)?(\.\d+)?\.nb[ic]")
    for path in Path(folder).iterdir():
        found = ours.fullmatch(path.name)
        if found and found[2] != f"-{fingerprint()}":
            with suppress(OSError):
                path.unlink()


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the body, whose callbacks from C would swallow it; a second one does not wait."""
    handler, caught = signal.getsignal(signal.SIGINT), list[int]()
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def wait(number: int, frame: Any) -> None:
        caught.append(number)
        if len(caught) > 1:
            handler(number, frame)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if caught:
            handler(signal.SIGINT, sys._getframe())


def entry(**options: Any) -> Callable[[Any], Any]:
    """`njit` for what Python calls: its machine code, and that of all it calls, is kept on disk where that can be."""

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        if dispatcher is function:  # Numba is switched off.
            return function
        with suppress(RuntimeError, OSError):
            dispatcher._cache = _Cache(function)
        compile_ = dispatcher.compile

        @wraps(compile_)
        def compile_whole(signature: Any) -> Any:
            with interrupts_wait():
                return compile_(signature)

        dispatcher.compile = compile_whole
        return dispatcher

    return compiled
