"""NMF for every loss and weighting: the paper's Eq. (7), (8), (20), (21)."""

from __future__ import annotations

from typing import Any

from ewnmf.updates.rule import Array, Basis, Block, Rule, Stats, Terms, multiply, product

__all__ = ["Multiplicative"]


class Multiplicative(Rule):
    """``H *= (W'(A*neg) / W'(A*pos))^e`` and ``W *= ((A*neg)H' / (A*pos)H')^e``."""

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

    def _ratio(self, block: Block, num: Array, den: Array, H: Array) -> Array:
        return self.loss.factor(num, den)

    def _basis_ratio(self, num: Array, den: Array, W: Array) -> Array:
        return self.loss.factor(num, den)
