"""Columns of any unit brought to about [0, 1], so that no outlier sets the scale, and back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewnmf._types import Array

__all__ = ["Columns"]

_REACH = 3.0
"""How far from its median a column's range may go, in robust standard deviations."""
_NORMAL = 1.4826
_CEILING = 1.5
"""What a model is shown of a value at the most: single values do not pull it, and are seen to be large."""


class Columns(NamedTuple):
    """``x -> (x - low) / span`` for every column (m), where the training data has about [0, 1]."""

    low: Array
    span: Array

    @classmethod
    def of(cls, X: Array) -> Columns:
        """By the columns' least and largest values, but no farther from the median than three standard deviations.

        These are judged by the median distance from the median, so that a third of a column may be anything. Where more
        than half of a column is one value, all of it counts; where it has but one value, or none, the span is 1.
        """
        empty = np.isnan(X).all(axis=0)
        there = np.where(empty, 0, X).astype(np.float64)
        least, largest = np.nanmin(there, axis=0), np.nanmax(there, axis=0)
        middle = np.nanmedian(there, axis=0)
        reach = _REACH * _NORMAL * np.nanmedian(np.abs(there - middle), axis=0)
        spread = reach > 0
        low = np.where(spread, np.maximum(least, middle - reach), least)
        high = np.where(spread, np.minimum(largest, middle + reach), largest)
        span = high - low
        return cls(low, np.where(span > 0, span, 1.0))

    def scaled(self, X: Array) -> Array:
        """``X`` (n x m) in these units, in double precision."""
        with np.errstate(over="ignore"):
            scaled: Array = (X - self.low) / self.span
        return scaled

    @staticmethod
    def bounded(scaled: Array) -> Array:
        """What a model is shown: nothing below 0, nothing far above 1; NaN stays."""
        return np.clip(scaled, 0, _CEILING)

    def back(self, scaled: Array) -> Array:
        """The values in the unit of the data."""
        back: Array = self.low + self.span * scaled
        return back
