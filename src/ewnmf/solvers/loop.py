"""The one loop: sweeps, basis steps, stopping, callbacks."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure
from ewnmf.models.base import Factors
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem
from ewnmf.solvers.accelerated import balanced, warm_up
from ewnmf.solvers.minibatch import Batches, batched
from ewnmf.solvers.orders import ORDERS, Run, State
from ewnmf.solvers.registry import SOLVERS, Solver
from ewnmf.storage.base import Storage
from ewnmf.storage.threads import Workers, count_workers, single_threaded_blas

__all__ = ["Callback", "Interrupted", "Iteration", "Solution", "Tuner", "Watch", "solve"]


@dataclass(frozen=True)
class Iteration:
    """What a callback sees after an iteration: its number (from 1), ``J*``, ``E``, gamma and the factors.

    The factors are those of the run, and read-only.
    """

    number: int
    objective: float
    excess: float
    gamma: float | None
    settled: bool
    """Whether gamma is final, so that objectives can be compared from here on."""
    factors: Factors

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", self.factors.read_only())

    @property
    def codes(self) -> Array:
        """The codes (n x K), a view that is read-only."""
        return self.factors.H.T

    @property
    def components(self) -> Array:
        """The components (K x m), a view that is read-only."""
        return self.factors.W.T


Callback = Callable[[Iteration], Any]
"""Called after every iteration; an answer of True stops the run."""


class Watch(Protocol):
    """Somebody who waits, and is shown what is done; unlike a callback it sees no factors and changes nothing."""

    def stage(self, words: str, left: int = 0) -> None:
        """A part of the work begins, after which at most `left` runs follow."""

    def iteration(self, number: int, most: int) -> None:
        """The run has got to this iteration, of so many at the most."""


class Tuner(Protocol):
    """Tunes gamma during the first iterations of a run."""

    def propose(self, iteration: int, mean_loss: float) -> float | None:
        """A new gamma after this iteration, or None to keep the present one."""

    def is_final(self, iteration: int) -> bool:
        """Whether gamma is final from this iteration on."""


class Solution(NamedTuple):
    """Where a run ended: factors, problem (with its final gamma), ``J*`` per iteration, ``E``, and why it stopped."""

    factors: Factors
    problem: Problem
    history: list[float]
    excess: float
    loss: float
    n_iter: int
    reason: str
    path: Any = None
    """How gamma was chosen, where it was."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `solution` is the state after the last whole iteration."""

    def __init__(self, solution: Any) -> None:
        super().__init__("interrupted; the state so far is in .solution")
        self.solution = solution


def solve(
    problem: Problem,
    data: Storage,
    start: Factors,
    *,
    order: str = "components-first",
    solver: str = "mu",
    max_iter: int = 300,
    tol: float = 0.0,
    n_jobs: int | None = None,
    tuner: Tuner | None = None,
    callbacks: Sequence[Callback] = (),
    fixed: int = 0,
    zero: Array | None = None,
    unseen: Array | None = None,
    watch: Watch | None = None,
    batches: Batches | None = None,
    warm: bool = False,
) -> Solution:
    """Run the updates from `start` until ``E`` falls by at most `tol` of itself, or `max_iter` is reached.

    The first `fixed` components stay as they are, and all are 0 for the attributes `zero`; of those that are `unseen`
    nothing was observed. `tol` is for plain steps;
    a solver whose iterations are worth several is asked for as many times the fall, over as many as it has patience.
    With `batches` an iteration goes through all of them. A `warm` run goes on from factors that one has reached.
    """
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if solver not in SOLVERS:
        raise unknown_name("solver", solver, SOLVERS)
    with Workers(count_workers(n_jobs)) as workers:
        chosen = SOLVERS[solver]
        run = Run(problem, data, start, workers, fixed, zero, chosen.coordinates, warm)
        iterations = chosen.iterate(run, max_iter, order) if batches is None else batched(run, max_iter, batches)
        with nullcontext() if callbacks else single_threaded_blas():
            plain = warm_up(run) + chosen.patience if chosen.extrapolates else 0
            stop, limited = _Stop(tol, chosen, plain), _limited(iterations) if callbacks else iterations
            counted = limited if watch is None else _counted(limited, watch, max_iter)
            solution = _iterate(run, counted, stop, tuner, callbacks)
    if chosen.extrapolates and run.kernel.rule.scales_freely:
        solution = solution._replace(factors=balanced(solution.factors, fixed, unseen))
    return solution


class _Stop:
    """Whether ``E`` falls by at most `tol` of itself an iteration, over as many of them as a solver has patience.

    Iterations are asked for as many times the fall as the solver's pace, but the first ones, which are `plain`.
    """

    def __init__(self, tol: float, solver: Solver, plain: int) -> None:
        self.tol, self.pace, self.plain = tol, solver.pace, plain
        self.last = deque([math.inf] * solver.patience, maxlen=solver.patience)

    def due(self, E: float) -> bool:
        """Whether it has ended, with this value."""
        self.plain -= 1
        pace = self.pace if self.plain < 0 else 1.0
        before, most = self.last[0], pace * self.tol * len(self.last)
        self.last.append(E)
        return self.tol > 0 and abs(before - E) <= most * before < math.inf


def _limited(iterations: Iterator[Any]) -> Iterator[Any]:
    """The same iterations with BLAS at one thread within each of them, and as it was in between."""
    while True:
        with single_threaded_blas():
            item = next(iterations, None)
        if item is None:
            return
        yield item


def _counted(iterations: Iterator[Any], watch: Watch, max_iter: int) -> Iterator[Any]:
    """The same iterations, each shown to somebody who waits."""
    with closing(iterations):  # type: ignore[type-var]
        for number, item in enumerate(iterations, 1):
            watch.iteration(number, max_iter)
            yield item


def _iterate(
    run: Run,
    iterations: Iterator[tuple[State, Measure]],
    stop: _Stop,
    tuner: Tuner | None,
    callbacks: Sequence[Callback],
) -> Solution:
    history: list[float] = []
    reason, number, final = "max_iter", 0, tuner is None
    state, measure = run.state, Measure()
    mass = run.data.mass
    try:
        for number, (state, measure) in enumerate(iterations, 1):
            if final:
                history.append(measure.J)
            if callbacks and _ask(callbacks, run, number, measure, final, state):
                reason = "callback"
                break
            if final:
                if stop.due(measure.E):
                    reason = "converged"
                    break
            elif tuner is not None:
                gamma = tuner.propose(number, measure.loss / mass)
                if gamma is not None:
                    run.reweigh(run.weighting.at(gamma))
                final = tuner.is_final(number)
        iterations.close()  # type: ignore[attr-defined]
        return _conclude(run, state, measure, history, number, reason)
    except KeyboardInterrupt as interrupt:
        if number == 0:
            raise
        raise Interrupted(_conclude(run, state, measure, history, number, "interrupted")) from interrupt


def _ask(callbacks: Sequence[Callback], run: Run, number: int, measure: Measure, final: bool, state: State) -> bool:
    """Whether a callback stops the run; all are called."""
    report = Iteration(number, measure.J, measure.E, run.weighting.strength, final, state.factors())
    answers = [callback(report) for callback in callbacks]
    return any(answers)


def _conclude(run: Run, state: State, measure: Measure, history: list[float], number: int, reason: str) -> Solution:
    run.state = state
    if not history:
        measure = run.measure()
        history = [measure.J]
    finished = run.kernel.rule.finish(state.factors(), run.data.norms)
    return Solution(finished, run.kernel.problem, history, measure.E, measure.loss, number, reason)
