"""How far residuals go where nothing is damaged: the spread of every attribute, and the tails they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from ewnmf._types import Array
from ewnmf.damage.expectation import Expectation
from ewnmf.damage.neighbours import Neighbours
from ewnmf.damage.pairs import Pairs
from ewnmf.damage.quantiles import sorted_quantiles
from ewnmf.damage.runs import FEWEST_ROWS, odds_of_runs

__all__ = ["CERTAIN", "FEWEST", "HIDING", "MOST_HIDDEN", "Calibration", "calibrate", "worst"]

FEWEST = 20
"""With fewer points than this a calibration promises nothing."""
HALF = 0.01
"""Where the trust is one half: at the limit of so many false alarms."""
CERTAIN = 1e-9
"""A group of entries that is damaged for sure has the score of so few false alarms, at the least."""
HIDING = 0.01
"""Entries beyond the limit of so many false alarms are hidden, whatever a user asks for."""
MOST_HIDDEN = 0.5
"""Of what was observed of a point, no more is hidden: the rest would tell too little of it."""
_MEDIAN = float(ndtri(0.75))
"""The median of normal scores."""
_OWN = 0.1
"""The spread is at least this share of the root mean square: an attribute that is mostly exact is not so always."""
_INNER, _PEAKED = 0.2, 1.4
"""Where the median is so much farther out than this quantile, next to that of normal residuals, most are exact."""
_OUTER, _GROWTH, _LONGEST = 0.9, 4.0, 1.8
"""Tails are judged by this quantile; farther out they are longer, and so many times as much."""
_ATTRIBUTE = 0.6
"""Of all attributes the one at this quantile says how long tails are: a quarter of them may be damaged."""
_OUTWARDS = 4.0
"""Beyond the limit of 1 % tails are longer by so many times what they are longer within."""
_TINY = 1e-9
_FARTHEST = 1e6
_CONTEXT = (-5.0, 60.0)
"""What points before and after may say, as the logarithm of odds."""
_CAUTIOUS = 1e-6
"""The share of undamaged entries that are replaced where nothing seems damaged."""
_DOUBT = 1.0
"""What it takes to believe in a fault, in the same unit."""
_ALONE = 2.0
"""Entries that are farther off than a few times this need no company."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What residuals ``r`` of undamaged entries look like, and what is expected of an entry by the others of its point.

    Scores ``z = |r| / spread`` of all attributes are taken to have one distribution, whose quantiles are those of a
    normal one to the power `tail` (and as there, ``z`` is 0.6745 at the median).

    Attributes
    ----------
    spread : ndarray of shape (m,)
        The residuals' robust standard deviation, in the unit of the data; infinite where nothing is known of an
        attribute.
    tail : float
        1 for normal tails, more for longer ones.
    n_points : int
        How many points this comes from.
    center, unit : ndarray of shape (m,)
        What `mean`, `loadings` and `noise` refer to: ``(x - center) / unit``.
    mean, loadings, noise : ndarray of shape (m,), (K, m) and (m,)
        The model as a distribution, ``x = mean + f loadings + e``: factors of unit variance, noise of these variances.
    low, high : ndarray of shape (m,)
        The least and the largest value that was trusted; expectations stay between them.
    usual : ndarray of shape (m,)
        The value that most points have, NaN where there is none.
    common : ndarray of shape (l,)
        Values that repeat within most points.
    ends : ndarray of shape (2, m)
        The ends of the scale that most attributes have in common, where one point alone had them; else NaN.
    near, counts : ndarray of shape (m, q)
        Attributes whose residuals tell something of those of another, in units of `unit`, and how much they count.
    plain : ndarray of shape (m,)
        As `spread`, of residuals that know of no neighbours.
    other, pair : ndarray of shape (m,) and (4, m)
        The attribute that measures the same as another, itself where none does, and offset, slope (0 where it does not
        quite), spread and correlation of the one by the other, in units of `unit`.
    stuck, stuck_values : ndarray of shape (k,)
        Attributes, and values of theirs that repeat where nothing says that they should.
    worth : ndarray of shape (m,)
        What a residual says beside those of the points before and after: less than 1 where they are alike.
    share : float
        The share of suspects among the points of `fit`, at the limit of 1 % of false alarms; of entries that do not
        repeat.
    level : float
        Entries of a point with the same value are damaged if their mean squared score, over all attributes, is above.
    """

    spread: Array
    tail: float
    n_points: int
    center: Any = None
    unit: Any = None
    mean: Any = None
    loadings: Any = None
    noise: Any = None
    low: Any = None
    high: Any = None
    usual: Any = None
    common: Any = None
    stuck: Any = None
    stuck_values: Any = None
    ends: Any = None
    near: Any = None
    counts: Any = None
    plain: Any = None
    other: Any = None
    pair: Any = None
    level: float = float("inf")
    worth: Any = 1.0
    share: float = 0.0

    @property
    def replaced(self) -> float:
        """The share of false alarms at which entries had better be replaced.

        One in a million where there are no more suspects at the limit of 1 % than nothing but false alarms would be,
        the limit of 1 % itself where there are twice as many, and between in between.
        """
        beyond = float(np.clip(self.share / HIDING - 1, 0, 1))
        return float(_CAUTIOUS * (HIDING / _CAUTIOUS) ** beyond)

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

    def alone(self, residuals: Array, seen: Array) -> Array:
        """Scores (n x m) of residuals where they were `seen`, else 0."""
        return np.where(seen, self.scores(residuals), 0)

    def normal(self, scores: Array) -> Array:
        """The scores (n x m) that a normal distribution has where these are."""
        return np.minimum(_MEDIAN * (scores / _MEDIAN) ** (1 / self.tail), _FARTHEST)

    def in_series(self, residuals: Array, seen: Array) -> Array:
        """Scores (n x m) of residuals of points in order: with what the points before and after say of an attribute."""
        scores = self.alone(residuals, seen)
        if len(scores) < FEWEST_ROWS:
            return scores
        normal = self.normal(scores)
        odds = odds_of_runs(np.copysign(normal, residuals), seen, self.worth) - _DOUBT
        odds = np.clip(odds, *_CONTEXT)
        odds = np.where(odds < 0, odds * np.exp(-((normal / _ALONE) ** 2) / 2), odds)
        together = np.sqrt(np.logaddexp(0, normal**2 + 2 * odds))
        series: Array = np.where(np.isfinite(self.spread), _MEDIAN * (together / _MEDIAN) ** self.tail, 0)
        return series

    def threshold(self, false_alarms: float) -> float:
        """The score that a share `false_alarms` of undamaged entries exceeds.

        Tails that are longer than normal ones are so all the more where few entries are.
        """
        normal, inner = -ndtri(false_alarms / 2), -ndtri(max(false_alarms, HALF) / 2)
        farther = 1 + _OUTWARDS * (self.tail - 1)
        return float(_MEDIAN * (inner / _MEDIAN) ** self.tail * (normal / inner) ** farther)

    @property
    def expectation(self) -> Expectation | None:
        """What is expected, in the unit of `unit`; None in models of before."""
        if self.mean is None or self.loadings is None or self.noise is None:
            return None
        return Expectation(self.mean, self.loadings, self.noise)

    @property
    def neighbours(self) -> Neighbours:
        """What residuals have in common, in the unit of `unit`."""
        if self.near is None:
            return Neighbours.none(self.spread / self.unit)
        return Neighbours(self.near, self.counts, self.plain / self.unit)

    @property
    def pairs(self) -> Pairs:
        """Attributes that measure the same, in the unit of `unit`."""
        return Pairs.none(len(self.spread)) if self.other is None else Pairs(self.other, *self.pair)

    def _parts(self) -> list[Any]:
        return [getattr(self, name) for name in self.__dataclass_fields__]

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same."""
        if not isinstance(other, Calibration):
            return NotImplemented
        return all(
            a is b or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))
            for a, b in zip(self._parts(), other._parts(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def check(self, m: int) -> None:
        """Refuse one by which `m` attributes could not be judged, as a damaged file may hold it."""
        tail: Any = self.tail
        tables = [self.spread, self.center, self.unit, self.mean, self.noise, self.low, self.high]
        if not all(part is None or _is_table(part, (m,)) for part in tables) or not (self.spread > 0).all():
            raise ValueError(f"its calibration is not by {m} numbers above 0")
        if not (isinstance(tail, float) and 0 < tail < np.inf) or type(self.n_points) is not int:
            raise ValueError("its calibration has no tail, or no number of points")
        if self.expectation is not None:
            self._check_expectation(m)

    def _check_expectation(self, m: int) -> None:
        loadings, stuck, values = self.loadings, self.stuck, self.stuck_values
        whole = isinstance(loadings, np.ndarray) and _is_table(loadings, (len(loadings), m))
        known = whole and all(part is not None for part in (self.center, self.unit, self.low, self.high))
        above = known and all((part > 0).all() for part in (self.unit, self.noise) if part is not None)
        if not above or not np.isfinite(loadings).all() or not _is_table(self.usual, (m,)):
            raise ValueError(f"its calibration has no expectation of {m} attributes")
        listed = isinstance(stuck, np.ndarray) and stuck.dtype.kind == "i" and stuck.ndim == 1
        if not _is_table(self.common, np.shape(self.common)):
            raise ValueError("its calibration has no common values")
        worth = self.worth
        if isinstance(worth, np.ndarray) and not (_is_table(worth, (m,)) and (worth > 0).all()):
            raise ValueError(f"its calibration has no worth of {m} attributes")
        if self.near is not None and not self._near_is_whole(m):
            raise ValueError(f"its calibration has no neighbours of {m} attributes")
        if self.other is not None and not (_are_numbers(self.other, (m,), m) and _is_table(self.pair, (4, m))):
            raise ValueError(f"its calibration has no pairs of {m} attributes")
        if not listed or not _is_table(values, stuck.shape) or not ((stuck >= 0) & (stuck < m)).all():
            raise ValueError("its calibration has stuck values of attributes that are not there")

    def _near_is_whole(self, m: int) -> bool:
        near, counts, plain = self.near, self.counts, self.plain
        if not (np.ndim(near) == 2 and _are_numbers(near, (m, np.shape(near)[1]), m)):
            return False
        tables = _is_table(counts, near.shape) and _is_table(plain, (m,)) and _is_table(self.ends, (2, m))
        return tables and bool(np.isfinite(counts).all() and (plain > 0).all())


def _is_table(part: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == np.float64 and part.shape == shape


def _are_numbers(part: Any, shape: tuple[int, ...], m: int) -> bool:
    """Whether these are numbers of attributes, of which there are m."""
    there = isinstance(part, np.ndarray) and part.dtype.kind == "i" and part.shape == shape
    return there and bool(((part >= 0) & (part < m)).all())


def calibrate(residuals: Array, seen: Array | None = None) -> Calibration:
    """The calibration by residuals (n x m, points are rows) of the points of a fit, where they were `seen`.

    The spread is 1.4826 times the median of ``|r|``, but at least a tenth of the root mean square, and all of it where
    most residuals are next to nothing; of an attribute whose residuals are all 0 it is the median of the others. It
    knows of no expectation.
    """
    sizes = np.ascontiguousarray(np.abs(residuals, dtype=np.float64).T)
    if seen is not None:
        sizes[~seen.T] = np.nan
    sizes.sort(axis=1)
    known = ~np.isnan(sizes[:, 0]) if sizes.shape[1] else np.zeros(len(sizes), dtype=bool)
    spread = np.full(len(sizes), np.inf)
    if known.any():
        there = sizes[known]
        inner, median = sorted_quantiles(there, _INNER), sorted_quantiles(there, 0.5)
        mean = _root_mean_square(there)
        peaked = _power(inner, median, _INNER, 0.5) > _PEAKED
        own = np.maximum(median / _MEDIAN, np.where(peaked, mean, _OWN * mean))
        usual = float(np.median(own[own > 0])) if own.any() else float(np.finfo(np.float64).tiny)
        spread[known] = np.where(own > 0, own, usual)
    return Calibration(spread, _tail(sizes, spread), len(residuals))


def _root_mean_square(sizes: Array) -> Array:
    """Of every attribute (m), by sizes (m x n)."""
    largest = np.nanmax(sizes, axis=1, keepdims=True)
    unit = np.where(largest > 0, largest, 1)
    root: Array = unit[:, 0] * np.sqrt(np.nanmean((sizes / unit) ** 2, axis=1))
    return root


def _power(one: Array, other: Array, inner: float, outer: float) -> Array:
    """The power that takes the ratio of two normal quantiles to that of these (m each)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.log(other / np.maximum(one, _TINY * other))
    power: Array = ratio / np.log(ndtri((1 + outer) / 2) / ndtri((1 + inner) / 2))
    return power


def _tail(sizes: Array, spread: Array) -> float:
    """The power that takes normal quantiles to those of the scores, by what some attribute in the middle says.

    A quarter of the attributes may be damaged, and a tenth of the entries of all others. Tails grow outwards: what is
    seen of them within counts several times.
    """
    there = sizes[np.isfinite(spread)]
    if there.size < FEWEST:
        return 1.0
    median = np.maximum(sorted_quantiles(there, 0.5), _MEDIAN * spread[np.isfinite(spread)])
    power = _power(median, sorted_quantiles(there, _OUTER), 0.5, _OUTER)
    power = power[np.isfinite(power)]
    if power.size == 0:
        return 1.0
    return float(np.clip(1 + _GROWTH * (np.quantile(power, _ATTRIBUTE) - 1), 1.0, _LONGEST))


def worst(scores: Array, seen: Array, limit: float) -> Array:
    """Where scores are above the limit, and among the worst of what was observed of their point."""
    bad: Array = np.where(seen, scores, -np.inf) > limit
    most = np.floor(MOST_HIDDEN * seen.sum(axis=1)).astype(int)
    for i in np.flatnonzero(bad.sum(axis=1) > most):
        order = np.argsort(-np.where(bad[i], scores[i], -np.inf), kind="stable")
        bad[i, order[most[i] :]] = False
    return bad
