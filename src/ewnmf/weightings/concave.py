"""Robust weights of single entries: the slopes of concave functions of their losses.

Where ``phi`` is concave, its tangent at the present losses lies above it, and a step that does not raise
``sum phi'(d) d`` does not raise ``sum phi(d)``. So every loss and model that takes weights descends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ewnmf._types import Array
from ewnmf.scalar import exp, expm1, log1p
from ewnmf.weightings.base import ENDLESS, Weighed, Weighting, column_sums, flush_below, held
from ewnmf.weightings.uniform import Uniform

__all__ = ["L1", "Cauchy", "Concave", "Huber", "Welsch"]

_NOTHING = 1e-12
"""A residual of a millionth is none: the share of a loss from which L1 weights grow no more."""


@dataclass(frozen=True)
class Concave(Weighting):
    """Weights ``phi'(d)`` of every entry on its own, ``J* = E = sum s P phi(d)`` with ``phi(0) = 0``."""

    def value(self, D: Array) -> Array:
        """``phi(d)``."""
        raise NotImplementedError

    def slope(self, D: Array) -> Array:
        """``phi'(d)``."""
        raise NotImplementedError

    def start(self) -> Weighting:
        """Weights of 1: those of a first, random reconstruction would be far too small."""
        return Uniform()

    def evaluate(self, D: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Weighed:
        """Weights and objective of the loss map `D`."""
        prior = self.constant(D, P, s)
        D = np.where(prior > 0, D, 0)
        E = column_sums(prior * self.value(D))
        return Weighed(prior * self.slope(D), E, E)


@dataclass(frozen=True)
class _Scaled(Concave):
    """Those with a gamma: the loss from which an entry is distrusted."""

    gamma: float

    has_gamma: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, int | float | np.number):
            raise TypeError(f"gamma={self.gamma!r} must be a number.")
        if not self.gamma > 0:
            raise ValueError(f"gamma={self.gamma!r} must be a positive number (float('inf') included).")

    @property
    def adaptive(self) -> bool:
        """Unless gamma is infinite."""
        return self.gamma <= ENDLESS

    def evaluate(self, D: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Weighed:
        """Weights and objective of the loss map `D`."""
        return super().evaluate(D, P, s) if self.adaptive else Uniform().evaluate(D, P, s)

    def times(self, factor: float) -> Self:
        """gamma multiplied by `factor`, but not to infinity, which means something else."""
        if not self.adaptive:
            return self
        limits = np.finfo(np.float64)
        return replace(self, gamma=min(max(self.gamma * factor, float(limits.tiny)), ENDLESS))

    def _constants(self, dtype: Any) -> _Gamma:
        """Gamma and its inverse as numbers of `dtype`, with its limits."""
        real, least = np.dtype(dtype).type, flush_below(dtype)
        gamma = held(min(float(self.gamma), _endless(dtype)), dtype)
        return _Gamma(real(gamma), real(1 / gamma), real(least), real(0), real(1), real(1 / least))

    def _shares(self, D: Array) -> tuple[Any, Array]:
        """gamma, and ``d / gamma``, which stays finite."""
        c = self._constants(D.dtype)
        with np.errstate(over="ignore"):
            return c.gamma, np.minimum(D * c.over_gamma, c.largest)


def _endless(dtype: Any) -> float:
    """Where gamma ends: entries do not differ in weight any more, and ``d / gamma`` keeps its digits."""
    return 1e200 if np.finfo(dtype).bits == 64 else 1e20


class _Gamma(NamedTuple):
    """Constants of a scalar form: gamma, its inverse, the least weight, 0, 1 and the largest ``d / gamma``."""

    gamma: Any
    over_gamma: Any
    least: Any
    zero: Any
    one: Any
    largest: Any


class WelschForm(_Gamma):
    """Scalar form of `Welsch`."""

    __slots__ = ()

    @staticmethod
    def value(c: _Gamma, d: Any) -> Any:
        """``g (1 - exp(-d/g))``."""
        return -c.gamma * expm1(-(d * c.over_gamma))

    @staticmethod
    def slope(c: _Gamma, d: Any) -> Any:
        """``exp(-d/g)``."""
        e = exp(-(d * c.over_gamma))
        return e if e >= c.least else c.zero

    @staticmethod
    def decline(c: _Gamma, d: Any) -> Any:
        """``d / g``."""
        return d * c.over_gamma


@dataclass(frozen=True)
class Welsch(_Scaled):
    """``phi(d) = g (1 - exp(-d/g))`` with weights ``exp(-d/g)``: correntropy, the weights of CIM-NMF.

    Parameters
    ----------
    gamma : float
        The loss at which a weight has fallen to ``1/e``, in the unit of the loss.
    """

    name: ClassVar[str] = "welsch"
    meaning: ClassVar[str] = "``exp(-d / gamma)`` for every entry on its own (correntropy)."

    def value(self, D: Array) -> Array:
        """``g (1 - exp(-d/g))``."""
        gamma, share = self._shares(D)
        return np.asarray(-gamma * np.expm1(-share))

    def slope(self, D: Array) -> Array:
        """``exp(-d/g)``."""
        weights = np.exp(-self._shares(D)[1])
        weights[weights < self._constants(D.dtype).least] = 0
        return np.asarray(weights)

    def decline(self, D: Array) -> Any:
        """``d / g``."""
        return self._shares(D)[1]

    def scalar(self, dtype: Any) -> Any:
        """`WelschForm`, but for an infinite gamma."""
        return WelschForm(*self._constants(dtype)) if self.adaptive else None


class CauchyForm(_Gamma):
    """Scalar form of `Cauchy`."""

    __slots__ = ()

    @staticmethod
    def value(c: _Gamma, d: Any) -> Any:
        """``g ln(1 + d/g)``."""
        return c.gamma * log1p(min(d * c.over_gamma, c.largest))

    @staticmethod
    def slope(c: _Gamma, d: Any) -> Any:
        """``1 / (1 + d/g)``."""
        return c.one / (c.one + min(d * c.over_gamma, c.largest))

    @staticmethod
    def decline(c: _Gamma, d: Any) -> Any:
        """``d / (g + d)``."""
        share = min(d * c.over_gamma, c.largest)
        return share / (c.one + share)


@dataclass(frozen=True)
class Cauchy(_Scaled):
    """``phi(d) = g ln(1 + d/g)`` with weights ``1 / (1 + d/g)``: the weights of Cauchy NMF.

    Parameters
    ----------
    gamma : float
        The loss at which a weight has fallen to one half, in the unit of the loss.
    """

    name: ClassVar[str] = "cauchy"
    meaning: ClassVar[str] = "``1 / (1 + d / gamma)`` for every entry on its own."

    def value(self, D: Array) -> Array:
        """``g ln(1 + d/g)``."""
        gamma, share = self._shares(D)
        return np.asarray(gamma * np.log1p(share))

    def slope(self, D: Array) -> Array:
        """``1 / (1 + d/g)``."""
        return np.asarray(1 / (1 + self._shares(D)[1]))

    def decline(self, D: Array) -> Any:
        """``d / (g + d)``."""
        share = self._shares(D)[1]
        return share / (1 + share)

    def scalar(self, dtype: Any) -> Any:
        """`CauchyForm`, but for an infinite gamma."""
        return CauchyForm(*self._constants(dtype)) if self.adaptive else None


class HuberForm(NamedTuple):
    """Scalar form of `Huber` and `L1`: gamma, its root, what all is multiplied by, and 1."""

    gamma: Any
    root: Any
    height: Any
    one: Any

    @staticmethod
    def value(c: HuberForm, d: Any) -> Any:
        """``h d`` up to gamma, ``h (2 sqrt(g d) - g)`` from there."""
        beyond = (c.root + c.root) * np.sqrt(d) - c.gamma
        return c.height * (d if d <= c.gamma else beyond)

    @staticmethod
    def slope(c: HuberForm, d: Any) -> Any:
        """``h min(1, sqrt(g/d))``."""
        return c.height * (c.one if d <= c.gamma else c.root / np.sqrt(d))

    @staticmethod
    def decline(c: HuberForm, d: Any) -> Any:
        """0 up to gamma, one half from there."""
        return 0.0 if d <= c.gamma else 0.5


def _huber_value(D: Array, gamma: Any) -> Array:
    return np.where(D <= gamma, D, 2 * np.sqrt(gamma) * np.sqrt(D) - gamma)


def _huber_slope(D: Array, gamma: Any) -> Array:
    return np.asarray(np.sqrt(gamma) / np.sqrt(np.maximum(D, gamma)))


@dataclass(frozen=True)
class Huber(_Scaled):
    """``phi(d) = d`` up to gamma and ``2 sqrt(g d) - g`` beyond, with weights ``min(1, sqrt(g/d))``.

    Parameters
    ----------
    gamma : float
        The loss up to which an entry has its full weight, in the unit of the loss.
    """

    name: ClassVar[str] = "huber"
    meaning: ClassVar[str] = "``min(1, sqrt(gamma / d))`` for every entry on its own."

    def value(self, D: Array) -> Array:
        """``d`` or ``2 sqrt(g d) - g``."""
        return _huber_value(D, self._constants(D.dtype).gamma)

    def slope(self, D: Array) -> Array:
        """``min(1, sqrt(g/d))``."""
        return _huber_slope(D, self._constants(D.dtype).gamma)

    def decline(self, D: Array) -> Any:
        """0 up to gamma, one half from there."""
        return np.where(D <= self._constants(D.dtype).gamma, 0.0, 0.5)

    def scalar(self, dtype: Any) -> Any:
        """`HuberForm`, but for an infinite gamma."""
        c = self._constants(dtype)
        return HuberForm(c.gamma, np.sqrt(c.gamma), c.one, c.one) if self.adaptive else None


@dataclass(frozen=True)
class Even(Weighting):
    """The same weight for all entries, with which `L1` starts."""

    height: float

    def constant(self, X: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Array:
        """``height * s * P``."""
        A: Array = super().constant(X, P, s, silent) * X.dtype.type(self.height)
        return A


@dataclass(frozen=True)
class L1(Concave):
    """``phi(d) = 2 sqrt(d)``, twice the absolute error where ``d`` is its square, with weights ``1 / sqrt(d)``.

    Below a loss that is nothing against the data (1e-12 of what its largest value costs against 0) ``phi`` is linear,
    so that weights stay finite: Huber's function, divided by the root of that loss. There is no gamma.

    Parameters
    ----------
    bend : float, optional
        That loss; from the data where not given.
    height : float, default=1.0
        What ``phi`` is multiplied by.
    """

    bend: float | None = None
    height: float = 1.0

    name: ClassVar[str] = "l1"
    meaning: ClassVar[str] = "``1 / sqrt(d)`` for every entry on its own: absolute errors under the Euclidean loss."
    refuses_gamma: ClassVar[bool] = True

    def start(self) -> Weighting:
        """Equal weights, those of a loss of the data's size: weights of 1 would have no unit, as penalties do."""
        return Uniform() if self.bend is None else Even(self.height * math.sqrt(_NOTHING / self.bend))

    def sized(self, loss: float, dtype: Any) -> Weighting:
        """With a `bend` of `_NOTHING` times `loss`."""
        if self.bend is not None:
            return self
        return replace(self, bend=max(_NOTHING * loss, float(np.finfo(dtype).tiny) / _NOTHING))

    def most(self, dtype: Any) -> float:
        """``1 / sqrt(bend)``."""
        return float(self.height / math.sqrt(self._constants(dtype)[0]))

    def times(self, factor: float) -> L1:
        """The bend goes with the losses, and the height with their root: weights stay."""
        bend = None if self.bend is None else self.bend * factor
        return replace(self, bend=bend, height=self.height * math.sqrt(factor))

    def _constants(self, dtype: Any) -> tuple[Any, Any]:
        """The bend, and what Huber's function at it is multiplied by."""
        real = np.dtype(dtype).type
        bend = _NOTHING if self.bend is None else self.bend
        return real(bend), real(self.height / math.sqrt(bend))

    def value(self, D: Array) -> Array:
        """``2 sqrt(d) - sqrt(bend)``, and ``d / sqrt(bend)`` below it."""
        bend, height = self._constants(D.dtype)
        return np.asarray(height * _huber_value(D, bend))

    def slope(self, D: Array) -> Array:
        """``1 / sqrt(d)``, at most ``1 / sqrt(bend)``."""
        bend, height = self._constants(D.dtype)
        return np.asarray(height * _huber_slope(D, bend))

    def decline(self, D: Array) -> Any:
        """0 up to the bend, one half from there."""
        return np.where(D <= self._constants(D.dtype)[0], 0.0, 0.5)

    def scalar(self, dtype: Any) -> Any:
        """`HuberForm`."""
        bend, height = self._constants(dtype)
        return HuberForm(bend, np.sqrt(bend), height, type(bend)(1))
