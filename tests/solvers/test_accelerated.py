"""The accelerated solver: lower in the same number of iterations, and never up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ewnmf
from ewnmf import losses
from ewnmf.models.base import Facts
from ewnmf.models.nmf import NMF, Multiplicative
from ewnmf.solvers.accelerated import beyond
from ewnmf.solvers.orders import Run


def _damaged(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.random((40, 4)) @ rng.random((4, 25)) + 0.05 * rng.random((40, 25))
    X[rng.random(X.shape) < 0.05] = 4.0
    return X


@given(
    loss=st.sampled_from(["euclidean", "kullback-leibler", *(losses.Alpha(a) for a in (-1.0, 0.0, 0.5, 2.0))]),
    weighting=st.sampled_from(["none", "fixed", "entropy"]),
    order=st.sampled_from(["components-first", "codes-first"]),
    gamma=st.sampled_from([1e-3, 1e-2, 0.1, 1.0, 10.0]),
    seed=st.integers(0, 1000),
)
def test_excess_never_rises(loss: Any, weighting: str, order: str, gamma: float, seed: int) -> None:
    seen: list[float] = []
    ewnmf.factorize(
        _damaged(seed),
        4,
        loss=loss,
        weighting=weighting,
        gamma=gamma,
        order=order,
        solver="accelerated",
        rng=seed,
        max_iter=60,
        callbacks=[lambda report: seen.append(report.excess)],
    )
    assert np.max(np.diff(seen)) <= 1e-12 * seen[0]


@pytest.mark.parametrize("weighting", ["none", "entropy"])
@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
def test_needs_fewer_iterations(loss: str, weighting: str) -> None:
    options: dict[str, Any] = {"loss": loss, "weighting": weighting, "gamma": 0.1, "order": "codes-first", "rng": 0}
    plain = ewnmf.factorize(_damaged(0), 4, max_iter=300, **options)
    fast = ewnmf.factorize(_damaged(0), 4, max_iter=150, solver="accelerated", **options)
    assert fast.excess < plain.excess


def test_the_first_iterations_are_plain_where_weights_are_learned() -> None:
    asked: dict[str, Any] = {"gamma": 0.1, "order": "codes-first", "rng": 0, "max_iter": 40}
    plain, fast = (ewnmf.factorize(_damaged(0), 4, solver=solver, **asked).history for solver in ("mu", "accelerated"))
    np.testing.assert_allclose(fast[:30], plain[:30], rtol=1e-12)
    assert fast[-1] < plain[-1]


def test_tunes_gamma_and_stops_on_tol() -> None:
    X = _damaged(1)
    answer = ewnmf.factorize(X, 4, gamma="self-tuned", solver="accelerated", tol=1e-3, rng=0)
    assert answer.reason == "converged"
    assert answer.gamma is not None
    assert (np.diff(answer.history) <= 0).all()
    assert answer.n_iter > 150


def test_the_basis_goes_beyond_by_its_share_of_the_weights() -> None:
    rng = np.random.default_rng(0)
    W, H, A, s = rng.random((6, 3)), rng.random((3, 9)), rng.random((6, 9)) ** 8, rng.random(9)
    A[2], Y = 0, W @ H
    met = ((A * s * Y) @ H.T) / ((s * Y) @ H.T)
    seen = np.arange(6) != 2
    mean = np.sum(((A * s * Y) @ H.T)[seen]) / np.sum(((s * Y) @ H.T)[seen])
    rule = Multiplicative(losses.Euclidean(), Facts(6, 9, 1e-300, 1e-300))
    shares = rule.weight_shares((W,), ((A * s) @ H.T, (A * s * Y) @ H.T), (H * s) @ H.T)
    np.testing.assert_allclose(shares, np.minimum(met / mean, 1), rtol=1e-12)
    np.testing.assert_array_equal(shares[2], 0)


@pytest.mark.parametrize("b", [0.0, 0.3, 0.9, 1.0])
def test_going_beyond_is_nearly_a_power(b: float) -> None:
    now, before = np.array([1.0, 1.1, 0.9, 3.0, 0.0, 1e-40]), np.array([1.0, 1.0, 1.0, 2.5, 1.0, 1e-40])
    np.testing.assert_allclose(beyond(now, before, b, 1e-30), now * (now / before) ** b, rtol=2e-3)


def test_components_end_with_equal_sums() -> None:
    fixed = np.random.default_rng(0).random((1, 25))
    asked: dict[str, Any] = {"gamma": 0.1, "rng": 0, "max_iter": 30, "fixed_components": fixed}
    answer = ewnmf.factorize(_damaged(0), 4, solver="accelerated", **asked)
    sums = answer.components.sum(axis=1)
    np.testing.assert_allclose(sums[1:], sums[1], rtol=1e-12)
    np.testing.assert_array_equal(answer.components[:1], fixed)


@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
def test_attributes_without_weight_have_no_influence(loss: str) -> None:
    """What components started with, where nothing was observed, moves neither the steps nor the sums that end alike."""
    X, asked = _damaged(3), dict[str, Any](loss=loss, solver="accelerated", rng=0, max_iter=12, weighting="fixed")
    starts, weight = np.random.default_rng(1).random((2, 4, 25)), np.ones(25)
    weight[[3, 8]] = 0
    codes = np.random.default_rng(2).random((len(X), 4))
    starts[1][:, weight > 0] = starts[0][:, weight > 0]
    one, other = (
        ewnmf.factorize(X, 4, feature_weight=weight, codes=codes, components=start, **asked) for start in starts
    )
    np.testing.assert_allclose(other.components, one.components, rtol=1e-12)
    np.testing.assert_allclose(other.codes, one.codes, rtol=1e-12)


def test_final_state_is_what_the_objective_says() -> None:
    X = _damaged(2)
    answer = ewnmf.factorize(X, 4, gamma=0.1, solver="accelerated", rng=0, max_iter=37)
    D = (X - answer.codes @ answer.components) ** 2
    np.testing.assert_allclose(answer.objective, -0.1 * np.log(np.exp(-D / 0.1).sum(axis=1)).sum(), rtol=1e-10)


def test_other_models_are_refused() -> None:
    for cls in (ewnmf.SemiNMF, ewnmf.ConvexNMF, ewnmf.ONMF):
        with pytest.raises(ValueError, match=r"solver='accelerated' cannot be combined with model="):
            cls(2, solver="accelerated").fit(_damaged(0))


def test_estimators_take_it() -> None:
    model = ewnmf.EWNMF(4, solver="accelerated", tol=0, max_iter=50, random_state=0).fit(_damaged(0))
    assert model.transform(_damaged(0)).shape == (40, 4)


@pytest.mark.parametrize("seed", range(3))
def test_excess_never_rises_where_a_penalty_sends_codes_to_their_floor(seed: int) -> None:
    """An extrapolated point below the floor costs less than the step from it, which ends at the floor."""
    rng, E = np.random.default_rng(seed), []
    X, codes, components = 1e-25 * np.exp(rng.normal(size=(3, 6))), rng.random((3, 4)), rng.random((4, 6))
    model = NMF(alpha_codes=3.0, alpha_components=3.0, l1_ratio=0.5)
    asked: dict[str, Any] = {"weighting": "none", "solver": "accelerated", "max_iter": 10}
    watch = [lambda at: E.append(at.excess)]
    ewnmf.factorize(X, 4, model=model, codes=codes + 0.1, components=components + 0.1, **asked, callbacks=watch)
    assert np.all(np.diff(E) <= 1e-12 * E[0])


def test_a_last_step_that_rises_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain step from where nothing can be gained may rise by rounding: then the state before it stands."""
    E: list[float] = []
    whole = Run.measure

    def risen(self: Run) -> Any:
        measure = whole(self)
        return measure._replace(E=1.1 * E[-1])

    monkeypatch.setattr(Run, "measure", risen)
    answer = ewnmf.factorize(
        _damaged(3), 4, gamma=0.1, solver="accelerated", rng=0, max_iter=8, callbacks=[lambda at: E.append(at.excess)]
    )
    assert answer.excess == E[-1] < E[0]
    assert np.all(np.diff(E) <= 0)
