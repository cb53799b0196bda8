"""What the makers of data ask of their arguments."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["check_count", "check_share", "is_a", "pair", "random_of", "shape_of_image"]


def shape_of_image(n_pixels: int, image_shape: tuple[int, int] | None) -> tuple[int, int]:
    """Rows and columns of an image; a square by default."""
    if image_shape is None:
        side = round(n_pixels**0.5)
        if side * side != n_pixels:
            raise ValueError(f"X has {n_pixels} columns, which is no square; give image_shape=(rows, columns).")
        return side, side
    rows, columns = pair("image_shape", image_shape)
    if rows * columns != n_pixels:
        raise ValueError(f"image_shape={image_shape!r} has {rows * columns} pixels but X has {n_pixels} columns.")
    return rows, columns


def pair(name: str, sizes: Any) -> tuple[int, int]:
    """Two whole numbers of at least 1."""
    try:
        first, second = sizes
        valid = all(is_a(Integral, size) and size > 0 for size in (first, second))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(f"{name}={sizes!r} must be (rows, columns), two whole numbers of at least 1.")
    return int(first), int(second)


def check_share(name: str, share: Any) -> float:
    """`share` as a number from 0 to 1."""
    if not (is_a(Real, share) and 0 <= share <= 1):
        raise ValueError(f"{name}={share!r} must be a number from 0 to 1.")
    return float(share)


def check_count(name: str, count: Any, least: int, most: int | None = None, why: str = "") -> None:
    """Refuse what is no whole number within the bounds."""
    if not is_a(Integral, count):
        raise TypeError(f"{name}={count!r} must be a whole number.")
    if count < least or (most is not None and count > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}={count!r} must be {bounds}{f', because {why}' if why else ''}.")


def is_a(kind: type, value: Any) -> bool:
    """Whether it is one; True and False are no numbers."""
    return isinstance(value, kind) and not isinstance(value, bool)


def random_of(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """What draws, with the methods that both of NumPy's kinds share."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    random: np.random.RandomState = check_random_state(random_state)
    return random
