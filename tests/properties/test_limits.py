"""The limits: gamma to infinity, constant weights, blocks of every size, threads of every number."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ewnmf import factorize
from ewnmf.losses.alpha import Alpha
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler
from ewnmf.models.nmf import NMF
from ewnmf.solvers.loop import Solution, solve
from tests.problems import DEFINED, ORDERS, OTHERS, PAIRED, Case, Instance, Recipe, cases, recipes, run, same

calm = recipes(calm=True)
orders = st.sampled_from(ORDERS)
few = settings(max_examples=settings().max_examples // 2)


def unweighted(case: Case) -> Case:
    """What entropy weights become at infinite gamma: no weights, or equal ones where those have rules of their own."""
    own_rules = case.semi or (case.convex and isinstance(case.loss, Euclidean))
    return replace(case, weighting="fixed" if own_rules else "none")


@pytest.mark.parametrize("case", cases(weighting="entropy"), ids=str)
@few
@given(gamma=st.sampled_from([1e12, math.inf]), data=st.data())
def test_infinite_gamma_is_no_weighting(case: Case, gamma: float, data: Any) -> None:
    instance = Instance.of(case, data.draw(calm))
    order = ORDERS[0] if case.semi else data.draw(orders)
    m = instance.X.shape[1]
    one = run(case, instance, gamma=gamma, order=order, max_iter=8)
    other = run(unweighted(case), replace(instance, weights=np.ones_like(instance.X)), order=order, max_iter=8)
    assert same(one.codes, other.codes, 1e-6 if case.semi else 1e-8)
    assert same(one.components, other.components, 1e-6 if case.semi else 1e-8)
    np.testing.assert_allclose(one.weights(), 1 / m, rtol=1e-9)
    assert m * one.excess == pytest.approx(other.excess, rel=1e-7)


@pytest.mark.parametrize("case", [c for c in cases(weighting="fixed") if unweighted(c).weighting == "none"], ids=str)
@few
@given(data=st.data())
def test_weights_of_one_are_no_weighting(case: Case, data: Any) -> None:
    instance, order = Instance.of(case, data.draw(calm)), data.draw(orders)
    one = run(case, instance, order=order, weights=None, max_iter=8)
    other = run(unweighted(case), instance, order=order, max_iter=8)
    if case.model == NMF() and isinstance(case.loss, Euclidean):
        # Squared errors without weights have a rule of their own, of fewer products.
        assert same(one.codes, other.codes, 1e-9)
        assert same(one.components, other.components, 1e-9)
        return
    np.testing.assert_array_equal(one.codes, other.codes)
    np.testing.assert_array_equal(one.components, other.components)


def solved(case: Case, instance: Instance, order: str, width: int | None, n_jobs: int = 1) -> Solution:
    data, start = instance.data(case, width=width), instance.start(case)
    return solve(instance.problem(case), data, start, order=order, max_iter=4, n_jobs=n_jobs)


@pytest.mark.parametrize("case", [*PAIRED, *OTHERS], ids=str)
@few
@given(width=st.integers(1, 4), data=st.data())
def test_blocks_change_nothing(case: Case, width: int, data: Any) -> None:
    instance = Instance.of(case, data.draw(calm))
    order = ORDERS[0] if case.semi else data.draw(orders)
    whole, cut = (solved(case, instance, order, w) for w in (None, width))
    tolerance = 1e-6 if case.semi else 1e-10
    assert same(whole.factors.W, cut.factors.W, tolerance)
    assert same(whole.factors.H, cut.factors.H, tolerance)
    np.testing.assert_allclose(cut.history, whole.history, rtol=tolerance, atol=tolerance * abs(whole.history[0]))
    assert cut.excess == pytest.approx(whole.excess, rel=tolerance, abs=1e-26)


THREADED = [c for c in DEFINED if c.loss in (Euclidean(), KullbackLeibler(), Alpha(0.3), Alpha(1e-9))]
IN_TURNS = [(case, ORDERS[(at + at // len(ORDERS)) % len(ORDERS)]) for at, case in enumerate(THREADED)]
"""Each with one of the orders, whose blocks are the same."""


@pytest.mark.parametrize(("case", "order"), IN_TURNS, ids=str)
def test_threads_give_the_same_bits(case: Case, order: str) -> None:
    instance = Instance.of(case, Recipe(5, 30, 12, 3, 0.1, True, True, False, False, -1))
    one, *others = (solved(case, instance, order, 4, n_jobs) for n_jobs in (1, 2, 4))
    for other in others:
        np.testing.assert_array_equal(one.factors.W, other.factors.W)
        np.testing.assert_array_equal(one.factors.H, other.factors.H)
        assert one.history == other.history


@pytest.mark.parametrize("weighting", ["none", "entropy"])
def test_threads_give_the_same_bits_on_data_of_many_blocks(weighting: str) -> None:
    X = np.random.default_rng(0).uniform(size=(70, 4200))
    one, *others = (factorize(X, 2, weighting=weighting, max_iter=4, rng=1, n_jobs=n) for n in (1, 2, 4, None))
    for other in others:
        np.testing.assert_array_equal(one.codes, other.codes)
        np.testing.assert_array_equal(one.components, other.components)


@pytest.mark.parametrize("gamma", [0.1, "auto", math.inf])
@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler", "alpha"])
def test_kept_weights_are_those_made_anew(loss: str, gamma: float | str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).random((150, 60))
    kept = factorize(X, 7, rng=0, gamma=gamma, max_iter=12, loss=loss)
    monkeypatch.setattr("ewnmf.storage.memory._KEPT_BYTES", 0)
    anew = factorize(X, 7, rng=0, gamma=gamma, max_iter=12, loss=loss)
    np.testing.assert_array_equal(kept.codes, anew.codes)
    np.testing.assert_array_equal(kept.components, anew.components)
    np.testing.assert_array_equal(kept.history, anew.history)


@pytest.mark.parametrize("case", cases(weighting="entropy", model=NMF()), ids=str)
@few
@given(data=st.data())
def test_tuned_gamma_follows_the_scale_and_then_lets_the_excess_fall(case: Case, data: Any) -> None:
    instance = Instance.of(case, data.draw(calm))
    seen: list[Any] = []
    one = run(case, instance, gamma="self-tuned", max_iter=30, callbacks=[seen.append])
    other = run(case, instance.scaled(1e3, case.degree), gamma="self-tuned", max_iter=30)
    assert one.gamma is not None
    assert other.gamma == pytest.approx(1e3**case.degree * one.gamma, rel=1e-8)
    assert [at.number for at in seen if at.settled] == list(range(16, 31))
    excess = [at.excess for at in seen if at.settled]
    assert np.all(np.diff(excess) <= 1e-12 * excess[0])
    mean_loss = case.loss.divergence(instance.X.T, np.maximum(seen[14].factors.W @ seen[14].factors.H, 1e-80)).mean()
    assert one.gamma == pytest.approx(8 * mean_loss, rel=1e-9)
