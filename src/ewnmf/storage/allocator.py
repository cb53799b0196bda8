"""What the allocator does with memory that is given back, while a worker of a cluster computes."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

__all__ = ["keeping_memory"]

_TRIM, _MMAP = -1, -3
"""``M_TRIM_THRESHOLD`` and ``M_MMAP_THRESHOLD`` of glibc's malloc.h."""
_KEPT, _LARGEST, _USUAL = 1 << 28, 1 << 25, 1 << 17


@cache
def _mallopt() -> Callable[[int, int], int] | None:
    """glibc's, where that is the allocator."""
    if sys.platform != "linux":
        return None
    found: Callable[[int, int], int] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    return found


@contextmanager
def keeping_memory() -> Iterator[None]:
    """Let the allocator keep up to 256 MB of what is given back, and give it back at the end.

    Dask's nanny sets ``MALLOC_TRIM_THRESHOLD_``, by which glibc asks the system for every array above 128 KB anew, and
    the system clears it: a quarter of the time of a sweep. Where it is not set, the allocator learns by itself.
    """
    set_, mallopt = os.environ.get("MALLOC_TRIM_THRESHOLD_", ""), _mallopt()
    if mallopt is None or not set_.isdecimal():
        yield
        return
    mallopt(_TRIM, _KEPT)
    mallopt(_MMAP, _LARGEST)
    try:
        yield
    finally:
        mmap = os.environ.get("MALLOC_MMAP_THRESHOLD_", "")
        mallopt(_MMAP, int(mmap) if mmap.isdecimal() else _USUAL)
        mallopt(_TRIM, int(set_))
