"""Weights that the user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ewnmf.weightings.base import Weighting

__all__ = ["Fixed"]


@dataclass(frozen=True)
class Fixed(Weighting):
    """Given weights, one for every entry, which stay as they are: the paper's "hard" WNMF."""

    name: ClassVar[str] = "fixed"
    unit_free: ClassVar[bool] = True
    meaning: ClassVar[str] = "the weights given to `fit`."
    takes_weights: ClassVar[bool] = True

    def scalar(self, dtype: Any) -> Any:
        """None: the weights do not depend on losses."""
        return None
