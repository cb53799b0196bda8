"""Arrays in NumPy's format from a stream, believed only as far as there are bytes for them."""

from __future__ import annotations

import math
from typing import IO, Any, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.io.source import Unreadable

__all__ = ["Announced", "announced", "read_array"]

_PIECE = 1 << 20


class Announced(NamedTuple):
    """What the first bytes of an array say."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Of the array in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


def announced(stream: IO[bytes]) -> Announced:
    """Shape and type of the array that begins here; the stream is then at its first number."""
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return Announced(*header(stream))


def read_array(stream: IO[bytes], size: int, what: str) -> Array:
    """The array that begins here and has `size` bytes, its header included; nothing is unpickled.

    Unlike NumPy's own reader it gives out no memory for what is not there.
    """
    head = announced(stream)
    if head.dtype.hasobject:
        raise Unreadable(
            f"{what} holds Python objects, which could run any program when read; save it as an array of numbers."
        )
    rest = size - stream.tell()
    if min(head.shape, default=0) < 0 or head.nbytes != rest or head.dtype.itemsize == 0:
        raise Unreadable(
            f"{what} announces {' x '.join(map(str, head.shape)) or 'one'} of type {head.dtype.str[:20]}, "
            f"{head.nbytes} bytes, but has {rest}; it is damaged."
        )
    flat = np.empty(rest, np.uint8)
    if _fill(flat, stream) != rest:
        raise Unreadable(f"{what} is cut short or damaged: it has less than the {rest} bytes that are announced.")
    return flat.view(head.dtype).reshape(head.shape, order="F" if head.fortran else "C")


def _fill(target: Array, stream: Any) -> int:
    """Read piece by piece, so that no second copy is made; the answer is how many bytes there were."""
    at = 0
    while at < len(target) and (count := stream.readinto(target[at : at + _PIECE])):
        at += count
    return at
