"""NMF, and its multiplicative updates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss
from ewnmf.losses.elementary import largest_power
from ewnmf.models.base import (
    Basis,
    Block,
    Facts,
    Model,
    Rule,
    Stats,
    Terms,
    check_strength,
    largest_factor,
    multiply,
    product,
    refusal,
    weighed,
)
from ewnmf.models.coordinate import Coordinates
from ewnmf.models.penalty import Penalty, penalties
from ewnmf.weightings.base import Weighting

__all__ = ["NMF", "LeastSquares", "Multiplicative", "Penalised", "PlainMultiplicative", "in_double", "in_range"]


@dataclass(frozen=True)
class NMF(Model):
    """``X ~ W H`` with ``W, H >= 0``, Eq. (1), and penalties as in scikit-learn's NMF.

    The cost gains ``alpha_codes M (l1_ratio |H|_1 + (1 - l1_ratio)/2 |H|^2)`` and
    ``alpha_components N (l1_ratio |W|_1 + (1 - l1_ratio)/2 |W|^2)``, both times the mean weight of an entry, and twice
    that for the Euclidean loss, which has no half here. A point of weight ``s_j`` counts ``s_j`` times.

    Parameters
    ----------
    alpha_codes, alpha_components : float, default=0.0
        Strengths of the penalties.
    l1_ratio : float, default=0.0
        The share of the L1 norm; the rest is the squared L2 norm.
    """

    alpha_codes: float = 0.0
    alpha_components: float = 0.0
    l1_ratio: float = 0.0

    name: ClassVar[str] = "nmf"
    order: ClassVar[str] = "codes-first"

    def __post_init__(self) -> None:
        check_strength("alpha_codes", self.alpha_codes)
        check_strength("alpha_components", self.alpha_components)
        check_strength("l1_ratio", self.l1_ratio)
        if self.l1_ratio > 1:
            raise ValueError(f"l1_ratio={self.l1_ratio!r} must be a number from 0 to 1.")

    @property
    def penalised(self) -> bool:
        """Whether anything is added to the cost."""
        return self.alpha_codes > 0 or self.alpha_components > 0

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """L1: the losses of this package. L2: Euclidean and KL."""
        if not self.penalised:
            return
        part = f"penalties (alpha_W, alpha_H) with l1_ratio={self.l1_ratio!r}"
        why = "no step is known that never raises its penalised cost"
        if not hasattr(loss, "with_slope"):
            raise refusal(loss, part, why, "'euclidean', 'kullback-leibler' or 'alpha', or alpha_W=0 and alpha_H=0")
        if self.l1_ratio < 1 and not hasattr(loss, "penalised_factor"):
            raise refusal(loss, part, why, "l1_ratio=1, or loss='euclidean' or 'kullback-leibler'")

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """Multiplicative updates, in fewer products for squared errors without weights and penalties."""
        if self.penalised:
            return Penalised(loss, facts, self.alpha_codes, self.alpha_components, self.l1_ratio)
        plain = loss.quadratic and not weighting.weighted and not facts.priors
        return (PlainMultiplicative if plain else Multiplicative)(loss, facts)

    def takes_coordinates(self, loss: Loss, weighting: Weighting, priors: bool) -> bool:
        """Squared errors without weights of entries."""
        return loss.quadratic and not weighting.weighted and not priors

    def check_coordinates(self, solver: str, loss: Loss, weighting: Weighting, priors: bool) -> None:
        """Squared errors without weights of entries."""
        use = "Use solver='mu' or solver='accelerated'."
        if not loss.quadratic:
            raise ValueError(
                f"solver={solver!r} cannot be combined with loss={loss.name!r}: it solves least squares. {use}"
            )
        if weighting.weighted:
            raise ValueError(
                f"solver={solver!r} cannot be combined with weighting={weighting.name!r}: all points share its "
                f"systems, so that entries cannot differ in weight. {use}"
            )
        if priors:
            raise ValueError(
                f"solver={solver!r} cannot be combined with missing values, mask or feature_weight: all points share "
                f"its systems, so that entries cannot differ in weight. {use}"
            )

    def coordinate_rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """Coordinate descent."""
        self.check_coordinates("cd", loss, weighting, facts.priors)
        return Coordinates(loss, facts, *penalties(loss, facts, self.alpha_codes, self.alpha_components, self.l1_ratio))


class Multiplicative(Rule):
    """``H *= (W'(A*neg) / W'(A*pos))^e`` and ``W *= ((A*neg)H' / (A*pos)H')^e``."""

    products_only = True

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """Eq. (21), and Eq. (8) where all weights are equal."""
        W = basis[0]
        return multiply(H, self._ratio(block, product(W.T, terms.neg), product(W.T, terms.pos), H), self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``(A*neg)H'`` and ``(A*pos)H'`` (M x K)."""
        return product(terms.neg, H.T), product(terms.pos, H.T)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Eq. (20), and Eq. (7) where all weights are equal."""
        W, (num, den) = basis[0], stats
        return (multiply(W, self._basis_ratio(num, den, W), self.basis_floor),)

    def carried(self, stats: Stats, before: Basis, now: Basis) -> Stats:
        """The same majoriser for the new basis, as the loss has it."""
        (num, den), V, W = stats, before[0], now[0]
        with np.errstate(over="ignore"):
            ratio = np.divide(W, V, out=np.ones_like(W), where=(V > 0) & (W > 0))
            num, den = self.loss.carried(num, den, ratio)
        most = largest_factor(W.dtype)
        return np.minimum(num, most), np.minimum(den, most)

    @property
    def scales_freely(self) -> bool:
        """Nothing looks at one factor alone."""
        return True

    @property
    def takes_any_unit(self) -> bool:
        """It cancels in the ratio."""
        return True

    @property
    def loses_weight(self) -> bool:
        """Where errors are squared: of other losses nothing cheap tells."""
        return self.loss.quadratic

    def weight_shares(self, basis: Basis, stats: Stats, gram: Array) -> Array:
        """``(A*Y)H' / (YH')``, the weights that an entry of the basis meets, by their mean where there are any."""
        weighted, W = (np.array(part, np.float64, order="C") for part in (stats[1], basis[0]))
        alike = W @ gram
        mean = float(weighted.sum() / (alike[weighted.any(axis=1)].sum() or 1.0))
        if not 0 < mean < math.inf:
            return np.ones_like(alike)
        shares: Array = np.divide(weighted, mean * alike, out=np.ones_like(alike), where=alike > 0)
        return np.minimum(shares, 1)

    def encoder(self) -> Rule:
        """Least squares where errors are squared."""
        return LeastSquares(self, Penalty()) if self.loss.quadratic else self

    def _ratio(self, block: Block, num: Array, den: Array, H: Array) -> Array:
        return self.loss.factor(num, den)

    def _basis_ratio(self, num: Array, den: Array, W: Array) -> Array:
        return self.loss.factor(num, den)


def in_double(array: Array) -> Array:
    """The array in double precision: in the unit of the data a penalty may leave the range of single precision."""
    return array.astype(np.float64, copy=False)


def in_range(ratio: Array, dtype: Any) -> Array:
    """The ratio of a step in the precision of the data, held where powers end."""
    return np.minimum(ratio, largest_power(dtype)).astype(dtype, copy=False)


class Penalised(Multiplicative):
    """L1 and L2 penalties on both factors; every step majorises the penalised cost."""

    loss: Any

    def __init__(self, loss: Loss, facts: Facts, alpha_codes: float, alpha_components: float, l1_ratio: float) -> None:
        super().__init__(loss, facts)
        self.on_codes, self.on_basis = penalties(loss, facts, alpha_codes, alpha_components, l1_ratio)

    def _ratio(self, block: Block, num: Array, den: Array, H: Array) -> Array:
        one = np.ones((), H.dtype) if block.s is None else block.s
        return self._penalised_ratio(num, den, H * one, self.on_codes, one)

    def _basis_ratio(self, num: Array, den: Array, W: Array) -> Array:
        return self._penalised_ratio(num, den, W, self.on_basis, np.ones((), W.dtype))

    def _penalised_ratio(self, num: Array, den: Array, F: Array, penalty: Penalty, weight: Array) -> Array:
        """The ratio of a step from `F`, which has the `weight` of its points in it."""
        if not any(penalty):
            return self.loss.factor(num, den)  # type: ignore[no-any-return]
        num, den = self.loss.with_slope(in_double(num), in_double(den), penalty.linear * in_double(weight))
        if penalty.ridge == 0:
            return in_range(self.loss.factor(num, den), F.dtype)
        return in_range(self.loss.penalised_factor(num, den, penalty.ridge / 2 * in_double(F)), F.dtype)

    @property
    def scales_freely(self) -> bool:
        """Penalties look at one factor alone."""
        return False

    @property
    def takes_any_unit(self) -> bool:
        """Penalties stand beside the weights."""
        return not any(self.on_codes)

    def encoder(self) -> Rule:
        """Least squares where errors are squared, with the penalty on the codes."""
        return LeastSquares(self, self.on_codes) if self.loss.quadratic else self

    def penalty_codes(self, block: Block, H: Array) -> Any:
        """The part of the cost that belongs to the codes."""
        return weighed(self.on_codes.of(H, 0), block.s)

    def penalty_basis(self, basis: Basis) -> float:
        """The part of the cost that belongs to the basis."""
        return float(self.on_basis.of(basis[0]))


class PlainMultiplicative(Rule):
    """The same for squared errors without weights: ``H *= W'X / (W'W)H`` and ``W *= XH' / W(HH')``, Eq. (7), (8).

    Half the products of the weighted rule: ``Y`` is needed for the objective alone.
    """

    needs_pulls = False
    products_only = True
    steps_by_products = True

    @property
    def scales_freely(self) -> bool:
        """Nothing looks at one factor alone."""
        return True

    def shared(self, basis: Basis, stats: Stats) -> Array:
        """``W'W`` (K x K)."""
        W = basis[0]
        gram: Array = W.T @ W
        return gram

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """Eq. (8)."""
        return self.step_products(product(basis[0].T, block.X), H, shared)

    def step_products(self, B: Array, H: Array, shared: Any) -> Array:
        """Eq. (8) from ``W'X``."""
        return multiply(H, self.loss.factor(B, product(shared, H)), self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``XH'`` (M x K) and ``HH'`` (K x K), the points weighted."""
        weighted = weighed(H, block.s)
        return product(block.X, weighted.T), product(H, weighted.T)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Eq. (7)."""
        W, (num, gram) = basis[0], stats
        return (multiply(W, self.loss.factor(num, product(W, gram)), self.basis_floor),)

    def encoder(self) -> Rule:
        """Least squares."""
        return LeastSquares(self, Penalty())


class LeastSquares(Rule):
    """Codes for a fixed basis: ``min sum_i A_i (x_i - (W h)_i)^2`` and the penalty over ``h >= 0``.

    Every point has a system of its own, or all have the same without weights; `ewnmf.kernels.least_squares` solves it.
    Where weights depend on the losses there are several solutions, and a few steps of the rule `opening` come first:
    they lead to the ones that its codes belong to.
    """

    needs_pulls = False
    products_only = True
    solves_codes = True

    def __init__(self, opening: Rule, on_codes: Penalty) -> None:
        super().__init__(opening.loss, opening.facts)
        self.opening, self.on_codes = opening, on_codes

    @property
    def takes_any_unit(self) -> bool:
        """Unless there is a penalty beside the system."""
        return not any(self.on_codes)

    def penalty_codes(self, block: Block, H: Array) -> Any:
        """The part of the cost that belongs to the codes."""
        return weighed(self.on_codes.of(H, 0), block.s) if any(self.on_codes) else 0.0
