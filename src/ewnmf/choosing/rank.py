"""Choosing the number of components by entries that are held out of the fit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ewnmf._types import Array
from ewnmf.choosing import holdout
from ewnmf.choosing.gamma import choose_gamma
from ewnmf.choosing.holdout import SHARE, hold_out, losses_at, sampled, trimmed_mean
from ewnmf.fitting import checks
from ewnmf.fitting.checks import RULES, GammaRequest
from ewnmf.fitting.pipeline import Job, Settings, restarts
from ewnmf.fitting.points import Points
from ewnmf.fitting.starts import Starts, start_by_point
from ewnmf.fitting.unit import times
from ewnmf.models.nmf import NMF
from ewnmf.solvers.loop import Interrupted, Solution
from ewnmf.solvers.tuning import rounding

__all__ = ["RankPath", "Trials", "check_candidates", "search", "usual_candidates"]


_USUAL = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_FINER = 3
"""New candidates on each side of the chosen one, at the most."""
_ITERATIONS = {True: 100, False: 300}
"""Iterations of a trial at the most, accelerated or not."""
_TOL = 1e-4
MULTIPLES = (16.0, 8.0, 4.0, 2.0, 1.0)
"""Gammas that are tried for ``gamma="auto"``, in units of plain NMF's mean loss."""
_CLEARLY = 0.95
"""Plain NMF is left for a loss below this share of its own."""


@dataclass(frozen=True, eq=False)
class RankPath:
    """How well numbers of components predict entries that their fits have not seen.

    Attributes
    ----------
    candidates : ndarray of shape (n_candidates,)
        The numbers of components, ascending.
    scores : ndarray of shape (n_repeats, n_candidates)
        Minus the trimmed mean loss of the held-out entries; a row is one hold-out, the same for all candidates.
    share : float
        The share of the observed entries that was held out each time.
    n_points : int
        How many points were tried: all, or a sample of large data.
    """

    candidates: NDArray[np.int64]
    scores: NDArray[np.float64]
    share: float
    n_points: int

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean score of every candidate."""
        means: NDArray[np.float64] = self.scores.mean(axis=0)
        return means

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """Of every candidate's mean difference to the best one, over the hold-outs; 0 for the best."""
        behind = self.scores[:, [int(np.argmax(self.means))]] - self.scores
        errors: NDArray[np.float64] = behind.std(axis=0, ddof=1) / np.sqrt(len(behind))
        return errors

    @property
    def best(self) -> int:
        """The candidate of the largest mean score."""
        return int(self.candidates[np.argmax(self.means)])

    @property
    def chosen(self) -> int:
        """The smallest candidate whose mean score is at most one standard error below that of the best."""
        near = self.means.max() - self.means <= self.standard_errors
        return int(self.candidates[near].min())


@dataclass(frozen=True, eq=False)
class Trials:
    """Fits of one job to points of which a share of the entries is hidden, over and over."""

    job: Job
    init: str
    n_init: int
    fixed: Any
    """Components that stay as they are, in the unit of the user."""
    seed: int
    hidden: list[Array]
    """Where entries are hidden, for every repeat."""
    share: float

    @classmethod
    def of(cls, job: Job, seed: int, *, repeats: int = 5, share: float = SHARE, **how: Any) -> Trials:
        """On all points that count, or on a sample where they are many."""
        key = seed.to_bytes(8, "little")
        points = sampled(job.points, holdout.MOST, key)
        hidden = [hold_out(points, share, key, turn) for turn in range(repeats)]
        if not hidden[0].any():
            raise ValueError(
                "X has no point with two observed entries of positive weight, so that none can be held out to choose "
                "n_components by; give a number of components."
            )
        return cls(replace(job, points=points), seed=seed, hidden=hidden, share=share, **how)

    def at_chosen_gamma(self, candidates: list[int]) -> Trials:
        """The same with ``gamma="auto"`` chosen once: what predicts the first hold-out best at the middle candidate.

        Tried are plain NMF and `MULTIPLES` of its mean loss, which is taken as 0 where only rounding is left.
        """
        job = self.job
        if job.request.rule not in RULES or not job.problem.weighting.has_gamma:
            return self
        K, plain = candidates[len(candidates) // 2], self._at(math.inf)
        fit = plain._fit(K, 0)
        data = job.points.data
        scale = fit.loss / plain._seen(0).data.mass
        if scale <= rounding(job.problem.loss, data.counted_scale, data.X.dtype, K):
            return plain
        tried = [self._at(times * scale) for times in MULTIPLES]
        losses = [_CLEARLY * plain._judged(fit, 0), *(trials._judged(trials._fit(K, 0), 0) for trials in tried)]
        return [plain, *tried][int(np.argmin(losses))]

    def _at(self, gamma: float) -> Trials:
        return replace(self, job=replace(self.job.at(gamma), request=GammaRequest(gamma)))

    @property
    def limit(self) -> int:
        """min(n, m)."""
        return int(min(self.job.points.X.shape))

    @property
    def least(self) -> int:
        """As many components as stay as they are, and at least one."""
        return 1 if self.fixed is None else max(1, len(self.fixed))

    def scores(self, n_components: int) -> list[float]:
        """Minus the trimmed mean loss of what is hidden, for every repeat."""
        cost = self.job.problem.cost(self.job.points.unit)
        return [-self._judged(self._fit(n_components, turn), turn) / cost for turn in range(len(self.hidden))]

    def path(self, candidates: Iterable[int], known: RankPath | None = None) -> RankPath:
        """The candidates' scores, together with those that are known."""
        columns = {} if known is None else dict(zip(known.candidates.tolist(), known.scores.T, strict=True))
        columns |= {K: np.array(self.scores(K)) for K in candidates}
        ranks = sorted(columns)
        scores = np.stack([columns[K] for K in ranks], axis=1)
        return RankPath(np.array(ranks, dtype=np.int64), scores, self.share, int(self.job.points.X.shape[0]))

    def _seen(self, repeat: int) -> Points:
        """What is not hidden."""
        return self.job.points.hiding(self.hidden[repeat], positive=self.job.problem.loss.needs_positive)

    def _judged(self, fit: Solution, repeat: int) -> float:
        """The trimmed mean loss of what is hidden."""
        points, loss, hidden = self.job.points, self.job.problem.loss, self.hidden[repeat]
        codes, components, s = fit.factors.H.T, fit.factors.W.T, points.s
        losses, nonzero = losses_at(hidden, points.X, codes, components, loss, points.data.tiny)
        return trimmed_mean(losses, nonzero, None if s is None else np.repeat(s, hidden.sum(axis=1)))

    def _fit(self, n_components: int, repeat: int) -> Solution:
        """The best of `n_init` starts on what is not hidden."""
        problem, seen = self.job.problem, self._seen(repeat)
        fixed = times(checks.check_fixed(self.fixed, n_components, seen.X, problem), seen.unit)
        rng = np.random.default_rng([self.seed, repeat])
        words = f"choosing the number of components: {n_components}"
        self.job.settings.stage(words, len(self.hidden) - 1 - repeat)
        starts = (start_by_point(problem, seen, n_components, self.init, Starts(), rng) for _ in range(self.n_init))
        try:
            return restarts(replace(self.job, points=seen, fixed=fixed, settings=self._short), starts, choose_gamma)
        except Interrupted:
            raise KeyboardInterrupt from None

    @property
    def _short(self) -> Settings:
        """Fewer iterations than those of a fit that is kept."""
        plain, settings = isinstance(self.job.problem.model, NMF), self.job.settings
        return replace(
            settings,
            solver="accelerated" if plain else "mu",
            max_iter=min(settings.max_iter, _ITERATIONS[plain]),
            tol=max(settings.tol, _TOL),
            callbacks=(),
        )


def check_candidates(candidates: Any, limit: int) -> list[int]:
    """Numbers of components from 1 to `limit`, ascending, each once."""
    if isinstance(candidates, str) or not isinstance(candidates, Iterable):
        raise TypeError(f"candidates={candidates!r} must be a list of integers, such as [2, 4, 8].")
    found = sorted({checks.check_count("candidates: n_components", candidate) for candidate in candidates})
    if not found:
        raise ValueError("candidates is empty; give at least one number of components.")
    if found[-1] > limit:
        raise ValueError(
            f"candidates has {found[-1]}, but X allows at most min(n_samples, n_features)={limit} components to be "
            "distinguished; leave out what is above."
        )
    return found


def usual_candidates(limit: int, least: int = 1) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ... up to half of `limit`, at most 64; and `least` and more of them where that is given."""
    return sorted({least, *(K for K in _USUAL if least < K <= limit // 2)})


def search(trials: Trials) -> RankPath:
    """The path of `usual_candidates`, ended early, and of numbers around the one that they choose.

    It ends with the second candidate in a row that is worse than the best by more than its standard error.
    """
    candidates = usual_candidates(trials.limit, trials.least)
    trials, path = trials.at_chosen_gamma(candidates), None
    for K in candidates:
        path = trials.path([K], path)
        worse = path.means.max() - path.means > path.standard_errors
        if worse[-2:].all() and worse.size > 2:
            break
    assert path is not None
    return trials.path(_between(path), path)


def _between(path: RankPath) -> list[int]:
    """At most `_FINER` numbers on each side of the chosen candidate, up to the next ones."""
    ranks, chosen = path.candidates.tolist(), path.chosen
    finer: set[int] = set()
    for low, high in pairwise(ranks):
        if chosen in (low, high):
            finer |= set(np.linspace(low, high, _FINER + 2).round().astype(int).tolist())
    return sorted(finer.difference(ranks))
