"""The compiled passes against the NumPy reference, and the vector mathematics they are made of."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

import ewnmf
from ewnmf import losses, models, weightings
from ewnmf.kernels.compiled import scratch
from ewnmf.kernels.compiled.fused import FusedKernel
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.select import _numba_works, kernel_for
from ewnmf.models.base import Block
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="compilation is switched off")

LOSSES = [losses.Euclidean(), losses.KullbackLeibler()]
LOSSES += [losses.Alpha(alpha) for alpha in (-2.0, 0.0, 1e-9, 0.03, 0.3, 0.5, 1 - 1e-9, 1.0, 2.0, 4.0)]
LOSSES += [losses.Beta(beta) for beta in (-1.0, 0.0, 0.5, 2.5)]
WEIGHTINGS = [
    weightings.Uniform(),
    weightings.Fixed(),
    *(weightings.Entropy(g) for g in (1e-8, 1e-3, 0.1, 10.0, 1e8, np.inf)),
]
MODELS = [models.NMF(), models.Orthogonal("hard")]


def _pair(problem: Problem, data: Dense) -> tuple[Kernel, FusedKernel]:
    kernel = kernel_for(problem, problem.rule(data.facts(problem)), data.tiny)
    assert isinstance(kernel, FusedKernel)
    return Kernel(kernel.problem, kernel.rule, kernel.tiny), kernel


def _problem(rng: np.random.Generator, m: int, n: int, dtype: Any, positive: bool) -> dict[str, Any]:
    X = rng.random((m, n)) * np.exp(rng.normal(size=(m, n)))
    if not positive:
        X[rng.random((m, n)) < 0.2] = 0
    P = np.where(rng.random((m, n)) < 0.2, 0, rng.random((m, n)))
    P[rng.integers(m)] = 0.5
    return {
        "X": np.asfortranarray(X, dtype=dtype),
        "P": np.asfortranarray(P, dtype=dtype),
        "s": (rng.random(n) + 0.1).astype(dtype),
        "W": np.asfortranarray(rng.random((m, 3)) + 0.01, dtype=dtype),
        "H": np.asfortranarray(rng.random((3, n)) + 0.01, dtype=dtype),
    }


@given(
    loss=st.sampled_from(LOSSES),
    weighting=st.sampled_from(WEIGHTINGS),
    model=st.sampled_from(MODELS),
    m=st.integers(1, 70),
    n=st.integers(1, 40),
    single=st.booleans(),
    prior=st.booleans(),
    points=st.booleans(),
    silent=st.sampled_from([0, 0, 3]),
    seed=st.integers(0, 2**20),
)
def test_passes_agree_with_the_reference(
    loss: losses.Loss,
    weighting: weightings.Weighting,
    model: models.Model,
    m: int,
    n: int,
    single: bool,
    prior: bool,
    points: bool,
    silent: int,
    seed: int,
) -> None:
    assume(hasattr(loss, "rank_one") or not isinstance(model, models.Orthogonal))
    dtype = np.float32 if single else np.float64
    made = _problem(np.random.default_rng(seed), m, n, dtype, loss.needs_positive)
    problem = Problem(loss, model, weighting)
    reference, fused = _pair(problem, Dense(made["X"]))
    block = Block(made["X"], made["P"] if prior else None, made["s"] if points else None, silent)
    basis, H = (made["W"],), made["H"]
    expected = reference.see(block, H, basis, weighting)
    seen = fused.see(block, H, basis, weighting)
    tolerance = 3e-3 if single else 1e-11
    for name in ("J", "E", "loss"):
        mine, theirs = getattr(seen, name), getattr(expected, name)
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())
    if single and isinstance(weighting, weightings.Entropy) and weighting.gamma < 0.1:
        return
    _near(seen.terms.A, expected.terms.A, tolerance)
    if fused.rule.needs_pulls:
        _near(seen.terms.neg, expected.terms.neg, tolerance)
        _near(seen.terms.pos, expected.terms.pos, tolerance)
        A = np.array(expected.terms.A, order="F")
        moved = fused.terms(block, 2 * H, basis, A, seen.terms)
        again = reference.terms(block, 2 * H, basis, A)
        _near(moved.neg, again.neg, tolerance)
        _near(moved.pos, again.pos, tolerance)


def _near(mine: Any, theirs: Any, tolerance: float) -> None:
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * max(1e-30, np.abs(theirs).max()))


@pytest.mark.parametrize("layout", ["C", "F", "strided", "read-only"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1, 5), (37, 23), (300, 513)])
def test_layouts_and_threads_give_the_same_bits(layout: str, dtype: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    X = rng.random(shape).astype(dtype)
    given_as = {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
        "read-only": X.copy(),
    }[layout]
    given_as.setflags(write=layout != "read-only")
    plain = ewnmf.factorize(X, 2, gamma=0.1, rng=0, max_iter=5, n_jobs=1)
    for n_jobs in (1, 2, 5):
        answer = ewnmf.factorize(given_as, 2, gamma=0.1, rng=0, max_iter=5, n_jobs=n_jobs)
        np.testing.assert_array_equal(answer.codes, plain.codes)
        np.testing.assert_array_equal(answer.components, plain.components)
        assert answer.codes.dtype == dtype


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(25, 35), (40, 12)])
@pytest.mark.parametrize(("model", "lowest"), [(ewnmf.ConvexNMF(4), -0.5), (ewnmf.NMF(4, init="nndsvda"), 0)], ids=str)
def test_products_of_all_the_data_do_not_depend_on_its_layout(
    model: Any, lowest: float, shape: tuple[int, int], dtype: Any
) -> None:
    """``X'X`` of Convex-NMF, the singular vectors of a start, and the mean point."""
    X = (np.random.default_rng(4).random(shape) + lowest).astype(dtype)
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    model.set_params(max_iter=3, random_state=0)
    expected = clone(model).fit(X)
    for given_as in (np.asfortranarray(X), wide, X[::-1, ::-1].copy()[::-1, ::-1]):
        fitted = clone(model).fit(given_as)
        np.testing.assert_array_equal(fitted.components_, expected.components_)
        np.testing.assert_array_equal(fitted._mean_point, expected._mean_point)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_vector_mathematics(dtype: Any) -> None:
    from numba import njit

    from ewnmf.kernels.compiled.options import SAFE
    from ewnmf.scalar import exp, expm1, log1p, log_of_ratio

    options: dict[str, Any] = {"fastmath": SAFE, "error_model": "numpy"}
    one = dtype(1)

    @njit(**options)
    def all_four(x: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> None:
        for i in range(x.size):
            a[i], b[i], c[i], d[i] = exp(x[i]), expm1(x[i]), log_of_ratio(y[i], one), log1p(abs(x[i]))

    rng = np.random.default_rng(0)
    reach = 700 if dtype == np.float64 else 80
    x = np.concatenate(
        [rng.uniform(-reach, reach, 5000), rng.normal(size=5000) * np.exp(rng.uniform(-30, 0, 5000)), [0]]
    )
    y = np.concatenate([np.exp(rng.uniform(-reach, reach, 5000)), 1 + 1e-3 * rng.normal(size=5000), [1]])
    x, y = x.astype(dtype), y.astype(dtype)
    a, b, c, d = (np.empty_like(x) for _ in range(4))
    all_four(x, y, a, b, c, d)
    ulp = 3 * float(np.finfo(dtype).eps)
    exact_x, exact_y = x.astype(np.longdouble), y.astype(np.longdouble)
    np.testing.assert_allclose(a, np.exp(exact_x), rtol=ulp)
    np.testing.assert_allclose(b, np.expm1(exact_x), rtol=ulp)
    np.testing.assert_allclose(c, np.log(exact_y), rtol=ulp, atol=0)
    np.testing.assert_allclose(d, np.log1p(np.abs(exact_x)), rtol=ulp, atol=0)


def test_extreme_arguments_of_exp_stay_normal() -> None:
    answer = ewnmf.factorize(np.array([[1e6, 0.0], [0.0, 1e6]]), 1, gamma=1e-8, rng=0, max_iter=20)
    assert np.isfinite(answer.history).all()
    assert np.isfinite(answer.weights()).all()


@pytest.mark.parametrize(
    ("dtype", "far", "alpha"), [(np.float64, 1e104, 3.0), (np.float32, 4e12, 3.0), (np.float32, 2.5e-13, -3.0)]
)
def test_powers_below_the_normal_numbers_are_those_of_the_reference(dtype: Any, far: float, alpha: float) -> None:
    rng, limits = np.random.default_rng(0), np.finfo(dtype)
    X, W, H = ((rng.random(shape) + 0.1).astype(dtype) for shape in ((6, 9), (6, 2), (2, 9)))
    W = W * dtype(far)
    problem = Problem(losses.Alpha(alpha), models.NMF(), weightings.Uniform())
    theirs, mine = (kernel.see(Block(X), H, (W,), problem.weighting).terms.neg for kernel in _pair(problem, Dense(X)))
    assert ((theirs > 0) & (theirs < limits.tiny)).any()
    np.testing.assert_allclose(mine, theirs, rtol=1000 * limits.eps, atol=4 * limits.smallest_subnormal)


@pytest.mark.parametrize(
    ("loss", "gap", "dtype"),
    [
        *product([losses.Euclidean()], [False, True], [np.float64, np.float32]),
        *product([losses.KullbackLeibler(), losses.Alpha(0.5)], [False, True], [np.float64]),
        *product([losses.KullbackLeibler(), losses.Alpha(0.5)], [False], [np.float32]),
    ],
)
def test_extreme_gammas(loss: losses.Loss, gap: bool, dtype: Any) -> None:
    X = np.random.default_rng(1).random((12, 7)).astype(dtype)
    if gap:
        X[3, 4] = np.nan
    plain = ewnmf.factorize(X, 2, loss=loss, gamma=np.inf, rng=0, max_iter=10)
    single = dtype == np.float32
    for gamma in (1e-320, 1e-100, 1e-40, 1e-30, 1e20, 1e36, 1e38, 1e40, 1e100, 1e300, 1e305, 1.7e308):
        answer = ewnmf.factorize(X, 2, loss=loss, gamma=gamma, rng=0, max_iter=10)
        assert np.isfinite(answer.history).all()
        np.testing.assert_allclose(answer.weights().sum(axis=1), 1, rtol=1e-6 if single else 1e-14)
        if gamma > 1:
            assert answer.excess == pytest.approx(plain.excess, rel=1e-4 if single else 1e-11)
        problem = Problem(loss, models.NMF(), weightings.Entropy(gamma))
        block = Block(np.nan_to_num(X.T), np.asfortranarray(~np.isnan(X.T), dtype) if gap else None)
        basis, H = (answer.components.T,), answer.codes.T
        theirs, mine = (kernel.see(block, H, basis, problem.weighting) for kernel in _pair(problem, Dense(block.X)))
        np.testing.assert_allclose(mine.E, theirs.E, rtol=1e-4 if single else 1e-10, atol=1e-7 if single else 1e-15)


@pytest.mark.parametrize("estimator", [ewnmf.EWNMF, ewnmf.ONMF])
@pytest.mark.parametrize(("loss", "size"), [("euclidean", 1e20), ("kullback-leibler", 1e40), ("alpha", 1e40)])
def test_hidden_entries_have_no_loss_however_large_the_others_are(estimator: Any, loss: str, size: float) -> None:
    X = size * np.random.default_rng(1).random((12, 8))
    X[3, 4] = np.nan
    model = estimator(2, loss=loss, weighting="entropy", gamma=1e35, tol=0, max_iter=20, random_state=0).fit(X)
    T = model.weights(X)
    np.testing.assert_allclose(T.sum(axis=1), 1, rtol=1e-12)
    assert T[3, 4] == 0
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(model.transform(X)).all()
    assert -(size**2) < model.score(X) < 0


@pytest.mark.parametrize("model", [models.NMF(), models.Orthogonal("hard"), models.Orthogonal("soft"), models.Semi()])
@pytest.mark.parametrize("weighting", ["none", "entropy"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_lay_in_buffers_is_never_read(model: models.Model, weighting: str, dtype: Any) -> None:
    X = np.random.default_rng(2).random((70, 9)).astype(dtype)
    asked: dict[str, Any] = {"model": model, "weighting": weighting, "gamma": 0.1, "rng": 0, "max_iter": 4}
    expected = ewnmf.factorize(X, 3, **asked)
    with poisoned_buffers(), warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = ewnmf.factorize(X, 3, **asked)
    np.testing.assert_array_equal(answer.codes, expected.codes)
    np.testing.assert_array_equal(answer.components, expected.components)
    np.testing.assert_array_equal(answer.history, expected.history)


@contextmanager
def poisoned_buffers() -> Iterator[None]:
    """Whatever is taken from the scratch of a thread comes full of signalling NaNs, with more of them around it."""
    take = scratch.Scratch.take

    def poisoned(self: Any, name: str, shape: tuple[int, int], dtype: Any) -> Any:
        whole = take(self, name, (shape[0] + 2, shape[1]), dtype)
        double = np.dtype(dtype).itemsize == 8
        whole.view(np.uint64 if double else np.uint32)[...] = 0x7FF4000000000000 if double else 0x7FA00000
        return whole[1:-1]

    with patch.object(scratch.Scratch, "take", poisoned):
        yield


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", [models.Orthogonal("hard"), models.Semi()])
def test_a_product_of_infinity_and_zero_shows(model: models.Model, dtype: Any) -> None:
    data = Dense(np.ones((5, 4), dtype))
    _, kernel = _pair(Problem(losses.Euclidean(), model, weightings.Uniform()), data)
    W, H = np.zeros((5, 2), dtype), np.full((2, 4), np.inf, dtype)
    assert np.isnan(kernel.reconstruct((W,), H)).all()


def test_what_cannot_be_written_and_whole_numbers_need_no_code_of_their_own() -> None:
    from ewnmf.kernels.compiled import sweeps

    entries = (sweeps.sweep_codes_first, sweeps.sweep_components_first, sweeps.encode)
    rng = np.random.default_rng(0)
    X, codes, components = rng.random((9, 5)), rng.random((9, 2)) + 0.1, rng.random((2, 5)) + 0.1
    asked: dict[str, Any] = {"gamma": 0.1, "max_iter": 2}

    def work(tol: float) -> int:
        for order in ("codes-first", "components-first"):
            ewnmf.factorize(X, 2, codes=codes, components=components, order=order, **asked)
        model = ewnmf.EWNMF(2, init="custom", tol=0, **asked).fit(X, W=codes, H=components)
        model.components_.setflags(write=codes.flags.writeable)
        model.set_params(tol=tol).transform(X)
        return sum(len(entry.signatures) for entry in entries)

    compiled = work(1e-4)
    for array in (X, codes, components):
        array.setflags(write=False)
    assert work(0) == compiled


def test_own_losses_run_on_the_reference() -> None:
    class Own(losses.Euclidean):
        name = "own"

    X = np.random.default_rng(0).random((20, 9))
    problem = Problem(Own(), models.NMF(), weightings.Entropy(0.1))
    data = Dense(X.T)
    with pytest.warns(RuntimeWarning, match="brings no scalar form of its own"):
        kernel = kernel_for(problem, problem.rule(data.facts(problem)), data.tiny)
    assert type(kernel) is Kernel
    mine = ewnmf.factorize(X, 2, loss=Own(), gamma=0.1, rng=0, max_iter=20)
    np.testing.assert_allclose(mine.codes, ewnmf.factorize(X, 2, gamma=0.1, rng=0, max_iter=20).codes, rtol=1e-9)


def test_a_kernel_can_be_given_another_problem() -> None:
    problem = Problem(losses.Euclidean(), models.NMF(), weightings.Entropy(0.1))
    data = Dense(np.ones((3, 2)))
    kernel = kernel_for(problem, problem.rule(data.facts(problem)), data.tiny)
    other = replace(kernel, problem=problem.at(weightings.Entropy(1.0)))
    assert isinstance(kernel, FusedKernel)
    assert isinstance(other, FusedKernel)
    assert other.scratch is kernel.scratch


_WITHOUT_NUMBA = """
import sys, warnings
sys.modules["numba"] = None
import numpy as np, ewnmf
X = np.random.default_rng(0).random((30, 8))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        answer = ewnmf.factorize(X, 2, gamma=0.1, rng=0, max_iter=30)
print(len([w for w in caught if "numba is not installed" in str(w.message)]), answer.objective.hex())
"""


def test_without_numba_the_reference_serves_with_one_warning() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT_NUMBA], capture_output=True, text=True, check=True)
    count, objective = done.stdout.split()
    assert count == "1"
    X = np.random.default_rng(0).random((30, 8))
    mine = ewnmf.factorize(X, 2, gamma=0.1, rng=0, max_iter=30).objective
    assert float.fromhex(objective) == pytest.approx(mine, rel=1e-12)


def test_a_numba_that_cannot_be_imported_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text('raise ImportError("Numba needs NumPy 2.3 or less")')
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(
        RuntimeWarning, match=r"numba cannot be imported \(Numba needs NumPy 2\.3 or less\), so ewnmf runs"
    ):
        assert not _numba_works.__wrapped__()


@pytest.mark.parametrize("loss", [losses.KullbackLeibler(), losses.Alpha(1e-7), losses.Alpha(0.3)])
def test_hidden_entries_may_be_reconstructed_beyond_all_numbers(loss: losses.Loss) -> None:
    """Codes of a point that was observed where components have nothing, and large components where it was not."""
    X, P = np.asfortranarray([[1.0], [1.0]], np.float32), np.asfortranarray([[1.0], [0.0]], np.float32)
    W, H = np.array([[1e-32], [1e19]], np.float32), np.array([[1.6e32]], np.float32)
    kernel, _ = _pair(Problem(loss, models.NMF(), weightings.Fixed()), Dense(X, P))
    with np.errstate(all="raise", under="ignore"):
        seen = kernel.see(Block(X, P), H, (W,), kernel.problem.weighting)
    alone = kernel.see(Block(X[:1]), H, (W[:1],), weightings.Uniform())
    np.testing.assert_allclose(seen.E, alone.E, rtol=1e-5)
    assert np.isfinite(seen.terms.neg).all()


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0, 1e8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_shares_lack_is_the_same_found_on_the_way_or_afterwards(dtype, gamma):
    """Sweeps find it with the shares where attributes are silent, passes over rows by themselves."""
    rng = np.random.default_rng(5)
    made = _problem(rng, 300, 40, dtype, positive=False)
    block = Block(np.asfortranarray(made["X"] * (rng.random((300, 40)) < 0.02)), None, None, 50)
    problem = Problem.of("euclidean", "nmf", "entropy", gamma=gamma)
    _, kernel = _pair(problem, Dense(block.X))
    H, W = made["H"] / 100, made["W"] / 100
    swept = kernel.sweep_codes_first(block, H, (W,), None, problem.weighting)
    seen = kernel.evaluate(block, kernel.reconstruct((W,), H), problem.weighting)
    assert swept.measure.E == pytest.approx(seen.measure.E, rel=1e-13 if dtype == np.float64 else 1e-6)
