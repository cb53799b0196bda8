"""The sweeps of one run, and plain updates in their two orders: which factor moves first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Kernel, Measure, add_sums
from ewnmf.kernels.select import kernel_for
from ewnmf.models.base import Basis, Block, Factors, Rule, Stats, weighed
from ewnmf.problem import Problem
from ewnmf.storage.base import Codes, Storage
from ewnmf.storage.threads import Workers
from ewnmf.weightings.base import Weighting

__all__ = ["ORDERS", "Run", "State", "codes_first", "components_first", "plain"]


class State(NamedTuple):
    """Where a run is: the basis, and the codes in their storage."""

    basis: Basis
    codes: Codes

    def factors(self) -> Factors:
        """Basis and codes as arrays."""
        return Factors(self.basis, *self.codes.read())


class Run:
    """The sweeps of one run over one data set, with BLAS at one thread; a `warm` one goes on from where another was."""

    def __init__(
        self,
        problem: Problem,
        data: Storage,
        start: Factors,
        workers: Workers,
        fixed: int,
        zero: Array | None,
        coordinates: bool = False,
        warm: bool = False,
    ) -> None:
        facts = data.facts(problem)
        facts = replace(facts, fixed=fixed, stored=facts.stored and not problem.weighting.weighted)
        rule = problem.rule(facts, coordinates=coordinates)
        self.data = data.thin(problem, rule)
        self.zero = zero
        self.workers, self._warm = workers, warm
        self.kernel = kernel_for(problem, rule, data.tiny)
        self.basis, H, U = self.kernel.rule.prepare(start, data.of_each_point)
        self.codes = self.data.hold(H, U, workers=workers, whole=self.kernel.rule.whole)
        if rule.moves_combinations:
            self.codes, self.basis = self.codes.combine(partial(_share, rule))

    @property
    def weighting(self) -> Weighting:
        return self.kernel.problem.weighting

    @property
    def opening(self) -> Weighting:
        """The weighting of the first round; a run that goes on has none of its own."""
        return self.weighting if self._warm else self.weighting.start()

    def reweigh(self, weighting: Weighting) -> None:
        """Go on under another weighting."""
        self.kernel = replace(self.kernel, problem=self.kernel.problem.at(weighting))

    @property
    def state(self) -> State:
        """Where the run is; to go back there, it is set again."""
        return State(self.basis, self.codes)

    @state.setter
    def state(self, state: State) -> None:
        self.basis, self.codes = state

    def sweep_components_first(self, stats: Stats, before: tuple[Basis, Weighting]) -> tuple[Codes, Stats, Measure]:
        """H under the weights of the basis and weighting `before`, then T and the sums."""
        kernel, shared = self.kernel, self._shared(stats)
        work = partial(kernel.sweep_components_first, basis=self.basis, shared=shared, before=before)
        return self.codes.sweep(work, keep=kernel.keeps_weights)

    def sweep_codes_first(self, stats: Stats, weighting: Weighting) -> tuple[Codes, Stats, Measure]:
        """T, H and the sums under that T; the measure is that of the state before."""
        shared = self._shared(stats)
        return self.codes.sweep(
            partial(self.kernel.sweep_codes_first, basis=self.basis, shared=shared, weighting=weighting)
        )

    def start_sums(self) -> Stats:
        """The sums at the start, under the weights of the first round."""
        return self._sums(partial(_start_sums, self.kernel, self.basis, self.opening))[0]

    def measure(self) -> Measure:
        """The objective of the factors as they are."""
        return self.with_penalty(self._sums(partial(_measure, self.kernel, self.basis, self.weighting))[1])

    def move_basis(self, stats: Stats) -> None:
        rule = self.kernel.rule
        if rule.moves_combinations:
            self.codes, self.basis = self.codes.combine(partial(_step_and_share, rule, self.basis, stats))
            return
        self.basis = self.held(self.kernel.move_basis(self.basis, stats))

    def held(self, basis: Basis) -> Basis:
        """A new basis, 0 where all components are to stay so."""
        if self.zero is not None:
            basis[0][self.zero] = 0
        return basis

    def weight_shares(self, stats: Stats) -> Array | None:
        """How much weight, of the mean, the entries of the basis have by these sums of the present codes; at most 1."""
        rule = self.kernel.rule
        if not rule.loses_weight:
            return None
        return rule.weight_shares(self.basis, stats, self.codes.fold(_gram, np.add))

    def blend(self, before: State, function: Callable[..., Array], step: float, shares: Array | None = None) -> None:
        """Go to ``function(now, before, step, floor)`` of the factors, entry by entry; in the basis by its `shares`."""
        rule = self.kernel.rule
        steps = step if shares is None else step * shares[:, rule.facts.fixed :]
        self.basis = rule.blend(self.basis, before.basis, partial(function, step=steps, floor=rule.basis_floor))
        self.codes = self.codes.blend(before.codes, partial(function, step=step, floor=rule.floor))

    def with_penalty(self, measure: Measure, basis: Basis | None = None) -> Measure:
        """The measure with what the basis costs, the present one where none is given."""
        penalty = self.kernel.rule.penalty_basis(self.basis if basis is None else basis)
        return Measure(measure.J + penalty, measure.E + penalty, measure.loss)

    def _sums(self, work: Callable[[Block, Array], tuple[Stats, Measure]]) -> tuple[Stats, Measure]:
        return self.codes.fold(work, add_sums)

    def _shared(self, stats: Stats) -> Any:
        return self.kernel.rule.shared(self.basis, stats)


def _start_sums(kernel: Kernel, basis: Basis, weighting: Weighting, block: Block, H: Array) -> tuple[Stats, Measure]:
    terms = kernel.terms(block, H, basis, kernel.weigh(block, H, basis, weighting))
    return kernel.rule.stats(block, H, basis, terms), Measure()


def _gram(block: Block, H: Array) -> Array:
    """``HH'`` (K x K) of a block, the points weighted."""
    wide = np.array(H, np.float64, order="C")
    gram: Array = weighed(wide, block.s) @ wide.T
    return gram


def _measure(kernel: Kernel, basis: Basis, weighting: Weighting, block: Block, H: Array) -> tuple[Stats, Measure]:
    return (), kernel.measure(block, H, basis, weighting)


def _share(rule: Rule, block: Block, U: Array) -> tuple[Array, Basis]:
    return U, rule.basis_share(block, U)


def _step_and_share(rule: Rule, basis: Basis, stats: Stats, block: Block, U: Array) -> tuple[Array, Basis]:
    return _share(rule, block, rule.step_combinations(block, U, basis, stats))


def components_first(run: Run, max_iter: int) -> Iterator[tuple[State, Measure]]:
    """W, H, T with uniform weights in the first round: the authors' program."""
    stats, before = run.start_sums(), (run.basis, run.opening)
    for _ in range(max_iter):
        run.move_basis(stats)
        run.codes, stats, measure = run.sweep_components_first(stats, before)
        before = (run.basis, run.weighting)
        yield run.state, run.with_penalty(measure)


def codes_first(run: Run, max_iter: int) -> Iterator[tuple[State, Measure]]:
    """T, H, W with uniform weights in the first round; an iteration is measured by the sweep after it."""
    stats = run.start_sums() if run.kernel.rule.shares_sums else ()
    weighting = run.opening
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
