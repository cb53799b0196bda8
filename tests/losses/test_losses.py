"""The losses against exact arithmetic: values, slopes, best rank-one fits, and continuity in alpha."""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

import ewnmf
from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss, RankOne
from ewnmf.losses.elementary import numbers
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler

Array = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)

STEPS = (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.049, 0.051)
ALPHAS = sorted(
    {-3.0, -1.0, 0.0, 0.3, 0.5, 0.7, 1.0, 2.0, 4.0}
    | {at + sign * step for at in (0, 1) for sign in (-1, 1) for step in STEPS}
)
LOSSES: list[Loss] = [Euclidean(), KullbackLeibler(), *(Alpha(a) for a in ALPHAS)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)

values = st.floats(1e-3, 1e3)
logs = st.floats(-6, 6)


def exact(loss: Loss, x: float, y: float) -> Decimal:
    """``d(x, y)`` by the definitions of Eq. (10), (22) and (24), in 90 digits."""
    with decimal.localcontext(prec=90):
        X, Y = Decimal(x), Decimal(y)
        if isinstance(loss, Euclidean):
            return (X - Y) ** 2
        a = Decimal(loss.alpha) if isinstance(loss, Alpha) else Decimal(1)
        if a == 1:
            return X * (X / Y).ln() - X + Y
        if a == 0:
            return Y * (Y / X).ln() - Y + X
        return (X**a * Y ** (1 - a) - a * X + (a - 1) * Y) / (a * (a - 1))


def divergence(loss: Loss, x: float, y: float) -> float:
    return float(loss.divergence(np.array([x]), np.array([y]))[0])


def loss_degree(loss: Loss) -> float:
    return 2.0 if isinstance(loss, Euclidean) else 1.0


def spread(loss: Loss, log_ratio: float) -> float:
    """How much the powers in a loss enlarge relative errors."""
    a = loss.alpha if isinstance(loss, Alpha) else 1.0
    return 1 + (1 + abs(a)) * abs(log_ratio)


@every_loss
@given(x=values, log_ratio=logs)
def test_divergence_is_that_of_exact_arithmetic(loss: Loss, x: float, log_ratio: float) -> None:
    y = x * float(np.exp(log_ratio))
    wanted = float(exact(loss, x, y))
    unit = max(x, y) ** 2 if isinstance(loss, Euclidean) else max(x, y)
    assert abs(divergence(loss, x, y) - wanted) <= 8 * EPS * spread(loss, log_ratio) * (wanted + unit)


@every_loss
@given(x=values, share=st.sampled_from([0.3, -1e-2, 1e-4, -1e-6]))
def test_divergence_keeps_its_digits_near_a_fit(loss: Loss, x: float, share: float) -> None:
    y = x * (1 + share)
    wanted = float(exact(loss, x, y))
    assert abs(divergence(loss, x, y) - wanted) <= 32 * EPS / abs(share) * wanted


@every_loss
@given(x=values, y=values)
def test_divergence_is_a_distance_of_its_degree(loss: Loss, x: float, y: float) -> None:
    assert divergence(loss, x, y) >= 0
    assert divergence(loss, x, x) == 0
    assert loss.degree == loss_degree(loss)
    if abs(x - y) > 0.1 * x:
        d = divergence(loss, x, y)
        assert d > 0
        assert divergence(loss, 4 * x, 4 * y) == 4 ** loss_degree(loss) * d


@pytest.mark.parametrize("a", [a for a in ALPHAS if a > 0])
def test_nothing_there_costs_what_is_put_there(a: float) -> None:
    y = np.array([0.0, 1e-90, 0.25, 7.0])
    np.testing.assert_allclose(Alpha(a).divergence(np.zeros(4), y), y / a, rtol=4 * EPS)
    np.testing.assert_array_equal(KullbackLeibler().divergence(np.zeros(4), y), y)


def test_limits_of_alpha_are_kullback_leibler_and_its_reverse() -> None:
    x, y = np.random.default_rng(0).uniform(0.1, 3, (2, 50))
    d = KullbackLeibler().divergence
    np.testing.assert_allclose(Alpha(1.0).divergence(x, y), d(x, y), rtol=0, atol=16 * EPS)
    np.testing.assert_allclose(Alpha(0.0).divergence(x, y), d(y, x), rtol=0, atol=16 * EPS)
    half = 2 * (np.sqrt(x) - np.sqrt(y)) ** 2
    np.testing.assert_allclose(Alpha(0.5).divergence(x, y), half, rtol=0, atol=32 * EPS)


@pytest.mark.parametrize("at", [0.0, 0.05, -0.05, 0.5, 0.95, 1.0, 1.05])
def test_alpha_is_continuous_where_the_formulas_change(at: float) -> None:
    x, y, w, A = np.random.default_rng(1).uniform(0.1, 3, (4, 30))
    below, there, above = (Alpha(a) for a in (at - 1e-13, at, at + 1e-13))
    for other in (below, above):
        np.testing.assert_allclose(other.divergence(x, y), there.divergence(x, y), rtol=0, atol=1e-11)
        np.testing.assert_allclose(step(other, x, y), step(there, x, y), rtol=1e-11)
        one, two = rank_one(other, x, w, A), rank_one(there, x, w, A)
        np.testing.assert_allclose(one.h, two.h, rtol=1e-11)


def step(loss: Loss, x: Array, y: Array) -> Array:
    return y * loss.factor(loss.neg(x, y), loss.pos(x, y))


@every_loss
@given(x=values, log_ratio=logs)
def test_one_entry_alone_is_fitted_in_one_step(loss: Loss, x: float, log_ratio: float) -> None:
    y = np.array([x * float(np.exp(log_ratio))])
    assert abs(step(loss, np.array([x]), y)[0] / x - 1) <= 64 * EPS * spread(loss, log_ratio)


@every_loss
@given(x=values, y=values)
def test_slope_has_the_sign_of_pos_minus_neg(loss: Loss, x: float, y: float) -> None:
    assume(abs(x - y) > 1e-2 * (x + y))
    slope = divergence(loss, x, y * (1 + 1e-6)) - divergence(loss, x, y * (1 - 1e-6))
    assert np.sign(slope) == np.sign(y - step(loss, np.array([x]), np.array([y]))[0])


@pytest.mark.parametrize(
    "loss", [Euclidean(), KullbackLeibler(), *(Alpha(a) for a in (-3.0, -1.0, 0.3, 1.0, 2.0))], ids=repr
)
def test_slope_is_pos_minus_neg(loss: Loss) -> None:
    x, y = np.random.default_rng(2).uniform(0.5, 3, (2, 40))
    unit = 0.5 if isinstance(loss, Euclidean) else getattr(loss, "alpha", 1.0)
    slope = (loss.divergence(x, y + 1e-6) - loss.divergence(x, y - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.pos(x, y) - loss.neg(x, y), unit * slope, rtol=0, atol=1e-7)


@every_loss
def test_what_is_unknown_stays(loss: Loss) -> None:
    np.testing.assert_array_equal(loss.factor(np.zeros(3), np.zeros(3)), np.ones(3))


def rank_one(loss: Any, x: Array, w: Array, A: Array) -> RankOne:
    parts = zip(loss.rank_one_factor(w), loss.rank_one_data(x), strict=True)
    answer: RankOne = loss.rank_one(tuple(np.array([np.sum(A * f * g)]) for g, f in parts))
    return answer


def weighted_cost(loss: Loss, x: Array, w: Array, A: Array, h: float) -> float:
    return float(np.sum(A * loss.divergence(x, np.maximum(w * h, 1e-90))))


def rank_one_problem(loss: Loss, seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    x, w, A = rng.uniform(0.05, 2, (3, 6)) * 10 ** rng.uniform(-2, 2, (3, 1))
    if not loss.needs_positive:
        x[rng.integers(6)] = 0
    A[rng.integers(6)] = 0
    return x, w, A


@every_loss
@given(seed=st.integers(0, 2**32 - 1))
def test_rank_one_gives_the_minimiser(loss: Loss, seed: int) -> None:
    x, w, A = rank_one_problem(loss, seed)
    fit = rank_one(loss, x, w, A)
    h = float(fit.h[0])
    cost = weighted_cost(loss, x, w, A, h)
    others = [*(h * np.geomspace(0.5, 2, 20)), *np.geomspace(1e-12, 1e6, 40)]
    rounding = 1e-13 * (cost + float(np.sum(A * (x + w * h))))
    assert cost <= min(weighted_cost(loss, x, w, A, other) for other in others) + rounding
    if h > 1e-3:
        search = minimize_scalar(
            lambda log_h: weighted_cost(loss, x, w, A, float(np.exp(log_h))),
            bracket=(np.log(h) - 0.7, np.log(h) + 0.4),
            options={"xtol": 1e-10},
        )
        assert abs(np.log(h) - search.x) <= 1e-5
    assert fit.defined[0]


@every_loss
@given(seed=st.integers(0, 2**32 - 1))
def test_rank_one_cost_orders_the_components(loss: Loss, seed: int) -> None:
    x, w, A = rank_one_problem(loss, seed)
    factors = [w, np.random.default_rng(seed + 1).uniform(0.05, 2, 6)]
    fits = [rank_one(loss, x, v, A) for v in factors]
    costs = [weighted_cost(loss, x, v, A, float(fit.h[0])) for v, fit in zip(factors, fits, strict=True)]
    difference = float(fits[1].cost[0] - fits[0].cost[0])
    size = sum(costs) + float(np.sum(A * x ** loss_degree(loss)))
    assert abs(difference - (costs[1] - costs[0])) <= 1e-12 * size


@every_loss
def test_rank_one_leaves_out_where_the_factor_is_zero(loss: Loss) -> None:
    x, w, A = np.random.default_rng(3).uniform(0.5, 2, (3, 6))
    some = np.array([True, False, True, True, False, True])
    fit, alone = rank_one(loss, x, np.where(some, w, 0), A), rank_one(loss, x[some], w[some], A[some])
    np.testing.assert_allclose(fit.h, alone.h, rtol=1e-12)
    if not isinstance(loss, Euclidean):
        np.testing.assert_allclose(fit.cost, alone.cost, rtol=1e-10)
    nothing = rank_one(loss, x, np.zeros(6), A)
    assert not nothing.defined[0]


@every_loss
def test_single_precision_stays_single_and_near(loss: Loss) -> None:
    x, y = np.random.default_rng(4).uniform(0.1, 3, (2, 50))
    small = loss.divergence(x.astype(np.float32), y.astype(np.float32))
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, loss.divergence(x, y), rtol=1e-3, atol=2e-5)
    for part in (loss.neg, loss.pos):
        assert part(x.astype(np.float32), y.astype(np.float32)).dtype == np.float32


def test_ratios_beyond_all_bounds_stay_finite() -> None:
    x, y = np.array([1e-150, 1.0, 1e150]), np.array([1e-90, 1e-90, 1e-90])
    for a in (-3.0, 0.5, 1.0, 2.0, 8.0):
        loss = Alpha(a)
        for value in (loss.neg(x, y), loss.divergence(y, y), step(loss, np.ones(3), y)):
            assert np.isfinite(value).all()


@pytest.mark.parametrize("a", [1e-7, 0.3, 1 - 1e-7, 3.0])
def test_losses_beyond_the_numbers_of_their_type_are_its_largest(a: float) -> None:
    """A hidden entry may be reconstructed by any number, and its loss, times 0, must stay 0."""
    x, y = np.array([0, 0, 1], np.float32), np.array([4.9e35, 3e38, 3e38], np.float32)
    d = Alpha(a).divergence(x, y)
    assert d.dtype == np.float32
    assert np.isfinite(d).all()
    assert np.all(d >= 1e35)


@pytest.mark.parametrize("a", [0.3, 0.5, 1 - 1e-7, 1.0])
def test_pulls_of_single_precision_are_not_held_back_up_to_alpha_one(a: float) -> None:
    """``Y`` is kept above 1e-30 of the data; a pull that ended at 1e19 asked for a step that raised ``E``."""
    x, y = np.ones(4, np.float32), np.array([1e-10, 1e-20, 1e-25, 1e-30], np.float32)
    expected = y.astype(np.float64) ** -a
    np.testing.assert_allclose(Alpha(a).neg(x, y), expected, rtol=1e-4)
    c = Alpha(a).scalar(numbers(np.float32, 1e-30, float))
    np.testing.assert_allclose([c.neg(c, 1.0, float(value)) for value in y], expected, rtol=1e-4)


@pytest.mark.parametrize("solver", ["mu", "accelerated"])
@pytest.mark.parametrize("a", [0.9999999, 1.0])
def test_penalised_cost_of_tiny_data_never_rises_in_single_precision(a: float, solver: str) -> None:
    """A penalty on the codes of data of 1e-25 sends reconstructions to 1e-22 of the data."""
    rng, E = np.random.default_rng(0), []
    X, W, H = rng.random((2, 7)), rng.random((2, 5)) + 0.1, rng.random((5, 7)) + 0.1
    start: dict[str, Any] = {"codes": W.astype(np.float32), "components": (1e-25 * H).astype(np.float32)}
    model = ewnmf.models.NMF(1e-3, 2e-3, 1.0)
    asked: dict[str, Any] = {"loss": Alpha(a), "model": model, "weighting": "none", "solver": solver, "max_iter": 20}
    ewnmf.factorize((1e-25 * X).astype(np.float32), 5, **asked, **start, callbacks=[lambda at: E.append(at.excess)])
    assert np.all(np.diff(E) <= 1e-5 * np.array(E[:-1]))
    assert len(E) > 10 or solver != "mu"
