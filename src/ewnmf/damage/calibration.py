"""How far residuals go where nothing is damaged: the spread of every attribute, and the tails they have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from ewnmf._types import Array
from ewnmf.choosing.holdout import sampled_rows
from ewnmf.fitting.points import Points
from ewnmf.storage.matrix import dense

__all__ = ["FEWEST", "Calibration", "calibrate", "residuals_of"]

FEWEST = 20
"""With fewer points than this a calibration promises nothing."""
HALF = 0.01
"""Where the trust is one half: at the limit of so many false alarms."""
_POINTS, _ENTRIES = 2000, 1 << 19
"""Points, and entries, that a calibration looks at, at the most."""
_LEAST = 64
"""Points that it looks at however many attributes they have."""
_KEY = b"ewnmf: points to calibrate by"
_NORMAL = 1.4826
"""Standard deviation of a normal distribution, in units of its median absolute deviation."""
_OWN = 0.1
"""The spread is at least this share of the root mean square: an attribute that is mostly exact is not so always."""
_INNER = 0.8
"""Tails are judged by this quantile, which a fifth of damaged entries cannot reach."""
_LONGEST = 3.0
_POOLED = 1 << 16
"""Entries that tails are judged by, at the most."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What residuals ``r = x - y`` of undamaged entries look like, in the unit of the data.

    Scores ``z = |r| / spread`` of all attributes are taken to have one distribution, whose quantiles are those of a
    normal one to the power `tail` (and as there, ``z`` is 0.6745 at the median).

    Attributes
    ----------
    spread : ndarray of shape (m,)
        The residuals' robust standard deviation; infinite where nothing is known of an attribute.
    tail : float
        1 for normal tails, more for longer ones.
    n_points : int
        How many points this comes from.
    """

    spread: Array
    tail: float
    n_points: int

    def scores(self, residuals: Array) -> Array:
        """``|r| / spread`` (n x m); NaN where the residual is."""
        with np.errstate(over="ignore"):
            scores: Array = np.abs(residuals, dtype=np.float64) / self.spread
        return scores

    def trust(self, residuals: Array) -> Array:
        """``2^-(z/c)^2`` (n x m), in [0, 1]: 1 at ``z = 0``, one half at ``c``, the limit of 1 % of false alarms."""
        return self.trust_at(self.scores(residuals))

    def trust_at(self, scores: Array) -> Array:
        """The same of scores."""
        with np.errstate(over="ignore"):
            trust: Array = np.exp2(-np.square(scores / self.threshold(HALF)))
        return trust

    def threshold(self, false_alarms: float) -> float:
        """The score that a share `false_alarms` of undamaged entries exceeds."""
        median = ndtri(0.75)
        return float(median * (-ndtri(false_alarms / 2) / median) ** self.tail)

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same."""
        if not isinstance(other, Calibration):
            return NotImplemented
        return np.array_equal(self.spread, other.spread) and (self.tail, self.n_points) == (other.tail, other.n_points)

    __hash__ = None  # type: ignore[assignment]

    def check(self, m: int) -> None:
        """Refuse one by which `m` attributes could not be judged, as a damaged file may hold it."""
        spread: Any = self.spread
        tail: Any = self.tail
        table = isinstance(spread, np.ndarray) and spread.dtype == np.float64 and spread.shape == (m,)
        if not table or not (spread > 0).all():
            raise ValueError(f"its calibration is not by {m} numbers above 0")
        if not (isinstance(tail, float) and 0 < tail < np.inf) or type(self.n_points) is not int:
            raise ValueError("its calibration has no tail, or no number of points")


def calibrate(residuals: Array, seen: Array | None = None) -> Calibration:
    """The calibration by residuals (n x m, points are rows) of the points of a fit, where they were `seen`.

    The spread is 1.4826 times the median of ``|r|``, but at least a tenth of the root mean square; of an attribute
    whose residuals are all 0 it is the median of the others.
    """
    sizes = np.ascontiguousarray(np.abs(residuals, dtype=np.float64).T)
    if seen is not None:
        sizes[~seen.T] = np.nan
    known = np.ones(len(sizes), dtype=bool) if seen is None else np.asarray(seen.any(axis=0))
    spread = np.full(len(sizes), np.inf)
    if known.any():
        there = sizes[known]
        median = np.median if seen is None else np.nanmedian
        own = np.maximum(_NORMAL * median(there, axis=1), _OWN * _root_mean_square(there))
        usual = float(np.median(own[own > 0])) if own.any() else float(np.finfo(np.float64).tiny)
        spread[known] = np.where(own > 0, own, usual)
    return Calibration(spread, _tail(sizes, spread), len(residuals))


def _root_mean_square(sizes: Array) -> Array:
    """Of every attribute (m), by sizes (m x n)."""
    largest = np.nanmax(sizes, axis=1, keepdims=True)
    unit = np.where(largest > 0, largest, 1)
    root: Array = unit[:, 0] * np.sqrt(np.nanmean((sizes / unit) ** 2, axis=1))
    return root


def _tail(sizes: Array, spread: Array) -> float:
    """The power that takes normal quantiles to those of the scores, by the median and an inner one."""
    step = -(-sizes.size // _POOLED)
    while math.gcd(step, sizes.shape[1]) > 1:  # every point, not one of them again and again
        step += 1
    at = np.arange(0, sizes.size, step)
    scores = sizes.ravel()[at] / spread[at // sizes.shape[1]]
    there = scores[np.isfinite(scores) & (scores > 0)]
    if there.size < FEWEST:
        return 1.0
    median, inner = np.quantile(there, [0.5, _INNER])
    power = np.log(inner / median) / np.log(ndtri((1 + _INNER) / 2) / ndtri(0.75))
    return float(np.clip(power, 1.0, _LONGEST))


def residuals_of(points: Points, codes: Array, components: Array, bounds: Array | None) -> tuple[Array, Array | None]:
    """Residuals (n x m) of at most 2000 points, drawn from each alone, and where they were seen.

    `codes` (n x K) are those of the fit, and `components` (K x m) and `bounds` (2 x m) in the unit of the data.
    """
    n, m = points.X.shape
    most = max(_LEAST * m, min(_POINTS * m, _ENTRIES))
    rows: Any = slice(None) if n * m <= most else sampled_rows(points, most, _KEY)
    y = codes[rows].astype(np.float64) @ components
    if bounds is not None:
        np.clip(y, *bounds, out=y)
    x = dense(points.X[rows]) / points.unit
    return x - y, None if points.P is None else points.P[rows] > 0
