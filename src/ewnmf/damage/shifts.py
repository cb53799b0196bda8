"""Attributes that are off in a segment of the points, by their own values alone: a scan for changes.

Factors learn what lasts as if it were a part of the data, and then expect it; most of all where many attributes are off
for a while, each at its own time. But an attribute needs no other one to show that its values are higher, farther from
the median or rougher in a segment than everywhere else, by more than chance would have it. What is found so has no part
in what is expected; whether it is damaged, the other attributes decide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.repeats import repeats
from ewnmf.damage.runs import SLOW, in_order, lasting

__all__ = ["Shifts", "shifted"]

_FEWEST = 40
"""Points in which a segment can be compared with the rest."""
_SHORTEST, _LONGEST = 8, 0.5
"""How many values a segment has at the least, beside the most frequent one; and its largest share of the points."""
_STEPS = 200
"""A segment begins and ends at one of so many places, at the most."""
_NEARLY, _CLEAR, _CLEARER = 4.0, 5.0, 6.0
"""How far the sum of its ranks is off, in standard deviations: about one attribute in a hundred has the first by
chance, in ten thousand the second. Where values last, chance is not all that there is, and it takes the third."""
_TURNS = 3
"""An attribute may be off so many times."""
_SAME, _EVENT, _FEW, _MOST = 0.02, 0.15, 2, 0.5
"""Segments are the same up to this share of the points. Such a share of all of them, and more than a few, are an event:
something that attributes see together, and no fault of theirs. So is what changes in more than half of the attributes,
wherever it does."""
_FARTHEST = 1e100
"""Differences of values up to this are numbers."""
_SHAKEN = 0.7
"""What is rougher in a segment is not so at every point, but where it exceeds this quantile of the rest."""


class _Aspect(NamedTuple):
    """What is looked at (n x m), whether only larger values are a fault, and beyond which quantile of the rest."""

    values: Array
    upwards: bool = True
    quantile: float | None = None


class Shifts(NamedTuple):
    """Where attributes are off in some segment (n x m), and whether most change from one point to a later one.

    Most do where kinds of points stand one after the other. What is off for a while may then be data, and nothing is.
    """

    off: Array
    most: bool = False


def shifted(x: Array, known: Array) -> Shifts:
    """What is off of attributes (n x m, in units around their median), by what is `known` of them."""
    off = np.zeros(x.shape, dtype=bool)
    if len(x) < _FEWEST:
        return Shifts(off)
    x = np.clip(x, -_FARTHEST, _FARTHEST)
    ordered = in_order(x, known)
    columns = np.arange(x.shape[1])
    for _ in range(_TURNS):
        left = known[:, columns] & ~off[:, columns]
        now = _off_once(x[:, columns], left, ordered, _MOST * x.shape[1])
        if now is None:
            return Shifts(np.zeros(x.shape, dtype=bool), most=True)
        much = (off[:, columns] | now).sum(axis=0) > _LONGEST * known[:, columns].sum(axis=0)
        now[:, much] = False
        off[:, columns] |= now
        columns = columns[now.any(axis=0)]
        if not columns.size:
            break
    return Shifts(off)


def _off_once(x: Array, left: Array, ordered: bool, most: float) -> Array | None:
    """By the level of attributes (n x m) first, by how far they are from the median and how rough they are after it.

    None where the level of more than `most` changes: all else changes with it.
    """
    now = _off_by(_Aspect(x, upwards=False), left, most, discounted=ordered)
    if now is None:
        return None
    for rough in (False, True):
        rest = left & ~now
        aspect = _Aspect(_roughness(x, rest), quantile=_SHAKEN) if rough else _Aspect(np.abs(x))
        also = _off_by(aspect, rest, most)
        now = now if also is None else now | also
    return now


def _roughness(x: Array, known: Array) -> Array:
    """How far entries (n x m) are from the mean of those before and after."""
    x, count = np.where(known, x, 0), known.astype(np.float64)
    total, beside = np.zeros_like(x), np.zeros_like(x)
    for one, other in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        total[one] += x[other]
        beside[one] += count[other]
    rough: Array = np.abs(x - total / np.maximum(beside, 1))
    return rough


def _off_by(aspect: _Aspect, known: Array, most: float, *, discounted: bool = True) -> Array | None:
    """The segment (n x m) in which an attribute is most clearly off, where it is; None if more than `most` are.

    Of values that last anyhow each says less; that is `discounted` unless points have no order.
    """
    n, m = known.shape
    ranks, frequent = _ranks(aspect.values, known)
    edges = np.unique(np.linspace(0, n, min(n, _STEPS) + 1).astype(int))
    size, places = _clearest(ranks, known, edges, _SHORTEST / np.maximum(1 - frequent, 1 / n), aspect.upwards)
    found = np.flatnonzero(size > _NEARLY)
    size, (begin, end), clear = size[found], edges[places[:, found]], np.full(found.size, _CLEAR)
    if discounted and found.size:
        lasts = lasting(_without(ranks[:, found], known[:, found], begin, end), known[:, found])
        size, clear = size / np.sqrt(lasts), np.where(lasts > SLOW, _CLEARER, _CLEAR)
    off = np.zeros((n, m), dtype=bool)
    if (size > _NEARLY).sum() > most:
        return None
    found, begin, end = found[size > clear], begin[size > clear], end[size > clear]
    for j, a, b in zip(found, begin, end, strict=True):
        off[a:b, j] = known[a:b, j]
        if aspect.quantile is not None:
            values = aspect.values[:, j]
            off[:, j] &= values > np.quantile(values[known[:, j] & ~off[:, j]], aspect.quantile)
    off[:, found[_events(begin, end, n)]] = False
    return off


def _ranks(values: Array, known: Array) -> tuple[Array, Array]:
    """Ranks of what is known of every attribute (n x m), of mean 0 and variance 1, equal ones alike, else 0.

    And the share of its most frequent value (m).
    """
    within = repeats(values.T, known.T)
    sizes = np.bincount(within.groups.ravel())
    middle = np.cumsum(sizes) - (sizes + 1) / 2
    ranks, count = middle[within.groups].T, np.maximum(known.sum(axis=0), 1)
    ranks = np.where(known, ranks - np.where(known, ranks, 0).sum(axis=0) / count, 0)
    deviation = np.sqrt((ranks**2).sum(axis=0) / count)
    return ranks / np.where(deviation > 0, deviation, 1), within.counts.max(axis=1, initial=0) / count


def _clearest(ranks: Array, known: Array, edges: Array, shortest: Array, upwards: bool) -> tuple[Array, Array]:
    """How far the sum of ranks is off where that is clearest (m), in standard deviations, and the two edges (2 x m)."""
    m = ranks.shape[1]
    size, places = np.zeros(m), np.zeros((2, m), dtype=int)
    whole = np.asarray(known.all(axis=0))
    for columns, counted in ((np.flatnonzero(whole), slice(1)), (np.flatnonzero(~whole), slice(None))):
        if columns.size:
            # Where all is known, all attributes have the same counts.
            sums, counts = _sums(ranks[:, columns], edges), _sums(known[:, columns[counted]], edges)
            size[columns], places[:, columns] = _scanned(sums, counts, shortest[columns], upwards)
    return size, places


def _scanned(sums: Array, counts: Array, shortest: Array, upwards: bool) -> tuple[Array, Array]:
    """The same by sums and counts up to every edge (p x c; p x 1 where all columns have these counts)."""
    total, c = counts[-1], sums.shape[1]
    size, places = np.zeros(c), np.zeros((2, c), dtype=int)
    for steps in range(1, int(_LONGEST * (len(sums) - 1)) + 1):
        count, away = counts[steps:] - counts[:-steps], sums[steps:] - sums[:-steps]
        if not upwards:
            np.abs(away, out=away)
        away /= np.sqrt(np.maximum(count * (total - count) / np.maximum(total, 1), 1))
        away *= (count >= shortest) & (count <= _LONGEST * total)
        at = away.argmax(axis=0)
        found = away[at, np.arange(c)]
        better = found > size
        size[better] = found[better]
        places[:, better] = at[better], at[better] + steps
    return size, places


def _sums(table: Array, edges: Array) -> Array:
    """Sums of rows (n x m) up to every edge."""
    between = np.add.reduceat(table, edges[:-1], axis=0, dtype=np.float64)
    sums: Array = np.concatenate([np.zeros((1, table.shape[1])), np.cumsum(between, axis=0)])
    return sums.astype(np.float32)


def _without(ranks: Array, known: Array, begin: Array, end: Array) -> Array:
    """Ranks (n x c) around their mean, and in the segment of each around its own trend."""
    rest = ranks.copy()
    for j, (a, b) in enumerate(zip(begin, end, strict=True)):
        inside = np.zeros(len(rest), dtype=bool)
        inside[a:b] = True
        within, outside = np.flatnonzero(inside & known[:, j]), ~inside & known[:, j]
        rest[outside, j] -= rest[outside, j].mean()
        rest[within, j] -= np.polyval(np.polyfit(within, rest[within, j], 1), within)
    return rest


def _events(begin: Array, end: Array, n: int) -> Array:
    """Which segments are shared by so many attributes that they are events."""
    near = max(1.0, _SAME * n)
    shared = [((np.abs(begin - a) <= near) & (np.abs(end - b) <= near)).sum() for a, b in zip(begin, end, strict=True)]
    return np.array(shared, dtype=int) > max(_FEW, _EVENT * len(begin))
