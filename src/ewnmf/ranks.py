"""Choosing the number of components by entries that are held out of the fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ewnmf import checks, holdout
from ewnmf.factorization import Settings, run
from ewnmf.holdout import hold_out, losses_at, sampled, trimmed_mean
from ewnmf.models import NMF
from ewnmf.points import Points
from ewnmf.problem import Problem
from ewnmf.solver import Interrupted, Solution
from ewnmf.starts import Starts, start_by_point

__all__ = ["RankPath", "Trials", "check_candidates", "search", "usual_candidates"]

Array = NDArray[Any]

_USUAL = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_FINER = 3
"""New candidates on each side of the chosen one, at the most."""
_ITERATIONS = {True: 100, False: 300}
"""Iterations of a trial at the most, accelerated or not."""
_TOL = 1e-4


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
    """Fits of one problem to points of which a share of the entries is hidden, over and over."""

    problem: Problem
    points: Points
    settings: Settings
    tune: bool
    """Whether gamma tunes itself in every trial."""
    init: str
    n_init: int
    fixed: Any
    """Components that stay as they are."""
    seed: int
    repeats: int = 5
    share: float = holdout.SHARE
    hidden: list[Array] = field(init=False)
    """Where entries are hidden, for every repeat."""

    def __post_init__(self) -> None:
        key = self.seed.to_bytes(8, "little")
        object.__setattr__(self, "points", sampled(self.points, holdout.MOST, key))
        hidden = [hold_out(self.points, self.share, key, turn) for turn in range(self.repeats)]
        if not hidden[0].any():
            raise ValueError(
                "X has no point with two observed entries of positive weight, so that none can be held out to choose "
                "n_components by; give a number of components."
            )
        object.__setattr__(self, "hidden", hidden)

    @property
    def limit(self) -> int:
        """min(n, m)."""
        return int(min(self.points.X.shape))

    @property
    def least(self) -> int:
        """As many components as stay as they are, and at least one."""
        return 1 if self.fixed is None else max(1, len(self.fixed))

    def scores(self, n_components: int) -> list[float]:
        """Minus the trimmed mean loss of what is hidden, for every repeat."""
        return [-self._loss(n_components, repeat) for repeat in range(self.repeats)]

    def path(self, candidates: Iterable[int], known: RankPath | None = None) -> RankPath:
        """The candidates' scores, together with those that are known."""
        columns = {} if known is None else dict(zip(known.candidates.tolist(), known.scores.T, strict=True))
        columns |= {K: np.array(self.scores(K)) for K in candidates}
        ranks = sorted(columns)
        scores = np.stack([columns[K] for K in ranks], axis=1)
        return RankPath(np.array(ranks, dtype=np.int64), scores, self.share, int(self.points.X.shape[0]))

    def _loss(self, n_components: int, repeat: int) -> float:
        problem, hidden = self.problem, self.hidden[repeat]
        seen = self.points.hiding(hidden, positive=problem.loss.needs_positive)
        fixed = checks.check_fixed(self.fixed, n_components, seen.X, problem)
        factors = self._fit(seen, n_components, fixed, np.random.default_rng([self.seed, repeat])).factors
        codes, components, tiny = factors.H.T, factors.W.T, seen.data.tiny
        losses, nonzero = losses_at(hidden, self.points.X, codes, components, problem.loss, tiny)
        s = self.points.s
        return trimmed_mean(losses, nonzero, None if s is None else np.repeat(s, hidden.sum(axis=1)))

    def _fit(self, seen: Points, n_components: int, fixed: Array, rng: np.random.Generator) -> Solution:
        """The best of `n_init` starts; the first settles gamma."""
        problem, best = self.problem, None
        for _ in range(self.n_init):
            start = start_by_point(problem, seen, n_components, self.init, Starts(), rng)
            try:
                solution = run(problem, seen, start, self._short, tune=self.tune and best is None, fixed=fixed)
            except Interrupted:
                raise KeyboardInterrupt from None
            problem = solution.problem
            if best is None or solution.excess < best.excess:
                best = solution
        assert best is not None
        return best

    @property
    def _short(self) -> Settings:
        """Fewer iterations than those of a fit that is kept."""
        plain = isinstance(self.problem.model, NMF)
        return replace(
            self.settings,
            solver="accelerated" if plain else "mu",
            max_iter=min(self.settings.max_iter, _ITERATIONS[plain]),
            tol=max(self.settings.tol, _TOL),
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
            "told apart; leave out what is above."
        )
    return found


def usual_candidates(limit: int, least: int = 1) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ... up to half of `limit`, at most 64; and `least` and more of them where that is given."""
    return sorted({least, *(K for K in _USUAL if least < K <= limit // 2)})


def search(trials: Trials) -> RankPath:
    """The path of `usual_candidates`, ended early, and of numbers around the one that they choose.

    It ends with the second candidate in a row that is worse than the best by more than its standard error.
    """
    path: RankPath | None = None
    for K in usual_candidates(trials.limit, trials.least):
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
