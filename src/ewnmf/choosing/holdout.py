"""Entries that are held out: which of a point's they are, and the robust mean of what they cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.fitting.points import Points
from ewnmf.fitting.starts import point_numbers, sampled_rows
from ewnmf.losses.base import Loss

__all__ = [
    "MOST",
    "SHARE",
    "TRIM",
    "held_out_losses",
    "hold_out",
    "losses_at",
    "sampled",
    "trimmed_mean",
]


SHARE = 0.1
"""The share of a point's observed entries that is held out."""
TRIM = 0.1
"""Left out of a mean are the largest losses: as many as this share of the judged entries that are not 0.

Outliers must not vote, so that some losses are left out. Zeros must not widen what is left out: where most entries are
zeros that every model explains, a tenth of all entries is all of the signal.
"""
_KEY = b"ewnmf: entries that score hides"
MOST = 1 << 23
"""Of data with more entries than this a sample of the points is judged."""
_BLOCK_ENTRIES = 1 << 20


def hold_out(points: Points, share: float, key: bytes, turn: int = 0) -> Array:
    """Where entries are hidden (n x m): `share` of what was observed of each point, at least one, never all.

    They are drawn from `key` and the point alone, so that order changes nothing and equal points, which would tell of
    each other, hide the same. Turns 0, 1, ... hide different entries, until a point has no more.
    """
    hidden = np.zeros(points.X.shape, dtype=bool)
    seeds = (point_numbers(points.X, points.P, 1, key)[:, 0] * 2.0**53).astype(np.int64)
    for i, seed in enumerate(seeds):
        places = np.arange(points.X.shape[1]) if points.P is None else np.flatnonzero(points.P[i])
        if places.size < 2:
            continue
        count = min(max(1, int(share * places.size)), places.size - 1)
        lots = np.random.PCG64(int(seed)).random_raw(places.size)
        order = places[np.argsort(lots, kind="stable")]
        hidden[i, order.take(np.arange(turn * count, (turn + 1) * count), mode="wrap")] = True
    return hidden


def sampled(points: Points, most: int, key: bytes) -> Points:
    """The points, or so many of them, drawn from each alone, that they have about `most` entries."""
    n, m = points.X.shape
    return points if n * m <= most else points.take(sampled_rows(points, most, key))


def losses_at(
    hidden: Array, X: Any, codes: Array, components: Array, loss: Loss, tiny: float, bounds: Array | None = None
) -> tuple[Array, Array]:
    """What the hidden entries cost under ``codes @ components``, and which of them are not 0; row by row.

    `bounds` (2 x m) hold the product of every attribute, where they are given.
    """
    rows, columns = np.nonzero(hidden)
    x = np.asarray(X[rows, columns], dtype=np.float64).ravel()
    y = np.einsum("lk,lk->l", codes[rows], components.T[columns], dtype=np.float64)
    y = y if bounds is None else np.clip(y, *bounds[:, columns])
    return loss.divergence(x, y if loss.signed else np.maximum(y, tiny)), x != 0


def trimmed_mean(losses: Array, nonzero: Array, weights: Array | None = None, *, trim: float = TRIM) -> float:
    """The mean of the losses (weighted), without the largest: those have `trim` of the weight of nonzero entries.

    The last loss that is left out may be so in part, which makes an entry of weight 2 the same as two.
    """
    if weights is None:
        ordered, count = np.sort(losses), losses.size - trim * np.count_nonzero(nonzero)
        whole = min(int(count), losses.size)
        rest = (count - whole) * ordered[whole] if count > whole else 0.0
        return float((ordered[:whole].sum() + rest) / count)
    order = np.argsort(-losses, kind="stable")
    w = weights[order].astype(np.float64)
    kept = np.clip(np.cumsum(w) - trim * np.sum(w, where=nonzero[order]), 0, w)
    stays = kept > 0
    return float(kept[stays] @ losses[order][stays] / kept.sum())


def held_out_losses(
    points: Points,
    encode: Callable[[Points], Array],
    components: Array,
    loss: Loss,
    tiny: float,
    bounds: Array | None = None,
) -> tuple[Array, Array, Array]:
    """What entries cost that are hidden from `encode`, which finds codes; which are not 0; their points' weights.

    Points of fewer than two observed entries are left out. One block of points at a time is made dense.
    """
    points = sampled(points, MOST, _KEY)
    width = max(32, _BLOCK_ENTRIES // points.X.shape[1] // 32 * 32)
    parts = []
    for at in range(0, points.X.shape[0], width):
        block = points.take(np.arange(at, min(at + width, points.X.shape[0])))
        hidden = hold_out(block, SHARE, _KEY)
        judged = np.asarray(hidden.any(axis=1))
        if not judged.any():
            continue
        block, hidden = block.take(judged), hidden[judged]
        codes = encode(block.hiding(hidden, positive=loss.needs_positive))
        s = np.ones(len(codes)) if block.s is None else block.s
        losses, nonzero = losses_at(hidden, block.X, codes, components, loss, tiny, bounds)
        parts.append((losses, nonzero, np.repeat(s, hidden.sum(axis=1))))
    if not parts:
        raise ValueError(
            "X has no point with two observed entries of positive weight, so that none can be hidden to score by; give "
            "more attributes or fewer gaps."
        )
    losses, nonzero, s = (np.concatenate(part) for part in zip(*parts, strict=True))
    return losses, nonzero, s
