"""Weightings by name."""

from __future__ import annotations

import math

from ewnmf.naming import unknown_name
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from ewnmf.weightings.uniform import Uniform

__all__ = ["resolve"]


def resolve(weighting: str | Weighting, gamma: float | None = None) -> Weighting:
    """The weighting of that name (``"entropy"`` takes `gamma`), or the object itself."""
    if isinstance(weighting, Weighting):
        return weighting
    if weighting == Entropy.name:
        return Entropy(math.inf if gamma is None else gamma)
    for known in (Uniform, Fixed):
        if weighting == known.name:
            return known()
    raise unknown_name("weighting", weighting, [Uniform.name, Fixed.name, Entropy.name])
