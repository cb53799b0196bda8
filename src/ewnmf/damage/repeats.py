"""Values that repeat: the same number at many places of a point (a block, a band) or of an attribute (a stuck sensor).

Undamaged values repeat, too: a black background, a sensor at its limit. But those the rest of the data knows of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewnmf._types import Array

__all__ = [
    "Repeats",
    "common_values",
    "often",
    "repeats",
    "standing_out",
    "stuck_values",
    "unexplained",
    "usual_values",
]

_FEWEST, _SHARE = 5, 0.015
"""How often a value has to repeat: so many times, and in such a share of a point or an attribute."""
_HALF = 0.5
"""What more than this share of an attribute has is its usual value."""
_BACKGROUND = 0.1
_FREQUENT, _LEADING = 5.0, 3
"""A value of an attribute stands out where it is so many times as frequent as others but the leading ones."""
_SCATTERED, _RUN, _BROKEN = 0.35, 1.0, 0.25
"""How far towards a repeated value expectations may lie, in their standard deviations; and what makes it a run."""
_FAR = 10.0
"""Scores count up to this."""
_SMALL = 0.25


class Repeats(NamedTuple):
    """Of every entry (n x m): a number that entries of the same line and value share, and how many these are."""

    groups: Array
    counts: Array


def repeats(X: Array, seen: Array) -> Repeats:
    """The repetitions within the rows of ``X`` (n x m), where they were `seen`."""
    n, m = X.shape
    x = np.where(seen, X, np.inf)
    order = np.argsort(x, axis=1, kind="stable")
    values = np.take_along_axis(x, order, axis=1)
    first = np.ones((n, m), dtype=bool)
    first[:, 1:] = values[:, 1:] != values[:, :-1]
    numbers = np.cumsum(first.ravel()).reshape(n, m) - 1
    groups = np.empty((n, m), dtype=np.int64)
    np.put_along_axis(groups, order, numbers, axis=1)
    counts = np.bincount(numbers.ravel())[groups]
    return Repeats(groups, np.where(seen, counts, 0))


def usual_values(X: Array, within: Repeats) -> Array:
    """The value (m) that more than half of an attribute has, NaN where none does; `within` are its columns (m x n)."""
    n = max(1, len(X))
    most = np.argmax(within.counts, axis=1)
    value = X[most, np.arange(X.shape[1])]
    return np.where(within.counts.max(axis=1) > _HALF * n, value, np.nan)


def common_values(X: Array, across: Repeats, repeated: Array) -> Array:
    """Values that are `repeated` (n x m) in more than half of the points, and in a tenth of their entries.

    Such a value is a background and no damage.
    """
    much = repeated & (across.counts >= _BACKGROUND * X.shape[1])
    first = np.unique(across.groups[much], return_index=True)[1]
    values, points = np.unique(X[much][first], return_counts=True)
    return values[points > _HALF * len(X)]


def often(counts: Array, length: int) -> Array:
    """Whether values repeat often enough to be looked at."""
    return np.asarray(counts >= max(_FEWEST, _SHARE * length))


def unexplained(groups: Array, asked: Array, scores: Array, level: float) -> Array:
    """Where entries that are `asked` for (n x m) are of a group whose squared scores are as far as `level`.

    That is so for their mean over all attributes, with small groups held against less: a share `q` against `q^(1/4)`.
    """
    size = np.where(asked, np.minimum(scores, _FAR) ** 2, 0)
    total = np.bincount(groups.ravel(), size.ravel())[groups] / scores.shape[1]
    share = np.bincount(groups.ravel(), asked.ravel())[groups] / scores.shape[1]
    far: Array = asked & (total > level * share**_SMALL)
    return far


def standing_out(within: Repeats) -> Array:
    """Which entries (m x n, attributes are rows) have a value far more frequent than others of their attribute."""
    m, n = within.counts.shape
    first = np.unique(within.groups, return_index=True)[1]
    counts, lines = within.counts.ravel()[first], first // n
    order = np.lexsort((-counts, lines))
    counts, lines, numbers = counts[order], lines[order], within.groups.ravel()[first][order]
    rank = np.arange(order.size) - np.searchsorted(lines, lines)
    common = np.where(rank < _LEADING, 0, counts)
    typical = np.bincount(lines, common.astype(float) ** 2, m) / np.maximum(np.bincount(lines, common, m), 1)
    leading = (rank < _LEADING) & often(counts, n) & (counts < _HALF * n) & (counts > _FREQUENT * typical[lines])
    chosen = np.zeros(int(within.groups.max(initial=0)) + 1, dtype=bool)
    chosen[numbers[leading]] = True
    found: Array = chosen[within.groups] & (within.counts > 0)
    return found


def stuck_values(X: Array, within: Repeats, asked: Array, expected: Array, seen: Array) -> tuple[Array, Array]:
    """Attributes and values (k each) that repeat where nothing says that they should.

    `asked` (m x n) are entries of values that stand out in their attribute. Where expectations there lie towards the
    value, it belongs to the data: a sensor at its limit is where the others are high. In a run of points, which
    scattered values do not form, they have to lie closer.
    """
    n = asked.shape[1]
    rest = ~asked & seen.T
    y = expected.T
    count = np.maximum(rest.sum(axis=1), 1)
    mean = np.where(rest, y, 0).sum(axis=1) / count
    deviation = np.sqrt(np.where(seen.T, (y - y.mean(axis=1, keepdims=True)) ** 2, 0).sum(axis=1) / n)
    middle = np.array([np.median(x[r]) if r.any() else 0.0 for x, r in zip(X.T, rest, strict=True)])
    places = np.flatnonzero(asked.ravel())
    numbers, first, inverse = np.unique(within.groups.ravel()[places], return_index=True, return_inverse=True)
    lines, values = places[first] // n, X.T.ravel()[places[first]]
    size = np.bincount(inverse)
    pulled = np.bincount(inverse, y.ravel()[places], numbers.size) / np.maximum(size, 1) - mean[lines]
    pulled = pulled * np.sign(values - middle[lines]) / np.maximum(deviation[lines], np.finfo(float).tiny)
    before = np.roll(within.groups, 1, axis=1)
    before[:, 0] = -1
    runs = np.bincount(inverse, (before != within.groups).ravel()[places], numbers.size)
    run = runs <= _BROKEN * size * (1 - size / n)
    stuck = pulled < np.where(run, _RUN, _SCATTERED)
    return lines[stuck], values[stuck]
