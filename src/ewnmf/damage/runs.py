"""Runs of points in which an attribute is off: one entry of them says little, many in a row say much.

An attribute is in order, or it is off upwards, downwards or to and fro, and mostly stays as it is from one point to the
next: a hidden Markov chain, by which every entry is judged with those before and after it.
"""

from __future__ import annotations

import numpy as np

from ewnmf._types import Array

__all__ = ["FEWEST_ROWS", "SLOW", "in_order", "lasting", "odds_of_runs", "worth_of"]

FEWEST_ROWS = 10
"""Fewer points than this are no series."""
_BEGIN, _END = 1e-3, 0.02
"""How likely a fault begins, or ends, at the next point."""
_WIDE = 3.0
"""Standard deviation of scores in a fault, where that of others is 1."""
_LEAK = 0.05
"""The share of entries that are off to the other side."""
_MOST = 4.0
"""What one entry says, as the logarithm of a ratio of likelihoods, at the most: single ones make no run."""
SLOW, _REACH = 1.5, 3.0
"""From which sum of correlations on an attribute lasts, and how far its entries count, in standard deviations."""
_KINDS = 3
_TURNS = 20
"""Rounds in which the shares of faults are learned."""
_WINDOW, _MARGIN = 1024, 128
"""Longer series are judged in pieces of so many points, with so many before and after."""


def worth_of(x: Array, residuals: Array, spread: Array, known: Array) -> Array:
    """How much of what it says an entry says anew, beside those of the points before and after, by attribute (m).

    Entries and residuals (n x m) are in units of the attributes' deviations, and `spread` is that of residuals. What
    is left of an attribute lasts as long as it usually does, in units of how long the attribute lasts; or as long as
    its own does, but no longer than if it were what the others leave of the attribute. Where most attributes do not
    last, the points have no order, and what lasts is damaged.
    """
    n, m = x.shape
    if n < FEWEST_ROWS:
        return np.ones(m)
    whole = lasting(x, known)
    slow = whole > SLOW
    if 2 * slow.sum() <= m:
        return np.ones(m)
    left = lasting(residuals, known)
    share = np.median((left[slow] - 1) / (whole[slow] - 1))
    usual = 1 + float(np.clip(share, 0, 1)) * (whole - 1)
    own = np.minimum(left, 1 + np.minimum(spread**2, 1) * (whole - 1))
    worth: Array = 1 / np.maximum(usual, own)
    return worth


def in_order(x: Array, known: Array) -> bool:
    """Whether most attributes of points (n x m) last from one to the next."""
    return bool(2 * (lasting(x, known) > SLOW).sum() > x.shape[1])


def lasting(table: Array, known: Array) -> Array:
    """The sum of correlations of neighbours, over all distances up to where they vanish, of every column (m)."""
    n = len(table)
    middle = np.where(known, table, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    z = np.where(known, table - middle, 0)
    deviation = np.sqrt((z**2).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
    z = np.clip(z / np.where(deviation > 0, deviation, 1), -_REACH, _REACH)
    square = np.maximum((z**2).sum(axis=0), np.finfo(float).tiny)
    total, going = np.ones(z.shape[1]), np.arange(z.shape[1])
    for lag in range(1, n // 4):
        alike = (z[lag:] * z[:-lag]).sum(axis=0) / square[going]
        on = alike > 2 / np.sqrt(n)
        if not on.all():
            going, z, alike = going[on], z[:, on], alike[on]
        if not going.size:
            break
        total[going] += 2 * alike
    return total


def odds_of_runs(scores: Array, seen: Array, worth: Array) -> Array:
    """The logarithm of how much likelier than not an entry (n x m) is in a run of points where its attribute is off.

    `scores` are signed and normal where nothing is wrong. Where those of neighbours are alike anyhow, each says less:
    what is left of it is its `worth` (m).
    """
    n, m = scores.shape
    if n < FEWEST_ROWS:
        return np.zeros((n, m))
    says = _says(np.where(seen, scores, 0))
    says[:, ~seen] = 0
    says = (says - _usual(says, seen)) * worth
    starts = range(0, n, _WINDOW) if n > _WINDOW + _MARGIN else [0]
    odds = np.empty((n, m))
    for at in starts:
        low, high = max(0, at - _MARGIN), min(n, at + _WINDOW + _MARGIN) if len(starts) > 1 else n
        found = _chain(says[:, low:high])
        end = min(n, at + _WINDOW) if len(starts) > 1 else n
        odds[at:end] = found[at - low : end - low]
    return odds


def _says(z: Array) -> Array:
    """Ratios of likelihoods (3 x n x m), as logarithms: off upwards, downwards, to and fro, against in order."""
    wide = (z**2) * (1 - _WIDE**-2) / 2 - np.log(_WIDE)
    up = wide + np.log(np.where(z > 0, 2 - _LEAK, _LEAK))
    down = wide + np.log(np.where(z < 0, 2 - _LEAK, _LEAK))
    both = np.logaddexp(np.log(0.5), wide + np.log(0.5))
    says: Array = np.clip(np.stack([up, down, both]), -_MOST, _MOST)
    return says


def _usual(says: Array, seen: Array) -> Array:
    """What entries (n x m) say whose attribute is off now and then, in no order: by the shares of faults in it."""
    like = np.exp(says)
    count = np.maximum(seen.sum(axis=0), 1)
    share = np.full(like.shape[::2], _BEGIN / _END)
    for _ in range(_TURNS):
        total = 1 - share.sum(axis=0) + np.einsum("km,knm->nm", share, like)
        share = share * np.einsum("knm,nm->km", like, seen / total) / (count + 1)
    usual: Array = np.log(1 - share.sum(axis=0) + np.einsum("km,knm->nm", share, like))
    return usual


def _chain(says: Array) -> Array:
    """Forward and backward through the chain: what entries before and after (n x m) say, as the logarithm of odds.

    It is that of a fault against none, in units of what is known beforehand.
    """
    like = np.exp(says)
    before, after = _passed(like), _passed(like[:, ::-1])[:, ::-1]
    prior = _BEGIN / _END
    with np.errstate(divide="ignore"):
        odds: Array = np.log((before / like * (after / like)).sum(axis=0) / (_KINDS * prior**2))
    return odds


def _passed(like: Array) -> Array:
    """What is known of each kind of fault (3 x n x m) by an entry and all before it, as odds against being in order."""
    found = np.empty_like(like)
    now = np.full(like.shape[::2], _BEGIN / _END)
    for i in range(like.shape[1]):
        off = now * (1 - _END) + _BEGIN
        now = off / (1 - _KINDS * _BEGIN + _END * now.sum(axis=0)) * like[:, i]
        found[:, i] = now
    return found
