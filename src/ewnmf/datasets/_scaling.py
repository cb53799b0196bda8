"""The paper's preparation of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["scale_points", "unscale_points"]


def scale_points(X: Any) -> Any:
    """``x_ij -> (x_ij - min_j x_ij) / (max_j x_ij - min_j x_ij)`` for every point i (row) of X (n x m).

    A point whose attributes are all equal becomes zeros. `X` itself is not changed.

    Parameters
    ----------
    X : array-like or scipy sparse matrix of shape (n, m)
        Finite numbers, and NaN for missing values of a dense `X`, which stay NaN and count nowhere. A sparse `X` stays
        sparse: its zeros that are not stored count as zeros, so a point that has both such zeros and negative values
        is refused (its zeros would become positive).

    Returns
    -------
    ndarray or scipy CSR matrix of shape (n, m)
        Of float32 where `X` is float32, otherwise float64; the smallest value of a point is 0 and its largest 1.
    """
    if sparse.issparse(X):
        return _scale_sparse(X)
    points = as_points(X, missing=True)
    low, span, half = _range(points)
    dtype = low.dtype
    scaled = points.astype(dtype) * half[:, None] if np.any(half != 1) else points.astype(dtype)
    scaled -= low[:, None]
    scaled /= span[:, None]
    return scaled


def unscale_points(scaled: Any, X: Any) -> Any:
    """`scaled` (n x m) in the unit of the points `X`: what `scale_points` did to them is undone.

    Parameters
    ----------
    scaled : array-like of shape (n, m)
        Numbers in the unit of ``scale_points(X)``, such as its reconstruction.
    X : array-like of shape (n, m)
        The points before they were scaled, with NaN for missing values. A point without any value says nothing of its
        unit, and its row stays as it is.

    Returns
    -------
    ndarray of shape (n, m)
        The numbers in the unit of `X`.
    """
    low, span, half = _range(as_points(X, missing=True))
    return (np.asarray(scaled) * span[:, None] + low[:, None]) / half[:, None]


def _range(points: Any) -> tuple[Any, Any, Any]:
    """`_low_and_span` of what is there of every point; 0, 1 and 1 for a point without anything."""
    dtype = points.dtype if points.dtype == np.float32 else np.dtype(np.float64)
    ends = [np.asarray(end.reduce(points, axis=1), dtype) for end in (np.fmin, np.fmax)]
    return _low_and_span(*(np.where(np.isnan(end), dtype.type(0), end) for end in ends))


def _scale_sparse(X: Any) -> Any:
    if X.dtype.kind not in "biuf" or len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X is sparse of type {X.dtype} and shape {X.shape}; give a table of real numbers.")
    scaled = X.tocsr().astype(X.dtype if X.dtype == np.float32 else np.float64, copy=True)
    scaled.sum_duplicates()
    if not np.all(np.isfinite(scaled.data)):
        raise ValueError(
            "X is sparse and contains NaN or infinite values; replace them first, or, for NaN, use "
            "scale_points(X.toarray())."
        )
    stored = np.diff(scaled.indptr)
    lowest, highest = (getattr(scaled, side)(axis=1).toarray().ravel() for side in ("min", "max"))
    mixed = np.flatnonzero((lowest < 0) & (stored < scaled.shape[1]))
    if mixed.size:
        raise ValueError(
            f"X is sparse with negative values, first in row {mixed[0]}, so its zeros would not stay zeros; "
            "use scale_points(X.toarray())."
        )
    low, span, half = _low_and_span(lowest, highest)
    scaled.data = (scaled.data * np.repeat(half, stored) - np.repeat(low, stored)) / np.repeat(span, stored)
    scaled.eliminate_zeros()
    return scaled


def _low_and_span(lowest: Any, highest: Any) -> tuple[Any, Any, Any]:
    """Per point: minimum and range, both times a factor of 1, or of 1/2 where the range itself overflows."""
    with np.errstate(over="ignore"):
        half = np.where(np.isfinite(highest - lowest), 1, 0.5).astype(lowest.dtype)
    span = highest * half - lowest * half
    span[span == 0] = 1
    return lowest * half, span, half


def as_points(X: Any, missing: bool = False) -> Any:
    """`X` as a two-dimensional array of finite numbers (or NaN, with `missing`), not copied if it is one."""
    points = np.asarray(X)
    if points.ndim != 2 or points.size == 0:
        raise ValueError(f"X has shape {points.shape}; give a table with at least one point (row) and attribute.")
    if points.dtype.kind not in "biuf":
        raise ValueError(f"X has type {points.dtype}; give real numbers.")
    if points.dtype.kind == "f" and not missing and not np.all(np.isfinite(points)):
        raise ValueError("X contains NaN or infinite values, which are not supported; replace them first.")
    if points.dtype.kind == "f" and np.any(np.isinf(points)):
        raise ValueError("X contains infinite values; replace them first, by NaN where they are missing.")
    return points
