"""The unit of the data: the same problem for ``c X``, and what of its answer has a meaning in every unit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ewnmf.fitting.pipeline import Job
from ewnmf.solvers.loop import Solution
from ewnmf.storage.dense import Dense
from tests.torture.answers import SUMS, Answer, Trial, ask, comparable
from tests.torture.judging import Undecided, Violation
from tests.torture.problems import Problem

__all__ = ["see_units"]

Array = NDArray[Any]


def see_units(problem: Problem, way: str, rng: np.random.Generator) -> None:
    """``c X`` with gamma and penalties to match: the same weights, ``c`` times the values, ``c^degree`` times ``E``."""
    if problem.largest == 0:
        raise Undecided
    if problem.penalised or not _start_has_unit(problem):
        problem = replace(problem, init="custom")
    exponent = int(np.frexp(problem.largest)[1])
    ordinary = replace(problem.scaled(2.0**-exponent), components=_of_size_one(problem.components))
    c = 2.0 ** _away(exponent, problem.X.dtype, rng)
    other = _in_other_unit(ordinary, c)
    exact = np.array_equal(other.X.astype(np.float64) / c, ordinary.X) and np.isfinite(other.X).all()
    if not exact or not all(_normal(p.gamma) == _normal(problem.gamma) for p in (ordinary, other)):
        raise Undecided
    answer = _in_unit(comparable(ask(other, way)), c, problem)
    with nullcontext() if other.fitted_as_it_is else _components_of_unit(min(c, 1.0)):
        _compare(Trial(ordinary, way), other, answer, c)


def _compare(trial: Trial, other: Problem, answer: Answer, c: float) -> None:
    try:
        trial.agrees_with(answer)
    except Violation:
        if not other.fitted_as_it_is:
            raise
        if other.name == "SemiNMF" and _at_ceiling(trial.raw["components"]):
            raise Undecided from None
        if not np.array_equal(Trial(other, trial.way).held, trial.held):
            raise Undecided from None
        trial.agrees_with(_without_floors(trial, answer, c))


def _away(exponent: int, dtype: Any, rng: np.random.Generator) -> int:
    """The power of two of the other unit: that of the data where it is far from one, else near or far."""
    if abs(exponent) > 30:
        return exponent
    far = (-900, 330) if dtype == np.float64 else (-100, 40)
    return int(rng.integers(*far if rng.random() < 0.5 else (-40, 40)))


def _in_other_unit(ordinary: Problem, c: float) -> Problem:
    """The problem for ``c X``.

    Lagrange's and Stiefel's steps lead components to norm one, whatever the data: a start of another size is another
    start. It follows the data only where the fit itself goes to another unit (docs/about/design.md).
    """
    other = ordinary.scaled(c)
    of_norm_one = ordinary.options.get("of") == "components" and not ordinary.monotone
    return replace(other, components=ordinary.components) if of_norm_one and other.fitted_as_it_is else other


def _of_size_one(start: Array | None) -> Array | None:
    """The same times a power of two."""
    return None if start is None else np.ldexp(start, -np.frexp(np.abs(start).max())[1])


def _start_has_unit(problem: Problem) -> bool:
    """Whether the estimator's start follows the unit, or its first step does: drawn components are of size 1."""
    return problem.init == "custom" or problem.fixed is None


def _normal(gamma: float | str) -> bool:
    return not isinstance(gamma, str) and bool(1e-290 < gamma < 1e290)


def _in_unit(answer: Answer, c: float, problem: Problem) -> Answer:
    """The parts of an answer that have a meaning in every unit, in the unit of `c`.

    Sums that left the range go, and those that powers were held back for (docs/about/design.md).
    """
    weights = (answer["weights"] / np.longdouble(c) ** problem.degree_of("weights")).astype(np.float64)
    kept = {"weights": weights, "reconstruction": answer["reconstruction"].astype(np.float64) / c}
    for name in ("E", "loss", "score", "gamma"):
        if name in answer:
            value, unit = answer[name], np.longdouble(c) ** problem.degree_of(name)
            if not np.isfinite(value).all() or 1e-280 < np.abs(value).max() < min(1e280, 1e100 * unit):
                kept[name] = (value / unit).astype(np.float64)
    return kept


def _without_floors(trial: Trial, answer: Answer, c: float) -> Answer:
    """What `answer` says but for what depends on floors: there, this trial's own; sums that do are left out.

    Floors of codes, and in single precision all, have no unit. So the trial is made with floors moved by up to `c`.
    """
    kept = dict(answer)
    for factor in (c**-1, c**-0.5, c**0.5, c):
        with _floors_times(factor):
            moved = comparable(ask(trial.problem, trial.way))
        for name in [name for name in kept if name in moved]:
            shows = ~(np.abs(moved[name].astype(np.float64) - trial.answer[name]) <= trial.allowed(name))
            if shows.any() and name in SUMS:
                del kept[name]
            elif shows.any():
                kept[name] = np.where(shows, trial.answer[name], kept[name])
    return kept


@contextmanager
def _floors_times(factor: float) -> Iterator[None]:
    """Floors of codes and basis moved, but not below the normal numbers."""
    facts = Dense.facts

    def moved(self: Dense, problem: Any) -> Any:
        known, least = facts(self, problem), float(np.finfo(self.X.dtype).tiny)
        floors = {name: max(least, factor * getattr(known, name)) for name in ("floor", "basis_floor")}
        return replace(known, **floors)

    with patch.object(Dense, "facts", moved):
        yield


@contextmanager
def _components_of_unit(c: float) -> Iterator[None]:
    """Components as they are in the unit of `c`, where those below the normal numbers have fewer digits, or none."""
    back = Job.back

    def rounded(self: Job, solution: Solution) -> Solution:
        solution = back(self, solution)
        W = solution.factors.W
        with np.errstate(under="ignore"):
            W = W * W.dtype.type(c) / W.dtype.type(c)
        return solution._replace(factors=solution.factors._replace(basis=(W, *solution.factors.basis[1:])))

    with patch.object(Job, "back", rounded):
        yield


def _at_ceiling(components: Array) -> bool:
    """Whether components have grown to where Semi-NMF ends them, which has no unit."""
    return float(np.abs(components).max(initial=0)) > 0.99 * float(np.finfo(components.dtype).max) ** 0.33
