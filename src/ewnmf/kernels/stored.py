"""Sparse data without weights: a sweep that looks at the stored entries alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ewnmf._types import Array, Float64
from ewnmf.kernels.least_squares import largest_code, nonnegative, supported
from ewnmf.kernels.reference import Kernel, Measure, Seen, Swept
from ewnmf.models.base import Basis, Block, Terms, product, weighed
from ewnmf.weightings.base import Weighting

__all__ = ["NEARLY_FITTED", "Look", "LowRank", "StoredKernel"]

NEARLY_FITTED = 1e-4
"""A point whose loss is at most this share of what its reconstruction would cost against zeros, were all terms of one
sign, is summed over all entries: the short sum would have lost four digits and more."""


@dataclass(frozen=True, eq=False)
class LowRank:
    """``left @ right`` (M x b), never multiplied out; `product` takes it as any matrix."""

    left: Array
    right: Array

    __array_ufunc__ = None

    @property
    def T(self) -> LowRank:
        """The transpose."""
        return LowRank(self.right.T, self.left.T)

    def __matmul__(self, other: Array) -> Array:
        answer: Array = self.left @ (self.right @ other)
        return answer

    def __rmatmul__(self, other: Array) -> Array:
        answer: Array = (other @ self.left) @ self.right
        return answer


class _Prepared(NamedTuple):
    """What all blocks need of a basis: ``W`` itself, its rows contiguous, and ``L'W`` with ``pos = L R``; in double.

    `sizes` is ``|L|'|W|``, and `inner` itself where nothing is negative.
    """

    W: Array
    rows: NDArray[np.float64]
    inner: NDArray[np.float64]
    sizes: NDArray[np.float64]


_NO_TERMS = Terms(np.empty(0), np.empty(0), np.empty(0))


class _Latest:
    """The last basis that was prepared; another thread may at worst prepare the same one again."""

    held: _Prepared | None = None


class _Sizes(dict[int, tuple[Any, Float64]]):
    """Blocks and the sizes of their points; a copy elsewhere finds them anew."""

    def __reduce__(self) -> tuple[type[_Sizes], tuple[()]]:
        return _Sizes, ()


_MOST_BLOCKS = 1 << 12
"""Blocks whose sizes are known at the most: of a storage that makes them anew none is asked for twice."""


class Look(NamedTuple):
    """``neg`` at the stored entries, and the loss of every point (b)."""

    neg: Array
    loss: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StoredKernel(Kernel):
    """The sweep of `Kernel` on blocks that stay sparse, for weights of one and rules that need products only.

    ``Y`` is kept as its factors. With ``S`` the stored entries, a point costs
    ``sum_S [d(x, y) - d(0, y)] + sum_i d(0, y_i)``, and the last sum is a form in its codes: ``h'(W'W)h`` for squared
    errors, ``c (1'W)h`` for the divergences. Sums are in double precision, and those of points that are `NEARLY_FITTED`
    go over all entries, so that a vanishing loss keeps its digits.
    """

    latest: _Latest = field(default_factory=_Latest)
    sizes: _Sizes = field(default_factory=_Sizes, repr=False)

    def reconstruct(self, basis: Basis, H: Array) -> Any:
        """``Y`` as its factors."""
        return LowRank(basis[0], H)

    def weigh(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Array:
        """The weights of the points (1 x b), which those of their entries are."""
        ones = np.ones((1, H.shape[1]), H.dtype) if block.s is None else block.s[None]
        return ones / H.dtype.type(block.X.shape[0] + block.silent) if weighting.shared else ones

    def sweep_codes_first(self, block: Block, H: Array, basis: Basis, shared: Any, weighting: Weighting) -> Swept:
        """Where ``W'X`` makes the step, the objective of squared errors comes from it, too.

        In single precision it would not have the digits.
        """
        if not self.rule.steps_by_products or H.dtype != np.float64:
            return super().sweep_codes_first(block, H, basis, shared, weighting)
        X, block = block.X, block._replace(X=self.multiplied(block.X))
        B = product(self.prepared(basis[0]).rows.T, block.X)
        losses = weighed(self._costs(X, LowRank(basis[0], H), B), block.s)
        loss, penalty = float(losses.sum()), float(np.sum(self.rule.penalty_codes(block, H)))
        H = self.rule.step_products(B, H, shared)
        return Swept(H, self.rule.stats(block, H, basis, _NO_TERMS), Measure(loss + penalty, loss + penalty, loss))

    def _costs(self, X: Any, Y: LowRank, B: Array) -> Float64:
        """``x'x - 2 h'W'x + h'W'Wh`` of every point; those that are `NEARLY_FITTED` are looked at."""
        sizes = self._sizes(X)
        made = np.einsum("kj,kj->j", Y.right, self.prepared(Y.left).inner @ Y.right)
        costs: Float64 = sizes - 2 * np.einsum("kj,kj->j", Y.right, B) + made
        near = np.flatnonzero(costs <= NEARLY_FITTED * np.maximum(sizes, made))
        if near.size:
            costs[near] = self.look(X[:, near], LowRank(Y.left, Y.right[:, near])).loss
        return costs

    @property
    def encodes_alike(self) -> bool:
        """Products with stored entries go point by point, in double precision."""
        return True

    def encode(self, block: Block, H: Array, basis: Basis, max_iter: int, tol: float) -> Array:
        """Codes for a fixed basis: least squares have one system for all points."""
        if not self.rule.solves_codes:
            return super().encode(block, H, basis, max_iter, tol)
        rule: Any = self.rule
        W, X = supported(basis[0], rule.basis_floor), block.X
        linear, ridge = rule.on_codes
        ready = self.prepared(W)
        G, B = ready.inner + ridge / 2 * np.eye(W.shape[1]), (X.T @ ready.rows).T - linear / 2
        return np.asfortranarray(self.solve_systems(G, B, largest_code(W)), dtype=H.dtype)

    def solve_systems(self, G: Float64, B: Float64, most: float) -> Float64:
        """The codes (K x b) of points with one system and right sides ``B`` (K x b)."""
        nothing = np.zeros(len(G))
        return np.stack([nonnegative(G, b, nothing, most) for b in B.T], axis=1)

    def _sizes(self, X: Any) -> Float64:
        """``x'x`` of every point; every sweep asks for that of the same blocks."""
        known, sizes = self.sizes.get(id(X), (None, np.empty(0)))
        if known is not X:
            there, sizes = np.diff(X.indptr) > 0, np.zeros(X.shape[1])
            if there.any():
                sizes[there] = np.add.reduceat(np.square(X.data), X.indptr[:-1][there])
            if len(self.sizes) >= _MOST_BLOCKS:
                self.sizes.clear()
            self.sizes[id(X)] = X, sizes
        return sizes

    def multiplied(self, X: Any) -> Any:
        """``X`` in the form that `product` takes it in."""
        return X

    def evaluate(self, block: Block, Y: Any, weighting: Weighting) -> Seen:
        """Pulls and objective of a block."""
        look = self.look(block.X, Y)
        loss = look.loss if block.s is None else look.loss * block.s
        terms = self._terms(block, Y, look.neg, self.weigh(block, Y.right, (), weighting))
        return Seen(terms, loss, loss, loss)

    def pulls(self, block: Block, Y: Any, A: Array, before: Terms | None = None) -> Terms:
        """``A * neg`` at the stored entries, and ``A * pos`` as a product."""
        if not self.rule.needs_pulls:
            return Terms(A, A[:0], A[:0])
        return self._terms(block, Y, self.look(block.X, Y, judge=False).neg, A)

    def _terms(self, block: Block, Y: Any, neg: Array, A: Array) -> Terms:
        if not self.rule.needs_pulls:
            return Terms(A, neg, neg)
        X: Any = block.X
        left, right = self.problem.loss.pos_factors(Y.left, Y.right)
        if block.s is not None:
            neg, right = neg * np.repeat(block.s, np.diff(X.indptr)), right * block.s
        pulled: Any = csc_array((neg, X.indices, X.indptr), shape=X.shape)
        pos: Any = LowRank(left, right)
        return Terms(A, pulled, pos)

    def prepared(self, W: Array) -> _Prepared:
        """The basis made ready, once for all blocks."""
        held = self.latest.held
        if held is None or held.W is not W:
            rows = np.ascontiguousarray(W, dtype=np.float64)
            left, _ = self.problem.loss.pos_factors(rows, rows.T)
            inner = left.T @ rows
            sizes = inner if rows.min() >= 0 else np.abs(left).T @ np.abs(rows)
            held = self.latest.held = _Prepared(W, rows, inner, sizes)
        return held

    def against_zeros(self, Y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``sum_i d(0, y_i)`` of every point, and the loss up to which it is `NEARLY_FITTED`."""
        cost, H = self.problem.loss.zero_cost, Y.right.astype(np.float64, copy=False)
        assert cost is not None
        _, right = self.problem.loss.pos_factors(Y.left, H)
        basis = self.prepared(Y.left)
        total = cost * np.sum(right * (basis.inner @ H), axis=0)
        size = total if basis.sizes is basis.inner else cost * np.sum(right * (basis.sizes @ H), axis=0)
        return total, NEARLY_FITTED * size

    def look(self, X: Any, Y: Any, judge: bool = True) -> Look:
        """The stored entries of a block under ``Y``; without their losses, unless they are to `judge` it."""
        loss, rows, H = self.problem.loss, self.prepared(Y.left).rows, Y.right.T.astype(np.float64)
        points = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        y = self._kept_off_zero(np.einsum("tk,tk->t", rows[X.indices], H[points]))
        neg = loss.neg(X.data, y.astype(X.dtype))
        if not judge:
            return Look(neg, np.empty(0))
        x = X.data.astype(np.float64, copy=False)
        beyond = loss.divergence(x, y) - loss.divergence(np.zeros_like(y), y)
        total, near = self.against_zeros(Y)
        costs = total + np.bincount(points, beyond, X.shape[1])
        for j in np.flatnonzero(costs <= near):
            column = X[:, [j]].toarray()[:, 0].astype(np.float64, copy=False)
            costs[j] = loss.divergence(column, self._kept_off_zero(rows @ H[j])).sum()
        return Look(neg, costs)

    def _kept_off_zero(self, y: Array) -> Array:
        return y if self.problem.loss.signed else np.maximum(y, self.tiny)
