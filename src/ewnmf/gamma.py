"""What may be asked of gamma, and the rule that settles it during a run."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from ewnmf.losses import Loss

__all__ = ["RELATIVE", "GammaWish", "SelfTuning", "rounding"]

RELATIVE = (16.0, 8.0, 4.0, 2.0, 1.0, 0.5)
"""The gammas that are tried, in units of the mean loss of plain NMF. Above them weights hardly differ from equal ones,
below them most attributes of a point are lost."""
_MULTIPLE = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?) ?x")


@dataclass(frozen=True)
class GammaWish:
    """What the user asks of gamma: a value, a multiple of plain NMF's mean loss, or a rule and what it may try."""

    value: float | None = None
    times: float | None = None
    rule: str | None = None
    relative: tuple[float, ...] = RELATIVE
    gammas: tuple[float, ...] | None = None

    @classmethod
    def named(cls, text: str) -> GammaWish | None:
        """``"auto"``, ``"self-tuned"``, or a multiple such as ``"4x"``; None for any other text."""
        if text in ("auto", "self-tuned"):
            return cls(rule=text)
        found = _MULTIPLE.fullmatch(text.strip())
        try:
            times = float(found[1]) if found else math.nan
        except ValueError:
            return None
        return cls(times=times) if 0 < times < math.inf else None


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

    def settled(self, iteration: int) -> bool:
        """After the last estimate."""
        return iteration >= self.until
