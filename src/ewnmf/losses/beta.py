"""The beta divergences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss
from ewnmf.losses.elementary import capped_power, grown, largest_exponent, log_ratio, quotient
from ewnmf.scalar import Numbers, exp, expm1, log_of_ratio

__all__ = ["Beta"]


class BetaPower(NamedTuple):
    """Scalar form of `Beta`: ``b``, ``b - 1``, ``b - 2``, where slopes end, and exponents of steps."""

    numbers: Numbers
    b: Any
    b1: Any
    b2: Any
    most: Any
    exponent: float
    ridged: float

    @staticmethod
    def divergence(c: BetaPower, x: Any, y: Any) -> Any:
        """From the larger of the two, as `Beta.divergence`."""
        n = c.numbers
        v, u = max(y, n.tiny), max(x, n.small)
        larger, q = max(u, v), min(u, v) / max(u, v)
        log, larger_log = log_of_ratio(min(u, v), larger), log_of_ratio(larger, n.one)
        own = log if c.b == n.zero else expm1(min(c.b * log, n.limit)) / c.b
        low = log if c.b1 == n.zero else expm1(min(c.b1 * log, n.limit)) / c.b1
        power = exp(min(c.b * larger_log, n.limit))
        value = max(power * (own - low if v < u else q * low - own), n.zero)
        return value if x > n.zero else exp(min(c.b * log_of_ratio(v, n.one), n.limit)) / c.b

    @staticmethod
    def neg(c: BetaPower, x: Any, y: Any) -> Any:
        """``x y^(b-2)``, up to 2 as ``(x / y) y^(b-1)``: the power of a small ``y`` alone would end before."""
        n = c.numbers
        v = max(y, n.tiny)
        log = log_of_ratio(v, n.one)
        if c.b2 > n.zero:
            return x * exp(min(c.b2 * log, n.limit))
        return min(x / v * exp(min(c.b1 * log, n.limit)), c.most)

    @staticmethod
    def pos(c: BetaPower, x: Any, y: Any) -> Any:
        """``y^(b-1)``."""
        n = c.numbers
        return exp(min(c.b1 * log_of_ratio(max(y, n.tiny), n.one), n.limit))

    @staticmethod
    def factor(c: BetaPower, num: Any, den: Any, cap: Any) -> Any:
        """``(num / den)^e``."""
        return min((num / den) ** c.exponent, cap) if den > 0 else 1.0

    @staticmethod
    def penalised_factor(c: BetaPower, num: Any, den: Any, h: Any, linear: Any, ridge: Any, cap: Any) -> Any:
        """The same with the slope of the penalty at ``h`` in ``den``."""
        slope = den + (linear + ridge * h)
        return min((num / slope) ** (c.ridged if ridge > 0 else c.exponent), cap) if slope > 0 else 1.0


@dataclass(frozen=True)
class Beta(Loss):
    """``d(x, y) = x^b/(b (b-1)) + y^b/b - x y^(b-1)/(b-1)``, as in scikit-learn.

    The limits are included: ``b = 1`` is Kullback-Leibler, ``b = 0`` Itakura-Saito ``x / y - ln(x / y) - 1``. ``b = 2``
    is half the squared error: at a `gamma` it weighs as the Euclidean loss does at twice that. ``d(c x, c y)`` is
    ``c^b d(x, y)``, so that gamma goes with ``c^b``. ``b <= 0`` needs data without zeros, and below 0 and above 4 data
    in double precision.

    Parameters
    ----------
    beta : float, default=0.0
        Any real number.
    """

    beta: float = 0.0

    name: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        if isinstance(self.beta, bool) or not isinstance(self.beta, int | float | np.number):
            raise TypeError(f"beta={self.beta!r} must be a real number.")
        if not math.isfinite(self.beta):
            raise ValueError(f"beta={self.beta!r} must be a finite number.")

    @property
    def degree(self) -> float | None:  # type: ignore[override]
        """``b``."""
        return float(self.beta)

    @property
    def needs_positive(self) -> bool:
        """``b <= 0`` divides by powers of ``x``."""
        return self.beta <= 0

    @property
    def needs_double(self) -> bool:
        """Below 0 and above 4 powers would end within the range of the data, and ``E`` could rise."""
        return not 0 <= self.beta <= 4

    @property
    def silent_zeros(self) -> bool:  # type: ignore[override]
        """From 1 on; below it, what a zero costs falls too slowly with ``y``."""
        return self.beta >= 1

    @property
    def forgets_size(self) -> bool:  # type: ignore[override]
        """From 1 to 2; elsewhere steps are shorter."""
        return 1 <= self.beta <= 2

    @property
    def exponent(self) -> float:  # type: ignore[override]
        """That of the auxiliary function (Fevotte and Idier, 2011): ``1/(2-b)``, 1 or ``1/(b-1)``."""
        b = float(self.beta)
        return 1 / (2 - b) if b < 1 else 1 / (b - 1) if b > 2 else 1.0

    @property
    def _ridged(self) -> float:
        """The exponent where ``y``'s own cost is bounded by a square, which a ridge is: ``1/(3-b)`` up to 2."""
        b = float(self.beta)
        return 1 / (3 - b) if b < 2 else 1 / (b - 1)

    def scalar(self, numbers: Numbers) -> Any:
        """`BetaPower`."""
        b, real = float(self.beta), type(numbers.one)
        most = self._steepest(float(numbers.limit))
        return BetaPower(numbers, real(b), real(b - 1), real(b - 2), real(most), self.exponent, self._ridged)

    def _steepest(self, limit: float) -> float:
        """Where ``x y^(b-2)`` ends: from 1 on it stays in range, and held back it would ask for steps that raise E."""
        return math.exp(limit if self.beta < 1 else 2 * limit)

    def divergence(self, x: Array, y: Array) -> Array:
        """With ``g_e(z) = (z^e - 1) / e``: ``x^b [g_b(r) - g_(b-1)(r)]`` for ``r = y / x < 1``.

        For ``q = x / y <= 1`` it is ``y^b [q g_(b-1)(q) - g_b(q)]``: no power leaves the range that the loss has.
        """
        b, there = float(self.beta), x > 0
        u = np.where(there, x, y)
        larger, smaller = np.maximum(u, y), np.minimum(u, y)
        log, q = log_ratio(smaller, larger), smaller / larger
        own, low = grown(log, b), grown(log, b - 1)
        d = np.maximum(capped_power(larger, b) * np.where(y < u, own - low, q * low - own), 0)
        return d if b <= 0 else np.where(there, d, capped_power(y, b) / b)

    def neg(self, x: Array, y: Array) -> Array:
        """``x y^(b-2)``, up to 2 as ``(x / y) y^(b-1)``: the power of a small ``y`` alone would end before."""
        if self.beta > 2:
            power: Array = x * capped_power(y, float(self.beta) - 2)
            return power
        with np.errstate(over="ignore"):
            slope: Array = quotient(x, y, 0) * capped_power(y, float(self.beta) - 1)
        np.minimum(slope, self._steepest(largest_exponent(slope.dtype)), out=slope)
        return slope

    def pos(self, x: Array, y: Array) -> Array:
        """``y^(b-1)``."""
        return capped_power(y, float(self.beta) - 1)

    def carried(self, num: Array, den: Array, ratio: Array) -> tuple[Array, Array]:
        """``num ratio^(b-2)`` up to ``b = 2``, and ``den ratio^(b-1)`` from ``b = 1`` on: elsewhere they are linear."""
        b = float(self.beta)
        return num * ratio ** min(b - 2, 0.0), den * ratio ** max(b - 1, 0.0)

    def factor(self, num: Array, den: Array) -> Array:
        """``(num / den)^e``."""
        return capped_power(quotient(num, den, 1.0), self.exponent)

    def with_slope(self, num: Array, den: Array, slope: Any) -> tuple[Array, Array]:
        """``num, den + slope``: below 1 ``h`` is as linear as what bounds ``pos``, above it below ``h^b / b``."""
        return num, den + slope

    def penalised_factor(self, num: Array, den: Array, pull: Array) -> Array:
        """``(num / (den + 2 pull))^e``, `pull` half a ridge's slope; up to 2 all but ``neg`` is bounded by a square."""
        return capped_power(quotient(num, den + 2 * pull, 1.0), self._ridged)
