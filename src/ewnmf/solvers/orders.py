"""The two orders of an iteration: which factor moves first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Kept, Measure, Swept
from ewnmf.models.rule import Block, Factors
from ewnmf.solvers.run import Run

__all__ = ["ORDERS", "codes_first", "components_first"]

_KEPT_BYTES = 1 << 25
"""Weights of all points are kept from sweep to sweep up to this size; recomputed, they are the same to the bit."""


def components_first(run: Run, max_iter: int) -> Iterator[tuple[Factors, Measure]]:
    """W, H, T with uniform weights in the first round: the authors' program."""
    stats, before = run.start_sums(), (run.basis, run.weighting.start())
    T = _room_for_weights(run)
    for number in range(max_iter):
        run.move_basis(stats)
        basis, shared, last, kernel = run.basis, run.shared(stats), before, run.kernel

        def work(block: Block, H: Array, cut: slice) -> Swept:
            kept = None if T is None else Kept(T[:, cut], number > 0)  # noqa: B023
            return kernel.sweep_components_first(block, H, basis, shared, last, kept)  # noqa: B023

        run.H, stats, measure = run.sweep(work)
        before = (run.basis, run.weighting)
        yield run.factors(), run.with_penalty(measure)


def _room_for_weights(run: Run) -> Array | None:
    """Where weights stay for the next sweep (M x N), if the kernel can use them and they are not too large."""
    shape = run.data.X.shape
    small = shape[0] * shape[1] * run.H.dtype.itemsize <= _KEPT_BYTES
    return np.empty(shape, run.H.dtype, order="F") if small and run.kernel.keeps_weights else None


def codes_first(run: Run, max_iter: int) -> Iterator[tuple[Factors, Measure]]:
    """T, H, W with uniform weights in the first round; an iteration is measured by the sweep after it."""
    stats = run.start_sums() if run.kernel.rule.shares_sums else ()
    weighting = run.weighting.start()
    for number in range(max_iter):
        basis, shared, at, kernel = run.basis, run.shared(stats), weighting, run.kernel
        H, stats, measure = run.sweep(
            lambda block, H, _: kernel.sweep_codes_first(block, H, basis, shared, at)  # noqa: B023
        )
        if number > 0:
            yield run.factors(), run.with_penalty(measure)
        run.H = H
        run.move_basis(stats)
        weighting = run.weighting
    yield run.factors(), run.measure()


ORDERS = {"components-first": components_first, "codes-first": codes_first}
