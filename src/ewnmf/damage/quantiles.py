"""Quantiles of every attribute, where some values are missing."""

from __future__ import annotations

import numpy as np

from ewnmf._types import Array

__all__ = ["column_quantiles", "sorted_quantiles"]


def column_quantiles(table: Array, share: float) -> Array:
    """The quantile of every column (m) of a table (n x m), without NaN; NaN where there is nothing else."""
    return sorted_quantiles(np.sort(table.T, axis=1), share)


def sorted_quantiles(ordered: Array, share: float) -> Array:
    """Of rows in ascending order, NaN last."""
    count = (~np.isnan(ordered)).sum(axis=1)
    at = share * np.maximum(count - 1, 0)
    below = at.astype(int)
    above = np.minimum(below + 1, np.maximum(count - 1, 0))
    rows = np.arange(len(ordered))
    low, high = ordered[rows, below], ordered[rows, above]
    quantiles: Array = low + (at - below) * (high - low)
    return quantiles
