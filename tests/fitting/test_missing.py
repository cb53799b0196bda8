"""Missing values: NaN, masks and weight zero are one and the same, in every combination that takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import ewnmf
from ewnmf import losses, models
from ewnmf.solvers.loop import solve
from tests.problems import ORDERS, PAIRED, Case, Instance, cases, close, excesses, recipes, run, same

few = settings(max_examples=settings().max_examples // 3)
CASES = [case for case in cases(PAIRED, convex=False, rare=False) if not case.steep]
QUICK: dict[str, Any] = {"tol": 0, "max_iter": 25, "random_state": 0}
ESTIMATORS: list[Any] = [
    ewnmf.EWNMF(3, gamma=0.1, **QUICK),
    ewnmf.EWNMF(3, loss="kullback-leibler", **QUICK),
    ewnmf.EWNMF(3, loss=losses.Alpha(-0.5), gamma=0.1, **QUICK),
    ewnmf.NMF(3, **QUICK),
    ewnmf.NMF(3, weighting="fixed", loss="kullback-leibler", **QUICK),
    ewnmf.SemiNMF(3, **QUICK),
    ewnmf.SemiNMF(3, weighting="entropy", gamma=0.1, **QUICK),
    ewnmf.ONMF(3, **QUICK),
    ewnmf.ONMF(3, of="components", weighting="entropy", gamma=0.1, **QUICK),
    ewnmf.ONMF(3, method="soft", **QUICK),
]
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=str)


def hidden_in(instance: Instance, seed: int) -> Any:
    """A quarter of the entries; every point and every attribute keeps one."""
    n, m = instance.X.shape
    hidden = np.random.default_rng(seed).random((n, m)) < 0.25
    hidden[np.arange(n), np.arange(n) % m] = False
    hidden[np.arange(m) % n, np.arange(m)] = False
    return hidden


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(4)
    return rng.random((40, 3)) @ rng.random((3, 12)) + 0.1 * rng.random((40, 12)) + 0.01


@pytest.fixture
def gaps(X: np.ndarray) -> np.ndarray:
    return np.where(np.random.default_rng(5).random(X.shape) < 0.3, np.nan, X)


@pytest.mark.parametrize("case", CASES, ids=str)
@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_nan_is_weight_zero_and_a_mask_is_nan(case: Case, data: Any, seed: int) -> None:
    instance = Instance.of(case, data.draw(recipes(calm=True)))
    order = ORDERS[0] if case.semi else str(data.draw(st.sampled_from(ORDERS)))
    hidden = hidden_in(instance, seed)
    weights = np.where(hidden, 0, np.maximum(instance.weights, 0.1)) if case.weighting == "fixed" else 1.0 * ~hidden
    given_weights = {"weights": np.maximum(instance.weights, 0.1)} if case.weighting == "fixed" else {}
    options: dict[str, Any] = {"order": order, "max_iter": 8, **given_weights}
    nan = run(case, replace(instance, X=np.where(hidden, np.nan, instance.X)), **options)
    masked = run(case, instance, mask=~hidden, **options)
    zero = (np.where(hidden, 0, instance.X) == 0).all(axis=0)
    if order == "codes-first" and case.loss.silent_zeros and not zero.all():
        instance = replace(instance, components=np.where(zero, 0, instance.components))
    start, P = instance.start(case), weights.T
    core = solve(nan.problem, instance.data(case, P=P), start, order=order, max_iter=8, n_jobs=1)
    learned = nan.weights()
    np.testing.assert_array_equal(nan.codes, masked.codes)
    np.testing.assert_array_equal(nan.components, masked.components)
    tolerance = close(case)
    assert same(nan.codes, core.factors.H.T, tolerance)
    assert same(nan.components, core.factors.W.T, tolerance)
    assert nan.excess == pytest.approx(core.excess, rel=tolerance, abs=1e-12)
    assert np.all(learned[hidden] == 0)


@pytest.mark.parametrize("case", CASES, ids=str)
@few
@given(data=st.data(), seed=st.integers(0, 99))
def test_excess_never_rises_with_gaps(case: Case, data: Any, seed: int) -> None:
    instance = Instance.of(case, data.draw(recipes()))
    X = np.where(hidden_in(instance, seed), np.nan, instance.X)
    options = {"weights": np.maximum(instance.weights, 0.1)} if case.weighting == "fixed" else {}
    E = excesses(case, replace(instance, X=X), order=data.draw(st.sampled_from(ORDERS)), max_iter=25, **options)
    exact = 8 * (16 * np.finfo(float).eps) ** 2 * np.nansum(np.abs(X) ** case.degree)
    assert np.all(np.diff(E) <= 1e-12 * E[0] + exact)


@every_estimator
def test_a_mask_of_ones_changes_nothing(model: Any, X: np.ndarray) -> None:
    ones = np.ones(X.shape)
    plain = model.fit(X).components_.copy(), model.transform(X), model.weights(X), model.score(X)
    model.fit(X, mask=ones)
    again = model.components_, model.transform(X, mask=ones), model.weights(X, mask=ones), model.score(X, mask=ones)
    for one, other in zip(plain, again, strict=True):
        np.testing.assert_array_equal(one, other)


@every_estimator
def test_what_lies_under_a_mask_does_not_matter(model: Any, X: np.ndarray, gaps: np.ndarray) -> None:
    mask = ~np.isnan(gaps)
    junk = np.where(mask, X, np.where(np.arange(12) % 2, np.inf, -7.0))
    codes = model.fit_transform(gaps)
    components, weights, score = model.components_, model.weights(gaps), model.score(gaps)
    np.testing.assert_array_equal(model.fit_transform(junk, mask=mask), codes)
    np.testing.assert_array_equal(model.components_, components)
    np.testing.assert_array_equal(model.weights(junk, mask=mask), weights)
    assert model.score(junk, mask=mask) == score


@every_estimator
def test_codes_of_a_point_do_not_depend_on_the_gaps_of_others(model: Any, X: np.ndarray, gaps: np.ndarray) -> None:
    model.fit(X)
    some = X.copy()
    some[::3] = gaps[::3]
    some[[4, 5]] = np.nan
    with pytest.warns(UserWarning, match=r"^2 point\(s\) of X without an observed entry get the codes of the mean"):
        codes = model.transform(some)
    complete = ~np.isnan(some).any(axis=1)
    np.testing.assert_array_equal(codes[complete], model.transform(X)[complete])
    np.testing.assert_array_equal(codes[::3], model.transform(gaps[::3]))
    np.testing.assert_allclose(codes[[4, 5]], np.repeat(model.transform(X.mean(axis=0)[None]), 2, axis=0), rtol=1e-9)
    weights = model.weights(some)
    assert not weights[[4, 5]].any()
    assert (weights[np.isnan(some)] == 0).all()


@every_estimator
def test_points_and_attributes_without_anything(model: Any, gaps: np.ndarray) -> None:
    gaps[3] = np.nan
    gaps[:, 7] = np.nan
    with pytest.warns(UserWarning, match=r"^1 point.* mean point, and 1 attribute.*components of 0\.$") as caught:
        codes = model.fit_transform(gaps)
    assert len(caught) == 1
    assert not model.components_[:, 7].any()
    assert np.isfinite(codes).all()
    with pytest.warns(UserWarning, match="1 attribute"):
        alone = type(model)(**model.get_params()).fit(np.delete(gaps, 3, axis=0))
    np.testing.assert_array_equal(alone.components_, model.components_)
    options: dict[str, Any] = {"loss": model.loss, "weighting": "none", "max_iter": 3, "rng": 0}
    with pytest.warns(UserWarning, match=r"^1 point.* codes of 0, and 1 attribute.*components of 0\.$"):
        answer = ewnmf.factorize(gaps, 3, **options)
    assert not answer.codes[3].any()
    assert not answer.components[:, 7].any()
    assert not answer.weights()[3].any()


@pytest.mark.parametrize("init", ["random", "nndsvd", "nndsvda", "nndsvdar"])
def test_starts_do_not_see_what_is_hidden(init: str, X: np.ndarray, gaps: np.ndarray) -> None:
    model = ewnmf.NMF(3, init=init, weighting="fixed", **QUICK)
    mask = ~np.isnan(gaps)
    one = model.fit(gaps).components_.copy()
    other = model.fit(np.where(mask, X, 9.0), weights=mask.astype(float)).components_
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_gaps_are_filled(X: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    clean = rng.random((60, 2)) @ rng.random((2, 15))
    gaps = np.where(rng.random(clean.shape) < 0.3, np.nan, clean)
    model = ewnmf.NMF(2, tol=0, max_iter=3000, random_state=0).fit(gaps)
    filled = model.inverse_transform(model.transform(gaps))
    np.testing.assert_allclose(filled, clean, rtol=2e-3, atol=2e-3)


def test_gamma_is_that_of_observed_entries(gaps: np.ndarray) -> None:
    seen: list[Any] = []
    answer = ewnmf.factorize(gaps, 3, gamma="self-tuned", max_iter=40, rng=0, callbacks=[seen.append])
    at = seen[19]
    assert answer.gamma == pytest.approx(8 * np.nanmean((gaps - at.codes @ at.components) ** 2), rel=1e-10)


def test_sparse_data_takes_a_mask(X: np.ndarray, gaps: np.ndarray) -> None:
    mask, thin = ~np.isnan(gaps), sparse.csr_array(X)
    for model in (ewnmf.EWNMF(3, gamma=0.1, **QUICK), ewnmf.NMF(3, **QUICK)):
        dense = model.fit(gaps).components_.copy()
        np.testing.assert_allclose(model.fit(thin, mask=mask).components_, dense, rtol=1e-10)
        np.testing.assert_allclose(model.transform(thin, mask=mask), model.transform(gaps), rtol=1e-10)


def test_input_is_left_alone(gaps: np.ndarray) -> None:
    before = gaps.copy()
    gaps.setflags(write=False)
    ewnmf.EWNMF(3, **QUICK).fit(gaps).weights(gaps)
    np.testing.assert_array_equal(gaps, before)


REFUSED = [
    (ewnmf.ConvexNMF(2), r"X contains NaN \(1 entries\), but model='convex-nmf' needs complete data.*Fill the gaps"),
    (ewnmf.ONMF(2, method="lagrange"), r"X contains NaN .*method='lagrange' needs complete data.*method='hard'"),
    (ewnmf.ONMF(2, method="stiefel"), r"X contains NaN .*method='stiefel' needs complete data.*method='hard'"),
]


@pytest.mark.parametrize(("model", "message"), REFUSED, ids=str)
def test_models_that_need_complete_data(model: Any, message: str, X: np.ndarray) -> None:
    assert not model.__sklearn_tags__().input_tags.allow_nan
    X[2, 3] = np.nan
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    mask = np.ones(X.shape, dtype=bool)
    mask[0, 0] = False
    with pytest.raises(ValueError, match=r"mask hides 1 entries, but model='convex-nmf'"):
        ewnmf.factorize(np.ones(X.shape), 2, model=models.Convex(), mask=mask)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((40, 3)), r"mask has shape \(40, 3\), but X has shape \(40, 12\)"),
        (np.full((40, 12), 0.5), r"mask has values other than True and False"),
        (np.full((40, 12), np.nan), r"mask has values other than True and False"),
        (np.zeros((40, 12)), r"X has no observed entry of positive weight"),
    ],
)
def test_bad_masks(mask: Any, message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        ewnmf.EWNMF(2).fit(X, mask=mask)
    with pytest.raises(ValueError, match=message):
        ewnmf.factorize(X, 2, mask=mask)


@pytest.mark.filterwarnings("ignore:.*without an observed entry:UserWarning")
@pytest.mark.parametrize("model", [ewnmf.NMF, ewnmf.EWNMF, ewnmf.ONMF], ids=lambda model: model.__name__)
@pytest.mark.parametrize("alpha", [0.0, -1.0])
def test_the_mean_point_has_no_zeros_where_the_loss_takes_none(model: Any, alpha: float) -> None:
    """A point of which nothing is known gets the codes of the mean point, also where an attribute is unknown too."""
    whole = np.random.default_rng(0).random((6, 5)) + 0.1
    X, mean = whole.copy(), np.delete(whole, 2, axis=0).mean(axis=0, keepdims=True)
    X[2], X[:, 3], mean[:, 3] = np.nan, np.nan, np.nan
    fitted = model(2, loss="alpha", alpha=alpha, gamma=1.0, tol=0, max_iter=20, random_state=0).fit(X)
    np.testing.assert_allclose(fitted.transform(X)[2], fitted.transform(mean)[0], rtol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("dtype", "least"), [("f4", 5e-43), ("f8", 1e-310)])
@pytest.mark.parametrize("weighting", ["none", "entropy"])
def test_components_with_next_to_nothing_where_there_is_data(dtype: str, least: float, weighting: str) -> None:
    """Codes that match what was observed would leave the range of numbers."""
    model = ewnmf.SemiNMF(1, weighting=weighting, gamma=1.0, max_iter=3, tol=0)
    X = np.array([[1, 0.5], [2, 1], [1, 1]], dtype)
    model.fit(X)
    model.components_[:] = [[1.3, least]]
    codes = model.transform(X, mask=np.array([[False, True]] * 3))
    assert np.isfinite(codes).all()
    assert np.isfinite(codes**2).all()


@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler", "alpha"])
def test_hard_codes_of_points_that_every_component_fits_are_those_of_the_first(loss: str) -> None:
    """One observed entry is fitted exactly by all: rounding must not choose."""
    rng = np.random.default_rng(0)
    model = ewnmf.ONMF(4, loss=loss, weighting="none", max_iter=5, tol=0, random_state=0).fit(rng.random((30, 6)) + 0.1)
    X = np.where(rng.random((40, 1)) * 6 // 1 == np.arange(6), rng.random((40, 6)) + 0.1, np.nan)
    codes = model.transform(X)
    assert (codes[:, 0] > 0).all()
    assert (codes[:, 1:] == 0).all()
