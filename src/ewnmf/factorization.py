"""The bare algorithm as a function. Rows of ``X`` are points; the transpose to the paper's columns happens here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from ewnmf._types import Array
from ewnmf.choosing.gamma import GammaPath, choose_gamma
from ewnmf.fitting import checks
from ewnmf.fitting.checks import check_gamma
from ewnmf.fitting.frames import numeric_table
from ewnmf.fitting.pipeline import Job, Settings, restarts
from ewnmf.fitting.points import Points, read_points, spread
from ewnmf.fitting.starts import Starts, draw_start
from ewnmf.fitting.unit import Unit, times
from ewnmf.losses.base import Loss
from ewnmf.losses.registry import LOSSES
from ewnmf.models.base import Model
from ewnmf.models.registry import MODELS
from ewnmf.naming import with_names
from ewnmf.problem import Problem
from ewnmf.solvers.encode import weights_of
from ewnmf.solvers.loop import Callback, Interrupted, Solution
from ewnmf.solvers.orders import ORDERS
from ewnmf.solvers.registry import AUTO, SOLVERS
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.registry import WEIGHTINGS

__all__ = ["Factorization", "factorize"]


@dataclass(frozen=True, eq=False)
class Factorization:
    """``X ~ codes @ components`` as a run left it.

    Attributes
    ----------
    codes : ndarray of shape (n, K)
        One row per point (the paper's ``H'``); 0 for points without weight or without an observed entry.
    components : ndarray of shape (K, m)
        One row per component (the paper's ``W'``); 0 for attributes without an observed entry.
    combinations : ndarray of shape (n, K) or None
        Convex-NMF's ``U``: ``components = combinations.T @ X``.
    objective : float
        ``J*`` of these factors: the last entry of `history`.
    history : ndarray
        ``J*`` after every iteration (from the end of its tuning on, where gamma was tuned).
    excess : float
        ``E``, the objective above its bound, by which runs are compared.
    loss : float
        The sum of the losses of all observed entries, times their prior weights.
    gamma : float or None
        Of the weighting, where it has one; infinite where plain NMF was chosen.
    gamma_path : GammaPath or None
        What was tried, where ``gamma="auto"`` chose among several.
    n_iter : int
        Iterations of the run at `gamma`.
    reason : {"converged", "max_iter", "callback", "interrupted"}
        Why the run stopped.
    """

    codes: Array
    components: Array
    combinations: Array | None
    objective: float
    history: NDArray[np.float64]
    excess: float
    loss: float
    gamma: float | None
    n_iter: int
    reason: str
    problem: Problem
    gamma_path: GammaPath | None
    _points: Points = field(repr=False)

    def weights(self) -> Array:
        """The weight of every entry (n x m), 0 where it is missing.

        The share of an entry in its point: every row sums to one with the entropy weighting (Eq. (18)) and without
        weighting, where shares are equal, but for points without an observed entry; fixed weights are as they came.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The weights.
        """
        seen, counted = self._points.seen, self._points.take(self._points.counted)
        unit = Unit.of(self.problem, counted)
        fitted, data = counted.times(unit.value).data, replace(self._points.take(seen).times(unit.value).data, s=None)
        H, W = self.codes[seen].T, times(self.components.T, unit.value)
        A = weights_of(unit.problem, W, H, data, tiny=fitted.tiny, facts=fitted.facts(unit.problem)).T
        return spread(A, seen)

    @classmethod
    def of(cls, solution: Solution, points: Points) -> Factorization:
        """The solution for these points, rows as points."""
        factors = solution.factors
        return cls(
            codes=np.ascontiguousarray(factors.H.T),
            components=np.ascontiguousarray(factors.W.T),
            combinations=factors.U,
            objective=solution.history[-1],
            history=np.array(solution.history),
            excess=solution.excess,
            loss=solution.loss,
            gamma=solution.problem.weighting.strength,
            n_iter=solution.n_iter,
            reason=solution.reason,
            problem=solution.problem,
            gamma_path=solution.path,
            _points=points,
        )


@with_names(loss=LOSSES, model=MODELS, weighting=WEIGHTINGS, solver=(AUTO, *SOLVERS), order=ORDERS)
def factorize(
    X: Any,
    n_components: Any,
    *,
    loss: str | Loss = "euclidean",
    model: str | Model = "nmf",
    weighting: str | Weighting = "entropy",
    gamma: float | str = "auto",
    codes: Any = None,
    components: Any = None,
    combinations: Any = None,
    weights: Any = None,
    mask: Any = None,
    sample_weight: Any = None,
    feature_weight: Any = None,
    fixed_components: Any = None,
    order: str = "components-first",
    solver: str = "mu",
    max_iter: int = 300,
    tol: float = 0.0,
    n_jobs: int | None = None,
    rng: Any = None,
    callbacks: Sequence[Callback] = (),
) -> Factorization:
    """Find ``X ~ codes @ components`` and a weight for every entry, Algorithm 1 of the paper.

    With a start given (`codes`, `components`) it makes exactly the updates of the paper in the order of the authors'
    program: components, codes, weights, with uniform weights in the first round.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, m)
        Rows are points, columns attributes; NaN is a missing value. Sparse data is made dense one block at a time, or
        not at all where `weighting` is ``"none"`` and few entries are stored.
    n_components : int or "auto"
        K; ``"auto"`` takes it from a given start, else m.
    loss : $loss or Loss
        ``"alpha"`` is ``losses.Alpha(0.5)``.
    model : $model or Model
        What is asked of the factors.
    weighting : $weighting or Weighting
        How entries are weighted.
    gamma : float, "auto", "groups", "self-tuned" or a text like "4x"
        Strength of a weighting, in the unit of the loss. ``"auto"`` chooses it for damage, ``"groups"``
        by the neighbourhoods of the data (docs/choosing-gamma.md), ``"self-tuned"`` tunes it to 8 times the mean loss
        during the first half of the run, and ``"4x"`` is 4 times the mean loss of plain NMF.
    codes, components, combinations : array-like, optional
        Starts of shape (n, K), (K, m) and, for Convex-NMF in place of components, (n, K); drawn uniformly from
        [0.1, 1.1] where not given.
    weights : array-like of shape (n, m), optional
        The weights of ``weighting="fixed"``; ones where not given.
    mask : array-like of bool of shape (n, m), optional
        True where an entry was observed; entries that were not count nowhere.
    sample_weight : array-like of shape (n,), optional
        Weights of the points; a point of weight 2 counts as two.
    feature_weight : array-like of shape (m,), optional
        Prior importance of the attributes.
    fixed_components : array-like of shape (k, m), optional
        The first k components, which stay as they are.
    order : $order
        Which factor moves first.
    solver : $solver
        The paper's multiplicative updates; the same from extrapolated points (``model="nmf"`` only); coordinate
        descent (``model="nmf"``, squared errors, no weights of entries), extrapolated, too; or the one that the
        estimators take.
    max_iter : int
        Iterations at the most.
    tol : float
        Stop when ``E`` falls by at most this share of itself in an iteration (in the mean of ten, where steps are
        extrapolated); 0 means never.
    n_jobs : int, optional
        Threads; all usable cores where not given. The result does not depend on it.
    rng : int, numpy.random.Generator, optional
        Source of the start.
    callbacks : sequence of callables
        Each is given an `Iteration` after every iteration (its factors are read-only) and may return True to stop.

    Returns
    -------
    Factorization
        The factors and how the run went. On Ctrl-C a `KeyboardInterrupt` carries it as ``.solution``.
    """
    request = check_gamma(gamma, weighting)
    problem = Problem.of(loss, model, weighting, gamma=request.value)
    settings = Settings(order, solver, max_iter, tol, n_jobs, tuple(callbacks))
    floats = [np.float64, np.float32]
    X = check_array(numeric_table(X), accept_sparse="csr", dtype=floats, ensure_all_finite=False, input_name="X")
    weighed = {"weights": weights, "mask": mask, "sample_weight": sample_weight, "feature_weight": feature_weight}
    points = read_points(X, problem, "factorize", **weighed)
    sized = [
        np.asarray(codes) if codes is not None else None,
        np.asarray(components).T if components is not None else None,
    ]
    K = checks.check_n_components(n_components, X.shape[1], *sized)
    starts = Starts(codes, components, combinations).checked(problem, X, K)
    held = checks.check_fixed(fixed_components, K, X, problem)
    job = Job.of(problem, points, settings, held, request)
    points.warn("codes of 0", "components of 0")
    starts = starts.take(job.counted).times(job.unit.value)
    drawn, rng = job.points, np.random.default_rng(rng)
    start = draw_start(job.problem, drawn.X, K, starts, rng, drawn.P, sized=job.remembers_size)
    try:
        return Factorization.of(job.back(restarts(job, [start], choose_gamma)), points)
    except Interrupted as interrupt:
        interrupt.solution = Factorization.of(job.back(interrupt.solution), points)
        raise
