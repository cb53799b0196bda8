"""Learning what is expected of entries from data that is damaged itself.

What repeats without a reason is left out first, then of every attribute what is farthest from its expectation, and in
the end what is beyond its limit. In between the expectation learns anew from the rest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.calibration import FEWEST, HIDING, MOST_HIDDEN, Calibration, calibrate, worst
from ewnmf.damage.expectation import Expectation
from ewnmf.damage.neighbours import Neighbours
from ewnmf.damage.pairs import Pairs
from ewnmf.damage.quantiles import column_quantiles
from ewnmf.damage.regression import relearned
from ewnmf.damage.repeats import (
    Repeats,
    common_values,
    ends_of_scale,
    explained_by_scale,
    in_runs,
    level_of_groups,
    often,
    often_in_points,
    repeats,
    standing_out,
    stuck_values,
    unexplained,
    usual_values,
)
from ewnmf.damage.runs import worth_of
from ewnmf.damage.shifts import shifted
from ewnmf.fitting.points import Sample

__all__ = ["learn"]

_KEPT = 0.7
"""Of every attribute this share is learned from at first."""
_TRIMMED, _ROUNDS, _STEPS, _TURNS = 6, 5, 3, 4
_DECIDED, _CLOSER = 2, _TRIMMED + 2
"""The round that decides which values repeat without a reason; and the one that asks again, and neighbours, too."""
_LEVEL = 1.5
"""A group of equal values is damaged where it is farther off than so many times a usual point."""
_MORE, _BEYOND, _REACH = 2, 1.1, 3.0
"""Factors beyond the components: so many for each, above so many times what chance gives, by scores up to this."""
_MANY, _MOST = 0.2, 0.5
"""Shares of an attribute's values that are one and the same."""
_ALL = 0.98
"""A standard deviation is by values up to this quantile: single ones are no measure."""
_NORMAL = 1.4826
_CONSTANT = 1e-12
"""Up to this variance, in units of the spread, an attribute is constant where it is known."""
_FARTHEST = 50.0
"""Values count up to so many robust standard deviations from their median."""


def learn(sample: Sample) -> Calibration:
    """The calibration by points of a fit, which may be damaged."""
    X, seen = sample.X, sample.seen
    n, K = sample.codes.shape
    center, unit = _units(X, seen)
    x = np.where(seen, (X - center) / unit, 0)
    np.clip(x, -_FARTHEST, _FARTHEST, out=x)
    along, across = repeats(X.T, seen.T), repeats(X, seen)
    usual = usual_values(X, along)
    common = common_values(X, across, often(across.counts, X.shape[1]))
    in_points = often_in_points(across)
    ends = ends_of_scale(X, along)
    in_points &= (usual != X) & ~np.isin(X, common) & ~explained_by_scale(X, across, ends)
    in_points &= across.counts <= MOST_HIDDEN * X.shape[1]
    in_columns = standing_out(along)
    is_common = np.isin(X.T, common)
    in_columns &= ~is_common | in_runs(X, along, in_columns & is_common, seen)
    asked = in_points | in_columns.T
    floor = _floor(X, center, seen & ~asked, along)
    off, most_change = shifted(x, seen & ~asked)
    sure, hidden = asked | off, asked | off | ~seen
    pairs = Pairs.of(x, seen & ~asked)
    now = _first(sample, center, unit, x, hidden)
    filled = np.where(hidden, 0, x - now.mean)
    stuck = (np.arange(0), np.empty(0))
    near = Neighbours.none(np.ones(x.shape[1]))
    rounds = _TRIMMED + _ROUNDS if n >= FEWEST else 0
    for turn in range(rounds + 1):
        if rounds:
            now, filled = now.refined(x, hidden, filled, _STEPS)
            if turn >= _TRIMMED and not most_change:
                now = relearned(now, x, seen & ~sure & (_alike(seen & ~sure, along) <= _MANY), filled)
        filled = now.filled(x, hidden, filled, _TURNS)
        factors = len(now.loadings)
        widened = np.sqrt((n + factors) / max(n - factors, n / 4))
        residuals, expected = now.residuals(x, hidden, filled)
        known = seen & ~sure
        left = widened * residuals
        limits = _widened(calibrate(left, known), floor, unit)
        size = scores = limits.scores(left)
        if turn == min(_DECIDED, rounds):
            stuck = stuck_values(X, along, in_columns, x - residuals, seen)
            level = _level(scores, seen & ~asked, across, in_points)
            group = unexplained(across.groups, in_points, scores, level)
            sure = seen & (group | off | _are_stuck(X, *stuck))
            floor = _floor(X, center, seen & ~sure, along)
        if turn >= _CLOSER:
            near = Neighbours.of(left, known & ~hidden, limits.spread)
            left = left - near.predict(left, hidden)
            limits = _widened(calibrate(left, known), floor, unit)
            closer = x - left / widened
            left = left / near.unsure(hidden, limits.spread)
            size = np.minimum(scores, limits.scores(left))
            if turn == _CLOSER:
                stuck = stuck_values(X, along, in_columns, closer, seen)
                level = _level(size, seen & ~asked, across, in_points)
                group = unexplained(across.groups, in_points, size, level)
                sure = seen & (group | off | _are_stuck(X, *stuck))
                known = seen & ~sure
                floor = _floor(X, center, known, along)
        if turn == rounds:
            limits = replace(limits, worth=worth_of(x, left, limits.spread, known))
            judged = known | off
            suspect = judged & (limits.in_series(left, judged) > limits.threshold(HIDING))
            limits = replace(limits, share=float(suspect.sum() / max(1, judged.sum())))
            break
        now = _with_noise(now, x, expected, known)
        if turn == _TRIMMED + 1:
            now = _extended(now, residuals, hidden, K, float(np.median(limits.worth)))
        if turn < _TRIMMED:
            size = np.where(known, np.abs(residuals), np.nan)
            far = known & (size > column_quantiles(size, _KEPT))
            far &= ~pairs.agree(x, far, limits.spread)
        else:
            limits = replace(limits, worth=worth_of(x, left, limits.spread, known))
            scores = limits.in_series(left, known)
            far = near.first(scores, known & (scores > limits.threshold(HIDING)), hidden)
            far &= ~pairs.twins().agree(x, far, limits.spread)
        hidden = ~seen | worst(np.where(sure, np.inf, np.where(far, scores, -np.inf)), seen, 0)
    level = _level(size, known & ~asked, across, in_points)
    limits = replace(limits, level=level, usual=usual, common=common, ends=ends)
    limits = replace(limits, other=pairs.other, pair=np.stack(pairs.twins()[1:]))
    return _concluded(X, sample, now, near, limits, center, unit, stuck, seen & ~sure)


def _units(X: Array, seen: Array) -> tuple[Array, Array]:
    """Median and robust standard deviation of every attribute (m); the mean deviation where most are one value."""
    there = np.where(seen, X, np.nan)
    empty = ~seen.any(axis=0)
    center = np.where(empty, 0, column_quantiles(there, 0.5))
    away = np.abs(there - center)
    largest = np.nanmax(np.where(seen, away, 0), axis=0, initial=0)
    largest = np.where(largest > 0, largest, 1)
    away = away / largest
    median = np.where(empty, 0, _NORMAL * column_quantiles(away, 0.5))
    mean = np.where(seen, away, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    unit = np.where(median > 0, median, mean) * largest
    tiny = np.finfo(np.float64).tiny
    return center, np.where(unit > tiny, unit, 1.0)


def _floor(X: Array, center: Array, known: Array, along: Repeats) -> Array:
    """What the spread of an attribute is at the least, in the unit of the data (m); NaN where it has but one value.

    Where many points have the same value, the residuals of the others are no measure: it is half the standard deviation
    then, and all of it where most have.
    """
    count = np.maximum(known.sum(axis=0), 1)
    share = _alike(known, along)
    away = np.where(known, np.abs(X - center), 0)
    largest = away.max(axis=0, initial=0)
    outer = column_quantiles(np.where(known, away, np.nan), _ALL)
    largest = np.where(outer > 0, outer, largest)
    relative = np.minimum(away / np.where(largest > 0, largest, 1), 1)
    deviation = np.sqrt((relative**2).sum(axis=0) / count) * largest
    floor = np.where(share > _MANY, 0.5 * deviation, 0)
    return np.where((largest > 0) | (share == 0), np.where(share > _MOST, deviation, floor), np.nan)


def _alike(known: Array, along: Repeats) -> Array:
    """The share of what is known of an attribute that is one and the same value (m)."""
    alike = np.bincount(along.groups.ravel(), known.T.ravel())[along.groups]
    share: Array = np.where(known.T, alike, 0).max(axis=1, initial=0) / np.maximum(known.sum(axis=0), 1)
    return share


def _widened(limits: Calibration, floor: Array, unit: Array) -> Calibration:
    """The same with a spread of at least `floor`; the median of the others where that is NaN."""
    spread = np.maximum(limits.spread * unit, floor)
    known = np.isfinite(spread)
    usual = float(np.median(spread[known])) if known.any() else 1.0
    return replace(limits, spread=np.where(np.isnan(spread), usual, spread) / unit)


def _first(sample: Sample, center: Array, unit: Array, x: Array, hidden: Array) -> Expectation:
    """What codes and components say, in standard units."""
    start = Expectation.of(sample.codes, sample.components / unit, np.ones(x.shape[1]))
    mean = np.clip(start.mean + (sample.offset - center) / unit, -_FARTHEST, _FARTHEST)
    start = start._replace(mean=mean, loadings=np.clip(start.loadings, -_FARTHEST, _FARTHEST))
    expected = (sample.codes @ sample.components + (sample.offset - center)) / unit
    return _with_noise(start, x, expected, ~hidden)


def _with_noise(now: Expectation, x: Array, expected: Array, known: Array) -> Expectation:
    """The same with noise by residuals from what is expected."""
    there = np.where(known, x, np.nan)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, x, 0).sum(axis=0) / count
    variance = np.where(known, (x - mean) ** 2, 0).sum(axis=0) / count
    spread = np.nan_to_num(_NORMAL * column_quantiles(np.abs(there - expected), 0.5), nan=1.0)
    return now.quieter(spread, np.where(variance > _CONSTANT, variance, 1.0))


def _extended(now: Expectation, residuals: Array, hidden: Array, K: int, worth: float) -> Expectation:
    """With factors of what residuals (n x m) have in common beyond chance, at most twice as many as components.

    Of independent residuals no factor has a variance above ``(1 + sqrt(m / n))^2`` (Marchenko and Pastur).
    """
    n, m = residuals.shape
    most = min(_MORE * K, min(n, m) // 4 - K)
    if most < 1:
        return now
    spread = _NORMAL * column_quantiles(np.where(hidden, np.nan, np.abs(residuals)), 0.5)
    spread = np.where(spread > 0, spread, 1.0)
    r = np.where(hidden, 0, np.clip(residuals / spread, -_REACH, _REACH))
    _, sizes, directions = np.linalg.svd(r - r.mean(axis=0), full_matrices=False)
    variance = sizes**2 / n
    bound = _BEYOND * (1 + np.sqrt(m / (worth * n))) ** 2 * float(np.mean(r**2))
    count = min(most, int((variance > bound).sum()))
    more = np.sqrt(np.maximum(variance[:count, None] - 1, 0)) * directions[:count] * spread
    return now._replace(loadings=np.concatenate([now.loadings, more]))


def _level(scores: Array, counted: Array, across: Repeats, in_points: Array) -> float:
    """The mean squared score of a point, for the median one but at least that of normal scores, and half as much.

    It is for groups of equal values in points.
    """
    size = np.where(counted, np.minimum(scores, 10) ** 2, 0).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
    level = _LEVEL * max(1.0, float(np.median(size))) if len(size) else np.inf
    return level_of_groups(across.groups, in_points, scores, level)


def _are_stuck(X: Array, attributes: Array, values: Array) -> Array:
    found = np.zeros(X.shape, dtype=bool)
    for j, value in zip(attributes, values, strict=True):
        found[:, j] |= X[:, j] == value
    return found


def _concluded(
    X: Array,
    sample: Sample,
    now: Expectation,
    near: Neighbours,
    limits: Calibration,
    center: Array,
    unit: Array,
    stuck: tuple[Array, Array],
    trusted: Array,
) -> Calibration:
    """The calibration in the unit of the data."""
    trusted = np.where(trusted.any(axis=0), trusted, sample.seen)
    none = ~trusted.any(axis=0)
    low = np.where(none, 0, np.where(trusted, X, np.inf).min(axis=0, initial=np.inf))
    high = np.where(none, 0, np.where(trusted, X, -np.inf).max(axis=0, initial=-np.inf))
    return replace(
        limits,
        spread=limits.spread * unit,
        center=center,
        unit=unit,
        mean=now.mean,
        loadings=now.loadings,
        noise=now.noise,
        low=low,
        high=high,
        common=limits.common.astype(np.float64),
        stuck=np.asarray(stuck[0], dtype=np.int64),
        stuck_values=np.asarray(stuck[1], dtype=np.float64),
        near=near.near,
        counts=near.counts,
        plain=near.spread * unit if near.counts.size else limits.spread * unit,
    )
