"""Matrices that are read by blocks, at the doors of the estimators: what is fitted on them, and computed from them."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ewnmf.storage.blocks import Blocks, blocks_of

__all__ = ["blocks_in", "computed", "lazy"]


def lazy(X: Any, **beside: Any) -> Blocks | None:
    """``X`` as blocks where it is read by them; arrays as large as it are refused `beside` it."""
    if type(X) is np.ndarray:
        return None
    if isinstance(X, np.memmap) and any(value is not None for value in beside.values()):
        return None
    blocks = blocks_of(X)
    for name, value in beside.items():
        if blocks is not None and value is not None:
            raise ValueError(
                f"{name} was given, but {blocks.name} is read by blocks, for which there is none; give arrays."
            )
    return blocks


def blocks_in(estimator: Any, X: Any, **beside: Any) -> Blocks | None:
    """The same for a fitted estimator, with its number of attributes."""
    blocks = lazy(X, **beside)
    if blocks is None:
        return None
    check_is_fitted(estimator, "components_")
    m = estimator.n_features_in_
    if blocks.shape[1] != m:
        raise ValueError(
            f"X has {blocks.shape[1]} features, but {type(estimator).__name__} is expecting {m} features as input."
        )
    return blocks


def computed(
    estimator: Any, method: str, blocks: Blocks, n_columns: int, dtype: Any, *, features: Any = None, **options: Any
) -> Blocks:
    """What a method makes of some rows at a time, when they are asked for, by the estimator as it is now."""
    fitted = copy(estimator)
    for name in ("feature_names_in_", "_sklearn_output_config"):
        fitted.__dict__.pop(name, None)
    work = partial(_ask, fitted, method, options)
    return blocks.map(work, n_columns, dtype, f"{method} of {blocks.name}", features)


def _ask(estimator: Any, method: str, options: dict[str, Any], rows: Any) -> Any:
    return getattr(estimator, method)(rows, **options)
