"""Sweeps by tiles of attributes, and of stored entries alone, against the NumPy reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csc_array

from ewnmf import factorize, losses, weightings
from ewnmf.kernels.compiled.fused import FusedKernel
from ewnmf.kernels.reference import Kept
from ewnmf.models.base import Block, SparseBlock
from ewnmf.storage.sparse import Sparse
from tests.kernels.test_sweeps import Form, Made, _same_sweep

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="compilation is switched off")

ENTROPY = tuple(weightings.Entropy(g) for g in (1e-3, 0.1, 10.0, 1e8, 1e290))
FORMS = [
    Form(losses.Euclidean(), False, False, ENTROPY),
    Form(losses.KullbackLeibler(), False, False, ENTROPY),
    Form(losses.Euclidean(), False, False, (weightings.Welsch(0.1), weightings.Welsch(10.0))),
]
STORED = [*FORMS[:2], Form(losses.Alpha(2.0), False, False, ENTROPY[:2])]
SHAPES = [(1, 511, 3), (33, 512, 1), (32, 513, 4), (70, 1100, 7)]
forms = pytest.mark.parametrize(
    ("form", "stored"),
    [*((form, False) for form in FORMS), *((form, True) for form in STORED)],
    ids=lambda value: {True: "stored", False: "dense"}.get(value, str(value)),
)


@pytest.fixture(autouse=True)
def _tiles_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ewnmf.kernels.compiled.fused._MANY", 1)


def _all(form: Form, stored: bool) -> list[Made]:
    """Problems of every shape under every weighting, with and without silent attributes and weights of points."""
    kinds = product(SHAPES, range(len(form.weightings)), (0, 5))
    all_made = [
        Made(form, shape=shape, weighting=w, silent=silent, points=silent > 0, single=False, prior=False, seed=at)
        for at, (shape, w, silent) in enumerate(kinds)
    ]
    for made in all_made:
        made.block = _thinned(made.block) if stored else made.block
        assert isinstance(made.fused, FusedKernel)
        found = made.fused._stored(made.block, made.reference.problem.weighting)
        assert (found is not None) == stored
    return all_made


def _thinned(block: Block) -> Block:
    """The block with few entries left, none in its first point."""
    X = np.where(np.random.default_rng(0).random(block.X.shape) < 0.03, block.X, 0)
    X[:, 0] = 0
    return SparseBlock(csc_array(X), None, block.s, block.silent)


@forms
def test_codes_first(form: Form, stored: bool) -> None:
    for made in _all(form, stored):
        weighting = made.reference.problem.weighting
        mine, theirs = (
            kernel.sweep_codes_first(made.block, made.H, (made.W,), None, weighting)
            for kernel in (made.fused, made.reference)
        )
        _same_sweep(mine, theirs, made.tolerance)
        T = made.fused.weigh(made.block, made.H, (made.W,), weighting)
        expected = made.reference.weigh(made.block, made.H, (made.W,), weighting)
        np.testing.assert_allclose(T, expected, rtol=1e-7, atol=1e-12)


@forms
def test_components_first(form: Form, stored: bool) -> None:
    for made in _all(form, stored):
        weighting = made.reference.problem.weighting
        for before in (((made.before,), weighting), ((made.before,), weighting.start())):
            mine, theirs = (
                kernel.sweep_components_first(made.block, made.H, (made.W,), None, before)
                for kernel in (made.fused, made.reference)
            )
            _same_sweep(mine, theirs, made.tolerance)


@forms
def test_weights_that_are_kept_are_those_made_anew(form: Form, stored: bool) -> None:
    for made in _all(form, stored):
        weighting, room = made.reference.problem.weighting, np.empty_like(made.block.X)
        first = made.fused.sweep_components_first(
            made.block, made.H, (made.W,), None, ((made.before,), weighting), Kept(room, False)
        )
        before, basis = ((made.W,), weighting), (made.before,)
        kept = made.fused.sweep_components_first(made.block, first.H, basis, None, before, Kept(room, True))
        anew = made.fused.sweep_components_first(made.block, first.H, basis, None, before)
        assert np.array_equal(kept.H, anew.H)
        assert all(map(np.array_equal, kept.stats, anew.stats))
        assert kept.measure == anew.measure


@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
def test_sparse_and_dense_data_lead_to_the_same(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, looked = np.random.default_rng(0), []
    X = np.where(rng.random((90, 700)) < 0.04, rng.random((90, 700)), 0)
    before = FusedKernel._stored

    def look(self, block, weighting):
        found = before(self, block, weighting)
        looked.append(found is not None)
        return found

    monkeypatch.setattr(FusedKernel, "_stored", look)
    mine, theirs, threaded = (
        factorize(data, 4, loss=loss, gamma=0.1, solver="mu", max_iter=20, n_jobs=n_jobs, rng=np.random.default_rng(1))
        for data, n_jobs in ((csc_array(X).tocsr(), 1), (X, 1), (csc_array(X).tocsr(), 2))
    )
    assert any(looked)
    assert not all(looked)
    np.testing.assert_allclose(mine.history, theirs.history, rtol=1e-9)
    np.testing.assert_allclose(mine.codes, theirs.codes, rtol=1e-6, atol=1e-9)
    assert np.array_equal(mine.codes, threaded.codes)


def test_entries_stored_in_parts_and_many_entries_are_taken_as_dense() -> None:
    X = csc_array(np.eye(40, 9))
    apart = csc_array((np.ones(2), np.array([3, 3]), np.array([0, 2])), shape=(40, 1))
    kernel, many = _all(FORMS[0], False)[0].fused, csc_array(np.ones((40, 9)))
    assert isinstance(kernel, FusedKernel)
    assert Sparse(apart).block(slice(0, 1)).stored is None
    assert kernel._stored(Sparse(X).block(slice(0, 9)), ENTROPY[0]) is not None
    assert kernel._stored(Sparse(many).block(slice(0, 9)), ENTROPY[0]) is None
