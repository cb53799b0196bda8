"""The only code that touches the data: what one sweep does to one block of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ewnmf.problem import Problem
from ewnmf.updates.rule import Array, Basis, Block, Rule, Stats, product
from ewnmf.weights import Weighting

__all__ = ["Kernel", "Measure", "Seen", "Swept"]

Float64 = NDArray[np.float64]


class Measure(NamedTuple):
    """``J*``, ``E`` and the prior-weighted sum of losses: additive over points."""

    J: float = 0.0
    E: float = 0.0
    loss: float = 0.0

    def plus(self, other: Measure) -> Measure:
        """The measure of both."""
        return Measure(self.J + other.J, self.E + other.E, self.loss + other.loss)


class Seen(NamedTuple):
    """A block under given factors: ``Y = W H``, weights ``A``, and every point's ``J*``, ``E`` and loss."""

    Y: Array
    A: Array
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


@dataclass(frozen=True)
class Kernel:
    """NumPy reference of the sweep, for every loss, model and weighting."""

    problem: Problem
    rule: Rule
    tiny: float
    """``Y`` is kept above this where the loss divides by it."""

    def reconstruct(self, basis: Basis, H: Array) -> Array:
        """``Y = W H`` (M x b)."""
        Y = product(basis[0], H)
        return Y if self.problem.loss.signed else np.maximum(Y, self.tiny, out=Y)

    def see(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Seen:
        """Weights and objective of a block, Eq. (10), (18), (22) to (25)."""
        Y = self.reconstruct(basis, H)
        D = self.problem.loss.divergence(block.X, Y)
        A, J, E = weighting.evaluate(D, block.P, block.s)
        if block.P is not None:
            D = np.where(block.P > 0, block.P * D, 0)
        loss: Float64 = np.sum(D, axis=0, dtype=np.float64)
        penalty = self.rule.penalty_codes(H)
        return Seen(Y, A, J + penalty, E + penalty, loss if block.s is None else loss * block.s)

    def weigh(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Array:
        """The effective weights of a block, without the reconstruction where they do not need it."""
        if weighting.adaptive:
            return self.see(block, H, basis, weighting).A
        return weighting.constant(block.X, block.P, block.s)

    def move(self, block: Block, H: Array, basis: Basis, A: Array, shared: Any, Y: Array | None = None) -> Array:
        """The codes step under weights ``A``."""
        if Y is None:
            Y = self._product_if_needed(basis, H)
        return self.rule.step_codes(block, H, basis, Y, A, shared)

    def sums(self, block: Block, H: Array, basis: Basis, A: Array, Y: Array | None = None) -> Stats:
        """What the basis step needs of a block under weights ``A``."""
        if Y is None:
            Y = self._product_if_needed(basis, H)
        return self.rule.stats(block, H, basis, Y, A)

    def sweep_components_first(
        self, block: Block, H: Array, basis: Basis, shared: Any, before: tuple[Basis, Weighting]
    ) -> Swept:
        """H under the weights of the factors `before` the basis moved, then T, then the sums: W, H, T."""
        H = self.move(block, H, basis, self.weigh(block, H, *before), shared)
        seen = self.see(block, H, basis, self.problem.weighting)
        return Swept(H, self.sums(block, H, basis, seen.A, seen.Y), seen.measure)

    def sweep_codes_first(self, block: Block, H: Array, basis: Basis, shared: Any, weighting: Weighting) -> Swept:
        """T, then H, then the sums under that T: T, H, W. The measure is that of the factors that came in."""
        seen = self.see(block, H, basis, weighting)
        H = self.move(block, H, basis, seen.A, shared, seen.Y)
        return Swept(H, self.sums(block, H, basis, seen.A), seen.measure)

    def _product_if_needed(self, basis: Basis, H: Array) -> Array:
        return self.reconstruct(basis, H) if self.rule.needs_product else np.empty(0)
