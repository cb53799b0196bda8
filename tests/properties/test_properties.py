"""What every factorisation must do, whatever the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ewnmf import Factorization
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.select import kernel_for
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.solvers.loop import Iteration, solve
from ewnmf.weightings.entropy import Entropy
from tests.problems import (
    MONOTONE,
    ORDERS,
    PAIRED,
    Case,
    Instance,
    Recipe,
    cases,
    close,
    excesses,
    recipes,
    run,
    same,
)

orders = st.sampled_from(ORDERS)
calm = recipes(calm=True)
few = settings(max_examples=settings().max_examples // 2)


PHI: dict[str, Callable[[Any, float], Any]] = {
    "welsch": lambda D, g: g * (1 - np.exp(-D / g)),
    "cauchy": lambda D, g: g * np.log1p(D / g),
    "huber": lambda D, g: np.where(D <= g, D, 2 * np.sqrt(g * D) - g),
    "l1": lambda D, _: 2 * np.sqrt(D),
}
"""What robust weightings of single entries minimise."""


def an_order(case: Case, data: Any) -> str:
    """Either order; Semi-NMF's codes-first would begin with codes that a random basis of the wrong signs sends to 0."""
    return ORDERS[0] if case.semi else str(data.draw(orders))


def exact_fit(case: Case, X: NDArray[np.float64]) -> float:
    """What is left of ``E`` where the fit is exact: every entry is off by some units in its last place."""
    return float((16 * np.finfo(X.dtype).eps) ** 2 * np.sum(np.abs(X) ** case.degree))


@pytest.mark.parametrize("case", MONOTONE, ids=str)
@settings(max_examples=settings().max_examples * 2 // 3)
@given(kernel=st.sampled_from([kernel_for, Kernel]), data=st.data())
def test_excess_never_rises(case: Case, kernel: Any, data: Any) -> None:
    instance = Instance.of(case, data.draw(recipes()))
    with patch("ewnmf.solvers.orders.kernel_for", kernel):
        E = excesses(case, instance, order=data.draw(orders), max_iter=30)
    assert np.all(np.diff(E) <= 1e-12 * E[0] + exact_fit(case, instance.X))


NEARLY_DEPENDENT = [
    Recipe(828, 4, 4, 2, 0.1, False, False, False, False, 0),
    Recipe(123, 4, 6, 3, 0.1, True, False, False, False, 0),
    Recipe(748, 6, 7, 3, 1.0, True, False, False, False, 0),
    Recipe(1106, 5, 7, 4, 1.0, True, False, False, False, 0),
]


@pytest.mark.parametrize("recipe", NEARLY_DEPENDENT, ids=lambda recipe: str(recipe.seed))
@pytest.mark.parametrize("case", cases(semi=True, mixed=True), ids=str)
def test_codes_that_come_to_depend_on_each_other_keep_the_excess_falling(case: Case, recipe: Recipe) -> None:
    """Rows of ``H`` become nearly equal, and the least squares for ``W`` nearly singular."""
    E = excesses(case, Instance.of(case, recipe), order="codes-first", max_iter=40)
    assert np.all(np.diff(E) <= 1e-12 * E[0])


@pytest.mark.parametrize("case", cases(weighting="entropy") + cases(weighting="fixed", soft=True), ids=str)
@given(data=st.data())
def test_excess_never_rises_with_priors_and_point_weights(case: Case, data: Any) -> None:
    instance = Instance.of(case, data.draw(recipes()))
    s = np.random.default_rng(0).uniform(0.1, 3, len(instance.X))
    seen: list[float] = []
    solve(
        instance.problem(case),
        instance.data(case, P=instance.weights.T, s=s),
        instance.start(case),
        order=data.draw(orders),
        max_iter=20,
        n_jobs=1,
        callbacks=[lambda at: seen.append(at.excess)],
    )
    assert np.all(np.diff(seen) <= 1e-12 * seen[0] + 6 * exact_fit(case, instance.X))


def penalty(case: Case, W: NDArray[Any], H: NDArray[Any], mean_weight: float) -> float:
    """``mu`` times the overlaps of one factor plus ``lam`` times the squares of the other, of soft ONMF."""
    if not case.soft:
        return 0.0
    assert isinstance(case.model, Orthogonal)
    one, other = (H, W.T) if case.model.of == "codes" else (W.T, H)
    overlaps = np.sum(one.sum(axis=0) ** 2) - np.sum(one**2)
    return float(mean_weight * (case.model.mu * overlaps + case.model.lam * np.sum(other**2)))


@pytest.mark.parametrize("case", PAIRED, ids=str)
@few
@given(data=st.data())
def test_reported_objective_is_that_of_the_factors(case: Case, data: Any) -> None:
    instance = Instance.of(case, data.draw(calm))
    X, gamma, m = instance.X.T, instance.gamma, instance.X.shape[1]
    seen: list[Iteration] = []
    answer = run(case, instance, order=data.draw(orders), max_iter=4, callbacks=[seen.append])
    assert [at.number for at in seen] == [1, 2, 3, 4]
    np.testing.assert_array_equal(answer.history, [at.objective for at in seen])
    for at in seen:
        W, H = at.factors.W, at.factors.H
        Y = W @ H
        D = case.loss.divergence(X, Y if case.loss.signed else np.maximum(Y, 1e-80))
        if case.weighting == "entropy":
            low = D.min(axis=0)
            J = float(np.sum(low - gamma * np.log(np.sum(np.exp((low - D) / gamma), axis=0))))
            bound, mean_weight = gamma * X.shape[1] * np.log(m), 1 / m
        elif case.weighting in PHI:
            J, bound, mean_weight = float(np.sum(PHI[case.weighting](D, gamma))), 0.0, 1.0
        else:
            A = instance.weights.T if case.weighting == "fixed" else np.ones_like(X)
            J, bound, mean_weight = float(np.sum(A * D)), 0.0, float(A.mean())
        J += penalty(case, W, H, mean_weight)
        slack = 2e-6 * X.size * max(1.0, abs(X).max()) if case.weighting == "l1" else 1e-11 * (bound + X.max())
        assert at.objective == pytest.approx(J, rel=1e-9, abs=slack)
        assert at.excess == pytest.approx(J + bound, rel=1e-9, abs=slack)


@pytest.mark.parametrize("case", cases(weighting="entropy"), ids=str)
@few
@given(data=st.data())
def test_an_iteration_is_a_step_under_the_weights_of_its_beginning(case: Case, data: Any) -> None:
    """Algorithm 1: both factors move under Eq. (18) of the factors before them, and under uniform weights at first."""
    instance, order = Instance.of(case, data.draw(calm)), an_order(case, data)
    fixed = replace(case, weighting="fixed")
    X, weighting = instance.X.T, Entropy(instance.gamma)
    seen: list[Iteration] = []
    run(case, instance, order=order, max_iter=3, callbacks=[seen.append])
    at, T = instance, np.ones_like(X)
    for reached in (iteration.factors for iteration in seen):
        step: list[Iteration] = []
        run(fixed, replace(at, weights=T.T), order=order, max_iter=1, callbacks=[step.append])
        assert same(step[0].factors.W, reached.W, close(case))
        assert same(step[0].factors.H, reached.H, close(case))
        Y = reached.W @ reached.H
        T = weighting.weigh(case.loss.divergence(X, Y if case.loss.signed else np.maximum(Y, 1e-80)))
        U = at.combinations if reached.U is None else reached.U
        at = replace(at, codes=reached.H.T, components=reached.W.T, combinations=U)


@pytest.mark.parametrize("case", cases(PAIRED, soft=False), ids=str)
@few
@given(c=st.sampled_from([1e-3, 10.0, 1e4]), data=st.data())
def test_scaled_data_with_scaled_gamma_have_the_same_weights(case: Case, c: float, data: Any) -> None:
    instance, order = Instance.of(case, data.draw(calm)), an_order(case, data)
    one, other = (run(case, i, order=order, max_iter=8) for i in (instance, instance.scaled(c, case.degree)))
    # Absolute errors have half the degree: their weights are in a unit.
    kept = c ** (-case.degree / 2) if case.weighting == "l1" else 1.0
    assert same(kept * one.weights(), other.weights(), close(case))
    assert same(c * one.codes @ one.components, other.codes @ other.components, close(case))
    assert other.excess == pytest.approx(
        kept * c**case.degree * one.excess, rel=close(case), abs=exact_fit(case, c * instance.X)
    )


@pytest.mark.parametrize("case", PAIRED, ids=str)
@few
@given(data=st.data())
def test_permuted_points_and_attributes_permute_the_answer(case: Case, data: Any) -> None:
    instance, order = Instance.of(case, data.draw(calm)), an_order(case, data)
    points, attributes = (np.random.default_rng(1).permutation(size) for size in instance.X.shape)
    one, other = (run(case, i, order=order, max_iter=8) for i in (instance, instance.permuted(points, attributes)))
    assert same(one.codes[points], other.codes, close(case))
    assert same(one.components[:, attributes], other.components, close(case))
    assert same(one.weights()[points][:, attributes], other.weights(), close(case))
    assert one.excess == pytest.approx(other.excess, rel=close(case), abs=exact_fit(case, instance.X))


def agree(one: Factorization, other: Factorization, tolerance: float) -> None:
    assert same(one.codes, other.codes, tolerance)
    assert same(one.components, other.components, tolerance)


@pytest.mark.parametrize("case", cases(weighting="fixed", soft=False), ids=str)
@few
@given(data=st.data())
def test_an_attribute_of_weight_zero_is_as_good_as_deleted(case: Case, data: Any) -> None:
    instance, order = Instance.of(case, data.draw(calm)), an_order(case, data)
    gone = data.draw(st.integers(0, instance.X.shape[1] - 1))
    weights = instance.weights.copy()
    weights[:, gone] = 0
    weights[:, gone - 1] = 1
    kept = np.delete(np.arange(weights.shape[1]), gone)
    less = replace(instance, X=instance.X[:, kept], weights=weights[:, kept], components=instance.components[:, kept])
    one, other = (run(case, i, order=order, max_iter=8) for i in (replace(instance, weights=weights), less))
    agree(replace(one, components=one.components[:, kept]), other, close(case))
    assert one.objective == pytest.approx(other.objective, rel=close(case), abs=exact_fit(case, instance.X))


@pytest.mark.parametrize("case", cases(weighting="fixed", convex=False), ids=str)
@few
@given(data=st.data())
def test_what_is_written_under_weight_zero_does_not_matter(case: Case, data: Any) -> None:
    instance, order = Instance.of(case, data.draw(calm)), an_order(case, data)
    hidden = instance.weights == 0
    X = np.where(hidden, np.random.default_rng(2).uniform(0.1, 50, hidden.shape), instance.X)
    one, other = (run(case, i, order=order, max_iter=8) for i in (instance, replace(instance, X=X)))
    agree(one, other, close(case))
    assert one.objective == pytest.approx(other.objective, rel=close(case), abs=exact_fit(case, instance.X))


@pytest.mark.parametrize("case", cases(weighting="fixed"), ids=str)
@few
@given(c=st.sampled_from([1e-3, 7.0, 1e4]), data=st.data())
def test_scaled_weights_change_nothing_but_the_objective(case: Case, c: float, data: Any) -> None:
    instance, order = Instance.of(case, data.draw(calm)), an_order(case, data)
    one, other = (run(case, instance, order=order, weights=a * instance.weights, max_iter=8) for a in (1, c))
    agree(one, other, close(case))
    assert other.objective == pytest.approx(c * one.objective, rel=close(case), abs=c * exact_fit(case, instance.X))


@pytest.mark.parametrize("case", cases(hard=True), ids=str)
@few
@given(data=st.data())
def test_hard_factors_are_orthonormal(case: Case, data: Any) -> None:
    answer = run(case, Instance.of(case, data.draw(recipes())), order=data.draw(orders), max_iter=8)
    assert isinstance(case.model, Orthogonal)
    F = answer.codes.T if case.model.of == "codes" else answer.components
    assert np.all(np.count_nonzero(F, axis=0) <= 1)
    used = F.any(axis=1)
    assert used.any() or case.steep
    np.testing.assert_allclose(F @ F.T, np.diag(used.astype(float)), rtol=0, atol=1e-12)
