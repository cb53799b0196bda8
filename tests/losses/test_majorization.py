"""The auxiliary functions of Eq. (3) to (6) and (19): they lie above the cost, touch it, and the steps minimise them.

Paper orientation: ``X`` M x N, ``W`` M x K, ``H`` K x N, weights ``A`` M x N.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.select import kernel_for
from ewnmf.losses.base import Loss
from ewnmf.losses.beta import Beta
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler
from ewnmf.models.base import Model
from ewnmf.models.nmf import NMF
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from tests.problems import LOSSES

Array = NDArray[np.float64]
M, N, K = 5, 4, 3
MU, LAM = 0.7, 0.3

CONVEX = [loss for loss in LOSSES if not isinstance(loss, Beta) or 1 <= loss.beta <= 2]
every_loss = pytest.mark.parametrize("loss", CONVEX, ids=repr)
every_factor = pytest.mark.parametrize("factor", ["H", "W"])
seeds = st.integers(0, 2**32 - 1)


class Drawn(NamedTuple):
    """Data, weights and factors."""

    X: Array
    A: Array
    W: Array
    H: Array


def drawn(loss: Loss, seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 2, (M, N))
    X[rng.integers(M), rng.integers(N)] = 10
    if not loss.needs_positive:
        X[rng.random((M, N)) < 0.2] = 0
    A = np.where(rng.random((M, N)) < 0.2, 0, rng.uniform(0.1, 2, (M, N)))
    A[0] += 0.1
    return Drawn(X, A, rng.uniform(0.1, 1.1, (M, K)), rng.uniform(0.1, 1.1, (K, N)))


def cost(loss: Loss, p: Drawn) -> float:
    """``F = sum A d(x, y)``."""
    return float(np.sum(p.A * loss.divergence(p.X, p.W @ p.H)))


def auxiliary(loss: Loss, p: Drawn, at: Drawn) -> Array:
    """The terms ``A xi d(x, W H / xi)`` (M x K x N), with ``xi = W H / (WH)`` of the factors `at`: Eq. (6), (19)."""
    parts, there = (q.W[:, :, None] * q.H[None] for q in (p, at))
    xi = there / there.sum(axis=1, keepdims=True)
    X = np.broadcast_to(p.X[:, None], xi.shape)
    return np.asarray(p.A[:, None] * xi * loss.divergence(X, parts / xi))


def moved(p: Drawn, factor: str, by: Array) -> Drawn:
    return p._replace(**{factor: getattr(p, factor) * by})


def kernel_of(loss: Loss, p: Drawn, model: Model | None = None) -> Kernel:
    problem, data = Problem(loss, model or NMF(), Fixed()), Dense(p.X, p.A)
    return kernel_for(problem, problem.rule(data.facts(problem)), data.tiny)


def step(kernel: Kernel, p: Drawn, factor: str) -> Drawn:
    """The package's own update of one factor."""
    block, basis = Dense(p.X, p.A).block(slice(None)), (p.W,)
    terms = kernel.terms(block, p.H, basis, np.asfortranarray(p.A))
    if factor == "H":
        return p._replace(H=kernel.rule.step_codes(block, p.H, basis, terms, None))
    return p._replace(W=kernel.rule.step_basis(basis, kernel.rule.stats(block, p.H, basis, terms))[0])


@every_loss
@every_factor
@given(seed=seeds)
def test_auxiliary_function_lies_above_and_touches(loss: Loss, factor: str, seed: int) -> None:
    p, rng = drawn(loss, seed), np.random.default_rng(seed)
    F = cost(loss, p)
    assert abs(np.sum(auxiliary(loss, p, p)) - F) <= 1e-12 * F
    for size in (1e-3, 0.1, 1.0, 3.0):
        q = moved(p, factor, np.exp(size * rng.normal(size=getattr(p, factor).shape)))
        assert np.sum(auxiliary(loss, q, p)) >= cost(loss, q) * (1 - 1e-12)


@every_loss
@every_factor
@given(seed=seeds)
def test_update_minimises_the_auxiliary_function(loss: Loss, factor: str, seed: int) -> None:
    p = drawn(loss, seed)
    new = step(kernel_of(loss, p), p, factor)
    best = np.sum(auxiliary(loss, new, p))
    assert cost(loss, new) <= best * (1 + 1e-12) <= cost(loss, p) * (1 + 2e-12)
    shape = getattr(p, factor).shape
    for k, l in np.ndindex(shape):
        for share in (0.5, 0.99, 1.01, 2.0):
            by = np.ones(shape)
            by[k, l] = share
            other = np.sum(auxiliary(loss, moved(new, factor, by), p))
            assert other >= best * (1 - 1e-13)


def numerical_minimiser(of_entry: Callable[[float], float], near: float) -> float:
    """The argument of the least value, searched from half to twice `near`."""
    span = (np.log(near) - 0.7, np.log(near) + 0.4)
    found = minimize_scalar(lambda log: of_entry(float(np.exp(log))), bracket=span, options={"xtol": 1e-10})
    return float(np.exp(found.x))


@every_loss
@every_factor
def test_update_is_the_minimiser_that_a_search_finds(loss: Loss, factor: str) -> None:
    p = drawn(loss, 11)._replace(X=np.random.default_rng(11).uniform(0.2, 2, (M, N)))
    new = step(kernel_of(loss, p), p, factor)
    values = getattr(new, factor)
    for k, l in np.ndindex(values.shape):

        def of_entry(value: float, k: int = k, l: int = l) -> float:
            changed = values.copy()
            changed[k, l] = value
            return float(np.sum(auxiliary(loss, new._replace(**{factor: changed}), p)))

        assert numerical_minimiser(of_entry, values[k, l]) == pytest.approx(values[k, l], rel=1e-5)


@every_loss
@every_factor
@pytest.mark.parametrize("gamma", [0.01, 0.3, 100.0])
@given(seed=seeds)
def test_entropy_cost_is_majorised_by_its_auxiliary_function(loss: Loss, factor: str, gamma: float, seed: int) -> None:
    """Eq. (19): the weighted auxiliary function plus ``gamma sum T ln T`` lies above ``J*`` and touches it."""
    p, rng = drawn(loss, seed), np.random.default_rng(seed)

    def least(q: Drawn) -> float:
        return float(Entropy(gamma).evaluate(loss.divergence(q.X, q.W @ q.H)).J.sum())

    T = Entropy(gamma).weigh(loss.divergence(p.X, p.W @ p.H))
    p = p._replace(A=T)
    entropy = gamma * np.sum(T * np.log(T, out=np.zeros_like(T), where=T > 0))
    slack = 1e-12 * (gamma * N * np.log(M) + np.sum(auxiliary(loss, p, p)))
    assert abs(np.sum(auxiliary(loss, p, p)) + entropy - least(p)) <= slack
    for size in (0.01, 0.3, 3.0):
        q = moved(p, factor, np.exp(size * rng.normal(size=getattr(p, factor).shape)))
        bound = np.sum(auxiliary(loss, q, p)) + entropy
        assert bound >= least(q) - slack - 1e-12 * bound
    assert least(step(kernel_of(loss, p), p, factor)) <= least(p) + slack


def overlap(F: Array, axis: int) -> float:
    """``sum_{k != l} F_k F_l`` along an axis."""
    return float(np.sum(F.sum(axis=axis) ** 2) - np.sum(F**2))


def overlap_bound(F: Array, at: Array, axis: int) -> float:
    """``sum_k F_k^2 o_k / F'_k`` with ``o`` the sum of the other components of ``F'``: at least `overlap`."""
    others = at.sum(axis=axis, keepdims=True) - at
    return float(np.sum(F**2 * others / at))


@pytest.mark.parametrize("loss", [Euclidean(), KullbackLeibler()], ids=repr)
@pytest.mark.parametrize("of", ["codes", "components"])
@every_factor
@given(seed=seeds)
def test_penalised_step_minimises_its_auxiliary_function(loss: Loss, of: str, factor: str, seed: int) -> None:
    p, rng = drawn(loss, seed), np.random.default_rng(seed)
    axis, orthogonal = (0 if factor == "H" else 1), (of == "codes") == (factor == "H")
    mu, lam = MU * p.A.mean(), LAM * p.A.mean()
    old: Array = getattr(p, factor)

    def bound(q: Drawn) -> float:
        F: Any = getattr(q, factor)
        penalty = mu * overlap_bound(F, old, axis) if orthogonal else lam * float(np.sum(F**2))
        return float(np.sum(auxiliary(loss, q, p))) + penalty

    def penalised(q: Drawn) -> float:
        F: Any = getattr(q, factor)
        return cost(loss, q) + (mu * overlap(F, axis) if orthogonal else lam * float(np.sum(F**2)))

    new = step(kernel_of(loss, p, Orthogonal("soft", of, MU, LAM)), p, factor)
    best = bound(new)
    assert abs(bound(p) - penalised(p)) <= 1e-12 * bound(p)
    assert penalised(new) <= best * (1 + 1e-12) <= penalised(p) * (1 + 2e-12)
    for size in (1e-3, 0.1, 1.0):
        q = moved(new, factor, np.exp(size * rng.normal(size=old.shape)))
        assert bound(q) >= penalised(q) * (1 - 1e-12)
        assert bound(q) >= best * (1 - 1e-13)
