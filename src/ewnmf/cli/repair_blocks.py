"""``ewnmf repair`` of tables that are read by blocks: written as they are mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.repair import repaired
from ewnmf.estimators.repairer import Repairer
from ewnmf.io.row_writers import write_rows
from ewnmf.io.rows import SUFFIXES
from ewnmf.io.source import Unreadable
from ewnmf.storage.blocks import Blocks

__all__ = ["Tally", "check_suffix", "write_mended"]

LISTED = 1_000_000
"""Suspects that are kept to be listed, the worst."""


def check_suffix(path: str) -> None:
    """Refuse a name for the result that is not written by blocks."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise Unreadable(f"A file that is read by blocks is not written to {path}; use one of {', '.join(SUFFIXES)}.")


@dataclass
class Tally:
    """What was found so far: how many entries of every attribute, in how many points, and the worst of them."""

    counts: Array
    n_points: int = 0
    lost: int = 0
    listed: tuple[Array, ...] = field(default=())
    """Rows, columns, numbers (value, expected value and trust) and scores."""

    def add(self, first: int, x: Array, verdict: Any, suspects: Array, lost: int) -> None:
        """Take in the verdict on the points from row `first` on."""
        at = rows, columns = np.nonzero(suspects)
        self.counts += np.bincount(columns, minlength=self.counts.size)
        self.n_points += int(suspects.any(axis=1).sum())
        self.lost += lost
        numbers = np.stack([x[at], verdict.expected[at], verdict.trust[at]], axis=1)
        found = rows + first, columns, numbers, verdict.scores[at]
        self.listed = found if not self.listed else tuple(map(np.concatenate, zip(self.listed, found, strict=True)))
        if self.listed[3].size > 2 * LISTED:
            self._keep_worst()

    def _keep_worst(self) -> None:
        order = np.argsort(-self.listed[3], kind="stable")[:LISTED]
        self.listed = tuple(part[order] for part in self.listed)

    def close(self) -> None:
        """The worst first."""
        self._keep_worst()


def write_mended(model: Repairer, blocks: Blocks, path: str, force: bool, finish: Callable[[Tally], None]) -> Tally:
    """Write the repaired rows as they are mended; `finish` is called before the file appears."""
    tally, share = Tally(np.zeros(blocks.shape[1], dtype=np.int64)), model._replaced(model.false_alarms)
    model._warn_of_few(share)

    def parts() -> Iterator[Array]:
        first = 0
        for part in blocks:
            for x, verdict, suspects, lost in model._decided(part, share, None):
                tally.add(first, x, verdict, suspects, lost)
                first += len(x)
                yield repaired(x, verdict, suspects, soft=model.soft)
        tally.close()
        finish(tally)

    names = blocks.features or tuple(f"x{j}" for j in range(blocks.shape[1]))
    write_rows(path, blocks.shape, blocks.dtype, parts(), names, blocks.height, force)
    return tally
