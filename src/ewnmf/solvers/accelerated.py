"""Extrapolated updates."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure
from ewnmf.models.rule import Factors
from ewnmf.solvers.run import Run

__all__ = ["accelerated"]


def accelerated(run: Run, max_iter: int, first: str) -> Iterator[tuple[Factors, Measure]]:
    """T, H, W from points beyond the last ones: ``F *= (F / F_before)^b`` with Nesterov's ``b``.

    A point whose ``E`` lies above that of the one before is given up: the run goes back to the last factors that
    a plain step reached, whose ``E`` is never higher, and starts to extrapolate anew. Only points that are kept
    are reported, so ``E`` never rises.
    """
    weighting = run.weighting.start()
    if first == "components-first":
        run.move_basis(run.start_sums())
    reached, momentum, last = run.factors(), 1.0, math.inf
    for number in range(max_iter):
        basis, shared, at, kernel = run.basis, run.shared(()), weighting, run.kernel
        H, stats, measure = run.sweep(
            lambda block, H, _: kernel.sweep_codes_first(block, H, basis, shared, at)  # noqa: B023
        )
        measure = run.with_penalty(measure)
        if number > 0 and not measure.E <= last:
            run.basis, run.H, run.U = reached
            momentum = 1.0
            continue
        if number > 0:
            last = measure.E
            yield run.factors(), measure
        run.H = H
        run.move_basis(stats)
        if weighting is not run.weighting:
            weighting, momentum, last = run.weighting, 1.0, math.inf
        before, reached = reached, run.factors()
        momentum, step = _next_momentum(momentum)
        if step > 0:
            rule = run.kernel.rule
            run.H = _beyond(reached.H, before.H, step, rule.floor)
            W = reached.W.copy(order="F")
            free = slice(rule.facts.fixed, None)
            W[:, free] = _beyond(reached.W[:, free], before.W[:, free], step, rule.basis_floor)
            run.basis = (W,)
    run.basis, run.H, run.U = reached
    yield run.factors(), run.measure()


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
