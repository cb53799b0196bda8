"""Attributes that go together: two that are far off and agree, as they do elsewhere, are not damaged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.quantiles import column_quantiles

__all__ = ["Pairs"]

_CLOSE = 0.9
"""Attributes belong to each other from this correlation on."""
_AGREE = 2.5
"""They agree up to so many robust standard deviations."""
_TIGHTER = 0.8
"""The other one of a pair says more of an attribute than all together where its spread is so much smaller."""
_NORMAL = 1.4826
_FEWEST, _MOST = 30, 20_000
"""Points, and attributes, by which it can be known what belongs to what."""
_WIDTH = 1024
_REACH = 3.0


class Pairs(NamedTuple):
    """The attribute (m) that goes with every other, itself where none does, and ``x = at + slope * other``, about."""

    other: Array
    at: Array
    slope: Array
    spread: Array

    @classmethod
    def of(cls, x: Array, known: Array) -> Pairs:
        """By entries (n x m) in robust standard units, where they are known."""
        n, m = x.shape
        alone = cls(np.arange(m), np.zeros(m), np.zeros(m), np.zeros(m))
        if n < _FEWEST or not 1 < m <= _MOST:
            return alone
        z = np.where(known, np.clip(x, -_REACH, _REACH), 0)
        mean = z.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        z = np.where(known, z - mean, 0)
        size = np.sqrt((z**2).sum(axis=0))
        unit = z / np.where(size > 0, size, 1)
        other, close = np.arange(m), np.zeros(m)
        for at in range(0, m, _WIDTH):
            part = slice(at, at + _WIDTH)
            alike = unit[:, part].T @ unit
            alike[np.arange(alike.shape[0]), np.arange(m)[part]] = 0
            best = np.abs(alike).argmax(axis=1)
            other[part], close[part] = best, alike[np.arange(len(best)), best]
        slope = close * size / np.where(size[other] > 0, size[other], 1)
        rest = np.where(known & known[:, other], z - slope * z[:, other], np.nan)
        spread = _NORMAL * column_quantiles(np.abs(rest), 0.5)
        belong = (np.abs(close) >= _CLOSE) & np.isfinite(spread)
        return cls(
            np.where(belong, other, alone.other),
            np.where(belong, mean - slope * mean[other], 0),
            np.where(belong, slope, 0),
            np.where(belong, spread, 0),
        )

    def agree(self, x: Array, far: Array, spread: Array) -> Array:
        """Where entries (n x m) that are `far` off agree with the other one of their pair, which is, too.

        That counts where the other one says more of an attribute than all together, whose residuals have this spread.
        """
        there = (self.slope != 0) & (self.spread < _TIGHTER * spread)
        away = np.abs(x - self.at - self.slope * x[:, self.other])
        found: Array = far & far[:, self.other] & there & (away <= _AGREE * self.spread)
        return found
