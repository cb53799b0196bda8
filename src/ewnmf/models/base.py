"""Models: what is asked of the factors. A model picks the update rule for a loss and a weighting, or refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ewnmf.losses.base import Loss
from ewnmf.models.rule import Facts, Rule
from ewnmf.weightings.base import Weighting

__all__ = ["Model", "check_strength", "refusal"]


def refusal(loss: Loss, other: str, why: str, instead: str) -> ValueError:
    return ValueError(f"loss={loss.name!r} cannot be combined with {other}: {why}. Use {instead}.")


@dataclass(frozen=True)
class Model:
    """Base of the models."""

    name: ClassVar[str] = ""
    signed_basis: ClassVar[bool] = False
    """Whether components may be negative."""
    has_combinations: ClassVar[bool] = False
    """Whether the basis is ``X U``."""
    order: ClassVar[str] = "components-first"
    """Which factor moves first, where nothing else is asked for."""

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """Refuse what is not defined, naming both parts and what would work."""

    def takes_negative(self, loss: Loss) -> bool:
        """Whether the data may be negative under this loss."""
        return False

    def refuses_hidden(self) -> str | None:
        """Why entries cannot be hidden and what to do instead, where that is so."""
        return None

    def refuses_fixed(self) -> str | None:
        """Why components cannot be held fixed and what to do instead, where that is so."""
        return None

    def refuses_priors(self) -> str | None:
        """Why attributes cannot have weights and what to do instead, where that is so."""
        return None

    def remembers_start(self, n_components: int, n_points: float, weighted: bool) -> bool:
        """Whether the size of the first components matters: then they are drawn in that of the data.

        A point counts as often as its weight says, but at least once.
        """
        return False

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """The update rule for this loss and weighting."""
        raise NotImplementedError


def check_strength(parameter: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{parameter}={value!r} must be a finite number of at least 0.")
