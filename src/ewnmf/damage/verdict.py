"""What is expected of points that may be damaged, and how far they are from it.

Damage pulls what is expected of the rest of its point. So values that repeat are hidden at first, and what looks
damaged after that, until the same entries are hidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.calibration import CERTAIN, HIDING, Calibration, worst
from ewnmf.damage.repeats import often, repeats, unexplained

__all__ = ["Verdict", "examine"]

ROUNDS = 3
"""How often entries are judged again, at the most."""


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


def examine(X: Array, seen: Array, calibration: Calibration) -> Verdict:
    """The verdict on points ``X`` (n x m), every one on its own, of which entries were `seen`."""
    expectation = calibration.expectation
    assert expectation is not None
    unit, center = calibration.unit, calibration.center
    with np.errstate(over="ignore"):
        x = np.where(seen, (np.where(seen, X, 0) - center) / unit, 0)
    stuck, across = _stuck(X, seen, calibration), repeats(X, seen)
    asked = seen & often(across.counts, X.shape[1]) & (calibration.usual != X) & ~stuck
    asked &= ~np.isin(X, calibration.common)
    hidden, sure = ~seen | stuck | asked, stuck
    limit = calibration.threshold(HIDING)
    rows, expected, scores = np.arange(len(X)), np.empty(x.shape), np.empty(x.shape)
    for turn in range(ROUNDS + 2):
        residuals, expected[rows] = expectation.given(x[rows], hidden[rows])
        with np.errstate(over="ignore"):
            scores[rows] = calibration.scores(residuals * unit)
        if turn == 0:
            sure = stuck | unexplained(across.groups, asked, scores, calibration.level)
        found = np.where(sure[rows], np.inf, np.where(seen[rows], scores[rows], -np.inf))
        far = worst(found, seen[rows], limit) | ~seen[rows]
        changed = (far != hidden[rows]).any(axis=1)
        if turn > ROUNDS or not changed.any():
            break
        hidden[rows] = far
        rows = rows[changed]
    expected = np.clip(center + unit * expected, calibration.low, calibration.high)
    scores = np.where(sure, np.maximum(scores, calibration.threshold(CERTAIN)), scores)
    return Verdict(seen, expected, np.where(seen, scores, np.nan), calibration)


def _stuck(X: Array, seen: Array, calibration: Calibration) -> Array:
    """Where an attribute has a value that repeated in `fit` without a reason."""
    found = np.zeros(X.shape, dtype=bool)
    for j, value in zip(calibration.stuck, calibration.stuck_values, strict=True):
        found[:, j] |= X[:, j] == value
    return found & seen
