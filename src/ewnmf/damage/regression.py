"""Least trimmed squares: what most points say of an attribute that is off for a while, as one that drifts.

What lasts looks like a part of the data, and loadings follow it. A regression on what the other attributes say, by the
points that it fits best, does not. It is taken where the points that it leaves out are a run of them: those of a fault
are, and points of a kind of their own, as one of several persons, are data, wherever they stand.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from ewnmf._types import Array
from ewnmf.damage.expectation import Expectation

__all__ = ["relearned"]

_MOST = 0.55
"""The share of points that a regression is by."""
_INNER = float(
    np.sqrt(1 - 2 * ndtri((1 + _MOST) / 2) * np.exp(-(ndtri((1 + _MOST) / 2) ** 2) / 2) / (_MOST * np.sqrt(2 * np.pi)))
)
"""The root mean square of the smallest of normal deviations, so many of them."""
_PARTS, _STEPS = 5, 5
"""It starts from so many parts of the points, one after the other, and takes so many steps from each."""
_SHIFTED = 0.5
"""An attribute may be off where the median residual of a part is so many times its usual residual."""
_BETTER = 0.7
"""A regression is taken where residuals are so much smaller by it."""
_LEFT_OUT, _RUN = 3.0, 0.4
"""Points are left out so many deviations away, of those that it is by. Some run of points has this share of them more
than of all points, where the attribute is off for a while."""
_RIDGE = 1e-3
"""What is added to the variance of factors: those that are alike in a part have small coefficients."""
_FEWEST = 10
"""Points that a coefficient needs."""
_WORK = 1 << 30
"""Multiplications that may be spent: on the attributes that are off most, where there are many."""


def relearned(now: Expectation, x: Array, known: Array, filled: Array) -> Expectation:
    """The same with means and loadings of attributes by most points, where these fit much better so.

    ``x`` (n x m) are points where they are `known`, and `filled` (n x m) their deviations from the mean.
    """
    n, K = len(x), len(now.loadings) + 1
    if n < _FEWEST * K:
        return now
    factors, gain, own = now.factors(filled)
    shift = _shifts(x - now.mean - factors @ now.loadings, known)
    most = max(1, _WORK // (n * K**2 * _PARTS * _STEPS))
    enough = (shift > _SHIFTED) & (known.sum(axis=0) >= _FEWEST * K)
    chosen = [j for j in np.argsort(-shift, kind="stable")[:most] if enough[j]]
    if not chosen:
        return now
    alone = (filled[:, chosen] - factors @ now.loadings[:, chosen]) / (1 - own[chosen])
    task = Regressions(factors, alone, gain[chosen], x[:, chosen], known[:, chosen])
    usual = np.concatenate([now.mean[None, chosen], now.loadings[:, chosen]])
    found = task.by_most()
    size = task.trimmed(found)
    better = size < _BETTER * task.trimmed(usual)
    better[better] = _in_one_run(task.residuals(found)[:, better] > (_LEFT_OUT / _INNER * size[better]) ** 2)
    mean, loadings = now.mean.copy(), now.loadings.copy()
    taken = np.asarray(chosen)[better]
    mean[taken], loadings[:, taken] = found[0, better], found[1:, better]
    return now._replace(mean=mean, loadings=loadings)


def _shifts(residuals: Array, known: Array) -> Array:
    """How far the median of some part of the residuals (n x m) is off, in units of the usual one (m).

    It is 0 where nothing is `known` of a part.
    """
    parts = np.array_split(np.arange(len(residuals)), _PARTS)
    whole = np.all([known[part].any(axis=0) for part in parts], axis=0)
    there = np.where(known | ~whole, residuals, np.nan)
    usual = np.nanmedian(np.abs(there), axis=0)
    off = np.max([np.abs(np.nanmedian(there[part], axis=0)) for part in parts], axis=0)
    shifts: Array = np.divide(off, usual, out=np.zeros(len(off)), where=whole & (usual > 0))
    return shifts


def _in_one_run(left_out: Array) -> Array:
    """Whether a run of points has so much more of those that are `left_out` (n x c) than of all points."""
    count = np.maximum(left_out.sum(axis=0), 1)
    ahead = np.cumsum(left_out / count - 1 / len(left_out), axis=0)
    before = np.minimum.accumulate(np.minimum(ahead, 0), axis=0)
    run: Array = (ahead - before).max(axis=0) >= _RUN
    return run


class Regressions:
    """Of every attribute (n x c) on 1 and the factors (n x K) that all others tell, all at the same time.

    The factors without an attribute are ``f - r g``, with ``r`` its residual from what the others say and ``g`` (c x K)
    what it counts.
    """

    def __init__(self, factors: Array, alone: Array, gain: Array, values: Array, known: Array) -> None:
        n, self.count = values.shape
        self.factors = np.column_stack([np.ones(n), factors])
        self.products = (self.factors[:, :, None] * self.factors[:, None, :]).reshape(n, -1)
        self.gain = np.column_stack([np.zeros(self.count), gain])
        self.alone, self.values, self.known = alone, values, known
        self.kept = np.ceil(_MOST * known.sum(axis=0)).astype(int)

    def residuals(self, coefficients: Array) -> Array:
        """Squares of what coefficients (K x c) leave of known values (n x c); infinite where none is known."""
        expected = self.factors @ coefficients - self.alone * np.einsum("ck,kc->c", self.gain, coefficients)
        return np.where(self.known, (self.values - expected) ** 2, np.inf)

    def trimmed(self, coefficients: Array) -> Array:
        """The root mean square of the smallest residuals (c)."""
        ranked = np.cumsum(np.sort(self.residuals(coefficients), axis=0), axis=0)
        trimmed: Array = np.sqrt(ranked[self.kept - 1, np.arange(self.count)] / self.kept)
        return trimmed

    def by_most(self) -> Array:
        """The coefficients (K x c) with the smallest trimmed residuals."""
        best, least = np.zeros((self.factors.shape[1], self.count)), np.full(self.count, np.inf)
        for part in np.array_split(np.arange(len(self.values)), _PARTS):
            chosen = np.zeros(self.values.shape, dtype=bool)
            chosen[part] = self.known[part]
            for _ in range(_STEPS):
                coefficients = self.solved(chosen)
                square = self.residuals(coefficients)
                limit = np.sort(square, axis=0)[self.kept - 1, np.arange(self.count)]
                chosen = square <= limit
            size = self.trimmed(coefficients)
            better = size < least
            best[:, better], least[better] = coefficients[:, better], size[better]
        return best

    def solved(self, chosen: Array) -> Array:
        """The coefficients (K x c) by the `chosen` points (n x c)."""
        K, w = self.factors.shape[1], chosen.astype(np.float64)
        counts, alone, gain = w.sum(axis=0), w * self.alone, self.gain
        cross = (alone.T @ self.factors)[:, :, None] * gain[:, None, :]
        system = (w.T @ self.products).reshape(-1, K, K) - cross - cross.transpose(0, 2, 1)
        system += (alone**2).sum(axis=0)[:, None, None] * (gain[:, :, None] * gain[:, None, :])
        system += (_RIDGE * np.maximum(counts, 1))[:, None, None] * np.eye(K)
        pulled = w * self.values
        right = pulled.T @ self.factors - (pulled * self.alone).sum(axis=0)[:, None] * gain
        solved: Array = np.linalg.solve(system, right[..., None])[..., 0].T
        return solved
