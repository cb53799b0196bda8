"""Data of many kinds, and the ways in which the same matrix can be handed over."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["DENSE", "KINDS", "SPARSE", "lay_out", "matrix"]

Array = NDArray[Any]

KINDS = (
    "uniform",
    "lognormal",
    "low rank",
    "nearly low rank",
    "constant",
    "empty rows and columns",
    "counts",
    "outliers",
    "one entry",
    "duplicates",
    "zeros",
    "binary",
    "decades",
    "thin",
)
DENSE = ("C", "F", "strided", "reversed", "read-only", "big-endian", "list")
SPARSE = ("csr", "csc", "coo", "csr_matrix", "explicit zeros", "unsorted", "duplicate", "long indices", "bsr", "frozen")


def matrix(kind: str, n: int, m: int, rank: int, rng: np.random.Generator) -> Array:
    """A nonnegative matrix (n x m) of that kind, of ordinary size."""
    low = rng.random((n, rank)) @ rng.random((rank, m))
    X = rng.random((n, m))
    match kind:
        case "lognormal":
            X = np.exp(rng.normal(size=(n, m)))
        case "low rank":
            X = low
        case "nearly low rank":
            X = low + 0.05 * X
        case "constant":
            X = np.full((n, m), rng.random() + 0.1)
        case "empty rows and columns":
            X = low * (rng.random(m) < 0.7) * (rng.random((n, 1)) < 0.7)
        case "counts":
            X = rng.poisson(3 * low).astype(float)
        case "outliers":
            X = np.where(rng.random((n, m)) < 0.1, rng.uniform(0, 100, (n, m)), low)
        case "one entry":
            X = np.zeros((n, m))
            X[rng.integers(n), rng.integers(m)] = rng.random() + 0.1
        case "duplicates":
            X = (low + 0.1 * X)[rng.integers(max(1, n // 3), size=n)]
        case "zeros":
            X = np.zeros((n, m))
        case "binary":
            X = (X < 0.4).astype(float)
        case "decades":
            X = (low + 0.05) * 10 ** rng.uniform(-5, 5, m)
        case "thin":
            X = X * (rng.random((n, m)) < 0.15)
    return X


def lay_out(X: Array, layout: str) -> Any:
    """The same matrix in another layout, always in memory of its own."""
    if layout in DENSE:
        return _dense(X, layout)
    return _sparse(X, layout)


def _dense(X: Array, layout: str) -> Any:
    match layout:
        case "F":
            return np.array(X, order="F")
        case "strided":
            wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
            wide[::2, 1::3] = X
            return wide[::2, 1::3]
        case "reversed":
            return X[::-1, ::-1].copy()[::-1, ::-1]
        case "read-only":
            frozen = X.copy()
            frozen.setflags(write=False)
            return frozen
        case "big-endian":
            return X.astype(X.dtype.newbyteorder(">"))
        case "list":
            return X.tolist() if X.dtype == np.float64 else X.copy()
    return X.copy()


def _sparse(X: Array, layout: str) -> Any:
    thin = sparse.csr_array(X)
    match layout:
        case "csc" | "coo" | "bsr":
            return thin.asformat(layout)
        case "csr_matrix":
            return sparse.csr_matrix(X)
        case "explicit zeros":
            rows, columns = np.indices(X.shape).reshape(2, -1)
            stored = (X.ravel() != 0) | (np.arange(X.size) % 3 == 0)
            whole = sparse.coo_array((X.ravel()[stored], (rows[stored], columns[stored])), shape=X.shape)
            return whole.tocsr()
        case "unsorted":
            return _by_row(X, [np.flatnonzero(row)[::-1] for row in X], 1)
        case "duplicate":
            return _by_row(X, [np.tile(np.flatnonzero(row), 2) for row in X], 2)
        case "long indices":
            long = [part.astype(np.int64) for part in (thin.indices, thin.indptr)]
            return sparse.csr_array((thin.data, *long), shape=X.shape)
        case "frozen":
            for part in (thin.data, thin.indices, thin.indptr):
                part.setflags(write=False)
    return thin


def _by_row(X: Array, places: list[Array], parts: int) -> Any:
    """Rows stored at these places in this order, every value in so many equal parts."""
    indptr = np.cumsum([0, *(len(row) for row in places)])
    values = [X[i, row] / parts for i, row in enumerate(places)]
    return sparse.csr_array((np.concatenate(values), np.concatenate(places), indptr), shape=X.shape)
