"""A problem is loss x model x weighting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ewnmf import losses, models, weightings
from ewnmf.models.base import Facts, Rule

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """``min sum_ij A_ij d(x_ij, (W H)_ij)`` plus what the weighting and the model add; refused where undefined."""

    loss: losses.Loss
    model: models.Model
    weighting: weightings.Weighting

    def __post_init__(self) -> None:
        self.model.check(self.loss, self.weighting)

    @classmethod
    def of(
        cls,
        loss: str | losses.Loss = "euclidean",
        model: str | models.Model = "nmf",
        weighting: str | weightings.Weighting = "none",
        *,
        alpha: float = 0.5,
        gamma: float | None = None,
    ) -> Problem:
        """The problem of these names or objects."""
        return cls(losses.resolve(loss, alpha), models.resolve(model), weightings.resolve(weighting, gamma))

    def at(self, weighting: weightings.Weighting) -> Problem:
        """The same problem under another weighting."""
        return replace(self, weighting=weighting)

    def at_gamma(self, gamma: float) -> Problem:
        """The same problem at another gamma of its weighting."""
        return self.at(self.weighting.at(gamma))

    @property
    def has_unit(self) -> bool:
        """Whether ``c * X`` has the solution of ``X``, but for its unit, under a weighting that is known."""
        return self.loss.degree is not None and self.weighting.times(1.0) is not None

    def cost(self, unit: float) -> float:
        """What losses are multiplied by where the data is by `unit`."""
        return 1.0 if unit == 1 or self.loss.degree is None else unit**self.loss.degree

    def times(self, unit: float) -> Problem:
        """The problem that data multiplied by `unit` has in place of this one; penalties take it from `Facts`."""
        weighting = self.weighting if unit == 1 else self.weighting.times(self.cost(unit))
        return self if weighting is None or weighting is self.weighting else self.at(weighting)

    def sized(self, scale: float, dtype: Any) -> Problem:
        """The problem for data whose largest value is `scale`; most weightings do not depend on that."""
        weighting = self.weighting.sized(self.cost(scale), dtype)
        return self if weighting is self.weighting else self.at(weighting)

    @property
    def takes_negative(self) -> bool:
        """Whether the data may be negative."""
        return self.model.takes_negative(self.loss)

    def rule(self, facts: Facts, *, coordinates: bool = False) -> Rule:
        """How the factors move: by the steps of the model, or by coordinate descent."""
        make = self.model.coordinate_rule if coordinates else self.model.rule
        return make(self.loss, self.weighting, facts)

    def looks_at_stored(self, rule: Rule) -> bool:
        """Whether blocks stay sparse: few stored entries, no weights, zeros that are all alike, products only.

        Equal weights that are not 1 count as none where codes alone are asked for; a fit has their sums, too.
        """
        even = not self.weighting.weighted or (self.weighting.even and rule.takes_any_unit)
        alike = self.is_known and even and self.loss.zero_cost is not None
        return rule.facts.stored and alike and rule.products_only

    @property
    def is_known(self) -> bool:
        """Whether loss and weighting have scalar forms, which can be compiled."""
        return not self.foreign

    @property
    def foreign(self) -> dict[str, object]:
        """The loss and the weighting, where their class brings no scalar form itself: an inherited one is another's."""
        parts = {"loss": self.loss, "weighting": self.weighting}
        return {name: part for name, part in parts.items() if "scalar" not in vars(type(part))}
