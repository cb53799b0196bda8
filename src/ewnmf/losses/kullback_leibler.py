"""The Kullback-Leibler divergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss, RankOne
from ewnmf.losses.elementary import log_ratio, quotient
from ewnmf.scalar import Numbers, log_of_ratio

__all__ = ["KullbackLeibler"]


class Logarithmic(NamedTuple):
    """Scalar form of `KullbackLeibler`."""

    numbers: Numbers

    @staticmethod
    def divergence(c: Logarithmic, x: Any, y: Any) -> Any:
        """``x ln(x / y) - x + y``."""
        v = max(y, c.numbers.tiny)
        return max((v - x) - x * log_of_ratio(v, max(x, c.numbers.small)), c.numbers.zero)

    @staticmethod
    def neg(c: Logarithmic, x: Any, y: Any) -> Any:
        """``x / y``."""
        return x / max(y, c.numbers.tiny)

    @staticmethod
    def factor(c: Logarithmic, num: Any, den: Any, cap: Any) -> Any:
        """``num / den``."""
        return num / den if den > 0 else 1.0

    @staticmethod
    def penalised_factor(c: Logarithmic, num: Any, den: Any, h: Any, linear: Any, ridge: Any, cap: Any) -> Any:
        """``2 num / (slope + sqrt(slope^2 + 4 ridge h num))``, with ``slope = den + linear``."""
        slope = den + linear
        root = slope + np.hypot(slope, np.sqrt(4 * ridge * h) * np.sqrt(num))
        known = 2 * num / root if root > 0 else 1.0
        return known if root > 0 or not ridge * h > 0 else 0.0


@dataclass(frozen=True)
class KullbackLeibler(Loss):
    """``d(x, y) = x ln(x / y) - x + y``, and ``y`` where ``x = 0``: the loss of Eq. (22)."""

    name: ClassVar[str] = "kullback-leibler"
    silent_zeros: ClassVar[bool] = True
    degree: ClassVar[float | None] = 1.0

    def scalar(self, numbers: Numbers) -> Any:
        """`Logarithmic`."""
        return Logarithmic(numbers)

    def divergence(self, x: Array, y: Array) -> Array:
        """``x ln(x / y) - x + y``."""
        d: Array = (y - x) - x * log_ratio(y, x)
        return np.maximum(d, 0, out=d)

    def neg(self, x: Array, y: Array) -> Array:
        """``x / y``."""
        return quotient(x, y, 0.0)

    def pos(self, x: Array, y: Array) -> Array:
        """1."""
        return np.broadcast_to(np.ones((), y.dtype), y.shape)

    def with_slope(self, num: Array, den: Array, slope: Any) -> tuple[Array, Array]:
        """``num, den + slope``: the two sides of a step under a penalty of that slope."""
        return num, den + slope

    def penalised_factor(self, num: Array, den: Array, pull: Array) -> Array:
        """``2 num / (den + sqrt(den^2 + 8 pull num))``, `pull` half a ridge's slope; 0 where that alone is known."""
        return quotient(2 * num, den + np.hypot(den, np.sqrt(8 * pull) * np.sqrt(num)), np.where(pull > 0, 0.0, 1.0))

    @property
    def zero_cost(self) -> float:
        """``d(0, y) = y``."""
        return 1.0

    def rank_one_data(self, x: Array) -> tuple[Array, ...]:
        """``1, x, x``."""
        return np.broadcast_to(np.ones((), x.dtype), x.shape), x, x

    def rank_one_factor(self, w: Array) -> tuple[Array, ...]:
        """``w, ln w, 1``, and 0 where ``w = 0``."""
        there = w > 0
        return w, np.log(w, out=np.zeros_like(w), where=there), there.astype(w.dtype)

    def rank_one(self, sums: tuple[Array, ...]) -> RankOne:
        """``h = sum A x / sum A w``."""
        total_w, log_w, total_x = sums
        h = quotient(total_x, total_w, 0.0)
        log_h = total_x * np.log(h, out=np.zeros_like(h), where=h > 0)
        return RankOne(h, -(log_h + log_w), total_w > 0, total_x + np.abs(log_h) + np.abs(log_w))
