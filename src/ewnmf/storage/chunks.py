"""Dask arrays as users have them: what is refused of their chunks, and what a mask hides in them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf.storage.gaps import check_mask_shape, hidden_by

__all__ = ["check_columns", "check_rows", "is_dask", "masked_array"]


def is_dask(X: Any) -> bool:
    """Whether it is a collection of Dask's."""
    return any(kind.__module__.partition(".")[0] in ("dask", "dask_expr") for kind in type(X).__mro__)


def check_columns(X: Any) -> Any:
    """A Dask array of two dimensions; refused where its chunks do not have all columns."""
    if not hasattr(X, "to_delayed") or not hasattr(X, "chunks"):
        raise TypeError("X is a Dask collection, but neither an array nor a data frame; give X.compute().")
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension(s), and a matrix has two: one row for every point.")
    if len(X.chunks[1]) > 1:
        raise ValueError(
            f"X is cut across attributes, into {len(X.chunks[1])} chunks of columns, but points must be whole; use "
            "X.rechunk({1: -1})."
        )
    return X


def check_rows(X: Any) -> list[int]:
    """The rows of every chunk; refused unless these are known, and whole."""
    check_columns(X)
    if any(math.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError("X has chunks of unknown size; call X.compute_chunk_sizes() first.")
    lengths = [int(length) for length in X.chunks[0]]
    if 0 in lengths or not lengths:
        raise ValueError(
            f"X has no rows in block {lengths.index(0) if lengths else 0}; leave empty blocks out, as by "
            "X.rechunk({0: 'auto'})."
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X is of type {X.dtype}, and numbers are needed.")
    return lengths


def masked_array(X: Any, mask: Any = None, *, lengths: bool = False) -> Any:
    """A Dask array (data frames become one) whose chunks have all attributes, with NaN where a mask is False.

    Those of data frames know their `lengths` where these are counted.
    """
    X = check_columns(X.to_dask_array(lengths=lengths or None) if hasattr(X, "to_dask_array") else X)
    if mask is None:
        return X
    mask = mask.to_dask_array() if hasattr(mask, "to_dask_array") else mask
    if not is_dask(mask):
        import dask.array as da

        if any(math.isnan(size) for size in X.chunks[0]):
            raise ValueError("mask is an array, and X has chunks of unknown size; call X.compute_chunk_sizes() first.")
        check_mask_shape(np.shape(mask), X.shape)
        mask = da.from_array(np.asarray(mask), chunks=X.chunks)
    elif mask.chunks != X.chunks and not any(math.isnan(size) for size in (*X.shape, *mask.shape)):
        check_mask_shape(mask.shape, X.shape)
        mask = mask.rechunk(X.chunks)
    dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    return X.map_blocks(_hide, mask, dtype=dtype, meta=np.empty((0, 0), dtype))


def _hide(rows: Any, mask: Array) -> Array:
    if issparse(rows):
        raise ValueError("mask was given, but X has sparse chunks, for which there is none; give dense chunks.")
    return hidden_by(rows if rows.dtype.kind == "f" else rows.astype(np.float64), mask)
