"""Extrapolated updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure
from ewnmf.solvers.orders import Run, State

__all__ = ["PATIENCE", "accelerated", "along", "beyond"]

PATIENCE = 10
"""Iterations for which a run may stand still: momentum that leads astray is noticed when ``E`` rises."""


def accelerated(run: Run, max_iter: int, first: str, onwards: Callable[..., Array]) -> Iterator[tuple[State, Measure]]:
    """T, H, W from points beyond the last ones, which `onwards` finds with Nesterov's steps.

    Entries of the basis go beyond by their share of the weights, so that nothing runs away where weights were lost.
    A point whose ``E`` lies above that of the one before is given up: the run goes back to the last factors that
    a plain step reached, whose ``E`` is higher by rounding alone, and starts to extrapolate anew. Where it is, nothing
    is left to gain. Only points that are kept are reported, so ``E`` never rises.
    """
    weighting = run.weighting.start()
    if first == "components-first":
        run.move_basis(run.start_sums())
    reached, momentum, last = run.state, 1.0, math.inf
    kept, plain = (run.state, Measure()), True
    for number in range(max_iter):
        codes, stats, measure = run.sweep_codes_first((), weighting)
        measure = run.with_penalty(measure)
        if number > 0 and not measure.E <= last:
            if plain:
                yield kept
            if weighting is not run.weighting:
                weighting, last = run.weighting, math.inf
            run.state, momentum, plain = reached, 1.0, True
            continue
        if number > 0:
            last, kept = measure.E, (run.state, measure)
            yield kept
        run.codes = codes
        shares = run.weight_shares(stats)
        run.move_basis(stats)
        if weighting is not run.weighting:
            weighting, momentum, last = run.weighting, 1.0, math.inf
        before, reached = reached, run.state
        momentum, step = _next_momentum(momentum)
        plain = step == 0
        if not plain:
            run.blend(before, onwards, step, shares)
        del before  # its codes may go
    run.state = reached
    measure = run.measure()
    if not measure.E > last:
        yield run.state, measure


def _next_momentum(t: float) -> tuple[float, float]:
    """Nesterov's sequence: the next ``t`` and the share ``(t - 1) / t_next`` of a step to go beyond it."""
    following = (1 + math.sqrt(1 + 4 * t * t)) / 2
    return following, (t - 1) / following


def beyond(now: Array, before: Array, step: float | Array, floor: float) -> Array:
    """``now * (now / before) ** step``, the ratio held within [1/5, 5]; not below `floor`, where no step can follow."""
    ratio = np.clip(np.divide(now, before, out=np.ones_like(now), where=before > 0), 0.2, 5.0)
    ratio **= np.asarray(step, ratio.dtype)
    ratio *= now
    np.maximum(ratio, np.minimum(now, floor), out=ratio)
    return ratio


def along(now: Array, before: Array, step: float | Array, floor: float) -> Array:
    """``max(now + step (now - before), 0)``, for steps that leave 0 again."""
    further = now - before
    further *= np.asarray(step, further.dtype)
    further += now
    np.maximum(further, 0, out=further)
    return further
