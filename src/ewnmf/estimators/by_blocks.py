"""Matrices that are read by blocks, or lie on a cluster, at the doors of the estimators."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ewnmf.storage.blocks import blocks_of
from ewnmf.storage.cluster import distribute
from ewnmf.storage.fleet import check_columns, is_dask
from ewnmf.storage.matrix import is_remote

__all__ = ["blocks_in", "computed", "lazy", "lazy_matrix"]


def lazy(X: Any, **beside: Any) -> Any:
    """``X`` as blocks, or on a cluster, where it is not in memory; arrays as large are refused `beside` it."""
    if type(X) is np.ndarray:
        return None
    if isinstance(X, np.memmap) and any(value is not None for value in beside.values()):
        return None
    blocks = distribute(X) if is_dask(X) else blocks_of(X)
    for name, value in beside.items():
        if blocks is not None and value is not None:
            raise ValueError(
                f"{name} was given, but {blocks.name} is read by blocks, for which there is none; give arrays."
            )
    return blocks


def lazy_matrix(estimator: Any, X: Any, weighed: dict[str, Any]) -> Any:
    """``X`` for a fit, where it is not in memory; attributes are learned. Beside a file, fixed weights may stand."""
    names = ("mask", "weights") if is_dask(X) else ("mask",)
    blocks = lazy(X, **{name: weighed.get(name) for name in names})
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


def blocks_in(estimator: Any, X: Any, **beside: Any) -> Any:
    """Blocks, or a Dask array, for a fitted estimator, with its number of attributes."""
    blocks = _array_of(X) if is_dask(X) else lazy(X, **beside)
    if blocks is None:
        return None
    check_is_fitted(estimator, "components_")
    m = estimator.n_features_in_
    if blocks.shape[1] != m:
        raise ValueError(
            f"X has {blocks.shape[1]} features, but {type(estimator).__name__} is expecting {m} features as input."
        )
    return blocks


def _array_of(X: Any) -> Any:
    """A Dask array, whose chunks have all attributes; those of a data frame need not know their length."""
    X = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    return check_columns(X)


def computed(
    estimator: Any, method: str, blocks: Any, n_columns: int, dtype: Any, *, features: Any = None, **options: Any
) -> Any:
    """What a method makes of some rows at a time, when they are asked for, by the estimator as it is now."""
    fitted = copy(estimator)
    for name in ("feature_names_in_", "_sklearn_output_config"):
        fitted.__dict__.pop(name, None)
    work = partial(_ask, fitted, method, options)
    if is_dask(blocks):
        chunks = (blocks.chunks[0], (n_columns,))
        return blocks.map_blocks(work, dtype=dtype, chunks=chunks, meta=np.empty((0, 0), dtype))
    names = blocks.features if features is None else features
    return blocks.map(work, n_columns, dtype, f"{method} of {blocks.name}", names)


def _ask(estimator: Any, method: str, options: dict[str, Any], rows: Any) -> Any:
    return getattr(estimator, method)(rows, **options)
