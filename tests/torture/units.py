"""The unit of the data: the same problem for ``c X``, and what of its answer has a meaning in every unit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.torture import tolerances
from tests.torture.answers import Answer, Trial, ask, comparable
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
    other = ordinary.scaled(c)
    exact = np.array_equal(other.X.astype(np.float64) / c, ordinary.X) and np.isfinite(other.X).all()
    if not exact or not all(_normal(p.gamma) == _normal(problem.gamma) for p in (ordinary, other)):
        raise Undecided
    trial = Trial(ordinary, way)
    answer = _in_unit(comparable(ask(other, way)), c, problem.degree)
    loose = problem.X.dtype == np.float32 or (way == "estimator" and problem.init != "custom")
    for name in _of_floors(ordinary, trial.answer) if loose else []:
        answer.pop(name, None)
    try:
        trial.agrees_with(answer)
    except Violation:
        components = trial.raw["components"]
        ended = _vanish(components, c) or _at_ceiling(components)
        if ended or (loose and _seen_at_floor(ordinary, components)):
            raise Undecided from None
        raise


def _away(exponent: int, dtype: Any, rng: np.random.Generator) -> int:
    """The power of two of the other unit: that of the data where it is far from one, else near or far."""
    if abs(exponent) > 30:
        return exponent
    far = (-900, 330) if dtype == np.float64 else (-100, 40)
    return int(rng.integers(*far if rng.random() < 0.5 else (-40, 40)))


def _of_size_one(start: Array | None) -> Array | None:
    """The same times a power of two."""
    return None if start is None else np.ldexp(start, -np.frexp(np.abs(start).max())[1])


def _start_has_unit(problem: Problem) -> bool:
    """Whether the estimator's start follows the unit, or its first step does: drawn components are of size 1."""
    if problem.init == "custom":
        return True
    signed_first = problem.name == "SemiNMF" and problem.order == "codes-first" and problem.init == "random"
    return problem.fixed is None and not signed_first


def _normal(gamma: float | str) -> bool:
    return not isinstance(gamma, str) and bool(1e-290 < gamma < 1e290)


def _in_unit(answer: Answer, c: float, degree: float) -> Answer:
    """The parts of an answer that have a meaning in every unit, in the unit of `c`.

    Sums that left the range go, and those that powers were held back for (docs/design.md).
    """
    unit = np.longdouble(c) ** degree
    kept = {"weights": answer["weights"], "reconstruction": answer["reconstruction"].astype(np.float64) / c}
    for name in ("E", "loss", "score", "gamma"):
        if name in answer:
            value = answer[name]
            if not np.isfinite(value).all() or 1e-280 < np.abs(value).max() < min(1e280, 1e100 * unit):
                kept[name] = (value / unit).astype(np.float64)
    return kept


def _of_floors(problem: Problem, answer: Answer) -> list[str]:
    """The sums that floors may have decided, where floors have no unit.

    Codes carry the unit where an estimator draws components of size one, and their floor does not; nor do floors of
    single precision. A basis that stands against codes at their floor outgrows the data by more than its digits, and
    a loss may tell one floor from another.
    """
    eps = float(np.finfo(problem.X.dtype).eps)
    outgrown = (problem.scale / eps) ** problem.degree
    s = 1.0 if problem.sample_weight is None else problem.sample_weight[:, None].astype(np.float64)
    even = np.full(problem.X.shape, 1 / problem.X.size)
    weights = {"loss": problem.priors * s, "score": even, "E": problem.priors * s}
    sizes = {name: float(np.abs(answer[name]).max()) for name in weights if name in answer}
    return [name for name, size in sizes.items() if size > min(outgrown, _at_floor(problem, weights[name]))]


def _at_floor(problem: Problem, weights: Array) -> float:
    """The least that an entry adds to a sum of these weights where it is reconstructed by a floor that it can tell."""
    there = (problem.priors > 0) & (np.abs(problem.X) > 0)
    x, loss = np.abs(problem.X[there]).astype(np.float64), problem.core_loss
    floor = np.full(x.shape, tolerances.floor(problem.X.dtype) * problem.scale)
    at, lower = loss.divergence(x, floor), loss.divergence(x, 2.0**-40 * floor)
    tells = lower - at > np.finfo(np.float64).eps * at
    return float(np.min((weights[there] * at)[tells], initial=np.inf))


def _vanish(components: Array, c: float) -> bool:
    """Whether some of the components are too small for their type in the unit of `c`, which `transform` then misses."""
    sizes = np.abs(components[components != 0]).astype(np.float64)
    return bool((sizes * c < np.finfo(components.dtype).tiny).any())


def _at_ceiling(components: Array) -> bool:
    """Whether components have grown to where Semi-NMF ends them, which has no unit."""
    return float(np.abs(components).max(initial=0)) > 0.99 * float(np.finfo(components.dtype).max) ** 0.33


def _seen_at_floor(problem: Problem, components: Array) -> bool:
    """Whether codes at their floor, which has no unit, show in a reconstruction."""
    floor = max(1e-60, 100 * float(np.finfo(components.dtype).tiny))
    height = problem.K * floor * float(np.abs(components).max(initial=0))
    return height > float(np.finfo(components.dtype).eps) * problem.scale
