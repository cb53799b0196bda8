"""The driver: from points that were read to a solution. Every fit and every trial of a choice goes this way.

A `Job` is what several starts have in common, in the unit that its data is fitted in. `restarts` makes a run of each
start and keeps the best, `run` is one of them, and `Job.back` translates what came out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import joblib
import numpy as np

from ewnmf._types import Array
from ewnmf.fitting.checks import GammaRequest, check_count, check_heaviest, check_tol
from ewnmf.fitting.guard import bounds_of, scaled_bounds
from ewnmf.fitting.points import Points, Sample, spread
from ewnmf.fitting.starts import sampled_rows
from ewnmf.fitting.unit import Unit, times
from ewnmf.models.base import Factors
from ewnmf.models.nmf import NMF
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem
from ewnmf.solvers.loop import Callback, Interrupted, Iteration, Solution, Watch, solve
from ewnmf.solvers.minibatch import Batches
from ewnmf.solvers.registry import AUTO, SOLVERS
from ewnmf.solvers.tuning import SelfTuning, rounding
from ewnmf.storage.dense import Dense
from ewnmf.storage.matrix import contiguous, dense, is_lazy, is_remote
from ewnmf.storage.threads import runs_on_dask
from ewnmf.weightings.uniform import Uniform

__all__ = ["Choose", "Job", "Settings", "restarts", "run"]

_MANY, _ENTRIES, _FEW = 2000, 1 << 19, 64
"""Points, and entries, of a sample at the most, and points that it has however many attributes there are."""
_KEY = b"ewnmf: points to calibrate by"


@dataclass(frozen=True)
class Settings:
    """How a run goes, once problem, data and start are known."""

    order: str = "components-first"
    solver: str = "mu"
    max_iter: int = 300
    tol: float = 0.0
    n_jobs: int | None = None
    callbacks: Sequence[Callback] = ()
    watch: Watch | None = None
    batches: Batches | None = None
    warm: bool = False

    def stage(self, words: str, left: int = 0) -> None:
        """Tell who waits what begins."""
        if self.watch is not None:
            self.watch.stage(words, left)

    def __post_init__(self) -> None:
        if self.solver not in (AUTO, *SOLVERS):
            raise unknown_name("solver", self.solver, [AUTO, *SOLVERS])
        check_count("max_iter", self.max_iter)
        check_tol(self.tol)


@dataclass(frozen=True, eq=False)
class Job:
    """What is fitted: a problem, points that all count, components that stay (k x m), and what is asked of gamma.

    All of it is in the unit that the data is fitted in.
    """

    problem: Problem
    points: Points
    settings: Settings
    fixed: Array
    request: GammaRequest
    unit: Unit
    counted: Array
    """Which of the points that were read these are."""

    @classmethod
    def of(cls, problem: Problem, points: Points, settings: Settings, fixed: Array, request: GammaRequest) -> Job:
        """The job that was asked for, of points as they were read."""
        counted = points.take(points.counted)
        if is_remote(points.X) and problem.model.has_combinations:
            raise ValueError(
                f"model={problem.model.name!r} cannot be fitted on a cluster: its components are combinations of all "
                "points, which stay on different workers. Fit some of them, X[:10000].compute(), or a file, "
                "ewnmf.open_blocks(path), or use NMF, EWNMF, SemiNMF or ONMF."
            )
        if is_remote(points.X) and settings.batches is not None:
            raise ValueError("Batches cannot be taken of points on a cluster; use EWNMF or NMF, which sweep over all.")
        if settings.solver != AUTO and SOLVERS[settings.solver].coordinates:
            plain = _even(problem) and counted.P is None
            weighting = Uniform() if plain else problem.weighting
            problem.model.check_coordinates(settings.solver, problem.loss, weighting, counted.P is not None)
        unit = Unit.of(problem, counted)
        job = cls(
            problem=unit.problem,
            points=counted.times(unit.value),
            settings=replace(settings, callbacks=()),
            fixed=times(fixed, unit.value),
            request=unit.request(request),
            unit=unit,
            counted=points.counted,
        )
        return job.watched(settings.callbacks)

    def watched(self, callbacks: Iterable[Callback]) -> Job:
        """The same with these callbacks, too; they see iterations in the unit of the user."""
        watching = [*self.settings.callbacks, *self.unit.watching(callbacks)]
        return replace(self, settings=replace(self.settings, callbacks=watching))

    def unwatched(self) -> Job:
        """The same without callbacks."""
        return replace(self, settings=replace(self.settings, callbacks=()))

    def at(self, gamma: float) -> Job:
        """The same at another gamma."""
        return replace(self, problem=self.problem.at_gamma(gamma))

    def run(self, start: Factors, *, tune: bool = False) -> Solution:
        """The run from that start; with `tune` it finds gamma on its way."""
        return run(self.problem, self.points, start, self.settings, fixed=self.fixed, tune=tune)

    @property
    def may_travel(self) -> bool:
        """Whether runs may be made in other processes: of points in memory, with nobody who watches."""
        return not (is_lazy(self.points.X) or self.settings.callbacks or self.settings.watch)

    @property
    def chooses_gamma(self) -> bool:
        """Whether gamma is to be chosen by trials."""
        asked = self.problem.weighting.has_gamma and self.request.value is None
        return asked and self.request.rule != "self-tuned"

    @property
    def remembers_size(self) -> bool:
        """Whether steps go on from the size of the start."""
        return self.settings.solver == AUTO or SOLVERS[self.settings.solver].coordinates

    def bounds(self, solution: Solution) -> Array | None:
        """What reconstructions must not leave, in the unit of the user; see `ewnmf.fitting.guard`."""
        if not solution.problem.weighting.adaptive and self.points.P is None:
            return None
        bounds = bounds_of(solution.problem, self.points.data, solution.factors)
        return None if bounds is None else scaled_bounds(bounds, 1 / self.unit.value)

    def sample(self, solution: Solution) -> Sample:
        """Points to learn from, when somebody asks, what is damaged: at most 2000, drawn from each alone.

        `solution` is that of all points, in their own unit.
        """
        points, codes = self.points, solution.factors.H.T
        if not (is_lazy(codes) or self.counted.all()):
            codes = codes[self.counted]
        n, m = points.X.shape
        most = max(_FEW * m, min(_MANY * m, _ENTRIES))
        rows = np.arange(n) if n * m <= most else sampled_rows(points, most, _KEY)
        X = dense(points.X[rows]).astype(np.float64) / points.unit
        seen = np.ones(X.shape, dtype=bool) if points.P is None else points.P[rows] > 0
        components = np.array(solution.factors.W.T, dtype=np.float64, order="C")
        return Sample(X, seen, np.array(codes[rows], dtype=np.float64), components, rows)

    def back(self, solution: Solution) -> Solution:
        """The solution for all points that were read, in their own unit; zeros for those that do not count."""
        solution = self.unit.back(solution)
        factors = solution.factors
        codes = spread(contiguous(factors.H.T), self.counted)
        U = None if factors.U is None else spread(factors.U, self.counted)
        return solution._replace(factors=factors._replace(H=codes.T, U=U))


Choose = Callable[[Job, Factors], Solution]
"""The run at the gamma that it chooses for a job and a start."""


def restarts(job: Job, starts: Iterable[Factors], choose: Choose) -> Solution:
    """Of a run from every start the one of the lowest ``E``; the first finds gamma, and the others have it.

    On Ctrl-C the exception carries the best one so far.
    """
    best: Solution | None = None
    path, runs = None, _runs(job, starts, choose)
    while True:
        try:
            solution = next(runs, None)
        except Interrupted as interrupt:
            if best is not None and not interrupt.solution.excess < best.excess:
                interrupt.solution = best
            interrupt.solution = interrupt.solution._replace(path=path)
            raise
        if solution is None:
            break
        if best is None:
            path = solution.path
        if best is None or solution.excess < best.excess:
            best = solution
    assert best is not None
    return best._replace(path=path)


def _runs(job: Job, starts: Iterable[Factors], choose: Choose) -> Iterator[Solution]:
    """The runs from all starts, in their order; on the cluster of joblib's Dask backend the others at once."""
    starts = iter(starts)
    first = _first(job, next(starts), choose)
    yield first
    job = replace(job, problem=first.problem)
    if job.may_travel and runs_on_dask():
        yield from joblib.Parallel()(joblib.delayed(job.run)(start) for start in starts)
        return
    for number, start in enumerate(starts, 2):
        job.settings.stage(f"start {number}")
        yield job.run(start)


def _first(job: Job, start: Factors, choose: Choose) -> Solution:
    """The run that finds gamma, where that is asked for."""
    if job.chooses_gamma:
        return choose(job, start)
    return job.run(start, tune=job.problem.weighting.has_gamma and job.request.value is None)


def run(
    problem: Problem, points: Points, start: Factors, settings: Settings, *, fixed: Array, tune: bool = False
) -> Solution:
    """One run of the core on points that all count, with `fixed` (k x m) as its first components.

    With `tune` gamma is found during its first part. NMF at an infinite gamma, where all entries have one weight, is
    plain NMF but for that factor, and runs as such.
    """
    if not tune and _even(problem) and isinstance(problem.model, NMF) and points.P is None:
        return _run_plain(problem, points, start, settings, fixed)
    settings = replace(settings, solver=_solver(settings.solver, problem, points, settings.batches is not None))
    data = points.data
    start = _balanced(problem, start.holding(fixed), data.counted_scale, settings.order, len(fixed))
    problem = problem.sized(data.counted_scale, data.X.dtype)
    heaviest = problem.weighting.most(data.X.dtype) * (1.0 if data.P is None else float(data.P.max()))
    check_heaviest(heaviest, data.counted_scale / points.unit, data.X.dtype)
    if SOLVERS[settings.solver].extrapolates and not isinstance(problem.model, NMF):
        raise ValueError(
            f"solver={settings.solver!r} cannot be combined with model={problem.model.name!r}: only the multiplicative "
            "updates of model='nmf' can be extrapolated. Use solver='mu'."
        )
    tuner = _tuner(problem, data, start, settings) if tune else None
    needed = np.asarray(fixed.any(axis=0))
    zero = _zero_attributes(problem, data, needed)
    start = _without(start, zero, data)
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
            unseen=points.unseen_attributes
            if rows is None
            else np.flatnonzero(np.isin(rows, points.unseen_attributes)),
            watch=settings.watch,
            batches=settings.batches,
            warm=settings.warm,
        )
    except Interrupted as interrupt:
        interrupt.solution = interrupt.solution._replace(factors=whole(interrupt.solution.factors))
        raise
    return solution._replace(factors=whole(solution.factors))


def _solver(asked: str, problem: Problem, points: Points, in_batches: bool) -> str:
    """The solver that was asked for, or the fastest one that takes the problem."""
    if asked != AUTO:
        if in_batches and SOLVERS[asked].extrapolates:
            raise ValueError(f"solver={asked!r} cannot be combined with batches; use solver='auto', 'mu' or 'cd'.")
        return asked
    if problem.is_known and problem.model.takes_coordinates(problem.loss, problem.weighting, points.P is not None):
        return "cd" if in_batches else "accelerated-cd"
    learned = problem.loss.quadratic and problem.weighting.adaptive
    return "accelerated" if learned and isinstance(problem.model, NMF) and not in_batches else "mu"


def _balanced(problem: Problem, start: Factors, scale: float, order: str, fixed: int) -> Factors:
    """The start with components of the size of the data, where theirs is next to nothing, and codes as much smaller.

    Codes that move first take up the difference, and components would then fall below their floor, all alike. The
    product stays, and with it every step, unless a penalty looks at one factor alone.
    """
    if order != "codes-first" or not isinstance(problem.model, NMF) or problem.model.penalised:
        return start
    size = float(start.W[:, fixed:].max(initial=0))
    if not 0 < size < (1e-40 if start.W.dtype == np.float64 else 1e-15) * scale:
        return start
    W, H, c = start.W.copy(order="F"), start.H.copy(order="F"), 2.0 ** math.frexp(scale / size)[1]
    W[:, fixed:] *= W.dtype.type(c)
    H[fixed:] /= H.dtype.type(c)
    return start._replace(basis=(W, *start.basis[1:]), H=H)


def _tuner(problem: Problem, data: Dense, start: Factors, settings: Settings) -> SelfTuning:
    least = rounding(problem.loss, data.counted_scale, data.X.dtype, len(start.H))
    return SelfTuning.for_run(settings.max_iter, least)


def _even(problem: Problem) -> bool:
    """Whether these are weights at an infinite gamma, which are all alike."""
    known = "weighting" not in problem.foreign
    return known and problem.weighting.has_gamma and not problem.weighting.adaptive


def _run_plain(problem: Problem, points: Points, start: Factors, settings: Settings, fixed: Array) -> Solution:
    """The run at an infinite gamma."""
    m, gamma = points.X.shape[1] if problem.weighting.shared else 1, problem.weighting.strength

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


def _without(start: Factors, zero: Array | None, data: Dense) -> Factors:
    """The start with components of 0 for the attributes `zero`, and codes of 0 for points that show nothing else."""
    if zero is None:
        return start
    W = start.W.copy(order="F")
    W[zero] = 0
    return start._replace(basis=(W, *start.basis[1:]), H=data.blinded(start.H, zero))


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
