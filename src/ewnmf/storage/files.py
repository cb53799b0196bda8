"""Points in a file, or computed, and their codes in a file beside them."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.models.base import Block, Facts
from ewnmf.problem import Problem
from ewnmf.storage.base import Answer, Codes
from ewnmf.storage.dense import Dense
from ewnmf.storage.memory import CodesInMemory
from ewnmf.storage.priors import PriorColumns
from ewnmf.storage.threads import Workers

__all__ = ["Filed", "room"]

_IN_MEMORY = 1 << 26
"""Codes of at most so many bytes stay in memory."""


def room(shape: tuple[int, int], dtype: Any, order: Any = "C") -> Array:
    """An array to be filled, in a temporary file where it is large; the file goes with the array.

    The file has its size from the start: a disk that fills up later would end the process.
    """
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if size <= _IN_MEMORY:
        return np.empty(shape, dtype, order)
    folder = tempfile.gettempdir()
    with tempfile.TemporaryFile(prefix="ewnmf-codes-", dir=folder) as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise
            free = shutil.disk_usage(folder).free
            raise OSError(
                error.errno,
                f"Codes of {shape[0]} x {shape[1]} numbers need {size / 1e9:.3g} GB in {folder}, and "
                f"{free / 1e9:.3g} GB are free; set TMPDIR to a folder with more room, or choose fewer components.",
            ) from error
        return np.memmap(file, dtype, "r+", shape=shape, order=order)


class CodesInFile(CodesInMemory):
    """``H`` and ``U`` in temporary files, where they are large; blocks are views of them."""

    def blend(self, before: Codes, function: Callable[[Array, Array], Array]) -> Codes:
        """Block by block."""
        assert isinstance(before, CodesInFile)
        H = self._room(self._H, "F")
        for cut in self._cuts:
            H[:, cut] = function(self._H[:, cut], before._H[:, cut])
        return self._moved(H, self._U)

    def _room(self, like: Array, order: str = "K") -> Array:
        fortran = order == "F" or (like.flags.f_contiguous and not like.flags.c_contiguous)
        return room((like.shape[0], like.shape[1]), like.dtype, "F" if fortran else "C")


@dataclass(frozen=True)
class Filed(Dense):
    """Points (M x N) that are read while others are worked on, in the cuts of memory."""

    X: Any
    P: Any = None

    def facts(self, problem: Problem) -> Facts:
        """What the update rules may know of the data; none may ask for all points at once."""
        return replace(super().facts(problem), gram=None)

    def part(self, cut: slice) -> Dense:
        """Some consecutive points, which are read."""
        P, s = None if self.P is None else self.P[:, cut], None if self.s is None else self.s[cut]
        return Dense(self.X[:, cut], P, s, self.width, unit=self.unit, known_extremes=self.extremes)

    def zero_attributes(self) -> Array:
        """The attributes that were observed, and are zero wherever they were."""
        if not isinstance(self.P, PriorColumns):
            return super().zero_attributes()
        left = np.flatnonzero(self.P.priors.any(axis=0))
        for block, _ in self._blocks(self.cuts()):
            if left.size == 0:
                break
            assert block.P is not None
            left = left[~((block.X[left] != 0) & (block.P[left] > 0)).any(axis=1)]
        return left

    def _blind(self, attributes: Array) -> Array:
        """Which points (N) show none of these attributes; those with gaps are read for it."""
        if not isinstance(self.P, PriorColumns):
            alike = self.P.strides[1] == 0
            blind = ~np.any(self.P[attributes][:, :1] > 0 if alike else self.P[attributes] > 0, axis=0)
            return np.broadcast_to(blind, self.n_points)
        parts = [~np.any(block.P[attributes] > 0, axis=0) for block, _ in self._blocks(self.cuts())]  # type: ignore[index]
        return np.concatenate(parts)

    def hold(self, H: Array, U: Array | None = None, *, workers: Workers, whole: bool = False) -> Codes:
        """Codes in a file."""
        return CodesInFile(self, workers, self.cuts(), H, U)

    def map(self, work: Callable[[Block, slice], Answer], workers: Workers, cuts: Iterable[slice]) -> Iterator[Answer]:
        """``work`` on every block, the answers in the order of the blocks, which are read ahead."""
        return workers.stream(lambda item: work(*item), self._blocks(list(cuts)))

    def _blocks(self, cuts: list[slice]) -> Iterator[tuple[Block, slice]]:
        """The blocks of consecutive cuts; several are read at once."""
        blocks, priors = self.X.blocks, self.P.priors if isinstance(self.P, PriorColumns) else None
        groups: list[list[slice]] = []
        for cut in cuts:
            if not groups or cut.stop - groups[-1][0].start > blocks.height:
                groups.append([])
            groups[-1].append(cut)
        spans = [slice(group[0].start, group[-1].stop) for group in groups]
        source = blocks if priors is None else blocks.marked
        for group, (span, rows) in zip(groups, source.stream(spans), strict=True):
            for cut in group:
                X = rows[cut.start - span.start : cut.stop - span.start]
                if priors is None:
                    P = None if self.P is None else np.array(self.P[:, cut], order="F")
                else:
                    X, P = blocks.filling(X), priors.of(~np.isnan(X), cut).T
                yield Block(X.T, P, None if self.s is None else self.s[cut], self.silent), cut
