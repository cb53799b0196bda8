"""Coordinate descent: scikit-learn's steps, never up, one answer for every storage and number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.decomposition import NMF as Peer

import ewnmf
from ewnmf import losses, models, weightings
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.select import kernel_for
from ewnmf.models.base import Block
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense
from tests.problems import kernels

QUIET = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def _data(seed: int, n: int = 40, m: int = 25, zeros: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)) @ rng.random((4, m)) + 0.05 * rng.random((n, m))
    X[rng.random(X.shape) < zeros] = 0
    return X


@QUIET
@pytest.mark.parametrize("penalty", [{}, {"alpha_W": 0.01, "alpha_H": 0.02, "l1_ratio": 0.4}], ids=str)
def test_the_steps_are_those_of_scikit_learn(penalty: dict[str, float]) -> None:
    X, rng = _data(0), np.random.default_rng(1)
    start = {"W": rng.random((40, 4)) + 0.1, "H": rng.random((4, 25)) + 0.1}
    same: dict[str, Any] = {"solver": "cd", "init": "custom", "tol": 0, "max_iter": 7, **penalty}
    theirs = Peer(4, **same)
    theirs.fit_transform(X, **{name: part.copy() for name, part in start.items()})
    mine = ewnmf.NMF(4, **same).fit(X, **start)
    np.testing.assert_allclose(mine.components_, theirs.components_, rtol=1e-9, atol=1e-12)


@given(
    solver=st.sampled_from(["cd", "accelerated-cd"]),
    order=st.sampled_from(["components-first", "codes-first"]),
    penalty=st.sampled_from([0.0, 1e-3, 0.1]),
    l1_ratio=st.sampled_from([0.0, 0.5, 1.0]),
    weighted=st.booleans(),
    sparse=st.booleans(),
    single=st.booleans(),
    fixed=st.integers(0, 2),
    m=st.sampled_from([3, 25, 200]),
    seed=st.integers(0, 1000),
)
def test_excess_never_rises(
    solver: str,
    order: str,
    penalty: float,
    l1_ratio: float,
    weighted: bool,
    sparse: bool,
    single: bool,
    fixed: int,
    m: int,
    seed: int,
) -> None:
    seen: list[float] = []
    X = _data(seed, m=m, zeros=0.9 if sparse else 0.1).astype(np.float32 if single else np.float64)
    rng = np.random.default_rng(seed)
    held = rng.random((fixed, m)).astype(X.dtype)
    answer = ewnmf.factorize(
        csr_array(X) if sparse else X,
        4,
        model=models.NMF(penalty, penalty, l1_ratio),
        weighting="none",
        order=order,
        solver=solver,
        sample_weight=rng.random(len(X)) + 0.1 if weighted else None,
        fixed_components=held if fixed else None,
        rng=seed,
        max_iter=30,
        callbacks=[lambda report: seen.append(report.excess)],
    )
    assert np.max(np.diff(seen)) <= (1e-6 if single else 1e-12) * seen[0]
    np.testing.assert_array_equal(answer.components[:fixed], held)
    assert min(answer.codes.min(), answer.components.min()) >= 0


@given(
    model=st.sampled_from([models.NMF(), models.NMF(0.01, 0.02, 0.4)]),
    points=st.booleans(),
    single=st.booleans(),
    m=st.integers(1, 150),
    K=st.integers(1, 9),
    seed=st.integers(0, 2**20),
)
def test_compiled_sweeps_are_the_reference(
    model: models.NMF, points: bool, single: bool, m: int, K: int, seed: int
) -> None:
    rng, dtype, n = np.random.default_rng(seed), np.float32 if single else np.float64, 30
    X = np.asfortranarray(rng.random((m, n)), dtype)
    W, H = np.asfortranarray(rng.random((m, K)), dtype), np.asfortranarray(rng.random((K, n)), dtype)
    block = Block(X, None, (rng.random(n) + 0.1).astype(dtype) if points else None)
    problem, data = Problem(losses.Euclidean(), model, weightings.Uniform()), Dense(X)
    rule = problem.rule(data.facts(problem), coordinates=True)
    kernels = kernel_for(problem, rule, data.tiny), Kernel(problem, rule, data.tiny)
    one, other = (k.sweep_codes_first(block, H, (W,), rule.shared((W,), ()), weightings.Uniform()) for k in kernels)
    tolerance: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-3} if single else {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(one.H, other.H, **tolerance)
    np.testing.assert_allclose(one.measure, other.measure, rtol=1e-4 if single else 1e-10)
    for mine, theirs in zip(one.stats, other.stats, strict=True):
        np.testing.assert_allclose(mine, theirs, **tolerance)
    (mine,), (theirs,) = (k.move_basis((W,), other.stats) for k in kernels)
    np.testing.assert_allclose(mine, theirs, **tolerance)


def test_an_exact_fit_keeps_its_digits() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 2)) @ rng.random((2, 20))
    answer = ewnmf.factorize(X, 2, weighting="none", solver="cd", rng=0, max_iter=2000)
    again = np.sum((X - answer.codes @ answer.components) ** 2)
    assert answer.excess < 1e-12
    assert answer.excess == pytest.approx(again, rel=1e-3, abs=1e-28)


@pytest.mark.parametrize("solver", ["cd", "accelerated-cd"])
@pytest.mark.parametrize("sparse", [False, True])
def test_threads_change_nothing(sparse: bool, solver: str) -> None:
    X: Any = _data(3, 700, 300, 0.9)
    one, two = (
        ewnmf.factorize(csr_array(X) if sparse else X, 4, weighting="none", solver=solver, rng=0, max_iter=5, n_jobs=n)
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one.codes, two.codes)
    np.testing.assert_array_equal(one.components, two.components)
    assert one.history.tolist() == two.history.tolist()


def test_sparse_data_is_fitted_like_dense_data() -> None:
    X = _data(3, zeros=0.9)
    one, two = (
        ewnmf.factorize(form(X), 4, weighting="none", solver="cd", rng=0, max_iter=20)
        for form in (np.asarray, csr_array)
    )
    np.testing.assert_allclose(one.codes @ one.components, two.codes @ two.components, atol=1e-9)


def test_it_goes_lower_than_multiplicative_steps() -> None:
    runs = {
        solver: ewnmf.factorize(_data(1), 4, weighting="none", solver=solver, rng=0, max_iter=40)
        for solver in ("mu", "cd")
    }
    assert runs["cd"].excess < runs["mu"].excess


@QUIET
def test_an_infinite_gamma_is_plain() -> None:
    X = _data(2)
    plain, even = (
        model.set_params(solver="cd", random_state=0, max_iter=9).fit(X)
        for model in (ewnmf.NMF(3), ewnmf.EWNMF(3, gamma=np.inf))
    )
    np.testing.assert_array_equal(plain.components_, even.components_)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ewnmf.NMF(3, loss="kullback-leibler"), r"solver='cd' cannot be combined with loss='kullback-leibler'.*'mu'"),
        (ewnmf.EWNMF(3), r"solver='cd' cannot be combined with weighting='entropy'.*solver='mu'"),
        (ewnmf.SemiNMF(3), r"solver='cd' cannot be combined with model='semi-nmf'.*solver='mu'"),
        (ewnmf.ConvexNMF(3), r"solver='cd' cannot be combined with model='convex-nmf'.*solver='mu'"),
        (ewnmf.ONMF(3), r"solver='cd' cannot be combined with model='onmf'.*solver='mu'"),
        (
            ewnmf.NMF(3, feature_weight=np.arange(1.0, 26)),
            r"solver='cd' cannot be combined with missing values, mask or",
        ),
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.set_params(solver="cd").fit(_data(0))


def test_random_starts_have_the_size_of_the_data() -> None:
    X = np.random.default_rng(0).random((16, 5)) + 0.1
    fits = [ewnmf.NMF(2, solver="cd", init="random", tol=0, max_iter=3, random_state=0).fit(c * X) for c in (1, 64)]
    np.testing.assert_allclose(64 * fits[0].reconstruction_err_, fits[1].reconstruction_err_, rtol=1e-12)


@QUIET
def test_extrapolation_goes_lower() -> None:
    runs = {
        solver: ewnmf.factorize(_data(1), 4, weighting="none", solver=solver, rng=0, max_iter=60)
        for solver in ("cd", "accelerated-cd")
    }
    assert runs["accelerated-cd"].excess < runs["cd"].excess


@QUIET
@pytest.mark.parametrize(
    ("model", "solver"),
    [
        (ewnmf.NMF(3), "accelerated-cd"),
        (ewnmf.NMF(3, alpha_W=0.01, l1_ratio=0.5), "accelerated-cd"),
        (ewnmf.EWNMF(3, gamma=np.inf), "accelerated-cd"),
        (ewnmf.EWNMF(3, gamma=0.1), "accelerated"),
        (ewnmf.NMF(3, weighting="welsch", gamma=0.1), "accelerated"),
        (ewnmf.EWNMF(3, gamma=0.1, loss="kullback-leibler"), "mu"),
        (ewnmf.NMF(3, loss="kullback-leibler"), "mu"),
        (ewnmf.NMF(3, feature_weight=np.arange(1.0, 26)), "mu"),
        (ewnmf.SemiNMF(3), "mu"),
    ],
    ids=str,
)
def test_the_default_is_the_fastest_that_takes_the_problem(model: Any, solver: str) -> None:
    X, start = _data(2) + 0.1, np.random.default_rng(0).random((43, 25)) + 0.1
    given = {"W": start[:40, :3], "H": start[40:]}
    asked: dict[str, Any] = {"init": "custom", "tol": 0, "max_iter": 40}
    chosen, named = (model.set_params(solver=name, **asked).fit(X, **given).components_ for name in ("auto", solver))
    np.testing.assert_array_equal(chosen, named)


def test_a_run_that_stands_still_has_converged() -> None:
    """Of a point where nothing but rounding is left the steps are not repeated to the end without a word."""
    X = np.outer(np.arange(1.0, 8), np.arange(1.0, 6))
    for solver, weighting in (("accelerated-cd", "none"), ("accelerated", "none"), ("accelerated", "entropy")):
        answer = ewnmf.factorize(X, 1, weighting=weighting, gamma=1.0, solver=solver, rng=0, max_iter=2000, tol=1e-9)
        assert answer.reason == "converged"


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("solver", ["cd", "accelerated-cd"])
def test_codes_beside_components_of_nothing_stay_where_their_squares_are_numbers(solver: str, compiled: bool) -> None:
    """A penalty on the components alone lets them shrink, and codes grow."""
    X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    components, seen = np.full((1, 2), 1e-20, np.float32), []
    start: dict[str, Any] = {"codes": np.ones((2, 1), np.float32), "components": components}
    with kernels(compiled):
        ewnmf.factorize(
            X,
            1,
            model=models.NMF(0.0, 0.01, 0.0),
            weighting="none",
            solver=solver,
            order="codes-first",
            max_iter=8,
            callbacks=[lambda at: seen.append((at.excess, at.codes.max()))],
            **start,
        )
    E, sizes = np.array(seen).T
    assert np.all(np.diff(E) <= 1e-5 * E[:-1])
    assert 1e15 < sizes.max() < 1e18
