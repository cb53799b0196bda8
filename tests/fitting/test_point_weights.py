"""Weights of points and attributes: a point of weight 2 is the point twice, and order changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import ewnmf
from ewnmf import losses, models, weightings
from ewnmf.fitting.nndsvd import nndsvd
from ewnmf.fitting.points import Points
from ewnmf.problem import Problem
from ewnmf.storage.matrix import storage
from tests.problems import ORDERS, OTHERS, PAIRED, Case, Instance, excesses, kernels, recipes, run, same

few = settings(max_examples=settings().max_examples // 3)
QUICK: dict[str, Any] = {"tol": 0, "max_iter": 25, "random_state": 0}
ESTIMATORS: list[Any] = [
    ewnmf.EWNMF(3, **QUICK),
    ewnmf.EWNMF(3, loss="alpha", gamma=0.1, init="nndsvdar", **QUICK),
    ewnmf.NMF(3, loss="kullback-leibler", init="nndsvd", **QUICK),
    ewnmf.NMF(3, solver="accelerated", init="nndsvda", **QUICK),
    ewnmf.SemiNMF(3, **QUICK),
    ewnmf.SemiNMF(3, weighting="entropy", gamma=0.5, **QUICK),
    ewnmf.ConvexNMF(3, init="nndsvda", **QUICK),
    ewnmf.ConvexNMF(3, weighting="entropy", loss="kullback-leibler", **QUICK),
    ewnmf.ONMF(3, weighting="entropy", gamma=0.5, **QUICK),
    ewnmf.ONMF(3, of="components", **QUICK),
    ewnmf.ONMF(3, method="soft", mu=0.3, **QUICK),
    ewnmf.ONMF(3, method="soft", of="components", weighting="entropy", **QUICK),
    ewnmf.ONMF(3, method="lagrange", **QUICK),
    ewnmf.ONMF(3, method="stiefel", of="components", **QUICK),
]
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=str)


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(4)
    return rng.random((30, 3)) @ rng.random((3, 12)) + 0.1 * rng.random((30, 12)) + 0.01


def close(case: Case) -> float:
    return 1e-6 if case.semi else 1e-9


@pytest.mark.parametrize("case", [case for case in (*PAIRED, *OTHERS) if not case.steep], ids=str)
@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_weight_two_is_the_point_twice(case: Case, data: Any, seed: int) -> None:
    instance = Instance.of(case, data.draw(recipes(calm=True)))
    order = ORDERS[0] if case.semi else str(data.draw(st.sampled_from(ORDERS)))
    weights = np.random.default_rng(seed).integers(1, 4, len(instance.X))
    rows = np.repeat(np.arange(len(weights)), weights)
    again = replace(
        instance,
        X=instance.X[rows],
        weights=instance.weights[rows],
        codes=instance.codes[rows],
        combinations=instance.combinations[rows],
    )
    start = {"combinations": instance.combinations * weights[:, None]} if case.convex else {}
    one = run(case, instance, sample_weight=weights, order=order, max_iter=6, **start)
    other = run(case, again, order=order, max_iter=6)
    assert same(one.components, other.components, close(case))
    assert same(one.codes[rows], other.codes, close(case))
    assert same(one.weights()[rows], other.weights(), close(case))
    assert one.objective == pytest.approx(other.objective, rel=close(case), abs=1e-10)
    assert one.loss == pytest.approx(other.loss, rel=close(case), abs=1e-10)


@pytest.mark.parametrize("case", PAIRED, ids=str)
@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_excess_never_rises_with_weights_of_points_and_attributes(case: Case, data: Any, seed: int) -> None:
    instance = Instance.of(case, data.draw(recipes()))
    rng = np.random.default_rng(seed)
    s, f = (rng.uniform(0.1, 3, size) for size in instance.X.shape)
    options: dict[str, Any] = {"order": data.draw(st.sampled_from(ORDERS)), "sample_weight": s, "feature_weight": f}
    E = excesses(case, instance, max_iter=20, **options)
    exact = 9 * (16 * np.finfo(float).eps) ** 2 * np.sum(np.abs(instance.X) ** case.degree)
    assert np.all(np.diff(E) <= 1e-12 * E[0] + exact)


@every_estimator
def test_estimators_count_a_point_as_often_as_its_weight(model: Any, X: np.ndarray) -> None:
    weights = np.arange(30) % 4
    rows = np.repeat(np.arange(30), weights)
    order = np.random.default_rng(0).permutation(30)
    repeated = clone(model).fit(X[rows])
    weighted = clone(model).fit(X[order], sample_weight=weights[order])
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-5, atol=1e-8)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    assert weighted.gamma_ == (None if repeated.gamma_ is None else pytest.approx(repeated.gamma_, rel=1e-8))
    assert weighted.reconstruction_err_ == pytest.approx(repeated.reconstruction_err_, rel=1e-8)
    score = weighted.score(X, sample_weight=weights)
    assert score == pytest.approx(repeated.score(X[rows]), rel=1e-6)
    if isinstance(model, ewnmf.ConvexNMF):
        np.testing.assert_allclose(weighted.components_, weighted.combinations_.T @ X[order], rtol=1e-9)
        assert not weighted.combinations_[weights[order] == 0].any()


@every_estimator
def test_points_of_weight_zero_have_no_influence(model: Any, X: np.ndarray) -> None:
    weights = (np.arange(30) % 3 > 0).astype(float)
    other = np.where(weights[:, None] > 0, X, 1000 * X[::-1])
    components = clone(model).fit(X, sample_weight=weights).components_
    np.testing.assert_array_equal(clone(model).fit(other, sample_weight=weights).components_, components)
    np.testing.assert_array_equal(clone(model).fit(X[weights > 0]).components_, components)


@pytest.mark.parametrize("counts", [[2, 2, 2, 2, 0, 0, 0], [2, 0, 2, 0, 0, 0, 0]])
def test_weighted_and_repeated_points_start_alike_where_they_are_few(counts: list[int], X: np.ndarray) -> None:
    """Fewer points than components, but not when each is counted twice, or with those of no weight."""
    model = ewnmf.SemiNMF(5, **QUICK)
    once = clone(model).fit(100 * X[:7], sample_weight=np.array(counts, dtype=float))
    twice = clone(model).fit(100 * np.repeat(X[:7], counts, axis=0))
    np.testing.assert_allclose(once.components_, twice.components_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weighting", ["none", "fixed", "entropy"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_a_negative_value_of_weight_zero_is_no_reason_to_refuse_the_point(
    weighting: str, store: Any, X: np.ndarray
) -> None:
    """What `fit` takes, `transform` takes, and the other points do not see it."""
    mixed = X.copy()
    mixed[4, 3:5] = -2
    weights = (np.arange(30) != 4).astype(float)
    asked: dict[str, Any] = {"weighting": weighting, **QUICK, "max_iter": 300}
    model = ewnmf.ConvexNMF(3, **asked, gamma=1.0).fit(store(mixed), sample_weight=weights)
    codes = model.transform(store(mixed))
    np.testing.assert_array_equal(codes[weights > 0], model.transform(store(X[weights > 0])))
    A = model.weights(store(mixed))[4] if weighting == "entropy" else np.ones(12)
    _, least = nnls((np.sqrt(A) * model.components_).T, np.sqrt(A) * mixed[4])
    assert np.linalg.norm(np.sqrt(A) * (mixed[4] - codes[4] @ model.components_)) <= least + 0.05
    assert np.isfinite(model.score(store(mixed)))


@every_estimator
def test_weights_of_one_change_nothing(model: Any, X: np.ndarray) -> None:
    plain = clone(model).fit(X).components_
    np.testing.assert_array_equal(clone(model).fit(X, sample_weight=np.ones(30)).components_, plain)
    if getattr(model, "method", "hard") in ("hard", "soft"):
        again = clone(model).set_params(feature_weight=np.ones(12)).fit(X).components_
        np.testing.assert_array_equal(again, plain)


@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler", losses.Alpha(0.3)])
def test_an_attribute_of_weight_two_is_the_attribute_twice(loss: Any, X: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    codes, components = rng.random((30, 3)), rng.random((3, 12))
    f = np.arange(12) % 3 + 1.0
    columns = np.repeat(np.arange(12), f.astype(int))
    for weighting in ("none", "entropy"):
        options: dict[str, Any] = {"loss": loss, "weighting": weighting, "gamma": 0.2, "codes": codes, "max_iter": 15}
        one = ewnmf.factorize(X, 3, components=components, feature_weight=f, **options)
        other = ewnmf.factorize(X[:, columns], 3, components=components[:, columns], **options)
        np.testing.assert_allclose(one.components[:, columns], other.components, rtol=1e-9)
        np.testing.assert_allclose(one.codes, other.codes, rtol=1e-9)
        np.testing.assert_allclose((one.weights() / f)[:, columns], other.weights(), rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("weighting", ["none", "fixed", "entropy"])
def test_feature_weights_hold_for_new_points(weighting: str, X: np.ndarray) -> None:
    f = np.r_[np.zeros(3), np.linspace(0.5, 2, 9)]
    model = ewnmf.NMF(3, weighting=weighting, gamma=0.1, feature_weight=f, **QUICK)
    model.fit(X)
    assert not model.components_[:, :3].any()
    junk = X.copy()
    junk[:, :3] = 50.0
    np.testing.assert_allclose(model.transform(junk), model.transform(X), rtol=1e-12)
    weights = model.weights(X)
    assert not weights[:, :3].any()
    if weighting == "entropy":
        np.testing.assert_allclose(weights.sum(axis=1), 1)
    else:
        np.testing.assert_array_equal(weights, np.tile(f if weighting == "fixed" else f / f.sum(), (30, 1)))
    assert model.score(junk) == pytest.approx(model.score(X), rel=1e-12)


def test_all_weights_multiply(X: np.ndarray) -> None:
    rng = np.random.default_rng(2)
    A, s, f = rng.uniform(0.1, 2, (30, 12)), rng.uniform(0.1, 2, 30), rng.uniform(0.1, 2, 12)
    mask = rng.random((30, 12)) < 0.8
    codes, components = rng.random((30, 3)), rng.random((3, 12))
    start: dict[str, Any] = {"weighting": "fixed", "codes": codes, "components": components, "max_iter": 12}
    one = ewnmf.factorize(X, 3, weights=A, mask=mask, sample_weight=s, feature_weight=f, **start)
    other = ewnmf.factorize(X, 3, weights=A * mask * f * s[:, None], **start)
    np.testing.assert_allclose(one.components, other.components, rtol=1e-9)
    np.testing.assert_allclose(one.codes, other.codes, rtol=1e-9)
    assert one.objective == pytest.approx(other.objective, rel=1e-10)
    np.testing.assert_allclose(one.weights(), A * mask * f, rtol=1e-14)


def test_starts_of_sparse_single_and_repeated_points_agree(X: np.ndarray) -> None:
    X = (X * (X > 0.5)).astype(np.float32)
    model = ewnmf.NMF(3, tol=0, max_iter=1, random_state=0)
    dense = clone(model).fit(X.astype(np.float64)).components_
    np.testing.assert_allclose(clone(model).fit(sparse.csr_array(X.astype(np.float64))).components_, dense, rtol=1e-9)
    np.testing.assert_allclose(clone(model).fit(X).components_, dense, rtol=1e-4)
    assert not np.allclose(clone(model).set_params(random_state=1).fit(X).components_, dense, rtol=1e-2)


def test_start_codes_are_uniform_and_differ_between_points() -> None:
    from ewnmf.fitting.starts import point_numbers

    numbers = point_numbers(np.random.default_rng(0).random((4000, 3)), None, 2, b"key")
    assert len(np.unique(numbers)) == 8000
    for k in range(2):
        counts = np.histogram(numbers[:, k], bins=10, range=(0, 1))[0]
        assert np.sum((counts - 400) ** 2 / 400) < 27.9  # chi-square of 9 degrees of freedom, 99.9 %
    assert abs(float(np.asarray(np.corrcoef(numbers.T))[0, 1])) < 0.06


BAD = [
    (np.ones(29), r"has shape \(29,\), but \(30,\) is needed"),
    (np.ones((30, 2)), r"has shape \(30, 2\), but \(30,\) is needed"),
    (-np.ones(30), r"has negative values, the smallest -1"),
    (np.full(30, np.nan), r"has values that are NaN or infinite"),
    (np.full(30, np.inf), r"has values that are NaN or infinite"),
    (np.zeros(30), r"is all zero"),
]


@pytest.mark.parametrize(("given_weights", "message"), BAD)
def test_bad_weights(given_weights: Any, message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=f"sample_weight {message}"):
        ewnmf.EWNMF(2).fit(X, sample_weight=given_weights)
    with pytest.raises(ValueError, match=f"sample_weight {message}"):
        ewnmf.NMF(2, **QUICK).fit(X).score(X, sample_weight=given_weights)
    with pytest.raises(ValueError, match=f"feature_weight {message}"):
        ewnmf.factorize(X.T, 2, feature_weight=given_weights)


@pytest.mark.parametrize(("dtype", "heavy"), [(np.float64, 1e50), (np.float32, 1e10)])
def test_weights_whose_products_would_overflow_are_refused(dtype: Any, heavy: float, X: np.ndarray) -> None:
    """They gave NaN."""
    model = ewnmf.ConvexNMF(2, feature_weight=np.full(X.shape[1], heavy), **QUICK)
    s = np.ones(len(X))
    s[1] = heavy
    with pytest.raises(ValueError, match=r"feature_weight times sample_weight is up to 1e.* overflow float.*; divide"):
        model.fit(X.astype(dtype), sample_weight=s)
    assert np.isfinite(model.set_params(feature_weight=None).fit(X.astype(dtype), sample_weight=s).loss_curve_).all()


def test_no_feature_weights_for_unweighted_methods(X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"feature_weight was given, but .*method='stiefel'.*Use method='hard'"):
        ewnmf.ONMF(2, method="stiefel", feature_weight=np.arange(12)).fit(X)


def test_sample_weights_are_routed(X: np.ndarray) -> None:
    weights = np.arange(30) % 3 + 0.5
    with sklearn.config_context(enable_metadata_routing=True):
        model = ewnmf.NMF(3, **QUICK).set_fit_request(sample_weight=True, mask=True)
        model.set_score_request(sample_weight=True, mask=False)
        pipeline = make_pipeline(model)
        pipeline.fit(X, sample_weight=weights)
        direct = ewnmf.NMF(3, **QUICK).fit(X, sample_weight=weights)
        np.testing.assert_array_equal(pipeline[-1].components_, direct.components_)
        search = GridSearchCV(model, {"n_components": [2, 3]}, cv=3).fit(X, sample_weight=weights)
        test = np.arange(20, 30)
        part = ewnmf.NMF(3, **QUICK).fit(X[:20], sample_weight=weights[:20])
        assert search.cv_results_["split2_test_score"][1] == part.score(X[test], sample_weight=weights[test])


@pytest.mark.parametrize("init", ["nndsvd", "nndsvdar"])
def test_singular_pairs_are_found_as_closely_for_a_point_twice_as_for_one_of_weight_two(init: str) -> None:
    """Iterations depend on the number of points, which counts by weight."""
    X = np.random.default_rng(0).random((18, 40))
    model = ewnmf.NMF(2, init=init, max_iter=1, tol=0, random_state=0, order="codes-first")
    weighed = model.fit(X, sample_weight=np.full(18, 2.0)).components_
    twice = clone(model).fit(np.repeat(X, 2, axis=0)).components_
    np.testing.assert_allclose(weighed, twice, rtol=0, atol=1e-13 * twice.max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_combinations_end_at_a_floor_that_counts_points_by_their_weights(dtype: Any) -> None:
    """Near alpha = 0 the zeros of others send all combinations there, and components are sums of them."""
    X = np.array([[3, 1, 0, 2], [0, 4, 1, 5], [2, 0, 6, 1], [1, 2, 3, 0]], dtype)
    counts, rng = np.array([1, 3, 2, 1]), np.random.default_rng(0)
    codes, U = rng.random((4, 2)) + 0.1, rng.random((4, 2)) + 0.1
    rows = np.repeat(np.arange(4), counts)
    asked: dict[str, Any] = {"loss": losses.Alpha(1e-7), "model": "convex-nmf", "weighting": "none", "max_iter": 3}
    with kernels(dtype == np.float64):
        once = ewnmf.factorize(X, 2, sample_weight=counts, codes=codes, combinations=U * counts[:, None], **asked)
        often = ewnmf.factorize(X[rows], 2, codes=codes[rows], combinations=U[rows], **asked)
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(once.codes[rows] @ once.components, often.codes @ often.components, rtol=tolerance)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_point_of_no_weight_does_not_move_the_floors(as_sparse: bool) -> None:
    X = np.array([[0.5, 0.0], [0.7, 0.9], [0.3, 1.9]])
    given = sparse.csr_array(X) if as_sparse else X
    problem = Problem(losses.KullbackLeibler(), models.NMF(), weightings.Cauchy(0.1))
    data, others = (storage(part.T, None, s) for part, s in ((given, np.array([1.0, 2.0, 0.0])), (given[:2], None)))
    assert data.tiny == others.tiny
    assert data.facts(problem).basis_floor == others.facts(problem).basis_floor
    assert data.scale == 1.9


def test_weights_of_a_factorization_do_not_see_points_of_weight_zero() -> None:
    """Reconstructions of 0 cost what a share of the largest value does: the largest of those that count."""
    X = np.array([[3.0, 6, 2, 7], [0, 4, 1, 3], [1100, 2, 5, 3]])
    fixed = np.array([[0.9, 0.2, 0.8, 0.0], [0.7, 0.0, 0.1, 0.5]])
    asked: dict[str, Any] = {
        "loss": "kullback-leibler",
        "weighting": "huber",
        "gamma": 0.1,
        "fixed_components": fixed,
        "codes": np.ones((3, 2)),
        "components": fixed,
        "max_iter": 2,
    }
    with kernels(compiled=False):
        zero = ewnmf.factorize(X, 2, model="onmf", sample_weight=np.array([1.0, 1, 0]), **asked)
        without = ewnmf.factorize(X[:2], 2, model="onmf", **{**asked, "codes": np.ones((2, 2))})
        np.testing.assert_allclose(zero.weights()[:2], without.weights(), rtol=1e-12)


def test_singular_pairs_that_are_only_rounding_start_nothing() -> None:
    """They differ for a point of weight two and for it twice, and attributes of little weight enlarge them."""
    X, f = np.outer(np.arange(1.0, 7), np.ones(7)), np.geomspace(1e-5, 1e10, 7)
    points = Points(X, np.broadcast_to(f, X.shape).copy())
    numbers = np.full((6, 4), 0.5)
    codes, components = nndsvd(points, 4, "nndsvdar", np.random.default_rng(0), numbers)
    fill = np.sqrt(X.mean() / 4)
    np.testing.assert_allclose(codes[:, 1:], fill / 200)
    assert components[1:].max() <= fill / 100
