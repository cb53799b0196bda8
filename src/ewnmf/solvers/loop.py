"""The one loop: sweeps, basis steps, stopping, callbacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Kept, Measure, Swept
from ewnmf.kernels.select import kernel_for
from ewnmf.models.rule import Basis, Block, Factors, Stats
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense, add_arrays
from ewnmf.storage.threads import Workers, count_workers, single_threaded_blas
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy

__all__ = ["Callback", "Interrupted", "Iteration", "Solution", "Tuner", "solve"]


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


class Tuner(Protocol):
    """Settles gamma during the first iterations of a run."""

    def propose(self, iteration: int, mean_loss: float) -> float | None:
        """A new gamma after this iteration, or None to keep the present one."""

    def settled(self, iteration: int) -> bool:
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


_KEPT_BYTES = 1 << 25
"""Weights of all points are kept from sweep to sweep up to this size; recomputed, they are the same to the bit."""


class _Run:
    """The sweeps of one run over one data set."""

    def __init__(
        self, problem: Problem, data: Dense, start: Factors, workers: Workers, fixed: int, zero: Array | None
    ) -> None:
        rule = problem.rule(replace(data.facts(problem), fixed=fixed))
        self.data = data.thin(problem, rule)
        self.workers = workers
        self.zero = zero
        self.kernel = kernel_for(problem, rule, data.tiny)
        self.cuts = self.data.cuts(self.kernel.rule.whole)
        self.basis: Basis
        self.basis, self.H, self.U = self.kernel.rule.prepare(start)
        if self.U is not None:
            self.U, self.basis = self._combine(lambda block, U: U)

    @property
    def weighting(self) -> Weighting:
        return self.kernel.problem.weighting

    def reweigh(self, weighting: Weighting) -> None:
        """Go on under another weighting."""
        self.kernel = replace(self.kernel, problem=self.kernel.problem.at(weighting))

    def factors(self) -> Factors:
        return Factors(self.basis, self.H, self.U)

    def sweep(self, work: Callable[[Block, Array, slice], Swept]) -> tuple[Array, Stats, Measure]:
        """`work` on every block, its codes and its place: all codes, summed statistics, summed measure."""
        H, stats, measure = np.empty_like(self.H, order="F"), None, Measure()
        with single_threaded_blas():
            swept = self.data.map(lambda block, cut: work(block, self.H[:, cut], cut), self.workers, self.cuts)
            for cut, answer in zip(self.cuts, swept, strict=True):
                H[:, cut] = answer.H
                stats = add_arrays(stats, answer.stats)
                measure = measure.plus(answer.measure)
        assert stats is not None
        return H, stats, measure

    def start_sums(self) -> Stats:
        """The sums at the start, under the weights of the first round."""
        weighting = self.weighting.start()

        def work(block: Block, H: Array, cut: slice) -> Swept:
            terms = self.kernel.terms(block, H, self.basis, self.kernel.weigh(block, H, self.basis, weighting))
            return Swept(H, self.kernel.rule.stats(block, H, self.basis, terms), Measure())

        return self.sweep(work)[1]

    def measure(self) -> Measure:
        """The objective of the factors as they are."""

        def work(block: Block, H: Array, cut: slice) -> Swept:
            return Swept(H, (), self.kernel.measure(block, H, self.basis, self.weighting))

        return self._with_penalty(self.sweep(work)[2])

    def move_basis(self, stats: Stats) -> None:
        rule = self.kernel.rule
        if self.U is not None:
            basis = self.basis
            self.U, self.basis = self._combine(lambda block, U: rule.step_combinations(block, U, basis, stats))
        else:
            with single_threaded_blas():
                self.basis = rule.move_basis(self.basis, stats)
            if self.zero is not None:
                self.basis[0][self.zero] = 0

    def shared(self, stats: Stats) -> Any:
        with single_threaded_blas():
            return self.kernel.rule.shared(self.basis, stats)

    def _combine(self, step: Callable[[Block, Array], Array]) -> tuple[Array, Basis]:
        """Move the combinations of every block by `step` and sum the basis ``X U``."""
        rule, old = self.kernel.rule, self.U
        assert old is not None

        def work(block: Block, cut: slice) -> tuple[Array, Basis]:
            U = step(block, old[cut])
            return U, rule.basis_share(block, U)

        new, basis = np.empty_like(old), None
        with single_threaded_blas():
            for cut, (U, share) in zip(self.cuts, self.data.map(work, self.workers, self.cuts), strict=True):
                new[cut] = U
                basis = add_arrays(basis, share)
        assert basis is not None
        return new, basis

    def _with_penalty(self, measure: Measure) -> Measure:
        penalty = self.kernel.rule.penalty_basis(self.basis)
        return Measure(measure.J + penalty, measure.E + penalty, measure.loss)

    def components_first(self, max_iter: int) -> Iterator[tuple[Factors, Measure]]:
        """W, H, T with uniform weights in the first round: the authors' program."""
        stats, before = self.start_sums(), (self.basis, self.weighting.start())
        T = self._room_for_weights()
        for number in range(max_iter):
            self.move_basis(stats)
            basis, shared, last, kernel = self.basis, self.shared(stats), before, self.kernel

            def work(block: Block, H: Array, cut: slice) -> Swept:
                kept = None if T is None else Kept(T[:, cut], number > 0)  # noqa: B023
                return kernel.sweep_components_first(block, H, basis, shared, last, kept)  # noqa: B023

            self.H, stats, measure = self.sweep(work)
            before = (self.basis, self.weighting)
            yield self.factors(), self._with_penalty(measure)

    def _room_for_weights(self) -> Array | None:
        """Where weights stay for the next sweep (M x N), if the kernel can use them and they are not too large."""
        shape = self.data.X.shape
        small = shape[0] * shape[1] * self.H.dtype.itemsize <= _KEPT_BYTES
        return np.empty(shape, self.H.dtype, order="F") if small and self.kernel.keeps_weights else None

    def codes_first(self, max_iter: int) -> Iterator[tuple[Factors, Measure]]:
        """T, H, W with uniform weights in the first round; an iteration is measured by the sweep after it."""
        stats = self.start_sums() if self.kernel.rule.shares_sums else ()
        weighting = self.weighting.start()
        for number in range(max_iter):
            basis, shared, at, kernel = self.basis, self.shared(stats), weighting, self.kernel
            H, stats, measure = self.sweep(
                lambda block, H, _: kernel.sweep_codes_first(block, H, basis, shared, at)  # noqa: B023
            )
            if number > 0:
                yield self.factors(), self._with_penalty(measure)
            self.H = H
            self.move_basis(stats)
            weighting = self.weighting
        yield self.factors(), self.measure()

    def accelerated(self, max_iter: int, first: str) -> Iterator[tuple[Factors, Measure]]:
        """T, H, W from points beyond the last ones: ``F *= (F / F_before)^b`` with Nesterov's ``b``.

        A point whose ``E`` lies above that of the one before is given up: the run goes back to the last factors that
        a plain step reached, whose ``E`` is never higher, and starts to extrapolate anew. Only points that are kept
        are reported, so ``E`` never rises.
        """
        weighting = self.weighting.start()
        if first == "components-first":
            self.move_basis(self.start_sums())
        reached, momentum, last = self.factors(), 1.0, math.inf
        for number in range(max_iter):
            basis, shared, at, kernel = self.basis, self.shared(()), weighting, self.kernel
            H, stats, measure = self.sweep(
                lambda block, H, _: kernel.sweep_codes_first(block, H, basis, shared, at)  # noqa: B023
            )
            measure = self._with_penalty(measure)
            if number > 0 and not measure.E <= last:
                self.basis, self.H, self.U = reached
                momentum = 1.0
                continue
            if number > 0:
                last = measure.E
                yield self.factors(), measure
            self.H = H
            self.move_basis(stats)
            if weighting is not self.weighting:
                weighting, momentum, last = self.weighting, 1.0, math.inf
            before, reached = reached, self.factors()
            momentum, step = _next_momentum(momentum)
            if step > 0:
                self.H = _beyond(reached.H, before.H, step)
                W = reached.W.copy(order="F")
                free = slice(self.kernel.rule.facts.fixed, None)
                W[:, free] = _beyond(reached.W[:, free], before.W[:, free], step)
                self.basis = (W,)
        self.basis, self.H, self.U = reached
        yield self.factors(), self.measure()


def _next_momentum(t: float) -> tuple[float, float]:
    """Nesterov's sequence: the next ``t`` and the share ``(t - 1) / t_next`` of a step to go beyond it."""
    following = (1 + math.sqrt(1 + 4 * t * t)) / 2
    return following, (t - 1) / following


def _beyond(now: Array, before: Array, step: float) -> Array:
    """``now * (now / before) ** step``, the ratio held within [1/5, 5]."""
    ratio = np.clip(np.divide(now, before, out=np.ones_like(now), where=before > 0), 0.2, 5.0)
    ratio **= ratio.dtype.type(step)
    ratio *= now
    return ratio


_ORDERS = {"components-first": _Run.components_first, "codes-first": _Run.codes_first}


def solve(
    problem: Problem,
    data: Dense,
    start: Factors,
    *,
    order: str = "components-first",
    accelerate: bool = False,
    max_iter: int = 300,
    tol: float = 0.0,
    n_jobs: int | None = None,
    tuner: Tuner | None = None,
    callbacks: Sequence[Callback] = (),
    fixed: int = 0,
    zero: Array | None = None,
) -> Solution:
    """Run the updates from `start` until ``E`` falls by less than `tol` of itself, or `max_iter` is reached.

    The first `fixed` components stay as they are, and all are 0 for the attributes `zero`.
    """
    if order not in _ORDERS:
        raise unknown_name("order", order, _ORDERS)
    with Workers(count_workers(n_jobs)) as workers:
        run = _Run(problem, data, start, workers, fixed, zero)
        iterations = run.accelerated(max_iter, order) if accelerate else _ORDERS[order](run, max_iter)
        with nullcontext() if callbacks else single_threaded_blas():
            return _iterate(run, _limited(iterations), tol, tuner, callbacks)


def _limited(iterations: Iterator[Any]) -> Iterator[Any]:
    """The same iterations with BLAS at one thread within each of them, and as it was in between."""
    while True:
        with single_threaded_blas():
            item = next(iterations, None)
        if item is None:
            return
        yield item


def _iterate(
    run: _Run,
    iterations: Iterator[tuple[Factors, Measure]],
    tol: float,
    tuner: Tuner | None,
    callbacks: Sequence[Callback],
) -> Solution:
    history: list[float] = []
    last, reason, number, settled = math.inf, "max_iter", 0, tuner is None
    factors, measure = run.factors(), Measure()
    mass = run.data.mass
    try:
        for number, (factors, measure) in enumerate(iterations, 1):
            if settled:
                history.append(measure.J)
            report = Iteration(number, measure.J, measure.E, _gamma(run.weighting), settled, factors)
            answers = [callback(report) for callback in callbacks]
            if any(answers):
                reason = "callback"
                break
            if settled:
                if tol > 0 and abs(last - measure.E) <= tol * last < math.inf:
                    reason = "converged"
                    break
                last = measure.E
            elif tuner is not None:
                gamma = tuner.propose(number, measure.loss / mass)
                if gamma is not None:
                    run.reweigh(Entropy(gamma))
                settled = tuner.settled(number)
        iterations.close()  # type: ignore[attr-defined]
        return _conclude(run, factors, measure, history, number, reason)
    except KeyboardInterrupt as interrupt:
        if number == 0:
            raise
        raise Interrupted(_conclude(run, factors, measure, history, number, "interrupted")) from interrupt


def _gamma(weighting: Weighting) -> float | None:
    return weighting.gamma if isinstance(weighting, Entropy) else None


def _conclude(
    run: _Run, factors: Factors, measure: Measure, history: list[float], number: int, reason: str
) -> Solution:
    run.basis, run.H, run.U = factors
    if not history:
        measure = run.measure()
        history = [measure.J]
    finished = run.kernel.rule.finish(factors, run.data.s)
    return Solution(finished, run.kernel.problem, history, measure.E, measure.loss, number, reason)
