"""Rows that are made of those of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.rows import Rows
from ewnmf.io.source import Unreadable

if TYPE_CHECKING:
    from ewnmf.storage.blocks import Blocks

__all__ = ["Chosen", "Made", "Refused", "Times"]


class Refused(Unreadable):
    """Rows that were read, or should have been, and could not be worked on; the message says all."""


class Times:
    """Multiplies; a function that other processes can be sent."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __call__(self, rows: Array) -> Array:
        multiplied: Array = rows * self.factor
        return multiplied


class Made(Rows):
    """Rows that are computed from others, each alone or in blocks."""

    def __init__(
        self, blocks: Blocks, function: Callable[[Array], Any], n_columns: int, dtype: Any, name: str, features: Any
    ) -> None:
        self.name, self._blocks, self._function, self.features = name, blocks, function, features
        self._check((blocks.shape[0], n_columns), dtype)

    def read(self, start: int, stop: int) -> Array:
        """The rows from `start` to `stop`, computed now."""
        rows = self._blocks[start:stop]
        try:
            return np.asarray(self._function(rows))
        except ValueError as error:
            raise Refused(f"{error} (Among rows {start} to {stop - 1} of {self._blocks.name}.)") from error


class Chosen(Rows):
    """Some of the rows of others."""

    def __init__(self, blocks: Blocks, numbers: Array) -> None:
        self.name, self._blocks, self._numbers, self.features = blocks.name, blocks, numbers, blocks.features
        self.shape, self.dtype = (numbers.size, blocks.shape[1]), blocks.dtype

    def read(self, start: int, stop: int) -> Array:
        """The rows from `start` to `stop`: read in the order of the file, those that are near together."""
        numbers = self._numbers[start:stop]
        order, height = np.argsort(numbers, kind="stable"), self._blocks.height
        part = np.empty((numbers.size, self.shape[1]), self.dtype)
        at = 0
        while at < order.size:
            first = int(numbers[order[at]])
            end = at + int(np.searchsorted(numbers[order[at:]], first + height))
            last = int(numbers[order[end - 1]]) + 1
            part[order[at:end]] = self._blocks[first:last][numbers[order[at:end]] - first]
            at = end
        return part
