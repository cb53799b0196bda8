"""Scaling of the points, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from ewnmf.datasets import scale_points, unscale_points

finite_tables = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@given(finite_tables)
def test_every_point_is_scaled_to_the_unit_interval(X):
    before = X.copy()
    scaled = scale_points(X)
    np.testing.assert_array_equal(X, before)
    constant = X.min(axis=1) == X.max(axis=1)
    np.testing.assert_array_equal(scaled.min(axis=1), 0)
    np.testing.assert_array_equal(scaled.max(axis=1), np.where(constant, 0, 1))
    assert scaled.dtype == np.float64
    for point, result in zip(X, scaled, strict=True):
        assert np.all(np.diff(result[np.argsort(point)]) >= 0)


def test_scaling_by_hand():
    np.testing.assert_array_equal(
        scale_points([[1, 2, 5], [-4, 0, 4], [3, 3, 3]]), [[0, 0.25, 1], [0, 0.5, 1], [0, 0, 0]]
    )


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.uint8, np.float64),
        (np.int64, np.float64),
        (bool, np.float64),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_matrix])
def test_types_of_scaled_points(dtype, expected, kind):
    X = np.random.default_rng(0).integers(0, 2, size=(5, 7)).astype(dtype)
    assert scale_points(kind(X)).dtype == expected


def test_unsigned_differences_do_not_wrap():
    np.testing.assert_array_equal(scale_points(np.array([[200, 100, 150]], dtype=np.uint8)), [[1, 0, 0.5]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_widest_range_does_not_overflow(dtype):
    largest = np.finfo(dtype).max
    X = np.array([[-largest, 0, largest], [0, 1, 4]], dtype=dtype)
    np.testing.assert_array_equal(scale_points(X), [[0, 0.5, 1], [0, 0.25, 1]])


nonnegative_tables = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5, 1e-300, 1e300]),
)


@given(nonnegative_tables)
def test_sparse_and_dense_agree(X):
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        given_sparse = kind(X)
        scaled = scale_points(given_sparse)
        assert scaled.format == "csr"
        assert isinstance(scaled, sparse.sparray) == isinstance(given_sparse, sparse.sparray)
        assert np.all(scaled.data != 0)
        np.testing.assert_array_equal(scaled.toarray(), scale_points(X))
        np.testing.assert_array_equal(given_sparse.toarray(), X)


def test_stored_zeros_and_duplicates_are_what_they_mean():
    entries = ([1.0, 3.0, 0.0, 5.0, 6.0], ([0, 0, 0, 1, 1], [0, 0, 1, 0, 1]))
    X = sparse.coo_matrix(entries, shape=(2, 2))
    np.testing.assert_array_equal(scale_points(X).toarray(), scale_points(X.toarray()))


def test_missing_values_stay_missing_and_count_nowhere():
    X = np.array([[1.0, np.nan, 5.0, 2.0], [np.nan, np.nan, np.nan, np.nan], [np.nan, 3.0, 3.0, 3.0]])
    scaled = scale_points(X)
    np.testing.assert_array_equal(scaled, [[0, np.nan, 1, 0.25], [np.nan] * 4, [np.nan, 0, 0, 0]])
    assert scale_points(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(unscale_points(scaled, X), X)
    filled = np.where(np.isnan(scaled), 0.5, scaled)
    np.testing.assert_array_equal(unscale_points(filled, X), [[1, 3, 5, 2], [0.5] * 4, [3.5, 3, 3, 3]])


@given(finite_tables)
def test_unscaled_points_are_the_points(X):
    size = np.abs(X).max(axis=1, keepdims=True)
    back = unscale_points(scale_points(X), X)
    assert np.all(np.abs(back - X) <= 4 * np.finfo(X.dtype).eps * size + 4 * np.finfo(X.dtype).smallest_subnormal)


def test_a_full_row_may_be_negative_and_one_with_zeros_may_not():
    full = sparse.csr_matrix(np.array([[-1.0, 1.0], [0.0, 2.0]]))
    np.testing.assert_array_equal(scale_points(full).toarray(), [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match=r"first in row 1, .* use scale_points\(X\.toarray\(\)\)"):
        scale_points(sparse.csr_matrix(np.array([[1.0, 2.0], [0.0, -2.0]])))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), r"X has shape \(3,\)"),
        (np.ones((2, 2, 2)), r"X has shape \(2, 2, 2\)"),
        ([], r"X has shape \(0,\)"),
        (np.ones((0, 3)), r"X has shape \(0, 3\)"),
        ([["a", "b"]], "X has type <U1; give real numbers"),
        ([[1j]], "X has type complex128; give real numbers"),
        ([[1.0, np.inf]], "X contains infinite values; replace them first, by NaN"),
        (sparse.csr_matrix([[1.0, np.nan]]), "X is sparse and contains NaN or infinite values"),
        (sparse.csr_matrix((0, 3)), r"X is sparse of type float64 and shape \(0, 3\)"),
        (sparse.csr_matrix([[1j]]), "X is sparse of type complex128"),
    ],
)
def test_what_cannot_be_scaled_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        scale_points(X)


def test_a_sparse_vector_is_refused():
    vector = sparse.coo_array(np.array([1.0, 0.0]))
    if len(vector.shape) == 2:
        pytest.skip("this version of scipy has no sparse vectors")
    with pytest.raises(ValueError, match=r"X is sparse of type float64 and shape \(2,\)"):
        scale_points(vector)


def test_half_precision_becomes_double():
    scaled = scale_points(np.array([[0, 1, 4]], dtype=np.float16))
    assert scaled.dtype == np.float64
    np.testing.assert_array_equal(scaled, [[0, 0.25, 1]])
