"""Semi-NMF: data and basis of any sign, codes nonnegative, Euclidean loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss
from ewnmf.models.base import (
    Basis,
    Block,
    Facts,
    Model,
    Rule,
    Stats,
    Terms,
    check_strength,
    multiply,
    product,
    refusal,
    weighed,
)
from ewnmf.weightings.base import Weighting

__all__ = [
    "Semi",
    "SemiPlain",
    "SemiWeighted",
    "negative",
    "positive",
    "root_ratio",
    "signed_codes_step",
    "within_reach",
]


@dataclass(frozen=True)
class Semi(Model):
    """``X ~ W H`` with ``H >= 0``; data and basis may be negative.

    Parameters
    ----------
    ridge : float, default=1e-6
        Proximal ridge of the weighted basis step, relative to the mean eigenvalue of each attribute's system.
    """

    ridge: float = 1e-6

    name: ClassVar[str] = "semi-nmf"
    signed_basis: ClassVar[bool] = True

    @property
    def remembers_start(self) -> bool:
        """Its basis is corrected."""
        return True

    def __post_init__(self) -> None:
        check_strength("ridge", self.ridge)

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """Euclidean only."""
        if not loss.quadratic:
            why = "W H may be negative there, where this loss is not defined"
            raise refusal(loss, "model='semi-nmf'", why, "loss='euclidean', or model='nmf' on nonnegative data")

    def takes_negative(self, loss: Loss) -> bool:
        """Always."""
        return True

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """Ding's rules without weights, row systems with them."""
        if weighting.weighted or facts.priors:
            return SemiWeighted(loss, facts, self.ridge)
        return SemiPlain(loss, facts)


_REACH = 0.33
"""Rows of the basis do not grow beyond this power of the largest number: three such values can be multiplied."""


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


def within_reach(W: Array, old: Array) -> Array:
    """The new basis in the type of the old one; a row that would outgrow it goes only part of the way there.

    Codes at their floor ask for a basis whose products overflow. The cost of a row is convex and least at its new
    values, so that it falls on the whole way.
    """
    before, after = (np.abs(part).max(axis=1) for part in (old.astype(np.float64, copy=False), W))
    limit = np.maximum(float(np.finfo(old.dtype).max) ** _REACH, before)
    far = after > limit
    if far.any():
        share = (limit[far] - before[far]) / (after[far] - before[far])
        W[far] = old[far] + share[:, None] * (W[far] - old[far])
    return np.asfortranarray(W, dtype=old.dtype)


class SemiPlain(Rule):
    """Ding, Li and Jordan: ``W = X H'(HH')^-1``, ``H *= sqrt((P(W'X) + N(W'W)H) / (N(W'X) + P(W'W)H))``."""

    needs_pulls = False
    products_only = True
    squares_codes = True

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
        """``X S H'`` (M x K) and ``H S H'`` (K x K), ``S`` the weights of the points, in double precision."""
        H = H.astype(np.float64, copy=False)
        SH = weighed(H, block.s).T
        return product(block.X, SH), product(H, SH)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Least squares, as a correction of the old basis: where ``HH'`` is singular nothing is known, and it stays."""
        XH, HH = (part.astype(np.float64, copy=False) for part in stats)
        W, free = basis[0].astype(np.float64), slice(self.facts.fixed, None)
        size = np.sqrt(np.diag(HH))[free]
        size = np.where(size > 0, size, 1)
        scale = np.outer(size, size)
        inverse, vectors = inverted(HH[free, free] / scale)
        missing = (XH - product(W, HH))[:, free]
        missing = without_rounding(missing, product(np.abs(W), HH)[:, free], vectors, size)
        W[:, free] += product(missing, inverse / scale)
        return (within_reach(W, basis[0]),)


_FAINT = 2 * float(np.finfo(np.float64).eps)
"""Differences up to this share of what they are differences of are rounding."""


def inverted(gram: Array) -> tuple[Array, Array]:
    """The pseudoinverse of a symmetric `gram` (K x K), as NumPy's, and the eigenvectors, which it takes anyway."""
    values, vectors = np.linalg.eigh(gram)
    order = np.argsort(np.abs(values))[::-1]
    values, sorted_ = values[order], vectors[:, order]
    sizes = np.abs(values)
    over = np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 1e-10 * sizes.max(initial=0))
    return (sorted_ * np.sign(values)) @ (over[:, None] * sorted_.T), vectors


def without_rounding(missing: Array, terms: Array, vectors: Array, size: Array) -> Array:
    """The right sides `missing` (M x K) without what is rounding of their `terms`, along each of the eigenvectors.

    Both are divided by `size` (K) there. The inverse blows up what is left along the weak eigenvectors. A step with
    more of a right side than of its error never raises the cost, and what is taken out would not lower it by more than
    such an error does.
    """
    along = (missing / size) @ vectors
    faint = np.abs(along) <= _FAINT * ((terms / size) @ np.abs(vectors))
    return missing - (np.where(faint, along, 0) @ vectors.T) * size if faint.any() else missing


class SemiWeighted(Rule):
    """Weighted Semi-NMF: one ``K x K`` system for every attribute, with a proximal ridge.

    ``(H diag(A_i) H' + rho_i I) w = H(A_i * x_i) + rho_i w_old`` with ``rho_i = ridge * trace(H diag(A_i) H') / K``:
    relative to the system itself, so that it keeps its meaning under every scale of data and weights. Sums are in
    double precision: the systems have conditions of up to ``K / ridge``.
    """

    needs_pulls = False
    squares_codes = True

    def __init__(self, loss: Loss, facts: Facts, ridge: float) -> None:
        super().__init__(loss, facts)
        self.ridge = ridge

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """The multiplicative step of the codes."""
        return signed_codes_step(block.X, H, basis[0], terms.A, self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``(A*X)H'`` (M x K) and the upper triangles of ``H diag(A_i) H'`` (M x K(K+1)/2)."""
        A, H = (part.astype(np.float64, copy=False) for part in (terms.A, H))
        k, l = np.triu_indices(H.shape[0])
        return product(A * block.X, H.T), product(A, (H[k] * H[l]).T)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Exact minimisers of the weighted squares plus the proximal term, as corrections of the old rows."""
        W, (XH, triangles), held = basis[0].astype(np.float64), stats, self.facts.fixed
        if held == W.shape[1]:
            return basis
        k, l = np.triu_indices(W.shape[1])
        systems = np.empty((W.shape[0], W.shape[1], W.shape[1]))
        systems[:, k, l] = systems[:, l, k] = triangles
        missing = XH - np.einsum("ikl,il->ik", systems, W)
        W[:, held:] += _corrections(systems[:, held:, held:], missing[:, held:], self.ridge)
        return (within_reach(W, basis[0]),)


_FIRM = 1e-4
"""Systems whose pivots all lie above this share of their mean eigenvalue are solved as they are."""


_NULL = 1e-12
"""Eigenvalues up to this share of their mean are rounding."""


def _corrections(systems: Array, missing: Array, ridge: float) -> Array:
    """``(S + rho I)^+ b`` for every system (M x K x K) and right side (M x K), ``rho = ridge * trace(S) / K``.

    In the null space of ``S`` nothing is known, and nothing moves: there the right side is rounding, which the small
    ``rho`` would blow up, step by step.
    """
    K = systems.shape[1]
    mean = np.trace(systems, axis1=1, axis2=2) / K
    known = mean > 0
    S, b = systems[known] / mean[known, None, None], missing[known] / mean[known, None]
    damped = S + ridge * np.eye(K)
    firm = _firm(damped)
    step = np.empty_like(b)
    step[firm] = np.linalg.solve(damped[firm], b[firm, :, None])[:, :, 0]
    values, vectors = np.linalg.eigh(S[~firm])
    inverse = np.divide(1.0, values + ridge, out=np.zeros_like(values), where=values > _NULL)
    seen = inverse[:, :, None] * (vectors.transpose(0, 2, 1) @ b[~firm, :, None])
    step[~firm] = (vectors @ seen)[:, :, 0]
    corrections = np.zeros_like(missing)
    corrections[known] = step
    return corrections


def _firm(systems: Array) -> Array:
    """Which systems are far from singular, by the pivots of their Cholesky factors."""
    try:
        roots = np.linalg.cholesky(systems)
    except np.linalg.LinAlgError:
        return np.zeros(len(systems), dtype=bool)
    pivots: Array = np.diagonal(roots, axis1=1, axis2=2) ** 2
    return np.asarray(pivots.min(axis=1) > _FIRM)
