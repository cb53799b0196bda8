"""Steps of the basis after some of the points, with sums that remember the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Kernel, Measure, Swept
from ewnmf.models.base import Basis, Block, Stats
from ewnmf.solvers.orders import Run, State
from ewnmf.storage.base import Answer, Codes, Storage
from ewnmf.storage.threads import Workers
from ewnmf.weightings.base import Weighting

__all__ = ["Batches", "Step", "advance", "batched", "remembered"]


@dataclass(frozen=True)
class Batches:
    """How points are taken: so many at a time, and what is left of earlier sums after as many as there are."""

    size: int
    forget: float

    def cuts(self, n_points: int) -> list[slice]:
        """The batches, one after the other."""
        return [slice(at, min(at + self.size, n_points)) for at in range(0, n_points, self.size)]


def remembered(forget: float, share: float) -> float:
    """What earlier sums are multiplied by after a batch that is this share of all points."""
    return float(forget**share)


class Step(NamedTuple):
    """After a batch: its codes (K x b), the basis and the sums to remember for it, and the measure before."""

    H: Array
    basis: Basis
    sums: Stats
    measure: Measure


def advance(
    kernel: Kernel,
    data: Storage,
    H: Array,
    basis: Basis,
    sums: Stats | None,
    *,
    weighting: Weighting,
    memory: float,
    workers: Workers,
) -> Step:
    """Codes of a batch from ``H`` under its weights, then the basis from its sums and what is left of earlier ones.

    Sums of before stand for the basis that they are carried over to (`Rule.carried`); with none of them left this is an
    iteration on the batch alone.
    """
    rule = kernel.rule
    work = partial(kernel.sweep_codes_first, basis=basis, shared=rule.shared(basis, ()), weighting=weighting)
    codes, stats, measure = data.hold(H, workers=workers).sweep(work)
    if sums is not None and memory > 0:
        stats = tuple(new + new.dtype.type(memory) * old for new, old in zip(stats, sums, strict=True))
    moved = kernel.move_basis(basis, stats)
    return Step(codes.read()[0], moved, rule.carried(stats, basis, moved), measure)


class _Joined(Codes):
    """The codes of all batches, which are asked for as a whole when a run ends, or by callbacks."""

    def __init__(self, data: Storage, cuts: list[slice], parts: list[Array], workers: Workers) -> None:
        self._data, self._cuts, self.parts, self._workers = data, cuts, parts, workers

    def read(self) -> tuple[Array, Array | None]:
        """All of ``H``."""
        return (self.parts[0] if len(self.parts) == 1 else np.asfortranarray(np.hstack(self.parts))), None

    def fold(self, work: Callable[[Block, Array], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """The answers of all batches."""
        answers = (
            self._data.part(cut).hold(H, workers=self._workers).fold(work, add)
            for cut, H in zip(self._cuts, self.parts, strict=True)
        )
        total = next(answers)
        for answer in answers:
            total = add(total, answer)
        return total

    def sweep(self, work: Callable[..., Swept], *, keep: bool = False) -> tuple[Codes, Stats, Measure]:
        """Not asked for: batches are swept one after the other."""
        raise NotImplementedError

    blend = combine = tabulate = sweep  # type: ignore[assignment]


def batched(run: Run, max_iter: int, batches: Batches) -> Iterator[tuple[State, Measure]]:
    """T, H, W on one batch after the other, with uniform weights in the first round of all.

    The measure of a round is seen on the way through the next one; the last one is measured as a whole. With one batch
    and nothing remembered these are the iterations of `ewnmf.solvers.orders.codes_first`.
    """
    data, workers, n = run.data, run.workers, run.data.n_points
    cuts = batches.cuts(n)
    parts = [np.asfortranarray(run.codes.read()[0][:, cut]) for cut in cuts]
    run.codes = _Joined(data, cuts, parts, workers)
    weighting, sums = run.opening, None
    for number in range(max_iter):
        before, total, parts = run.state, Measure(), []
        for cut, H in zip(cuts, before.codes.parts, strict=True):  # type: ignore[attr-defined]
            memory = remembered(batches.forget, (cut.stop - cut.start) / n)
            how = {"weighting": weighting, "memory": memory, "workers": workers}
            H, basis, sums, measure = advance(run.kernel, data.part(cut), H, run.basis, sums, **how)  # type: ignore[arg-type]
            run.basis = run.held(basis)
            parts.append(H)
            total = total.plus(measure)
        if number > 0:
            yield before, run.with_penalty(total, before.basis)
        run.codes, weighting = _Joined(data, cuts, parts, workers), run.weighting
    yield run.state, run.measure()
