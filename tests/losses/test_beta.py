"""The beta divergences: exact values, known members, steps that descend with penalties, scikit-learn's own answers."""

from __future__ import annotations

import decimal
from contextlib import nullcontext
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import NMF as Theirs

import ewnmf
from ewnmf.losses import Beta, Euclidean, KullbackLeibler
from ewnmf.losses.elementary import numbers
from ewnmf.models import NMF
from tests.problems import BETAS, kernels

EPS = float(np.finfo(np.float64).eps)
every_beta = pytest.mark.parametrize("beta", [*BETAS, -3.0, -1e-6, 0.999, 1 + 1e-9, 6.0])


def exact(b: float, x: float, y: float) -> float:
    """By the definition, in 90 digits."""
    with decimal.localcontext(prec=90):
        B, X, Y = Decimal(b), Decimal(x), Decimal(y)
        if b == 0:
            return float(X / Y - (X / Y).ln() - 1)
        if b == 1:
            return float(X * (X / Y).ln() - X + Y)
        return float(X**B / (B * (B - 1)) + Y**B / B - X * Y ** (B - 1) / (B - 1))


@every_beta
@given(x=st.floats(1e-3, 1e3), log_ratio=st.floats(-6, 6) | st.floats(-1e-6, 1e-6))
def test_values_are_those_of_exact_arithmetic(beta: float, x: float, log_ratio: float) -> None:
    y = float(x * np.exp(log_ratio))
    got = float(Beta(beta).divergence(np.array([x]), np.array([y]))[0])
    size = max(x, y) ** beta * abs(log_ratio) + 1e-60
    wanted = exact(beta, x, y)
    assert abs(got - wanted) <= 16 * EPS * (1 + abs(beta)) * (wanted * (1 + abs(log_ratio)) + size)


def test_zeros_cost_what_their_limit_does() -> None:
    for beta in (0.3, 1.0, 1.7, 2.0, 4.0):
        assert Beta(beta).divergence(np.zeros(1), np.array([3.0]))[0] == pytest.approx(3.0**beta / beta)


def test_two_is_half_the_squared_error_and_one_is_kullback_leibler() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 3)) @ rng.random((3, 12)) + 0.1 * rng.random((30, 12))
    options: dict[str, Any] = {"rng": 0, "max_iter": 40}
    with kernels(False):
        half, mine = (ewnmf.factorize(X, 3, loss=Beta(beta), gamma=0.1, **options) for beta in (2, 1))
    whole, theirs = (
        ewnmf.factorize(X, 3, loss=loss, gamma=g, **options)
        for loss, g in ((Euclidean(), 0.2), (KullbackLeibler(), 0.1))
    )
    np.testing.assert_allclose(2 * half.history, whole.history, rtol=1e-10)
    np.testing.assert_allclose(half.codes, whole.codes, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(half.weights(), whole.weights(), rtol=1e-8)
    np.testing.assert_allclose(mine.codes, theirs.codes, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("beta", [-0.5, 0.0, 0.5, 1.5, 3.0])
def test_scikit_learn_agrees(beta: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((40, 4)) @ rng.random((4, 25)) + 0.05 + 0.1 * rng.random((40, 25))
    H, W = rng.uniform(0.1, 1.1, (40, 4)), rng.uniform(0.1, 1.1, (4, 25))
    theirs = Theirs(4, init="custom", solver="mu", beta_loss=beta, tol=0, max_iter=100)
    codes = theirs.fit_transform(X, W=H.copy(), H=W.copy())
    options: dict[str, Any] = {"weighting": "none", "order": "codes-first", "max_iter": 100}
    mine = ewnmf.factorize(X, 4, loss=Beta(beta), codes=H, components=W, **options)
    np.testing.assert_allclose(mine.codes, codes, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(mine.components, theirs.components_, rtol=1e-6, atol=1e-9)
    assert np.sqrt(2 * mine.loss) == pytest.approx(theirs.reconstruction_err_, rel=1e-6)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("weighting", ["none", "entropy"])
def test_penalised_cost_never_rises(beta: float, l1_ratio: float, weighting: str) -> None:
    rng = np.random.default_rng(int(8 * beta) % 97)
    X = rng.random((12, 3)) @ rng.random((3, 9)) + 0.2 * rng.random((12, 9))
    X[0, 0] = 10
    for strength in (1e-3, 0.1, 3.0):
        seen: list[float] = []
        model = NMF(alpha_codes=strength, alpha_components=strength, l1_ratio=l1_ratio)
        given: dict[str, Any] = {"gamma": 0.3} if weighting == "entropy" else {}
        watch: dict[str, Any] = {"callbacks": [lambda at: seen.append(at.excess)], "max_iter": 40, "rng": 0}  # noqa: B023
        ewnmf.factorize(X, 3, loss=Beta(beta), model=model, weighting=weighting, **given, **watch)
        assert np.all(np.diff(seen) <= 1e-12 * seen[0])


@pytest.mark.parametrize("beta", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("compiled", [True, False])
def test_attributes_of_many_decades_descend_in_single_precision(beta: float, compiled: bool) -> None:
    """``y^(b-2)`` of values of 1e-12 leaves what powers are held below, ``x y^(b-2)`` does not."""
    rng = np.random.default_rng(0)
    X = ((rng.random((20, 3)) @ rng.random((3, 6)) + 0.1) * 10.0 ** -np.arange(0, 18, 3)).astype(np.float32)
    seen: list[float] = []
    codes = rng.uniform(0.1, 1, (20, 3)).astype(np.float32)
    components = (rng.uniform(0.1, 1, (3, 6)) * 10.0 ** -np.arange(0, 15, 2.5)).astype(np.float32)
    with patch("ewnmf.kernels.select._numba_works", lambda: False) if not compiled else nullcontext():
        watch: dict[str, Any] = {"callbacks": [lambda at: seen.append(at.excess)], "max_iter": 40}
        run = ewnmf.factorize(X, 3, loss=Beta(beta), weighting="none", codes=codes, components=components, **watch)
    assert np.all(np.diff(seen) <= 1e-4 * np.array(seen[:-1]))
    assert run.excess < 0.1 * seen[0]


@pytest.mark.parametrize("beta", [1.0, 1.5])
def test_slopes_of_next_to_nothing_are_not_held_back(beta: float) -> None:
    x, y = np.array([1.0], np.float32), np.array([1e-22], np.float32)
    assert Beta(beta).neg(x, y)[0] == pytest.approx(1e-22 ** (beta - 2), rel=1e-5)
    scalar = Beta(beta).scalar(numbers(np.float32, 1e-37))
    assert scalar.neg(scalar, x[0], y[0]) == pytest.approx(1e-22 ** (beta - 2), rel=1e-5)


def test_what_is_refused() -> None:
    X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    for beta in (0.0, -1.0):
        with pytest.raises(ValueError, match="zero"):
            ewnmf.NMF(1, loss=Beta(beta)).fit(X)
    for beta in (-0.5, 5.0):
        with pytest.raises(ValueError, match=r"loss=Beta\(beta=.*\) leave; give X as float64"):
            ewnmf.NMF(1, loss=Beta(beta)).fit(X.astype(np.float32) + 1)
    with pytest.raises(ValueError, match="beta=nan must be a finite number"):
        Beta(float("nan"))
    with pytest.raises(TypeError, match="beta='0' must be a real number"):
        Beta("0")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="loss='beta' cannot be combined with model='onmf' with method='hard'"):
        ewnmf.ONMF(1, loss=Beta(0.5)).fit(X)
    assert ewnmf.NMF(1, loss="beta", random_state=0).fit(X + 1).score(X + 1) <= 0
