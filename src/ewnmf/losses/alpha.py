"""The alpha divergences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss, RankOne
from ewnmf.losses.elementary import box_cox, capped_power, grown, inverse_box_cox, largest_exponent, log_ratio, quotient
from ewnmf.scalar import Numbers, expm1, gradual_exp, log_of_ratio

__all__ = ["Alpha"]

_NEAR = 0.05
"""How near to 0 or 1 alpha has to be for the forms that are stable there: below it they lose nothing, above it
the plain forms lose at most 1 / 0.05 units in the last place."""


_UNFIT = 1e150
"""A rank-one sum from here on comes from an entry that is as good as 0 where the data is not: no fit at all."""


class Power(NamedTuple):
    """Scalar form of `Alpha` for ``alpha >= 1/2``, with ``a`` and ``1 - a`` in the precision of the data."""

    numbers: Numbers
    alpha: float
    a: Any
    t: Any
    end: Any
    """The logarithm of the largest ``(x / y)^a``."""

    @staticmethod
    def divergence(c: Power, x: Any, y: Any) -> Any:
        """``(x / a) [(r - 1) - expm1(t ln r) / t]`` with ``r = y / x``."""
        n = c.numbers
        v = max(y, n.tiny)
        r = log_of_ratio(v, max(x, n.small))
        grown = r if c.t == n.zero else expm1(min(c.t * r, n.limit)) / c.t
        value = max(((v - x) - x * grown) / c.a, n.zero)
        return value if x > n.zero else v / c.a

    @staticmethod
    def neg(c: Power, x: Any, y: Any) -> Any:
        """``(x / y)^a``."""
        n = c.numbers
        power = gradual_exp(min(c.a * log_of_ratio(max(x, n.small), max(y, n.tiny)), c.end))
        return power if x > n.zero else n.zero

    @staticmethod
    def factor(c: Power, num: Any, den: Any, cap: Any) -> Any:
        """``(num / den)^(1/a)``."""
        return min((num / den) ** (1.0 / c.alpha), cap) if den > 0 else 1.0

    @staticmethod
    def penalised_factor(c: Power, num: Any, den: Any, h: Any, linear: Any, ridge: Any, cap: Any) -> Any:
        """`factor` with ``den + a linear``, at least a trace of ``num`` (`Alpha.with_slope`)."""
        moved = den + c.alpha * linear
        slope = moved if c.alpha >= 0 else max(moved, 1e-30 * num)
        return min((num / slope) ** (1.0 / c.alpha), cap) if slope > 0 else 1.0


class LowPower(Power):
    """Scalar form of `Alpha` for ``alpha < 1/2``: the mirrored divergence."""

    __slots__ = ()

    @staticmethod
    def divergence(c: Power, x: Any, y: Any) -> Any:
        """``(y / t) [(1 / r - 1) - expm1(-a ln r) / a]`` with ``r = y / x``."""
        n = c.numbers
        v = max(y, n.tiny)
        r = log_of_ratio(max(x, n.small), v)
        grown = r if c.a == n.zero else expm1(min(c.a * r, n.limit)) / c.a
        value = max(((x - v) - v * grown) / c.t, n.zero)
        return value if x > n.zero else v / c.a


class NearZeroPower(LowPower):
    """Scalar form of `Alpha` near 0, where ``neg`` is ``((x / y)^a - 1) / a``."""

    __slots__ = ()

    @staticmethod
    def neg(c: Power, x: Any, y: Any) -> Any:
        """``((x / y)^a - 1) / a``, whose limit is ``ln(x / y)``."""
        n = c.numbers
        r = log_of_ratio(max(x, n.small), max(y, n.tiny))
        grown = r if c.a == n.zero else expm1(min(c.a * r, n.limit)) / c.a
        return grown if x > n.zero else -n.one / c.a

    @staticmethod
    def factor(c: Power, num: Any, den: Any, cap: Any) -> Any:
        """``exp(log1p(a num / den) / a)``, whose limit is ``exp(num / den)``."""
        value = num / den if den > 0 else num - num
        if c.alpha != 0:
            value = np.log1p(max(c.alpha * value, -1.0)) / c.alpha
        return min(np.exp(value), cap)

    @staticmethod
    def penalised_factor(c: Power, num: Any, den: Any, h: Any, linear: Any, ridge: Any, cap: Any) -> Any:
        """`factor` of ``num - linear`` and ``den + a linear``, at least a trace of the size of ``den``."""
        moved = den + c.alpha * linear
        slope = moved if c.alpha >= 0 else max(moved, 1e-30 * (den + c.alpha * num))
        value = (num - linear) / slope if slope > 0 else num - num
        if c.alpha != 0:
            value = np.log1p(max(c.alpha * value, -1.0)) / c.alpha
        return min(np.exp(value), cap)


@dataclass(frozen=True)
class Alpha(Loss):
    """``d(x, y) = (x^a y^(1-a) - a x + (a-1) y) / (a (a-1))``, the loss of Eq. (24).

    The limits are included: ``a = 1`` is Kullback-Leibler, ``a = 0`` its reverse ``y ln(y / x) - y + x``. Values near
    0 and 1 are as exact as any other. ``a <= 0`` needs data without zeros.

    Parameters
    ----------
    alpha : float, default=0.5
        Any real number.
    """

    alpha: float = 0.5

    name: ClassVar[str] = "alpha"
    silent_zeros: ClassVar[bool] = True
    degree: ClassVar[float | None] = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, int | float | np.number):
            raise TypeError(f"alpha={self.alpha!r} must be a real number.")
        if not math.isfinite(self.alpha):
            raise ValueError(f"alpha={self.alpha!r} must be a finite number.")

    def scalar(self, numbers: Numbers) -> Any:
        """`Power`, and below 1/2 its mirror."""
        alpha, real = float(self.alpha), type(numbers.one)
        form = NearZeroPower if abs(alpha) < _NEAR else LowPower if alpha < 0.5 else Power
        return form(numbers, alpha, real(alpha), real(1.0 - alpha), real(self._end(float(numbers.limit))))

    def _end(self, limit: float) -> float:
        """The logarithm of the largest ``(x / y)^a``, powers being held below ``exp(limit)``.

        Up to ``a = 1`` the floor of ``y`` keeps it in range; held back, it would ask for a step that raises the cost.
        """
        return 2 * limit - 1 if _NEAR <= self.alpha <= 1 else limit

    @property
    def needs_positive(self) -> bool:
        """``alpha <= 0`` divides by powers of ``x``."""
        return self.alpha <= 0

    @property
    def zero_cost(self) -> float | None:
        """``d(0, y) = y / a``; near ``a = 0`` zeros pull too."""
        return 1 / self.alpha if self.alpha >= _NEAR else None

    def divergence(self, x: Array, y: Array) -> Array:
        """With ``r = y / x``, ``t = 1 - a``: ``(x / a) [(r - 1) - expm1(t ln r) / t]``, or its mirror for a < 1/2."""
        a = float(self.alpha)
        return _alpha_divergence(x, y, a, 1 - a) if a >= 0.5 else _alpha_divergence(y, x, 1 - a, a)

    def neg(self, x: Array, y: Array) -> Array:
        """``(x / y)^a``; near ``a = 0`` ``((x / y)^a - 1) / a``, whose limit is ``ln(x / y)``."""
        ratio = quotient(x, y, 1.0)
        if abs(self.alpha) < _NEAR:
            return box_cox(ratio, self.alpha)
        return capped_power(ratio, self.alpha, math.exp(self._end(largest_exponent(ratio.dtype))))

    def pos(self, x: Array, y: Array) -> Array:
        """1."""
        return np.broadcast_to(np.ones((), y.dtype), y.shape)

    def factor(self, num: Array, den: Array) -> Array:
        """``(num / den)^(1/a)``; near ``a = 0`` ``exp(log1p(a num / den) / a)``, whose limit is ``exp(num / den)``."""
        if abs(self.alpha) < _NEAR:
            return inverse_box_cox(quotient(num, den, 0.0), self.alpha)
        return capped_power(quotient(num, den, 1.0), 1.0 / self.alpha)

    def carried(self, num: Array, den: Array, ratio: Array) -> tuple[Array, Array]:
        """``num / ratio^a``; near ``a = 0`` of what `neg` has there."""
        if abs(self.alpha) < _NEAR:
            return num * ratio**-self.alpha + den * box_cox(1 / ratio, self.alpha), den
        return num * ratio**-self.alpha, den

    def with_slope(self, num: Array, den: Array, slope: Any) -> tuple[Array, Array]:
        """``num, den + a slope``, and ``num - slope`` near ``a = 0``: a step under a penalty of that slope.

        Where ``den + a slope`` is not positive (``a < 0``) the least value is at 0, and the step goes far towards it.
        """
        near = abs(self.alpha) < _NEAR
        moved = den + self.alpha * slope
        if self.alpha < 0:
            moved = np.maximum(moved, 1e-30 * (den + self.alpha * num if near else num))
        return (num - slope if near else num), moved

    def rank_one_data(self, x: Array) -> tuple[Array, ...]:
        """The parts of the sums in `rank_one` that depend on the data."""
        a, one = self.alpha, np.broadcast_to(np.ones((), x.dtype), x.shape)
        if abs(a) < _NEAR:
            return box_cox(x, a), one, one, x
        power = capped_power(x, a)
        if abs(1 - a) < _NEAR:
            return power, -x * box_cox(np.where(x > 0, x, 1), a - 1), one, x
        return power, one, x

    def rank_one_factor(self, w: Array) -> tuple[Array, ...]:
        """The parts of the sums in `rank_one` that depend on the factor, and 0 where ``w = 0``."""
        a, there = self.alpha, w > 0
        one, safe = there.astype(w.dtype), np.where(there, w, 1)
        if abs(a) < _NEAR:
            return one * capped_power(safe, 1 - a), -w * box_cox(safe, -a), w, one
        if abs(1 - a) < _NEAR:
            return one * box_cox(safe, 1 - a), one, w, one
        return one * capped_power(safe, 1 - a, 1e100 * _UNFIT), w, one

    def rank_one(self, sums: tuple[Array, ...]) -> RankOne:
        """``h = [sum A x^a w^(1-a) / sum A w]^(1/a)``, of cost ``(h sum A w - sum A x) / (a - 1)``."""
        a = self.alpha
        if abs(a) < _NEAR:
            total_w, total_x = sums[2], sums[3]
            h = inverse_box_cox(quotient(sums[0] + sums[1], total_w, 0.0), a)
        elif abs(1 - a) < _NEAR:
            return self._rank_one_near_one(sums[0] + sums[1], sums[2], sums[3])
        else:
            power, total_w, total_x = sums
            h = np.where(power > 0, capped_power(quotient(power, total_w, 1.0), 1 / a), 0)
        h = np.where(total_w > 0, h, 0)
        known = (total_w > 0) & (np.abs(sums[0]) < _UNFIT)
        return RankOne(h, (h * total_w - total_x) / (a - 1), known, (h * total_w + total_x) / abs(a - 1))

    def _rank_one_near_one(self, excess: Array, total_w: Array, total_x: Array) -> RankOne:
        """With ``t = 1 - a`` and ``sum A x^a w^t = sum A x + t * excess``, nothing cancels as ``t`` goes to 0."""
        a, t = self.alpha, 1 - self.alpha
        share = quotient(excess, total_x, 0.0)
        log_share = share if t == 0 else np.log1p(np.maximum(t * share, -1 + 1e-15)) / t
        ratio = quotient(total_x, total_w, 0.0)
        log_ratio = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
        gain = (log_share + log_ratio) / a
        cost = -total_x * (gain if t == 0 else np.expm1(t * gain) / t)
        h = np.where(ratio > 0, np.exp((log_ratio + t * log_share) / a), 0)
        return RankOne(h, cost, total_w > 0, total_x * (1 + np.abs(log_share) + np.abs(log_ratio)))


def _alpha_divergence(x: Array, y: Array, a: float, t: float) -> Array:
    """The divergence for ``a >= 1/2`` and ``t = 1 - a``, which may be too small to be had from ``a``."""
    there = x > 0
    with np.errstate(over="ignore"):
        d = (y - x) - x * grown(log_ratio(y, x), t)
        d /= a
        d = np.where(there, np.maximum(d, 0), y / a)
    held: Array = np.minimum(d, np.finfo(d.dtype).max, out=d)
    return held
