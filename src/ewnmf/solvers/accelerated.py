"""Extrapolated updates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure
from ewnmf.solvers.orders import Run, State

__all__ = ["accelerated"]


def accelerated(run: Run, max_iter: int, first: str) -> Iterator[tuple[State, Measure]]:
    """T, H, W from points beyond the last ones: ``F *= (F / F_before)^b`` with Nesterov's ``b``.

    A point whose ``E`` lies above that of the one before is given up: the run goes back to the last factors that
    a plain step reached, whose ``E`` is higher by rounding alone, and starts to extrapolate anew. Only points that are
    kept are reported, so ``E`` never rises.
    """
    weighting = run.weighting.start()
    if first == "components-first":
        run.move_basis(run.start_sums())
    reached, momentum, last = run.state, 1.0, math.inf
    for number in range(max_iter):
        codes, stats, measure = run.sweep_codes_first((), weighting)
        measure = run.with_penalty(measure)
        if number > 0 and not measure.E <= last:
            run.state, momentum = reached, 1.0
            continue
        if number > 0:
            last = measure.E
            yield run.state, measure
        run.codes = codes
        run.move_basis(stats)
        if weighting is not run.weighting:
            weighting, momentum, last = run.weighting, 1.0, math.inf
        before, reached = reached, run.state
        momentum, step = _next_momentum(momentum)
        if step > 0:
            run.blend(before, partial(_beyond, step=step))
        del before  # its codes may go
    run.state = reached
    measure = run.measure()
    if not measure.E > last:
        yield run.state, measure


def _next_momentum(t: float) -> tuple[float, float]:
    """Nesterov's sequence: the next ``t`` and the share ``(t - 1) / t_next`` of a step to go beyond it."""
    following = (1 + math.sqrt(1 + 4 * t * t)) / 2
    return following, (t - 1) / following


def _beyond(now: Array, before: Array, step: float, floor: float) -> Array:
    """``now * (now / before) ** step``, the ratio held within [1/5, 5]; not below `floor`, where no step can follow."""
    ratio = np.clip(np.divide(now, before, out=np.ones_like(now), where=before > 0), 0.2, 5.0)
    ratio **= ratio.dtype.type(step)
    ratio *= now
    np.maximum(ratio, np.minimum(now, floor), out=ratio)
    return ratio
