"""What is expected of points that may be damaged, and how far they are from it.

Damage pulls the codes of its point. So what looks damaged is hidden, codes are looked for again, and what looks damaged
then is hidden instead, until that is the same. What is not hidden counts alike: a weighting would distrust it twice.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.calibration import Calibration

__all__ = ["Reconstruct", "Verdict", "examine"]

HIDING = 0.01
"""Entries beyond the limit of so many false alarms are hidden, whatever a user asks for."""
ROUNDS = 3
"""How often codes are looked for again, at the most."""
MOST_HIDDEN = 0.5
"""Of what was observed of a point, no more is hidden: the rest would tell too little of it."""


class Reconstruct(Protocol):
    """What a model expects of points."""

    def __call__(self, rows: Array, hidden: Array, before: Array, *, plain: bool) -> Array:
        """What is expected (k x m) of the points `rows` (k) whose entries `hidden` (k x m) tell nothing.

        `before` is what was expected, for models that cannot hide: they take these values instead. With `plain` all
        other entries count alike, whatever the weighting.
        """


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


def examine(
    X: Array, seen: Array, reconstruct: Reconstruct, calibration: Calibration, *, weighted: bool = False
) -> Verdict:
    """The verdict on points ``X`` (n x m), of which entries were `seen`.

    Where a model's own weights differ (`weighted`), a point is looked at from two sides: from its codes under them, and
    from those where all entries count alike. Either may be pulled elsewhere, so what leaves less unexplained is taken.
    """
    expected = _expected(X, seen, reconstruct, calibration, plain=not weighted)
    if weighted:
        other = _expected(X, seen, reconstruct, calibration, plain=True)
        costs = [_unexplained(_scores(X, y, seen, calibration), calibration) for y in (expected, other)]
        expected = np.where((costs[1] < costs[0])[:, None], other, expected)
    return Verdict(seen, expected, _scores(X, expected, seen, calibration), calibration)


def _expected(X: Array, seen: Array, reconstruct: Reconstruct, calibration: Calibration, *, plain: bool) -> Array:
    """What is expected where codes start from all that was seen, and suspects are then hidden."""
    limit, hidden = calibration.threshold(HIDING), ~seen
    expected = reconstruct(np.arange(len(X)), hidden, X, plain=plain)
    for _ in range(ROUNDS):
        worst = _worst(_scores(X, expected, seen, calibration), seen, limit)
        rows = np.flatnonzero(((worst | ~seen) != hidden).any(axis=1))
        if rows.size == 0:
            break
        hidden[rows] = worst[rows] | ~seen[rows]
        expected[rows] = reconstruct(rows, hidden[rows], expected[rows], plain=True)
    return expected


def _unexplained(scores: Array, calibration: Calibration) -> Array:
    """The sum (n) of squared scores, each in units of the limit and 1 at the most."""
    limit = calibration.threshold(HIDING)
    cost: Array = np.nansum(np.minimum(scores / limit, 1) ** 2, axis=1)
    return cost


def _scores(X: Array, expected: Array, seen: Array, calibration: Calibration) -> Array:
    return calibration.scores(np.where(seen, X - expected, np.nan))


def _worst(scores: Array, seen: Array, limit: float) -> Array:
    """Where scores are above the limit, and among the worst of what was observed of their point."""
    bad: Array = np.where(seen, scores, -np.inf) > limit
    most = np.floor(MOST_HIDDEN * seen.sum(axis=1)).astype(int)
    for i in np.flatnonzero(bad.sum(axis=1) > most):
        order = np.argsort(-np.where(bad[i], scores[i], -np.inf), kind="stable")
        bad[i, order[most[i] :]] = False
    return bad
