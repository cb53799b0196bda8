"""The weightings against exact arithmetic and against their own definition as minimisers."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from ewnmf.weightings.uniform import Uniform

Array = NDArray[np.float64]

GAMMAS = [10.0**power for power in range(-8, 9)]
every_gamma = pytest.mark.parametrize("gamma", GAMMAS)
seeds = st.integers(0, 2**32 - 1)


def losses(seed: int, shape: tuple[int, int] = (6, 5)) -> Array:
    """A loss map over seven decades, with zeros and a column of equal losses."""
    rng = np.random.default_rng(seed)
    D = rng.uniform(size=shape) * 10 ** rng.uniform(-5, 2, shape)
    D[rng.random(shape) < 0.1] = 0
    D[:, -1] = D[0, -1]
    return D


def priors(seed: int, shape: tuple[int, int] = (6, 5)) -> Array:
    """Prior weights with zeros, never a whole column of them."""
    rng = np.random.default_rng(seed)
    P = np.where(rng.random(shape) < 0.3, 0, rng.uniform(0.1, 3, shape))
    P[rng.integers(shape[0], size=shape[1]), np.arange(shape[1])] = 1
    return P


def exact(d: Array, p: Array, gamma: float) -> tuple[list[Decimal], Decimal, Decimal]:
    """``T``, ``J*`` and ``E`` of one point by their definitions, in 60 digits."""
    with decimal.localcontext(prec=60, Emin=decimal.MIN_EMIN):
        g = Decimal(gamma)
        terms = [Decimal(float(b)) * (-Decimal(float(a)) / g).exp() for a, b in zip(d, p, strict=True)]
        mass, total = sum(terms, Decimal(0)), sum((Decimal(float(b)) for b in p), Decimal(0))
        return [term / mass for term in terms], -g * mass.ln(), -g * (mass / total).ln()


@every_gamma
@given(seed=seeds, with_priors=st.booleans())
def test_entropy_is_that_of_exact_arithmetic(gamma: float, seed: int, with_priors: bool) -> None:
    D = losses(seed)
    P = priors(seed) if with_priors else None
    T, J, E = Entropy(gamma).evaluate(D, P)
    for j in range(D.shape[1]):
        p = np.ones(len(D)) if P is None else P[:, j]
        t, jj, e = exact(D[:, j], p, gamma)
        np.testing.assert_allclose(T[:, j], np.array(t, dtype=float), rtol=1e-13 * (1 + D.max() / gamma), atol=1e-150)
        assert abs(E[j] - float(e)) <= 1e-13 * float(e)
        assert abs(J[j] - float(jj)) <= 1e-13 * (float(e) + gamma * abs(math.log(p.sum())))


@every_gamma
@given(seed=seeds)
def test_every_point_has_one_unit_of_weight(gamma: float, seed: int) -> None:
    D, P = losses(seed), priors(seed)
    for prior in (None, P):
        T, _, E = Entropy(gamma).evaluate(D, prior)
        assert np.all(T >= 0)
        np.testing.assert_allclose(T.sum(axis=0), 1, rtol=1e-15 * len(D))
        assert np.all(E >= 0)
    assert np.all(T[P == 0] == 0)
    np.testing.assert_array_equal(E[-1], D[0, -1])


def objective(D: Array, T: Array, gamma: float) -> Array:
    """``sum_i T d + gamma sum_i T ln T``, Eq. (10), for every point."""
    logs = np.log(T, out=np.zeros_like(T), where=T > 0)
    return np.asarray(np.sum(T * D + gamma * T * logs, axis=0))


@pytest.mark.parametrize("gamma", [1e-3, 1e-1, 1.0, 30.0])
@given(seed=seeds)
def test_no_other_weights_do_better(gamma: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    D = rng.uniform(size=(4, 3))
    T, J, _ = Entropy(gamma).evaluate(D)
    np.testing.assert_allclose(objective(D, T, gamma), J, rtol=1e-12)
    nearby = [T * np.exp(size * rng.normal(size=T.shape)) for size in (1e-3, 0.1, 1.0)]
    anywhere = [rng.dirichlet(np.full(4, size), 3).T for size in (0.1, 1.0, 10.0)]
    for other in (*nearby, *anywhere):
        assert np.all(objective(D, other / other.sum(axis=0), gamma) >= J - 1e-14 * (1 + gamma))


@given(seed=seeds)
def test_the_bound_on_the_losses_is_met_in_the_limits(seed: int) -> None:
    D = losses(seed)
    np.testing.assert_allclose(Entropy(1e12).evaluate(D).E, D.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(Entropy(math.inf).evaluate(D).E, D.mean(axis=0), rtol=1e-15 * len(D))
    np.testing.assert_array_equal(Entropy(0.0).evaluate(D).E, D.min(axis=0))
    between = [Entropy(gamma).evaluate(D).E for gamma in (0.0, *GAMMAS, math.inf)]
    assert np.all(np.diff(between, axis=0) >= -1e-14 * D.mean(axis=0))


def test_gamma_zero_shares_ties() -> None:
    D = np.array([[3.0, 2.0, 0.0], [1.0, 2.0, 0.0], [2.0, 5.0, 0.0]])
    T, J, E = Entropy(0.0).evaluate(D)
    third = 1 / 3
    np.testing.assert_array_equal(T, [[0, 0.5, third], [1, 0.5, third], [0, 0, third]])
    np.testing.assert_array_equal(E, [1, 2, 0])
    np.testing.assert_array_equal(J, E)
    P = np.array([[1.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 9.0, 3.0]])
    T, _, E = Entropy(0.0).evaluate(D, P)
    np.testing.assert_array_equal(T, [[0, 0.25, 0], [0, 0.75, 0.25], [1, 0, 0.75]])
    np.testing.assert_array_equal(E, [2, 2, 0])


@pytest.mark.parametrize("gamma", [1e-300, 1e-8, 1.0])
def test_huge_losses_leave_the_rest_alone(gamma: float) -> None:
    D = np.array([[1e300, 1e300, 1.7e308], [0.0, 1e300, 1.6e308], [0.0, 1e300, 1.7e308]])
    T, J, E = Entropy(gamma).evaluate(D)
    third = 1 / 3
    np.testing.assert_array_equal(T, [[0, third, 0], [0.5, third, 1], [0.5, third, 0]])
    np.testing.assert_allclose(E, [gamma * math.log(1.5), 1e300, 1.6e308], rtol=1e-15)
    assert np.isfinite(J).all()


@given(seed=seeds)
def test_infinite_gamma_gives_the_priors(seed: int) -> None:
    D, P = losses(seed), priors(seed)
    np.testing.assert_array_equal(Entropy(math.inf).weigh(D), np.full_like(D, 1 / len(D)))
    np.testing.assert_array_equal(Entropy(math.inf).weigh(D, P), P / P.sum(axis=0))
    assert not Entropy(math.inf).adaptive
    assert Entropy(1e300).adaptive
    assert Entropy(0.1).start() == Entropy(math.inf)


@every_gamma
@given(seed=seeds)
def test_point_weights_multiply(gamma: float, seed: int) -> None:
    D, P, s = losses(seed), priors(seed), np.random.default_rng(seed).uniform(0, 3, 5)
    for weighting in (Entropy(gamma), Uniform(), Fixed()):
        for prior in (None, P):
            plain, weighed = weighting.evaluate(D, prior), weighting.evaluate(D, prior, s)
            for one, other in zip(plain, weighed, strict=True):
                np.testing.assert_allclose(other, one * s, rtol=1e-14)


@every_gamma
@given(seed=seeds, c=st.floats(0.01, 100))
def test_priors_count_by_their_proportions(gamma: float, seed: int, c: float) -> None:
    D, P = losses(seed), priors(seed)
    one, other = Entropy(gamma).evaluate(D, P), Entropy(gamma).evaluate(D, c * P)
    np.testing.assert_allclose(other.A, one.A, rtol=1e-13, atol=1e-150)
    np.testing.assert_allclose(other.E, one.E, rtol=1e-12)
    whole = Entropy(gamma).evaluate(D, np.ones_like(D))
    for with_ones, without in zip(whole, Entropy(gamma).evaluate(D), strict=True):
        np.testing.assert_allclose(with_ones, without, rtol=1e-14, atol=1e-150)


@every_gamma
@given(seed=seeds)
def test_a_missing_entry_is_not_there(gamma: float, seed: int) -> None:
    D, P = losses(seed), np.ones((6, 5))
    P[2] = 0
    D[2] = np.random.default_rng(seed).uniform(0, 1e6, 5)
    T, J, E = Entropy(gamma).evaluate(D, P)
    alone = Entropy(gamma).evaluate(np.delete(D, 2, axis=0))
    np.testing.assert_allclose(np.delete(T, 2, axis=0), alone.A, rtol=1e-14, atol=1e-150)
    np.testing.assert_allclose(E, alone.E, rtol=1e-13)
    np.testing.assert_allclose(J, alone.J, rtol=1e-13)


@pytest.mark.parametrize("weighting", [Uniform(), Fixed()], ids=repr)
@given(seed=seeds)
def test_constant_weights_add_up_the_losses(weighting: Weighting, seed: int) -> None:
    D, P = losses(seed), priors(seed)
    A, J, E = weighting.evaluate(D, P)
    np.testing.assert_array_equal(A, P)
    np.testing.assert_allclose(J, np.sum(P * D, axis=0), rtol=1e-14)
    np.testing.assert_array_equal(E, J)
    np.testing.assert_array_equal(weighting.weigh(D), np.ones_like(D))
    assert weighting.mean(D.shape, P) == pytest.approx(P.mean(), rel=1e-14)


@given(seed=seeds)
def test_mean_weight_is_the_mean_over_points_by_their_weights(seed: int) -> None:
    D, P, s = losses(seed), priors(seed), np.random.default_rng(seed).uniform(0, 3, 5)
    for weighting in (Uniform(), Fixed(), Entropy(0.1)):
        for options in ((None, None), (P, None), (None, s), (P, s)):
            mean = np.average(weighting.weigh(D, options[0]).mean(axis=0), weights=options[1])
            assert weighting.mean(D.shape, *options) == pytest.approx(mean, rel=1e-13)


@every_gamma
@given(seed=seeds)
def test_single_precision_stays_single_and_near(gamma: float, seed: int) -> None:
    D = np.random.default_rng(seed).uniform(0.1, 2, (6, 5)).astype(np.float32)
    T, J, E = Entropy(gamma).evaluate(D)
    double = Entropy(gamma).evaluate(D.astype(np.float64))
    assert T.dtype == np.float32
    assert J.dtype == E.dtype == np.float64
    np.testing.assert_allclose(T.sum(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(E, double.E, rtol=1e-5)


@pytest.mark.parametrize("gamma", [-1.0, math.nan])
def test_gamma_must_be_a_strength(gamma: float) -> None:
    with pytest.raises(ValueError, match=r"gamma=(-1\.0|nan) must be a number of at least 0"):
        Entropy(gamma)


@pytest.mark.parametrize("gamma", [True, "1", None])
def test_gamma_must_be_a_number(gamma: object) -> None:
    with pytest.raises(TypeError, match=r"gamma=.* must be a number\."):
        Entropy(gamma)  # type: ignore[arg-type]
