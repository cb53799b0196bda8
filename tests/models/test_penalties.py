"""L1 and L2 penalties: scikit-learn's numbers, descent, and the same cost in the reference and in compiled code."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.decomposition import NMF as Theirs
from sklearn.decomposition import non_negative_factorization

import ewnmf
from ewnmf import losses, models, weightings
from ewnmf.kernels.compiled.fused import FusedKernel
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.select import _numba_works, kernel_for
from ewnmf.models.base import Block
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense
from tests.problems import ORDERS, WEIGHTINGS, Case, Instance, kernels, recipes, run

few = settings(max_examples=settings().max_examples // 2)
LOSSES: list[Any] = [losses.Euclidean(), losses.KullbackLeibler(), *(losses.Alpha(a) for a in (-1.0, -0.02, 0.0, 2.0))]
COMPILED = (True, False) if _numba_works() else (False,)
QUICK: dict[str, Any] = {"tol": 0, "max_iter": 25, "random_state": 0}


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.random((20, 4)) @ rng.random((4, 15)) + 0.2 * rng.random((20, 15))


def penalised(loss: Any, codes: float, components: float, l1_ratio: float) -> models.NMF:
    return models.NMF(codes, components, 1.0 if isinstance(loss, losses.Alpha) else l1_ratio)


SAME_STEPS = [
    ("euclidean", "frobenius", 0.0),
    ("euclidean", "frobenius", 0.4),
    ("euclidean", "frobenius", 1.0),
    ("kullback-leibler", "kullback-leibler", 1.0),
]


@pytest.mark.filterwarnings("ignore:Maximum number of iterations:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "beta", "l1_ratio"), SAME_STEPS)
@pytest.mark.parametrize("alpha_H", [0.02, "same"])
def test_steps_are_scikit_learns(X: np.ndarray, loss: str, beta: str, l1_ratio: float, alpha_H: Any) -> None:
    rng = np.random.default_rng(0)
    codes, components = rng.random((20, 4)) + 0.1, rng.random((4, 15)) + 0.1
    penalty: dict[str, Any] = {"alpha_W": 0.01, "alpha_H": alpha_H, "l1_ratio": l1_ratio}
    theirs = Theirs(4, init="custom", solver="mu", beta_loss=beta, tol=0, max_iter=60, **penalty)
    theirs.fit_transform(X, W=codes.copy(), H=components.copy())
    asked: dict[str, Any] = {"init": "custom", "solver": "mu", "tol": 0, "max_iter": 60}
    mine = ewnmf.NMF(4, loss=loss, **asked, **penalty).fit(X, W=codes, H=components)
    np.testing.assert_allclose(mine.components_, theirs.components_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(mine.reconstruction_err_, theirs.reconstruction_err_, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:Maximum number of iterations:sklearn.exceptions.ConvergenceWarning")
def test_kullback_leibler_with_a_ridge_ends_where_scikit_learn_does(X: np.ndarray) -> None:
    """Their step for the ridge is another one, but what it leaves in peace is the same."""
    rng = np.random.default_rng(0)
    W, H = rng.random((20, 2)) + 0.1, rng.random((2, 15)) + 0.1
    options: dict[str, Any] = {"alpha_W": 0.01, "alpha_H": 0.02, "l1_ratio": 0.3, "n_components": 2}
    codes, components, _ = non_negative_factorization(
        X, W, H, init="custom", solver="mu", beta_loss="kullback-leibler", tol=0, max_iter=5000, **options
    )
    mine = ewnmf.factorize(
        X,
        2,
        loss="kullback-leibler",
        model=models.NMF(0.01, 0.02, 0.3),
        weighting="none",
        codes=codes,
        components=components,
        max_iter=20,
    )
    np.testing.assert_allclose(mine.codes, codes, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(mine.components, components, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@few
@given(data=st.data(), compiled=st.booleans())
def test_excess_never_rises_and_is_that_of_the_factors(loss: Any, weighting: str, data: Any, compiled: bool) -> None:
    strengths = st.sampled_from([0.0, 1e-3, 0.1, 3.0])
    model = penalised(loss, data.draw(strengths), data.draw(strengths), data.draw(st.sampled_from([0.0, 0.3, 1.0])))
    case = Case(model, loss, weighting)
    instance = Instance.of(case, data.draw(recipes()))
    (n, m), rng = instance.X.shape, np.random.default_rng(1)
    s: Any = rng.uniform(0.1, 3, n)
    seen: list[Any] = []
    options: dict[str, Any] = {"order": data.draw(st.sampled_from(ORDERS)), "max_iter": 20}
    if data.draw(st.booleans()):
        options["solver"] = "accelerated"
    with kernels(compiled and case.common):
        answer = run(case, instance, sample_weight=s, feature_weight=np.ones(m) * 2, callbacks=[seen.append], **options)
    E = np.array([at.excess for at in seen])
    exact = 6 * (16 * np.finfo(float).eps) ** 2 * np.sum(np.abs(instance.X) ** case.degree)
    assert np.all(np.diff(E) <= 1e-12 * E[0] + exact)
    mean = (
        1 / m
        if weighting == "entropy"
        else 2 * (1.0 if weighting == "none" else np.average(instance.weights.mean(axis=1), weights=s))
    )
    unit = mean * 2 / loss.err_factor
    at = seen[-1]
    codes, components = at.codes, at.components
    part = model.l1_ratio
    penalty = unit * model.alpha_codes * m * np.sum(s[:, None] * (part * codes + (1 - part) / 2 * codes**2))
    penalty += unit * model.alpha_components * s.sum() * np.sum(part * components + (1 - part) / 2 * components**2)
    with kernels(case.common):
        plain = run(
            Case(models.NMF(), loss, weighting), instance, sample_weight=s, feature_weight=np.ones(m) * 2, max_iter=1
        )
    data_ = Dense(instance.X.T, s=s, P=np.full((m, n), 2.0) if weighting != "fixed" else 2 * instance.weights.T)
    problem = plain.problem
    reference = Kernel(problem, problem.rule(data_.facts(problem)), data_.tiny)
    fit = reference.measure(data_.block(slice(0, n)), at.factors.H, (at.factors.W,), problem.weighting)
    assert at.excess == pytest.approx(fit.E + penalty, rel=1e-9)
    assert answer.loss == pytest.approx(fit.loss, rel=1e-9, abs=exact)


@pytest.mark.parametrize(
    "weighting", [weightings.Fixed(), weightings.Entropy(0.1), weightings.Entropy(np.inf)], ids=repr
)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_compiled_sweeps_and_encoder_are_the_reference(loss: Any, weighting: Any) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(2)
    n, m, K = 40, 9, 3
    X, P, s = rng.random((m, n)) + 0.01, rng.random((m, n)) + 0.1, rng.random(n) + 0.1
    P[rng.random((m, n)) < 0.2] = 0
    P[0] = 1
    # Priors of adaptive weights are machine code of their own, which has nothing to do with the loss.
    given = None if loss in LOSSES[2:5] and weighting.adaptive else np.asfortranarray(P)
    block = Block(np.asfortranarray(X), given, s)
    W, before = (np.asfortranarray(rng.random((m, K)) + 0.1) for _ in range(2))
    H = np.asfortranarray(rng.random((K, n)) + 0.1)
    problem, data = Problem(loss, penalised(loss, 0.05, 0.1, 0.4), weighting), Dense(X, given, s)
    fused = kernel_for(problem, problem.rule(data.facts(problem)), data.tiny)
    if not isinstance(fused, FusedKernel):
        pytest.skip("compilation is switched off")
    assert fused._compiles(weighting)
    both = (fused, Kernel(problem, fused.rule, fused.tiny))
    codes_first = [kernel.sweep_codes_first(block, H, (W,), None, weighting) for kernel in both]
    components_first = [kernel.sweep_components_first(block, H, (W,), None, ((before,), weighting)) for kernel in both]
    for mine, theirs in (codes_first, components_first):
        np.testing.assert_allclose(mine.H, theirs.H, rtol=1e-9)
        np.testing.assert_allclose(np.stack(mine.stats), np.stack(theirs.stats), rtol=1e-9)
        np.testing.assert_allclose(mine.measure, theirs.measure, rtol=1e-9)
    for tol in (0.0, 0.02):
        one, other = (kernel.encode(block, H.copy(order="F"), (W,), 12, tol) for kernel in both)
        np.testing.assert_allclose(one, other, rtol=1e-8)


@pytest.mark.parametrize("alpha", [3.0, 2.0, 0.3])
def test_compiled_steps_are_the_reference_where_powers_end(alpha: float) -> None:
    """A basis at its floor makes powers of 1e154 and beyond, in the pulls and in the factor."""
    pytest.importorskip("numba")
    rng = np.random.default_rng(3)
    X, H = (np.asfortranarray(rng.random(shape) + 0.1) for shape in ((9, 40), (3, 40)))
    W = np.asfortranarray(np.where(np.arange(9) < 4, 1e-58, 1.0)[:, None] * (rng.random((9, 3)) + 0.1))
    loss, data = losses.Alpha(alpha), Dense(X)
    for model in (models.NMF(), models.NMF(0.05, 0.1, 1.0)):
        problem = Problem(loss, model, weightings.Uniform())
        fused = kernel_for(problem, problem.rule(data.facts(problem)), data.tiny)
        both = (fused, Kernel(problem, fused.rule, fused.tiny))
        one, other = (kernel.sweep_codes_first(Block(X), H, (W,), None, problem.weighting) for kernel in both)
        np.testing.assert_allclose(one.H, other.H, rtol=1e-9)


@pytest.mark.parametrize("on_codes", [0.0, 1e-30])
def test_compiled_codes_grow_as_the_references_do_beside_components_of_nothing(on_codes: float) -> None:
    """A penalty on the components alone does not hold the steps of codes back; one on codes does, in both alike."""
    rng = np.random.default_rng(3)
    X, H = (np.asfortranarray(rng.random(shape) + 0.1, np.float32) for shape in ((9, 40), (3, 40)))
    W, H = np.asfortranarray(1e-13 * rng.random((9, 3)), np.float32), 1e-13 * H
    data, problem = Dense(X), Problem(losses.Euclidean(), models.NMF(on_codes, 0.1, 1.0), weightings.Entropy(np.inf))
    fused = kernel_for(problem, problem.rule(data.facts(problem)), data.tiny)
    both = (fused, Kernel(problem, fused.rule, fused.tiny))
    one, other = (kernel.sweep_codes_first(Block(X), H, (W,), None, problem.weighting) for kernel in both)
    np.testing.assert_allclose(one.H, other.H, rtol=1e-4)
    assert (one.H.max() > 1e7) == (on_codes == 0)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("strength", [0.0, 0.02])
def test_whole_runs_with_gaps_and_weights_are_those_of_the_reference(
    strength: float, weighting: str, order: str, X: np.ndarray
) -> None:
    rng = np.random.default_rng(5)
    options: dict[str, Any] = {
        "model": models.NMF(strength, strength / 2, 0.5),
        "weighting": weighting,
        "codes": rng.random((20, 4)) + 0.1,
        "components": rng.random((4, 15)) + 0.1,
        "mask": rng.random(X.shape) < 0.8,
        "sample_weight": rng.uniform(0.2, 3, 20),
        "order": order,
        "max_iter": 8,
        **({"gamma": 0.05} if weighting == "entropy" else {}),
    }
    compiled = ewnmf.factorize(X, 4, **options)
    with patch("ewnmf.solvers.orders.kernel_for", Kernel):
        reference = ewnmf.factorize(X, 4, **options)
    np.testing.assert_allclose(compiled.components, reference.components, rtol=1e-9)
    np.testing.assert_allclose(compiled.codes, reference.codes, rtol=1e-9)
    assert compiled.objective == pytest.approx(reference.objective, rel=1e-11)


def test_l1_makes_codes_and_components_sparse(X: np.ndarray) -> None:
    shares = []
    for alpha in (0.0, 0.02):
        model = ewnmf.EWNMF(4, gamma=1.0, alpha_W=alpha, l1_ratio=1, tol=0, max_iter=300, random_state=0)
        codes = model.fit_transform(X)
        shares.append((np.mean(codes < 1e-6), np.mean(model.components_ < 1e-6)))
    assert shares[1][0] > shares[0][0] + 0.2


def test_weighted_codes_of_new_points_minimise_the_penalised_cost(X: np.ndarray) -> None:
    model = ewnmf.NMF(2, alpha_W=0.01, alpha_H=0.0, l1_ratio=0.5, tol=0, max_iter=3000, random_state=0).fit(X)
    codes, components = model.transform(X), model.components_
    slope = (codes @ components - X) @ components.T + 0.01 * 15 * (0.5 + 0.5 * codes)
    assert np.abs(slope[codes > 1e-9]).max() < 1e-6


REFUSED: list[Any] = [
    ({"alpha_W": -1}, r"alpha_W=-1 must be a finite number of at least 0\."),
    ({"alpha_W": np.nan}, r"alpha_W=nan must be a finite number of at least 0\."),
    ({"alpha_H": "both"}, r"alpha_H='both' must be a finite number of at least 0 or 'same'\."),
    ({"l1_ratio": 1.5}, r"l1_ratio=1.5 must be a number from 0 to 1\."),
    (
        {"alpha_W": 1.0, "loss": "alpha"},
        r"loss='alpha' cannot be combined with penalties .*l1_ratio=0.0.*Use l1_ratio=1",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_penalties(options: dict[str, Any], message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        ewnmf.EWNMF(2, **options).fit(X)


def test_penalties_need_a_known_step(X: np.ndarray) -> None:
    class Own(losses.Loss):
        name = "own"

    with pytest.raises(ValueError, match=r"loss='own' cannot be combined with penalties.*alpha_W=0"):
        ewnmf.factorize(X, 2, loss=Own(), model=models.NMF(0.1, 0.0, 1.0))
    with pytest.raises(ValueError, match=r"l1_ratio=2 must be a number from 0 to 1"):
        models.NMF(0.1, 0.1, 2)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize(("dtype", "c"), [("f8", 2.0**-600), ("f8", 2.0**250), ("f4", 2.0**-70), ("f4", 2.0**48)])
def test_the_size_of_the_weights_does_not_matter(dtype: str, c: float, compiled: bool) -> None:
    """Penalties are multiplied by the mean weight: squares of either side of the step must not leave the range."""
    rng = np.random.default_rng(0)
    X, P, codes, components = (
        rng.uniform(0.1, 1, shape).astype(dtype) for shape in ((12, 9), (12, 9), (12, 3), (3, 9))
    )
    options: dict[str, Any] = {"loss": "kullback-leibler", "model": models.NMF(0.1, 0.2, 0.3), "max_iter": 5}
    with patch("ewnmf.kernels.select._numba_works", lambda: compiled):
        usual, other = (
            ewnmf.factorize(X, 3, weighting="fixed", weights=w, codes=codes, components=components, **options)
            for w in (P, P * P.dtype.type(c))
        )
    np.testing.assert_array_equal(usual.codes, other.codes)
    np.testing.assert_array_equal(usual.components, other.components)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_codes_that_only_a_ridge_acts_on_go_to_0(dtype: str, order: str, compiled: bool) -> None:
    """All weight is on the zeros, which sparse data leaves out: neither side of the step has anything of the data."""
    rng = np.random.default_rng(0)
    X = np.zeros((5, 13), dtype)
    X[4, 9] = 0.6
    options: dict[str, Any] = {"loss": "kullback-leibler", "model": models.NMF(0.1, 0.1, 0.0), "weighting": "entropy"}
    options |= {"gamma": 1e-60, "order": order, "max_iter": 3, "tol": 0}
    options |= {"codes": rng.random((5, 2)).astype(dtype), "components": rng.random((2, 13)).astype(dtype)}
    with patch("ewnmf.kernels.select._numba_works", lambda: compiled):
        dense, sparse = (ewnmf.factorize(data, 2, **options) for data in (X, csr_array(X)))
    for fit in (dense, sparse):
        assert max(fit.codes.max(), fit.components.max(), fit.excess) < 1e-25
