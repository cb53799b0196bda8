"""Codes in memory, beside points in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Kept, Measure, Swept, add_arrays
from ewnmf.models.base import Basis, Block, Stats
from ewnmf.storage.base import Answer, Codes
from ewnmf.storage.threads import Workers, single_threaded_blas

if TYPE_CHECKING:
    from ewnmf.storage.dense import Dense

__all__ = ["CodesInMemory"]

_KEPT_BYTES = 1 << 25
"""Weights of all points are kept from sweep to sweep up to this size; recomputed, they are the same to the bit."""


class CodesInMemory(Codes):
    """``H`` and ``U`` as arrays; blocks are views of them, and a sweep writes new ones."""

    def __init__(
        self,
        data: Dense,
        workers: Workers,
        cuts: list[slice],
        H: Array,
        U: Array | None = None,
        weights: Array | None = None,
    ) -> None:
        self._data, self._workers, self._cuts = data, workers, cuts
        self._H, self._U, self._weights = H, U, weights

    def sweep(self, work: Callable[..., Swept], *, keep: bool = False) -> tuple[Codes, Stats, Measure]:
        """New codes, summed statistics and summed measure."""
        there, weights = self._weights is not None, self._take_weights() if keep else None

        def on_block(block: Block, cut: slice) -> Swept:
            if weights is None:
                return work(block, self._H[:, cut])
            return work(block, self._H[:, cut], kept=Kept(weights[:, cut], there))

        with single_threaded_blas():
            H, stats, measure = self._joined(self._answers(on_block))
        return self._moved(H, self._U, weights), stats, measure

    def _joined(self, answers: Iterator[tuple[slice, Swept]]) -> tuple[Array, Stats, Measure]:
        """The codes of all blocks side by side, and their sums; an only block has them as they are to be."""
        cut, (codes, stats, measure) = next(answers)
        if len(self._cuts) == 1 and codes.flags.f_contiguous and codes.dtype == self._H.dtype:
            return codes, stats, measure
        H = self._room(self._H, "F")
        H[:, cut] = codes
        for cut, answer in answers:
            H[:, cut] = answer.H
            stats = add_arrays(stats, answer.stats)
            measure = measure.plus(answer.measure)
        return H, stats, measure

    def combine(self, work: Callable[[Block, Array], tuple[Array, Basis]]) -> tuple[Codes, Basis]:
        """New combinations and the summed basis."""
        old = self._U
        assert old is not None
        new, basis = self._room(old), None
        with single_threaded_blas():
            for cut, (U, share) in self._answers(lambda block, cut: work(block, old[cut])):
                new[cut] = U
                basis = add_arrays(basis, share)
        assert basis is not None
        return self._moved(self._H, new), basis

    def blend(self, before: Codes, function: Callable[[Array, Array], Array]) -> Codes:
        """All codes at once."""
        assert isinstance(before, CodesInMemory)
        return self._moved(function(self._H, before._H), self._U)

    def fold(self, work: Callable[[Block, Array], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """The answers added as they come."""
        with single_threaded_blas():
            answers = self._answers(lambda block, cut: work(block, self._H[:, cut]))
            _, total = next(answers)
            for _, answer in answers:
                total = add(total, answer)
        return total

    def tabulate(self, work: Callable[[Block, Array], Array], n_rows: int) -> Array:
        """The columns in one array."""
        table = np.empty((n_rows, self._data.n_points), dtype=self._data.X.dtype, order="F")
        with single_threaded_blas():
            for cut, columns in self._answers(lambda block, cut: work(block, self._H[:, cut])):
                table[:, cut] = columns
        return table

    def read(self) -> tuple[Array, Array | None]:
        """The arrays themselves."""
        return self._H, self._U

    def _answers(self, work: Callable[[Block, slice], Answer]) -> Iterator[tuple[slice, Answer]]:
        return zip(self._cuts, self._data.map(work, self._workers, self._cuts), strict=True)

    def _moved(self, H: Array, U: Array | None, weights: Array | None = None) -> CodesInMemory:
        return type(self)(self._data, self._workers, self._cuts, H, U, weights)

    def _room(self, like: Array, order: str = "K") -> Array:
        """An array for what a sweep makes."""
        return np.empty_like(like, order=order)  # type: ignore[call-overload, no-any-return]

    def _take_weights(self) -> Array | None:
        """The weights (M x N) that these codes came with, or room for them where they are not too large."""
        weights, self._weights = self._weights, None
        shape, dtype = self._data.X.shape, self._H.dtype
        if weights is None and shape[0] * shape[1] * dtype.itemsize <= _KEPT_BYTES:
            return np.empty(shape, dtype, order="F")
        return weights
