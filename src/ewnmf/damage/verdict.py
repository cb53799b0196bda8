"""What is expected of points that may be damaged, and how far they are from it.

Damage pulls what is expected of the rest of its point. So values that repeat are hidden at first, and what looks
damaged after that, until the same entries are hidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.calibration import CERTAIN, HIDING, MOST_HIDDEN, Calibration, worst
from ewnmf.damage.repeats import explained_by_scale, often_in_points, repeats, unexplained
from ewnmf.damage.shifts import shifted

__all__ = ["Verdict", "examine"]

ROUNDS, CLOSER, SERIES = 3, 4, 2
"""How often entries are judged again, at the most: by their point, with their neighbours, and with the points before
and after."""


class Verdict(NamedTuple):
    """Of points (n x m): where they were observed, what is expected of them, and their scores, NaN where missing."""

    seen: Array
    expected: Array
    scores: Array
    calibration: Calibration

    @property
    def trust(self) -> Array:
        """In [0, 1], NaN where missing."""
        return self.calibration.trust_at(self.scores)

    def suspects(self, false_alarms: float) -> Array:
        """Where the score is above the limit; never where a value is missing."""
        with np.errstate(invalid="ignore"):
            suspects: Array = self.scores > self.calibration.threshold(false_alarms)
        return suspects


def examine(X: Array, seen: Array, calibration: Calibration, *, series: bool = True) -> Verdict:
    """The verdict on points ``X`` (n x m), of which entries were `seen`.

    In a `series` those before and after count, too. Otherwise, and where they are fewer than ten, every point is judged
    on its own.
    """
    expectation = calibration.expectation
    assert expectation is not None
    unit, center = calibration.unit, calibration.center
    with np.errstate(over="ignore"):
        x = np.where(seen, (np.where(seen, X, 0) - center) / unit, 0)
    stuck, across = _stuck(X, seen, calibration), repeats(X, seen)
    asked = seen & often_in_points(across) & (calibration.usual != X) & ~stuck
    asked &= ~np.isin(X, calibration.common) & (across.counts <= MOST_HIDDEN * X.shape[1])
    if calibration.ends is not None:
        asked &= ~explained_by_scale(X, across, calibration.ends)
    near, pairs = calibration.neighbours, calibration.pairs
    spread = calibration.spread / unit
    hidden, sure = ~seen | stuck | asked, stuck
    off = shifted(x, seen & ~hidden).off if series else np.zeros(x.shape, dtype=bool)
    off[off.sum(axis=1) > MOST_HIDDEN * seen.sum(axis=1)] = False
    hidden |= off
    limit = calibration.threshold(HIDING)
    rows, expected, residuals = np.arange(len(X)), np.empty(x.shape), np.empty(x.shape)
    for turn in range(ROUNDS + 2):
        residuals[rows], expected[rows] = expectation.given(x[rows], hidden[rows])
        with np.errstate(over="ignore"):
            scores = np.abs(residuals[rows]) / near.spread
        if turn == 0:
            closer = calibration.scores(unit * _left(residuals, hidden, calibration)[0])
            sure = stuck | unexplained(across.groups, asked, np.minimum(scores, closer), calibration.level)
        far = _hidden(scores, sure[rows], seen[rows], limit)
        far &= ~pairs.agree(x[rows], far & seen[rows] & ~sure[rows], spread)
        far |= off[rows]
        changed = (far != hidden[rows]).any(axis=1)
        if turn > ROUNDS or not changed.any():
            break
        hidden[rows] = far
        rows = rows[changed]
    turns = CLOSER * bool(near.counts.any()) + SERIES * series
    for turn in range(turns + 1):
        left, predicted = _left(residuals, hidden, calibration)
        judge = calibration.in_series if series and turn >= turns - SERIES else calibration.alone
        scores = judge(left * unit, seen & ~sure)
        if turn == turns:
            break
        far = ~seen | near.first(scores, seen & _hidden(scores, sure, seen, limit), hidden)
        far &= ~pairs.agree(x, far & seen & ~sure, spread)
        far |= off
        rows = np.flatnonzero((far != hidden).any(axis=1))
        hidden[rows] = far[rows]
        residuals[rows], expected[rows] = expectation.given(x[rows], hidden[rows])
    scores = pairs.vouched(scores, x, seen & ~sure, spread)
    expected = np.clip(center + unit * (expected + predicted), calibration.low, calibration.high)
    scores = np.where(sure, np.maximum(scores, calibration.threshold(CERTAIN)), scores)
    return Verdict(seen, expected, np.where(seen, scores, np.nan), calibration)


def _left(residuals: Array, hidden: Array, calibration: Calibration) -> tuple[Array, Array]:
    """What neighbours leave of residuals (n x m), next to its spread where none is hidden, and what they tell."""
    near = calibration.neighbours
    predicted = near.predict(residuals, hidden)
    return (residuals - predicted) / near.unsure(hidden, calibration.spread / calibration.unit), predicted


def _hidden(scores: Array, sure: Array, seen: Array, limit: float) -> Array:
    """What is not asked for what is expected of the rest: missing, sure to be damaged, or beyond the limit."""
    found = np.where(sure, np.inf, np.where(seen, scores, -np.inf))
    return worst(found, seen, limit) | ~seen


def _stuck(X: Array, seen: Array, calibration: Calibration) -> Array:
    """Where an attribute has a value that repeated in `fit` without a reason."""
    found = np.zeros(X.shape, dtype=bool)
    for j, value in zip(calibration.stuck, calibration.stuck_values, strict=True):
        found[:, j] |= X[:, j] == value
    return found & seen
