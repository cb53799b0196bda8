"""ONMF: rows of ``H`` or columns of ``W`` orthogonal; the model and its update rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss
from ewnmf.models.base import (
    Basis,
    Block,
    Factors,
    Facts,
    Model,
    Norms,
    OfEachPoint,
    Rule,
    Stats,
    Terms,
    check_strength,
    multiply,
    product,
    refusal,
    weighed,
)
from ewnmf.models.nmf import Multiplicative, in_double, in_range
from ewnmf.models.semi import root_ratio
from ewnmf.naming import unknown_name
from ewnmf.weightings.base import Weighting

__all__ = ["HardCodes", "HardComponents", "Lagrange", "Orthogonal", "Soft", "Stiefel"]


@dataclass(frozen=True)
class Orthogonal(Model):
    """``X ~ W H`` with ``W, H >= 0`` and orthogonal codes (rows of ``H``) or components (columns of ``W``).

    Parameters
    ----------
    method : {"hard", "soft", "lagrange", "stiefel"}, default="hard"
        ``"hard"``: exactly orthogonal, one component for every point (or attribute). ``"soft"``: a penalty on the
        overlaps. Both descend under every weighting. ``"lagrange"`` (Ding et al., 2006) and ``"stiefel"`` (Choi, 2008)
        are unweighted and may rise; the paper's baseline is ``"lagrange"``.
    of : {"codes", "components"}, default="codes"
        Which factor is orthogonal.
    mu : float, default=1.0
        ``"soft"``: strength of the penalty on overlaps, times the mean weight.
    lam : float, default=1.0
        ``"soft"``: ridge on the other factor, times the mean weight.
    """

    method: str = "hard"
    of: str = "codes"
    mu: float = 1.0
    lam: float = 1.0

    name: ClassVar[str] = "onmf"

    def __post_init__(self) -> None:
        if self.method not in ("hard", "soft", "lagrange", "stiefel"):
            raise unknown_name("method", self.method, ["hard", "soft", "lagrange", "stiefel"])
        if self.of not in ("codes", "components"):
            raise unknown_name("of", self.of, ["codes", "components"])
        check_strength("mu", self.mu)
        check_strength("lam", self.lam)

    @property
    def remembers_start(self) -> bool:
        """Where no point of a component has weight for an attribute, its first value stays."""
        return self.method == "hard" and self.of == "codes"

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """Hard: losses with a rank-one fit. Soft: Euclidean and KL. Lagrange, Stiefel: Euclidean without weights."""
        part = f"model='onmf' with method={self.method!r}"
        if self.method == "hard" and not hasattr(loss, "rank_one"):
            why = "it brings no best rank-one fit (a method rank_one)"
            raise refusal(loss, part, why, "'euclidean', 'kullback-leibler' or 'alpha', or method='soft'")
        if self.method == "soft" and not hasattr(loss, "penalised_factor"):
            why = "no step is known that never raises its penalised cost"
            raise refusal(loss, part, why, "'euclidean' or 'kullback-leibler', or method='hard'")
        if self.method in ("lagrange", "stiefel"):
            if not loss.quadratic:
                why = "the method is derived for squared errors"
                raise refusal(loss, part, why, "loss='euclidean', or method='hard'")
            if weighting.weighted:
                raise ValueError(
                    f"weighting={weighting.name!r} cannot be combined with {part}: weights break its derivation, and "
                    "the cost rises. Use weighting='none', or method='hard' or 'soft'."
                )

    def refuses_hidden(self) -> str | None:
        """Lagrange and Stiefel know no weights, not even 0."""
        if self.method not in ("lagrange", "stiefel"):
            return None
        return (
            f"model='onmf' with method={self.method!r} needs complete data, since weights break its derivation. Use "
            "method='hard' or 'soft', or fill the gaps first (NMF: inverse_transform(transform(X)))"
        )

    def refuses_fixed(self) -> str | None:
        """Orthogonal components depend on each other."""
        if self.of == "codes":
            return None
        return "model='onmf' with of='components' makes its components orthogonal. Use of='codes', or NMF"

    def refuses_priors(self) -> str | None:
        """Lagrange and Stiefel know no weights but those of points."""
        if self.method not in ("lagrange", "stiefel"):
            return None
        return (
            f"model='onmf' with method={self.method!r} takes no weights of entries, which break its derivation. Use "
            "method='hard' or 'soft'"
        )

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """The rule of the chosen method."""
        if self.method == "hard":
            return (HardCodes if self.of == "codes" else HardComponents)(loss, facts)
        if self.method == "soft":
            return Soft(loss, facts, mu=self.mu, lam=self.lam, of=self.of)
        return (Lagrange if self.method == "lagrange" else Stiefel)(loss, facts, of=self.of)


def _only(F: Array, best: Array, axis: int) -> Array:
    kept: Array = np.zeros_like(F)
    np.put_along_axis(kept, best, np.take_along_axis(F, best, axis), axis)
    return kept


_ROUNDING = 64 * np.finfo(np.float64).eps
"""Costs that differ by less than this share of what they are made of are equal."""


def _choose(fit: Any, axis: int, before: Array) -> Array:
    """Keep only the component of least cost along `axis`: exactly orthogonal rows or columns.

    Among equals it is the component that was alone `before`, else the first: between those rounding would choose, and
    ``E`` could rise.
    """
    cost = np.where(fit.defined, fit.cost, np.inf)
    best, last = (np.expand_dims(at, axis) for at in (np.argmin(cost, axis=axis), np.argmax(before, axis=axis)))
    size = np.broadcast_to(fit.size, cost.shape)
    allowed = _ROUNDING * np.maximum(size, np.take_along_axis(size, best, axis))
    equal = fit.defined & (cost <= np.take_along_axis(cost, best, axis) + allowed)
    alone = np.count_nonzero(before, axis=axis, keepdims=True) == 1
    first = np.expand_dims(np.argmax(equal, axis=axis), axis)
    return _only(fit.h, np.where(alone & np.take_along_axis(equal, last, axis), last, first), axis)


def _or_one(norms: Array) -> Array:
    """The same, and 1 where there is nothing."""
    return np.where(norms > 0, norms, 1)


def _largest(F: Array, axis: int) -> Array:
    """Keep only the largest entry along `axis`, the first of equals."""
    best = np.expand_dims(np.argmax(F, axis=axis), axis)
    return _only(F, best, axis)


def _largest_of_points(H: Array) -> Array:
    """Keep only the largest code of every point."""
    return _largest(H, 0)


class _Hard(Rule):
    """Rank-one fits: ``sum A d(x, w h)`` is minimised exactly, for every loss that has a closed form of it."""

    needs_pulls = False
    loss: Any

    def _fit_codes(self, block: Block, W: Array, A: Array) -> Any:
        return self._fit(tuple(product(g.T, f) for g, f in self._parts(W, block.X, A)), W.dtype)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """The sums of a rank-one fit of every attribute to every component (M x K each)."""
        return tuple(product(f, g.T) for g, f in self._parts(H, block.X, terms.A))

    def _parts(self, factor: Array, X: Array, A: Array) -> Iterator[tuple[Array, Array]]:
        """The two sides of every sum, in double precision: powers leave the range of single precision."""
        in_factor = self.loss.rank_one_factor(factor.astype(np.float64, copy=False))
        in_data = self.loss.rank_one_data(X.astype(np.float64, copy=False))
        return ((g, A * f) for g, f in zip(in_factor, in_data, strict=True))

    def _fit(self, sums: Stats, dtype: Any) -> Any:
        fit = self.loss.rank_one(sums)
        largest = float(np.finfo(dtype).max) ** 0.4
        return fit._replace(h=np.minimum(fit.h, largest).astype(dtype, copy=False))


class HardCodes(_Hard):
    """Every point has the one component that suits it best; ``HH'`` is diagonal.

    Of a dense start every point keeps its largest code: a random partition, which the first basis step fits exactly.
    (From dense codes the Kullback-Leibler fits of all components would be proportional to each other.)
    """

    def prepare(self, start: Factors, of_each_point: OfEachPoint) -> Factors:
        """One component for every point; fixed components are worked with above the floor, as all others are."""
        W, held = start.W.copy(order="F"), slice(self.facts.fixed)
        W[:, held] = np.maximum(W[:, held], self.basis_floor)
        return start._replace(basis=(W,), H=of_each_point(_largest_of_points, start.H))

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """``c(j)`` of least cost, ``H_cj`` its best value, the rest 0; a component that is all floor is none.

        Nor is a floor held against attributes that no component has: they are 0 everywhere, as if they were not there.
        """
        had: Array = np.any(basis[0], axis=1, keepdims=True)
        A = terms.A if had.all() else terms.A * had
        fit = self._fit_codes(block, np.maximum(basis[0], self.basis_floor), A)
        there = np.any(basis[0] > self.basis_floor, axis=0)[:, None]
        return _choose(fit._replace(defined=fit.defined & there, h=np.where(there, fit.h, 0)), 0, H)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Every component refitted to its points, and kept where it has none."""
        fit = self._fit(stats, basis[0].dtype)
        return (np.maximum(np.where(fit.defined, fit.h, basis[0]), self.basis_floor),)

    def finish(self, factors: Factors, norms: Norms) -> Factors:
        """Rows of ``H`` with norm one, points by their weights (rows of components without points stay 0).

        Not those of components that are held fixed.
        """
        norm = _or_one(norms(factors.H))
        norm[: self.facts.fixed] = 1
        W, H = factors.W * norm, factors.H / norm[:, None]
        return factors._replace(basis=(W.astype(factors.W.dtype),), H=H.astype(factors.H.dtype))


class HardComponents(_Hard):
    """Every attribute belongs to the one component that suits it best; ``W'W`` is diagonal."""

    def prepare(self, start: Factors, of_each_point: OfEachPoint) -> Factors:
        """One component for every attribute."""
        return start._replace(basis=(_largest(start.W, 1),))

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """The codes refitted to the attributes of each component, and kept where it has none."""
        fit = self._fit_codes(block, basis[0], terms.A)
        return np.maximum(np.where(fit.defined, fit.h, H), self.floor)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """``c(i)`` of least cost, ``W_ic`` its best value, the rest 0."""
        return (_choose(self._fit(stats, basis[0].dtype), 1, basis[0]),)

    def finish(self, factors: Factors, norms: Norms) -> Factors:
        """Columns of ``W`` with norm one (those of components without attributes stay 0)."""
        norm = _or_one(np.linalg.norm(factors.W.astype(np.float64, copy=False), axis=0))
        W, H = factors.W / norm, factors.H * norm[:, None]
        return factors._replace(basis=(W.astype(factors.W.dtype),), H=H.astype(factors.H.dtype))


def _others(F: Array, axis: int) -> Array:
    """``O F`` with ``O = 11' - I``: for every entry the sum of the other components."""
    others: Array = F.sum(axis=axis, keepdims=True) - F
    return others


class Soft(Multiplicative):
    """A penalty `mu` on the overlaps of one factor and a ridge `lam` on the other; both steps majorise.

    The cost gains ``mu * sum_j s_j sum_{k != l} H_kj H_lj + lam * sum W^2`` (of the codes; mirrored for the
    components), both times the mean weight. The weight ``s_j`` of a point counts for its penalty too.
    """

    loss: Any

    def __init__(self, loss: Loss, facts: Facts, *, mu: float, lam: float, of: str) -> None:
        super().__init__(loss, facts)
        self.of_codes = of == "codes"
        _, on_codes, _, on_basis = facts.penalty_units(loss)
        units = (on_codes, on_basis) if self.of_codes else (on_basis, on_codes)
        self.mu, self.lam = (unit * facts.mean_weight * given for unit, given in zip(units, (mu, lam), strict=True))

    def _ratio(self, block: Block, num: Array, den: Array, H: Array) -> Array:
        pull = weighed(self._pull(in_double(H), 0, self.of_codes), block.s)
        return in_range(self.loss.penalised_factor(in_double(num), in_double(den), pull), H.dtype)

    def _basis_ratio(self, num: Array, den: Array, W: Array) -> Array:
        pull = self._pull(in_double(W), 1, not self.of_codes)
        return in_range(self.loss.penalised_factor(in_double(num), in_double(den), pull), W.dtype)

    def _pull(self, F: Array, axis: int, orthogonal: bool) -> Array:
        """The slope of the penalty; beyond all numbers nothing withstands it."""
        with np.errstate(over="ignore"):
            return self.mu * _others(F, axis) if orthogonal else self.lam * F

    def encoder(self) -> Rule:
        """The rule itself: overlaps of codes have their price for new points, too."""
        return self

    def penalty_codes(self, block: Block, H: Array) -> Any:
        """The part of the cost that belongs to the codes."""
        return weighed(self._penalty(H.astype(np.float64, copy=False), 0, self.of_codes), block.s)

    def penalty_basis(self, basis: Basis) -> float:
        """The part of the cost that belongs to the basis."""
        W = basis[0].astype(np.float64, copy=False)
        return float(np.sum(self._penalty(W, 1, not self.of_codes)))

    def _penalty(self, F: Array, axis: int, orthogonal: bool) -> Any:
        if orthogonal:
            return self.mu * np.sum(F * _others(F, axis), axis=axis)
        return self.lam * np.sum(F * F, axis=axis)


class _Unweighted(Rule):
    """The plain steps of Eq. (7) and (8) through ``XH'``, ``HH'`` and ``W'W``."""

    needs_pulls = False
    products_only = True
    shares_sums = True

    def __init__(self, loss: Loss, facts: Facts, *, of: str = "none") -> None:
        super().__init__(loss, facts)
        self.of = of

    def shared(self, basis: Basis, stats: Stats) -> Array:
        """``W'X H'`` for orthogonal codes, else ``W'W`` (K x K)."""
        W = basis[0]
        return product(W.T, stats[0] if self.of == "codes" else W)

    def step_codes(self, block: Block, H: Array, basis: Basis, terms: Terms, shared: Any) -> Array:
        """Eq. (8), or the method's own step where the codes are to be orthogonal."""
        num = product(basis[0].T, block.X)
        if self.of == "codes":
            return multiply(H, self._orthogonal_ratio(num, self._spread(shared, H)), self.floor)
        return multiply(H, self.loss.factor(num, product(shared, H)), self.floor)

    def stats(self, block: Block, H: Array, basis: Basis, terms: Terms) -> Stats:
        """``X S H'`` (M x K) and ``H S H'`` (K x K), ``S`` the weights of the points."""
        SH = weighed(H, block.s).T
        return product(block.X, SH), product(H, SH)

    def step_basis(self, basis: Basis, stats: Stats) -> Basis:
        """Eq. (7), or the method's own step where the components are to be orthogonal."""
        W, (XH, HH) = basis[0], stats
        if self.of == "components":
            den = self._spread(product(W.T, XH).T, W.T).T
            return (multiply(W, self._orthogonal_ratio(XH, den), self.basis_floor),)
        return (multiply(W, self.loss.factor(XH, product(W, HH)), self.basis_floor),)

    def encoder(self) -> Rule:
        """Plain nonnegative codes for the fixed basis; entries that are hidden there make them weighted."""
        return Multiplicative(self.loss, self.facts) if self.facts.priors else _Unweighted(self.loss, self.facts)

    def _spread(self, Q: Array, F: Array) -> Array:
        raise NotImplementedError

    def _orthogonal_ratio(self, num: Array, den: Array) -> Array:
        raise NotImplementedError


class Lagrange(_Unweighted):
    """Ding et al. (2006): ``H *= sqrt(W'X / (W'X H'H))``, ``W *= sqrt(XH' / (W W'X H'))``; may rise."""

    def _spread(self, Q: Array, F: Array) -> Array:
        return product(Q, F)

    def _orthogonal_ratio(self, num: Array, den: Array) -> Array:
        return root_ratio(num, den)


class Stiefel(_Unweighted):
    """Choi (2008): ``H *= W'X / (H X'W H)``, ``W *= XH' / (W H X'W)``; may rise."""

    def _spread(self, Q: Array, F: Array) -> Array:
        return product(Q.T, F)

    def _orthogonal_ratio(self, num: Array, den: Array) -> Array:
        return self.loss.factor(num, den)
