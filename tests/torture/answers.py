"""The numbers that a problem ends in, by either way in, and how two such answers are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import ewnmf
from ewnmf.fitting.pipeline import Job
from ewnmf.kernels.least_squares import nonnegative
from ewnmf.solvers.loop import Solution
from tests.torture import tolerances
from tests.torture.judging import Refused, Undecided, Violation, attempt
from tests.torture.problems import GAMMAS, Problem

__all__ = ["Answer", "Trial", "ask", "comparable", "fit", "same_bits"]

Array = NDArray[Any]
Answer = dict[str, Array]
SUMS = ("E", "loss", "score")
TELLING = ("reconstruction", *SUMS)
"""What tells whether two answers are one: weights may be constants, gamma is mostly given."""


def bare(problem: Problem) -> Answer:
    """What `factorize` returns."""
    run = ewnmf.factorize(**problem.arguments())
    return {
        "codes": run.codes,
        "components": run.components,
        "weights": run.weights(),
        "E": np.array([run.excess]),
        "gamma": np.array([np.nan if run.gamma is None else run.gamma]),
    }


def fit(problem: Problem) -> Any:
    """The fitted estimator."""
    return problem.estimator().fit(problem.given(), **problem.asked(fit=True))


def learned(problem: Problem) -> Answer:
    """What the estimator knows after `fit`."""
    model, X, asked = fit(problem), problem.given(), problem.asked()
    codes = model.transform(X, **asked)
    answer = {
        "codes": codes,
        "components": model.components_,
        "weights": model.weights(X, **asked),
        "loss": np.array([model.reconstruction_err_**2 / problem.core_loss.err_factor]),
        "gamma": np.array([np.nan if model.gamma_ is None else model.gamma_]),
    }
    try:
        score = attempt(lambda: model.score(X, sample_weight=problem.asked(fit=True).get("sample_weight"), **asked))
        answer["score"] = np.array([score])
    except Refused:
        pass
    return answer


WAYS: dict[str, Callable[[Problem], Answer]] = {"factorize": bare, "estimator": learned}


def ask(problem: Problem, way: str) -> Answer:
    """The answer; `Refused` or `Violation` where there is none."""
    answer = attempt(lambda: WAYS[way](problem))
    for name, value in answer.items():
        if name != "gamma" and not np.isfinite(value).all():
            raise Violation(f"{name} is not finite")
    return answer


def comparable(answer: Answer) -> Answer:
    """The same with factors in the unit of the data: a code means nothing where its component is 0, nor the reverse."""
    codes, components = (answer[name].astype(np.float64) for name in ("codes", "components"))
    high, wide = np.abs(components).max(axis=1, initial=0), np.abs(codes).max(axis=0, initial=0)
    parts = {
        "high": high,
        "codes": codes * high,
        "components": components * wide[:, None],
        "reconstruction": codes @ components,
        "terms": np.abs(codes) @ np.abs(components),
    }
    return {**answer, **parts}


def same_bits(one: Answer, other: Answer) -> None:
    """Refuse to see any difference."""
    for name in {**one, **other}:
        if name not in one or name not in other:
            raise Violation(f"only one of the two has a {name}")
        if not np.array_equal(one[name], other[name], equal_nan=True):
            raise Violation(f"{name} differs by {np.nanmax(np.abs(one[name] - other[name])):.3g}")


@dataclass(frozen=True, eq=False)
class Trial:
    """An answer, and what it is worth: how far it moves when the numbers that go in move by rounding."""

    problem: Problem
    way: str

    @cached_property
    def raw(self) -> Answer:
        """The answer as it came."""
        return ask(self.problem, self.way)

    @cached_property
    def answer(self) -> Answer:
        """The answer itself."""
        return comparable(self.raw)

    @cached_property
    def _shaken(self) -> list[Answer]:
        return []

    def shaken(self, count: int) -> list[Answer]:
        """So many answers to the problem moved by rounding."""
        for seed in range(len(self._shaken), count):
            self._shaken.append(comparable(ask(self.problem.shaken(seed, tolerances.SHAKE), self.way)))
        return self._shaken[:count]

    def allowed(self, name: str, shakes: int = tolerances.SHAKES) -> float:
        """By how much this part of the answer may differ."""
        value, problem = self.answer[name], self.problem
        u = problem.rounding * problem.corrected(self.raw["components"], self.way)
        moved = max(_difference(value, other[name]) if name in other else np.inf for other in self.shaken(shakes))
        if shakes > tolerances.SHAKES:
            moved = max(moved, self._moved_by_systems(name))
        allowed = u * _size(value) + tolerances.AMPLIFIED * moved
        if name == "gamma":
            return allowed + self._allowed_of_gamma(u)
        if name in SUMS:
            S = problem.scale**problem.degree if name == "score" else problem.size(self.answer["terms"], name)
            return allowed + float(problem.slack(_size(value), S, u, name)) + problem.least(name)
        return allowed + (0 if name == "weights" else u * problem.scale)

    @cached_property
    def _solved(self) -> list[Answer]:
        """The reference's answer, and its answers where systems of least squares are moved by rounding."""
        with patch("ewnmf.kernels.select._numba_works", lambda: False):
            found = [comparable(ask(self.problem, self.way))]
            for seed in range(tolerances.SYSTEM_SHAKES):
                with _moved_systems(np.random.default_rng([self.problem.seed, self.problem.index, 2, seed])):
                    found.append(comparable(ask(self.problem, self.way)))
        return found

    def _moved_by_systems(self, name: str) -> float:
        """By how much this part of the reference's answer moves with the systems that codes are solved from."""
        if self.way != "estimator" or not self.problem.solves_codes:
            return 0.0
        plain, *moved = self._solved
        return max(_difference(plain[name], other[name]) if name in other else np.inf for other in moved)

    def _is_exact(self) -> bool:
        """Whether the fit is exact but for rounding, and gamma no more than that: weights are made of rounding then."""
        problem, u = self.problem, self.problem.rounding
        if problem.weighting not in GAMMAS or not _size(self.raw["gamma"]) <= u * u * problem.scale**problem.degree:
            return False
        loss = self.answer["loss"] if "loss" in self.answer else self._loss_of_all()
        return _size(loss) <= u * u * problem.size(self.answer["terms"], "loss") + problem.least("loss")

    def _loss_of_all(self) -> Array:
        """The loss of all entries by their prior weights; of a fit, whose codes those are."""
        problem, Y = self.problem, self.answer["reconstruction"]
        if not problem.core_loss.signed:
            Y = np.maximum(Y, tolerances.floor(problem.X.dtype) * problem.scale)
        with np.errstate(all="ignore"):
            losses = problem.core_loss.divergence(problem.X.astype(np.float64), Y)
        return np.array([problem.total(losses, "loss")])

    def _allowed_of_gamma(self, u: float) -> float:
        """What rounding does to a mean loss, times the multiple of it that gamma is."""
        problem = self.problem
        if not problem.multiple:
            return 0.0
        mass = problem.total(np.ones(problem.X.shape), "loss")
        S = problem.size(self.answer["terms"], "loss")
        return float(problem.multiple * tolerances.slack(_size(self.answer["gamma"]) * mass, S, u)) / mass

    def agrees_with(self, other: Answer) -> None:
        """See whether another way of computing comes to the same; `Undecided` where rounding decides all of it.

        Where it does not, more trials tell what rounding does: ties come out one way or the other by chance. And
        nothing is said of attributes that have no weight.
        """
        try:
            self._compare(other, tolerances.SHAKES)
        except Violation:
            if self._is_exact():
                raise Undecided from None
            self._compare({**other, **self._where_held(other)}, tolerances.MORE_SHAKES)

    def _have_digits(self, before: Answer, raw: Answer) -> Array:
        """Of which attributes the sums that components are divided by are normal numbers, in the unit of the fit.

        They are sums of weights and reconstructions, which may be those `before` the codes moved.
        """
        problem, limits, s = self.problem, np.finfo(self.problem.X.dtype), self.problem.sample_weight
        codes, T = np.abs(raw["codes"]).astype(np.float64), before["weights"].astype(np.float64)
        unit = 1.0 if problem.fitted_as_it_is else problem.scale
        y = codes.sum(axis=1, keepdims=True) * (_size(before["components"]) / unit)
        y = np.broadcast_to(np.maximum(y, float(limits.tiny)), T.shape)
        with np.errstate(under="ignore", over="ignore"):
            pulls = T * problem.core_loss.pos(np.abs(problem.X).astype(np.float64) / unit, y)
            sums = (pulls if s is None else pulls * s[:, None]).T @ codes
        enough: Array = np.minimum(sums, T.T @ codes).max(axis=1) > float(limits.tiny) / float(limits.eps)
        return enough

    @cached_property
    def held(self) -> Array:
        """Of which attributes the sums that components are divided by have digits after each of the iterations.

        Such sums, of weights times codes and what the loss adds to them, are no normal numbers elsewhere, or 0 in one
        way of computing and not in another.
        """
        counts = range(1, self.problem.max_iter + 1)
        states = [_while_fitted(replace(self.problem, max_iter=count), self.way) for count in counts]
        steps = [*zip(states, states, strict=True), *pairwise(states)]
        held: Array = np.all([self._have_digits(*step) for step in steps], axis=0)
        return held

    def _where_held(self, other: Answer) -> Answer:
        """What `other` says of attributes that are `held`, and this answer of the others.

        Codes are then in the unit of this answer's components, and sums over all attributes say nothing. Nothing is
        said either of weights that tell floors from nothing.
        """
        problem, held = self.problem, self.held
        if not held.any():
            raise Undecided
        parts = ("components", "reconstruction", "terms")
        names = [name for name in parts if name in other and other[name].shape == self.answer[name].shape]
        kept = {name: np.where(held, other[name], self.answer[name]) for name in names}
        if not held.all():
            kept.update({name: self.answer[name] for name in SUMS if name in self.answer and name in other})
        if not held.all() and "codes" in other:
            mine, theirs = self.answer["high"], other["high"]
            kept["codes"] = other["codes"] * np.divide(mine, theirs, out=np.ones_like(mine), where=theirs > 0)
        faint = problem.at_floors(self.answer["reconstruction"], float(self.raw["gamma"][0]))
        return {**kept, "weights": np.where(faint, self.raw["weights"], other["weights"])}

    def _compare(self, other: Answer, shakes: int) -> None:
        decided = False
        for name in (name for name in self.answer if name in other and name != "high"):
            mine, theirs = self.answer[name], other[name]
            if mine.shape != theirs.shape:
                raise Violation(f"{name} has shape {theirs.shape}, not {mine.shape}")
            off, size = _difference(mine, theirs), max(_size(mine), _size(theirs))
            if off <= 0:
                decided |= name in TELLING
                continue
            unit = self.problem.scale ** self.problem.degree_of(name)
            if name in SUMS and size / unit > tolerances.held(self.problem.X.dtype):
                continue
            allowed = self.allowed(name, shakes)
            if off > allowed:
                raise Violation(f"{name} differs by {off / size:.2g} of its size, {allowed / size:.2g} is allowed")
            decided |= name in TELLING and allowed <= tolerances.UNDECIDED * size
        if not decided:
            raise Undecided

    def at(self, **changes: Any) -> Answer:
        """The answer to the problem with these changes, which must not be refused where this one is not."""
        self.answer  # noqa: B018
        try:
            return comparable(ask(replace(self.problem, **changes), self.way))
        except Refused as refusal:
            raise Violation(f"refused with {changes}: {refusal}") from refusal


def _while_fitted(problem: Problem, way: str) -> Answer:
    """The answer with the codes of the fit, which are not those of `transform`."""
    back, fitted = Job.back, []

    def seen(self: Job, solution: Solution) -> Solution:
        solution = back(self, solution)
        fitted.append(np.asarray(solution.factors.H).T)
        return solution

    with patch.object(Job, "back", seen):
        answer = ask(problem, way)
    return {**answer, "codes": fitted[-1]} if fitted else answer


@contextmanager
def _moved_systems(rng: np.random.Generator) -> Iterator[None]:
    """Every system of least squares moved by up to `SHAKE` units in its last place."""

    def moved(G: Array, b: Array, h: Array, most: float) -> Array:
        eps = tolerances.SHAKE * float(np.finfo(np.float64).eps)
        shake = 1 + eps * rng.uniform(-1, 1, G.shape)
        return nonnegative(G * np.sqrt(shake * shake.T), b * (1 + eps * rng.uniform(-1, 1, b.shape)), h, most)

    with patch("ewnmf.kernels.least_squares.nonnegative", moved):
        yield


def _size(value: Array) -> float:
    return float(np.abs(value).max(initial=0, where=np.isfinite(value)))


def _difference(one: Array, other: Array) -> float:
    """The largest difference; equal values that are no numbers differ by nothing."""
    if one.shape != other.shape:
        return np.inf
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(one.astype(np.float64) - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return float(np.nan_to_num(np.where(same, 0, off), nan=np.inf, posinf=np.inf).max(initial=0))
