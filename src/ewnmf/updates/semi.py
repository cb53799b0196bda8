"""Semi-NMF: data and basis of any sign, codes nonnegative, Euclidean loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from ewnmf.losses import Loss
from ewnmf.updates.rule import Array, Basis, Block, Facts, Rule, Stats, Terms, multiply, product, weighed

__all__ = ["SemiPlain", "SemiWeighted", "negative", "positive", "root_ratio", "signed_codes_step"]


def positive(x: Array) -> Array:
    """``P(x) = max(x, 0)``."""
    return np.maximum(x, 0)


def negative(x: Array) -> Array:
    """``N(x) = max(-x, 0)``."""
    return np.maximum(-x, 0)


def root_ratio(num: Array, den: Array) -> Array:
    """``sqrt(num / den)``, and 1 where nothing is known."""
    with np.errstate(over="ignore"):
        ratio = np.divide(num, den, out=np.ones_like(num), where=den > 0)
    root: Array = np.sqrt(np.minimum(ratio, np.finfo(ratio.dtype).max))
    return root


def signed_codes_step(X: Array, H: Array, W: Array, A: Array, floor: float) -> Array:
    """``H *= sqrt((P(C) + Wp'(A*WnH) + Wn'(A*WpH)) / (N(C) + Wp'(A*WpH) + Wn'(A*WnH)))``, ``C = W'(A*X)``."""
    Wp, Wn = positive(W), negative(W)
    C = product(W.T, A * X)
    up, un = A * product(Wp, H), A * product(Wn, H)
    num = positive(C) + product(Wp.T, un) + product(Wn.T, up)
    den = negative(C) + product(Wp.T, up) + product(Wn.T, un)
    return multiply(H, root_ratio(num, den), floor)


class SemiPlain(Rule):
    """Ding, Li and Jordan: ``W = X H'(HH')^-1``, ``H *= sqrt((P(W'X) + N(W'W)H) / (N(W'X) + P(W'W)H))``."""

    needs_pulls = False
    products_only = True

    def shared(self, basis: Basis, stats: Stats) -> Array:
        """``W'W`` (K x K)."""
        W = basis[0]
        gram: Array = W.T @ W
        return gram

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """The multiplicative step of the codes."""
        C, G = product(basis[0].T, block.X), shared
        num = positive(C) + product(negative(G), H)
        den = negative(C) + product(positive(G), H)
        return multiply(H, root_ratio(num, den), self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``X S H'`` (M x K) and ``H S H'`` (K x K), ``S`` the weights of the points."""
        SH = weighed(H, block.s).T
        return product(block.X, SH), product(H, SH)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Least squares, as a correction of the old basis: where ``HH'`` is singular nothing is known, and it stays."""
        XH, HH = (part.astype(np.float64, copy=False) for part in stats)
        W, free = basis[0].astype(np.float64), slice(self.facts.fixed, None)
        size = np.sqrt(np.diag(HH))[free]
        size = np.where(size > 0, size, 1)
        scale = np.outer(size, size)
        inverse = np.linalg.pinv(HH[free, free] / scale, rcond=1e-10, hermitian=True) / scale
        W[:, free] += product((XH - product(W, HH))[:, free], inverse)
        return (np.asfortranarray(W, dtype=basis[0].dtype),)


class SemiWeighted(Rule):
    """Weighted Semi-NMF: one ``K x K`` system for every attribute, with a proximal ridge.

    ``(H diag(A_i) H' + rho_i I) w = H(A_i * x_i) + rho_i w_old`` with ``rho_i = ridge * trace(H diag(A_i) H') / K``:
    relative to the system itself, so that it keeps its meaning under every scale of data and weights.
    """

    needs_pulls = False

    def __init__(self, loss: Loss, facts: Facts, ridge: float) -> None:
        super().__init__(loss, facts)
        self.ridge = ridge

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """The multiplicative step of the codes."""
        return signed_codes_step(block.X, H, basis[0], terms.A, self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``(A*X)H'`` (M x K) and the upper triangles of ``H diag(A_i) H'`` (M x K(K+1)/2)."""
        k, l = np.triu_indices(H.shape[0])
        return product(terms.A * block.X, H.T), product(terms.A, (H[k] * H[l]).T)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Exact minimisers of the weighted squares plus the proximal term, row by row."""
        W, (XH, triangles), held = basis[0], stats, self.facts.fixed
        n_free = W.shape[1] - held
        if n_free == 0:
            return basis
        k, l = np.triu_indices(W.shape[1])
        systems = np.empty((W.shape[0], W.shape[1], W.shape[1]))
        systems[:, k, l] = systems[:, l, k] = triangles
        right = XH[:, held:] - np.einsum("ikl,il->ik", systems[:, held:, :held], W[:, :held]) if held else XH
        systems = systems[:, held:, held:]
        trace = np.trace(systems, axis1=1, axis2=2)
        rho = self.ridge * trace / n_free
        diagonal = np.arange(n_free)
        known = trace > 0
        systems[:, diagonal, diagonal] += np.where(known, rho, 1.0)[:, None]
        free = W[:, held:]
        right = np.where(known[:, None], right + rho[:, None] * free, free)
        moved = W.copy(order="F")
        moved[:, held:] = np.linalg.solve(systems, right[:, :, None])[:, :, 0]
        return (moved,)
