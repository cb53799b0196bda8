"""Weightings by name."""

from __future__ import annotations

import math
from typing import Any

from ewnmf.naming import unknown_name
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.concave import L1, Cauchy, Huber, Welsch
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from ewnmf.weightings.uniform import Uniform

__all__ = ["WEIGHTINGS", "resolve", "with_gamma"]

WEIGHTINGS: dict[str, type[Weighting]] = {cls.name: cls for cls in (Entropy, Fixed, Uniform, Welsch, Cauchy, Huber, L1)}
"""All that can be asked for by name."""


def with_gamma() -> list[str]:
    """The names of those that have a gamma."""
    return [name for name, cls in WEIGHTINGS.items() if cls.has_gamma]


def resolve(weighting: str | Weighting, gamma: float | None = None) -> Weighting:
    """The weighting of that name (infinite where it takes `gamma` and none is given), or the object itself."""
    if isinstance(weighting, Weighting):
        return weighting
    if weighting not in list(WEIGHTINGS):
        raise unknown_name("weighting", weighting, WEIGHTINGS)
    known = WEIGHTINGS[weighting]
    parameters: dict[str, Any] = {"gamma": math.inf if gamma is None else gamma} if known.has_gamma else {}
    return known(**parameters)
