"""Semi-NMF with more components than the data has dimensions: the systems of its basis step are singular."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import ewnmf
from ewnmf import losses
from ewnmf.models.semi import _corrections, within_reach
from ewnmf.solvers.tuning import rounding

WIDE = np.random.default_rng(0).normal(size=(10, 25))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("asked", [{"weighting": "fixed"}, {"weighting": "entropy", "gamma": 1.0}], ids=str)
def test_single_precision_does_not_run_away(asked: dict[str, Any]) -> None:
    model = ewnmf.SemiNMF(**asked, max_iter=40, random_state=0)
    double, single = (clone(model).fit(WIDE.astype(dtype)) for dtype in (np.float64, np.float32))
    assert np.abs(single.components_).max() < 2 * np.abs(double.components_).max()
    assert single.reconstruction_err_ < 1e-4 * np.linalg.norm(WIDE)


@pytest.mark.parametrize("weighting", ["fixed", "entropy"])
@pytest.mark.parametrize(("dtype", "rise"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_the_excess_never_rises(weighting: str, dtype: Any, rise: float) -> None:
    rng, E = np.random.default_rng(1), []
    asked: dict[str, Any] = {"weights": rng.uniform(0, 2, (30, 8))} if weighting == "fixed" else {"gamma": 0.5}
    X = rng.normal(size=(30, 8)).astype(dtype)
    ewnmf.factorize(
        X, 12, model="semi-nmf", weighting=weighting, rng=0, callbacks=[lambda at: E.append(at.excess)], **asked
    )
    assert np.diff(E).max() <= rise * E[0]


@pytest.mark.parametrize("asked", [{}, {"weighting": "fixed"}, {"weighting": "entropy", "gamma": 1.0}], ids=str)
def test_codes_at_their_floor_do_not_make_the_basis_overflow(asked: dict[str, Any]) -> None:
    """A positive start sends all codes of negative data there, and least squares the basis beyond all reach."""
    X, ends = -np.random.default_rng(0).uniform(1, 500, (4, 3)), []
    for dtype in (np.float32, np.float64):
        E: list[float] = []
        watch: Any = [lambda at, E=E: E.append(at.excess)]
        answer = ewnmf.factorize(
            X.astype(dtype),
            1,
            **{"model": "semi-nmf", "weighting": "none", **asked},
            codes=np.ones((4, 1)),
            components=np.ones((1, 3)),
            order="codes-first",
            max_iter=40,
            callbacks=watch,
        )
        assert np.isfinite(answer.codes @ answer.components).all()
        assert np.all(np.diff(E) <= 1e-6 * E[0])
        ends.append(E[-1])
    assert ends[0] == pytest.approx(ends[1], rel=1e-2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_beyond_reach_go_as_far_as_they_may(dtype: Any) -> None:
    far = 10.0 * float(np.finfo(dtype).max) ** 0.4
    old = np.array([[1.0, 0.5], [1.0, 2.0], [far, 1.0]]).astype(dtype)
    new = np.array([[2.0, 3.0], [-far, far / 4], [far, 2.0]])
    moved = within_reach(new.copy(), old)
    np.testing.assert_array_equal(moved[[0, 2]], new[[0, 2]].astype(dtype))
    share = (moved[1] - old[1]) / (new[1] - old[1])
    assert 0 < share[0] < 1
    np.testing.assert_allclose(share, share[0], rtol=1e-6)
    assert np.abs(moved[1]).max() == pytest.approx(float(np.finfo(dtype).max) ** 0.33, rel=1e-6)


@pytest.mark.parametrize("seed", [5, 24, 31, 38])
def test_the_excess_of_single_precision_never_rises_under_very_different_weights(seed: int) -> None:
    """By more than a relative error ``u`` of every reconstructed value makes of it."""
    rng, E = np.random.default_rng(seed), []
    X = (rng.random((9, 2)) @ rng.random((2, 3)) + 0.05 * rng.random((9, 3))).astype(np.float32)
    s = 10.0 ** rng.uniform(-6, 4, 9)
    watch = [lambda at: E.append(at.excess)]
    asked: dict[str, Any] = {"model": "semi-nmf", "weighting": "none", "sample_weight": s, "rng": seed}
    answer = ewnmf.factorize(X, 8, **asked, max_iter=30, n_jobs=1, callbacks=watch)
    u, before = 16 * np.sqrt(20) * np.finfo(np.float32).eps, np.array(E[:-1])
    S = float(s @ np.sum(np.maximum(X, np.abs(answer.codes) @ np.abs(answer.components)) ** 2, axis=1))
    assert np.all(np.diff(E) <= u * before + 2 * u * np.sqrt(before * S) + u * u * S)


@pytest.mark.parametrize("seed", range(6))
def test_the_excess_of_an_exact_fit_never_rises_under_very_different_weights(seed: int) -> None:
    """Nearly singular systems blow up the rounding of their right sides, step by step."""
    rng, E = np.random.default_rng(seed), []
    X, s = rng.random((5, 2)) @ rng.random((2, 15)), 10.0 ** rng.uniform(-6, 6, 5)
    watch = [lambda at: E.append(at.excess)]
    asked: dict[str, Any] = {"model": "semi-nmf", "weighting": "none", "sample_weight": s, "rng": seed}
    answer = ewnmf.factorize(X, 6, **asked, max_iter=40, callbacks=watch)
    S = float(s @ np.sum(np.maximum(X, np.abs(answer.codes) @ np.abs(answer.components)) ** 2, axis=1))
    assert E[-1] < 1e-12 * S
    assert np.all(np.diff(E) <= 1e-12 * E[0] + (16 * np.finfo(np.float64).eps) ** 2 * S)


def test_nothing_moves_where_nothing_is_known() -> None:
    rng = np.random.default_rng(2)
    H = rng.random((6, 4))
    S = np.stack([H @ np.diag(a) @ H.T for a in (rng.random(4), 1e-30 * rng.random(4), np.zeros(4))])
    target, noise = rng.normal(size=(3, 6)), rng.normal(size=(3, 6))
    right = np.einsum("ikl,il->ik", S, target)
    moved = _corrections(S, right * (1 + 1e-16 * noise), 1e-6)
    null = np.linalg.svd(H.T)[2][4:]
    assert np.abs(moved @ null.T).max() < 1e-12
    left = np.linalg.norm(np.einsum("ikl,il->ik", S, moved) - right, axis=1)
    assert np.all(left <= 1e-4 * np.linalg.norm(right, axis=1))
    assert not moved[2].any()


def test_firm_and_singular_systems_are_solved_alike() -> None:
    rng = np.random.default_rng(3)
    A = rng.normal(size=(5, 4, 9))
    S, b = A @ A.transpose(0, 2, 1), rng.normal(size=(5, 4))
    rho = 1e-6 * np.trace(S, axis1=1, axis2=2) / 4
    expected = np.linalg.solve(S + rho[:, None, None] * np.eye(4), b[:, :, None])[:, :, 0]
    np.testing.assert_allclose(_corrections(S, b, 1e-6), expected, rtol=1e-11)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ewnmf.models.semi._FIRM", np.inf)
        np.testing.assert_allclose(_corrections(S, b, 1e-6), expected, rtol=1e-11)


def test_rounding_grows_with_the_number_of_products_that_are_summed() -> None:
    one, ten = (rounding(losses.Euclidean(), 3.0, np.dtype(np.float64), K) for K in (1, 10))
    assert ten == pytest.approx(100 * one)
