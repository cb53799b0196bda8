"""No weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy

__all__ = ["Uniform"]


@dataclass(frozen=True)
class Uniform(Weighting):
    """Every attribute counts alike: plain NMF, Eq. (2)."""

    name: ClassVar[str] = "none"
    unit_free: ClassVar[bool] = True
    meaning: ClassVar[str] = "all entries alike."
    weighted: ClassVar[bool] = False

    def scalar(self, dtype: Any) -> Any:
        """None: the weights do not depend on losses."""
        return None

    @property
    def shown(self) -> Weighting:
        """Equal shares, as at an infinite gamma; a subclass with weights of its own shows those."""
        return self if self.weighted else Entropy(math.inf)
