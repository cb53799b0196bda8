"""Entry points of compiled code: kept on disk by the sources of all that they inline, compiled without losing Ctrl-C.

Numba looks at the file of a cached function alone, not at those of the functions that it calls. Here the names of the
files that it keeps hold a fingerprint of every source of compiled code.
"""

from __future__ import annotations

import gc
import hashlib
import os
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

from ewnmf.kernels.compiled.loaded import tell

__all__ = ["ROOMS", "entry", "fingerprint", "interrupts_wait", "sources"]

ROOMS = ("kernels.compiled", "losses", "weightings")
"""The rooms whose code an entry point may hold, besides `_BESIDE`: its own, and those of the scalar forms."""
_BESIDE = ("scalar.py", "kernels/least_squares.py")
"""Functions of single numbers, and constants."""


def sources() -> list[Any]:
    """The files of these, in order."""
    package = files("ewnmf")
    found = [package.joinpath(*name.split("/")) for name in _BESIDE]
    for room in ROOMS:
        parts = package.joinpath(*room.split(".")).iterdir()
        found += sorted((part for part in parts if part.name.endswith(".py")), key=lambda part: part.name)
    return found


@cache
def fingerprint() -> str:
    """What machine code depends on, besides the processor: the sources, and the versions of what compiles them."""
    content = hashlib.blake2b(f"{numba.__version__} {llvmlite.__version__}".encode(), digest_size=8)
    for source in sources():
        content.update(hashlib.blake2b(source.read_bytes()).digest())
    return content.hexdigest()


def _is_ours(kind: Any) -> bool:
    """Whether the scalar forms in a Numba type are of this package: the sources of others are not known."""
    form = getattr(kind, "instance_class", None)
    if form is not None and not form.__module__.startswith("ewnmf."):
        return False
    return all(map(_is_ours, kind)) if isinstance(kind, numba.types.BaseTuple) else True


class _Files(CompileResultCacheImpl):  # type: ignore[misc, unused-ignore]
    """Numba's files, in the folder that it picks, with the fingerprint in their names."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}-{fingerprint()}"


class _Cache(FunctionCache):  # type: ignore[misc, unused-ignore]
    """Numba's cache with these files; what cannot be written is compiled again by the next process."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context) if all(map(_is_ours, sig)) else None
        if found is None:
            tell()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        if not all(map(_is_ours, data.signature.args)):
            return
        # Processes that compile at once take the same number: without a name of its own, one would load another's code.
        token = int.from_bytes(os.urandom(6), "big")
        self._cache_file._data_name_pattern = f"{self._impl.filename_base}.{token}{{number:d}}.nbc"
        with suppress(OSError):
            super().save_overload(sig, data)
            _remove_stale(self.cache_path)


_ENTRIES = (
    "blas",
    "coordinates",
    "entry",
    "least_squares",
    "passes",
    "rounds",
    "rows",
    "stored",
    "sweeps",
    "vector_math",
    "wide",
)
"""The modules that have, or once had, entry points."""


@cache
def _remove_stale(folder: str) -> None:
    """Remove what earlier sources have left for this Python; a process that still uses it compiles again."""
    python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    ours = re.compile(rf"({'|'.join(_ENTRIES)})\.[\w.]+-\w+\.{python}(-[0-9a-f]+)?(\.\d+)?\.nb[ic]")
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


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection, which would look at all that the compiler holds again and again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


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
            with interrupts_wait(), _no_collection():
                return compile_(signature)

        dispatcher.compile = compile_whole
        return dispatcher

    return compiled
