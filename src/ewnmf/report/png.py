"""Small images as data URIs: palettes of 255 shades, and one colour for what is missing."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import numpy as np

from ewnmf._types import Array

__all__ = ["GREYS", "SIGNED", "TRUST", "data_uri"]

_MISSING = (190, 170, 220)
_LEVELS, _FEW = 255, 32


def _palette(anchors: list[tuple[int, int, int]], levels: int = _LEVELS) -> bytes:
    """Colours between anchors of equal distance, and the one of missing values."""
    at = np.linspace(0, len(anchors) - 1, levels)
    colours = [np.interp(at, range(len(anchors)), [anchor[part] for anchor in anchors]) for part in range(3)]
    return bytes(np.stack(colours, axis=1).round().astype(np.uint8)) + bytes(_MISSING)


GREYS = _palette([(0, 0, 0), (255, 255, 255)])
TRUST = _palette([(0, 32, 77), (60, 77, 110), (124, 123, 120), (187, 175, 113), (255, 234, 70)], _FEW)
"""From dark blue to yellow, alike for all kinds of colour vision."""
SIGNED = _palette([(45, 0, 75), (247, 247, 247), (127, 59, 8)])


def data_uri(image: Array, low: float, high: float, palette: bytes = GREYS) -> str:
    """An image (height x width), NaN where missing, with `low` as the first colour and `high` as the last."""
    height, width = image.shape
    missing = ~np.isfinite(image)
    levels = len(palette) // 3 - 1
    span = high - low if high > low else 1.0
    share = np.clip((np.where(missing, low, image) - low) / span, 0, 1)
    grey = palette is GREYS and not missing.any()  # needs no palette, which is most of a small image
    shades = np.where(missing, levels, (share * (levels if grey else levels - 1)).round()).astype(np.uint8)
    lines = np.zeros((height, width + 1), dtype=np.uint8)
    lines[:, 1:] = shades
    parts = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0 if grey else 3, 0, 0, 0)),
        b"" if grey else _chunk(b"PLTE", palette),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
        _chunk(b"IEND", b""),
    ]
    return "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode("ascii")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
