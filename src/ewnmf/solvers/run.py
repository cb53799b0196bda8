"""The sweeps of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure, Swept
from ewnmf.kernels.select import kernel_for
from ewnmf.models.rule import Basis, Block, Factors, Stats
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense, add_arrays
from ewnmf.storage.threads import Workers, single_threaded_blas
from ewnmf.weightings.base import Weighting

__all__ = ["Run"]


class Run:
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

        return self.with_penalty(self.sweep(work)[2])

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

    def with_penalty(self, measure: Measure) -> Measure:
        penalty = self.kernel.rule.penalty_basis(self.basis)
        return Measure(measure.J + penalty, measure.E + penalty, measure.loss)
