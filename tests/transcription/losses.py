"""The losses ``d(x, y)``, the factor of a multiplicative step and the best number of a rank-one fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Protocol

Terms = Sequence[tuple[float, float, float]]


class Loss(Protocol):
    """What the rules ask of a loss."""

    def divergence(self, x: float, y: float) -> float:
        """``d(x, y)``."""
        ...

    def factor(self, terms: Terms) -> float:
        """``[sum c neg(x, y) / sum c pos(x, y)]^exponent`` over terms ``(c, x, y)``; 1 where undetermined."""
        ...

    def best_scale(self, terms: Terms) -> float | None:
        """``argmin_h sum a d(x, w h)``, h >= 0, over terms ``(a, x, w)``; None where undetermined."""
        ...


def loss_named(name: str, alpha: float | None = None) -> Loss:
    """The loss of a name."""
    if name == "euclidean":
        return Euclidean()
    if name == "kullback-leibler":
        return KullbackLeibler()
    if name == "alpha" and alpha is not None:
        return Alpha(alpha)
    raise ValueError(f"loss={name!r} with alpha={alpha!r} is not defined.")


class Euclidean:
    """``d = (x - y)^2``."""

    def divergence(self, x: float, y: float) -> float:
        """Eq. (2), one entry."""
        return (x - y) ** 2

    def factor(self, terms: Terms) -> float:
        """``sum c x / sum c y``: Eq. (20), (21)."""
        below = math.fsum(c * y for c, _, y in terms)
        return math.fsum(c * x for c, x, _ in terms) / below if below != 0.0 else 1.0

    def best_scale(self, terms: Terms) -> float | None:
        """``P(sum a x w) / sum a w^2``."""
        below = math.fsum(a * w * w for a, _, w in terms)
        return max(math.fsum(a * x * w for a, x, w in terms), 0.0) / below if below != 0.0 else None


class KullbackLeibler:
    """``d = x ln(x/y) - x + y``."""

    def divergence(self, x: float, y: float) -> float:
        """Eq. (22), one entry: ``y`` at x = 0, infinite at y = 0 < x."""
        if x == 0.0:
            return y
        if y == 0.0:
            return math.inf
        return x * math.log(x / y) - x + y

    def factor(self, terms: Terms) -> float:
        """``sum c x/y / sum c``."""
        below = math.fsum(c for c, _, _ in terms)
        return math.fsum(c * x / y for c, x, y in terms if x > 0.0) / below if below != 0.0 else 1.0

    def best_scale(self, terms: Terms) -> float | None:
        """``sum a x / sum a w``."""
        below = math.fsum(a * w for a, _, w in terms)
        return math.fsum(a * x for a, x, _ in terms) / below if below != 0.0 else None


class Alpha:
    """``d = (x^a y^(1-a) - a x + (a-1) y) / (a(a-1))``; a = 1 is KL, a = 0 the reverse KL."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def divergence(self, x: float, y: float) -> float:
        """Eq. (24), one entry."""
        a = self.alpha
        if a == 1.0:
            return KullbackLeibler().divergence(x, y)
        if a == 0.0:
            return KullbackLeibler().divergence(y, x)
        if x == 0.0:
            return y / a if a > 0.0 else (math.inf if y > 0.0 else 0.0)
        if y == 0.0:
            return x / (1.0 - a) if a < 1.0 else math.inf
        if min(abs(a), abs(a - 1.0)) <= 0.05:
            return _divergence_in_many_digits(a, x, y)
        return (_power(x, a) * _power(y, 1.0 - a) - a * x + (a - 1.0) * y) / (a * (a - 1.0))

    def factor(self, terms: Terms) -> float:
        """``[sum c (x/y)^a / sum c]^(1/a)``; at a = 0 ``exp(sum c ln(x/y) / sum c)``."""
        if self.alpha == 1.0:
            return KullbackLeibler().factor(terms)
        mean = self._power_mean(terms)
        return 1.0 if mean is None else mean

    def best_scale(self, terms: Terms) -> float | None:
        """``[sum a x^alpha w^(1-alpha) / sum a w]^(1/alpha)``: the power mean of ``x/w`` weighted by ``a w``.

        An entry with w = 0 costs the same for every h and takes no part.
        """
        if self.alpha == 1.0:
            return KullbackLeibler().best_scale(terms)
        return self._power_mean([(a * w, x, w) for a, x, w in terms if w > 0.0])

    def _power_mean(self, terms: Terms) -> float | None:
        a, terms = self.alpha, [term for term in terms if term[0] != 0.0]
        if not terms:
            return None
        below = math.fsum(c for c, _, _ in terms)
        if a == 0.0:
            return math.exp(math.fsum(c * math.log(x / y) for c, x, y in terms) / below)
        if abs(a) <= 0.05:
            return _power_mean_in_many_digits(a, terms)
        return _power(math.fsum(c * _power(x / y, a) for c, x, y in terms) / below, 1.0 / a)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError):
        return math.inf


def _digits(a: float) -> int:
    """Digits that leave 60 after the formula has cancelled down to the size of ``a`` or ``a - 1``."""
    return 60 - math.floor(math.log10(min(abs(a), abs(a - 1.0))))


def _divergence_in_many_digits(a: float, x: float, y: float) -> float:
    with localcontext() as context:
        context.prec = _digits(a)
        a_, x_, y_ = Decimal(a), Decimal(x), Decimal(y)
        mixed = (a_ * x_.ln() + (1 - a_) * y_.ln()).exp()
        return float((mixed - a_ * x_ + (a_ - 1) * y_) / (a_ * (a_ - 1)))


def _power_mean_in_many_digits(a: float, terms: Terms) -> float:
    with localcontext() as context:
        context.prec = _digits(a)
        shares = [(Decimal(c), _power_in_many_digits(x, y, a)) for c, x, y in terms]
        above = sum((c * ratio for c, ratio in shares), Decimal(0))
        below = sum((c for c, _ in shares), Decimal(0))
        return float(((above / below).ln() / Decimal(a)).exp()) if above > 0 else 0.0


@lru_cache(maxsize=10_000)
def _power_in_many_digits(x: float, y: float, a: float) -> Decimal:
    """``(x/y)^a``, 0 at x = 0."""
    with localcontext() as context:
        context.prec = _digits(a)
        return (Decimal(a) * (Decimal(x) / Decimal(y)).ln()).exp() if x > 0.0 else Decimal(0)
