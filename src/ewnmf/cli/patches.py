"""One image as a table: its patches are the points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ewnmf._types import Array

__all__ = ["SIDE", "Patches"]

SIDE = 8
"""Pixels of a patch's side."""


@dataclass(frozen=True)
class Patches:
    """How an image of `height` x `width` pixels is cut into squares, side by side, its edges repeated where needed."""

    height: int
    width: int

    @property
    def grid(self) -> tuple[int, int]:
        """How many squares there are, down and across."""
        return -(-self.height // SIDE), -(-self.width // SIDE)

    def cut(self, pixels: Array) -> Array:
        """The patches (n x SIDE^2), row by row."""
        rows, columns = self.grid
        wide = np.pad(pixels, ((0, rows * SIDE - self.height), (0, columns * SIDE - self.width)), mode="edge")
        squares = wide.reshape(rows, SIDE, columns, SIDE).swapaxes(1, 2)
        return np.ascontiguousarray(squares.reshape(rows * columns, SIDE * SIDE), dtype=np.float64)

    def join(self, patches: Array) -> Array:
        """The image (height x width) of patches."""
        rows, columns = self.grid
        squares = patches.reshape(rows, columns, SIDE, SIDE).swapaxes(1, 2)
        return squares.reshape(rows * SIDE, columns * SIDE)[: self.height, : self.width]

    def holds(self, patches: Array, entries: Array) -> Array:
        """Whether entries of patches are in the image, and no repeated edge."""
        row, column = self.place(patches, entries)
        return (row < self.height) & (column < self.width)

    def place(self, patches: Array, entries: Array) -> tuple[Array, Array]:
        """Row and column in the image of entries of patches."""
        down, across = np.divmod(patches, self.grid[1])
        row, column = np.divmod(entries, SIDE)
        return down * SIDE + row, across * SIDE + column
