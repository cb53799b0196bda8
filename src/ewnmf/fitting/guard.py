"""Bounds of what an estimator reconstructs where nothing holds it.

A fit may leave entries without weight: missing ones, those of attributes that a prior makes negligible, those that the
entropy weighting turned away from. There the product of the factors may be any number. What was seen of an attribute
then bounds what is said of it. The iteration knows nothing of this, nor do the factors.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.select import kernel_for
from ewnmf.models.base import Basis, Block, Factors, weighed
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense
from ewnmf.storage.threads import Workers

__all__ = ["NEGLIGIBLE", "WIDENED", "bounds_of", "reconstruct", "scaled_bounds"]

NEGLIGIBLE = 1e-6
"""An entry whose weight is below this share of the mean weight is held by nothing."""
WIDENED = 0.5
"""What is said of it may leave the range that was seen of its attribute by this share of it, on either side."""
_FAINT = 1e3 * NEGLIGIBLE
"""The codes of `transform`, and so its weights, are not those of the run: an attribute is bounded with this margin."""


def bounds_of(problem: Problem, data: Dense, factors: Factors) -> Array | None:
    """Bounds (2 x M) of reconstructions: the range seen of an attribute, widened, where it lacks weight at some point.

    Attributes with weight at all points have the limits of the type, and where all have, there are no bounds. Where
    weights depend on the losses and some were lost, all are bounded: other codes, as of `transform`, lose others. The
    data itself lies within, so that no loss of it is raised by them.
    """
    if not _may_fade(problem, data):
        return None
    low, high, faint = _look(problem, data, factors)
    bounded = (faint | (problem.weighting.adaptive & faint.any())) & (low <= high)
    if not bounded.any():
        return None
    reach, limit = WIDENED * (high - low), np.finfo(data.X.dtype).max
    wide = np.stack([np.maximum(low - reach, -limit), np.minimum(high + reach, limit)]).astype(data.X.dtype)
    inward = np.nextafter(wide, np.stack([high, low]).astype(data.X.dtype))
    bounds: Array = np.where(bounded, inward, np.array([[-limit], [limit]], data.X.dtype))
    return bounds


def scaled_bounds(bounds: Array, factor: float) -> Array:
    """The bounds of data multiplied by `factor`; the limits of the type stay what they are."""
    limit = np.finfo(bounds.dtype).max
    with np.errstate(over="ignore"):
        moved = bounds * bounds.dtype.type(factor)
    scaled: Array = np.where(np.abs(bounds) < limit, np.clip(moved, -limit, limit), bounds)
    return scaled


def reconstruct(codes: Array, components: Array, bounds: Array | None) -> Array:
    """``codes @ components`` (n x m) within `bounds`; what leaves the numbers of its type ends at the largest."""
    with np.errstate(over="ignore", invalid="ignore"):
        Y: Array = codes @ components
    finite = np.isfinite(Y)
    if not finite.all():
        Y = np.where(finite, Y, _held_product(codes, components))
    return Y if bounds is None else np.clip(Y, *bounds, out=Y)


def _held_product(codes: Array, components: Array) -> Array:
    """The product where it overflows: of factors made so small that it does not, each value then held in the type."""
    limits = np.finfo(np.result_type(codes, components))
    small = limits.dtype.type(2.0 ** -int(0.6 * limits.maxexp))
    with np.errstate(over="ignore", under="ignore"):
        Y: Array = (codes * small) @ (components * small) / small / small
    return np.clip(Y, limits.min, limits.max, out=Y)


def _may_fade(problem: Problem, data: Dense) -> bool:
    """Whether an entry may have next to no weight."""
    return problem.weighting.adaptive or (data.P is not None and bool(data.P.min() < _FAINT * data.P.mean()))


def _look(problem: Problem, data: Dense, factors: Factors) -> tuple[Array, Array, Array]:
    """Of each attribute (M) its least and largest observed value, and whether an entry of it has nearly no weight."""
    rule = problem.rule(replace(data.facts(problem), gram=None)).encoder()
    kernel, m = kernel_for(problem, rule, data.tiny), data.X.shape[0]
    codes = data.hold(factors.H, workers=Workers(1))
    low, high, least, total = codes.fold(partial(_look_at, kernel, factors.basis), _both)
    points = data.n_points if data.s is None else float(np.sum(data.s, dtype=np.float64))
    return low, high, least < _FAINT * total / (m * points)


class _Looks(NamedTuple):
    """Of the attributes (M) least and largest value and least weight, and the weights of all entries together."""

    low: Array
    high: Array
    least: Array
    total: float


def _look_at(kernel: Kernel, basis: Basis, block: Block, H: Array) -> _Looks:
    A = kernel.weigh(block._replace(s=None), H, basis, kernel.problem.weighting)
    there = True if block.P is None else block.P > 0
    return _Looks(
        block.X.min(axis=1, where=there, initial=np.inf),
        block.X.max(axis=1, where=there, initial=-np.inf),
        A.min(axis=1),
        float(np.sum(weighed(A.sum(axis=0, dtype=np.float64), block.s))),
    )


def _both(one: _Looks, other: _Looks) -> _Looks:
    low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
    return _Looks(low, high, np.minimum(one.least, other.least), one.total + other.total)
