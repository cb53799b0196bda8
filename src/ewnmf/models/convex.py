"""Convex-NMF: the basis is a nonnegative combination of the data, ``W = X U``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss
from ewnmf.models.base import Basis, Block, Facts, Model, Rule, Stats, Terms, multiply, product, weighed
from ewnmf.models.nmf import Multiplicative
from ewnmf.models.semi import SemiPlain, SemiWeighted, negative, positive, root_ratio, signed_codes_step
from ewnmf.weightings.base import Weighting

__all__ = ["Convex", "ConvexKernel", "ConvexMixed", "ConvexNonnegative", "ConvexPlain"]


@dataclass(frozen=True)
class Convex(Model):
    """``X ~ X U H`` with ``U, H >= 0``: components are combinations of data points."""

    name: ClassVar[str] = "convex-nmf"
    signed_basis: ClassVar[bool] = True
    has_combinations: ClassVar[bool] = True

    def takes_negative(self, loss: Loss) -> bool:
        """With the Euclidean loss."""
        return loss.quadratic

    def refuses_hidden(self) -> str | None:
        """Components are made of whole points."""
        return (
            "model='convex-nmf' needs complete data, since its components are combinations of whole points. Fill the "
            "gaps first (NMF: inverse_transform(transform(X))), drop those points, or use NMF or SemiNMF"
        )

    def refuses_fixed(self) -> str | None:
        """Components are what their points make them."""
        return "the components of model='convex-nmf' are combinations of its points. Use NMF or SemiNMF"

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """Ding's rules for the Euclidean loss without weights, weighted rules otherwise."""
        plain = loss.quadratic and not weighting.weighted and not facts.priors
        if not facts.signed:
            return (ConvexPlain if plain else ConvexNonnegative)(loss, facts)
        few = max(facts.n_points, facts.mass) <= facts.n_attributes
        if plain and few and facts.gram is not None:
            return ConvexKernel(loss, facts)
        return ConvexMixed(loss, facts)


class ConvexNonnegative(Multiplicative):
    """``U *= (X'(A*neg)H' / X'(A*pos)H')^e`` for ``X >= 0`` and every loss; ``H`` as NMF with ``W = X U``."""

    moves_combinations = True

    def step_combinations(self, block: Block, U: Array, basis: Basis, stats: Stats) -> Array:
        """The sums of NMF's basis step, seen through the points of the block."""
        num, den = (product(S.T, block.X).T for S in stats)
        return multiply(U, self.loss.factor(num, den), _floor(block, self.floor))

    def basis_share(self, block: Block, U: Array) -> Basis:
        """``X U`` of the block."""
        return (product(block.X, U),)


def _floor(block: Block, floor: float) -> Any:
    """The floor of combinations: a point's is as many times higher as its weight, as if it were there so often."""
    return floor if block.s is None else np.maximum(floor * block.s[:, None], np.finfo(block.s.dtype).tiny)


class ConvexPlain(SemiPlain):
    """Ding, Li and Jordan for ``X >= 0``: ``U *= sqrt(X'(XH') / X'(W HH'))``; ``H`` as Semi-NMF with ``W = X U``."""

    moves_combinations = True

    def step_combinations(self, block: Block, U: Array, basis: Basis, stats: Stats) -> Array:
        """Goes through ``X`` and never forms ``X'X``."""
        XH, HH = (part.astype(U.dtype, copy=False) for part in stats)
        num = product(XH.T, block.X).T
        den = product(product(basis[0], HH).T, block.X).T
        return multiply(U, root_ratio(num, den), _floor(block, self.floor))

    def basis_share(self, block: Block, U: Array) -> Basis:
        """``X U`` of the block."""
        return (product(block.X, U),)


class ConvexMixed(Rule):
    """Mixed signs: with ``a = A*(Xp U H)``, ``b = A*(Xn U H)``, ``C = X'(A*X)H'``.

    ``U *= sqrt((P(C) + (Xp'b + Xn'a)H') / (N(C) + (Xp'a + Xn'b)H'))``; ``H`` as weighted Semi-NMF with ``W = X U``.
    """

    needs_pulls = False
    moves_combinations = True

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """The multiplicative step of the codes."""
        return signed_codes_step(block.X, H, basis[0], terms.A, self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``(A*X)H'``, ``aH'`` and ``bH'`` (M x K)."""
        A, (_, Vp, Vn) = terms.A, basis
        return (
            product(A * block.X, H.T),
            product(A * product(Vp, H), H.T),
            product(A * product(Vn, H), H.T),
        )

    def step_combinations(self, block: Block, U: Array, basis: Basis, stats: Stats) -> Array:
        """The multiplicative step of the combinations."""
        XH, aH, bH = stats
        Xp, Xn = positive(block.X), negative(block.X)
        C = product(XH.T, block.X).T
        num = positive(C) + (product(bH.T, Xp) + product(aH.T, Xn)).T
        den = negative(C) + (product(aH.T, Xp) + product(bH.T, Xn)).T
        return multiply(U, root_ratio(num, den), _floor(block, self.floor))

    def basis_share(self, block: Block, U: Array) -> Basis:
        """``X U``, ``Xp U`` and ``Xn U`` of the block."""
        Vp, Vn = product(positive(block.X), U), product(negative(block.X), U)
        return Vp - Vn, Vp, Vn

    def encoder(self) -> Rule:
        """Weighted Semi-NMF's codes for the fixed basis."""
        return SemiWeighted(self.loss, self.facts, ridge=0.0)


class ConvexKernel(Rule):
    """Ding, Li and Jordan for mixed signs and few points, through ``K = X'X`` (N x N), with ``G = H'``.

    ``U *= sqrt((P(K)G + N(K)U G'G) / (N(K)G + P(K)U G'G))``,
    ``G *= sqrt((P(K)U + G U'N(K)U) / (N(K)U + G U'P(K)U))``.
    """

    needs_pulls = False
    products_only = True
    moves_combinations = True
    whole = True

    def __init__(self, loss: Loss, facts: Facts) -> None:
        super().__init__(loss, facts)
        assert facts.gram is not None
        K = facts.gram()
        self.Kp, self.Kn = positive(K), negative(K)

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """The step of ``G = H'``."""
        _, KpU, KnU, UKpU, UKnU = basis
        num = KpU.T + product(UKnU, H)
        den = KnU.T + product(UKpU, H)
        return multiply(H, root_ratio(num, den), self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``P(K)G``, ``N(K)G`` (N x K) and ``G'G`` (K x K), points by their weights."""
        SH = weighed(H, block.s).T
        return product(self.Kp, SH), product(self.Kn, SH), product(H, SH)

    def step_combinations(self, block: Block, U: Array, basis: Basis, stats: Stats) -> Array:
        """The step of ``U``."""
        KpG, KnG, GG = stats
        _, KpU, KnU, _, _ = basis
        ratio = root_ratio(KpG + product(KnU, GG), KnG + product(KpU, GG))
        return multiply(U, ratio, _floor(block, self.floor))

    def basis_share(self, block: Block, U: Array) -> Basis:
        """``X U``, and the products of ``U`` with the parts of ``K``."""
        KpU, KnU = product(self.Kp, U), product(self.Kn, U)
        return product(block.X, U), KpU, KnU, product(U.T, KpU), product(U.T, KnU)
