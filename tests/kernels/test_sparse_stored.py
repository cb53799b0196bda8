"""Sparse data without weights: only the stored entries are looked at, and the answers are those of dense data."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import ewnmf
from ewnmf.kernels import select
from ewnmf.kernels.compiled.fused_stored import FusedStoredKernel
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.stored import LowRank, StoredKernel
from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler
from ewnmf.models.base import Block, Factors, Model, product
from ewnmf.models.convex import Convex
from ewnmf.models.nmf import NMF
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.models.semi import Semi
from ewnmf.problem import Problem
from ewnmf.solvers.loop import solve
from ewnmf.storage.dense import Dense
from ewnmf.storage.matrix import storage
from ewnmf.storage.sparse import Sparse, Stored
from ewnmf.weightings.uniform import Uniform

LOSSES: list[Loss] = [Euclidean(), KullbackLeibler(), Alpha(0.05), Alpha(0.3), Alpha(0.5), Alpha(1.0), Alpha(2.5)]
FEW = [*LOSSES[:2], Alpha(0.3)]
DESCENDING: list[tuple[Model, Loss]] = [
    *((model, loss) for model in (NMF(), Convex()) for loss in FEW),
    *((Orthogonal("soft", of, mu=0.7, lam=0.3), loss) for of in ("codes", "components") for loss in FEW[:2]),
    (Semi(), Euclidean()),
]
DEFINED = DESCENDING + [
    (Orthogonal(method, of), Euclidean()) for method in ("lagrange", "stiefel") for of in ("codes", "components")
]
COMPILED = select._numba_works()
KERNELS = ("compiled", "reference") if COMPILED else ("reference",)


def thin_data(seed: int, n: int = 60, m: int = 40, share: float = 0.1, signed: bool = False) -> np.ndarray:
    """Points of few values; one point and one attribute have none."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(n, m)) * (rng.random((n, m)) < share)
    if signed:
        X *= rng.choice([-1.0, 1.0], size=X.shape)
    X[n // 2] = 0
    X[:, m // 3] = 0
    return X


def started(model: Model, X: np.ndarray, K: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    codes, other = rng.random((len(X), K)) + 0.1, rng.random((K, X.shape[1])) + 0.1
    other[:, X.any(axis=0) == 0] = 1e-50
    return (
        {"codes": codes, "combinations": codes[::-1]}
        if model.has_combinations
        else {"codes": codes, "components": other}
    )


def running(kernel: str) -> Any:
    """Runs use compiled passes, or the NumPy reference."""
    return patch("ewnmf.kernels.select._numba_works", lambda: kernel == "compiled")


@pytest.fixture
def never_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Sparse, cut: slice) -> Any:
        raise AssertionError("a block was made dense")

    monkeypatch.setattr(Sparse, "points", refuse)


@pytest.mark.usefixtures("never_dense")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("order", ["components-first", "codes-first"])
@pytest.mark.parametrize(
    ("model", "loss", "signed"),
    [*((*pair, False) for pair in DEFINED), (Semi(), Euclidean(), True), (Convex(), Euclidean(), True)],
    ids=str,
)
def test_stored_entries_give_what_dense_data_gives(
    model: Model, loss: Loss, signed: bool, order: str, kernel: str
) -> None:
    if isinstance(model, Semi) and signed:
        order = "components-first"  # a start of the wrong signs would send codes to 0, and rounding would decide
    X = thin_data(3, *((30, 50) if signed and model.has_combinations else (60, 40)), signed=signed)
    options: Any = {"loss": loss, "model": model, "weighting": "none", "order": order, "max_iter": 10}
    dense = ewnmf.factorize(X, 3, **options, **started(model, X))
    with running(kernel):
        thin = ewnmf.factorize(sparse.csr_array(X), 3, **options, **started(model, X))
    np.testing.assert_allclose(thin.history, dense.history, rtol=1e-10)
    np.testing.assert_allclose(thin.codes, dense.codes, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(thin.components, dense.components, rtol=1e-9, atol=1e-10)
    assert thin.loss == pytest.approx(dense.loss, rel=1e-10)
    np.testing.assert_array_equal(thin.weights(), 1 / X.shape[1])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("model", "loss"), DESCENDING, ids=str)
@settings(max_examples=settings().max_examples * 2 // 3)
@given(seed=st.integers(0, 2**20), K=st.integers(1, 6), order=st.sampled_from(["components-first", "codes-first"]))
def test_excess_never_rises(model: Model, loss: Loss, kernel: str, seed: int, K: int, order: str) -> None:
    X = thin_data(seed, 24, 26, 0.08)
    seen: list[float] = []
    with running(kernel):
        ewnmf.factorize(
            sparse.csr_array(X),
            K,
            loss=loss,
            model=model,
            weighting="none",
            order=order,
            max_iter=40,
            n_jobs=1,
            callbacks=[lambda at: seen.append(at.excess)],
            **started(model, X, K),
        )
    assert min(seen) >= 0
    assert np.all(np.diff(seen) <= 1e-12 * seen[0])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", FEW, ids=str)
def test_a_vanishing_loss_keeps_its_digits(loss: Loss, kernel: str) -> None:
    """Two groups of points without a common attribute are fitted exactly; ``E`` falls below what a difference shows."""
    rng = np.random.default_rng(0)
    X = np.zeros((20, 120))
    X[:9, :12] = np.outer(rng.random(9) + 0.5, rng.random(12) + 0.5)
    X[9:, 60:72] = np.outer(rng.random(11) + 0.5, rng.random(12) + 0.5)
    data = storage(sparse.csr_array(X).T)
    problem = Problem(loss, NMF(), Uniform())
    basis = np.stack([X[:9].mean(axis=0), X[9:].mean(axis=0)], axis=1) + 0.1 * rng.random((120, 2))
    start = Factors((basis,), rng.random((2, 20)) + 0.1)
    seen: list[Any] = []
    with running(kernel):
        solve(problem, data, start, order="codes-first", max_iter=120, callbacks=[seen.append])
    excess = np.array([at.excess for at in seen])
    true = np.array([loss.divergence(X.T, np.maximum(at.factors.W @ at.factors.H, 1e-80)).sum() for at in seen])
    assert excess[-1] < 1e-20 * excess[0]
    large = true > 1e-24 * true[0]
    np.testing.assert_allclose(excess[large], true[large], rtol=1e-3)
    assert np.all(np.diff(excess) <= 1e-12 * excess[:-1] + 1e-28 * X.sum())


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_loss_that_vanishes_among_terms_of_both_signs_keeps_its_digits(kernel: str) -> None:
    """Semi-NMF's components cancel each other where there is nothing: ``h'W'Wh`` is rounding, ``Wh`` is not."""
    rng, X = np.random.default_rng(0), sparse.csr_array((12, 28))
    start: dict[str, Any] = {"codes": rng.random((12, 13)), "components": rng.normal(size=(13, 28))}
    with running(kernel):
        found = ewnmf.factorize(X, 13, model="semi-nmf", weighting="none", **start, max_iter=2)
    assert found.loss == pytest.approx(float(np.sum((found.codes @ found.components) ** 2)), rel=0.1, abs=0)
    assert found.loss < 1e-20


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(seed=st.integers(0, 2**20), n=st.integers(1, 40), m=st.integers(3, 60), weighted=st.booleans())
def test_a_look_at_stored_entries_sees_all(loss: Loss, dtype: Any, seed: int, n: int, m: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    X = thin_data(seed, n, m, rng.choice([0.02, 0.2, 0.7])).T.astype(dtype)
    W, H = (np.asfortranarray(rng.random(shape) + 0.01, dtype=dtype) for shape in ((m, 3), (3, n)))
    s = (rng.random(n) + 0.1).astype(dtype) if weighted else None
    problem = Problem(loss, NMF(), Uniform())
    facts = replace(Dense(X).facts(problem), stored=True)
    rule = NMF().rule(KullbackLeibler(), Uniform(), facts)
    wide = Kernel(problem, rule, 1e-80).see(
        Block(X.astype(float), None, s), H.astype(float), (W.astype(float),), Uniform()
    )
    for kind in (StoredKernel, FusedStoredKernel) if COMPILED else (StoredKernel,):
        kernel = kind(problem, rule, 1e-80 if dtype is np.float64 else 1e-30)
        seen = kernel.see(Block(sparse.csc_array(X), None, s), H, (W,), Uniform())
        np.testing.assert_allclose(seen.E, wide.E, rtol=1e-10 if dtype is np.float64 else 1e-5)
        for ours, theirs in ((seen.terms.neg, wide.terms.neg), (seen.terms.pos, wide.terms.pos)):
            got, wanted = (product(W.T, part) for part in (ours, theirs))
            np.testing.assert_allclose(got, wanted, rtol=1e-11 if dtype is np.float64 else 2e-5)
            got, wanted = (product(part, H.T) for part in (ours, theirs))
            np.testing.assert_allclose(got, wanted, rtol=1e-11 if dtype is np.float64 else 2e-5)


def test_low_rank_matrices_multiply_as_their_product() -> None:
    rng = np.random.default_rng(0)
    left, right, other = rng.random((7, 2)), rng.random((2, 5)), rng.random((5, 3))
    matrix: Any = LowRank(left, right)
    np.testing.assert_allclose(product(matrix, other), left @ right @ other, rtol=1e-14)
    np.testing.assert_allclose(product(other.T, matrix.T), (left @ right @ other).T, rtol=1e-14)


@pytest.mark.parametrize("loss", FEW, ids=str)
def test_single_precision_reports_the_loss_of_its_factors(loss: Loss) -> None:
    X = thin_data(4).astype(np.float32)
    answer = ewnmf.factorize(sparse.csr_array(X), 3, loss=loss, weighting="none", max_iter=15, rng=0)
    assert answer.codes.dtype == answer.components.dtype == np.float32
    Y = np.maximum(answer.codes.astype(float) @ answer.components.astype(float), 1e-80)
    assert answer.loss == pytest.approx(loss.divergence(X.astype(float), Y).sum(), rel=1e-9)


@pytest.mark.parametrize(("model", "loss"), DEFINED, ids=str)
def test_threads_and_layouts_give_the_same_bits(model: Model, loss: Loss) -> None:
    X = thin_data(5, 90, 40)
    thin = sparse.csr_array(X)
    untidy = sparse.csr_array(
        (np.repeat(thin.data / 2, 2), np.repeat(thin.indices, 2), 2 * thin.indptr), shape=thin.shape
    )
    untidy.data[::2], untidy.data[1::2] = 0.25 * thin.data, 0.75 * thin.data
    options: Any = {"loss": loss, "model": model, "weighting": "none", "max_iter": 6, **started(model, X)}
    with patch("ewnmf.storage.sparse._BLOCK_STORED", 20):
        one, *others = (
            ewnmf.factorize(data, 3, n_jobs=n, **options)
            for data, n in ((thin, 1), (thin, 2), (thin, 4), (thin.tocsc(), 1), (sparse.csr_matrix(X), 1))
        )
        again = ewnmf.factorize(untidy, 3, n_jobs=1, **options)
    for other in others:
        np.testing.assert_array_equal(one.codes, other.codes)
        np.testing.assert_array_equal(one.components, other.components)
        np.testing.assert_array_equal(one.history, other.history)
    np.testing.assert_allclose(again.history, one.history, rtol=1e-12)


ESTIMATORS = [
    *(ewnmf.NMF(3, loss=loss) for loss in FEW),
    ewnmf.SemiNMF(3),
    ewnmf.ConvexNMF(3),
    ewnmf.ONMF(3, method="lagrange"),
    ewnmf.ONMF(3, method="soft"),
]


@pytest.mark.usefixtures("never_dense")
@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_codes_of_sparse_points_are_those_of_dense_ones(model: Any) -> None:
    X = thin_data(6, 75)
    thin = sparse.csr_array(X)
    model.set_params(tol=0, max_iter=30, random_state=0).fit(thin)
    np.testing.assert_allclose(model.transform(thin), model.transform(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.weights(thin), 1 / X.shape[1])


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_a_point_is_encoded_on_its_own(model: Any) -> None:
    X = sparse.csr_array(thin_data(7, 75))
    codes = model.set_params(tol=1e-4, max_iter=500, random_state=0).fit(X).transform(X)
    order = np.random.default_rng(0).permutation(75)
    np.testing.assert_array_equal(model.transform(X[order]), codes[order])
    full = np.argsort(-np.diff(X.indptr))[:3]
    np.testing.assert_array_equal(model.transform(X[full]), codes[full])
    np.testing.assert_array_equal(model.transform(X[[37]]), codes[[37]])


@pytest.mark.parametrize("loss", FEW, ids=str)
def test_weights_of_points_count(loss: Loss) -> None:
    X = thin_data(8, 30, 20, 0.15).T
    s = np.tile([1.0, 2.0, 3.0], 10)
    problem = Problem(loss, NMF(), Uniform())
    rng = np.random.default_rng(0)
    start = Factors((rng.random((20, 2)) + 0.1,), rng.random((2, 30)) + 0.1)
    thin, dense = (
        solve(problem, data, start, max_iter=8) for data in (Sparse(sparse.csc_array(X), None, s), Dense(X, None, s))
    )
    np.testing.assert_allclose(thin.history, dense.history, rtol=1e-10)
    np.testing.assert_allclose(thin.factors.W, dense.factors.W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(thin.factors.H, dense.factors.H, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
def test_memory_is_that_of_the_stored_entries(loss: str) -> None:
    X = sparse.random_array((4000, 5000), density=0.002, rng=np.random.default_rng(0), format="csr")
    ewnmf.factorize(X[:100], 3, loss=loss, weighting="none", max_iter=2, rng=0)
    tracemalloc.start()
    try:
        ewnmf.factorize(X, 3, loss=loss, weighting="none", max_iter=2, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4000 * 5000 * 8 / 20


@pytest.mark.parametrize(
    ("share", "options", "stays"),
    [
        (0.1, {}, True),
        (0.5, {}, False),
        (0.1, {"weighting": "entropy", "gamma": 1.0}, False),
        (0.1, {"weighting": "fixed"}, False),
        (0.1, {"loss": Alpha(0.01)}, False),
        (0.1, {"model": "onmf"}, False),
    ],
)
def test_blocks_stay_sparse_where_that_is_faster_and_possible(share: float, options: Any, stays: bool) -> None:
    problem = Problem.of(**options)
    data = storage(sparse.csr_array(thin_data(0, share=share)).T)
    thin = data.thin(problem, problem.rule(data.facts(problem)))
    assert isinstance(thin, Stored) == stays
    assert sparse.issparse(thin.block(slice(2, 9)).X) == stays
    np.testing.assert_array_equal(
        sparse.csc_array(thin.block(slice(2, 9)).X).toarray(), sparse.csc_array(data.X)[:, 2:9].toarray()
    )


@pytest.mark.parametrize("model", ["nmf", "semi-nmf"])
def test_read_only_entries_are_taken(model: str) -> None:
    """As joblib hands them to its workers."""
    thin = sparse.random_array((90, 10), density=0.15, rng=np.random.default_rng(0), format="csr")
    frozen = thin.copy()
    for part in (frozen.data, frozen.indices, frozen.indptr):
        part.setflags(write=False)
    one, other = (ewnmf.factorize(X, 2, model=model, weighting="none", rng=0, max_iter=5) for X in (thin, frozen))
    np.testing.assert_array_equal(one.components, other.components)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_products_are_those_of_scipy_to_the_bit(dtype: Any) -> None:
    from ewnmf.kernels.compiled.matrices import StoredMatrix

    X = sparse.csc_array(thin_data(3, 60, 40)).astype(dtype)
    rng = np.random.default_rng(0)
    W, H = rng.random((60, 5)).astype(dtype), rng.random((5, 40)).astype(dtype)
    np.testing.assert_array_equal(StoredMatrix(X).T @ W, X.T @ W)
    np.testing.assert_array_equal(H @ StoredMatrix(X).T, H @ X.T)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", [1.0, 0.0], ids=["some loss", "exact fits"])
def test_a_sweep_by_products_has_the_objective_of_the_entries(scale: float, kernel: str) -> None:
    rng = np.random.default_rng(0)
    W, H = np.asfortranarray(rng.random((60, 3))), np.asfortranarray(rng.random((3, 40)))
    W[rng.random(W.shape) < 0.7], H[:, ::5] = 0, 0
    X = sparse.csc_array(W @ H + scale * thin_data(3, 60, 40))
    problem = Problem.of()
    data = Sparse(X)
    rule = problem.rule(replace(data.facts(problem), stored=True))
    with running(kernel):
        swept = select.kernel_for(problem, rule, data.tiny)
    block = data.thin(problem, rule).block(slice(0, 40))
    measure = swept.sweep_codes_first(block, H, (W,), rule.shared((W,), ()), problem.weighting).measure
    assert measure.loss == pytest.approx(np.sum((X.toarray() - W @ H) ** 2), rel=1e-10, abs=1e-28)
    assert measure.E == measure.J == measure.loss


@pytest.mark.usefixtures("never_dense")
@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
def test_codes_at_an_infinite_gamma_are_those_of_plain_nmf(loss: str) -> None:
    X = sparse.csr_array(thin_data(3, 60, 40))
    short: Any = {"max_iter": 5, "tol": 0, "random_state": 0, "loss": loss}
    plain, even = (model.fit(X) for model in (ewnmf.NMF(3, **short), ewnmf.EWNMF(3, gamma=np.inf, **short)))
    np.testing.assert_array_equal(plain.components_, even.components_)
    np.testing.assert_array_equal(plain.transform(X), even.transform(X))
    np.testing.assert_allclose(even.weights(X), 1 / 40, rtol=1e-14)
