"""Losses: what it costs to put ``y = (W H)_ij`` where the data has ``x``.

A loss is its divergence ``d(x, y)`` and the two nonnegative parts of its slope, ``d'(y) ~ pos - neg``. With weights
``A`` every multiplicative step is then ``H *= (W'(A*neg) / W'(A*pos)) ** exponent``, and the same for ``W``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ewnmf.naming import unknown_name

__all__ = ["Alpha", "Euclidean", "KullbackLeibler", "Loss", "RankOne", "resolve"]

Array = NDArray[Any]

_NEAR = 0.05
"""How near to 0 or 1 alpha has to be for the forms that are stable there: below it they lose nothing, above it
the plain forms lose at most 1 / 0.05 units in the last place."""
_UNFIT = 1e150
"""A rank-one sum from here on comes from an entry that is as good as 0 where the data is not: no fit at all."""


class RankOne(NamedTuple):
    """The best ``h >= 0`` for ``sum A d(x, w h)``, its cost up to a constant, and where it is determined."""

    h: Array
    cost: Array
    defined: Array
    size: Any = 0.0
    """What the cost is a sum and difference of: it is exact to some units in the last place of this."""


@dataclass(frozen=True)
class Loss:
    """Base of the losses; derive from it (as a frozen dataclass) to bring your own.

    `divergence`, `neg` and `pos` take arrays ``x`` and ``y`` of one shape. A loss of one's own is a majorised one,
    and so descends, where ``d(x, y)`` is convex in ``y`` and `exponent` belongs to its auxiliary function (Eq. (3)).
    The NumPy reference runs it, with one warning.
    """

    name: ClassVar[str] = "custom"
    signed: ClassVar[bool] = False
    """Whether the loss is defined for negative ``x`` and ``y``."""
    degree: ClassVar[float | None] = None
    """``d(c x, c y) = c ** degree * d(x, y)``, where that holds."""
    err_factor: ClassVar[float] = 2.0
    """``reconstruction_err_ = sqrt(err_factor * sum d)``, as scikit-learn has it."""
    exponent: ClassVar[float] = 1.0
    silent_zeros: ClassVar[bool] = False
    """Whether ``d(0, 0) = 0`` and an attribute without any value drives its basis row to 0."""

    def divergence(self, x: Array, y: Array) -> Array:
        """``d(x, y) >= 0``."""
        raise NotImplementedError

    def neg(self, x: Array, y: Array) -> Array:
        """The part of the slope that asks for a larger ``y``."""
        raise NotImplementedError

    def pos(self, x: Array, y: Array) -> Array:
        """The part of the slope that asks for a smaller ``y``."""
        raise NotImplementedError

    def between(self, x: Array, y: Array) -> Array:
        """How far two data points are apart, symmetric: ``d(x, c) + d(y, c)`` for the ``c`` halfway between them."""
        c = (x + y) / 2
        return self.divergence(x, c) + self.divergence(y, c)

    def factor(self, num: Array, den: Array) -> Array:
        """``(num / den) ** exponent`` of a multiplicative step, and 1 where nothing is known (0 / 0)."""
        ratio = _ratio(num, den, 1.0)
        return ratio if self.exponent == 1 else ratio**self.exponent

    @property
    def needs_positive(self) -> bool:
        """Whether the data must have no zeros."""
        return False

    @property
    def zero_cost(self) -> float | None:
        """``c`` where ``d(0, y) = c * pos * y`` and ``neg(0, y) = 0``, so that zeros need no look; None elsewhere."""
        return None

    def pos_factors(self, W: Array, H: Array) -> tuple[Array, Array]:
        """Two matrices whose product is ``pos`` of ``Y = W H``, where there is a `zero_cost`."""
        return np.ones((W.shape[0], 1), W.dtype), np.ones((1, H.shape[1]), H.dtype)


@dataclass(frozen=True)
class Euclidean(Loss):
    """``d(x, y) = (x - y)^2``, the loss of Eq. (2) and (10)."""

    name: ClassVar[str] = "euclidean"
    silent_zeros: ClassVar[bool] = True
    signed: ClassVar[bool] = True
    degree: ClassVar[float | None] = 2.0
    err_factor: ClassVar[float] = 1.0

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

    def with_slope(self, num: Array, den: Array, slope: Any) -> tuple[Array, Array]:
        """``num, den + slope / 2``: the two sides of a step under a penalty of that slope."""
        return num, den + slope / 2

    def penalised_factor(self, num: Array, den: Array, pull: Array) -> Array:
        """``num / (den + pull)``, with `pull` half the slope of a quadratic penalty."""
        return _ratio(num, den + pull, 1.0)

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
        h = _ratio(xw, ww, 0.0)
        return RankOne(h, -h * xw, ww > 0, h * xw)


@dataclass(frozen=True)
class KullbackLeibler(Loss):
    """``d(x, y) = x ln(x / y) - x + y``, and ``y`` where ``x = 0``: the loss of Eq. (22)."""

    name: ClassVar[str] = "kullback-leibler"
    silent_zeros: ClassVar[bool] = True
    degree: ClassVar[float | None] = 1.0

    def divergence(self, x: Array, y: Array) -> Array:
        """``x ln(x / y) - x + y``."""
        d: Array = (y - x) - x * _log_ratio(y, x)
        return np.maximum(d, 0, out=d)

    def neg(self, x: Array, y: Array) -> Array:
        """``x / y``."""
        return _ratio(x, y, 0.0)

    def pos(self, x: Array, y: Array) -> Array:
        """1."""
        return np.broadcast_to(np.ones((), y.dtype), y.shape)

    def with_slope(self, num: Array, den: Array, slope: Any) -> tuple[Array, Array]:
        """``num, den + slope``: the two sides of a step under a penalty of that slope."""
        return num, den + slope

    def penalised_factor(self, num: Array, den: Array, pull: Array) -> Array:
        """``2 num / (den + sqrt(den^2 + 8 pull num))``, `pull` half a ridge's slope; 0 where that alone is known."""
        return _ratio(2 * num, den + np.hypot(den, np.sqrt(8 * pull) * np.sqrt(num)), np.where(pull > 0, 0.0, 1.0))

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
        h = _ratio(total_x, total_w, 0.0)
        log_h = total_x * np.log(h, out=np.zeros_like(h), where=h > 0)
        return RankOne(h, -(log_h + log_w), total_w > 0, total_x + np.abs(log_h) + np.abs(log_w))


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
        ratio = _ratio(x, y, 1.0)
        if abs(self.alpha) < _NEAR:
            return _box_cox(ratio, self.alpha)
        return _capped_power(ratio, self.alpha)

    def pos(self, x: Array, y: Array) -> Array:
        """1."""
        return np.broadcast_to(np.ones((), y.dtype), y.shape)

    def factor(self, num: Array, den: Array) -> Array:
        """``(num / den)^(1/a)``; near ``a = 0`` ``exp(log1p(a num / den) / a)``, whose limit is ``exp(num / den)``."""
        if abs(self.alpha) < _NEAR:
            return _inverse_box_cox(_ratio(num, den, 0.0), self.alpha)
        return _capped_power(_ratio(num, den, 1.0), 1.0 / self.alpha)

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
            return _box_cox(x, a), one, one, x
        power = _capped_power(x, a)
        if abs(1 - a) < _NEAR:
            return power, -x * _box_cox(np.where(x > 0, x, 1), a - 1), one, x
        return power, one, x

    def rank_one_factor(self, w: Array) -> tuple[Array, ...]:
        """The parts of the sums in `rank_one` that depend on the factor, and 0 where ``w = 0``."""
        a, there = self.alpha, w > 0
        one, safe = there.astype(w.dtype), np.where(there, w, 1)
        if abs(a) < _NEAR:
            return one * _capped_power(safe, 1 - a), -w * _box_cox(safe, -a), w, one
        if abs(1 - a) < _NEAR:
            return one * _box_cox(safe, 1 - a), one, w, one
        return one * _capped_power(safe, 1 - a, 1e100 * _UNFIT), w, one

    def rank_one(self, sums: tuple[Array, ...]) -> RankOne:
        """``h = [sum A x^a w^(1-a) / sum A w]^(1/a)``, of cost ``(h sum A w - sum A x) / (a - 1)``."""
        a = self.alpha
        if abs(a) < _NEAR:
            total_w, total_x = sums[2], sums[3]
            h = _inverse_box_cox(_ratio(sums[0] + sums[1], total_w, 0.0), a)
        elif abs(1 - a) < _NEAR:
            return self._rank_one_near_one(sums[0] + sums[1], sums[2], sums[3])
        else:
            power, total_w, total_x = sums
            h = np.where(power > 0, _capped_power(_ratio(power, total_w, 1.0), 1 / a), 0)
        h = np.where(total_w > 0, h, 0)
        known = (total_w > 0) & (np.abs(sums[0]) < _UNFIT)
        return RankOne(h, (h * total_w - total_x) / (a - 1), known, (h * total_w + total_x) / abs(a - 1))

    def _rank_one_near_one(self, excess: Array, total_w: Array, total_x: Array) -> RankOne:
        """With ``t = 1 - a`` and ``sum A x^a w^t = sum A x + t * excess``, nothing cancels as ``t`` goes to 0."""
        a, t = self.alpha, 1 - self.alpha
        share = _ratio(excess, total_x, 0.0)
        log_share = share if t == 0 else np.log1p(np.maximum(t * share, -1 + 1e-15)) / t
        ratio = _ratio(total_x, total_w, 0.0)
        log_ratio = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
        gain = (log_share + log_ratio) / a
        cost = -total_x * (gain if t == 0 else np.expm1(t * gain) / t)
        h = np.where(ratio > 0, np.exp((log_ratio + t * log_share) / a), 0)
        return RankOne(h, cost, total_w > 0, total_x * (1 + np.abs(log_share) + np.abs(log_ratio)))


def _ratio(num: Array, den: Array, otherwise: Any) -> Array:
    """``num / den``, and `otherwise` where ``den`` is not positive."""
    with np.errstate(over="ignore"):
        return np.divide(num, den, out=np.full_like(num, otherwise), where=den > 0)


def largest_exponent(dtype: Any) -> float:
    """Powers are held below ``exp`` of this, about the root of the largest number, so that their sums stay finite."""
    return 44.0 if np.finfo(dtype).bits == 32 else 354.0


def largest_power(dtype: Any) -> float:
    """Where powers end."""
    return math.exp(largest_exponent(dtype))


def _capped_power(base: Array, exponent: float, cap: float | None = None) -> Array:
    """``base ** exponent``, held below `largest_power`."""
    with np.errstate(over="ignore", divide="ignore"):
        power = base**exponent
    return np.minimum(power, largest_power(power.dtype) if cap is None else cap, out=power)


def _log_ratio(y: Array, x: Array) -> Array:
    """``ln(y / x)`` with the digits of ``y - x`` where the two are close, and 0 where ``x = 0``."""
    there = x > 0
    ratio = np.divide(y, x, out=np.ones_like(y), where=there)
    apart = np.divide(y - x, x, out=np.zeros_like(y), where=there)
    with np.errstate(divide="ignore"):
        return np.where(np.abs(apart) < 0.4, np.log1p(np.maximum(apart, -0.5)), np.log(ratio))


def _box_cox(base: Array, exponent: float) -> Array:
    """``(base^e - 1) / e``, and ``ln(base)`` at ``e = 0``."""
    with np.errstate(divide="ignore"):
        return _grown(np.log(base), exponent)


def _grown(log: Array, exponent: float) -> Array:
    """``(exp(e log) - 1) / e``, and `log` at ``e = 0``."""
    if exponent == 0:
        return log
    limit = largest_exponent(log.dtype)
    return np.expm1(np.minimum(exponent * log, limit)) / exponent


def _inverse_box_cox(value: Array, exponent: float) -> Array:
    limit = largest_exponent(value.dtype)
    with np.errstate(divide="ignore"):
        log = value if exponent == 0 else np.log1p(np.maximum(exponent * value, -1)) / exponent
    return np.exp(np.minimum(log, limit))


def _alpha_divergence(x: Array, y: Array, a: float, t: float) -> Array:
    """The divergence for ``a >= 1/2`` and ``t = 1 - a``, which may be too small to be had from ``a``."""
    there = x > 0
    d = (y - x) - x * _grown(_log_ratio(y, x), t)
    d /= a
    return np.where(there, np.maximum(d, 0), y / a)


_NAMES = (Euclidean.name, KullbackLeibler.name, Alpha.name)


def resolve(loss: str | Loss, alpha: float = 0.5) -> Loss:
    """The loss of that name (``"alpha"`` takes `alpha`), or the object itself."""
    if isinstance(loss, Loss):
        return loss
    if loss == Euclidean.name:
        return Euclidean()
    if loss == KullbackLeibler.name:
        return KullbackLeibler()
    if loss == Alpha.name:
        return Alpha(alpha)
    if isinstance(loss, str):
        raise unknown_name("loss", loss, _NAMES)
    raise TypeError(
        f"loss={loss!r} must be one of {', '.join(map(repr, _NAMES))} or an object derived from losses.Loss."
    )
