"""The unit of the data: values far from one are brought to about one by a power of two, and results back.

``c * X`` has the solution of ``X``, with ``c`` times the components and ``c^degree`` times gamma and the objective. A
power of two changes no digit. Between ``2^-20`` and ``2^20`` data is taken as it is: of such values products of
dozens stay within double precision, and of five within single precision. Higher powers, which beta divergences below 1
and above 2 are made of, are not taken of such values in single precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ewnmf._types import Array
from ewnmf.fitting import checks
from ewnmf.fitting.checks import GammaRequest
from ewnmf.fitting.points import Points
from ewnmf.models.base import Factors
from ewnmf.problem import Problem
from ewnmf.solvers.loop import Callback, Iteration, Solution

__all__ = ["Unit", "times"]

_USUAL = 2.0**20


def times(array: Array, unit: float) -> Array:
    """`array` multiplied by `unit`; itself where that is 1."""
    return array if unit == 1 else array * array.dtype.type(unit)


def _fades(problem: Problem, scale: float, dtype: np.dtype) -> bool:
    """Whether gamma, beside usual data of that scale, is too small for single precision in some unit, if not in all.

    It is held at the least normal number, which is the same for every ``c * X`` only where all are fitted in one unit.
    """
    if dtype != np.float32:
        return False
    gamma, least = problem.weighting.strength, float(np.finfo(dtype).tiny)
    return gamma is not None and 0 < gamma < least * _USUAL ** abs(problem.loss.degree or 0.0) * problem.cost(scale)


@dataclass(frozen=True)
class Unit:
    """What data is multiplied by for a fit of `asked`, and how to come back."""

    asked: Problem
    value: float = 1.0

    @classmethod
    def of(cls, problem: Problem, points: Points) -> Unit:
        """The unit for these points, 1 for usual data; refused where results would vanish."""
        scale = points.scale
        usual = _USUAL if problem.loss.forgets_size or points.X.dtype != np.float32 else 2.0
        if not problem.has_unit or (1 / usual <= scale <= usual and not _fades(problem, scale, points.X.dtype)):
            return cls(problem)
        checks.check_reach(scale, points.X.dtype, problem.loss.degree or 0.0)
        return cls(problem, 2.0 ** -math.frexp(scale)[1])

    @property
    def problem(self) -> Problem:
        """The problem of the data in this unit."""
        return self.asked.times(self.value)

    @property
    def _cost(self) -> float:
        """What losses are multiplied by."""
        return self.asked.cost(self.value)

    def request(self, request: GammaRequest) -> GammaRequest:
        """What is asked of gamma, in this unit."""
        gammas = request.gammas and tuple(gamma * self._cost for gamma in request.gammas)
        weighting = self.problem.weighting
        value = request.value if request.value is None or not weighting.has_gamma else weighting.strength
        return replace(request, value=value, gammas=gammas)

    def watching(self, callbacks: Iterable[Callback]) -> list[Callback]:
        """Callbacks that are shown iterations in the unit of the user."""
        if self.value == 1:
            return list(callbacks)

        def shown(see: Callback) -> Callback:
            return lambda at: see(self._iteration_back(at))

        return [shown(see) for see in callbacks]

    def back(self, solution: Solution) -> Solution:
        """The solution for the data as it was."""
        if self.value == 1:
            return solution
        problem, path = solution.problem, solution.path
        if path is not None:
            path = replace(path, gammas=path.gammas / self._cost, scale=path.scale / self._cost)
        return solution._replace(
            factors=self._factors_back(solution.factors),
            problem=self._problem_back(problem),
            history=[J / self._cost for J in solution.history],
            excess=solution.excess / self._cost,
            loss=solution.loss / self._cost,
            path=path,
        )

    def _problem_back(self, problem: Problem) -> Problem:
        return self.asked if problem == self.problem else problem.times(1 / self.value)

    def _iteration_back(self, at: Iteration) -> Iteration:
        gamma = at.gamma
        if gamma is not None:
            gamma = self._problem_back(self.asked.at_gamma(gamma)).weighting.strength
        return replace(
            at,
            objective=at.objective / self._cost,
            excess=at.excess / self._cost,
            gamma=gamma,
            factors=self._factors_back(at.factors),
        )

    def _factors_back(self, factors: Factors) -> Factors:
        with np.errstate(over="ignore"):
            W = times(factors.W, 1 / self.value)
        if not np.isfinite(W).all():
            raise ValueError(
                f"The components of X overflow {W.dtype}; divide X by a constant, or give it in double precision."
            )
        return factors._replace(basis=(W, *factors.basis[1:]))
