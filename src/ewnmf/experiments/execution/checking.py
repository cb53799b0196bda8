"""Rows computed again and compared with what is stored."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ewnmf.experiments.protocol.spec import Row

__all__ = ["TOLERANCE", "Comparison", "chosen", "compared"]

TOLERANCE = 1e-6
"""Figures are the same within this share of themselves: another processor or BLAS may round otherwise."""


@dataclass(frozen=True)
class Comparison:
    """A stored row and the figures that came out now: whether to the bit, and those that differ, stored and new."""

    row: Row
    exact: bool
    differing: Mapping[str, tuple[float | None, float | None]]

    def __str__(self) -> str:
        if self.exact:
            return f"{self.row.spec}: the same to the bit"
        if not self.differing:
            return f"{self.row.spec}: the same within {TOLERANCE:g}"
        text = ", ".join(f"{name} {stored!r} is now {new!r}" for name, (stored, new) in self.differing.items())
        return f"{self.row.spec}: differs, {text}"


def chosen(rows: Sequence[Row], count: int, seed: int) -> list[Row]:
    """So many of the rows, drawn by the seed, whatever order they come in."""
    ordered = sorted(rows, key=lambda row: row.key)
    drawn = random.Random(seed).sample(ordered, min(count, len(ordered)))
    return sorted(drawn, key=lambda row: row.spec.order)


def compared(row: Row, figures: Mapping[str, float]) -> Comparison:
    """A stored row against figures that were computed again."""
    names = sorted(row.figures.keys() | figures.keys())
    pairs = {name: (row.figures.get(name), figures.get(name)) for name in names}
    return Comparison(row, row.figures == figures, {name: pair for name, pair in pairs.items() if not _close(*pair)})


def _close(stored: float | None, new: float | None) -> bool:
    if stored is None or new is None:
        return False
    return (math.isnan(stored) and math.isnan(new)) or math.isclose(stored, new, rel_tol=TOLERANCE, abs_tol=1e-12)
