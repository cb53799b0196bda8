"""Coordinate descent for squared errors without weights: one component after the other at its best value."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ewnmf._types import Array, Float64
from ewnmf.losses.base import Loss
from ewnmf.losses.elementary import largest_power
from ewnmf.models.base import Basis, Block, Facts, Rule, Stats, Terms, product, weighed
from ewnmf.models.penalty import Penalty

__all__ = ["Coordinates", "descend", "furthest"]


def descend(F: Array, G: Array, B: Array, penalty: Penalty, *, sweeps: int, first: int = 0) -> Array:
    """``F`` (K x n) with lower ``tr(F'GF) - 2 tr(B'F)`` and penalty: row after row from `first` on, at its best value.

    A row whose curvature is 0 stays, and none goes beyond `furthest`.
    """
    most = furthest(F.dtype)
    F, G, B = F.astype(np.float64, order="C"), G.astype(np.float64), B - penalty.linear / 2
    curvature = np.diag(G) + penalty.ridge / 2
    for _ in range(sweeps):
        for k in range(first, len(F)):
            if curvature[k] > 0:
                rest = B[k] - G[k] @ F + G[k, k] * F[k]
                np.clip(rest / curvature[k], 0, most, out=F[k])
    return F


@cache
def furthest(dtype: Any) -> float:
    """Where entries end, so that sums of their squares are numbers: under a penalty on one factor the other grows.

    The cost is convex in every entry, so that it falls on the way there as well.
    """
    return 1e-3 * largest_power(dtype)


class Coordinates(Rule):
    """``h_k = max(0, (w_k'x - sum_{l != k} (W'W)_kl h_l) / (W'W)_kk)`` for one ``k`` after the other, and ``W`` alike.

    Every step finds the best value of its coordinate, so that the cost never rises. Products with the data are needed
    once for `sweeps` rounds over all coordinates.
    """

    needs_pulls = False
    products_only = True
    steps_by_products = True
    moves_coordinates = True

    def __init__(self, loss: Loss, facts: Facts, on_codes: Penalty, on_basis: Penalty) -> None:
        super().__init__(loss, facts)
        self.on_codes, self.on_basis = on_codes, on_basis

    @property
    def scales_freely(self) -> bool:
        """Unless a penalty looks at one factor alone."""
        return not any(self.on_codes) and not any(self.on_basis)

    def sweeps(self, n_components: int, *, basis: bool = False) -> int:
        """Rounds over all coordinates of a factor for one product with the data: more where that is dear."""
        length = self.facts.n_points if basis else self.facts.n_attributes
        return int(np.clip(length // (32 * n_components), 1, 4))

    def shared(self, basis: Basis, stats: Stats) -> Float64:
        """``W'W`` (K x K)."""
        W = basis[0].astype(np.float64, copy=False)
        gram: Float64 = W.T @ W
        return gram

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """Codes, one component after the other; the weight of a point has no part in it."""
        return self.step_products(product(basis[0].T, block.X), H, shared)

    def step_products(self, B: Array, H: Array, shared: Any) -> Array:
        """The same from ``W'X``."""
        B = B.astype(np.float64, copy=False)
        return np.asfortranarray(descend(H, shared, B, self.on_codes, sweeps=self.sweeps(len(H))), dtype=H.dtype)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``XH'`` (M x K) and ``HH'`` (K x K), the points weighted."""
        weighted = weighed(H, block.s)
        return product(block.X, weighted.T), product(H, weighted.T)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Components, one after the other, but for those that stay."""
        W, (num, gram) = basis[0], stats
        sweeps = self.sweeps(W.shape[1], basis=True)
        moved = descend(W.T, gram, num.T, self.on_basis, sweeps=sweeps, first=self.facts.fixed)
        return (np.asfortranarray(moved.T, dtype=W.dtype),)

    def penalty_codes(self, block: Block, H: Array) -> Any:
        """The part of the cost that belongs to the codes."""
        return weighed(self.on_codes.of(H, 0), block.s) if any(self.on_codes) else 0.0

    def penalty_basis(self, basis: Basis) -> float:
        """The part of the cost that belongs to the basis."""
        return float(self.on_basis.of(basis[0])) if any(self.on_basis) else 0.0
