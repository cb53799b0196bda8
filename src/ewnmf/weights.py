"""Weightings: how the losses of a point's attributes become the weights of those attributes.

``D`` is the loss map (M x N, one column per point), ``P`` a prior weight for every entry (None means ones),
``s`` a weight for every point (None means ones). The effective weights are ``A = s * T``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ewnmf.naming import unknown_name

__all__ = ["Entropy", "Fixed", "Uniform", "Weighed", "Weighting", "even_below", "held", "resolve"]

Array = NDArray[Any]
Float64 = NDArray[np.float64]

_ENDLESS = 1e300
"""Beyond this gamma counts as infinite: all weights are equal, and ``J*`` would overflow."""


class Weighed(NamedTuple):
    """Effective weights ``A`` and, for every point, its part of ``J*`` and of ``E``."""

    A: Array
    J: Float64
    E: Float64


@dataclass(frozen=True)
class Weighting:
    """Base of the weightings: constant weights ``A = s * P``, with ``J* = E = sum A * D``.

    Derive from it (as a frozen dataclass) to bring your own: with `evaluate` where the weights depend on the losses,
    with `constant` where they do not. The NumPy reference runs it, with one warning.
    """

    name: ClassVar[str] = "custom"
    weighted: ClassVar[bool] = True
    """Whether entries may differ in weight."""
    takes_weights: ClassVar[bool] = False
    """Whether the user gives the weights."""
    shared: ClassVar[bool] = False
    """Whether the attributes of a point share one unit of weight."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Weights of one's own may differ between entries, whatever the class that they are derived from."""
        super().__init_subclass__(**options)
        if "weighted" not in vars(cls) and {"constant", "evaluate"} & vars(cls).keys():
            cls.weighted = True

    @property
    def adaptive(self) -> bool:
        """Whether the weights depend on the losses."""
        return type(self).evaluate is not Weighting.evaluate

    def constant(self, X: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Array:
        """The weights before any loss is known (M x N): ``s * P``."""
        A = np.broadcast_to(np.ones((), X.dtype), X.shape) if P is None else P
        return A if s is None else A * s

    def evaluate(self, D: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Weighed:
        """Weights and objective of the loss map `D`; `silent` attributes without loss are not in it."""
        A = self.constant(D, P, s)
        value = _column_sums(np.where(A > 0, A * D, 0))
        return Weighed(A, value, value)

    def weigh(self, D: Array, P: Array | None = None, s: Array | None = None) -> Array:
        """The effective weights (M x N) of the loss map `D`."""
        return self.evaluate(D, P, s).A

    def mean(self, shape: tuple[int, int], P: Array | None = None, s: Array | None = None) -> float:
        """The mean weight of an entry for a point of weight 1, over points as `s` weighs them; `shape` is (M, N)."""
        if P is None:
            return 1.0
        return float(np.average(np.mean(P, axis=0, dtype=np.float64), weights=s))

    def start(self) -> Weighting:
        """The weighting of the very first round."""
        return self

    def times(self, factor: float) -> Weighting | None:
        """The weighting that gives the same weights for losses multiplied by `factor`; None where that is not known."""
        return None

    @property
    def shown(self) -> Weighting:
        """The weighting whose weights users are handed."""
        return self


@dataclass(frozen=True)
class Uniform(Weighting):
    """Every attribute counts alike: plain NMF, Eq. (2)."""

    name: ClassVar[str] = "none"
    weighted: ClassVar[bool] = False

    def times(self, factor: float) -> Uniform:
        """The same."""
        return self

    @property
    def shown(self) -> Weighting:
        """Equal shares, as at an infinite gamma; a subclass with weights of its own shows those."""
        return self if self.weighted else Entropy(math.inf)


@dataclass(frozen=True)
class Fixed(Weighting):
    """Given weights, one for every entry, which stay as they are: the paper's "hard" WNMF."""

    name: ClassVar[str] = "fixed"
    takes_weights: ClassVar[bool] = True

    def times(self, factor: float) -> Fixed:
        """The same."""
        return self


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
    shared: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.gamma, bool) or not isinstance(self.gamma, int | float | np.number):
            raise TypeError(f"gamma={self.gamma!r} must be a number.")
        if not self.gamma >= 0:
            raise ValueError(f"gamma={self.gamma!r} must be a number of at least 0 (float('inf') included).")

    @property
    def adaptive(self) -> bool:
        """Unless gamma is infinite."""
        return self.gamma <= _ENDLESS or type(self).evaluate is not Entropy.evaluate

    def constant(self, X: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Array:
        """Uniform weights ``s * P / sum P``."""
        if P is None:
            T = np.broadcast_to(np.asarray(1.0 / (X.shape[0] + silent), X.dtype), X.shape)
        else:
            T = (P / (np.sum(P, axis=0, dtype=np.float64) + silent)).astype(X.dtype, copy=False)
        return T if s is None else T * s

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
        if self.gamma > _ENDLESS:
            A = self.constant(D, P, s, silent)
            mean = _column_sums(np.where(A > 0, A * D, 0))
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


def _column_sums(values: Array) -> Float64:
    sums: Float64 = np.sum(values, axis=0, dtype=np.float64)
    return sums


def _all_on_the_smallest(D: Array, P: Array | None, lowest: Array, silent: int) -> Array:
    share = (D == lowest).astype(D.dtype) if P is None else np.where(D == lowest, P, 0).astype(D.dtype)
    T: Array = share / (share.sum(axis=0) + silent)
    return T


def _softmax(D: Array, P: Array | None, lowest: Array, total: Any, gamma: float, silent: int) -> tuple[Array, Float64]:
    gamma = held(gamma, D.dtype)
    with np.errstate(over="ignore"):
        z = (lowest - D) / D.dtype.type(gamma)
    T = np.exp(z)
    T[T < _flush_below(D.dtype)] = 0
    if P is not None:
        T *= P
    mass = T.sum(axis=0) + silent
    share = mass.astype(np.float64) / total
    log_share, even = np.log(share), np.zeros(share.shape, dtype=bool)
    if np.any(share > 0.5):
        lacking = _column_sums(np.expm1(z) if P is None else P * np.expm1(z)) / total
        log_share = np.where(share > 0.5, np.log1p(np.maximum(lacking, -0.5)), log_share)
        even = (share > 0.5) & (lacking > -even_below(D.dtype))
    E = lowest.astype(np.float64) - gamma * log_share
    if even.any():
        above = D - lowest if P is None else P * np.where(P > 0, D - lowest, 0)
        E = np.where(even, lowest + _column_sums(above) / total, E)
    T /= mass
    return T, E


def held(gamma: float, dtype: Any) -> float:
    """Gamma within the normal numbers of `dtype`, so that losses can be divided by it."""
    limits = np.finfo(dtype)
    return min(max(gamma, float(limits.tiny)), float(limits.max))


def even_below(dtype: Any) -> float:
    """Where ``(d - lowest) / gamma`` has a mean below this, ``E`` is the mean loss: most of its digits are lost."""
    return 1e-280 if np.finfo(dtype).bits == 64 else 1e-30


def _flush_below(dtype: Any) -> float:
    """Weights below this are as good as 0, and their products would be denormal."""
    return 1e-150 if np.finfo(dtype).bits == 64 else 1e-30


def resolve(weighting: str | Weighting, gamma: float | None = None) -> Weighting:
    """The weighting of that name (``"entropy"`` takes `gamma`), or the object itself."""
    if isinstance(weighting, Weighting):
        return weighting
    if weighting == Entropy.name:
        return Entropy(math.inf if gamma is None else gamma)
    for known in (Uniform, Fixed):
        if weighting == known.name:
            return known()
    raise unknown_name("weighting", weighting, [Uniform.name, Fixed.name, Entropy.name])
