"""Plain updates, in the two orders of an iteration: which factor moves first."""

from __future__ import annotations

from collections.abc import Iterator

from ewnmf.kernels.reference import Measure
from ewnmf.solvers.run import Run, State

__all__ = ["ORDERS", "codes_first", "components_first", "plain"]


def components_first(run: Run, max_iter: int) -> Iterator[tuple[State, Measure]]:
    """W, H, T with uniform weights in the first round: the authors' program."""
    stats, before = run.start_sums(), (run.basis, run.weighting.start())
    for _ in range(max_iter):
        run.move_basis(stats)
        run.codes, stats, measure = run.sweep_components_first(stats, before)
        before = (run.basis, run.weighting)
        yield run.state, run.with_penalty(measure)


def codes_first(run: Run, max_iter: int) -> Iterator[tuple[State, Measure]]:
    """T, H, W with uniform weights in the first round; an iteration is measured by the sweep after it."""
    stats = run.start_sums() if run.kernel.rule.shares_sums else ()
    weighting = run.weighting.start()
    for number in range(max_iter):
        codes, stats, measure = run.sweep_codes_first(stats, weighting)
        if number > 0:
            yield run.state, run.with_penalty(measure)
        run.codes = codes
        run.move_basis(stats)
        weighting = run.weighting
    yield run.state, run.measure()


ORDERS = {"components-first": components_first, "codes-first": codes_first}


def plain(run: Run, max_iter: int, order: str) -> Iterator[tuple[State, Measure]]:
    """The updates as they are, in that order."""
    return ORDERS[order](run, max_iter)
