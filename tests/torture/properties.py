"""What every factorisation must do, one function a property; the allowed rounding is in `tolerances`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import ewnmf
from tests.torture import tolerances
from tests.torture.answers import Trial, ask, comparable, fit, same_bits
from tests.torture.judging import Refused, Undecided, Violation, attempt, demand
from tests.torture.problems import Problem
from tests.torture.units import see_units

__all__ = ["ALWAYS", "CHOSEN", "Bench", "Outcome", "examine"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Outcome:
    """How a property fared: ``"held"``, ``"violated"``, ``"refused"`` or ``"undecided"``."""

    name: str
    verdict: str
    words: str = ""


@dataclass(frozen=True, eq=False)
class Bench:
    """A problem, and what several properties need of it."""

    problem: Problem
    way: str

    @cached_property
    def rng(self) -> np.random.Generator:
        """For choices that belong to a property."""
        return np.random.default_rng([self.problem.seed, self.problem.index, 1])

    @cached_property
    def few(self) -> Problem:
        """The same for 1 to 5 iterations: long runs make differences of rounding grow without bound.

        Starts of single precision are given: drawn ones depend on digits that shaking changes.
        """
        count = 1 + self.problem.index % 5
        init = "custom" if self.problem.X.dtype == np.float32 else self.problem.init
        return replace(self.problem, max_iter=count, tol=0.0, init=init)

    @cached_property
    def trial(self) -> Trial:
        """The answer after a few iterations."""
        return Trial(self.few, self.way)


def _all_arrays(value: Any) -> Iterator[bytes]:
    """The bytes of everything that a call was given."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _all_arrays(part)
    elif hasattr(value, "tocsr"):
        for name in ("data", "indices", "indptr", "row", "col"):
            yield from _all_arrays(getattr(value, name, None))
    elif isinstance(value, np.ndarray | list):
        yield np.asarray(value).tobytes()


def _see_finite(**arrays: Any) -> None:
    for name, value in arrays.items():
        if value is not None and not np.isfinite(value).all():
            raise Violation(f"{name} has {int((~np.isfinite(value)).sum())} values that are not finite")


def _see_nonnegative(**arrays: Any) -> None:
    for name, value in arrays.items():
        if value is not None and value.size and value.min() < 0:
            raise Violation(f"{name} falls to {value.min():.3g}")


def _see_weights(problem: Problem, T: Array) -> None:
    """Entropy weights sum to one for points with anything observed, and are 0 where nothing is."""
    P = problem.priors
    _see_finite(weights=T)
    _see_nonnegative(weights=T)
    if T[P == 0].any():
        raise Violation("a weight is not 0 where nothing was observed")
    if problem.weighting == "entropy":
        off = np.abs(T.sum(axis=1, dtype=np.float64) - P.any(axis=1)).max()
        if off > tolerances.unit(T.dtype, T.shape[1]):
            raise Violation(f"weights of a point sum to one but for {off:.3g}")


def _see_descent(problem: Problem, E: Array, terms: Array) -> None:
    if problem.monotone and E.size > 1:
        allowed = problem.rounding_of(E, terms)
        rises = np.diff(E) - allowed - problem.least()
        if not (rises <= 0).all():
            at = int(np.nanargmax(rises))
            raise Violation(f"E rises from {E[at]:.17g} to {E[at + 1]:.17g} in iteration {at + 2}, from {E[0]:.3g}")


def _see_unchanged(before: list[bytes], value: Any) -> None:
    if before != list(_all_arrays(value)):
        raise Violation("an argument was changed")


def _nonnegative_basis(problem: Problem) -> bool:
    return not problem.model.signed_basis or bool(problem.name == "ConvexNMF" and problem.X.min() >= 0)


def factorizes(bench: Bench) -> None:
    """`factorize`: finite, right signs and types, weights that sum to one, ``E`` never rises, nothing changed."""
    problem, E = bench.problem, []
    arguments = problem.arguments()
    before = list(_all_arrays(arguments))
    watch = [lambda at: E.append(at.excess) if at.settled else None]
    answer = attempt(lambda: ewnmf.factorize(**arguments, callbacks=watch))
    _see_unchanged(before, arguments)
    factors = {name: getattr(answer, name) for name in ("codes", "components", "combinations")}
    _see_finite(**factors, history=answer.history, E=np.array(E), loss=answer.loss)
    if not _nonnegative_basis(problem):
        del factors["components"]
    _see_nonnegative(**factors, E=np.array(E))
    if answer.codes.dtype != problem.X.dtype or answer.components.dtype != problem.X.dtype:
        raise Violation(f"{problem.X.dtype} became {answer.codes.dtype} and {answer.components.dtype}")
    _see_weights(problem, demand(answer.weights))
    terms = np.abs(answer.codes).astype(np.float64) @ np.abs(answer.components).astype(np.float64)
    _see_descent(problem, np.array(E), terms)


def learns(bench: Bench) -> None:
    """The estimator: `fit`, `transform`, `weights`, `inverse_transform` and `score`, finite and of the right signs."""
    problem = bench.problem
    model, X, asked = attempt(problem.estimator), problem.given(), problem.asked(fit=True)
    given = {"X": X, **asked, "parameters": model.get_params()}
    before = list(_all_arrays(given))
    attempt(lambda: model.fit(X, **asked))
    later = problem.asked()
    codes = demand(lambda: model.transform(X, **later))
    back = demand(lambda: model.inverse_transform(codes))
    _see_finite(components=model.components_, codes=codes, reconstruction=back, curve=model.loss_curve_)
    _see_finite(error=model.reconstruction_err_)
    _see_nonnegative(codes=codes)
    if _nonnegative_basis(problem):
        _see_nonnegative(components=model.components_)
    _see_weights(problem, demand(lambda: model.weights(X, **later)))
    try:
        score = attempt(lambda: model.score(X, **later))
    except Refused:
        score = 0.0
    if not (np.isfinite(score) and score <= 0):
        raise Violation(f"the score is {score}")
    _see_unchanged(before, given)


def compiled(bench: Bench) -> None:
    """Compiled code and the NumPy reference come to the same."""
    if not _numba():
        raise Undecided
    bench.trial.answer  # noqa: B018
    with patch("ewnmf.kernels.select._numba_works", lambda: False):
        other = bench.trial.at()
    bench.trial.agrees_with(other)


def _numba() -> bool:
    from ewnmf.kernels.select import _numba_works

    return _numba_works()


def sparse(bench: Bench) -> None:
    """Sparse and dense data come to the same."""
    problem = replace(bench.few, hide_by="mask", junk=None)
    if problem.hidden is not None and not problem.hidden.any():  # a mask of all is one still, which ConvexNMF refuses
        problem = replace(problem, hidden=None)
    dense = Trial(replace(problem, layout="C"), bench.way)
    layout = bench.problem.layout if bench.problem.sparse else "csr"
    other = dense.at(layout=layout)
    try:
        dense.agrees_with(other)
    except Violation:
        if problem.tells_floors_from_nothing(float(dense.raw["gamma"][0])):
            raise Undecided from None
        raise


def units(bench: Bench) -> None:
    """``c X`` with gamma to match has the same weights, ``c`` times the reconstruction, ``c^degree`` times ``E``.

    Starts in which the mean of ``X`` stands beside roots of its singular values differ from unit to unit, and are not
    forgotten where steps are short.
    """
    forgets = bench.few.core_loss.forgets_size and not bench.few.by_coordinates
    if bench.few.init in ("nndsvda", "nndsvdar") and not forgets:
        raise Undecided
    see_units(bench.few, bench.way, bench.rng)


def repetition(bench: Bench) -> None:
    """A point of weight 2 is the point twice, one of weight 0 is not there."""
    counts = bench.rng.integers(0, 4, len(bench.few.X))
    counts[bench.rng.integers(len(counts))] = 2
    rows = np.repeat(np.arange(len(counts)), counts)
    trial = Trial(bench.few.repeated(counts), bench.way)
    once = ask(bench.few.weighing(counts), bench.way)
    trial.agrees_with(comparable({**once, "codes": once["codes"][rows], "weights": once["weights"][rows]}))


def threads(bench: Bench) -> None:
    """The same bits for 1 and 2 threads, in blocks as small as they can be."""
    with patch("ewnmf.storage.dense._BLOCK_ENTRIES", 1), patch("ewnmf.storage.sparse._BLOCK_STORED", 1):
        trial = Trial(replace(bench.problem, max_iter=min(8, bench.problem.max_iter)), bench.way)
        same_bits(trial.answer, trial.at(n_jobs=2))


def layout(bench: Bench) -> None:
    """The same bits for every order of dense data in memory."""
    if bench.problem.sparse:
        raise Undecided
    other = "C" if bench.few.layout != "C" else "strided"
    same_bits(bench.trial.answer, bench.trial.at(layout=other))


def file(bench: Bench) -> None:
    """A model that was saved and loaded gives the same bits."""
    problem = bench.problem
    X, asked = problem.given(), problem.asked()
    model = attempt(lambda: fit(problem))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.ewnmf"
        demand(lambda: model.save(path))
        again = demand(lambda: ewnmf.load(path))
    codes = attempt(lambda: model.transform(X, **asked))
    same_bits({"codes": codes}, {"codes": attempt(lambda: again.transform(X, **asked))})
    weights = attempt(lambda: model.weights(X, **asked))
    same_bits({"weights": weights}, {"weights": attempt(lambda: again.weights(X, **asked))})


def fit_transform(bench: Bench) -> None:
    """`fit_transform` gives the same bits as `fit` and `transform`."""
    problem = bench.problem
    X, asked = problem.given(), problem.asked(fit=True)
    at_once = attempt(lambda: problem.estimator().fit_transform(X, **asked))
    codes = attempt(lambda: fit(problem).transform(X, **problem.asked()))
    same_bits({"codes": codes}, {"codes": at_once})


def questions(bench: Bench) -> None:
    """`trust` lies in [0, 1] and is missing where data is; `repair` is finite, and changes suspects alone."""
    problem = bench.problem
    if bench.problem.sparse:
        raise Undecided
    X, asked = problem.given(), problem.asked()
    model = attempt(lambda: fit(problem))
    if "weights" in asked:  # a prior weight of entries is no part of these questions
        raise Undecided
    observed = asked.get("mask")
    if observed is not None:
        X = np.where(observed, X, np.nan)
    missing = np.isnan(X)
    trust, repaired = demand(lambda: model.trust(X)), demand(lambda: model.repair(X, false_alarms=0.001))
    suspects = demand(lambda: model.suspects(X, false_alarms=0.001))
    if not (((trust >= 0) & (trust <= 1)) | missing).all() or not np.isnan(trust[missing]).all():
        raise Violation("trust leaves [0, 1], or is there where data is missing")
    _see_finite(repaired=repaired)
    if not (repaired == X)[~missing & ~suspects].all():
        raise Violation("repair changes what is not suspected")


ALWAYS: dict[str, Callable[[Bench], None]] = {"factorize": factorizes, "estimator": learns}
CHOSEN: dict[str, Callable[[Bench], None]] = {
    "compiled": compiled,
    "sparse": sparse,
    "units": units,
    "repetition": repetition,
    "threads": threads,
    "layout": layout,
    "file": file,
    "fit_transform": fit_transform,
    "questions": questions,
}


def judge(name: str, see: Callable[[Bench], None], bench: Bench) -> Outcome:
    """How the property fares on the problem."""
    try:
        attempt(lambda: see(bench))
    except Violation as violation:
        return Outcome(name, "violated", str(violation))
    except Refused as refusal:
        return Outcome(name, "refused", str(refusal))
    except Undecided:
        return Outcome(name, "undecided")
    return Outcome(name, "held")


def examine(problem: Problem, every: bool = False) -> list[Outcome]:
    """The outcomes of the cheap properties and of three others (or `every` one), unless the problem is refused."""
    found = [judge(name, see, Bench(problem, name)) for name, see in ALWAYS.items()]
    ways = [outcome.name for outcome in found if outcome.verdict != "refused"]
    if not ways:
        return found
    rng = np.random.default_rng([problem.seed, problem.index, 0])
    bench = Bench(problem, ways[int(rng.integers(len(ways)))])
    chosen = list(CHOSEN) if every else [str(name) for name in rng.choice(list(CHOSEN), 3, replace=False)]
    return found + [judge(name, CHOSEN[name], bench) for name in chosen]
