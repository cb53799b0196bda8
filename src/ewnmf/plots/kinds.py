"""What attributes are to the eye: pixels of an image, columns of a table, samples of a series, or words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf.naming import unknown_name

__all__ = ["KINDS", "Kind", "as_names", "kind_of"]

KINDS = ("images", "series", "table", "words")
_LOOKED_AT = 200
"""Points that a guess looks at, at the most."""
_FEWEST_PIXELS, _FEWEST_SAMPLES = 16, 16
_LONGEST = 2.0
"""A guessed image is at most this many times as wide as high, or as high as wide."""
_PIXEL_LIKE, _SERIES_LIKE = 0.8, 0.5
_PIXEL = re.compile(r"^\D*?(\d+)\D+(\d+)\D*$")


@dataclass(frozen=True, eq=False)
class Kind:
    """How the m attributes are shown.

    Attributes
    ----------
    name : {"images", "series", "table", "words"}
        What they are.
    names : tuple of str of length m
        What they are called.
    shape : (int, int), optional
        Height and width of an image.
    axis : ndarray of shape (m,), optional
        Where a series' samples stand: numbers that rise or fall.
    guess : str
        The sentence that says what was guessed and how to say otherwise; empty where nothing was.
    """

    name: str
    names: tuple[str, ...]
    shape: tuple[int, int] | None = None
    axis: Array | None = None
    guess: str = ""


def as_names(names: Any, m: int) -> tuple[str, ...]:
    """Names of m attributes as text; ``x0`` and so on where there are none."""
    if names is None:
        return tuple(f"x{j}" for j in range(m))
    found = tuple(map(str, names))
    if len(found) != m:
        raise ValueError(f"feature_names has {len(found)} names, and there are {m} attributes; give one for each.")
    return found


def kind_of(
    values: Any,
    names: Any = None,
    kind: str = "auto",
    image_shape: Sequence[int] | None = None,
    *,
    sparse: bool = False,
) -> Kind:
    """What the columns of `values` (points or components, n x m) are, as asked for or guessed.

    An `image_shape` makes images. Without one, named columns are pixels where the names count two places ("pixel_0_3"),
    a series where they are rising or falling numbers, words where the data is `sparse`, and else a table. Columns
    without names are images where a value resembles the one below it more than those in between, a series where it
    resembles the next, and else a table.
    """
    m = int(values.shape[1])
    if kind not in ("auto", *KINDS):
        raise unknown_name("kind", kind, ["auto", *KINDS])
    called = as_names(names, m)
    if image_shape is not None or kind == "images":
        if kind not in ("auto", "images"):
            raise ValueError(
                f"image_shape={image_shape!r} belongs to kind='images', not to {kind!r}; give one of them."
            )
        return Kind("images", called, *_shape(values, m, names, image_shape))
    if kind != "auto":
        return Kind(kind, called, axis=_numbers(called) if kind == "series" else None)
    return _guessed(values, m, names, called, sparse)


def _guessed(values: Any, m: int, names: Any, called: tuple[str, ...], sparse: bool) -> Kind:
    if names is not None:
        pixels = _places(called)
        if pixels is not None:
            return Kind("images", called, pixels)
        axis = _numbers(called)
        if axis is not None:
            return Kind("series", called, axis=axis)
        return Kind("words" if sparse else "table", called)
    if sparse:
        return Kind("table", called)
    some = _sample(values)
    shape = _image_like(some)
    if shape is not None:
        return Kind("images", called, shape, guess=_said(shape))
    if m >= _FEWEST_SAMPLES and _roughness(some, 1) < _SERIES_LIKE:
        return Kind(
            "series", called, guess="Guessed: the columns are samples of a series; kind='table' says otherwise."
        )
    return Kind("table", called)


def _shape(
    values: Any, m: int, names: Any, image_shape: Sequence[int] | None
) -> tuple[tuple[int, int], Array | None, str]:
    if image_shape is None:
        known = None if names is None else _places(as_names(names, m))
        if known is not None:
            return known, None, ""
        side = round(m**0.5)
        shape = _image_like(_sample(values)) or ((side, side) if side * side == m else None)
        if shape is None:
            raise ValueError(f"image_shape=None: {m} pixels are no square image; give (height, width).")
        return shape, None, _said(shape)
    sides = tuple(image_shape)
    if len(sides) != 2 or any(int(side) != side or side < 1 for side in sides) or sides[0] * sides[1] != m:
        raise ValueError(f"image_shape={image_shape!r} does not fit {m} pixels; give (height, width) that does.")
    return (int(sides[0]), int(sides[1])), None, ""


def _said(shape: tuple[int, int]) -> str:
    return f"Guessed: images of {shape[0]} x {shape[1]} pixels; image_shape= or kind='table' says otherwise."


def _sample(values: Any) -> Array:
    """Some rows, without the attributes' means (which may be of any unit)."""
    step = -(-values.shape[0] // _LOOKED_AT)
    some = values[::step]
    dense = np.asarray(some.toarray() if issparse(some) else some, dtype=np.float64)
    return np.where(np.isfinite(dense), dense, 0)


def _roughness(some: Array, lag: int) -> float:
    """Mean difference of attributes that are `lag` apart, as a share of that of any two."""
    m = some.shape[1]
    if not 0 < lag < m:
        return 1.0
    near = np.abs(some[:, lag:] - some[:, :-lag]).mean()
    shuffled = np.random.default_rng(0).permutation(m)
    far = np.abs(some[:, shuffled[1:]] - some[:, shuffled[:-1]]).mean()
    return float(near / far) if far > 0 else 1.0


def _image_like(some: Array) -> tuple[int, int] | None:
    """Height and width at which rows continue each other best, where any do."""
    m = some.shape[1]
    if m < _FEWEST_PIXELS:
        return None
    widths = [w for w in range(4, m // 4 + 1) if m % w == 0 and max(w, m // w) <= _LONGEST * min(w, m // w)]
    rough = {w: _roughness(some, w) for w in widths}
    likely = [w for w in widths if rough[w] < _PIXEL_LIKE and rough[w] < _PIXEL_LIKE * _roughness(some, round(w / 2))]
    if not likely:
        return None
    best = min(likely, key=lambda w: rough[w])
    return m // best, best


def _places(called: tuple[str, ...]) -> tuple[int, int] | None:
    """Height and width where names count rows and columns from 0 or 1, in their order."""
    found = [_PIXEL.match(name) for name in called]
    if len(called) < 4 or any(match is None for match in found):
        return None
    places = np.array([[int(part) for part in match.groups()] for match in found if match is not None])
    places -= places.min(axis=0)
    height, width = (places.max(axis=0) + 1).tolist()
    if min(height, width) < 2 or height * width != len(called):
        return None
    return (height, width) if np.array_equal(places[:, 0] * width + places[:, 1], np.arange(len(called))) else None


def _numbers(called: tuple[str, ...]) -> Array | None:
    """The names as numbers, where they rise or fall."""
    if len(called) < _FEWEST_SAMPLES:
        return None
    try:
        axis = np.array([float(name) for name in called])
    except ValueError:
        return None
    steps = np.diff(axis)
    return axis if np.isfinite(axis).all() and ((steps > 0).all() or (steps < 0).all()) else None
