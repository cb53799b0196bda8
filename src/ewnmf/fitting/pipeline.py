"""One run of the core: settings, silent attributes left out, components that stay fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ewnmf._types import Array
from ewnmf.fitting import checks
from ewnmf.fitting.points import Points
from ewnmf.models.nmf import NMF
from ewnmf.models.rule import Factors
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem
from ewnmf.solvers.loop import Callback, Interrupted, Iteration, Solution, solve
from ewnmf.solvers.registry import SOLVERS
from ewnmf.solvers.tuning import SelfTuning, rounding
from ewnmf.storage.dense import Dense
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.uniform import Uniform

__all__ = ["Settings", "run"]


@dataclass(frozen=True)
class Settings:
    """How a run goes, once problem, data and start are known."""

    order: str = "components-first"
    solver: str = "mu"
    max_iter: int = 300
    tol: float = 0.0
    n_jobs: int | None = None
    callbacks: Sequence[Callback] = ()

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise unknown_name("solver", self.solver, SOLVERS)
        checks.check_count("max_iter", self.max_iter)
        checks.check_tol(self.tol)


def run(
    problem: Problem, points: Points, start: Factors, settings: Settings, *, fixed: Array, tune: bool = False
) -> Solution:
    """One run of the core on points that all count, with `fixed` (k x m) as its first components.

    With `tune` gamma is settled during its first part. NMF at an infinite gamma, where every entry has the weight
    1 / m, is plain NMF but for that factor, and runs as such.
    """
    if not tune and _even(problem.weighting) and isinstance(problem.model, NMF) and points.P is None:
        return _run_plain(problem, points, start, settings, fixed)
    data, start = points.data, start.holding(fixed)
    if settings.solver == "accelerated" and not isinstance(problem.model, NMF):
        raise ValueError(
            f"solver='accelerated' cannot be combined with model={problem.model.name!r}: only the multiplicative "
            "updates of model='nmf' can be extrapolated. Use solver='mu'."
        )
    least = rounding(problem.loss, data.scale, data.X.dtype, len(start.H))
    tuner = SelfTuning.for_run(settings.max_iter, least) if tune else None
    needed = np.asarray(fixed.any(axis=0))
    zero = _zero_attributes(problem, data, needed)
    start = _without(start, zero)
    present, rows = data.without_zeros(problem, needed=needed)
    whole = partial(_expanded, rows=rows, unseen=points.unseen_attributes, fixed=fixed)
    watched = [lambda at, see=see: see(replace(at, factors=whole(at.factors))) for see in settings.callbacks]
    try:
        solution = solve(
            problem,
            present,
            _restricted(start, rows),
            order=settings.order,
            solver=settings.solver,
            max_iter=settings.max_iter,
            tol=settings.tol,
            n_jobs=settings.n_jobs,
            tuner=tuner,
            callbacks=watched,
            fixed=len(fixed),
            zero=zero if rows is None else None,
        )
    except Interrupted as interrupt:
        interrupt.solution = interrupt.solution._replace(factors=whole(interrupt.solution.factors))
        raise
    return solution._replace(factors=whole(solution.factors))


def _even(weighting: Weighting) -> bool:
    """Whether these are entropy weights at an infinite gamma."""
    return type(weighting) is Entropy and not weighting.adaptive


def _run_plain(problem: Problem, points: Points, start: Factors, settings: Settings, fixed: Array) -> Solution:
    """The run at an infinite gamma."""
    assert isinstance(problem.weighting, Entropy)
    m, gamma = points.X.shape[1], problem.weighting.gamma

    def weighed(at: Iteration) -> Iteration:
        return replace(at, objective=at.objective / m, excess=at.excess / m, gamma=gamma)

    def concluded(solution: Solution) -> Solution:
        history = [J / m for J in solution.history]
        return solution._replace(problem=problem, history=history, excess=solution.excess / m)

    watched = [lambda at, see=see: see(weighed(at)) for see in settings.callbacks]
    try:
        plain = problem.at(Uniform())
        return concluded(run(plain, points, start, replace(settings, callbacks=watched), fixed=fixed))
    except Interrupted as interrupt:
        interrupt.solution = concluded(interrupt.solution)
        raise


def _zero_attributes(problem: Problem, data: Dense, needed: Array) -> Array | None:
    """The attributes that are zero in every point, but for those that are `needed`; None where there are none.

    Components are 0 there from the start. Else codes that move first would be fitted to what was drawn, components that
    are corrected (Semi-NMF) or have no points (hard ONMF) would keep it, and a point whose weight is all there would
    see nothing but floors; sparse data, which leaves such attributes out, would lead elsewhere.
    """
    if not (problem.is_known and problem.loss.silent_zeros) or problem.model.has_combinations:
        return None
    zero = data.zero_attributes()
    zero = zero[~needed[zero]]
    return None if zero.size in (0, data.X.shape[0]) else zero


def _without(start: Factors, zero: Array | None) -> Factors:
    """The start with components of 0 for the attributes `zero`."""
    if zero is None:
        return start
    W = start.W.copy(order="F")
    W[zero] = 0
    return start._replace(basis=(W, *start.basis[1:]))


def _restricted(start: Factors, rows: Array | None) -> Factors:
    """The start for the attributes `rows` alone."""
    return start if rows is None else start._replace(basis=tuple(part[rows] for part in start.basis))


def _expanded(factors: Factors, rows: Array | None, unseen: Array, fixed: Array) -> Factors:
    """The factors for all attributes: zero where the data is, and where nothing of it was observed, but for `fixed`."""
    if rows is None and unseen.size == 0 and len(fixed) == 0:
        return factors
    if rows is None:
        W = factors.W.copy(order="F")
    else:
        W = np.zeros((fixed.shape[1], factors.W.shape[1]), dtype=factors.W.dtype, order="F")
        W[rows] = factors.W
    if factors.U is None:
        W[unseen] = 0
        W[:, : len(fixed)] = fixed.T
    return factors._replace(basis=(W, *factors.basis[1:]))
