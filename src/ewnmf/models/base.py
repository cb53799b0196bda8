"""Models and update rules: what is asked of the factors, and how they move. A model picks the rule, or refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss
from ewnmf.losses.elementary import largest_power
from ewnmf.weightings.base import Weighting

__all__ = [
    "Basis",
    "Block",
    "Factors",
    "Facts",
    "Model",
    "Norms",
    "OfEachPoint",
    "Rule",
    "SparseBlock",
    "Stats",
    "Terms",
    "check_strength",
    "largest_factor",
    "multiply",
    "product",
    "refusal",
    "weighed",
]

Basis = tuple[Array, ...]
"""What a rule keeps of the basis; the first array is always ``W`` (M x K)."""
Stats = tuple[Array, ...]
"""Sums over points that the next basis step needs."""
OfEachPoint = Callable[[Callable[[Array], Array], Any], Any]
"""A function of the codes of a point, and codes wherever they are: what it makes of them, there."""
Norms = Callable[[Any], Array]
"""The norms of the rows of codes wherever they are, points by their weights (K)."""


class Block(NamedTuple):
    """Some points: data ``X`` (M x b), priors ``P`` (M x b) and point weights ``s`` (b), None meaning ones.

    `silent` attributes are left out of ``X``: zero in every point, they cost nothing and only share the weights.
    """

    X: Array
    P: Array | None = None
    s: Array | None = None
    silent: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Attributes that are not silent, and points."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def stored(self) -> Any:
        """``X`` as canonical compressed columns, where zeros are not stored; else None."""
        return None


class SparseBlock(Block):
    """Points whose first part are canonical compressed columns, of which ``X`` is made when it is asked for."""

    @cached_property
    def X(self) -> Array:
        """The same, dense."""
        dense: Array = self.stored.toarray(order="F")
        return dense

    @property
    def shape(self) -> tuple[int, int]:
        """Attributes that are not silent, and points."""
        return self.stored.shape[0], self.stored.shape[1]

    @property
    def stored(self) -> Any:
        """What the block was made of."""
        return self[0]


class Terms(NamedTuple):
    """Weights ``A`` of a block and, where a rule asks for them, ``A * neg`` and ``A * pos`` (M x b each)."""

    A: Array
    neg: Array
    pos: Array


def _locked(part: Any) -> Any:
    if not isinstance(part, np.ndarray):  # codes that are elsewhere
        return part
    view = part.view()
    view.flags.writeable = False
    return view


class Factors(NamedTuple):
    """``W`` (M x K), ``H`` (K x N) and, in Convex-NMF, ``U`` (N x K) with ``W = X U``."""

    basis: Basis
    H: Array
    U: Array | None = None

    @property
    def W(self) -> Array:
        """The basis (M x K)."""
        return self.basis[0]

    def read_only(self) -> Factors:
        """The same as views that cannot be written to."""
        return Factors(tuple(map(_locked, self.basis)), _locked(self.H), None if self.U is None else _locked(self.U))

    def holding(self, fixed: Array) -> Factors:
        """The same with `fixed` (k x M) as the first components."""
        if len(fixed) == 0:
            return self
        W = self.W.copy(order="F")
        W[:, : len(fixed)] = fixed.T
        return self._replace(basis=(W, *self.basis[1:]))


@dataclass(frozen=True)
class Facts:
    """What a rule may know of the data before it starts."""

    n_attributes: int
    n_points: int
    floor: float
    """Where a code or combination would be zero or denormal it takes this value instead."""
    basis_floor: float
    """The same for the basis, which has the scale of the data."""
    signed: bool = False
    mass: float = 0.0
    """The weights of all points together."""
    priors: bool = False
    """Whether entries have prior weights: then a rule for weights is needed under every weighting."""
    mean_weight: float = 1.0
    """Of an entry, for a point of weight 1."""
    fixed: int = 0
    """How many components, the first ones, stay as they are."""
    gram: Callable[[], Array] | None = None
    """Gives ``X'X`` (N x N)."""
    stored: bool = False
    """Whether stored entries are so few that only they are looked at, where that can be."""
    unit: float = 1.0
    """What the data was multiplied by, and the basis with it; a penalty is meant for what they were before."""

    def penalty_units(self, loss: Loss) -> tuple[float, float, float, float]:
        """What penalties are to be multiplied by, for the cost to be ``unit^degree`` times the one that is meant.

        Those on codes, linear and quadratic, then those on the basis.
        """
        if self.unit == 1 or loss.degree is None:
            return 1.0, 1.0, 1.0, 1.0
        codes, linear, square = (self.unit ** (loss.degree - power) for power in (0, 1, 2))
        return codes, codes, linear, square


def product(left: Array, right: Array) -> Array:
    """``left @ right`` with its columns contiguous, as points are stored."""
    # BLAS may raise the flag by numbers beside those that it was given; a product that is none shows, as NaN.
    with np.errstate(invalid="ignore"):
        answer: Array = (right.T @ left.T).T
    return answer


def weighed(H: Array, s: Array | None) -> Array:
    """``H * s``, the codes times the weights of their points."""
    return H if s is None else H * s


def multiply(factor: Array, ratio: Array, floor: Any) -> Array:
    """``factor * ratio``, no entry below `floor`: an exact zero could never move again; nor above `largest_factor`."""
    with np.errstate(over="ignore"):
        moved: Array = factor * ratio
    np.maximum(moved, floor, out=moved)
    return np.minimum(moved, largest_factor(moved.dtype), out=moved)


@cache
def largest_factor(dtype: Any) -> float:
    """Where factors end, about a millionth of the largest number: what stands against a floor may ask for more.

    The cost is convex in every entry, so that it falls on the way there as well.
    """
    return 1e-6 * largest_power(dtype) ** 2


class Rule:
    """How ``H``, ``W`` and ``U`` move under effective weights ``A``; everything a block needs is local to it.

    The statistics are additive over points, so that blocks can be summed in any storage.
    """

    needs_pulls: ClassVar[bool] = True
    """Whether `step_codes` and `stats` read ``A * neg`` and ``A * pos``, which need ``Y = W H``."""
    moves_combinations: ClassVar[bool] = False
    """Whether the basis is ``X U`` and a second sweep moves ``U``."""
    shares_sums: ClassVar[bool] = False
    """Whether the codes step needs sums over all points at the present codes."""
    whole: ClassVar[bool] = False
    """Whether all points must be in one block."""
    products_only: ClassVar[bool] = False
    """Whether data and pulls enter through `product` alone, so that sparse ones need not be made dense."""

    steps_by_products: ClassVar[bool] = False
    """Whether ``W'X`` is all that its codes step asks of the data: then `step_products` makes it."""
    moves_coordinates: ClassVar[bool] = False
    """Whether its steps are those of coordinate descent on squared errors without weights."""
    solves_codes: ClassVar[bool] = False
    """Whether it finds codes for a fixed basis by least squares, and does nothing else."""
    squares_codes: ClassVar[bool] = False
    """Whether squares of codes must be numbers, too."""

    def __init__(self, loss: Loss, facts: Facts) -> None:
        self.loss = loss
        self.facts = facts
        self.floor = facts.floor
        self.basis_floor = facts.basis_floor

    def prepare(self, start: Factors, of_each_point: OfEachPoint) -> Factors:
        """The start, brought into the form that the rule works on; codes by a function of those of a point."""
        return start

    def shared(self, basis: Basis, stats: Stats) -> Any:
        """What all blocks need for their codes step, made once from the sums."""
        return None

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """The new codes (K x b) of a block."""
        raise NotImplementedError

    def step_products(self, B: Array, H: Array, shared: Any) -> Array:
        """The new codes (K x b) from ``B = W'X`` (K x b)."""
        raise NotImplementedError

    @property
    def takes_any_unit(self) -> bool:
        """Whether codes stay the same where all weights are multiplied by a number."""
        return False

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """The block's share of the sums."""
        raise NotImplementedError

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """The new basis from the sums over all points."""
        raise NotImplementedError

    def move_basis(self, basis: Basis, stats: Stats) -> Basis:
        """`step_basis`, but for the components that stay as they are."""
        moved, held = self.step_basis(basis, stats), self.facts.fixed
        if held:
            moved[0][:, :held] = basis[0][:, :held]
        return moved

    def carried(self, stats: Stats, before: Basis, now: Basis) -> Stats:
        """The sums that were made at the basis `before`, for a step from the basis `now`."""
        return stats

    def blend(self, basis: Basis, before: Basis, function: Callable[[Array, Array], Array]) -> Basis:
        """``function(W, W_before)``, entry by entry, but for the components that stay as they are."""
        W, free = basis[0].copy(order="F"), slice(self.facts.fixed, None)
        W[:, free] = function(basis[0][:, free], before[0][:, free])
        return (W,)

    @property
    def scales_freely(self) -> bool:
        """Whether components may be multiplied, and their codes divided, by any positive number."""
        return False

    @property
    def loses_weight(self) -> bool:
        """Whether entries of the basis may be left with next to no weight, and `weight_shares` tells."""
        return False

    def weight_shares(self, basis: Basis, stats: Stats, gram: Array) -> Array:
        """The weight of the entries of the basis (M x K) as a share of the mean, at most 1; `gram` is ``HH'``."""
        raise NotImplementedError

    def step_combinations(self, block: Block, U: Array, basis: Basis, stats: Stats) -> Array:
        """The new combinations (b x K) of a block."""
        raise NotImplementedError

    def basis_share(self, block: Block, U: Array) -> Basis:
        """The block's share of the basis ``X U``."""
        raise NotImplementedError

    def penalty_codes(self, block: Block, H: Array) -> Any:
        """The penalty on the codes, one number for every point of the block."""
        return 0.0

    def penalty_basis(self, basis: Basis) -> float:
        """The penalty on the basis."""
        return 0.0

    def largest_code(self, dtype: Any) -> float:
        """Where codes end."""
        return float(np.sqrt(np.finfo(dtype).max)) / 2 if self.squares_codes else largest_factor(dtype)

    def encoder(self) -> Rule:
        """The rule that finds the codes of new points for a fixed basis."""
        return self

    def finish(self, factors: Factors, norms: Norms) -> Factors:
        """The factors in the form that is handed out; `norms` are those of the rows of codes."""
        return factors


def refusal(loss: Loss, other: str, why: str, instead: str) -> ValueError:
    return ValueError(f"loss={loss.name!r} cannot be combined with {other}: {why}. Use {instead}.")


@dataclass(frozen=True)
class Model:
    """Base of the models."""

    name: ClassVar[str] = ""
    signed_basis: ClassVar[bool] = False
    """Whether components may be negative."""
    has_combinations: ClassVar[bool] = False
    """Whether the basis is ``X U``."""
    order: ClassVar[str] = "components-first"
    """Which factor moves first, where nothing else is asked for."""

    @property
    def remembers_start(self) -> bool:
        """Whether the size of the first components matters: then they are drawn in that of the data."""
        return False

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """Refuse what is not defined, naming both parts and what would work."""

    def takes_negative(self, loss: Loss) -> bool:
        """Whether the data may be negative under this loss."""
        return False

    def refuses_hidden(self) -> str | None:
        """Why entries cannot be hidden and what to do instead, where that is so."""
        return None

    def refuses_fixed(self) -> str | None:
        """Why components cannot be held fixed and what to do instead, where that is so."""
        return None

    def refuses_priors(self) -> str | None:
        """Why attributes cannot have weights and what to do instead, where that is so."""
        return None

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """The update rule for this loss and weighting."""
        raise NotImplementedError

    def takes_coordinates(self, loss: Loss, weighting: Weighting, priors: bool) -> bool:
        """Whether coordinate descent is defined; `priors` where entries have prior weights."""
        return False

    def check_coordinates(self, solver: str, loss: Loss, weighting: Weighting, priors: bool) -> None:
        """Refuse the solver, which is of coordinate descent, where that is not defined."""
        raise ValueError(
            f"solver={solver!r} cannot be combined with model={self.name!r}: coordinate descent is that of "
            "model='nmf'. Use solver='mu'."
        )

    def coordinate_rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """The rule of coordinate descent, where it is defined."""
        raise NotImplementedError


def check_strength(parameter: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{parameter}={value!r} must be a finite number of at least 0.")
