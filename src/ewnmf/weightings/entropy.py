"""Entropy weights: the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewnmf._types import Array, Float64
from ewnmf.scalar import exp, expm1
from ewnmf.weightings.base import ENDLESS, Weighed, Weighting, column_sums, flush_below, held

__all__ = ["Entropy", "even_below"]


class Softmax(NamedTuple):
    """Scalar form of `Entropy`: the weights of a point are shares of what all its attributes have together."""

    gamma: float
    held: float
    """Gamma within the numbers of the data's type."""
    over_gamma: Any
    least: Any
    """Weights below this are 0."""
    zero: Any
    nearly: float
    """The mean weight from which `shortfall` is summed."""
    even_below: float

    @staticmethod
    def share(c: Softmax, d: Any, lowest: Any) -> Any:
        """``exp(-(d - lowest) / gamma)``, Eq. (18) before the division by the sum."""
        e = exp((lowest - d) * c.over_gamma)
        return e if e >= c.least else c.zero

    @staticmethod
    def decline(c: Softmax, d: Any) -> Any:
        """``d / gamma``."""
        return d * c.over_gamma

    @staticmethod
    def shortfall(c: Softmax, d: Any, lowest: Any) -> Any:
        """`share` less 1, with all its digits where that is little."""
        return expm1((lowest - d) * c.over_gamma)


@dataclass(frozen=True)
class Entropy(Weighting):
    """``T_ij = P_ij exp(-d_ij / gamma) / sum_l P_lj exp(-d_lj / gamma)``, Eq. (11), (18), (23), (25).

    The weights that minimise ``sum T * D + gamma * sum T ln(T / P)`` with every column summing to one, Eq. (10).
    ``gamma = 0`` puts all weight on the smallest loss of each point, ties shared (Eq. (9) and its footnote);
    ``gamma = inf`` (and beyond 1e300) gives ``T = P / sum P``, and there ``J*`` stands for ``E``, since it has no
    finite value.

    Parameters
    ----------
    gamma : float
        Strength of the entropy term, at least 0, in the unit of the loss.
    """

    gamma: float

    name: ClassVar[str] = "entropy"
    meaning: ClassVar[str] = "a weight for every attribute of every point, learned with the factors."
    shared: ClassVar[bool] = True
    has_gamma: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, int | float | np.number):
            raise TypeError(f"gamma={self.gamma!r} must be a number.")
        if not self.gamma >= 0:
            raise ValueError(f"gamma={self.gamma!r} must be a number of at least 0 (float('inf') included).")

    @property
    def adaptive(self) -> bool:
        """Unless gamma is infinite."""
        return self.gamma <= ENDLESS or type(self).evaluate is not Entropy.evaluate

    @property
    def even(self) -> bool:
        """Where gamma is infinite."""
        return not self.adaptive and type(self).constant is Entropy.constant

    def scalar(self, dtype: Any) -> Any:
        """`Softmax`, but for the limits of gamma."""
        if not 0 < self.gamma <= ENDLESS:
            return None
        gamma, real = held(float(self.gamma), dtype), np.dtype(dtype).type
        nearly, least = 0.9 if dtype == np.float32 else 0.99, flush_below(dtype)
        return Softmax(float(self.gamma), gamma, real(1.0 / gamma), real(least), real(0), nearly, even_below(dtype))

    def constant(self, X: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Array:
        """Uniform weights ``s * P / sum P``."""
        if P is None:
            T = np.broadcast_to(np.asarray(1.0 / (X.shape[0] + silent), X.dtype), X.shape)
        else:
            T = (P / (np.sum(P, axis=0, dtype=np.float64) + silent)).astype(X.dtype, copy=False)
        return T if s is None else T * s

    def decline(self, D: Array) -> Any:
        """``d / gamma``."""
        with np.errstate(over="ignore"):
            return D / D.dtype.type(held(self.gamma, D.dtype))

    def times(self, factor: float) -> Entropy:
        """gamma multiplied by `factor`, but neither to 0 nor to infinity, which mean something else."""
        if not 0 < self.gamma < math.inf:
            return self
        limits = np.finfo(np.float64)
        return replace(self, gamma=min(max(self.gamma * factor, float(limits.tiny)), float(limits.max)))

    def start(self) -> Entropy:
        """Uniform weights, which is ``gamma = inf``."""
        return Entropy(math.inf)

    def mean(self, shape: tuple[int, int], P: Array | None = None, s: Array | None = None) -> float:
        """``1 / M``: every column of T sums to one."""
        return 1.0 / shape[0]

    def evaluate(self, D: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Weighed:
        """``T``, ``J*_j = -gamma ln sum_i P exp(-d/gamma)`` and ``E_j = J*_j + gamma ln sum_i P``."""
        total = silent + (D.shape[0] if P is None else np.sum(P, axis=0, dtype=np.float64))
        if self.gamma > ENDLESS:
            A = self.constant(D, P, s, silent)
            mean = column_sums(np.where(A > 0, A * D, 0))
            return Weighed(A, mean, mean)
        if P is not None:
            D = np.where(P > 0, D, np.inf)
        lowest = np.zeros(D.shape[1], D.dtype) if silent else D.min(axis=0)
        if self.gamma == 0:
            T, E = _all_on_the_smallest(D, P, lowest, silent), lowest.astype(np.float64)
            J = E
        else:
            T, E = _softmax(D, P, lowest, total, self.gamma, silent)
            J = E - self.gamma * np.log(total)
        return Weighed(T, J, E) if s is None else Weighed(T * s, J * s, E * s)


def _all_on_the_smallest(D: Array, P: Array | None, lowest: Array, silent: int) -> Array:
    share = (D == lowest).astype(D.dtype) if P is None else np.where(D == lowest, P, 0).astype(D.dtype)
    T: Array = share / (share.sum(axis=0) + silent)
    return T


def _softmax(D: Array, P: Array | None, lowest: Array, total: Any, gamma: float, silent: int) -> tuple[Array, Float64]:
    gamma = held(gamma, D.dtype)
    with np.errstate(over="ignore"):
        z = (lowest - D) / D.dtype.type(gamma)
    T = np.exp(z)
    T[T < flush_below(D.dtype)] = 0
    if P is not None:
        T *= P
    mass = T.sum(axis=0) + silent
    share = mass.astype(np.float64) / total
    log_share, even = np.log(share), np.zeros(share.shape, dtype=bool)
    if np.any(share > 0.5):
        lacking = column_sums(np.expm1(z) if P is None else P * np.expm1(z)) / total
        log_share = np.where(share > 0.5, np.log1p(np.maximum(lacking, -0.5)), log_share)
        even = (share > 0.5) & (lacking > -even_below(D.dtype))
    E = lowest.astype(np.float64) - gamma * log_share
    if even.any():
        above = D - lowest if P is None else P * np.where(P > 0, D - lowest, 0)
        E = np.where(even, lowest + column_sums(above) / total, E)
    T /= mass
    return T, E


def even_below(dtype: Any) -> float:
    """Where ``(d - lowest) / gamma`` has a mean below this, ``E`` is the mean loss: most of its digits are lost."""
    return 1e-280 if np.finfo(dtype).bits == 64 else 1e-30
