"""Points that come in batches: one step for each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from ewnmf.estimators.base import Factorizer
from ewnmf.estimators.by_blocks import lazy
from ewnmf.fitting import checks
from ewnmf.fitting.checks import GammaRequest
from ewnmf.fitting.frames import numeric_table
from ewnmf.fitting.pipeline import Job
from ewnmf.fitting.points import Points, read_points
from ewnmf.fitting.starts import Starts
from ewnmf.fitting.unit import Unit, times
from ewnmf.kernels.select import kernel_for
from ewnmf.models.base import Factors, Stats
from ewnmf.problem import Problem
from ewnmf.solvers.loop import Solution
from ewnmf.solvers.minibatch import Step, advance, remembered
from ewnmf.solvers.registry import AUTO, SOLVERS
from ewnmf.storage.chunks import is_dask, masked_array
from ewnmf.storage.threads import Workers, count_workers, single_threaded_blas

__all__ = ["FORGET", "Streaming"]

FORGET = 0.1
"""What is left of earlier sums after as many points as there are. Weighted updates are faster with less, coordinate
descent, which follows a batch wherever it leads, needs about as much; scikit-learn's 0.7 is slower for both."""
_BATCH = 0.05
"""The share of all points that a batch of a stream counts as."""


class Streaming(Factorizer):
    """Estimators that learn from batches, too."""

    _sums: Stats | None
    n_steps_: int

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, mask: Any = None) -> Self:
        """Learn from one more batch of points: their codes as of `transform`, then one step of the components.

        The step is made from the sums of this batch and from 0.89 (``forget_factor**0.05``) of the sums before.
        What depends on the data is decided by the first batch: the start, and gamma where it is to be chosen, for which
        the batch is fitted. Goes on from `fit`, too. What is known of damage (`calibration_`) is learned from the last
        batch.

        Parameters
        ----------
        X : array-like, sparse matrix, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points; NaN is a missing value. Of `Blocks`, and of a Dask array, each block is a batch.
        y : ignored
            For scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the points.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed.

        Returns
        -------
        self
            The estimator, fitted to all batches so far; `n_steps_` is their number.
        """
        if is_dask(X) and sample_weight is not None:
            raise ValueError("sample_weight was given, but the blocks of a Dask array are batches; give arrays.")
        if is_dask(X):
            blocks: Any = (block.compute() for block in masked_array(X, mask).to_delayed().ravel())
        else:
            blocks = lazy(X, mask, sample_weight=sample_weight)
        if blocks is None:
            self._step(X, sample_weight=sample_weight, mask=mask)
            return self
        for part in blocks:
            self._step(part)
        return self

    def _step(self, X: Any, **weighed: Any) -> None:
        first = not hasattr(self, "components_")
        X = checks.check_matrix(self, numeric_table(X), reset=first)
        if first:
            self._begin(X, weighed)
        points = self._points(X, **weighed)
        points = points.take(points.counted).times(self._facts.unit)
        step = self._advance(points)
        self._sums = step.sums
        self.n_steps_ = getattr(self, "n_steps_", 0) + 1
        self._note(points, step)

    def _begin(self, X: Any, weighed: dict[str, Any]) -> None:
        """Draw the start and choose gamma, by the first batch."""
        problem, request = self._problem()
        points = read_points(X, problem, type(self).__name__, feature_weight=self.feature_weight, **weighed)
        if isinstance(self.n_components, str) and self.n_components == "cv":
            raise ValueError("n_components='cv' needs all points; give the number that ewnmf.select_rank finds.")
        if self.init == "custom":
            raise ValueError("init='custom' is for fit, which is handed a start; use another init with partial_fit.")
        self.gamma_path_ = None
        if problem.weighting.has_gamma and request.value is None:
            chosen = clone(self).fit(X, **weighed)
            self.gamma_path_ = chosen.gamma_path_
            problem, request = problem.at_gamma(chosen.gamma_), GammaRequest(chosen.gamma_)
        starts, n_components = self._checked_starts(Starts(), problem, X)
        fixed = checks.check_fixed(self.fixed_components, n_components, X, problem)
        job = Job.of(problem, points, self._settings(), fixed, request)
        self._learn_facts(job.points, job.problem)
        start = next(self._starts(job, n_components, starts, 1)).holding(job.fixed)
        data = job.points.data
        W = times(start.W.T, 1 / job.unit.value)
        self.components_, self.n_components_ = np.ascontiguousarray(W), n_components
        sized = job.problem.sized(data.counted_scale, data.X.dtype)
        self._fitted_problem = problem if sized == job.problem else sized.times(1 / job.unit.value)
        self.gamma_ = self._fitted_problem.weighting.strength
        self.loss_curve_ = np.empty(0)

    def _share_left(self) -> float:
        """What is left of earlier sums after as many points as there are."""
        return FORGET

    def _advance(self, points: Points) -> Step:
        """The step of a batch, in the unit of the first."""
        unit, fixed = (
            self._facts.unit,
            checks.check_fixed(self.fixed_components, self.n_components_, points.X, self._fitted_problem),
        )
        problem: Problem = self._fitted_problem.times(unit)
        data = points.data
        stored = self._facts.stored and data.sparse and not problem.weighting.weighted
        facts = replace(self._facts, fixed=len(fixed), priors=data.P is not None, stored=stored)
        rule = problem.rule(facts, coordinates=self._by_coordinates(problem, data.P is not None))
        sums = getattr(self, "_sums", None)
        if sums is not None and data.P is not None and rule.needs_pulls and sums[1].shape != sums[0].shape:
            raise ValueError(
                "X has missing values, which the batches before had not: squared errors without weights are summed "
                "without room for them. Use weighting='fixed', or EWNMF, from the first batch on."
            )
        W, H = times(self.components_.T, unit), np.asfortranarray(self._codes(points.times(unit)).T)
        kernel = kernel_for(problem, rule, self._tiny)
        with Workers(count_workers(self.n_jobs)) as workers, single_threaded_blas():
            how: dict[str, Any] = {
                "weighting": problem.weighting,
                "memory": remembered(self._share_left(), _BATCH),
                "workers": workers,
            }
            step = advance(kernel, data.thin(problem, rule), H, (np.asfortranarray(W),), sums, **how)
        self.components_ = np.ascontiguousarray(times(step.basis[0], 1 / unit).T)
        return step

    def _by_coordinates(self, problem: Problem, priors: bool) -> bool:
        if self.solver == AUTO:
            return problem.is_known and problem.model.takes_coordinates(problem.loss, problem.weighting, priors)
        if SOLVERS[self.solver].extrapolates:
            raise ValueError(f"solver={self.solver!r} cannot be combined with partial_fit; use 'auto', 'mu' or 'cd'.")
        return SOLVERS[self.solver].coordinates

    def _note(self, points: Points, step: Step) -> None:
        """The fitted attributes that tell of the last batch."""
        cost, problem = self._fitted_problem.cost(self._facts.unit), self._fitted_problem
        self.n_iter_ = self.n_steps_
        self.objective_ = step.measure.J / cost
        self.loss_curve_ = np.append(self.loss_curve_, self.objective_)
        self.reconstruction_err_ = math.sqrt(problem.loss.err_factor * step.measure.loss / cost)
        self.stop_reason_, self._bounds = "partial_fit", None
        factors = Factors((self.components_.T,), step.H)
        solution = Solution(factors, problem, [self.objective_], 0.0, 0.0, 1, "partial_fit")
        self.__dict__.pop("calibration_", None)
        everybody = np.ones(points.X.shape[0], dtype=bool)
        none = checks.check_fixed(None, 0, points.X, problem)
        self._sample = Job(problem, points, self._settings(), none, GammaRequest(), Unit(problem), everybody).sample(
            solution
        )
