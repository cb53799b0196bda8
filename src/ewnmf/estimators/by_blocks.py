"""Matrices that are read by blocks, or lie on a cluster, at the doors of the estimators."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ewnmf._types import Array
from ewnmf.storage.blocks import blocks_of
from ewnmf.storage.chunks import is_dask, masked_array
from ewnmf.storage.gaps import masked_blocks
from ewnmf.storage.matrix import is_remote
from ewnmf.storage.remote import distribute

__all__ = ["blocks_in", "computed", "each_row", "lazy", "lazy_matrix"]


def lazy(X: Any, mask: Any = None, **beside: Any) -> Any:
    """``X`` as blocks, or on a cluster, where it is not in memory; arrays as large are refused `beside` it.

    What a `mask` hides is NaN there.
    """
    if type(X) is np.ndarray:
        return None
    if isinstance(X, np.memmap) and any(value is not None for value in beside.values()):
        return None
    if is_dask(X):
        blocks: Any = distribute(masked_array(X, mask, lengths=True))
    else:
        blocks = blocks_of(X)
        blocks = blocks if blocks is None or mask is None else masked_blocks(blocks, mask)
    for name, value in beside.items():
        if blocks is not None and value is not None:
            raise ValueError(
                f"{name} was given, but {blocks.name} is read by blocks, for which there is none; give arrays."
            )
    return blocks


def lazy_matrix(estimator: Any, X: Any, weighed: dict[str, Any]) -> Any:
    """``X`` for a fit, where it is not in memory; attributes are learned. Beside a file, fixed weights may stand."""
    weights = {"weights": weighed.get("weights")} if is_dask(X) else {}
    blocks = lazy(X, weighed.get("mask"), **weights)
    if blocks is None:
        return None
    if isinstance(estimator.n_components, str) and estimator.n_components == "cv":
        raise ValueError(
            f"n_components='cv' hides entries of all points, and {blocks.name} is read by blocks; choose by some of "
            "them: ewnmf.select_rank(X[:10000])."
        )
    if is_remote(blocks) and estimator.init == "custom":
        raise ValueError("init='custom' needs codes for all points, which stay on the cluster; use init='random'.")
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = blocks.shape[1]
    return blocks


def blocks_in(estimator: Any, X: Any, mask: Any = None, **beside: Any) -> Any:
    """Blocks, or a Dask array, for a fitted estimator, with its number of attributes; NaN where a `mask` is False."""
    blocks = masked_array(X, mask) if is_dask(X) else lazy(X, mask, **beside)
    if blocks is None:
        return None
    check_is_fitted(estimator, ["components_", "model_"], all_or_any=any)
    m = estimator.n_features_in_
    if blocks.shape[1] != m:
        raise ValueError(
            f"X has {blocks.shape[1]} features, but {type(estimator).__name__} is expecting {m} features as input."
        )
    return blocks


def computed(
    estimator: Any, method: str, blocks: Any, n_columns: int, dtype: Any, *, features: Any = None, **options: Any
) -> Any:
    """What a method makes of some rows at a time, when they are asked for, by the estimator as it is now."""
    fitted = copy(estimator)
    for name in ("feature_names_in_", "_sklearn_output_config"):
        fitted.__dict__.pop(name, None)
    work, dtype = partial(_ask, fitted, method, options), _float(dtype)
    if is_dask(blocks):
        chunks = (blocks.chunks[0], (n_columns,))
        return blocks.map_blocks(work, dtype=dtype, chunks=chunks, meta=np.empty((0, 0), dtype))
    names = blocks.features if features is None else features
    return blocks.map(work, n_columns, dtype, f"{method} of {blocks.name}", names)


def _float(dtype: Any) -> np.dtype[Any]:
    return np.dtype(dtype if np.dtype(dtype).kind == "f" else np.float64)


def each_row(X: Any, function: Callable[[Array], Array]) -> Any:
    """What a function makes of rows, as many columns: now of an array, else when they are asked for."""
    if is_dask(X):
        array = masked_array(X)
        return array.map_blocks(function, dtype=_float(array.dtype), meta=np.empty((0, 0), _float(array.dtype)))
    blocks = blocks_of(X)
    if blocks is None:
        return function(X)
    return blocks.map(function, blocks.shape[1], blocks.dtype, blocks.name, blocks.features)


def _ask(estimator: Any, method: str, options: dict[str, Any], rows: Any) -> Any:
    return getattr(estimator, method)(rows, **options)
