"""Sparse input is densified one block at a time; attributes without any value have a closed form."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf import losses, models, weightings
from ewnmf.problem import Problem
from ewnmf.storage.matrix import storage
from ewnmf.storage.sparse import Sparse, Stored
from tests.problems import kernels


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


ZERO_COLUMNS: list[dict[str, Any]] = [
    {},
    {"weighting": "none", "gamma": "auto"},
    {"masked": True},
    {"masked": True, "weighting": "none", "gamma": "auto"},
    {"feature_weight": np.linspace(0.1, 2, 30)},
    {"sample_weight": np.linspace(0.1, 2, 50)},
    {"model": models.NMF(0.01, 0.01, 1.0)},
    {"solver": "accelerated"},
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


@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler", losses.Alpha(0.02), losses.Alpha(2.0)])
@pytest.mark.parametrize("options", ZERO_COLUMNS, ids=lambda options: ",".join(options) or "plain")
def test_zero_columns_lead_sparse_and_dense_data_to_the_same(loss: Any, options: dict[str, Any], X: np.ndarray) -> None:
    options = {"weighting": "entropy", "gamma": 0.05, "order": "codes-first", "max_iter": 15, "rng": 1, **options}
    if options.pop("masked", False):
        options["mask"] = np.random.default_rng(3).random(X.shape) < 0.9
    dense, thin = (ewnmf.factorize(data, 3, loss=loss, **options) for data in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin.history, dense.history, rtol=1e-9)
    np.testing.assert_allclose(thin.codes, dense.codes, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(thin.components, dense.components, rtol=1e-7, atol=1e-9)


def test_zero_columns_of_a_fixed_component_are_kept(X: np.ndarray) -> None:
    fixed = np.ones((1, 30))
    fixed[0, 7] = 0
    dense, thin = (
        ewnmf.NMF(3, fixed_components=fixed, tol=0, max_iter=15, random_state=0).fit(data)
        for data in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(thin.components_, dense.components_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(dense.components_[0], fixed[0])


@pytest.mark.parametrize("gamma", ["4x", "self-tuned"])
def test_silent_attributes_have_their_own_priors_in_a_mean_loss(gamma: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((20, 6)) * (np.arange(6) < 4)
    asked: dict[str, Any] = {"weighting": "welsch", "gamma": gamma, "feature_weight": rng.random(6), "rng": 0}
    asked |= {"codes": rng.random((20, 2)) + 0.1, "components": rng.random((2, 6)) + 0.1, "max_iter": 12}
    with kernels(False):
        whole, thin = (ewnmf.factorize(data, 2, **asked) for data in (X, sparse.csr_array(X)))
    assert thin.gamma == pytest.approx(whole.gamma, rel=1e-12)
    np.testing.assert_allclose(thin.codes, whole.codes, rtol=1e-9)


@pytest.mark.parametrize("solver", ["mu", "accelerated"])
def test_gamma_is_tuned_where_few_entries_are_stored(solver: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((20, 30)) * (rng.random((20, 30)) < 0.1)
    asked: dict[str, Any] = {"gamma": "self-tuned", "solver": solver, "max_iter": 12, "tol": 0.0}
    asked |= {"codes": rng.random((20, 2)) + 0.1, "components": rng.random((2, 30)) + 0.1}
    whole, thin = (ewnmf.factorize(data, 2, **asked) for data in (X, sparse.csr_array(X)))
    assert thin.excess == pytest.approx(whole.excess, rel=1e-9)
    np.testing.assert_allclose(thin.codes, whole.codes, rtol=1e-9)


@pytest.mark.parametrize("model", [models.Orthogonal("soft", "components", mu=0.1), models.Orthogonal("soft")], ids=str)
def test_equal_weights_are_no_less_than_ones_to_a_penalty(model: models.Model) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((20, 30)) * (rng.random((20, 30)) < 0.1)
    asked: dict[str, Any] = {"weighting": "entropy", "gamma": np.inf, "model": model, "max_iter": 5}
    asked |= {"codes": rng.random((20, 2)) + 0.1, "components": rng.random((2, 30)) + 0.1}
    whole, thin = (ewnmf.factorize(data, 2, **asked) for data in (X, sparse.csr_array(X)))
    assert thin.excess == pytest.approx(whole.excess, rel=1e-9)
    np.testing.assert_allclose(thin.codes, whole.codes, rtol=1e-9)


def test_silent_attributes_are_left_out(X: np.ndarray) -> None:
    data = storage(sparse.csr_array(X).T)
    problem = Problem(losses.Euclidean(), models.NMF(), weightings.Entropy(1.0))
    present, rows = data.without_zeros(problem, np.zeros(data.X.shape[0], dtype=bool))
    assert isinstance(data, Sparse)
    assert rows is not None
    assert (present.silent, present.X.shape) == (3, (27, 50))
    assert present.mass == data.mass == X.size


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


@pytest.mark.parametrize("alpha", [-1.5, 0.0])
@pytest.mark.parametrize("masked", [False, True])
def test_losses_that_need_positive_data_take_it_sparse(alpha: float, masked: bool) -> None:
    rng = np.random.default_rng(6)
    X = rng.random((30, 3)) @ rng.random((3, 9)) + 0.1
    mask = rng.random(X.shape) < 0.8 if masked else None
    if mask is not None:
        X[~mask] = 0
    models_ = [
        ewnmf.EWNMF(2, loss="alpha", alpha=alpha, gamma=0.1, tol=0, max_iter=20, random_state=0).fit(data, mask=mask)
        for data in (X, sparse.csr_array(X))
    ]
    dense, thin = models_
    np.testing.assert_allclose(thin.components_, dense.components_, rtol=1e-9)
    thin_X = sparse.csr_array(X)
    np.testing.assert_allclose(thin.transform(thin_X, mask=mask), dense.transform(X, mask=mask), rtol=1e-9)
    np.testing.assert_allclose(thin.weights(thin_X, mask=mask), dense.weights(X, mask=mask), rtol=1e-9, atol=1e-12)
    assert thin.score(thin_X, mask=mask) == pytest.approx(dense.score(X, mask=mask), rel=1e-9)


def test_zeros_that_were_observed_are_refused_sparse_too() -> None:
    X, mask = np.ones((4, 3)), np.ones((4, 3), dtype=bool)
    X[1, 1], mask[0, 0] = 0, False
    for data in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="X has zeros"):
            ewnmf.NMF(2, loss="alpha", alpha=-1.0).fit(data, mask=mask)


@pytest.mark.parametrize("order", ["components-first", "codes-first"])
@pytest.mark.parametrize(
    "case",
    [
        {"model": "semi-nmf", "weighting": "none"},
        {"model": "semi-nmf", "weighting": "entropy", "gamma": 0.3},
        {"model": "onmf", "weighting": "none", "loss": "kullback-leibler"},
    ],
    ids=str,
)
def test_what_was_drawn_for_a_zero_attribute_leads_nowhere(case: dict[str, Any], order: str) -> None:
    """With more components than points Semi-NMF corrects only a part of its start, and ONMF's have no points."""
    rng = np.random.default_rng(1)
    X = np.zeros((3, 9))
    X[:, [2, 5]] = rng.random((3, 2)) + 0.1
    dense, thin = (
        ewnmf.factorize(data, 5, **case, order=order, max_iter=6, rng=0) for data in (X, sparse.csr_array(X))
    )
    np.testing.assert_allclose(thin.codes @ thin.components, dense.codes @ dense.components, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(thin.codes, dense.codes, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(thin.components, dense.components, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("solver", ["mu", "accelerated"])
@pytest.mark.parametrize("loss", ["euclidean", losses.Alpha(3.0)], ids=str)
def test_a_point_whose_weight_is_all_on_zero_attributes_keeps_its_codes(loss: Any, solver: str) -> None:
    """Zeros fit without loss, so that at a small gamma nothing else counts; floors must not pull its codes down."""
    rng = np.random.default_rng(3)
    X = np.zeros((4, 9))
    X[:, [2, 5]] = rng.random((4, 2)) * 5 + 1
    codes, components = rng.random((4, 3)) + 0.1, rng.random((3, 9)) + 0.1
    asked: dict[str, Any] = {"loss": loss, "gamma": 1e-5, "solver": solver, "codes": codes, "components": components}
    dense, thin = (ewnmf.factorize(data, 3, **asked, max_iter=6) for data in (X, sparse.csr_array(X)))
    assert not dense.components[:, [0, 1, 3, 4, 6, 7, 8]].any()
    np.testing.assert_allclose(thin.codes, dense.codes, rtol=1e-8)
    np.testing.assert_allclose(thin.components, dense.components, rtol=1e-8)
    assert thin.loss == pytest.approx(dense.loss, rel=1e-8)


def test_blocks_that_stay_sparse_are_made_once_and_not_carried_along() -> None:
    X = sparse.csc_array(sparse.random_array((30, 40), density=0.1, rng=np.random.default_rng(0)))
    data, cut = Stored(X), slice(8, 24)
    assert data.block(cut) is data.block(cut)
    block: Any = data.block(cut).X
    assert data.block(slice(8, 16)).X.shape == (30, 8)
    np.testing.assert_array_equal(block.toarray(), X.toarray()[:, cut])
    copy = pickle.loads(pickle.dumps(data))
    assert not copy.made
    np.testing.assert_array_equal(copy.block(cut).X.toarray(), X.toarray()[:, cut])


def test_attributes_that_are_zero_have_no_floor_in_hard_orthogonal_codes() -> None:
    """Where a component is a floor, that of an attribute which is 0 everywhere would be as large."""
    X = np.array([[0.0, 0.8, 0.3], [0.0, 0.0, 0.2], [0.0, 1.3, 0.5], [0.0, 0.7, 0.4]])
    mask = np.ones(X.shape, bool)
    mask[2, 2] = False
    parts: dict[str, Any] = {"model": models.Orthogonal("hard"), "loss": losses.Alpha(1e-7), "weighting": "none"}
    dense, thin = (ewnmf.factorize(data, 1, mask=mask, rng=0, max_iter=3, **parts) for data in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin.codes, dense.codes, rtol=1e-6)


@pytest.mark.parametrize(
    ("m", "n", "width"), [(20000, 3000, 64), (20000, 790, 48), (20000, 300, 16), (20000, 5, 16), (1000, 3000, 128)]
)
def test_blocks_of_wide_points_are_few_enough_to_be_added(m, n, width):
    data = storage(sparse.random_array((m, n), density=1e-4, format="csc", rng=0))
    assert isinstance(data, Sparse)
    assert data.cuts()[0] == slice(0, min(width, n))
    assert data.cuts(whole=True) == [slice(0, n)]
