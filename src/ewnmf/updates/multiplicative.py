"""NMF for every loss and weighting: the paper's Eq. (7), (8), (20), (21)."""

from __future__ import annotations

from typing import Any

from ewnmf.updates.rule import Array, Basis, Block, Rule, Stats, Terms, multiply, product

__all__ = ["Multiplicative", "PlainMultiplicative"]


class Multiplicative(Rule):
    """``H *= (W'(A*neg) / W'(A*pos))^e`` and ``W *= ((A*neg)H' / (A*pos)H')^e``."""

    products_only = True

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """Eq. (21), and Eq. (8) where all weights are equal."""
        W = basis[0]
        return multiply(H, self._ratio(product(W.T, terms.neg), product(W.T, terms.pos), H), self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``(A*neg)H'`` and ``(A*pos)H'`` (M x K)."""
        return product(terms.neg, H.T), product(terms.pos, H.T)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Eq. (20), and Eq. (7) where all weights are equal."""
        W, (num, den) = basis[0], stats
        return (multiply(W, self._basis_ratio(num, den, W), self.basis_floor),)

    def _ratio(self, num: Array, den: Array, H: Array) -> Array:
        return self.loss.factor(num, den)

    def _basis_ratio(self, num: Array, den: Array, W: Array) -> Array:
        return self.loss.factor(num, den)


class PlainMultiplicative(Rule):
    """The same for squared errors without weights: ``H *= W'X / (W'W)H`` and ``W *= XH' / W(HH')``, Eq. (7), (8).

    Half the products of the weighted rule: ``Y`` is needed for the objective alone.
    """

    needs_pulls = False
    products_only = True

    def shared(self, basis: Basis, stats: Stats) -> Array:
        """``W'W`` (K x K)."""
        W = basis[0]
        gram: Array = W.T @ W
        return gram

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """Eq. (8)."""
        ratio = self.loss.factor(product(basis[0].T, block.X), product(shared, H))
        return multiply(H, ratio, self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``XH'`` (M x K) and ``HH'`` (K x K), the points weighted."""
        weighted = H if block.s is None else H * block.s
        return product(block.X, weighted.T), product(H, weighted.T)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Eq. (7)."""
        W, (num, gram) = basis[0], stats
        return (multiply(W, self.loss.factor(num, product(W, gram)), self.basis_floor),)

    def encoder(self) -> Rule:
        """The weighted rule, whose encoding is compiled, but for sparse data."""
        return self if self.facts.stored else Multiplicative(self.loss, self.facts)
