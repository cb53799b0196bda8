"""Fixed components: they do not move by a bit, and the others are learned as without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import ewnmf
from ewnmf import losses, models
from tests.problems import ORDERS, OTHERS, PAIRED, WEIGHTINGS, Case, Instance, kernels, recipes, run, same

few = settings(max_examples=settings().max_examples // 3)
QUICK: dict[str, Any] = {"tol": 0, "max_iter": 25, "random_state": 0}


def takes_fixed(case: Case) -> bool:
    return not case.convex and getattr(case.model, "of", "codes") == "codes"


CASES = [case for case in (*PAIRED, *OTHERS) if takes_fixed(case)]
PENALISED = [
    Case(models.NMF(0.01, 0.02, 1.0 if isinstance(loss, losses.Alpha) else 0.4), loss, weighting)
    for loss in (losses.Euclidean(), losses.KullbackLeibler(), losses.Alpha(0.3))
    for weighting in WEIGHTINGS
]


def held_in(instance: Instance, case: Case, seed: int, count: int) -> Any:
    """Components that fit the data no better than others do, with zeros among them."""
    rng = np.random.default_rng(seed)
    fixed = rng.uniform(-1 if case.semi else 0, 1, (count, instance.X.shape[1]))
    fixed[rng.random(fixed.shape) < 0.2] = 0
    return fixed


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(4)
    return rng.random((40, 3)) @ rng.random((3, 12)) + 0.1 * rng.random((40, 12)) + 0.01


@pytest.mark.parametrize("case", [*CASES, *PENALISED], ids=str)
@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_fixed_components_do_not_move_by_a_bit_and_excess_never_rises(case: Case, data: Any, seed: int) -> None:
    instance = Instance.of(case, data.draw(recipes()))
    fixed = held_in(instance, case, seed, data.draw(st.integers(0, instance.K)))
    rng = np.random.default_rng(seed)
    plain = case in OTHERS
    options: dict[str, Any] = {"order": data.draw(st.sampled_from(ORDERS)), "fixed_components": fixed, "max_iter": 12}
    if data.draw(st.booleans()):
        options["sample_weight"] = rng.uniform(0.1, 3, len(instance.X))
    if data.draw(st.booleans()) and not plain:
        hidden = rng.random(instance.X.shape) < 0.2
        hidden[:, 0] = hidden[0] = False
        options["mask"] = ~hidden
        options["weights" if case.weighting == "fixed" else "feature_weight"] = (
            np.maximum(instance.weights, 0.1) if case.weighting == "fixed" else rng.uniform(0.1, 2, instance.X.shape[1])
        )
    if isinstance(case.model, models.NMF) and data.draw(st.booleans()):
        options["solver"] = "accelerated"
    seen: list[Any] = []
    with kernels(data.draw(st.booleans()) and case.common):
        answer = run(case, instance, callbacks=[lambda at: seen.append((at.excess, at.components.copy()))], **options)
    for components in (answer.components, *(components for _, components in seen)):
        np.testing.assert_array_equal(components[: len(fixed)], fixed)
    if not plain:
        E = np.array([excess for excess, _ in seen])
        exact = 8 * (16 * np.finfo(float).eps) ** 2 * np.sum(np.abs(instance.X) ** case.degree)
        if case.loss.degree == 2:
            exact += 1e-24 * float(np.sum((fixed.sum(axis=0)) ** 2))
        assert np.all(np.diff(E) <= 1e-12 * E[0] + exact)


@pytest.mark.parametrize("case", [case for case in CASES if not case.steep and not case.hard], ids=str)
@few
@given(data=st.data())
def test_no_fixed_component_changes_nothing(case: Case, data: Any) -> None:
    instance = Instance.of(case, data.draw(recipes(calm=True)))
    empty = np.empty((0, instance.X.shape[1]))
    one, other = (run(case, instance, max_iter=5, fixed_components=fixed) for fixed in (None, empty))
    np.testing.assert_array_equal(one.components, other.components)
    np.testing.assert_array_equal(one.codes, other.codes)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_a_signed_step_is_the_least_squares_of_the_rest(weighting: str, X: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    codes, components, fixed = rng.random((40, 4)), rng.random((4, 12)), rng.normal(size=(2, 12))
    A = rng.uniform(0.5, 2, X.shape) if weighting == "fixed" else np.ones(X.shape)
    options: dict[str, Any] = {"weights": A} if weighting == "fixed" else {}
    answer = ewnmf.factorize(
        X - 0.5,
        4,
        model="semi-nmf",
        weighting=weighting,
        gamma=1e9,
        codes=codes,
        components=components,
        fixed_components=fixed,
        max_iter=1,
        **options,
    )
    rest = X - 0.5 - codes[:, :2] @ fixed
    for i in range(12):
        root = np.sqrt(A[:, i])
        best = np.linalg.lstsq(codes[:, 2:] * root[:, None], rest[:, i] * root, rcond=None)[0]
        np.testing.assert_allclose(answer.components[2:, i], best, rtol=1e-4, atol=1e-4)


def test_a_known_component_helps_to_find_the_others() -> None:
    rng = np.random.default_rng(2)
    truth = rng.gamma(0.5, size=(3, 20))
    codes = rng.random((200, 3))
    model = ewnmf.NMF(3, fixed_components=truth[:2], tol=0, max_iter=4000, random_state=0).fit(codes @ truth)
    np.testing.assert_array_equal(model.components_[:2], truth[:2])
    assert np.corrcoef(model.components_[2], truth[2])[0, 1] > 0.99


MODELS: list[Any] = [
    ewnmf.EWNMF(3, **QUICK),
    ewnmf.NMF(3, alpha_W=0.01, l1_ratio=0.5, init="nndsvda", n_init=2, **QUICK),
    ewnmf.NMF(3, solver="accelerated", order="components-first", **QUICK),
    ewnmf.SemiNMF(3, **QUICK),
    ewnmf.ONMF(3, weighting="entropy", **QUICK),
    ewnmf.ONMF(3, method="soft", **QUICK),
    ewnmf.ONMF(3, method="lagrange", **QUICK),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [1, 3])
def test_estimators_hold_components_in_the_precision_of_the_data(
    model: Any, dtype: Any, count: int, X: np.ndarray
) -> None:
    fixed = np.random.default_rng(1).random((count, 12))
    fixed[:, 5] = 0
    fitted = clone(model).set_params(fixed_components=fixed.tolist()).fit(X.astype(dtype))
    np.testing.assert_array_equal(fitted.components_[:count], fixed.astype(dtype))
    assert fitted.transform(X).shape == (40, 3)
    again = clone(fitted).fit(X.astype(dtype))
    np.testing.assert_array_equal(again.components_, fitted.components_)


def test_sparse_data_and_attributes_without_observations(X: np.ndarray) -> None:
    X[:, 3] = X[:, 8] = 0
    fixed = np.zeros((1, 12))
    fixed[0, 3:6] = 0.5
    options: dict[str, Any] = {"order": "components-first", **QUICK}
    for model in (ewnmf.EWNMF(3, gamma=0.1, **options), ewnmf.NMF(3, loss="kullback-leibler", **options)):
        model.set_params(fixed_components=fixed)
        dense = clone(model).fit(X)
        thin = clone(model).fit(sparse.csr_array(X))
        np.testing.assert_array_equal(thin.components_[:1], fixed)
        np.testing.assert_allclose(thin.components_, dense.components_, rtol=1e-8, atol=1e-12)
        assert not thin.components_[1:, 8].any()
        gaps = X.copy()
        gaps[:, 4] = np.nan
        with pytest.warns(UserWarning, match="1 attribute"):
            model.fit(gaps)
        np.testing.assert_array_equal(model.components_[:1], fixed)
        assert not model.components_[1:, 4].any()


def test_penalties_and_weights_reach_the_others(X: np.ndarray) -> None:
    fixed = X[:1]
    s = np.arange(40) % 3
    options: dict[str, Any] = {"fixed_components": fixed, **QUICK}
    free = ewnmf.NMF(3, alpha_H=0.5, alpha_W=0.5, l1_ratio=1, **options).fit(X)
    assert free.components_[1:].sum() < 0.5 * ewnmf.NMF(3, **options).fit(X).components_[1:].sum()
    weighted = ewnmf.EWNMF(3, **options).fit(X, sample_weight=s)
    repeated = ewnmf.EWNMF(3, **options).fit(np.repeat(X, s, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-6)


REFUSED = [
    (ewnmf.ConvexNMF(2), np.ones((1, 12)), r"the components of model='convex-nmf' are combinations .*Use NMF or Semi"),
    (ewnmf.ONMF(2, of="components"), np.ones((1, 12)), r"makes its components orthogonal\. Use of='codes', or NMF"),
    (ewnmf.ONMF(2, of="components", method="soft"), np.ones((1, 12)), r"makes its components orthogonal"),
    (ewnmf.NMF(2), np.ones((1, 11)), r"fixed_components has 11 columns, but X has 12 features"),
    (ewnmf.NMF(2), np.ones((3, 12)), r"fixed_components has 3 rows, but n_components=2, .*raise it to 3"),
    (ewnmf.NMF(2), np.full((1, 12), np.nan), r"fixed_components has values that are NaN or infinite"),
    (ewnmf.EWNMF(2), -np.ones((1, 12)), r"fixed_components has negative values, the smallest -1; .*SemiNMF"),
]


@pytest.mark.parametrize(("model", "fixed", "message"), REFUSED, ids=str)
def test_refusals(model: Any, fixed: Any, message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(fixed_components=fixed).fit(X)


@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_attributes_can_change_places(data: Any, seed: int) -> None:
    case = Case(models.NMF(), losses.KullbackLeibler(), "entropy")
    instance = Instance.of(case, data.draw(recipes(calm=True)))
    fixed = held_in(instance, case, seed, 1)
    order = np.random.default_rng(seed).permutation(instance.X.shape[1])
    points = np.arange(len(instance.X))
    one = run(case, instance, max_iter=6, fixed_components=fixed)
    other = run(case, instance.permuted(points, order), max_iter=6, fixed_components=fixed[:, order])
    assert same(one.components[:, order], other.components, 1e-9)
