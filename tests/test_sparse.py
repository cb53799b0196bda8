"""Sparse input is densified one block at a time; attributes without any value have a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf import losses, models, weights
from ewnmf.blocks import Sparse, storage
from ewnmf.problem import Problem


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(8)
    X = rng.random((50, 3)) @ rng.random((3, 30)) * (rng.random((50, 30)) < 0.3)
    X[:, [0, 7, 29]] = 0
    X[3] = 0
    return X


CASES: list[dict[str, Any]] = [
    *({"loss": loss} for loss in ("euclidean", "kullback-leibler", losses.Alpha(0.4))),
    {"weighting": "none"},
    {"weighting": "fixed", "fixed": True},
    {"model": "semi-nmf"},
    {"model": "convex-nmf"},
    {"model": "onmf"},
    {"model": models.Orthogonal("soft")},
    {"model": models.Orthogonal("lagrange"), "weighting": "none"},
]


@pytest.mark.parametrize("order", ["components-first", "codes-first"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sparse_equals_dense(case: dict[str, Any], order: str, X: np.ndarray) -> None:
    options = dict(case)
    A = np.random.default_rng(1).random(X.shape) + 0.1
    if options.pop("fixed", False):
        options["weights"] = A
    rng = np.random.default_rng(2)
    codes, components = rng.random((50, 3)) + 0.1, rng.random((3, 30)) + 0.1
    components[:, [0, 7, 29]] = 1e-50
    start: dict[str, Any] = (
        {"combinations": codes[::-1]} if case.get("model") == "convex-nmf" else {"components": components}
    )
    both = [
        ewnmf.factorize(data, 3, gamma=0.3, max_iter=12, order=order, codes=codes, **start, **options)
        for data in (X, sparse.csr_array(X))
    ]
    dense, thin = both
    np.testing.assert_allclose(thin.history, dense.history, rtol=1e-10)
    np.testing.assert_allclose(thin.codes, dense.codes, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(thin.components, dense.components, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(thin.weights(), dense.weights(), rtol=1e-8, atol=1e-12)
    assert (thin.components[:, [0, 7, 29]] == 0).all()


def test_silent_attributes_are_left_out(X: np.ndarray) -> None:
    data = storage(sparse.csr_array(X).T)
    problem = Problem(losses.Euclidean(), models.NMF(), weights.Entropy(1.0))
    heard, rows = data.loud(problem, np.zeros(data.X.shape[0], dtype=bool))
    assert isinstance(data, Sparse)
    assert rows is not None
    assert (heard.silent, heard.X.shape) == (3, (27, 50))
    assert heard.mass == data.mass == X.size


def test_estimators_take_sparse(X: np.ndarray) -> None:
    thin = sparse.csr_array(X)
    model = ewnmf.EWNMF(3, gamma=0.3, tol=0, max_iter=20, random_state=0).fit(thin)
    np.testing.assert_array_equal(model.transform(thin), model.transform(X))
    np.testing.assert_array_equal(model.weights(thin), model.weights(X))
    assert model.score(thin) == pytest.approx(model.score(X), rel=1e-12)
    np.testing.assert_allclose(model.weights(thin).sum(axis=1), 1)
    for layout in (sparse.csc_matrix, sparse.coo_array):
        again = ewnmf.EWNMF(3, gamma=0.3, tol=0, max_iter=20, random_state=0).fit(layout(X))
        np.testing.assert_array_equal(again.components_, model.components_)


@pytest.mark.parametrize("init", ["nndsvd", "nndsvda", "nndsvdar"])
def test_nndsvd_starts_take_sparse(init: str, X: np.ndarray) -> None:
    model = ewnmf.NMF(3, init=init, tol=0, max_iter=5, random_state=0).fit(sparse.csr_array(X))
    assert np.isfinite(model.components_).all()


def test_nothing_but_zeros() -> None:
    answer = ewnmf.factorize(sparse.csr_array((6, 5)), 2, rng=0, max_iter=5)
    assert np.isfinite(answer.codes).all()


def test_ctrl_c_leaves_all_attributes(X: np.ndarray) -> None:
    def interrupt(report: Any) -> None:
        assert report.components.shape == (3, 30)
        if report.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        ewnmf.factorize(sparse.csr_array(X), 3, gamma=0.3, rng=0, callbacks=[interrupt])
    assert caught.value.solution.components.shape == (3, 30)  # type: ignore[attr-defined]
    assert caught.value.solution.weights().shape == X.shape  # type: ignore[attr-defined]


def test_entries_stored_in_parts_are_summed_in_a_copy(X: np.ndarray) -> None:
    whole = sparse.coo_array(X)
    rows, columns = (np.tile(index, 2) for index in whole.coords)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=50))])
    by_row = np.argsort(rows, kind="stable")
    parts = sparse.csr_array((np.tile(whole.data / 2, 2)[by_row], columns[by_row], indptr), shape=X.shape)
    before = parts.nnz
    found = ewnmf.factorize(parts, 3, rng=0, max_iter=20)
    np.testing.assert_allclose(found.codes, ewnmf.factorize(whole.tocsr(), 3, rng=0, max_iter=20).codes, rtol=1e-6)
    assert (parts.nnz, parts.data.size) == (before, before)
