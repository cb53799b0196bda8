"""The judge is judged: descent, limits, closed forms, the authors' numbers, a second writing of each rule."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.transcription import Alpha, Euclidean, KullbackLeibler, Loss, Run, run
from tests.transcription.matrices import ROUNDS, Round
from tests.transcription.orthogonal import hard_codes
from tests.transcription.tables import quotient, solve
from tests.transcription.weights import weighted_sum

Array = NDArray[np.float64]
GOLDEN = Path(__file__).parents[1] / "data" / "golden_small.npz"
M, N, K, GAMMA = 6, 5, 2, 0.05

LOSSES: list[tuple[str, float | None]] = [("euclidean", None), ("kullback-leibler", None)]
LOSSES += [("alpha", a) for a in (-1.5, -1e-9, 0.0, 1e-9, 0.03, 0.5, 1.0 - 1e-9, 1.0, 1.02, 2.0)]
CODES_AND_COMPONENTS = ["codes", "components"]
ORDERS = ["components-first", "codes-first"]
WEIGHTINGS = ["none", "fixed", "entropy"]


def problem(*, mixed: bool = False, zero: bool = True, shape: tuple[int, int] = (M, N)) -> dict[str, Array]:
    """Two sources with an outlier and (where wanted) a zero, start factors, and fixed weights with a 0."""
    rng = np.random.default_rng(7)
    m, n = shape
    X = rng.uniform(0.1, 1.0, (m, K)) @ rng.uniform(0.1, 1.0, (K, n)) + 0.05 * rng.uniform(size=(m, n))
    if mixed:
        X -= X.mean()
    X[1, 2] = 4.0
    if zero:
        X[3, 1] = 0.0
    P = rng.uniform(0.2, 2.0, (m, n))
    P[0, 0] = 0.0
    starts = {
        "W": rng.uniform(0.1, 1.1, (m, K)),
        "H": rng.uniform(0.1, 1.1, (K, n)),
        "U": rng.uniform(0.1, 1.1, (n, K)),
    }
    return {"X": X, "P": P, **starts}


def run_on(data: dict[str, Array], **choice: Any) -> Run:
    """A run that hands on what the choice uses of the problem."""
    parts: dict[str, Any] = {"loss": "euclidean", "model": "nmf", "weighting": "none", **choice}
    if parts["weighting"] == "fixed":
        parts["P"] = data["P"]
    if parts["weighting"] == "entropy":
        parts.setdefault("gamma", GAMMA)
    if parts["model"] == "convex-nmf":
        parts["U"] = data["U"]
    return run(data["X"], data["W"], data["H"], **parts)


def above_bound(result: Run, weighting: str) -> Array:
    """``E = J* + gamma N ln M`` (entropy), or the cost itself."""
    m, n = result.T.shape
    return result.history + (GAMMA * n * math.log(m) if weighting == "entropy" else 0.0)


MONOTONE: list[dict[str, Any]] = [
    {"model": model, "loss": loss, "alpha": alpha} | extra
    for loss, alpha in LOSSES
    if alpha in (None, -1.5, 0.0, 0.5, 2.0)
    for model, extra in [
        ("nmf", {}),
        ("convex-nmf", {}),
        *(("onmf", {"method": "hard", "of": of}) for of in CODES_AND_COMPONENTS),
    ]
]
MONOTONE += [
    {"model": "onmf", "method": "soft", "of": of, "loss": loss, "mu": 0.3, "lam": 0.1}
    for of in CODES_AND_COMPONENTS
    for loss in ("euclidean", "kullback-leibler")
]
MONOTONE += [{"model": model, "mixed": mixed} for model in ("semi-nmf", "convex-nmf") for mixed in (False, True)]
MONOTONE += [{"model": model, "loss": "alpha", "alpha": 1e-9} for model in ("nmf", "convex-nmf")]
MONOTONE += [{"model": "convex-nmf", "mixed": True, "shape": (4, 6)}]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("choice", MONOTONE, ids=lambda choice: "-".join(str(part) for part in choice.values()))
def test_cost_never_rises(choice: dict[str, Any], weighting: str, order: str) -> None:
    choice = dict(choice)
    zero = choice.get("alpha") is None or choice["alpha"] > 0.0
    data = problem(mixed=choice.pop("mixed", False), zero=zero, shape=choice.pop("shape", (M, N)))
    result = run_on(data, weighting=weighting, order=order, n_iter=8, **choice)
    E = above_bound(result, weighting)
    assert np.isfinite(E).all()
    assert E[-1] >= 0.0
    assert np.diff(E).max() <= 1e-12 * E[0]


@pytest.mark.skipif(not GOLDEN.exists(), reason="tests/data/golden_small.npz is absent")
@pytest.mark.parametrize("case", [0, 1, 2])
def test_follows_the_authors_program(case: int) -> None:
    golden = np.load(GOLDEN)
    gamma = float(golden["gammas"][case])
    result = run(
        golden["X"],
        golden["W0"],
        golden["H0"],
        loss="euclidean",
        model="nmf",
        weighting="entropy",
        gamma=gamma,
        n_iter=8,
    )
    np.testing.assert_allclose(result.history, golden[f"history_{case}"][:8], rtol=1e-12, atol=0.0)


@pytest.mark.parametrize(("loss", "alpha"), LOSSES)
def test_objective_is_the_papers_at_the_weights(loss: str, alpha: float | None) -> None:
    """Eq. (10), (22), (24): ``J* = sum T d + gamma sum T ln T``."""
    data = problem(zero=alpha is None or alpha > 0.0)
    result = run_on(data, loss=loss, alpha=alpha, weighting="entropy", gamma=0.3, n_iter=3)
    d = np.vectorize(loss_object(loss, alpha).divergence)(data["X"], result.W @ result.H)
    np.testing.assert_allclose(result.T.sum(axis=0), 1.0, rtol=1e-14)
    entropy = sum(t * math.log(t) for t in result.T.flat if t > 0.0)
    assert (result.T * d).sum() + 0.3 * entropy == pytest.approx(result.history[-1], rel=1e-12)


def loss_object(loss: str, alpha: float | None) -> Loss:
    if alpha is not None:
        return Alpha(alpha)
    return Euclidean() if loss == "euclidean" else KullbackLeibler()


VALUES = [1e-8, 0.3, 0.3000001, 1.0, 7.5, 1e4]


@pytest.mark.parametrize(("loss", "alpha"), LOSSES)
def test_divergence_is_nonnegative_and_zero_only_at_equality(loss: str, alpha: float | None) -> None:
    d = loss_object(loss, alpha).divergence
    for x in VALUES:
        for y in VALUES:
            rounding = 2e-15 * (x + y)
            assert d(x, y) >= -rounding
            assert abs(d(x, x)) <= rounding
            if abs(x - y) > 1e-5 * x:
                assert d(x, y) > rounding


def test_divergence_at_zero() -> None:
    assert KullbackLeibler().divergence(0.0, 2.0) == 2.0
    assert KullbackLeibler().divergence(2.0, 0.0) == math.inf
    assert Alpha(0.5).divergence(0.0, 2.0) == 4.0
    assert Alpha(0.5).divergence(2.0, 0.0) == 4.0
    assert Alpha(2.0).divergence(0.0, 2.0) == 1.0
    assert Alpha(2.0).divergence(2.0, 0.0) == math.inf
    assert Alpha(-1.0).divergence(2.0, 0.0) == 1.0
    assert Alpha(0.0).divergence(2.0, 0.0) == 2.0


def stable_divergence(a: float, x: float, y: float) -> float:
    """``(x/a) [(r-1) - expm1(t ln r)/t]``, r = y/x, t = 1-a; below a = 1/2 ``d_a(x,y) = d_{1-a}(y,x)``."""
    if a < 0.5:
        return stable_divergence(1.0 - a, y, x)
    r, t = y / x, 1.0 - a
    return x / a * ((r - 1.0) - math.expm1(t * math.log(r)) / t)


@pytest.mark.parametrize("a", [-3.0, -0.06, 0.04, 0.05, 0.051, 0.3, 0.5, 0.949, 0.95, 0.99, 1.01, 1.05, 1.051, 3.0])
def test_alpha_divergence_agrees_with_its_stable_form(a: float) -> None:
    for x in (0.2, 1.0, 3.0):
        for y in (0.1, 0.9, 5.0):
            assert Alpha(a).divergence(x, y) == pytest.approx(stable_divergence(a, x, y), rel=1e-12)


@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9, 1e-12, -1e-3, -1e-6, -1e-9, -1e-12])
@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_alpha_tends_to_its_limits_in_proportion(limit: float, step: float) -> None:
    terms = [(0.7, 0.4, 1.3), (0.2, 2.0, 0.6), (1.1, 0.9, 1.0)]
    near, at = Alpha(limit + step), Alpha(limit)
    moved = (limit + step) - limit
    assert abs(near.divergence(0.4, 1.3) - at.divergence(0.4, 1.3)) <= abs(moved) + 1e-15
    assert abs(near.factor(terms) - at.factor(terms)) <= abs(moved) + 1e-15
    scale, limit_scale = near.best_scale(terms), at.best_scale(terms)
    assert scale is not None
    assert limit_scale is not None
    assert abs(scale - limit_scale) <= abs(moved) + 1e-15


def test_alpha_smallest_values_keep_their_digits() -> None:
    terms = [(0.7, 0.4, 1.3), (0.2, 2.0, 0.6)]
    for a in (1e-30, -1e-200, 5e-324):
        assert Alpha(a).divergence(0.4, 1.3) == pytest.approx(Alpha(0.0).divergence(0.4, 1.3), rel=1e-15)
        assert Alpha(a).factor(terms) == pytest.approx(Alpha(0.0).factor(terms), rel=1e-15)


@pytest.mark.parametrize(("loss", "alpha"), LOSSES)
def test_best_scale_is_the_minimum(loss: str, alpha: float | None) -> None:
    d = loss_object(loss, alpha)
    terms = [(0.7, 0.4, 1.3), (0.2, 2.0, 0.6), (1.1, 0.9, 1.0), (0.0, 5.0, 0.1)]
    best = d.best_scale(terms)
    assert best is not None

    def cost(h: float) -> float:
        return sum(a * d.divergence(x, w * h) for a, x, w in terms)

    assert cost(best) < min(cost(best * 1.001), cost(best / 1.001))


@pytest.mark.parametrize(("loss", "alpha"), LOSSES)
def test_no_weight_moves_nothing(loss: str, alpha: float | None) -> None:
    d = loss_object(loss, alpha)
    assert d.factor([(0.0, 1.0, 2.0), (0.0, 3.0, 1.0)]) == 1.0
    assert d.best_scale([(0.0, 1.0, 2.0), (0.0, 3.0, 1.0)]) is None


def test_gaussian_elimination_pivots() -> None:
    B = [[0.0, 2.0, 1.0], [1.0, -1.0, 0.5], [3.0, 1e-3, -2.0]]
    np.testing.assert_allclose(solve(B, [1.0, -2.0, 0.25]), np.linalg.solve(B, [1.0, -2.0, 0.25]), rtol=1e-14)


@pytest.mark.parametrize(("matrix_round", "choice"), ROUNDS)
def test_one_round_is_the_matrix_formula(matrix_round: Round, choice: dict[str, Any]) -> None:
    choice = dict(choice)
    data = problem(mixed=choice.pop("mixed", False), zero=False, shape=choice.pop("shape", (M, N)))
    result = run_on(data, n_iter=1, **choice)
    ones = np.ones_like(data["X"])
    A = {"none": ones, "fixed": data["P"], "entropy": ones / M}[choice.get("weighting", "none")]
    W, H = matrix_round(data["X"], data["W"], data["H"], data["U"], A)
    np.testing.assert_allclose(result.W, W, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(result.H, H, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("choice", [{"model": "nmf"}, {"model": "semi-nmf"}, {"model": "onmf", "method": "hard"}])
def test_attribute_without_weight_keeps_its_components(choice: dict[str, Any]) -> None:
    data = problem()
    data["P"][2] = 0.0
    assert (run_on(data, weighting="fixed", **choice).W[2] == data["W"][2]).all()


def test_infinite_loss_without_weight_costs_nothing() -> None:
    assert weighted_sum([[math.inf, 2.0], [1.0, 3.0]], [[0.0, 1.0], [0.5, 0.0]]) == 2.5
    X, A, W = [[1.0], [1.0], [2.0]], [[0.0], [1.0], [1.0]], [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    assert hard_codes(X, A, W, [[1.0], [1.0]], KullbackLeibler()) == [[0.0], [1.0]]


def test_zero_over_zero_leaves_a_factor_alone() -> None:
    assert quotient(0.0, 0.0) == 1.0


@pytest.mark.parametrize(("weighting", "mean"), [("none", 1.0), ("fixed", None), ("entropy", 1.0 / M)])
def test_soft_penalty_is_in_the_objective_at_the_scale_of_the_weights(weighting: str, mean: float | None) -> None:
    data = problem()
    result = run_on(data, model="onmf", method="soft", mu=0.3, lam=0.1, weighting=weighting)
    d = (data["X"] - result.W @ result.H) ** 2
    cost = -GAMMA * np.log(np.exp(-d / GAMMA).sum(axis=0)).sum() if weighting == "entropy" else (result.T * d).sum()
    penalty = 0.3 * 2.0 * (result.H[0] * result.H[1]).sum() + 0.1 * (result.W**2).sum()
    scale = data["P"].mean() if mean is None else mean
    assert result.history[-1] == pytest.approx(cost + scale * penalty, rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("loss", "alpha"), LOSSES)
def test_hard_assigns_one_component(loss: str, alpha: float | None, order: str) -> None:
    data = problem(zero=False)
    choice = {"loss": loss, "alpha": alpha, "weighting": "entropy", "order": order, "n_iter": 2}
    choice |= {"model": "onmf", "method": "hard"}
    assert (np.count_nonzero(run_on(data, of="codes", **choice).H, axis=0) == 1).all()
    assert (np.count_nonzero(run_on(data, of="components", **choice).W, axis=1) == 1).all()


@pytest.mark.parametrize(
    "choice", [{"method": "soft", "mu": 0.3, "lam": 0.1}, {"method": "hard"}, {"method": "stiefel"}]
)
def test_orthogonal_components_mirror_orthogonal_codes(choice: dict[str, Any]) -> None:
    data = problem()
    flipped = {"X": data["X"].T, "W": data["H"].T, "H": data["W"].T, "P": data["P"].T}
    weighting = "none" if choice["method"] == "stiefel" else "fixed"
    a = run_on(data, model="onmf", of="components", weighting=weighting, **choice)
    b = run_on(flipped, model="onmf", of="codes", weighting=weighting, order="codes-first", **choice)
    np.testing.assert_allclose(a.W, b.H.T, rtol=1e-13)
    np.testing.assert_allclose(a.history, b.history, rtol=1e-13)


@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
def test_soft_without_penalty_is_nmf(loss: str) -> None:
    soft = run_on(problem(), model="onmf", method="soft", mu=0.0, lam=0.0, loss=loss, weighting="entropy")
    nmf = run_on(problem(), loss=loss, weighting="entropy")
    np.testing.assert_allclose(soft.W, nmf.W, rtol=1e-12)
    np.testing.assert_allclose(soft.history, nmf.history, rtol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
def test_large_gamma_is_plain_nmf(loss: str, order: str) -> None:
    plain = run_on(problem(), loss=loss, order=order)
    entropy = run_on(problem(), loss=loss, order=order, weighting="entropy", gamma=1e13)
    np.testing.assert_allclose(entropy.W, plain.W, rtol=1e-10)
    np.testing.assert_allclose(entropy.H, plain.H, rtol=1e-10)


@pytest.mark.parametrize(("loss", "alpha"), [case for case in LOSSES if case[1] is None or case[1] > 0.0])
def test_attribute_of_zeros_stays_finite(loss: str, alpha: float | None) -> None:
    data = problem()
    data["X"][4] = 0.0
    result = run_on(data, loss=loss, alpha=alpha, weighting="entropy")
    floor = 1e-60 * data["X"].max()
    assert (result.W[4] == floor).all()
    assert np.isfinite(result.history).all()
    assert np.isfinite(result.H).all()


@pytest.mark.parametrize(
    ("choice", "word"),
    [
        ({"model": "semi-nmf", "loss": "kullback-leibler"}, "Semi-NMF"),
        ({"model": "convex-nmf", "loss": "kullback-leibler", "mixed": True}, "mixed signs"),
        ({"model": "onmf", "method": "lagrange", "weighting": "entropy"}, "lagrange"),
        ({"model": "onmf", "method": "stiefel", "loss": "kullback-leibler"}, "stiefel"),
        ({"model": "onmf", "method": "soft", "loss": "alpha", "alpha": 0.5}, "Soft"),
        ({"loss": "alpha", "alpha": -1.0}, "above zero"),
        ({"loss": "alpha"}, "alpha"),
    ],
)
def test_undefined_choice_is_refused(choice: dict[str, Any], word: str) -> None:
    choice = dict(choice)
    data = problem(mixed=choice.pop("mixed", False))
    with pytest.raises(ValueError, match=word):
        run_on(data, **choice)
