"""The only code that touches the data: what one sweep does to one block of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ewnmf._types import Array, Float64
from ewnmf.kernels import least_squares
from ewnmf.models.base import Basis, Block, Rule, Stats, Terms, product
from ewnmf.problem import Problem
from ewnmf.weightings.base import Weighting

__all__ = ["Kept", "Kernel", "Measure", "Seen", "Swept", "add_arrays", "add_sums"]

_NOTHING: Array = np.empty(0)


class Measure(NamedTuple):
    """``J*``, ``E`` and the prior-weighted sum of losses: additive over points."""

    J: float = 0.0
    E: float = 0.0
    loss: float = 0.0

    def plus(self, other: Measure) -> Measure:
        """The measure of both."""
        return Measure(self.J + other.J, self.E + other.E, self.loss + other.loss)


class Seen(NamedTuple):
    """A block under given factors: its weights and pulls, and every point's ``J*``, ``E`` and loss."""

    terms: Terms
    J: Float64
    E: Float64
    loss: Float64

    @property
    def measure(self) -> Measure:
        """The sums over the points of the block."""
        return Measure(float(self.J.sum()), float(self.E.sum()), float(self.loss.sum()))


class Swept(NamedTuple):
    """A block after a sweep: its new codes, its share of the sums, and a measure."""

    H: Array
    stats: Stats
    measure: Measure


def add_arrays(total: tuple[Array, ...] | None, share: tuple[Array, ...]) -> tuple[Array, ...]:
    """The sums of two tuples of arrays; the first is added to in place."""
    if total is None:
        return share
    for mine, theirs in zip(total, share, strict=True):
        mine += theirs
    return total


def add_sums(total: tuple[Stats, Measure], share: tuple[Stats, Measure]) -> tuple[Stats, Measure]:
    """Statistics and measure of two blocks; the first statistics are added to in place."""
    return add_arrays(total[0], share[0]), total[1].plus(share[1])


class Kept(NamedTuple):
    """Room for the weights of a block (M x b), each point's up to a factor, and whether the last sweep left them."""

    weights: Array
    there: bool


@dataclass(frozen=True)
class Kernel:
    """NumPy reference of the sweep, for every loss, model and weighting."""

    problem: Problem
    rule: Rule
    tiny: float
    """``Y`` is kept above this where the loss divides by it."""

    def reconstruct(self, basis: Basis, H: Array) -> Array:
        """``Y = W H`` (M x b), within the numbers of its type: where nothing was observed it may leave them."""
        if self.problem.loss.signed:
            return product(basis[0], H)
        with np.errstate(over="ignore"):
            Y = product(basis[0], H)
        return np.clip(Y, self.tiny, np.finfo(Y.dtype).max, out=Y)

    def evaluate(self, block: Block, Y: Array, weighting: Weighting) -> Seen:
        """Weights, pulls and objective of a block, Eq. (10), (18), (22) to (25)."""
        D = self.problem.loss.divergence(block.X, Y)
        A, J, E = weighting.evaluate(D, block.P, block.s, block.silent)
        if block.P is not None:
            D = np.where(block.P > 0, block.P * D, 0)
        loss: Float64 = np.sum(D, axis=0, dtype=np.float64)
        return Seen(self.pulls(block, Y, A), J, E, loss if block.s is None else loss * block.s)

    def pulls(self, block: Block, Y: Array, A: Array, before: Terms | None = None) -> Terms:
        """``A * neg`` and ``A * pos``, where the rule asks for them; `before` had the same weights."""
        if not self.rule.needs_pulls:
            return Terms(A, _NOTHING, _NOTHING)
        loss, X = self.problem.loss, block.X
        return Terms(A, A * loss.neg(X, Y), A * loss.pos(X, Y))

    def see(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Seen:
        """A block under these factors, with the model's penalty on its codes."""
        seen = self.evaluate(block, self.reconstruct(basis, H), weighting)
        penalty = self.rule.penalty_codes(block, H)
        return seen._replace(J=seen.J + penalty, E=seen.E + penalty)

    def measure(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Measure:
        """The objective of a block under these factors."""
        return self.see(block, H, basis, weighting).measure

    def weigh(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Array:
        """The effective weights of a block, without the reconstruction where they do not need it."""
        if weighting.adaptive:
            return self.see(block, H, basis, weighting).terms.A
        return weighting.constant(block.X, block.P, block.s, block.silent)

    def terms(self, block: Block, H: Array, basis: Basis, A: Array, before: Terms | None = None) -> Terms:
        """Weights ``A`` and the pulls of these factors under them."""
        if not self.rule.needs_pulls:
            return Terms(A, _NOTHING, _NOTHING)
        return self.pulls(block, self.reconstruct(basis, H), A, before)

    def move_basis(self, basis: Basis, stats: Stats) -> Basis:
        """The new basis from the sums over all points."""
        return self.rule.move_basis(basis, stats)

    @property
    def keeps_weights(self) -> bool:
        """Whether `sweep_components_first` makes use of weights that the last sweep kept."""
        return False

    def sweep_components_first(
        self,
        block: Block,
        H: Array,
        basis: Basis,
        shared: Any,
        before: tuple[Basis, Weighting],
        kept: Kept | None = None,
    ) -> Swept:
        """H under the weights of the factors `before` the basis moved, then T, then the sums: W, H, T."""
        terms = self.terms(block, H, basis, self.weigh(block, H, *before))
        H = self.rule.step_codes(block, H, basis, terms, shared)
        seen = self.see(block, H, basis, self.problem.weighting)
        return Swept(H, self.rule.stats(block, H, basis, seen.terms), seen.measure)

    def sweep_codes_first(self, block: Block, H: Array, basis: Basis, shared: Any, weighting: Weighting) -> Swept:
        """T, then H, then the sums under that T: T, H, W. The measure is that of the factors that came in."""
        seen = self.see(block, H, basis, weighting)
        H = self.rule.step_codes(block, H, basis, seen.terms, shared)
        terms = self.terms(block, H, basis, seen.terms.A, seen.terms)
        return Swept(H, self.rule.stats(block, H, basis, terms), seen.measure)

    @property
    def encodes_at_once(self) -> int:
        """Points that `encode` takes together: it gets a multiple of them."""
        return 32

    @property
    def encodes_alike(self) -> bool:
        """Whether single precision treats all points alike: BLAS has other code for some rows of such a product."""
        return False

    @property
    def encodes_from_nothing(self) -> bool:
        """Whether `encode` does not look at the codes that it is handed."""
        return self.rule.solves_codes and not self.problem.weighting.adaptive

    def encode(self, block: Block, H: Array, basis: Basis, max_iter: int, tol: float) -> Array:
        """Codes (K x b) for a fixed basis from the codes `H`: each point until its ``E`` falls by `tol` of itself."""
        if self.rule.solves_codes:
            return least_squares.encode(self, block, H, basis, max_iter, tol)
        weighting, shared = self.problem.weighting, self.rule.shared(basis, ())
        terms = self.terms(block, H, basis, self.weigh(block, H, basis, weighting.start()))
        last = np.full(H.shape[1], np.inf)
        going = np.ones(H.shape[1], dtype=bool)
        for _ in range(max_iter):
            moved = self.rule.step_codes(block, H, basis, terms, shared)
            np.copyto(H, moved, where=going)
            seen = self.see(block, H, basis, weighting)
            if tol > 0:
                going &= ~((last < np.inf) & (np.abs(last - seen.E) <= tol * last))
                if not going.any():
                    break
            last, terms = seen.E, seen.terms
        return H
