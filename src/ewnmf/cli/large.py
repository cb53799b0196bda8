"""Tables that are read by blocks: those of HDF5 and Zarr, and files that would fill the memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf.datasets import scale_points
from ewnmf.io import Layout, Table, read_table
from ewnmf.io.rows import SUFFIXES
from ewnmf.io.source import Source, Unreadable, available_memory
from ewnmf.storage.blocks import Blocks, open_blocks

__all__ = ["check_kind", "is_large", "read_any", "scaled"]

_SHARE = 4
"""A table that needs more than this part of the free memory is read by blocks: fits and results need some, too."""
_SMALL = 1 << 20
_ALWAYS = ("hdf5", "zarr")


@dataclass(frozen=True, eq=False)
class LargeTable(Table):
    """A table whose values are `Blocks`; whether a model can take them is seen when they are read."""

    @property
    def missing(self) -> int:
        """How many cells are empty; the file is read to count them where there are any."""
        values: Blocks = self.values
        return sum(int(np.isnan(part).sum()) for part in values) if math.isnan(values.min()) else 0

    def check(self) -> Table:
        """Itself."""
        return self

    def refuse_negative(self, whom: str) -> None:
        """Nothing is read for it."""


def is_large(table: Table) -> bool:
    """Whether a table is read by blocks."""
    return isinstance(table, LargeTable)


def check_kind(kind: str) -> None:
    """Refuse to write what is computed by blocks as text."""
    if kind not in ("npy", "parquet"):
        raise Unreadable(f"Results of a file that is read by blocks are not written as {kind}; use npy or parquet.")


def scaled(values: Any) -> Any:
    """Every point brought to [0, 1]; of blocks when they are read."""
    if not isinstance(values, Blocks):
        return scale_points(values)
    return values.map(scale_points, values.shape[1], values.dtype, values.name, values.features)


def read_any(file: str, layout: Layout) -> Table:
    """The table of a file; by blocks where memory would not hold it, or where nothing else reads it."""
    kind = SUFFIXES.get(Path(file.rstrip("/")).suffix.lower()) if layout.kind is None else None
    if kind is None or not (kind in _ALWAYS or Path(file).is_file()):
        return read_table(file, layout)
    if kind not in _ALWAYS and (Path(file).stat().st_size < _SMALL or _fits(file)):
        return read_table(file, layout)
    for option in ("id", "label", "transpose", "drop" if kind != "parquet" else "id"):
        if getattr(layout, option):
            raise Unreadable(f"{file} is read by blocks, for which there is no --{option}; leave it out.")
    columns = None
    if layout.drop:
        known = open_blocks(file).features or ()
        columns = [name for name in known if name not in layout.drop]
    blocks = open_blocks(file, name=layout.variable, columns=columns)
    digest = Source(Path(file), file).sha256() if Path(file).is_file() else ""
    return LargeTable(blocks, file, kind, features=blocks.features, sha256=digest)


def _fits(file: str) -> bool:
    there = available_memory()
    if there is None:
        return True
    try:
        return _SHARE * open_blocks(file).nbytes <= there
    except (ValueError, OSError):
        return True  # whoever reads it says what is wrong
