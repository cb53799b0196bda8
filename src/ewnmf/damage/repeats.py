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
    "ends_of_scale",
    "explained_by_scale",
    "in_runs",
    "level_of_groups",
    "often",
    "often_in_points",
    "repeats",
    "standing_out",
    "stuck_values",
    "unexplained",
    "usual_values",
]

_FEWEST, _SHARE = 5, 0.015
"""How often a value has to repeat: so many times, and in such a share of a point or an attribute."""
_TIMES = 3.0
"""And in a point so many times as often as others but the leading ones."""
_HALF = 0.5
"""What more than this share of an attribute has is its usual value."""
_BACKGROUND = 0.1
_FREQUENT, _LEADING = 5.0, 3
"""A value of an attribute stands out where it is so many times as frequent as others but the leading ones."""
_SCATTERED, _EACH, _RUN, _BROKEN = 10.0, 0.5, 0.0, 0.25
"""How strange a repeated value has to be, as the logarithm of a ratio of likelihoods, in all and each time; and what
makes it a run."""
_FEW = 0.25
"""The share of points up to which a value does not pull what is expected of it."""
_ORDERED = 0.3
"""Neighbouring points are so alike, as a correlation, where their order means something."""
_SAME, _AT_ONCE = 0.5, 0.8
"""Values of two attributes come together where they share this part of their points; and at once where this."""
_NARROW, _SIGN = 0.05, 3.0
"""Expectations have so much of their variance left, at the least; and one of them says so much, at the most."""
_FAR = 10.0
"""Scores count up to this."""
_SMALL = 0.25
_GROUPS, _NONE, _FARTHER = 50, 0.02, 2.0
"""Of so many groups of equal values, such a share is next to none; it takes so much more then."""


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


def ends_of_scale(X: Array, within: Repeats) -> Array:
    """The least and the largest value of attributes (2 x m) that one point alone has; NaN where there is no such value.

    That is asked only where more than half of the attributes have the same two ends: they were brought to one scale by
    them, and where many of them end in one point, nothing repeats. `within` are the columns (m x n).
    """
    columns = np.arange(X.shape[1])
    seen = within.counts.T > 0
    at = np.stack([np.where(seen, X, np.inf).argmin(axis=0), np.where(seen, X, -np.inf).argmax(axis=0)])
    ends = X[at, columns]
    values, counts = np.unique(ends, axis=1, return_counts=True)
    if counts.max(initial=0) <= _HALF * X.shape[1]:
        return np.full(ends.shape, np.nan)
    scale = values[:, counts.argmax()][:, None]
    found: Array = np.where((ends == scale) & (within.counts[columns, at] == 1), ends, np.nan)
    return found


def explained_by_scale(X: Array, across: Repeats, ends: Array) -> Array:
    """Whether more than half of the entries that share a point and a value (n x m) are `ends` of a scale (2 x m).

    Of a block that is as bright as it gets some entries may be alone with that in their attribute; most are not.
    """
    at_end = (ends[0] == X) | (ends[1] == X)
    ended = np.bincount(across.groups[at_end], minlength=X.size)[across.groups]
    return np.asarray(ended > _HALF * across.counts)


def often(counts: Array, length: int) -> Array:
    """Whether values repeat often enough to be looked at."""
    return np.asarray(counts >= max(_FEWEST, _SHARE * length))


def often_in_points(across: Repeats) -> Array:
    """The same within points (n x m), where values repeat more often than most others of their point, too.

    Where values are few, as steps of a coarse scale, all of them repeat.
    """
    counts, points, numbers, rank = _ranked(across)
    typical = _typical(counts, points, rank, len(across.counts))
    chosen = np.zeros(int(across.groups.max(initial=0)) + 1, dtype=bool)
    chosen[numbers[counts > _TIMES * typical[points]]] = True
    enough: Array = often(across.counts, across.counts.shape[1]) & chosen[across.groups]
    return enough


def unexplained(groups: Array, asked: Array, scores: Array, level: float) -> Array:
    """Where entries that are `asked` for (n x m) are of a group whose squared scores are as far as `level`.

    That is so for their mean over all attributes, with small groups held against less: a share `q` against `q^(1/4)`.
    """
    size = np.where(asked, np.minimum(scores, _FAR) ** 2, 0)
    total = np.bincount(groups.ravel(), size.ravel())[groups] / scores.shape[1]
    share = np.bincount(groups.ravel(), asked.ravel())[groups] / scores.shape[1]
    far: Array = asked & (total > level * share**_SMALL)
    return far


def level_of_groups(groups: Array, asked: Array, scores: Array, level: float) -> float:
    """The level at which groups are unexplained: twice as far off where next to none of many is.

    Where values repeat in most points and nearly all of that is explained, the rest are the farthest of many.
    """
    all_of_them = np.unique(groups[asked]).size
    far = np.unique(groups[unexplained(groups, asked, scores, level)]).size
    return _FARTHER * level if all_of_them >= _GROUPS and far <= _NONE * all_of_them else level


def standing_out(within: Repeats) -> Array:
    """Which entries (m x n, attributes are rows) have a value far more frequent than others of their attribute."""
    counts, lines, numbers, rank = _ranked(within)
    n = within.counts.shape[1]
    typical = _typical(counts, lines, rank, len(within.counts))
    leading = (rank < _LEADING) & often(counts, n) & (counts < _HALF * n) & (counts > _FREQUENT * typical[lines])
    chosen = np.zeros(int(within.groups.max(initial=0)) + 1, dtype=bool)
    chosen[numbers[leading]] = True
    found: Array = chosen[within.groups] & (within.counts > 0)
    return found


def _ranked(within: Repeats) -> tuple[Array, Array, Array, Array]:
    """Of every value of a line: how often it is there, the line, its number, and its rank, the most frequent first."""
    first = np.unique(within.groups, return_index=True)[1]
    counts, lines = within.counts.ravel()[first], first // max(1, within.counts.shape[1])
    order = np.lexsort((-counts, lines))
    counts, lines, numbers = counts[order], lines[order], within.groups.ravel()[first][order]
    return counts, lines, numbers, np.arange(order.size) - np.searchsorted(lines, lines)


def _typical(counts: Array, lines: Array, rank: Array, m: int) -> Array:
    """How often an entry's value is in its line (m), on average over entries of others than the leading values."""
    common = np.where(rank < _LEADING, 0, counts).astype(float)
    typical: Array = np.bincount(lines, common**2, m) / np.maximum(np.bincount(lines, common, m), 1)
    return typical


def in_runs(X: Array, within: Repeats, asked: Array, seen: Array) -> Array:
    """Where values that are `asked` for (m x n) repeat in a run of points, as a background does not.

    Where attributes run anyhow, as in time, a background is in most attributes at once (a plant that stands still).
    """
    lines, places, ordered = [], [], []
    for j in np.flatnonzero(asked.any(axis=1)):
        for number in np.unique(within.groups[j, asked[j]]):
            at = within.groups[j] == number
            rest = ~at & seen[:, j]
            needed = _needed(at, X[:, j], rest) if rest.sum() >= _FEWEST else _SCATTERED
            if needed < _SCATTERED:
                lines.append(j)
                places.append(at)
                ordered.append(needed == _RUN)
    found = np.zeros(asked.shape, dtype=bool)
    if lines:
        alone = (_overlaps(np.array(places)) > _AT_ONCE).mean(axis=1) < _HALF
        for j, at, kept in zip(lines, places, alone | ~np.array(ordered), strict=True):
            found[j] |= at & kept
    return found


def stuck_values(X: Array, within: Repeats, asked: Array, expected: Array, seen: Array) -> tuple[Array, Array]:
    """Attributes and values (k each) that repeat where nothing says that they should.

    `asked` (m x n) are entries of values that stand out in their attribute, and `expected` (n x m) is what the other
    entries of their points say. Of a value that belongs to the data (a sensor at its limit) they say what they say of
    values like it; of one that does not, what they say of any. The likelihoods of both are compared, as of normal
    variables. Points in a run that have the value are a sign, too, in attributes where nothing else runs.
    """
    found = []
    for j in np.flatnonzero(asked.any(axis=1)):
        rest = ~asked[j] & seen[:, j]
        if rest.sum() < _FEWEST:
            continue
        for number in np.unique(within.groups[j, asked[j]]):
            at = within.groups[j] == number
            value = float(X[at, j][0])
            needed = _needed(at, X[:, j], rest)
            apart = needed >= _SCATTERED and at.mean() <= _FEW
            strange = _strangeness(value, expected[at, j], X[rest, j], expected[rest, j], apart)
            found.append((j, value, at, strange, needed))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0)
    lines, values, places, signs, limits = map(np.array, zip(*found, strict=True))
    stuck = _together(places, signs) > limits
    return lines[stuck].astype(np.int64), values[stuck]


def _together(places: Array, strange: Array) -> Array:
    """How strange values are (k), with those that other attributes have in the same points: `places` (k x n)."""
    joined: Array = (_overlaps(places) > _SAME) @ strange
    return joined


def _overlaps(places: Array) -> Array:
    """The share of points that two sets of them (k x n) have in common, of all that are in one (k x k)."""
    at = places.astype(np.float64)
    both = at @ at.T
    size = at.sum(axis=1)
    shares: Array = both / np.maximum(size[:, None] + size - both, 1)
    return shares


def _strangeness(value: float, y: Array, x: Array, usual: Array, scattered: bool) -> float:
    """The logarithm of how much likelier expectations `y` are of anything than of a value like this.

    `x` are the other values of the attribute and `usual` the expectations of these. Beyond all values expectations may
    be farther out than is usual: a limit cuts. Of a value that is `scattered` over some of the points, expectations
    that clearly go its way together are, too, though they may not go as far.
    """
    dx, dy = x - x.mean(), usual - usual.mean()
    square = float(dx @ dx)
    slope = max(float(dx @ dy) / square, 0.0) if square > 0 else 0.0
    wide = np.sqrt(np.mean(dy**2))
    narrow = np.sqrt(max(float(np.mean((dy - slope * dx) ** 2)), _NARROW * wide**2))
    if wide == 0:
        return 0.0
    away = y - usual.mean() - slope * (value - x.mean())
    if value >= x.max():
        away = np.minimum(away, 0)
    elif value <= x.min():
        away = np.maximum(away, 0)
    anything = ((y - usual.mean()) / wide) ** 2 / 2 + np.log(wide / narrow)
    ratio = (away / narrow) ** 2 / 2 - anything
    strange = float(np.clip(ratio, -_SIGN, _SIGN).sum())
    if scattered:
        far = slope * (value - x.mean())
        own = np.clip(np.median(y) - usual.mean(), min(far, 0.0), max(far, 0.0))
        together = ((y - usual.mean() - own) / narrow) ** 2 / 2 - anything
        belongs = float(np.clip(together, -_SIGN, _SIGN).sum())
        strange = min(strange, belongs) if belongs < -_SCATTERED else strange
    return strange


def _needed(at: Array, x: Array, rest: Array) -> float:
    """How strange a value has to be whose entries are there (n): less in a run of points.

    Nothing stays at a value between others to the last digit; at a limit it may.
    """
    size, n = int(at.sum()), len(at)
    runs = int((at[1:] & ~at[:-1]).sum()) + int(at[0])
    if runs > _BROKEN * size * (1 - size / n):
        return max(_SCATTERED, _EACH * size)
    value, others = x[at][0], x[rest]
    if others.min() < value < others.max():
        return -np.inf
    pairs = rest[1:] & rest[:-1]
    deviation = x - others.mean()
    alike = float((deviation[1:] * deviation[:-1])[pairs].mean() / max((deviation[rest] ** 2).mean(), 1e-300))
    return _RUN if alike > _ORDERED else -np.inf
