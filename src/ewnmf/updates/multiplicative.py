"""NMF for every loss and weighting: the paper's Eq. (7), (8), (20), (21)."""

from __future__ import annotations

from typing import Any

from ewnmf.updates.rule import Array, Basis, Block, Rule, Stats, multiply, product

__all__ = ["Multiplicative"]


class Multiplicative(Rule):
    """``H *= (W'(A*neg) / W'(A*pos))^e`` and ``W *= ((A*neg)H' / (A*pos)H')^e``."""

    def step_codes(self, block: Block, H: Array, basis: Basis, Y: Array, A: Array, shared: Any) -> Array:
        """Eq. (21), and Eq. (8) where all weights are equal."""
        return multiply(H, self._ratio(*self._pulls(block, basis[0], Y, A), H), self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, Y: Array, A: Array) -> Stats:
        """``(A*neg)H'`` and ``(A*pos)H'`` (M x K)."""
        loss, X = self.loss, block.X
        return product(A * loss.neg(X, Y), H.T), product(A * loss.pos(X, Y), H.T)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Eq. (20), and Eq. (7) where all weights are equal."""
        W, (num, den) = basis[0], stats
        return (multiply(W, self._basis_ratio(num, den, W), self.floor),)

    def _pulls(self, block: Block, W: Array, Y: Array, A: Array) -> tuple[Array, Array]:
        loss, X = self.loss, block.X
        return product(W.T, A * loss.neg(X, Y)), product(W.T, A * loss.pos(X, Y))

    def _ratio(self, num: Array, den: Array, H: Array) -> Array:
        return self.loss.factor(num, den)

    def _basis_ratio(self, num: Array, den: Array, W: Array) -> Array:
        return self.loss.factor(num, den)
