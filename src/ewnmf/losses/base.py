"""Losses: what it costs to put ``y = (W H)_ij`` where the data has ``x``.

A loss is its divergence ``d(x, y)`` and the two nonnegative parts of its slope, ``d'(y) ~ pos - neg``. With weights
``A`` every multiplicative step is then ``H *= (W'(A*neg) / W'(A*pos)) ** exponent``, and the same for ``W``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.elementary import quotient
from ewnmf.scalar import Numbers

__all__ = ["Loss", "RankOne"]


_FORMULAS = frozenset({"divergence", "neg", "pos", "factor", "exponent"})


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
    It is compiled if it brings a `scalar` form; else the NumPy reference runs it, with one warning.
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

    forgets_size: ClassVar[bool] = True
    """Whether one multiplicative step brings a factor to the size of the data, whatever it was before."""

    quadratic: ClassVar[bool] = False
    """Whether it is ``(x - y)^2``, so that least squares find the best factor."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Formulas of one's own are no squared errors, whatever the class that they are derived from."""
        super().__init_subclass__(**options)
        if "quadratic" not in vars(cls) and _FORMULAS & vars(cls).keys():
            cls.quadratic = False

    def scalar(self, numbers: Numbers) -> Any:
        """The formulas for single numbers, which are compiled: a NamedTuple (see `ewnmf.scalar`), or None.

        Its fields are `numbers` and what constants it needs; its static methods ``divergence(c, x, y)``,
        ``neg(c, x, y)``, ``pos(c, x, y)`` and ``factor(c, num, den, cap)``. Without ``pos`` that is 1; where ``neg``
        depends on the data alone it is ``neg_of_data(c, x)``, and the loss, being cheap, is computed twice rather than
        kept. With ``penalised_factor(c, num, den, h, linear, ridge, cap)`` penalties are compiled, too. It belongs to
        the class that defines it: one that is derived from that class brings its own.
        """
        return None

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
        ratio = quotient(num, den, 1.0)
        return ratio if self.exponent == 1 else ratio**self.exponent

    def carried(self, num: Array, den: Array, ratio: Array) -> tuple[Array, Array]:
        """The sums of a step for a factor that has since moved to `ratio` times what it was.

        They stand for the same majoriser, so that its least value stays where it was; here one whose `den` is linear.
        """
        return num * ratio ** (-1 / self.exponent), den

    @property
    def needs_double(self) -> bool:
        """Whether its powers leave the numbers of single precision."""
        return False

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
