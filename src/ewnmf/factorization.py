"""The bare algorithm as a function. Rows of ``X`` are points; the transpose to the paper's columns happens here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from ewnmf import checks
from ewnmf.blocks import Dense, storage
from ewnmf.encoding import weights_of
from ewnmf.gamma import SelfTuning
from ewnmf.init import start_matrices, uniform
from ewnmf.losses import Loss
from ewnmf.models import NMF, Model
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem
from ewnmf.solver import Callback, Interrupted, Solution, solve
from ewnmf.updates.rule import Factors
from ewnmf.weights import Entropy, Weighting

__all__ = ["Factorization", "Settings", "Starts", "draw_start", "factorize", "run"]

Array = NDArray[Any]
SOLVERS = ("accelerated", "mu")


@dataclass(frozen=True, eq=False)
class Factorization:
    """``X ~ codes @ components`` as a run left it.

    Attributes
    ----------
    codes : ndarray of shape (n, K)
        One row per point (the paper's ``H'``).
    components : ndarray of shape (K, m)
        One row per component (the paper's ``W'``).
    combinations : ndarray of shape (n, K) or None
        Convex-NMF's ``U``: ``components = combinations.T @ X``.
    objective : float
        ``J*`` of these factors: the last entry of `history`.
    history : ndarray
        ``J*`` after every iteration (after gamma was settled, where it was tuned).
    excess : float
        ``E``, the objective above its bound, by which runs are compared.
    loss : float
        The sum of the losses of all entries, times their prior weights.
    gamma : float or None
        Of the entropy weighting.
    n_iter : int
        Iterations, those that settled gamma included.
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
    _data: Dense = field(repr=False)

    def weights(self) -> Array:
        """The weight of every entry (n x m); with the entropy weighting every row sums to one, Eq. (18)."""
        data = self._data
        facts = data.facts(self.problem)
        H, W = self.codes.T, self.components.T
        return weights_of(self.problem, W, H, data, tiny=data.tiny, facts=facts).T

    @classmethod
    def of(cls, solution: Solution, data: Dense) -> Factorization:
        """The solution of the core, rows as points."""
        factors, weighting = solution.factors, solution.problem.weighting
        return cls(
            codes=np.ascontiguousarray(factors.H.T),
            components=np.ascontiguousarray(factors.W.T),
            combinations=factors.U,
            objective=solution.history[-1],
            history=np.array(solution.history),
            excess=solution.excess,
            loss=solution.loss,
            gamma=weighting.gamma if isinstance(weighting, Entropy) else None,
            n_iter=solution.n_iter,
            reason=solution.reason,
            problem=solution.problem,
            _data=data,
        )


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


@dataclass(frozen=True)
class Starts:
    """Start factors as the user gave them, rows as points; what is None is drawn."""

    codes: Any = None
    components: Any = None
    combinations: Any = None

    def checked(self, problem: Problem, X: Array, n_components: int) -> Starts:
        """The same as arrays of the right shape, or a sentence."""
        (n, m), K, model = X.shape, n_components, problem.model
        if model.has_combinations and self.components is not None:
            raise ValueError(
                "components cannot start model='convex-nmf', whose components are combinations of the data; "
                "give combinations (n x K) instead."
            )
        if not model.has_combinations and self.combinations is not None:
            raise ValueError(f"combinations start only model='convex-nmf', not model={model.name!r}.")
        shapes = {"codes": (n, K), "components": (K, m), "combinations": (n, K)}
        given = {name: getattr(self, name) for name in shapes}
        return Starts(
            **{
                name: None
                if start is None
                else checks.check_start(
                    name, start, shapes[name], X.dtype, signed=name == "components" and model.signed_basis
                )
                for name, start in given.items()
            }
        )


def draw_start(
    problem: Problem, X: Array, n_components: int, init: str, starts: Starts, rng: np.random.Generator
) -> Factors:
    """The start in the paper's orientation: what `starts` gives, the rest drawn by `init`."""
    codes, components, combinations = starts.codes, starts.components, starts.combinations
    basis_known = (combinations if problem.model.has_combinations else components) is not None
    if codes is None or not basis_known:
        drawn_codes, drawn_components = start_matrices(X, n_components, init, rng)
        codes = drawn_codes if codes is None else codes
        components = drawn_components if components is None else components
    if not problem.model.has_combinations:
        return Factors((components.T,), codes.T)
    if combinations is None:
        random = init == "random"
        combinations = uniform(codes.shape, rng, X.dtype) if random else codes / codes.sum(axis=0)
    return Factors((), codes.T, np.ascontiguousarray(combinations))


def run(problem: Problem, data: Dense, start: Factors, settings: Settings, *, tune: bool) -> Solution:
    """One run of the core; with `tune` gamma is settled during its first part."""
    if settings.solver == "accelerated" and not isinstance(problem.model, NMF):
        raise ValueError(
            f"solver='accelerated' cannot be combined with model={problem.model.name!r}: only the multiplicative "
            "updates of model='nmf' can be extrapolated. Use solver='mu'."
        )
    tuner = None
    if tune:
        tuner = SelfTuning.for_run(problem.loss, data.scale, data.X.dtype, settings.max_iter)
    heard, rows = data.loud(problem)
    whole = partial(_expanded, rows=rows, n_attributes=data.X.shape[0])
    watched = [lambda at, see=see: see(replace(at, factors=whole(at.factors))) for see in settings.callbacks]
    try:
        solution = solve(
            problem,
            heard,
            _restricted(start, rows),
            order=settings.order,
            accelerate=settings.solver == "accelerated",
            max_iter=settings.max_iter,
            tol=settings.tol,
            n_jobs=settings.n_jobs,
            tuner=tuner,
            callbacks=watched,
        )
    except Interrupted as interrupt:
        interrupt.solution = interrupt.solution._replace(factors=whole(interrupt.solution.factors))
        raise
    return solution._replace(factors=whole(solution.factors))


def _restricted(start: Factors, rows: Array | None) -> Factors:
    """The start for the attributes `rows` alone."""
    return start if rows is None else start._replace(basis=tuple(part[rows] for part in start.basis))


def _expanded(factors: Factors, rows: Array | None, n_attributes: int) -> Factors:
    """The factors for all attributes: zero where the data is."""
    if rows is None:
        return factors
    W = np.zeros((n_attributes, factors.W.shape[1]), dtype=factors.W.dtype, order="F")
    W[rows] = factors.W
    return factors._replace(basis=(W,))


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
        Rows are points, columns attributes. Sparse data is made dense one block at a time, or not
        at all where `weighting` is ``"none"`` and few entries are stored.
    n_components : int or "auto"
        K; ``"auto"`` takes it from a given start, else m.
    loss : {"euclidean", "kullback-leibler", "alpha"} or Loss
        ``"alpha"`` is ``losses.Alpha(0.5)``.
    model : {"nmf", "semi-nmf", "convex-nmf", "onmf"} or Model
        What is asked of the factors.
    weighting : {"entropy", "fixed", "none"} or Weighting
        How entries are weighted.
    gamma : float or "auto"
        Strength of the entropy; ``"auto"`` settles ``8 * mean loss`` in the first min(150, max_iter // 2) iterations.
    codes, components, combinations : array-like, optional
        Starts of shape (n, K), (K, m) and, for Convex-NMF in place of components, (n, K); drawn uniformly from
        [0.1, 1.1] where not given.
    weights : array-like of shape (n, m), optional
        The weights of ``weighting="fixed"``; ones where not given.
    order : {"components-first", "codes-first"}
        Which factor moves first.
    solver : {"mu", "accelerated"}
        The paper's multiplicative updates, or the same from extrapolated points (``model="nmf"`` only).
    max_iter : int
        Iterations at the most.
    tol : float
        Stop when ``E`` falls by at most this share of itself in an iteration; 0 means never.
    n_jobs : int, optional
        Threads; all usable cores where not given. The result does not depend on it.
    rng : int, numpy.random.Generator, optional
        Source of the start.
    callbacks : sequence of callables
        Each is given an `Iteration` after every iteration and may return True to stop the run.

    Returns
    -------
    Factorization
        The factors and how the run went. On Ctrl-C a `KeyboardInterrupt` carries it as ``.solution``.
    """
    given = checks.check_gamma(gamma, weighting)
    problem = Problem.of(loss, model, weighting, gamma=given)
    settings = Settings(order, solver, max_iter, tol, n_jobs, tuple(callbacks))
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, input_name="X")
    checks.check_values(X, problem, "factorize")
    A = checks.check_weights(weights, X, problem)
    sized = [
        np.asarray(codes) if codes is not None else None,
        np.asarray(components).T if components is not None else None,
    ]
    K = checks.check_n_components(n_components, X.shape[1], *sized)
    starts = Starts(codes, components, combinations).checked(problem, X, K)
    start = draw_start(problem, X, K, "random", starts, np.random.default_rng(rng))
    data = storage(X.T, None if A is None else A.T)
    tune = given is None and isinstance(problem.weighting, Entropy)
    try:
        return Factorization.of(run(problem, data, start, settings, tune=tune), data)
    except Interrupted as interrupt:
        interrupt.solution = Factorization.of(interrupt.solution, data)
        raise
