"""Welsch, Cauchy, Huber and L1 weights: slopes of concave functions, as arrays and scalars, in fits of every kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import ewnmf
from ewnmf.weightings.concave import L1, Cauchy, Concave, Huber, Welsch
from ewnmf.weightings.registry import WEIGHTINGS, resolve
from tests.problems import kernels

CONCAVE: list[Concave] = [Welsch(0.3), Cauchy(0.3), Huber(0.3), L1(0.3)]
every = pytest.mark.parametrize("weighting", CONCAVE, ids=lambda weighting: weighting.name)
NAMES = ["welsch", "cauchy", "huber", "l1"]
COMPILED = "welsch"
"""Whose fits run on machine code; that of the others is compared with the reference among the kernels."""
QUICK: dict[str, Any] = {"random_state": 0, "tol": 0, "max_iter": 200}
positive = st.floats(1e-6, 1e6)


@every
@given(d=positive, other=positive)
def test_the_tangent_lies_above(weighting: Concave, d: float, other: float) -> None:
    value, slope = (function(np.array([d, other])) for function in (weighting.value, weighting.slope))
    assert value[1] <= (value[0] + slope[0] * (other - d)) * (1 + 1e-12) + 1e-12
    assert weighting.value(np.zeros(1))[0] == 0
    assert 0 <= slope[0] <= weighting.slope(np.zeros(1))[0]


@every
@given(d=positive)
def test_slopes_are_derivatives(weighting: Concave, d: float) -> None:
    step = 1e-6 * d
    ends = weighting.value(np.array([d - step, d + step]))
    assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(weighting.slope(np.array([d]))[0], rel=1e-5, abs=1e-9 / d)


@every
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(d=positive | st.just(0.0))
def test_scalar_forms_are_the_array_forms(weighting: Concave, dtype: Any, d: float) -> None:
    form, entry = weighting.scalar(dtype), dtype(d)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    assert form.value(form, entry) == pytest.approx(weighting.value(np.array([entry]))[0], rel=tolerance)
    assert form.slope(form, entry) == pytest.approx(weighting.slope(np.array([entry]))[0], rel=tolerance)


@every
@given(d=positive, factor=st.sampled_from([1e-6, 0.5, 3.0, 1e8]))
def test_weights_keep_with_the_unit(weighting: Concave, d: float, factor: float) -> None:
    other = weighting.times(factor)
    assert isinstance(other, Concave)
    D = np.array([d])
    assert other.slope(factor * D)[0] == pytest.approx(weighting.slope(D)[0], rel=1e-9)
    assert other.value(factor * D)[0] == pytest.approx(factor * weighting.value(D)[0], rel=1e-9)


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(5)
    X = rng.random((60, 3)) @ rng.random((3, 20))
    X[rng.random(X.shape) < 0.1] = 3.0
    return X


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("estimator", [ewnmf.EWNMF, ewnmf.NMF, ewnmf.SemiNMF, ewnmf.ConvexNMF, ewnmf.ONMF])
def test_every_estimator_takes_them_by_name(name: str, estimator: Any, X: np.ndarray) -> None:
    gamma = {} if name == "l1" or estimator is ewnmf.NMF else {"gamma": "4x"}
    if estimator is ewnmf.NMF and name != "l1":
        weighting: Any = resolve(name, 0.05)
    else:
        weighting = name
    with kernels(estimator is ewnmf.EWNMF and name == COMPILED):
        model = estimator(3, weighting=weighting, random_state=0, max_iter=30, tol=0, **gamma).fit(X)
        T = model.weights(X)
    assert np.all(np.diff(model.loss_curve_[-15:]) <= 1e-10 * model.loss_curve_[0])
    assert T.shape == X.shape
    assert np.isfinite(T).all()
    assert T[X == 3].mean() < T[X != 3].mean()


@pytest.mark.parametrize("name", ["welsch", "cauchy", "huber"])
def test_they_find_outliers_that_plain_nmf_fits(name: str, X: np.ndarray) -> None:
    clean = np.random.default_rng(5)
    truth = clean.random((60, 3)) @ clean.random((3, 20))
    with kernels(name == COMPILED):
        errors = [
            np.median(np.abs(model.fit_transform(X) @ model.components_ - truth))
            for model in (ewnmf.EWNMF(3, weighting=name, gamma=0.02, **QUICK), ewnmf.NMF(3, **QUICK))
        ]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize("name", ["welsch", "cauchy", "huber"])
def test_an_infinite_gamma_is_no_weighting(name: str, X: np.ndarray) -> None:
    plain = ewnmf.factorize(X, 3, weighting="none", rng=0, max_iter=20)
    with kernels(name == COMPILED):
        even = ewnmf.factorize(X, 3, weighting=name, gamma=math.inf, rng=0, max_iter=20)
        np.testing.assert_allclose(even.history, plain.history, rtol=1e-9)
        large = ewnmf.factorize(X, 3, weighting=name, gamma=1e12, rng=0, max_iter=20)
        np.testing.assert_allclose(large.history, plain.history, rtol=1e-9)
        np.testing.assert_allclose(large.codes, plain.codes, rtol=1e-6, atol=1e-9)


def test_huber_at_a_tiny_gamma_is_l1(X: np.ndarray) -> None:
    options: dict[str, Any] = {"rng": 0, "max_iter": 30}
    gamma = 1e-12
    one = ewnmf.factorize(X, 3, weighting="l1", **options)
    other = ewnmf.factorize(X, 3, weighting="huber", gamma=gamma, **options)
    assert one.objective == pytest.approx(other.objective / math.sqrt(gamma), rel=1e-2)
    assert one.objective == pytest.approx(2 * np.abs(X - one.codes @ one.components).sum(), rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_sparse_missing_and_units(name: str, X: np.ndarray) -> None:
    with kernels(name == COMPILED):
        _sparse_missing_and_units(name, X)


def _sparse_missing_and_units(name: str, X: np.ndarray) -> None:
    X[X < 0.5] = 0
    gamma: dict[str, Any] = {} if name == "l1" else {"gamma": 0.1}
    options: dict[str, Any] = {"weighting": name, "rng": 0, "max_iter": 15}
    dense = ewnmf.factorize(X, 3, **gamma, **options)
    thin = ewnmf.factorize(sparse.csr_array(X), 3, **gamma, **options)
    np.testing.assert_allclose(thin.history, dense.history, rtol=1e-9)
    scaled = ewnmf.factorize(2.0**80 * X, 3, **{key: 2.0**160 * value for key, value in gamma.items()}, **options)
    np.testing.assert_allclose(scaled.codes, dense.codes, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(scaled.history, 2.0 ** (80 if name == "l1" else 160) * dense.history, rtol=1e-9)
    X[3, 4] = np.nan
    assert np.isfinite(ewnmf.factorize(X, 3, **gamma, **options).history).all()


def test_what_is_refused(X: np.ndarray) -> None:
    with pytest.raises(ValueError, match="gamma"):
        ewnmf.factorize(X, 3, weighting="l1", gamma=0.1)
    for cls in (Welsch, Cauchy, Huber):
        with pytest.raises(ValueError, match=r"gamma=0 must be a positive number"):
            cls(0)
        with pytest.raises(TypeError, match="gamma='4x' must be a number"):
            cls("4x")  # type: ignore[arg-type]
    assert set(NAMES) <= set(WEIGHTINGS)


@pytest.mark.parametrize("weighting", [Welsch(1e38), Cauchy(1e38), Huber(1e38)], ids=repr)
def test_a_gamma_near_the_largest_single_number_leaves_losses_their_digits(weighting: Concave) -> None:
    """``d / gamma`` would be no normal number there, and ``E`` a multiple of 1e-7."""
    D = np.array([3.3e-20, 1.7e-9, 0.3, 1e12], np.float32)
    np.testing.assert_allclose(weighting.value(D), D, rtol=1e-6)
    np.testing.assert_allclose(weighting.slope(D), 1, rtol=1e-6)
