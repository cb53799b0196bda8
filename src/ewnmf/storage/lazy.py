"""Matrices that are not in memory as a whole."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Lazy", "Place"]


class Lazy:
    """A matrix that is not in memory as a whole: in a file, computed, or on other machines."""

    name: str
    """What messages call it."""


class Place(NamedTuple):
    """Where an entry stands."""

    block: int
    row: int
    column: int

    def __str__(self) -> str:
        return f"block {self.block}, row {self.row}, column {self.column}"
