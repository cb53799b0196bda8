"""Attributes that go together: two that are far off and agree, as they do elsewhere, are not damaged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.quantiles import column_quantiles

__all__ = ["Pairs"]

_CLOSE = 0.9
"""Attributes belong to each other from this correlation on."""
_TWINS = 0.98
"""And measure the same from this one on, where no third one belongs to them, as in spectra and images all do."""
_AGREE = 2.5
"""They agree up to so many robust standard deviations."""
_TIGHTER = 0.8
"""The other one of a pair says more of an attribute than all together where its spread is so much smaller."""
_NORMAL = 1.4826
_FEWEST, _MOST = 30, 20_000
"""Points, and attributes, by which it can be known what belongs to what."""
_TURNS = 3
"""How often a line is drawn anew through the points that were near the last one."""
_WIDTH = 1024
_REACH = 3.0


class Pairs(NamedTuple):
    """The attribute (m) that goes with every other, itself where none does, and ``x = at + slope * other``, about.

    `spread` is that of the rest, and `close` how alike these two alone are, as a correlation.
    """

    other: Array
    at: Array
    slope: Array
    spread: Array
    close: Array

    @classmethod
    def none(cls, m: int) -> Pairs:
        """No attribute goes with another."""
        return cls(np.arange(m), *np.zeros((4, m)))

    @classmethod
    def of(cls, x: Array, known: Array) -> Pairs:
        """By entries (n x m) in robust standard units, where they are known."""
        n, m = x.shape
        alone = cls.none(m)
        if n < _FEWEST or not 1 < m <= _MOST:
            return alone
        z = np.where(known, np.clip(x, -_REACH, _REACH), 0)
        mean = z.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        z = np.where(known, z - mean, 0)
        size = np.sqrt((z**2).sum(axis=0))
        unit = z / np.where(size > 0, size, 1)
        other, close, third = np.arange(m), np.zeros(m), np.zeros(m)
        for start in range(0, m, _WIDTH):
            part = slice(start, start + _WIDTH)
            products = unit[:, part].T @ unit
            products[np.arange(products.shape[0]), np.arange(m)[part]] = 0
            best = np.abs(products).argmax(axis=1)
            other[part], close[part] = best, products[np.arange(len(best)), best]
            products[np.arange(len(best)), best] = 0
            third[part] = np.abs(products).max(axis=1)
        slope = close * size / np.where(size[other] > 0, size[other], 1)
        both = known & known[:, other]
        at, slope, spread, alike = _refined(x, x[:, other], both, mean - slope * mean[other], slope)
        belong = (np.abs(close) >= _CLOSE) & np.isfinite(spread)
        alike[(third >= _CLOSE) | (third[other] >= _CLOSE)] = 0
        found = (np.where(belong, part, 0) for part in (at, slope, spread, alike))
        return cls(np.where(belong, other, alone.other), *found)

    def twins(self) -> Pairs:
        """Those that measure the same."""
        return self._replace(slope=np.where(self.close >= _TWINS, self.slope, 0))

    def agree(self, x: Array, far: Array, spread: Array) -> Array:
        """Where entries (n x m) that are `far` off agree with the other one of their pair, which is, too.

        That counts where the other one says more of an attribute than all together, whose residuals have this spread.
        """
        found: Array = far & far[:, self.other] & (self.scores(x, spread) <= _AGREE)
        return found

    def scores(self, x: Array, spread: Array) -> Array:
        """How far entries (n x m) are from what the other one of their pair says, in units of its spread.

        It is infinite where that says no more than all together do.
        """
        there = (self.slope != 0) & (self.spread < _TIGHTER * spread)
        with np.errstate(over="ignore", invalid="ignore"):
            away = np.abs(x - self.at - self.slope * x[:, self.other])
        scores: Array = np.divide(away, self.spread, out=np.full(x.shape, np.inf), where=there & (self.spread > 0))
        return scores

    def vouched(self, scores: Array, x: Array, known: Array, spread: Array) -> Array:
        """Scores (n x m), no larger than those by the other one of a pair where that agrees, and both are `known`."""
        own = self.scores(x, spread)
        vouched: Array = np.where(known & known[:, self.other] & (own <= _AGREE), np.minimum(scores, own), scores)
        return vouched


def _refined(x: Array, y: Array, both: Array, at: Array, slope: Array) -> tuple[Array, Array, Array, Array]:
    """Offset, slope, spread and correlation (m each) of columns by others (n x m), from where they agree alone."""
    for turn in range(_TURNS + 1):
        rest = np.where(both, x - at - slope * y, np.nan)
        spread = _NORMAL * column_quantiles(np.abs(rest), 0.5)
        with np.errstate(invalid="ignore"):
            kept = (np.abs(rest) <= _AGREE * spread).astype(np.float64)
        count = np.maximum(kept.sum(axis=0), 1)
        mean, middle = (kept * x).sum(axis=0) / count, (kept * y).sum(axis=0) / count
        dx, dy = kept * (x - mean), kept * (y - middle)
        own, others, common = (dx**2).sum(axis=0), (dy**2).sum(axis=0), (dx * dy).sum(axis=0)
        size = np.sqrt(own * others)
        if turn < _TURNS:
            slope = np.divide(common, others, out=np.zeros_like(slope), where=others > 0)
            at = mean - slope * middle
    return at, slope, spread, np.divide(np.abs(common), size, out=np.zeros_like(slope), where=size > 0)
