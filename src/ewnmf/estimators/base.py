"""How all estimators learn: parameters, validation, restarts, what is kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ewnmf import losses, weightings
from ewnmf._types import Array
from ewnmf._warn import warn
from ewnmf.choosing.gamma import choose_gamma
from ewnmf.choosing.rank import RankPath, Trials, check_candidates, search
from ewnmf.damage.learning import learn
from ewnmf.estimators.by_blocks import lazy, lazy_matrix
from ewnmf.estimators.callbacks import CallbackSupport, FitTasks, with_callbacks
from ewnmf.estimators.checkpoints import Checkpoint
from ewnmf.estimators.judging import Judge
from ewnmf.estimators.progress import Progress, Stages
from ewnmf.fitting import checks
from ewnmf.fitting.checks import GammaRequest, check_gamma
from ewnmf.fitting.frames import numeric_table
from ewnmf.fitting.pipeline import Job, Settings, restarts
from ewnmf.fitting.points import Points, read_points
from ewnmf.fitting.starts import INITS, Starts, start_by_point
from ewnmf.fitting.unit import times
from ewnmf.kernels.compiled.loaded import telling
from ewnmf.losses.base import Loss
from ewnmf.models.base import Factors, Model
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem
from ewnmf.solvers.loop import Interrupted, Iteration, Solution
from ewnmf.storage.chunks import is_dask
from ewnmf.storage.matrix import is_remote
from ewnmf.weightings.base import Weighting

__all__ = ["Factorizer"]


class Factorizer(CallbackSupport, Judge):  # type: ignore[misc]
    """What all estimators share; a subclass says which model it fits."""

    rank_path_: RankPath

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        loss: str | Loss = "euclidean",
        alpha: float = 0.5,
        weighting: str | Weighting = "none",
        gamma: float | str = "auto",
        feature_weight: Any = None,
        fixed_components: Any = None,
        init: str = "random",
        n_init: int = 1,
        solver: str = "auto",
        order: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 300,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.alpha = alpha
        self.weighting = weighting
        self.gamma = gamma
        self.feature_weight = feature_weight
        self.fixed_components = fixed_components
        self.init = init
        self.n_init = n_init
        self.solver = solver
        self.order = order
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _model(self) -> Model:
        raise NotImplementedError

    def _problem(self) -> tuple[Problem, GammaRequest]:
        """The problem of the parameters, and what is asked of gamma."""
        request, model = check_gamma(self.gamma, self.weighting), self._model()
        loss, weighting = losses.resolve(self.loss, self.alpha), weightings.resolve(self.weighting, request.value)
        return Problem(loss, model, weighting), request

    def _settings(self) -> Settings:
        name = type(self).__name__
        progress = [Progress(label=name)] if self.verbose > 1 else []
        order = self._model().order if self.order == "auto" else self.order
        watch = Stages(label=name) if self.verbose else None
        return Settings(order, self.solver, self.max_iter, self.tol, self.n_jobs, progress, watch)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        W: Any = None,
        H: Any = None,
        weights: Any = None,
        sample_weight: Any = None,
        mask: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Learn the components of ``X`` (n x m).

        Parameters
        ----------
        X : array-like, sparse matrix, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points; NaN is a missing value.
        y : ignored
            For scikit-learn's conventions.
        W : array-like of shape (n_samples, n_components), optional
            Codes to start from, with ``init="custom"``.
        H : array-like of shape (n_components, n_features), optional
            Components to start from, with ``init="custom"``.
        weights : array-like of shape (n_samples, n_features), optional
            The weights of ``weighting="fixed"``; ones where not given.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the points: one of weight 2 counts as two, one of weight 0 not at all.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed; the others count nowhere, whatever ``X`` holds there. Beside `Blocks` it
            may be in a file, too, and beside a Dask array one of Dask's.
        checkpoint : path-like, optional
            A file that is written every five iterations and removed at the end. Where it is there, since a run was
            killed, `fit` goes on from it, with codes made anew. Not for several starts.

        Returns
        -------
        self
            The fitted estimator.
        """
        weighed = {"weights": weights, "sample_weight": sample_weight, "mask": mask, "checkpoint": checkpoint}
        self._fit(X, Starts(codes=W, components=H), **weighed)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        W: Any = None,
        H: Any = None,
        weights: Any = None,
        sample_weight: Any = None,
        mask: Any = None,
    ) -> Any:
        """``fit(X).transform(X)``, to the bit.

        Parameters
        ----------
        X : array-like, sparse matrix, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points; NaN is a missing value.
        y : ignored
            For scikit-learn's conventions.
        W : array-like of shape (n_samples, n_components), optional
            Codes to start from, with ``init="custom"``.
        H : array-like of shape (n_components, n_features), optional
            Components to start from, with ``init="custom"``.
        weights : array-like of shape (n_samples, n_features), optional
            The weights of ``weighting="fixed"``; ones where not given.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the points: one of weight 2 counts as two, one of weight 0 not at all.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed; the others count nowhere, whatever ``X`` holds there. Beside `Blocks` it
            may be in a file, too, and beside a Dask array one of Dask's.

        Returns
        -------
        ndarray, Blocks or Dask array of shape (n_samples, n_components)
            The codes.
        """
        fitted = self.fit(X, W=W, H=H, weights=weights, sample_weight=sample_weight, mask=mask)
        if type(X) is not np.ndarray and (is_dask(X) or lazy(X, weights=weights) is not None):
            return fitted.transform(X, mask=mask)
        return fitted._transform(fitted._read(X, weights=weights, mask=mask))

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(
        self, X: Any, starts: Starts, grid: GammaRequest | None = None, checkpoint: Any = None, **weighed: Any
    ) -> None:
        problem, request = self._problem()
        settings = self._settings()
        n_init = checks.check_count("n_init", self.n_init)
        self.__dict__.pop("n_lost_blocks_", None)
        given = None if type(X) is np.ndarray else lazy_matrix(self, X, weighed)
        X = checks.check_matrix(self, _numeric(X), reset=True) if given is None else given
        weighed = weighed if given is None else {**weighed, "mask": None}
        points = read_points(X, problem, type(self).__name__, feature_weight=self.feature_weight, **weighed)
        request = request if grid is None else grid
        self._choose_rank(points, problem, request)
        starts, n_components = self._checked_starts(starts, problem, X)
        fixed = checks.check_fixed(self.fixed_components, n_components, X, problem)
        job = Job.of(problem, points, settings, fixed, request)
        points.warn("the codes of the mean point", "components of 0")
        self._learn_facts(job.points, job.problem)
        drawn = self._starts(job, n_components, starts, n_init)
        kept = None if checkpoint is None else Checkpoint(self, checkpoint)
        if kept is not None:
            job, drawn = kept.continued(job, drawn)
        with telling(self._say if self.verbose else None):
            best = self._learn(job, drawn) if not self._is_watched else self._learn_watched(job, drawn, X, n_init)
        if is_remote(X):
            self.n_lost_blocks_ = sum(X.fleet.losses)
        if kept is not None:
            kept.finish()
        self._warn(best)

    def _starts(self, job: Job, n_components: int, starts: Starts, n_init: int) -> Iterator[Factors]:
        """Where the runs start, each drawn when it is asked for."""
        starts = starts.take(job.counted).times(job.unit.value)
        for seed in check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=n_init):
            rng = np.random.default_rng(seed)
            size = {"sized": job.remembers_size}
            yield start_by_point(job.problem, job.points, n_components, self.init, starts, rng, **size)

    def _learn(self, job: Job, starts: Iterable[Factors]) -> Solution:
        """Fit and keep what was found, on Ctrl-C too."""
        self.gamma_path_: Any = None
        if not job.chooses_gamma:
            job.settings.stage("fit")
        try:
            best = restarts(job, starts, choose_gamma)
        except Interrupted as interrupt:
            interrupt.solution = self._keep(job, interrupt.solution)
            raise
        finally:
            if isinstance(job.settings.watch, Stages):
                job.settings.watch.close()
        return self._keep(job, best)

    @property
    def _is_watched(self) -> bool:
        """Whether scikit-learn's callbacks are set."""
        return bool(getattr(self, "_skl_callbacks", ()))

    def _learn_watched(self, job: Job, starts: Iterable[Factors], X: Any, n_init: int) -> Solution:
        """The same before the eyes of scikit-learn's callbacks."""
        tasks = FitTasks(self, X, n_init, job.settings.max_iter, self._attributes_at)
        best = self._learn(job.watched([tasks.after_iteration]), tasks.each(starts))
        tasks.end()
        return best

    def _choose_rank(self, points: Points, problem: Problem, request: GammaRequest) -> None:
        """Set `rank_path_` where the number of components is to be chosen, and only there."""
        if hasattr(self, "rank_path_"):
            del self.rank_path_
        if isinstance(self.n_components, str) and self.n_components == "cv":
            self.rank_path_ = search(self._trials(points, problem, request))

    def _trials(self, points: Points, problem: Problem, request: GammaRequest, **options: Any) -> Trials:
        if problem.model.refuses_hidden() is not None:
            raise ValueError(
                f"n_components='cv' and select_rank hide entries from the fit, which {type(self).__name__} (model="
                f"{problem.model.name!r}) cannot do; search n_components with GridSearchCV, whose score hides them "
                "from transform alone, or use NMF or SemiNMF."
            )
        if self.init == "custom":
            raise ValueError(
                "init='custom' has the n_components of its start factors, so that there is nothing to choose; use "
                "another init, or give n_components."
            )
        none = checks.check_fixed(None, 0, points.X, problem)
        return Trials.of(
            Job.of(problem, points, self._settings(), none, request),
            int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
            init=self.init,
            n_init=checks.check_count("n_init", self.n_init),
            fixed=self.fixed_components,
            **options,
        )

    def _rank_path(self, X: Any, candidates: Any, repeats: int, share: float, **weighed: Any) -> RankPath:
        """The path of `ewnmf.select_rank`."""
        problem, request = self._problem()
        options = {"repeats": checks.check_count("repeats", repeats, 2), "share": checks.check_share(share)}
        X = checks.check_matrix(self, _numeric(X), reset=True)
        points = read_points(X, problem, type(self).__name__, feature_weight=self.feature_weight, **weighed)
        trials = self._trials(points, problem, request, **options)
        if candidates is None:
            return search(trials)
        found = check_candidates(candidates, trials.limit)
        return trials.at_chosen_gamma(found).path(found)

    def _learn_facts(self, points: Points, problem: Problem) -> None:
        """Keep what the codes of new points need to know of the data, in the unit of the fit."""
        data = points.data
        self._facts = replace(data.facts(problem), gram=None)
        self._tiny = data.tiny
        self._bounds = None
        self._mean_point = times(points.mean(positive=problem.loss.needs_positive), 1 / points.unit)
        given = checks.check_vector("feature_weight", self.feature_weight, points.X.shape[1], points.X.dtype)
        self._feature_weight = None if given is None else given.copy()

    def _checked_starts(self, starts: Starts, problem: Problem, X: Array) -> tuple[Starts, int]:
        given = [start for start in (starts.codes, starts.components, starts.combinations) if start is not None]
        if self.init == "custom" and len(given) < 2:
            raise ValueError(
                "init='custom' needs both start factors in fit: W=codes and "
                f"{'U=combinations' if problem.model.has_combinations else 'H=components'}."
            )
        if self.init != "custom" and given:
            raise ValueError(f"start factors were given, but init={self.init!r}; use init='custom' to start from them.")
        if self.init not in (*INITS, "custom"):
            raise unknown_name("init", self.init, [*INITS, "custom"])
        codes = None if starts.codes is None else np.asarray(starts.codes)
        asked = self.rank_path_.chosen if hasattr(self, "rank_path_") else self.n_components
        n_components = checks.check_n_components(asked, X.shape[1], codes)
        return starts.checked(problem, X, n_components), n_components

    def _attributes_at(self, report: Iteration) -> dict[str, Any]:
        """What makes a fitted estimator of the state at an iteration."""
        problem = self._problem()[0]
        if problem.weighting.has_gamma and report.gamma is not None:
            problem = problem.at_gamma(report.gamma)
        return {
            "components_": np.array(report.components, order="C"),
            "n_components_": report.components.shape[0],
            "n_iter_": report.number,
            "gamma_": report.gamma,
            "_fitted_problem": problem,
        }

    def _keep(self, job: Job, solution: Solution) -> Solution:
        """Set the fitted attributes; the solution for all points, in the unit of the user."""
        self._bounds = job.bounds(solution)
        solution = job.back(solution)
        factors, problem = solution.factors, solution.problem
        self._fitted_problem = problem
        self.components_ = np.ascontiguousarray(factors.W.T)
        self.n_components_ = self.components_.shape[0]
        if factors.U is not None:
            self.combinations_ = factors.U
        self.gamma_ = problem.weighting.strength
        self.gamma_path_ = solution.path
        if self.verbose and solution.path is not None:
            self._say(solution.path.verdict)
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.history[-1]
        self.loss_curve_ = np.array(solution.history)
        self.reconstruction_err_ = math.sqrt(problem.loss.err_factor * solution.loss)
        self.stop_reason_ = solution.reason
        for name in ("calibration_", "_sums", "n_steps_"):
            self.__dict__.pop(name, None)
        self._sample = job.sample(solution)
        return solution

    def __getattr__(self, name: str) -> Any:
        if name == "calibration_" and "_sample" in self.__dict__:
            self.calibration_ = learn(self.__dict__.pop("_sample"))
            return self.calibration_
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _say(self, words: str) -> None:
        """Write a line to where the progress goes."""
        Progress(label=type(self).__name__).say(words)

    def _warn(self, solution: Solution) -> None:
        if solution.reason == "max_iter" and self.tol > 0:
            warn(
                f"{type(self).__name__} reached max_iter={self.max_iter} before the relative decrease of the objective "
                f"fell to tol={self.tol}; raise max_iter or tol, or set tol=0 to run a fixed number of iterations.",
                ConvergenceWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not self._may_be_negative()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._may_be_missing()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _may_be_negative(self) -> bool:
        return False

    def _may_be_missing(self) -> bool:
        return True


def _numeric(X: Any) -> Any:
    """``X`` as an array or table of numbers; one of floats is that already."""
    return X if type(X) is np.ndarray and X.dtype.kind == "f" else numeric_table(X)
