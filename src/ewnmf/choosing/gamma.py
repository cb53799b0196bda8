"""Choosing gamma without labels: fits along a path of gammas, and what judges them.

For damage they are judged by what they leave unexplained of all entries but the worst, for groups by the neighbourhoods
of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np

from ewnmf._types import Array, Float64
from ewnmf.choosing.holdout import SHARE, hold_out, losses_at, trimmed_mean
from ewnmf.choosing.neighbours import Neighbourhoods, apart_from, partitions, unlike_within
from ewnmf.choosing.trimmed import trimmed_loss
from ewnmf.fitting.checks import GammaRequest
from ewnmf.fitting.pipeline import Job
from ewnmf.fitting.points import Points
from ewnmf.fitting.starts import point_numbers
from ewnmf.models.base import Factors
from ewnmf.solvers.loop import Interrupted, Solution
from ewnmf.solvers.tuning import rounding
from ewnmf.storage.matrix import dense, is_remote, largest_of_rows
from ewnmf.storage.threads import single_threaded_blas

__all__ = ["GammaPath", "choose_gamma"]

RISE = 1.02
"""Plain NMF is left only for a score that is this many times its own, and higher by `LEAST_RISE`."""
LEAST_RISE = 0.01
KEPT = 0.93
"""The share of plain NMF's score by what is within the points that a fit must have, whatever its own score is."""
HALVINGS = (0, 2)
"""Neighbourhoods are asked at plain NMF's mean loss, halved so many times."""
LOST, LEAST_FALL = 0.5, 0.1
"""Below this share of the best score, and lower by `LEAST_FALL`, smaller gammas are not tried."""
WHOLE_POINTS, WHOLE_ENTRIES = 3000, 6_000_000
"""Up to these sizes all points are fitted, above them a subsample."""
FEWEST, MOST, PART = 300, 1000, 16
"""Points of a subsample, one in so many between these; also the most points of a neighbour graph."""
CROWD = 5
"""Points for every group that is looked for."""
NEEDED = 20
"""Points that make neighbourhoods."""
FALL = 0.95
"""The loss of hidden entries, as a share of plain NMF's, below which it is clearly smaller."""
HIDEABLE, VOTES = 4, 20
"""Points and attributes, and hidden entries, that it takes to hide some."""
LESS = 0.85
"""The trimmed loss, as a share of plain NMF's, that says that the data is damaged."""
MORE = 1.1
"""Where it is this many times the least one, smaller gammas are not tried."""
JUDGED = 1 << 22
"""Entries whose losses are looked at, at the most."""
COARSER = 5.0
"""Trials for damage end at this many times `tol`; the fit that is kept is made anew."""
KEY = b"choosing gamma"

_REASONS = {
    "trimmed loss": "the loss of all entries but the worst clearly smaller",
    "neighbourhoods": "groups of codes agree clearly better with the data's neighbourhoods",
    "hidden entries": "the loss of hidden entries clearly smaller",
}


@dataclass(frozen=True, eq=False)
class GammaPath:
    """What was tried to choose gamma.

    Attributes
    ----------
    relative : ndarray
        The gammas that were fitted, in units of `scale`; infinite for plain NMF, which comes first.
    gammas : ndarray
        The same in the unit of the loss.
    scores : ndarray
        The score of each fit, the larger the better; NaN where there was nothing to compare.
    chosen : int
        Which of them was taken.
    scale : float
        The mean loss of an entry under plain NMF.
    rule : {"trimmed loss", "neighbourhoods", "hidden entries", "exact fit", "self-tuned"}
        What decided. For ``gamma="auto"``, minus the mean loss of all entries but the worst, in
        units of `scale`. For ``"groups"``, scores
        by neighbourhoods; with too few points or a single component, minus the loss of entries that were hidden; or,
        where nothing can be hidden either, the rule of ``gamma="self-tuned"``, whose gamma is then the only entry. For
        both, that plain NMF leaves no loss.
    n_points : int
        The points that were fitted, fewer than there are where the data is large.
    """

    relative: Float64
    gammas: Float64
    scores: Float64
    chosen: int
    scale: float
    rule: str
    n_points: int

    @property
    def gamma(self) -> float:
        """The gamma that was taken."""
        return float(self.gammas[self.chosen])

    @property
    def verdict(self) -> str:
        """What was chosen and why, in a sentence."""
        if self.rule == "exact fit":
            return "gamma is infinite (plain NMF): that leaves no loss to weigh entries by."
        best = f"gamma = {self.gamma:.4g}, {self.relative[self.chosen]:.3g} times plain NMF's mean loss"
        if self.rule == "self-tuned":
            return f"{best}: there are too few points or attributes to judge by, so that it was tuned to the loss."
        reason = _REASONS[self.rule]
        if self.rule == "neighbourhoods":
            found = f"{np.nanmax(self.scores):.3f} against {self.scores[0]:.3f}"
        else:
            found = f"{float(np.nanmax(self.scores)) / (float(self.scores[0]) or 1.0):.2f} of plain NMF's"
        if self.chosen == 0:
            return f"gamma is infinite (plain NMF), and entries are weighted alike: no gamma made {reason} ({found})."
        return f"{best}: it made {reason} ({found})."

    @classmethod
    def single(cls, gamma: float, scale: float, rule: str, n_points: int) -> GammaPath:
        """The path of a rule that tries nothing."""
        relative = gamma / scale if scale > 0 else math.inf
        return cls(np.array([relative]), np.array([gamma]), np.array([math.nan]), 0, scale, rule, n_points)


def choose_gamma(job: Job, start: Factors) -> Solution:
    """The run at the gamma that is chosen for the job: by plain NMF's mean loss, and by what judges a path of fits."""
    request, trials = job.request, _Trials.of(job.unwatched(), start)
    count = 1 if request.times is not None else len(request.gammas or request.relative)
    job.settings.stage(f"choosing gamma, 1 of {count + 1} (plain NMF)", count)
    if request.rule == "auto" and job.settings.tol > 0:
        trials = replace(trials, coarse=True)
    plain = trials.at(math.inf)
    scale = plain.loss / trials.job.points.data.mass
    n = trials.job.points.X.shape[0]
    if not _rounding(trials.job, len(start.H)) < scale < math.inf:
        path, best = GammaPath.single(math.inf, scale, "exact fit", n), plain
    elif request.times is not None:
        job.settings.stage("fit at the chosen gamma")
        return job.at(request.times * scale).run(start)
    else:
        judge = _judge(request.rule, trials, scale)
        if judge is None:
            solution = job.run(start, tune=True)
            found = solution.problem.weighting.strength
            assert found is not None
            return solution._replace(path=GammaPath.single(found, scale, "self-tuned", n))
        trials = judge.trials
        path, best = _walk(judge, trials.at(math.inf) if trials.masked else plain, scale, request)
    kept = trials.whole and not trials.masked and (not trials.coarse or path.gamma == math.inf)
    if kept and not job.settings.callbacks:
        return best._replace(path=path)
    job.settings.stage("fit at the chosen gamma")
    return job.at(path.gamma).run(start)._replace(path=path)


def _judge(rule: str | None, trials: _Trials, scale: float) -> _Judge | None:
    """What decides, for damage or for groups; None where nothing can."""
    if rule == "auto":
        return _Trimmed.of(trials, scale)
    return _Neighbours.of(trials, scale) or _Hidden.of(trials)


def _rounding(job: Job, n_components: int) -> float:
    data = job.points.data
    return rounding(job.problem.loss, data.counted_scale, data.X.dtype, n_components)


def _walk(judge: _Judge, plain: Solution, scale: float, request: GammaRequest) -> tuple[GammaPath, Solution]:
    """Fit and score gammas from large to small: the path, and the fit at the gamma that is chosen."""
    gammas, scores, chosen, best = [math.inf], [judge.score(plain)], 0, plain
    tried_next = request.gammas or [factor * scale for factor in request.relative]
    for number, gamma in enumerate(tried_next, 2):
        words = f"choosing gamma, {number} of {len(tried_next) + 1} ({gamma / scale:.3g} times the mean loss)"
        judge.trials.job.settings.stage(words, len(tried_next) + 1 - number)
        fit = judge.trials.at(gamma)
        gammas.append(gamma)
        scores.append(judge.score(fit))
        if scores[-1] > scores[chosen] and judge.clear(scores[-1], scores[0]) and judge.keeps(fit, plain):
            chosen, best = len(gammas) - 1, fit
        if request.gammas is None and judge.lost(scores[-1], scores[chosen]):
            break
    tried = np.array(gammas)
    n = judge.trials.job.points.X.shape[0]
    return GammaPath(tried / scale, tried, np.array(scores), chosen, scale, judge.rule, n), best


@dataclass(frozen=True, eq=False)
class _Trials:
    """Fits of one job from one start at several gammas."""

    job: Job
    start: Factors
    whole: bool
    masked: bool = False
    coarse: bool = False
    """Whether they need not go to the end, but for plain NMF, whose loss is the unit of gamma."""

    @classmethod
    def of(cls, job: Job, start: Factors) -> _Trials:
        """On all points, or on a subsample where there are many; without batches."""
        whole, job = job.settings.batches is None, replace(job, settings=replace(job.settings, batches=None))
        n, m = job.points.X.shape
        K = start.H.shape[0]
        size = max(FEWEST, min(MOST, n // PART), CROWD * K)
        if (n <= WHOLE_POINTS and n * m <= WHOLE_ENTRIES) or n <= size:
            if is_remote(job.points.X):
                start, whole = start._replace(H=start.H[:, np.arange(n)]), False
            return cls(replace(job, points=job.points.in_memory()), start, whole)
        rows, repeats = _distinct(job.points, size)
        some = replace(job.points.take(rows), s=repeats)
        U = None if start.U is None else start.U[rows]
        part = start._replace(H=np.asfortranarray(start.H[:, rows]), U=U)
        return cls(replace(job, points=some), part, False)

    def at(self, gamma: float) -> Solution:
        """The fit at `gamma`."""
        job = self.job.at(gamma)
        if self.coarse and gamma < math.inf:
            job = replace(job, settings=replace(job.settings, tol=COARSER * job.settings.tol))
        try:
            return job.run(self.start)
        except Interrupted as interrupt:
            if self.whole:
                raise
            raise KeyboardInterrupt from interrupt


def _distinct(points: Points, size: int) -> tuple[Array, Array]:
    """At most `size` different points, each with the weight of its repetitions; which ones, their content decides."""
    numbers = point_numbers(points.X, points.P, 1, KEY)
    content = np.hstack([numbers, largest_of_rows(points.X)[:, None]])
    _, first, which = np.unique(content, axis=0, return_index=True, return_inverse=True)
    repeats = np.bincount(which, weights=points.s)[:size].astype(points.X.dtype)
    return first[:size], repeats


class _Judge(Protocol):
    """Scores fits; larger is better."""

    @property
    def trials(self) -> _Trials: ...

    @property
    def rule(self) -> str: ...

    def score(self, fit: Solution) -> float: ...

    def clear(self, score: float, plain: float) -> bool:
        """Whether a score is reason enough to leave plain NMF."""

    def keeps(self, fit: Solution, plain: Solution) -> bool:
        """Whether a fit has not lost what plain NMF had."""

    def lost(self, score: float, best: float) -> bool:
        """Whether smaller gammas need no try."""


@dataclass(frozen=True, eq=False)
class _Trimmed:
    """Scores by what a fit leaves unexplained: minus the mean loss of all entries but the worst.

    Damage pulls plain NMF away from everything else. Weights let go of it, and the rest is explained better; where
    there is none, they let go of what belongs to the data, and it is not.
    """

    trials: _Trials
    rows: Array
    scale: float
    """The mean loss of plain NMF, the unit of the scores."""
    rule: ClassVar[str] = "trimmed loss"

    @classmethod
    def of(cls, trials: _Trials, scale: float) -> _Trimmed:
        """By all points, or by some where there are many entries."""
        n, m = trials.job.points.X.shape
        if n * m <= JUDGED:
            return cls(trials, np.arange(n), scale)
        some, _ = _distinct(trials.job.points, max(NEEDED, JUDGED // m))
        return cls(trials, np.sort(some), scale)

    def score(self, fit: Solution) -> float:
        """Minus the trimmed mean loss of the entries."""
        job = self.trials.job
        return -trimmed_loss(job.points, self.rows, fit.factors, job.problem.loss) / self.scale

    def clear(self, score: float, plain: float) -> bool:
        return score > LESS * plain

    def keeps(self, fit: Solution, plain: Solution) -> bool:
        return True

    def lost(self, score: float, best: float) -> bool:
        return score < MORE * best


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """Scores by the neighbourhoods of some of the points.

    Neighbours may be alike by what many points share to a different degree, such as light; a fit that follows it makes
    groups of light. So it must keep the neighbourhoods `within` the points, too, by what is left of them without that;
    and where those are a structure of their `own`, it must know more of it.
    """

    trials: _Trials
    rows: Array
    graphs: tuple[Neighbourhoods, ...]
    within: tuple[Neighbourhoods, ...] = ()
    own: bool = False
    grouped: list[tuple[Solution, list[Array]]] = field(default_factory=list, repr=False)
    """Groups of plain NMF, which is scored first, and of the fit that was scored last; both may be asked for again."""
    rule: ClassVar[str] = "neighbourhoods"

    @classmethod
    def of(cls, trials: _Trials, scale: float) -> _Neighbours | None:
        """None where there are too few points or components for groups of neighbours."""
        points, loss = trials.job.points, trials.job.problem.loss
        rows, _ = _distinct(points, MOST)
        count = min(trials.start.H.shape[0], rows.size // CROWD)
        if count < 2 or rows.size < NEEDED:
            return None
        some = points.take(rows)
        with single_threaded_blas(openmp=True):
            graphs = Neighbourhoods.of(some, loss, scale, count, HALVINGS, trials.job.settings.n_jobs)
            apart = [unlike_within(some, leading) for leading in (count // 2, count)]
            within = tuple(Neighbourhoods.joining(each, count) for each in apart if each is not None)
            return cls(trials, rows, tuple(graphs), within, apart_from(within, graphs))

    def score(self, fit: Solution) -> float:
        """How much of the groups in the fit's codes is smooth."""
        return self._smooth(fit, self.graphs)

    def _smooth(self, fit: Solution, graphs: tuple[Neighbourhoods, ...]) -> float:
        """On average over these graphs; one thread, so that the machine does not matter."""
        with single_threaded_blas(openmp=True):
            groups = next((groups for known, groups in self.grouped if known is fit), None)
            if groups is None:
                groups = partitions(fit.factors.H.T[self.rows], fit.factors.W.T, graphs[0].count)
                self.grouped[1:] = [(fit, groups)]
            return float(np.mean([graph.smooth_share(labels) for graph in graphs for labels in groups]))

    def keeps(self, fit: Solution, plain: Solution) -> bool:
        asked = [(graph,) for graph in self.within] if self.own else [self.within]
        least = RISE if self.own else KEPT
        return not self.within or all(self._smooth(fit, by) >= least * self._smooth(plain, by) for by in asked)

    def clear(self, score: float, plain: float) -> bool:
        return score > max(RISE * plain, plain + LEAST_RISE)

    def lost(self, score: float, best: float) -> bool:
        return score < min(LOST * best, best - LEAST_FALL)


@dataclass(frozen=True, eq=False)
class _Hidden:
    """Scores by the prediction of entries that the fits do not see: minus their trimmed mean loss."""

    trials: _Trials
    hidden: Array
    X: Array
    rule: ClassVar[str] = "hidden entries"

    @classmethod
    def of(cls, trials: _Trials) -> _Hidden | None:
        """None where nothing can be hidden: large sparse data, a model without weights, few points or attributes."""
        points, problem = trials.job.points, trials.job.problem
        if points.X.shape[1] < HIDEABLE or problem.model.refuses_hidden() is not None:
            return None
        if not points.data.stores_zeros:
            if math.prod(points.X.shape) > WHOLE_ENTRIES:
                return None
            points = replace(points, X=dense(points.X))
        hidden, (rows, _) = hold_out(points, SHARE, KEY), _distinct(points, MOST)
        if rows.size < HIDEABLE or hidden[rows].sum() < VOTES:
            return None
        seen = points.hiding(hidden, positive=problem.loss.needs_positive)
        return cls(replace(trials, job=replace(trials.job, points=seen), masked=True), hidden, points.X)

    def score(self, fit: Solution) -> float:
        """Minus the trimmed mean loss of the hidden entries."""
        factors, loss, points = fit.factors, self.trials.job.problem.loss, self.trials.job.points
        losses, nonzero = losses_at(self.hidden, self.X, factors.H.T, factors.W.T, loss, points.data.tiny)
        s = None if points.s is None else np.repeat(points.s, self.hidden.sum(axis=1))
        return -trimmed_mean(losses, nonzero, s)

    def clear(self, score: float, plain: float) -> bool:
        return score > FALL * plain

    def keeps(self, fit: Solution, plain: Solution) -> bool:
        return True

    def lost(self, score: float, best: float) -> bool:
        return False
