"""What residuals of an attribute have in common with those of a few others, its neighbours.

Components say what all attributes have in common. Pixels next to each other have more than that, as
have neighbouring frequencies: what components leave of one tells what they leave of the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ewnmf._types import Array
from ewnmf.damage.runs import lasting

__all__ = ["Neighbours"]

_COUNT = 4
"""Neighbours of an attribute, at the most."""
_BEYOND = 1.5
"""They are so many times as alike as the most alike of attributes that have nothing to do with each other."""
_TOLD = 0.25
"""Together they tell at least this share of a residual's variance: those damaged tell wrong, which has to pay."""
_RIDGE = 0.1
"""What is added to the variance of neighbours, as a share: coefficients of those that say the same stay small."""
_LEAST = 1e-3
"""Residuals that are smaller than this share of their spread, all of them, are rounding, and near to nothing."""
_FEWEST, _MOST = 30, 20_000
"""Points, and attributes, by which it can be known what is near to what."""
_WIDTH = 1024
_REACH = 3.0
_TURNS = 8
"""How often what is hidden is filled by its neighbours, which may be hidden, too."""


class Neighbours(NamedTuple):
    """Of every attribute (m): its neighbours (m x q, itself where there are fewer) and what they count (m x q).

    `spread` (m) is that of residuals which know of no neighbours.
    """

    near: Array
    counts: Array
    spread: Array

    @classmethod
    def none(cls, spread: Array) -> Neighbours:
        """Nothing is near to anything."""
        m = len(spread)
        return cls(np.zeros((m, 0), dtype=np.int64), np.zeros((m, 0)), spread)

    @classmethod
    def of(cls, residuals: Array, shown: Array, spread: Array) -> Neighbours:
        """By residuals (n x m) of this spread (m), where they are `shown`.

        Chance makes two of m attributes as alike as ``sqrt(2 log m / n)``; neighbours are more alike than that. Where
        the residuals of both last, as those of sensors that drift do, n is the number of times that either begins anew.
        """
        n, m = residuals.shape
        if n < _FEWEST or not 1 < m <= _MOST:
            return cls.none(spread)
        unit = np.where(np.isfinite(spread), spread, 1.0)
        z = np.where(shown, np.clip(residuals / unit, -_REACH, _REACH), 0)
        mean = z.sum(axis=0) / np.maximum(shown.sum(axis=0), 1)
        z = np.where(shown, z - mean, 0)
        size = np.sqrt((z**2).sum(axis=0))
        size[size <= _LEAST * np.sqrt(n)] = np.inf
        z /= size
        near, alike = _nearest(z, min(_COUNT, m - 1))
        anew = np.maximum(n / lasting(residuals, shown), 1)
        there = np.abs(alike) > _BEYOND * np.sqrt(2 * np.log(m) / np.maximum(anew[:, None], anew[near]))
        among = np.array([[(z[:, one] * z[:, other]).sum(axis=0) for one in near.T] for other in near.T]).T
        among = np.where(there[:, :, None] & there[:, None, :], among, 0) + _RIDGE * np.eye(near.shape[1])
        alike = np.where(there, alike, 0)
        counts = np.linalg.solve(among, alike[..., None])[..., 0]
        there &= (counts * alike).sum(axis=1, keepdims=True) >= _TOLD
        size[np.isinf(size)] = 1
        counts = np.where(there, counts * size[:, None] / size[near], 0)
        counts *= unit[:, None] / unit[near]
        return cls(near, counts, spread)

    def predict(self, residuals: Array, hidden: Array) -> Array:
        """What neighbours say of residuals (n x m); those that are `hidden` as their own neighbours have it."""
        if not self.counts.any():
            return np.zeros(residuals.shape)
        table = self._table(self.counts)
        filled = np.where(hidden, 0, residuals).T
        some = np.flatnonzero(hidden.any(axis=1))
        part, hide = filled[:, some], hidden[some].T
        for _ in range(_TURNS if some.size else 0):
            np.copyto(part, table @ part, where=hide)
        filled[:, some] = part
        predicted: Array = (table @ filled).T
        return predicted

    def _table(self, values: Array) -> csr_array:
        """What neighbours count (m x m), by values for each of them (m x q)."""
        m, q = self.near.shape
        return csr_array((values.ravel(), self.near.ravel(), np.arange(0, m * q + 1, q)), shape=(m, m))

    def unsure(self, hidden: Array, spread: Array) -> Array:
        """How much wider residuals (n x m) are where neighbours are `hidden`, in units of their `spread` (m)."""
        if not self.counts.any() or not hidden.any():
            return np.ones(hidden.shape)
        whole = np.where(np.isfinite(self.spread), self.spread, 0)
        added = self._table((self.counts * whole[self.near] / spread[:, None]) ** 2) @ hidden.T.astype(np.float64)
        wider: Array = np.minimum(np.sqrt(1 + added.T), np.maximum(whole / spread, 1))
        return wider

    def first(self, scores: Array, far: Array, hidden: Array) -> Array:
        """Which entries that are `far` off (n x m) are hidden already, or farther off than all such neighbours.

        The others may be off because of these, and are judged again without them.
        """
        new = np.where(far & ~hidden, scores, 0).T
        most = np.zeros(new.shape)
        for near, counts in zip(self.near.T, self.counts.T, strict=True):
            np.maximum(most, new[near] * (counts != 0)[:, None], out=most)
        found: Array = far & (hidden | (new >= most).T)
        return found


def _nearest(unit: Array, count: int) -> tuple[Array, Array]:
    """The columns (m x q) that are most alike every column of a table (n x m), and how alike."""
    m = unit.shape[1]
    near, alike = np.empty((m, count), dtype=np.int64), np.empty((m, count))
    for at in range(0, m, _WIDTH):
        part = slice(at, min(at + _WIDTH, m))
        products = unit[:, part].T @ unit
        products[np.arange(products.shape[0]), np.arange(m)[part]] = 0
        best = np.argpartition(-np.abs(products), count - 1, axis=1)[:, :count]
        near[part], alike[part] = best, np.take_along_axis(products, best, axis=1)
    return near, alike
