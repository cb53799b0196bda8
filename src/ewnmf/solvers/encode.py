"""Codes of points for a fixed basis, every point on its own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.select import kernel_for
from ewnmf.models.base import Block, Facts
from ewnmf.problem import Problem
from ewnmf.storage.base import Storage
from ewnmf.storage.threads import Workers, count_workers

__all__ = ["encode", "weights_of"]

_WIDTH = 32
"""Points in a block. They are filled up with copies to a multiple of what the kernel works on at once: matrix products
of one shape treat every column alike, so that a point's bits do not depend on its neighbours."""

_WIDEST, _ENTRIES = 512, 1 << 17
"""Points in a block at the most, where one has nothing to do with the others; more of short ones, by their entries."""

_LARGEST = 0.4
"""A start is at most this power of the largest number, in what it reconstructs too: squares of that can be summed."""


def encode(
    problem: Problem,
    W: Array,
    data: Storage,
    facts: Facts,
    *,
    tiny: float,
    max_iter: int,
    tol: float,
    n_jobs: int | None = None,
) -> Array:
    """``H`` (K x N) that lowers the objective of each point for the fixed basis ``W`` (M x K).

    A point starts from codes made of it and ``W`` alone, with uniform weights in the first round, and stops when its
    own ``E`` falls by at most `tol` of itself. Which other points are there, and in which order, changes nothing.
    """
    data, kernel = _thin(problem, data, facts, tiny)
    with Workers(count_workers(n_jobs)) as workers:
        work = partial(_encode, kernel, W, max_iter, tol)
        width = _width(data.n_points, W.shape[0], workers.n_workers) if kernel.rule.solves_codes else _WIDTH
        return data.tabulate(work, W.shape[1], W.dtype, workers=workers, width=width)


def _width(n_points: int, n_attributes: int, n_workers: int) -> int:
    """Points in a block where many of them cost less: about four blocks for every thread, where there are several."""
    blocks = 1 if n_workers == 1 else 4 * n_workers
    return min(max(_WIDTH, -(-n_points // (blocks * _WIDTH)) * _WIDTH), max(_WIDEST, _ENTRIES // max(1, n_attributes)))


def _encode(kernel: Kernel, W: Array, max_iter: int, tol: float, block: Block) -> Array:
    full, dtype = _fill(block, kernel.encodes_at_once), W.dtype
    if not kernel.encodes_alike and dtype != np.float64:
        full, W = _widened(full), W.astype(np.float64)
    if kernel.encodes_from_nothing:
        start = np.zeros((W.shape[1], full.X.shape[1]), W.dtype, order="F")
    else:
        start = _start(full, W, kernel.rule.floor)
    codes = kernel.encode(full, start, (W,), max_iter, tol)[:, : block.X.shape[1]]
    return codes if codes.dtype == dtype else np.minimum(codes, kernel.rule.largest_code(dtype)).astype(dtype)


def _widened(block: Block) -> Block:
    """The block in double precision."""
    P, s = (None if part is None else part.astype(np.float64) for part in (block.P, block.s))
    return Block(block.X.astype(np.float64), P, s, block.silent)


def _thin(problem: Problem, data: Storage, facts: Facts, tiny: float) -> tuple[Storage, Kernel]:
    """The data in blocks that stay sparse where that can be, and the kernel for its codes.

    How many entries of these points are stored does not count, only what `fit` has seen: a point's bits are its own.
    """
    rule = problem.rule(replace(facts, stored=facts.stored and data.sparse)).encoder()
    return data.thin(problem, rule), kernel_for(problem, rule, tiny)


def _fill(block: Block, unit: int) -> Block:
    """The block with its first point repeated up to a multiple of `unit` points."""
    missing = -block.X.shape[1] % unit
    if missing == 0:
        return block
    column = [*range(block.X.shape[1]), *[0] * missing]
    X = block.X.T[column].T
    P = None if block.P is None else block.P.T[column].T
    return Block(X, P, None if block.s is None else block.s[column], block.silent)


def _start(block: Block, W: Array, floor: float) -> Array:
    """Equal codes for all components, of the size that matches the mean absolute value of what was observed.

    Components may have next to nothing there, and much where nothing was observed; where they have nothing at all, the
    size is that of their mean entry.
    """
    X, sizes = block.X, np.abs(W).sum(axis=1)
    if block.P is None:
        total, size = np.abs(X).sum(axis=0), sizes.sum()
    else:
        seen = block.P > 0
        total, size = np.abs(X).sum(axis=0, where=seen), np.where(seen, sizes[:, None], 0).sum(axis=0)
    H: Array = np.empty((W.shape[1], X.shape[1]), dtype=X.dtype, order="F")
    count = X.shape[0] if block.P is None else seen.sum(axis=0)
    size = np.where(size > 0, size, count * (sizes.mean() or 1.0))
    with np.errstate(over="ignore"):
        mean = total / np.where(size > 0, size, 1)
    H[:] = np.clip(mean, floor, float(np.finfo(X.dtype).max) ** _LARGEST / max(1.0, float(np.abs(W).max())))
    return H


def weights_of(problem: Problem, W: Array, H: Array, data: Storage, *, tiny: float, facts: Facts) -> Array:
    """The weights (M x N) of the data under given factors, as users are handed them."""
    data, kernel = _thin(problem, data, facts, tiny)
    return data.hold(H, workers=Workers(1)).tabulate(partial(_weigh, kernel, W), W.shape[0])


def _weigh(kernel: Kernel, W: Array, block: Block, H: Array) -> Array:
    weighting = kernel.problem.weighting.shown
    if weighting is not kernel.problem.weighting:  # equal shares, for which sparse blocks stay so
        return weighting.constant(block.X, block.P)
    return kernel.weigh(block, H, (W,), weighting)
