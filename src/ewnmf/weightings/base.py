"""Weightings: how the losses of a point's attributes become the weights of those attributes.

``D`` is the loss map (M x N, one column per point), ``P`` a prior weight for every entry (None means ones),
``s`` a weight for every point (None means ones). The effective weights are ``A = s * T``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewnmf._types import Array, Float64

__all__ = ["ENDLESS", "Weighed", "Weighting", "column_sums", "flush_below", "held"]

ENDLESS = 1e300
"""Beyond this gamma counts as infinite: entries do not differ in weight, and objectives would overflow."""


class Weighed(NamedTuple):
    """Effective weights ``A`` and, for every point, its part of ``J*`` and of ``E``."""

    A: Array
    J: Float64
    E: Float64


@dataclass(frozen=True)
class Weighting:
    """Base of the weightings: constant weights ``A = s * P``, with ``J* = E = sum A * D``.

    Derive from it (as a frozen dataclass) to bring your own: with `evaluate` where the weights depend on the losses,
    with `constant` where they do not. It is compiled if it brings a `scalar` form; else the NumPy reference runs it,
    with one warning.
    """

    name: ClassVar[str] = "custom"
    meaning: ClassVar[str] = "weights of one's own."
    """What it does, in the texts of parameters."""
    weighted: ClassVar[bool] = True
    """Whether entries may differ in weight."""
    takes_weights: ClassVar[bool] = False
    """Whether the user gives the weights."""
    shared: ClassVar[bool] = False
    """Whether the attributes of a point share one unit of weight."""
    unit_free: ClassVar[bool] = False
    """Whether the weights are known not to depend on the losses."""
    has_gamma: ClassVar[bool] = False
    """Whether a field `gamma`, in the unit of the loss, says how strongly entries differ: not at all at infinity."""
    refuses_gamma: ClassVar[bool] = False
    """Whether a gamma that is given to a weighting without one is an error; else it is ignored."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Weights of one's own may differ between entries, whatever the class that they are derived from."""
        super().__init_subclass__(**options)
        own = {"constant", "evaluate"} & vars(cls).keys()
        if own and "weighted" not in vars(cls):
            cls.weighted = True
        if own and "unit_free" not in vars(cls):
            cls.unit_free = False

    @property
    def strength(self) -> float | None:
        """Its gamma, None where it has none."""
        return float(vars(self)["gamma"]) if self.has_gamma else None

    def at(self, gamma: float) -> Weighting:
        """The same weighting with another gamma."""
        if not self.has_gamma:
            raise TypeError(f"weighting={self!r} has no gamma, so that it cannot be given {gamma!r}.")
        changes: dict[str, Any] = {"gamma": gamma}
        return replace(self, **changes)

    def sized(self, loss: float, dtype: Any) -> Weighting:
        """The weighting for data of `dtype` whose largest value costs `loss` against 0; itself where that is alike."""
        return self

    def most(self, dtype: Any) -> float:
        """The largest weight that a loss can have, for data of `dtype` whose size is known."""
        return 1.0

    @property
    def adaptive(self) -> bool:
        """Whether the weights depend on the losses."""
        return type(self).evaluate is not Weighting.evaluate

    def scalar(self, dtype: Any) -> Any:
        """The formulas for single losses, which are compiled: a NamedTuple (see `ewnmf.scalar`).

        Its fields are the constants; its static methods ``value(c, d)``, the concave function of a loss, which is 0 at
        0, and ``slope(c, d)``, its derivative, which is the weight; with ``decline(c, d)`` it takes fewer rounds to
        find codes of new points. None where the weights do not depend on the losses.
        It belongs to the class that defines it: one that is derived from that class brings its own.
        """
        return None

    def constant(self, X: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Array:
        """The weights before any loss is known (M x N): ``s * P``."""
        A = np.broadcast_to(np.ones((), X.dtype), X.shape) if P is None else P
        return A if s is None else A * s

    def evaluate(self, D: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Weighed:
        """Weights and objective of the loss map `D`; `silent` attributes without loss are not in it."""
        A = self.constant(D, P, s)
        value = column_sums(np.where(A > 0, A * D, 0))
        return Weighed(A, value, value)

    def decline(self, D: Array) -> Any:
        """How fast weights fall as losses grow, ``-d phi'' / phi'``; 0 where that is not known."""
        return 0.0

    def weigh(self, D: Array, P: Array | None = None, s: Array | None = None) -> Array:
        """The effective weights (M x N) of the loss map `D`."""
        return self.evaluate(D, P, s).A

    def mean(self, shape: tuple[int, int], P: Array | None = None, s: Array | None = None) -> float:
        """The mean weight of an entry for a point of weight 1, over points as `s` weighs them; `shape` is (M, N)."""
        if P is None:
            return 1.0
        return float(np.average(np.mean(P, axis=0, dtype=np.float64), weights=s))

    @property
    def even(self) -> bool:
        """Whether all entries without priors have the same weight, be it 1 or not."""
        return not self.weighted

    def start(self) -> Weighting:
        """The weighting of the very first round."""
        return self

    def times(self, factor: float) -> Weighting | None:
        """The weighting that gives the same weights for losses multiplied by `factor`; None where that is not known."""
        return self if self.unit_free else None

    @property
    def shown(self) -> Weighting:
        """The weighting whose weights users are handed."""
        return self


def column_sums(values: Array) -> Float64:
    sums: Float64 = np.sum(values, axis=0, dtype=np.float64)
    return sums


def held(gamma: float, dtype: Any) -> float:
    """Gamma within the normal numbers of `dtype`, so that losses can be divided by it."""
    limits = np.finfo(dtype)
    return min(max(gamma, float(limits.tiny)), float(limits.max))


def flush_below(dtype: Any) -> float:
    """Weights below this are as good as 0, and their products would be denormal."""
    return 1e-150 if np.finfo(dtype).bits == 64 else 1e-30
