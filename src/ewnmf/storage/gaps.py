"""Rows of a file of which some entries are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.rows import Rows
from ewnmf.storage.blocks import Blocks
from ewnmf.storage.priors import Survey

__all__ = ["Gapped", "masked_blocks"]


class _Fill:
    """Puts a number in place of NaN; a function that other processes can be sent."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, rows: Array) -> Array:
        filled: Array = np.where(np.isnan(rows), self.value, rows)
        return filled


class Gapped(Blocks):
    """Blocks whose missing entries are NaN in `marked`, and a number that counts nowhere in what is read of them.

    Parameters
    ----------
    marked : Blocks
        The rows as they are in the file.
    fill : float
        The number.
    """

    def __init__(self, marked: Blocks, fill: Any) -> None:
        self.marked, self.filling = marked, _Fill(marked.dtype.type(fill))
        filled = marked.map(self.filling, marked.shape[1], marked.dtype, marked.name, marked.features)
        super().__init__(filled._rows, marked.height)
        low, high = marked.observed
        self.__dict__["_extremes"] = float(np.fmin(low, fill)), float(np.fmax(high, fill)), False

    def __getitem__(self, rows: Any) -> Any:
        part = self.marked[rows]
        return Gapped(part, self.filling.value) if isinstance(part, Blocks) else self.filling(part)

    def __mul__(self, factor: Any) -> Gapped:
        return Gapped(self.marked * factor, self.filling.value * self.dtype.type(factor))

    def seen(self, rows: Any) -> Array:
        """Where entries of some rows are not missing."""
        seen: Array = ~np.isnan(self.marked[rows])
        return seen

    def survey(self, known: Array | None) -> Survey:
        """What is to be known of the priors of all rows; they are read for it, once."""
        total: Survey | None = None
        for cut, part in self.marked.stream(self.marked.cuts()):
            here = known if known is None or known.ndim == 1 else known[cut]
            found = Survey.of(~np.isnan(part), here, self.dtype)
            total = found if total is None else total.plus(found)
        assert total is not None
        return total


class _Masked(Rows):
    """Rows with NaN where a mask is False."""

    def __init__(self, blocks: Blocks, mask: Any) -> None:
        self.name, self._blocks, self._mask, self.features = blocks.name, blocks, mask, blocks.features
        self.shape, self.dtype = blocks.shape, blocks.dtype

    def read(self, start: int, stop: int) -> Array:
        """The rows from `start` to `stop`."""
        return hidden_by(self._blocks[start:stop], self._mask[start:stop])


def hidden_by(rows: Array, mask: Any) -> Array:
    """Rows with NaN where a mask is False."""
    shown = np.asarray(mask)
    if shown.dtype != bool and not np.isin(shown, (0, 1)).all():
        raise ValueError("mask has values other than True and False (1 and 0); give True where an entry was observed.")
    marked: Array = np.where(shown.astype(bool), rows, rows.dtype.type(np.nan))
    return marked


def masked_blocks(blocks: Blocks, mask: Any) -> Blocks:
    """Blocks with NaN where a mask (n x m; an array, also one in a file, or `Blocks`) is False."""
    mask = mask if isinstance(mask, Blocks | np.ndarray) or hasattr(mask, "chunks") else np.asarray(mask)
    check_mask_shape(mask.shape, blocks.shape)
    return Blocks(_Masked(blocks, mask), blocks.height)


def check_mask_shape(shape: Sequence[int], wanted: Sequence[int]) -> None:
    """Refuse a mask of another shape."""
    if tuple(shape) != tuple(wanted):
        raise ValueError(
            f"mask has shape {tuple(shape)}, but X has shape {tuple(wanted)}; give one value for every entry."
        )
