"""Extrapolated updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure
from ewnmf.models.base import Factors
from ewnmf.solvers.orders import Run, State

__all__ = ["PACE", "PATIENCE", "accelerated", "along", "balanced", "beyond", "warm_up"]

PATIENCE = 10
"""Iterations for which a run may stand still: momentum that leads astray is noticed when ``E`` rises."""


_NARROWEST = 1e-6
"""Components whose sums are further apart are left as they are: floors are among them."""
PACE = 8.0
"""Multiplicative iterations that an extrapolated one is worth, about."""
_WARM_UP = 30
"""Iterations before the first extrapolated one: weights find what to distrust, which momentum would fit first."""
_FARTHEST = 1.3
"""A ratio of iterates counts up to this, and down to its inverse: much farther out no weight is left to pull back."""


def accelerated(run: Run, max_iter: int, first: str, onwards: Callable[..., Array]) -> Iterator[tuple[State, Measure]]:
    """T, H, W from points beyond the last ones, which `onwards` finds with Nesterov's steps.

    Entries of the basis go beyond by their share of the weights, so that nothing runs away where weights were lost.
    Where weights are learned, the first iterations are plain.
    A point whose ``E`` lies above that of the one before is given up: the run goes back to the last factors that
    a plain step reached, whose ``E`` is higher by rounding alone, and starts to extrapolate anew. Where it is, nothing
    is left to gain. Only points that are kept are reported, so ``E`` never rises.
    Where codes were lost and made anew, ``E`` is not held against what was before: the run goes on from there.
    """
    weighting = run.opening
    if first == "components-first":
        run.move_basis(run.start_sums())
    reached, momentum, last = run.state, 1.0, math.inf
    kept, plain = (run.state, Measure()), True
    warm, losses = warm_up(run), run.codes.losses
    for number in range(max_iter):
        codes, stats, measure = run.sweep_codes_first((), weighting)
        measure = run.with_penalty(measure)
        if codes.losses > losses:
            losses, last, momentum = codes.losses, math.inf, 1.0
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
        momentum, step = _next_momentum(momentum) if number >= warm else (1.0, 0.0)
        plain = step == 0
        if not plain:
            run.blend(before, onwards, step, shares)
        del before  # its codes may go
    run.state = reached
    measure = run.measure()
    if not measure.E > last:
        yield run.state, measure


def warm_up(run: Run) -> int:
    """How many iterations are plain before the first that is extrapolated: some where weights are learned."""
    return _WARM_UP if run.weighting.adaptive else 0


def _next_momentum(t: float) -> tuple[float, float]:
    """Nesterov's sequence: the next ``t`` and the share ``(t - 1) / t_next`` of a step to go beyond it."""
    following = (1 + math.sqrt(1 + 4 * t * t)) / 2
    return following, (t - 1) / following


def beyond(now: Array, before: Array, step: float | Array, floor: float) -> Array:
    """``now * (now / before) ** step``, the ratio ``r`` within [1/1.3, 1.3]; not below `floor`, where no step follows.

    The power is ``((1 + b) r + 1 - b) / ((1 - b) r + 1 + b)``, which agrees with it to second order and costs a tenth.
    """
    ratio = np.divide(now, before, out=np.ones_like(now), where=before > 0)
    np.clip(ratio, 1 / _FARTHEST, _FARTHEST, out=ratio)
    b = np.asarray(step, ratio.dtype)
    more, less = 1 + b, 1 - b
    further: Array = more * ratio
    further += less
    ratio *= less
    ratio += more
    further /= ratio
    further *= now
    np.maximum(further, np.minimum(now, floor), out=further)
    return further


def along(now: Array, before: Array, step: float | Array, floor: float) -> Array:
    """``max(now + step (now - before), 0)``, for steps that leave 0 again."""
    further = now - before
    further *= np.asarray(step, further.dtype)
    further += now
    np.maximum(further, 0, out=further)
    return further


def _geometric_mean(values: Array) -> float:
    """The same digits in every unit that is a power of two."""
    mantissas, exponents = np.frexp(values)
    whole, rest = divmod(int(exponents.sum()), values.size)
    return math.ldexp(math.exp(float(np.log(mantissas).mean())) * 2 ** (rest / values.size), whole)


def balanced(factors: Factors, fixed: int, unseen: Array | None = None) -> Factors:
    """The same product from components of equal sums, but for those that stay; extrapolation drives them apart.

    Attributes that are `unseen` have whatever they started with, and do not count.
    """
    W, seen = factors.W, factors.W if unseen is None else np.delete(factors.W, unseen, axis=0)
    sums = np.array(seen.T, np.float64, order="C").sum(axis=1)
    moves = (sums > 0) & (np.arange(sums.size) >= fixed)
    if moves.sum() < 2:
        return factors
    scales = np.ones_like(sums)
    scales[moves] = _geometric_mean(sums[moves]) / sums[moves]
    if not (scales.min() > _NARROWEST and scales.max() < 1 / _NARROWEST):
        return factors
    H = factors.H / scales[:, None]
    if isinstance(H, np.ndarray):
        H = np.asfortranarray(H, dtype=factors.H.dtype)
    return factors._replace(basis=(np.asfortranarray(W * scales, dtype=W.dtype), *factors.basis[1:]), H=H)
