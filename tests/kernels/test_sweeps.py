"""The compiled sweeps and the compiled encoder against the NumPy reference."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ewnmf import losses, models, weightings
from ewnmf.kernels.compiled.fused import FusedKernel
from ewnmf.kernels.reference import Kernel, Swept
from ewnmf.kernels.select import kernel_for
from ewnmf.models.base import Block
from ewnmf.models.nmf import Multiplicative
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="compilation is switched off")

WEIGHTINGS = (
    weightings.Uniform(),
    weightings.Fixed(),
    *(weightings.Entropy(g) for g in (1e-3, 0.1, 10.0, 1e8, np.inf)),
)


class Form(NamedTuple):
    """A loss, in single precision or not, with a prior or without (None: either), under one of some weightings."""

    loss: losses.Loss
    single: bool | None = None
    prior: bool | None = None
    weightings: tuple[weightings.Weighting, ...] = WEIGHTINGS

    def __str__(self) -> str:
        names = dict.fromkeys(weighting.name for weighting in self.weightings)
        return " ".join([repr(self.loss), *(str(part) for part in (self.single, self.prior)), *names])


FORMS = [
    Form(losses.Euclidean()),
    Form(losses.KullbackLeibler()),
    Form(losses.Alpha(-1.0), False, False),
    Form(losses.Alpha(0.0), False, False),
    Form(losses.Alpha(0.02), False, False),
    Form(losses.Alpha(0.6), True, False),
    Form(losses.Alpha(2.0), False, False),
    Form(losses.Alpha(2.0), False, True),
    Form(losses.Beta(0.0), True, False),
    Form(losses.Beta(2.5), True, False),
    Form(losses.Euclidean(), False, False, (weightings.Welsch(0.1), weightings.Welsch(10.0))),
    Form(losses.Euclidean(), False, False, (weightings.Cauchy(0.1), weightings.Cauchy(10.0))),
    Form(losses.Euclidean(), False, False, (weightings.Huber(0.1), weightings.Huber(10.0), weightings.L1())),
]
"""Every form of a loss and of a weighting; machine code for all that can be combined takes minutes.

A prior is a factor of the weights, whose code knows nothing of the loss: three losses have one.
"""


class Made:
    """A block with factors, and both kernels for a problem on it."""

    def __init__(self, form: Form, **kind: Any) -> None:
        loss, (n, m, K) = form.loss, kind["shape"]
        weighting = form.weightings[kind["weighting"] % len(form.weightings)]
        kind["single"] = kind["single"] if form.single is None else form.single
        kind["prior"] = kind["prior"] if form.prior is None else form.prior
        # There weights amplify the rounding of single precision beyond any tolerance.
        if kind["single"] and isinstance(weighting, weightings.Entropy) and weighting.gamma < 0.1:
            assume(False)
        rng, dtype = np.random.default_rng(kind["seed"]), np.float32 if kind["single"] else np.float64
        X = rng.random((m, n)) * np.exp(rng.normal(size=(m, n)))
        if not loss.needs_positive:
            X[rng.random((m, n)) < 0.2] = 0
        P = np.where(rng.random((m, n)) < 0.2, 0, rng.random((m, n)) + 0.1)
        P[rng.integers(m)] = 0.5
        self.block = Block(
            np.asfortranarray(X, dtype=dtype),
            np.asfortranarray(P, dtype=dtype) if kind["prior"] else None,
            (rng.random(n) + 0.1).astype(dtype) if kind["points"] else None,
            kind["silent"],
        )
        self.W, self.before = (np.asfortranarray(rng.random((m, K)) + 0.1, dtype=dtype) for _ in range(2))
        self.H = np.asfortranarray(rng.random((K, n)) + 0.1, dtype=dtype)
        problem, data = Problem(loss, models.NMF(), weighting), Dense(self.block.X)
        self.fused = kernel_for(problem, Multiplicative(loss, data.facts(problem)), data.tiny)
        assert isinstance(self.fused, FusedKernel)
        assert self.fused._compiles(weighting)
        self.reference = Kernel(problem, self.fused.rule, self.fused.tiny)
        self.tolerance = 1e-3 if kind["single"] else 1e-9


kinds = {
    "weighting": st.integers(0, len(WEIGHTINGS) - 1),
    "shape": st.tuples(st.sampled_from([1, 2, 7, 31, 32, 33, 64, 65, 130]), st.integers(1, 70), st.integers(1, 9)),
    "single": st.booleans(),
    "prior": st.booleans(),
    "points": st.booleans(),
    "silent": st.sampled_from([0, 0, 3]),
    "seed": st.integers(0, 2**20),
}


forms = pytest.mark.parametrize("form", FORMS, ids=str)


def _near(mine: Any, theirs: Any, tolerance: float, scale: float = 1e-30) -> None:
    scale = max(float(np.abs(theirs).max()), scale)
    np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * scale)


def _same_sweep(mine: Swept, theirs: Swept, tolerance: float) -> None:
    _near(mine.H, theirs.H, tolerance)
    # Near alpha = 0 the pull up is a logarithm, and its sum may cancel: the pull down has the scale of its terms.
    scale = float(np.abs(theirs.stats[1]).max())
    for one, other in zip(mine.stats, theirs.stats, strict=True):
        _near(one, other, tolerance, scale)
    # The objective of an exact fit is rounding.
    _near(mine.measure, theirs.measure, tolerance, tolerance**2)


@forms
@given(**kinds)
def test_codes_first(form: Form, **kind: Any) -> None:
    made = Made(form, **kind)
    for weighting in (made.reference.problem.weighting, made.reference.problem.weighting.start()):
        mine, theirs = (
            kernel.sweep_codes_first(made.block, made.H, (made.W,), None, weighting)
            for kernel in (made.fused, made.reference)
        )
        _same_sweep(mine, theirs, made.tolerance)


@forms
@given(**kinds)
def test_components_first(form: Form, **kind: Any) -> None:
    made = Made(form, **kind)
    weighting = made.reference.problem.weighting
    for before in (((made.before,), weighting), ((made.before,), weighting.start())):
        mine, theirs = (
            kernel.sweep_components_first(made.block, made.H, (made.W,), None, before)
            for kernel in (made.fused, made.reference)
        )
        _same_sweep(mine, theirs, made.tolerance)


@forms
@given(**kinds)
def test_measure(form: Form, **kind: Any) -> None:
    made = Made(form, **kind)
    weighting = made.reference.problem.weighting
    mine, theirs = (k.measure(made.block, made.H, (made.W,), weighting) for k in (made.fused, made.reference))
    _near(mine, theirs, made.tolerance, made.tolerance**2)


@forms
@given(**{**kinds, "shape": st.tuples(st.sampled_from([8, 16, 64]), st.integers(1, 70), st.integers(1, 9))})
def test_encode(form: Form, **kind: Any) -> None:
    made = Made(form, **kind)
    for max_iter, tol in ((6, 0.0), (6, 0.05)):
        mine, theirs = (
            kernel.encode(made.block, made.H.copy(order="F"), (made.W,), max_iter, tol)
            for kernel in (made.fused, made.reference)
        )
        _near(mine, theirs, 10 * made.tolerance)


@cache
def _products() -> Any:
    """All of them, so many rows at a time; where that is 0, as many as leave each row its bits."""
    from ewnmf.kernels.compiled import blas as _blas

    @numba.njit
    def products(gemm: int, H: Any, W: Any, pulls: Any, rows: int, Y: Any, O: Any, S: Any) -> None:
        _blas.product(gemm, H, W, rows if rows > 0 else _blas.alike(Y), Y)
        _blas.product_with_transposed(gemm, pulls, W, rows if rows > 0 else _blas.alike(O), O)
        _blas.add_transposed_product(gemm, H, pulls, S)

    return products


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 11), (64, 20, 1000), (33, 50, 1024), (8, 300, 700)])
@pytest.mark.parametrize("rows", [8, 100])
def test_products(shape: tuple[int, int, int], dtype: Any, rows: int) -> None:
    from ewnmf.kernels.compiled import blas as _blas

    b, K, m = shape
    rng, gemm = np.random.default_rng(1), _blas.gemm_address(np.dtype(dtype))
    H, W, pulls = (rng.random(s).astype(dtype) for s in ((b, K), (K, m), (b, 2 * m)))
    Y, O, S = np.empty((b, m), dtype), np.empty((2 * b, K), dtype), np.ones((K, 2 * m), dtype)
    _products()(gemm, H, W, pulls, rows, Y, O, S)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(Y, H @ W, rtol=tolerance)
    np.testing.assert_allclose(O, pulls.reshape(2 * b, m) @ W.T, rtol=tolerance)
    np.testing.assert_allclose(S, 1 + H.T @ pulls, rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(8, 8), (13, 20), (64, 5), (300, 40)])
def test_rows_of_products_have_bits_of_their_own(shape: tuple[int, int], dtype: Any) -> None:
    from ewnmf.kernels.compiled import blas as _blas

    m, K = shape
    rng, gemm = np.random.default_rng(0), _blas.gemm_address(np.dtype(dtype))
    H, W, pulls = (rng.random(s).astype(dtype) for s in ((1, K), (K, m), (1, m)))
    Y, O = np.empty((16, m), dtype), np.empty((16, K), dtype)
    S = np.zeros((K, m), dtype)
    _products()(gemm, np.repeat(H, 16, axis=0), W, np.repeat(pulls, 16, axis=0), 0, Y, O, S)
    np.testing.assert_array_equal(Y, np.broadcast_to(Y[0], Y.shape))
    np.testing.assert_array_equal(O, np.broadcast_to(O[0], O.shape))
