"""Squared errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss, RankOne
from ewnmf.losses.elementary import quotient
from ewnmf.scalar import Numbers, square

__all__ = ["Euclidean"]


class Squared(NamedTuple):
    """Scalar form of `Euclidean`."""

    numbers: Numbers

    @staticmethod
    def divergence(c: Squared, x: Any, y: Any) -> Any:
        """``(x - y)^2``."""
        return square(x - y)

    @staticmethod
    def neg_of_data(c: Squared, x: Any) -> Any:
        """``x``."""
        return x

    @staticmethod
    def pos(c: Squared, x: Any, y: Any) -> Any:
        """``y``."""
        return y

    @staticmethod
    def factor(c: Squared, num: Any, den: Any, cap: Any) -> Any:
        """``num / den``."""
        return num / den if den > 0 else 1.0

    @staticmethod
    def penalised_factor(c: Squared, num: Any, den: Any, h: Any, linear: Any, ridge: Any, cap: Any) -> Any:
        """``num / (den + slope / 2)`` with the slope of the penalty at ``h``."""
        den = den + (linear + ridge * h) / 2
        return num / den if den > 0 else 1.0


@dataclass(frozen=True)
class Euclidean(Loss):
    """``d(x, y) = (x - y)^2``, the loss of Eq. (2) and (10)."""

    name: ClassVar[str] = "euclidean"
    silent_zeros: ClassVar[bool] = True
    signed: ClassVar[bool] = True
    degree: ClassVar[float | None] = 2.0
    err_factor: ClassVar[float] = 1.0
    quadratic: ClassVar[bool] = True

    def scalar(self, numbers: Numbers) -> Any:
        """`Squared`."""
        return Squared(numbers)

    def divergence(self, x: Array, y: Array) -> Array:
        """``(x - y)^2``."""
        d: Array = x - y
        d *= d
        return d

    def between(self, x: Array, y: Array) -> Array:
        """``(x - y)^2 / 2``."""
        d: Array = x - y
        d *= d
        d *= 0.5
        return d

    def neg(self, x: Array, y: Array) -> Array:
        """``x``, Eq. (20), (21)."""
        return x

    def pos(self, x: Array, y: Array) -> Array:
        """``y``, Eq. (20), (21)."""
        return y

    def carried(self, num: Array, den: Array, ratio: Array) -> tuple[Array, Array]:
        """``den ratio``: the majoriser is a square."""
        return num, den * ratio

    def with_slope(self, num: Array, den: Array, slope: Any) -> tuple[Array, Array]:
        """``num, den + slope / 2``: the two sides of a step under a penalty of that slope."""
        return num, den + slope / 2

    def penalised_factor(self, num: Array, den: Array, pull: Array) -> Array:
        """``num / (den + pull)``, with `pull` half the slope of a quadratic penalty."""
        return quotient(num, den + pull, 1.0)

    @property
    def zero_cost(self) -> float:
        """``d(0, y) = y * y``."""
        return 1.0

    def pos_factors(self, W: Array, H: Array) -> tuple[Array, Array]:
        """``Y`` itself."""
        return W, H

    def rank_one_data(self, x: Array) -> tuple[Array, ...]:
        """``x, 1``."""
        return x, np.broadcast_to(np.ones((), x.dtype), x.shape)

    def rank_one_factor(self, w: Array) -> tuple[Array, ...]:
        """``w, w^2``."""
        return w, w * w

    def rank_one(self, sums: tuple[Array, ...]) -> RankOne:
        """``h = sum A x w / sum A w^2``."""
        xw, ww = np.maximum(sums[0], 0), sums[1]
        h = quotient(xw, ww, 0.0)
        return RankOne(h, -h * xw, ww > 0, h * xw)
