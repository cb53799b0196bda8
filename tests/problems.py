"""Every combination that is defined, and problems to try them on.

Rows of ``X`` are points here, as users have them. A `Recipe` is a few small numbers that hypothesis can draw, print
and shrink; `Instance.of` makes the arrays from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ewnmf import Factorization, factorize
from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss
from ewnmf.losses.beta import Beta
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler
from ewnmf.models.base import Factors, Model
from ewnmf.models.convex import Convex
from ewnmf.models.nmf import NMF
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.models.semi import Semi
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense
from ewnmf.weightings.registry import resolve, with_gamma

__all__ = [
    "ALPHAS",
    "DEFINED",
    "LOSSES",
    "MONOTONE",
    "ORDERS",
    "OTHERS",
    "PAIRED",
    "WEIGHTINGS",
    "Case",
    "Instance",
    "Recipe",
    "cases",
    "close",
    "excesses",
    "kernels",
    "recipes",
    "run",
    "same",
]

Array = NDArray[Any]

ALPHAS = (-1.0, 0.0, 1e-9, 0.3, 0.5, 1 - 1e-9, 1.0, 2.0, 3.0)
PAPER: tuple[Loss, ...] = (Euclidean(), KullbackLeibler(), *(Alpha(a) for a in ALPHAS))
"""The losses of the paper: with every weighting."""
FAMILY: tuple[Loss, ...] = (Euclidean(), KullbackLeibler(), *(Alpha(a) for a in (-1.0, 0.0, 0.5, 1.0, 2.0)))
"""The same without alphas that differ from others in their digits alone, which no model knows of: with every model."""
BETAS = (-1.0, 0.0, 1e-9, 0.5, 1.0, 1.5, 2.0, 3.5)
LOSSES: tuple[Loss, ...] = (*PAPER, *(Beta(b) for b in BETAS))
WEIGHTINGS = ("none", "fixed", "entropy")
"""With every model and loss of the paper."""
ORDERS = ("components-first", "codes-first")
HARD = tuple(Orthogonal("hard", of) for of in ("codes", "components"))
SOFT = tuple(Orthogonal("soft", of, mu=0.7, lam=0.3) for of in ("codes", "components"))


@dataclass(frozen=True)
class Case:
    """A model, a loss and a weighting, on nonnegative data or on data of both signs."""

    model: Model
    loss: Loss
    weighting: str
    mixed: bool = False

    def __str__(self) -> str:
        constants = [f"{name}={value!r}" for name, value in vars(self.loss).items()]
        parts = [self.model.name, *(constants or [self.loss.name]), self.weighting]
        if isinstance(self.model, Orthogonal):
            parts[0] = f"{self.model.method}-onmf-{self.model.of}"
        return " ".join([*parts, "mixed"] if self.mixed else parts)

    @property
    def degree(self) -> float:
        """``d(cx, cy) = c^degree d(x, y)``."""
        assert self.loss.degree is not None
        return self.loss.degree

    @property
    def hard(self) -> bool:
        """Whether one factor is exactly orthogonal."""
        return isinstance(self.model, Orthogonal) and self.model.method == "hard"

    @property
    def soft(self) -> bool:
        """Whether the model adds penalties to the cost."""
        return isinstance(self.model, Orthogonal) and self.model.method == "soft"

    @property
    def steep(self) -> bool:
        """Whether a zero in the data costs so much that it decides everything."""
        return any(0 < constant < 1e-3 for constant in vars(self.loss).values())

    @property
    def rare(self) -> bool:
        """Whether sweeps are compiled for this pair of loss and weighting alone: robust weights of another loss."""
        return self.model == NMF() and self.weighting in CONCAVE and not isinstance(self.loss, Euclidean)

    @property
    def common(self) -> bool:
        """Whether machine code for it is made anyway, also in single precision and for data with gaps."""
        return isinstance(self.loss, Euclidean | KullbackLeibler) and self.weighting in WEIGHTINGS

    @property
    def semi(self) -> bool:
        """Whether the basis is found by least squares."""
        return isinstance(self.model, Semi)

    @property
    def convex(self) -> bool:
        """Whether the start is of combinations."""
        return self.model.has_combinations


def _every_weighting(model: Model, loss: Loss, mixed: bool = False) -> list[Case]:
    return [Case(model, loss, weighting, mixed) for weighting in WEIGHTINGS]


BEYOND = [Case(NMF(), Beta(b), weighting) for b in BETAS for weighting in ("none", "entropy")]
BEYOND += [Case(Convex(), Beta(0.5), "entropy"), Case(SOFT[0], Beta(1.5), "fixed"), Case(SOFT[1], Beta(0.0), "none")]
"""Beyond the paper: losses and weightings with some of the others, since parts do not know each other."""


CONCAVE = ("welsch", "cauchy", "huber", "l1")
"""Robust weights of single entries, with a few losses and all models: each pair is compiled anew."""
BEYOND += [Case(NMF(), Euclidean(), weighting) for weighting in CONCAVE]
BEYOND += [Case(NMF(), KullbackLeibler(), "welsch"), Case(NMF(), Alpha(2.0), "l1")]
BEYOND += [Case(model, Euclidean(), weighting) for model in (Convex(), SOFT[0]) for weighting in CONCAVE]
BEYOND += [Case(Semi(), Euclidean(), weighting, mixed=True) for weighting in CONCAVE]
BEYOND += [Case(HARD[0], KullbackLeibler(), weighting) for weighting in CONCAVE]


def _monotone() -> list[Case]:
    table = [c for loss in PAPER for c in _every_weighting(NMF(), loss)]
    table += [c for model in (Convex(), *HARD) for loss in FAMILY for c in _every_weighting(model, loss)]
    table += [c for model in SOFT for loss in PAPER[:2] for c in _every_weighting(model, loss)]
    table += [c for mixed in (False, True) for c in _every_weighting(Semi(), Euclidean(), mixed)]
    table += _every_weighting(Convex(), Euclidean(), mixed=True)
    return table + BEYOND


MONOTONE = _monotone()
"""What `formulas.md` calls monotone."""

OTHERS = [
    Case(Orthogonal(method, of), Euclidean(), "none")
    for method in ("lagrange", "stiefel")
    for of in ("codes", "components")
]
DEFINED = MONOTONE + OTHERS
"""What runs."""


def _paired(case: Case) -> bool:
    """Whether it is the turn of this weighting, where a model takes several losses under several weightings."""
    alike = (Convex(), *HARD) if case.loss in FAMILY else (NMF(),) if case.loss in LOSSES else ()
    if case.model not in alike or case.mixed or case.weighting not in WEIGHTINGS:
        return True
    weightings = ("none", "entropy") if isinstance(case.loss, Beta) else WEIGHTINGS
    return weightings[(LOSSES.index(case.loss) + alike.index(case.model)) % len(weightings)] == case.weighting


PAIRED = [case for case in MONOTONE if _paired(case)]
"""Every model with every loss and under every weighting, and losses that differ by more than digits under every one.

For what is shown of parts that do not know each other. That the excess of all of `MONOTONE` falls, and that results of
all of `DEFINED` are finite, is shown of every model with every loss under every weighting, and so are the values.
"""


def cases(table: Iterable[Case] = MONOTONE, /, **wanted: Any) -> list[Case]:
    """The cases of a table with these values of their properties."""
    return [case for case in table if all(getattr(case, name) == value for name, value in wanted.items())]


@dataclass(frozen=True)
class Recipe:
    """What a problem is made of: ``n`` points of ``m`` attributes, nearly of rank ``K``, with dirt on top."""

    seed: int
    n: int
    m: int
    K: int
    noise: float
    outliers: bool
    zeros: bool
    zero_point: bool
    zero_attribute: bool
    decade: int
    """gamma is ``10^decade`` times the loss of a typical entry."""
    calm: bool = False
    """Whether rounding must not decide between two answers: no ties, few weights of 0, zeros only where harmless."""


@st.composite
def recipes(draw: st.DrawFn, calm: bool = False) -> Recipe:
    """Small problems that no factorisation fits exactly; gamma over five decades, or three where `calm`."""
    n, m = (draw(st.integers(5 if calm else 3, 10)) for _ in range(2))
    zero_point, zero_attribute = draw(st.booleans()), draw(st.booleans())
    return Recipe(
        seed=draw(st.integers(0, 2**32 - 1)),
        n=n,
        m=m,
        K=draw(st.integers(1, min(4, n - 1 - zero_point, m - 1 - zero_attribute))),
        noise=draw(st.sampled_from([0.01, 0.1, 1.0])),
        outliers=draw(st.booleans()),
        zeros=draw(st.booleans()),
        zero_point=zero_point,
        zero_attribute=zero_attribute,
        decade=draw(st.integers(-1 if calm else -3, 2)),
        calm=calm,
    )


def _matrix(recipe: Recipe, case: Case, rng: np.random.Generator) -> Array:
    n, m, K = recipe.n, recipe.m, recipe.K
    X = rng.uniform(size=(n, K)) @ rng.uniform(size=(K, m)) + recipe.noise * rng.uniform(size=(n, m))
    if case.mixed:
        X -= X.mean()
    if recipe.outliers:
        hit = rng.random((n, m)) < 0.1
        X[hit] = rng.uniform(-10 if case.mixed else 0, 10, hit.sum())
    if recipe.zeros:
        X[rng.random((n, m)) < 0.2] = 0
    if recipe.zero_point:
        X[rng.integers(n)] = 0
    if recipe.zero_attribute:
        X[:, rng.integers(m)] = 0
    positive = case.loss.needs_positive or (recipe.calm and (case.hard or case.steep))
    return np.maximum(X, 1e-3) if positive else X


@dataclass(frozen=True, eq=False)
class Instance:
    """Data, weights, gamma and start of one problem."""

    X: Array
    K: int
    gamma: float
    weights: Array
    codes: Array
    components: Array
    combinations: Array

    @classmethod
    def of(cls, case: Case, recipe: Recipe) -> Instance:
        """The problem that the recipe describes, fit for the case."""
        rng = np.random.default_rng(recipe.seed)
        X = _matrix(recipe, case, rng)
        return cls.around(X, recipe.K, rng, case, 10.0**recipe.decade, recipe.calm)

    @classmethod
    def around(
        cls, X: Array, K: int, rng: np.random.Generator, case: Case, share: float = 1.0, calm: bool = False
    ) -> Instance:
        """A start, weights (a fifth of them 0; one a point, if `calm`) and a gamma of `share` typical losses."""
        n, m = X.shape
        weights = rng.uniform(0.1, 2, (n, m))
        if calm:
            weights[np.arange(n), np.arange(n) % m] = 0
        else:
            weights[rng.random((n, m)) < 0.2] = 0
            weights[np.arange(n), rng.integers(m, size=n)] = 1
        starts = (rng.uniform(0.1, 1.1, shape) for shape in ((n, K), (K, m), (n, K)))
        size = float(X.std() or np.abs(X).max() or 1.0)
        return cls(X, K, share * size**case.degree, weights, *starts)

    def scaled(self, c: float, degree: float) -> Instance:
        """``X -> cX``, with the start and gamma to match."""
        return replace(self, X=c * self.X, gamma=c**degree * self.gamma, components=c * self.components)

    def permuted(self, points: Array, attributes: Array) -> Instance:
        """The same problem with its points and attributes in another order."""
        return replace(
            self,
            X=self.X[points][:, attributes],
            weights=self.weights[points][:, attributes],
            codes=self.codes[points],
            components=self.components[:, attributes],
            combinations=self.combinations[points],
        )

    def problem(self, case: Case) -> Problem:
        """The problem as the core takes it."""
        return Problem(case.loss, case.model, resolve(case.weighting, self.gamma))

    def data(self, case: Case, **options: Any) -> Dense:
        """The data as the core takes it: columns are points."""
        if case.weighting == "fixed":
            options.setdefault("P", self.weights.T)
        return Dense(self.X.T, **options)

    def start(self, case: Case) -> Factors:
        """The start as the core takes it."""
        if case.convex:
            return Factors((), self.codes.T, self.combinations)
        return Factors((self.components.T,), self.codes.T)


def run(case: Case, instance: Instance, **options: Any) -> Factorization:
    """`factorize` on an instance from its own start."""
    options = {"max_iter": 20, "n_jobs": 1, **options}
    if case.weighting == "fixed":
        options.setdefault("weights", instance.weights)
    if case.weighting in with_gamma():
        options.setdefault("gamma", instance.gamma)
    basis = "combinations" if case.convex else "components"
    options = {"codes": instance.codes, basis: getattr(instance, basis), **options}
    parts = {"loss": case.loss, "model": case.model, "weighting": case.weighting}
    return factorize(instance.X, instance.K, **{**parts, **options})


def kernels(compiled: bool) -> AbstractContextManager[Any]:
    """Compiled ones, or the reference: machine code for all that is tried would take minutes to make.

    Tests of the kernels tell that the two are one, for every loss and weighting.
    """
    return nullcontext() if compiled else patch("ewnmf.kernels.select._numba_works", lambda: False)


def excesses(case: Case, instance: Instance, **options: Any) -> NDArray[np.float64]:
    """``E`` after every iteration."""
    seen: list[float] = []
    run(case, instance, callbacks=[lambda at: seen.append(at.excess)], **options)
    return np.array(seen)


def same(one: Array, other: Array, tolerance: float) -> bool:
    """Whether two arrays differ by at most `tolerance` of their largest entry."""
    size = max(float(np.abs(one).max()), float(np.abs(other).max()))
    return one.shape == other.shape and bool(np.all(np.abs(one - other) <= tolerance * size))


def close(case: Case) -> float:
    """How far rounding may carry: least squares of nearly dependent codes enlarge it, and so do absolute errors."""
    return 1e-9 * (1e3 if case.semi else 1) * (1e3 if case.weighting == "l1" else 1)
