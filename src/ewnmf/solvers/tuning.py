"""Gamma tuned during a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ewnmf.losses.base import Loss

__all__ = ["SelfTuning", "rounding"]


def rounding(loss: Loss, scale: float, dtype: np.dtype, n_components: int) -> float:
    """Mean losses up to this, on data of that largest value and dtype, are rounding.

    Sums of K products have K times that of one, and losses are squares near a fit.
    """
    if loss.degree is None:
        return 0.0
    with np.errstate(over="ignore"):
        return float(16 * (n_components * np.finfo(dtype).eps) ** 2 * np.float64(scale) ** loss.degree)


@dataclass(frozen=True)
class SelfTuning:
    """``gamma = factor * mean loss``, taken anew every few iterations of the first part of a run, then kept.

    Weights are uniform until the first estimate. Where the mean loss is 0 (an exact fit, constant data), or so small
    that only rounding is left of it, gamma is infinite: all weights are equal, and the run is plain NMF.

    Parameters
    ----------
    until : int
        The last iteration that may change gamma.
    rounding : float
        Mean losses up to this count as 0.
    factor : float, default=8.0
        8 is the mild choice that harms nowhere.
    every : int, default=5
        Iterations between estimates.
    """

    until: int
    rounding: float = 0.0
    factor: float = 8.0
    every: int = 5

    @classmethod
    def for_run(cls, max_iter: int, rounding: float) -> SelfTuning:
        """The tuner of a run of `max_iter` iterations where mean losses up to `rounding` are none."""
        return cls(until=max(1, min(150, max_iter // 2)), rounding=rounding)

    def propose(self, iteration: int, mean_loss: float) -> float | None:
        """The new gamma after `iteration`, or None between estimates."""
        if iteration % self.every and iteration != self.until:
            return None
        return self.factor * mean_loss if mean_loss > self.rounding else math.inf

    def is_final(self, iteration: int) -> bool:
        """After the last estimate."""
        return iteration >= self.until
