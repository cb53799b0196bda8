"""Codes for a fixed basis by least squares: they are the best, the compiled ones are the reference's, E never rises."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse import csc_array

from ewnmf import EWNMF, NMF, ONMF, ConvexNMF, SemiNMF, losses, models, weightings
from ewnmf.kernels.compiled.fused import FusedKernel
from ewnmf.kernels.least_squares import flat, nonnegative, opened
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.select import kernel_for
from ewnmf.kernels.stored import StoredKernel
from ewnmf.models.base import Block
from ewnmf.models.nmf import LeastSquares
from ewnmf.problem import Problem
from ewnmf.solvers.encode import _fill
from ewnmf.storage.dense import Dense
from ewnmf.storage.sparse import Sparse
from tests.problems import kernels

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WEIGHTINGS = [
    weightings.Uniform(),
    weightings.Fixed(),
    *(weightings.Entropy(g) for g in (0.0, 1e-2, 0.1, 10.0, np.inf)),
]
KINDS = [(weighting, single, prior) for weighting in WEIGHTINGS for single in (False, True) for prior in (False, True)]
KINDS += [(weighting, False, False) for weighting in (weightings.Cauchy(0.1), weightings.Huber(0.1), weightings.L1())]
"""Weighting, whether in single precision, and whether with prior weights: each kind of weights is compiled anew."""


class Made:
    """A block, a basis, and the kernels of a problem for its codes."""

    def __init__(self, kind: tuple[Any, bool, bool], n: int, m: int, K: int, seed: int, model: models.NMF) -> None:
        weighting, self.single, prior = kind
        rng, dtype = np.random.default_rng(seed), np.float32 if self.single else np.float64
        X = rng.random((m, K)) @ rng.random((K, n)) + 0.1 * rng.random((m, n))
        X[rng.random((m, n)) < 0.1] = 0
        X[rng.random((m, n)) < 0.05] = 4
        P = np.where(rng.random((m, n)) < 0.2, 0, rng.random((m, n)) + 0.1)
        P[rng.integers(m)] = 0.5
        self.P = np.asfortranarray(P, dtype) if prior else None
        self.block = Block(np.asfortranarray(X, dtype), self.P)
        self.W = np.asfortranarray(rng.random((m, K)) * (rng.random((m, K)) < 0.7) + 0.05, dtype)
        data = Dense(self.block.X, self.P)
        self.problem = Problem(losses.Euclidean(), model, weighting).sized(data.scale, dtype)
        rule = self.problem.rule(data.facts(self.problem)).encoder()
        assert isinstance(rule, LeastSquares)
        self.kernel = kernel_for(self.problem, rule, data.tiny)
        self.reference = Kernel(self.problem, rule, data.tiny)

    def codes(self, kernel: Kernel, max_iter: int = 100, tol: float = 0.0) -> np.ndarray:
        block = _fill(self.block, kernel.encodes_at_once)
        start = np.ones((self.W.shape[1], block.X.shape[1]), self.W.dtype, order="F")
        return kernel.encode(block, start, (self.W,), max_iter, tol)[:, : self.block.X.shape[1]]

    def excess(self, H: np.ndarray) -> np.ndarray:
        return self.reference.see(self.block, np.asfortranarray(H), (self.W,), self.problem.weighting).E


kinds = {
    "kind": st.sampled_from(KINDS),
    "n": st.sampled_from([8, 16, 40]),
    "m": st.integers(1, 70),
    "K": st.integers(1, 9),
    "seed": st.integers(0, 2**20),
    "model": st.sampled_from([models.NMF(), models.NMF(0.01, 0.0, 0.5)]),
}


@given(**kinds)
def test_compiled_codes_are_those_of_the_reference(**drawn: Any) -> None:
    pytest.importorskip("numba")
    made = Made(**drawn)
    if not isinstance(made.kernel, FusedKernel):
        pytest.skip("compilation is switched off")
    mine, theirs = (made.excess(made.codes(kernel)) for kernel in (made.kernel, made.reference))
    assert mine.dtype == theirs.dtype
    size = made.excess(np.zeros((made.W.shape[1], made.block.X.shape[1]), made.W.dtype))
    tolerance = 1e-4 if made.single else 1e-7
    np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * max(size.max(), 1e-3))


@given(**kinds)
def test_every_round_lowers_the_objective(**drawn: Any) -> None:
    made = Made(**drawn)
    before = made.excess(made.codes(made.kernel, 1, 0.0))
    for rounds in (2, 3, 5, 9):
        after = made.excess(made.codes(made.kernel, rounds, 0.0))
        assert np.all(after <= before + (1e-5 if made.single else 1e-11) * (np.abs(before) + 1e-3))
        before = after


@pytest.mark.parametrize("single", [False, True])
def test_where_the_objective_is_flat_rounding_does_not_choose(single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps up to `flat` times the last ``E`` are taken, by both kernels: 0 takes none, and leaves the opening."""
    made = Made((weightings.Entropy(0.1), single, False), 8, 9, 3, 0, models.NMF())
    eps = 2.0**-23 if single else 2.0**-52
    assert 2 * eps < flat(made.W.dtype) - 1 < 100 * eps
    monkeypatch.setattr("ewnmf.kernels.least_squares.flat", lambda dtype: 0.0)
    monkeypatch.setattr("ewnmf.kernels.compiled.fused.flat", lambda dtype: 0.0)
    for kernel in (made.kernel, made.reference):
        start = np.ones((3, 8), made.W.dtype, order="F")
        np.testing.assert_array_equal(made.codes(kernel), opened(kernel, made.block, start, made.W))


@given(K=st.integers(1, 12), m=st.integers(1, 30), seed=st.integers(0, 10**6), repeated=st.booleans())
def test_nonnegative_least_squares_are_solved(K: int, m: int, seed: int, repeated: bool) -> None:
    rng = np.random.default_rng(seed)
    W, x = rng.normal(size=(m, K)), rng.normal(size=m)
    if repeated and K > 1:
        W[:, -1] = W[:, 0]
    h = nonnegative(W.T @ W, W.T @ x, np.zeros(K), 1e100)
    assert h.min() >= 0
    assert np.linalg.norm(x - W @ h) <= nnls(W, x)[1] * (1 + 1e-6) + 1e-7


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("rank", "K"), [(4, 12), (6, 30)])
def test_components_that_depend_on_each_other_are_no_obstacle(rank: int, K: int, seed: int) -> None:
    """Convex combinations of a few points: coordinate descent alone ended with an error of up to 7 % more."""
    rng = np.random.default_rng(seed)
    points, shares = rng.random((rank, 30)), rng.random((K, rank))
    W = (shares / shares.sum(axis=1, keepdims=True) @ points).T
    x = rng.random(rank) @ points + 0.3 * rng.random(30)
    h = nonnegative(W.T @ W, W.T @ x, np.zeros(K), 1e100)
    assert np.linalg.norm(x - W @ h) == pytest.approx(nnls(W, x, maxiter=10_000)[1], rel=1e-9)
    assert np.count_nonzero(h) <= rank


def test_penalties_beyond_the_range_of_squares_end_in_nothing() -> None:
    np.testing.assert_array_equal(nonnegative(np.zeros((2, 2)), np.full(2, -1e211), np.zeros(2), 1e100), 0)
    np.testing.assert_array_equal(nonnegative(np.eye(2), np.array([-1e211, 3.0]), np.zeros(2), 1e100), [0, 3])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", [models.NMF(), models.NMF(0.01, 0.0, 0.5)])
def test_sparse_points_have_the_codes_of_dense_ones(model: models.NMF, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.random((50, 40)) * (rng.random((50, 40)) < 0.1), dtype)
    W = np.asfortranarray(rng.random((50, 5)), dtype)
    problem = Problem(losses.Euclidean(), model, weightings.Uniform())
    found = []
    for data in (Dense(X), Sparse(csc_array(X))):
        rule = problem.rule(data.facts(problem)).encoder()
        held = data.thin(problem, rule)
        kernel = kernel_for(problem, rule, data.tiny)
        found.append(kernel.encode(held.block(slice(0, 40)), np.zeros((5, 40), dtype, order="F"), (W,), 300, 0.0))
        if isinstance(data, Sparse):
            assert isinstance(kernel, StoredKernel)
            slow = StoredKernel(problem, rule, data.tiny)
            found.append(slow.encode(held.block(slice(0, 40)), found[0], (W,), 300, 0.0))
    for other in found[1:]:
        np.testing.assert_allclose(
            other, found[0], rtol=1e-4 if dtype == np.float32 else 1e-9, atol=1e-6 * (dtype == np.float32)
        )


def test_components_of_nothing_get_no_codes() -> None:
    rng = np.random.default_rng(0)
    X, W = np.asfortranarray(rng.random((20, 16))), np.asfortranarray(rng.random((20, 3)))
    W[:, 1] = 1e-60
    problem, data = Problem(losses.Euclidean(), models.NMF(), weightings.Entropy(0.1)), Dense(X)
    rule = problem.rule(data.facts(problem)).encoder()
    for kernel in (Kernel(problem, rule, data.tiny), kernel_for(problem, rule, data.tiny)):
        H = kernel.encode(Block(X), np.ones((3, 16), order="F"), (W,), 50, 0.0)
        assert np.all(H[1] == 0)
        assert np.all(H[0] + H[2] > 0)


def test_systems_of_single_precision_are_made_in_double() -> None:
    """With weight in two of three attributes three codes are not unique: compiled code must choose as the reference."""
    made = Made((weightings.Entropy(1e-3), True, False), 8, 3, 3, 6, models.NMF())
    mine, theirs = (made.codes(kernel) for kernel in (made.kernel, made.reference))
    np.testing.assert_allclose(mine, theirs, atol=1e-3)


@cache
def _compiled_batch() -> Any:
    numba = pytest.importorskip("numba")
    if numba.config.DISABLE_JIT:
        pytest.skip("compilation is switched off")
    from ewnmf.kernels.compiled import batch, options

    def solve(halves, start, U, vectors, marks, most):
        for r in range(start.shape[0]):
            batch.begin(halves, 0.0, start[r], r, vectors, marks)
        for _ in range(batch.LOOKS):
            batch.look_at_faces(halves, U, vectors, marks, most)

    return numba.njit(**options.ENTRY)(solve)


@given(K=st.integers(1, 20), seed=st.integers(0, 2**20), rank=st.integers(1, 25))
def test_systems_side_by_side_have_the_codes_of_single_ones(K: int, seed: int, rank: int) -> None:
    """Wherever they stand, and whatever is beside them; what they give up is left to others."""
    solve_batch = _compiled_batch()
    n, rng = 16, np.random.default_rng(seed)
    W = rng.random((n, 30, min(rank, K))) @ rng.random((n, min(rank, K), K)) if rank <= K else rng.random((n, 30, K))
    G, b = np.einsum("rik,ril->rkl", W, W), np.einsum("rik,ri->rk", W, rng.standard_normal((n, 30)))
    start, most, order = rng.random((n, K)) * (rng.random((n, K)) < 0.7), 1e6, rng.permutation(n)

    def found(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        halves = np.ascontiguousarray(G[order][:, *np.triu_indices(K)].T)
        vectors, marks = np.zeros((7, K, n)), np.ones((4, n))
        vectors[0] = b[order].T
        solve_batch(halves, start[order], np.zeros((K, K, n)), vectors, marks, most)
        back = np.argsort(order)
        return vectors[1].T[back], (marks[0] + marks[1] == 0)[back]

    (codes, ended), (others, also) = found(np.arange(n)), found(order)
    np.testing.assert_array_equal(ended, also)
    np.testing.assert_array_equal(codes[ended], others[ended])
    assert ended.sum() > n / 2 or rank <= K
    for r in np.flatnonzero(ended):
        best = nonnegative(G[r], b[r], start[r], most)
        np.testing.assert_allclose(codes[r], best, atol=1e-7 * (1 + best.max()), rtol=0)


@given(
    gamma=st.sampled_from([None, 0.3, 1e-3]),
    n=st.integers(2, 60),
    m=st.integers(2, 120),
    K=st.integers(1, 40),
    seed=st.integers(0, 2**20),
)
def test_codes_in_single_precision_are_a_points_own(gamma: float | None, n: int, m: int, K: int, seed: int) -> None:
    """To the bit, whatever is encoded with it, and in which order."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 3)) @ rng.random((3, m)) + 0.1 * rng.random((n, m))).astype(np.float32)
    short: dict[str, Any] = {"max_iter": 3, "tol": 0, "random_state": 0, "n_jobs": 1}
    model = NMF(K, **short) if gamma is None else EWNMF(K, gamma=gamma, **short)
    model.fit(X).set_params(max_iter=100, tol=1e-4)
    codes, some = model.transform(X), rng.permutation(n)[:5]
    np.testing.assert_array_equal(model.transform(X[some]), codes[some])
    np.testing.assert_array_equal(model.transform(X[some[:1]]), codes[some[:1]])


OTHERS: list[Any] = [
    *((cls, {}, True) for cls in (SemiNMF, ConvexNMF, ONMF)),
    *((EWNMF, {"loss": loss}, False) for loss in ("euclidean", "kullback-leibler")),
]


@pytest.mark.parametrize(("cls", "options", "compiled"), OTHERS, ids=str)
def test_codes_by_products_of_numpy_are_a_points_own_too(cls: Any, options: dict[str, Any], compiled: bool) -> None:
    """Where nothing is compiled for them: in double precision, which BLAS has one code for."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, m, K = (int(rng.integers(low, high)) for low, high in ((5, 50), (5, 60), (2, 12)))
        X = (rng.random((n, 3)) @ rng.random((3, m)) + 0.1 * rng.random((n, m))).astype(np.float32)
        with kernels(compiled):
            model = cls(K, gamma=0.3, max_iter=3, tol=0, random_state=0, n_jobs=1, **options).fit(X)
            model.set_params(max_iter=60, tol=1e-4)
            codes, some = model.transform(X), rng.permutation(n)[:5]
            assert codes.dtype == np.float32
            np.testing.assert_array_equal(model.transform(X[some]), codes[some])
            np.testing.assert_array_equal(model.transform(X[some[:1]]), codes[some[:1]])
