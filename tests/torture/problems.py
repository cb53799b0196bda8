"""One random problem, made of a seed and an index alone: data, parameters, weights, start."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ewnmf
from ewnmf import losses
from ewnmf.models.base import Model
from tests.torture import tolerances
from tests.torture.data import SPARSE, lay_out
from tests.torture.judging import Undecided

__all__ = ["GAMMAS", "Problem"]

Array = NDArray[Any]
GAMMAS = ("entropy", "welsch", "cauchy", "huber")
"""Weightings that have a gamma."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What an estimator or `factorize` is asked for. ``X`` (n x m) is whole; `hidden` says what is not observed."""

    seed: int
    index: int
    kind: str
    name: str
    """Of the estimator."""
    X: Array
    layout: str
    K: int
    loss: str = "euclidean"
    alpha: float = 0.5
    """The parameter of the loss, beta where that is ``"beta"``."""
    weighting: str = "none"
    gamma: float | str = 1.0
    solver: str = "mu"
    order: str = "auto"
    init: str = "custom"
    options: dict[str, Any] = field(default_factory=dict)
    """Parameters that only this estimator has."""
    hidden: Array | None = None
    hide_by: str = "mask"
    junk: float | None = None
    """What stands in a dense ``X`` where `mask` hides it."""
    weights: Array | None = None
    sample_weight: Array | None = None
    feature_weight: Array | None = None
    fixed: Array | None = None
    codes: Array | None = None
    components: Array | None = None
    combinations: Array | None = None
    max_iter: int = 10
    tol: float = 0.0
    n_jobs: int = 1

    def __str__(self) -> str:
        n, m = self.X.shape
        loss = f"{self.loss}={self.alpha!r}" if self.loss in ("alpha", "beta") else self.loss
        parts = [self.name, *(f"{name}={value!r}" for name, value in self.options.items()), loss, self.weighting]
        if self.weighting in GAMMAS:
            parts.append(f"gamma={self.gamma!r}")
        parts += [self.solver, self.order, self.init, f"K={self.K}", f"{n}x{m} {self.X.dtype} {self.layout}"]
        parts += [f"{self.kind!r} up to {np.abs(self.X).max():.2g}", f"max_iter={self.max_iter}"]
        if self.hidden is not None:
            parts.append(f"{int(self.hidden.sum())} hidden by {self.hide_by} ({self.junk})")
        for name in ("weights", "sample_weight", "feature_weight", "fixed"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f"{name} {value.min():.2g}..{value.max():.2g}")
        return ", ".join(parts)

    @property
    def sparse(self) -> bool:
        """Whether the data is handed over sparse."""
        return self.layout in SPARSE

    @property
    def core_loss(self) -> losses.Loss:
        """The loss as an object."""
        return losses.Beta(self.alpha) if self.loss == "beta" else losses.resolve(self.loss, self.alpha)

    @property
    def degree(self) -> float:
        """``d(cx, cy) = c^degree d(x, y)``."""
        degree = self.core_loss.degree
        assert degree is not None
        return degree

    def degree_of(self, name: str) -> float:
        """That of a sum, or of the weights: L1's objective is made of the roots of losses, its weights of inverses."""
        if name == "weights":
            return -self.degree / 2 if self.weighting == "l1" else 0.0
        return self.degree / 2 if name == "E" and self.weighting == "l1" else self.degree

    @property
    def lost(self) -> float:
        """How many times more rounding there is where powers ``1 / alpha``, or logarithms in their place, are taken.

        Beta divergences take powers of values, not of ratios, as exponentials of logarithms.
        """
        if self.loss not in ("alpha", "beta") or (self.loss == "alpha" and self.alpha >= 1):
            return 1.0
        sizes = np.abs(self.X[self.X != 0]).astype(np.float64)
        logarithm = float(np.abs(np.log(sizes)).max(initial=1.0))
        if self.loss == "beta":
            return max(1.0, logarithm * max(abs(self.alpha), abs(self.alpha - 2)))
        return max(1.0, min(logarithm, 1 / abs(self.alpha) if self.alpha else np.inf))

    @property
    def rounding(self) -> float:
        """``u`` of this problem."""
        return self.lost * tolerances.unit(self.X.dtype, *self.X.shape, self.K)

    @property
    def model(self) -> Model:
        """The model as an object."""
        model: Model = self.estimator()._model()
        return model

    @property
    def monotone(self) -> bool:
        """Whether ``E`` never rises."""
        return self.options.get("method") not in ("lagrange", "stiefel")

    @property
    def by_coordinates(self) -> bool:
        """Whether the steps may be those of coordinate descent, which is chosen where all entries have one weight."""
        if self.solver != "auto":
            return self.solver.endswith("cd")
        plain = self.weighting == "none" or (self.weighting in GAMMAS and self.gamma in (np.inf, "auto", "groups"))
        return plain and self.loss == "euclidean" and self.name in ("NMF", "EWNMF") and bool((self.priors == 1).all())

    @property
    def solves_codes(self) -> bool:
        """Whether new codes are solved by least squares."""
        return self.loss == "euclidean" and self.name in ("NMF", "EWNMF", "ConvexNMF")

    @property
    def penalised(self) -> bool:
        """Whether the cost has a part that does not scale with the data."""
        return self.options.get("method") == "soft" or bool(self.options.get("alpha_W") or self.options.get("alpha_H"))

    @property
    def priors(self) -> Array:
        """The weight of every entry (n x m) before anything is learned."""
        P = np.ones(self.X.shape) if self.weights is None else self.weights.astype(np.float64)
        if self.feature_weight is not None:
            P = P * self.feature_weight
        return P if self.hidden is None else np.where(self.hidden, 0, P)

    def total(self, values: Array, name: str = "E") -> float:
        """The sum of `values` (n x m) under the weights of that sum.

        Learned weights, those of ``E``, sum to one: at most that of each point's largest. A loss has the prior ones.
        """
        P = self.priors
        s = np.ones(len(P)) if self.sample_weight is None else self.sample_weight.astype(np.float64)
        with np.errstate(over="ignore"):
            counted = np.where((P > 0) & (s > 0)[:, None], values, 0)
            if self.weighting == "entropy" and name != "loss":
                return float(s @ np.max(counted, axis=1))
            return float(s @ np.sum(P * counted, axis=1))

    def size(self, terms: Array, name: str = "E") -> float:
        """``S``: the total of ``v^degree`` with ``v`` the larger of ``|x|`` and of `terms`, which ``y`` is a sum of.

        Of beta divergences it is that of ``y^b + x y^(b-1)``, ``y`` times the two sides of a slope. Where all data is
        0, the start, of about 1, is all that there is to compare with.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values = np.abs(self.X.astype(np.float64)) if self.largest else np.ones(self.X.shape)
            if self.loss == "beta":
                y = np.maximum(terms, tolerances.floor(self.X.dtype) * self.scale)
                costs = y**self.degree + values * y ** (self.degree - 1)
            else:
                costs = np.maximum(values, terms) ** self.degree
            return self.total(np.sqrt(costs) if name == "E" and self.weighting == "l1" else costs, name)

    def slack(self, E: Any, S: float, u: float, name: str = "E") -> Any:
        """What a relative error `u` of all reconstructed values does to a sum; to L1's, of roots, in first order."""
        return u * E + 2 * u * S if name == "E" and self.weighting == "l1" else tolerances.slack(E, S, u)

    def rounding_of(self, E: Array, terms: Array) -> Any:
        """By how much each of the falling values `E` may lie above the one before it."""
        S = self.size(terms)
        if self.weighting == "l1":
            ridge = self.model.ridge if self.name == "SemiNMF" else 0.25  # type: ignore[attr-defined]
            exact = 32 * self.lost * float(np.finfo(self.X.dtype).eps) * S / (2 * ridge**0.5)
            return 1e-12 * E[0] + exact if self.X.dtype == np.float64 else self.slack(E[:-1], S, self.rounding)
        by_products = 16 * float(np.finfo(self.X.dtype).eps) * S if self.by_coordinates else 0.0
        return tolerances.rounding(E, S, self.X.dtype, self.rounding) + by_products

    @property
    def largest(self) -> float:
        """The largest value that was observed."""
        s = 1.0 if self.sample_weight is None else self.sample_weight[:, None]
        return float(np.abs(self.X).max(initial=0, where=self.priors * s > 0))

    @property
    def scale(self) -> float:
        """The largest value, 1 where all are 0."""
        return self.largest or 1.0

    @property
    def fitted_as_it_is(self) -> bool:
        """Whether the fit stays in the unit of the data; else it is brought to about one, floors and all."""
        return 2**-20 <= self.largest <= 2**20

    def least(self, name: str = "E") -> float:
        """``F``: what reconstructions at the floor cost; losses whose degree is not positive take no zeros."""
        height, degree = self.K * tolerances.floor(self.X.dtype) * self.scale, self.degree_of(name)
        if degree <= 0:
            return 0.0
        with np.errstate(under="ignore"):
            return self.total(np.full(self.X.shape, height**degree), name)

    def tells_floors_from_nothing(self, gamma: float) -> bool:
        """Whether an attribute that is 0 everywhere has another weight in sparse data, where it costs nothing.

        In dense data it costs what floors do, and entropy weights of this gamma tell that from 0.
        """
        seen = self.priors > 0
        silent = seen.any(axis=0) & ~((self.X != 0) & seen).any(axis=0)
        height = self.K * tolerances.floor(self.X.dtype) * self.scale
        return self.weighting == "entropy" and bool(silent.any()) and gamma * self.rounding < height**self.degree

    def at_floors(self, Y: Array, gamma: float) -> Array:
        """Where (n x m) weights tell floors from nothing: neither data nor ``Y`` rises above them, nor gamma.

        Entropy weights of a point sum to one, so that all of them do.
        """
        height = self.K * tolerances.floor(self.X.dtype) * self.scale
        faint = (np.maximum(np.abs(self.X), np.abs(Y)) <= height) & (self.priors > 0)
        if not gamma * self.rounding < height**self.degree:
            faint[:] = False
        return np.broadcast_to(faint.any(axis=1, keepdims=True), Y.shape) if self.weighting == "entropy" else faint

    def corrected(self, components: Array, way: str) -> float:
        """How many times more rounding there is where a basis is corrected, not made anew: weighted Semi-NMF's.

        Its error is that of the old basis, which may be larger by as much as the ridge lets it shrink in a step. Drawn
        ones are of the size of the data.
        """
        if self.name != "SemiNMF" or (self.weighting == "none" and bool((self.priors == 1).all())):
            return 1.0
        given = self.components if way == "factorize" or self.init == "custom" else None
        start = self.scale if given is None else max(self.scale, float(np.abs(given).max()))
        end = float(np.abs(components).max(initial=0))
        ridge: float = self.model.ridge  # type: ignore[attr-defined]
        return float(np.clip(start / end if end > 0 else np.inf, 1, 1 / ridge))

    @property
    def multiple(self) -> float:
        """Gamma as a multiple of a mean loss, at the most, where the data chooses it; 0 where it is given."""
        if not isinstance(self.gamma, str):
            return 0.0
        return float(self.gamma[:-1]) if self.gamma.endswith("x") else 16.0

    def given(self) -> Any:
        """``X`` as it is handed over, in memory of its own."""
        X = self.X
        if self.hidden is not None:
            junk = np.nan if self.hide_by == "nan" else self.junk
            if junk is not None:
                X = np.where(self.hidden, X.dtype.type(junk), X)
        return lay_out(X, self.layout)

    def estimator(self) -> Any:
        """The estimator, not fitted."""
        return getattr(ewnmf, self.name)(
            self.K,
            loss=self.core_loss if self.loss == "beta" else self.loss,
            alpha=self.alpha,
            weighting=self.weighting,
            gamma=self.gamma,
            solver=self.solver,
            order=self.order,
            init=self.init,
            feature_weight=_copied(self.feature_weight),
            fixed_components=_copied(self.fixed),
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            random_state=self.seed % 2**31,
            **self.options,
        )

    def asked(self, fit: bool = False) -> dict[str, Any]:
        """What `fit`, or else `transform`, is given besides ``X``."""
        asked: dict[str, Any] = {}
        if self.weights is not None:
            asked["weights"] = self.weights.copy()
        if self.hidden is not None and self.hide_by == "mask":
            asked["mask"] = ~self.hidden
        if not fit:
            return asked
        if self.sample_weight is not None:
            asked["sample_weight"] = self.sample_weight.copy()
        if self.init == "custom":
            asked["W"] = _copied(self.codes)
            basis = ("U", self.combinations) if self.name == "ConvexNMF" else ("H", self.components)
            asked[basis[0]] = _copied(basis[1])
        return asked

    def arguments(self) -> dict[str, Any]:
        """What `factorize` is given, from a start of its own."""
        basis = {"combinations": self.combinations} if self.name == "ConvexNMF" else {"components": self.components}
        given = {name: _copied(value) for name, value in {"codes": self.codes, **basis}.items()}
        if self.sample_weight is not None:
            given["sample_weight"] = self.sample_weight.copy()
        return {
            "X": self.given(),
            "n_components": self.K,
            "loss": self.core_loss,
            "model": self.model,
            "weighting": self.weighting,
            "gamma": self.gamma,
            "feature_weight": _copied(self.feature_weight),
            "fixed_components": _copied(self.fixed),
            "order": self.model.order if self.order == "auto" else self.order,
            "solver": self.solver,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "n_jobs": self.n_jobs,
            **self.asked(),
            **given,
        }

    def scaled(self, c: float) -> Problem:
        """The same in another unit: ``c X``, and everything else to match."""
        with np.errstate(over="ignore"):
            gamma = self.gamma if isinstance(self.gamma, str) else float(self.gamma * np.float64(c) ** self.degree)
        moved: dict[str, Any] = {name: _scaled(getattr(self, name), c) for name in ("X", "components", "fixed")}
        return replace(self, gamma=gamma, options=_penalties(self.options, c, self.degree_of("E")), **moved)

    def weighing(self, counts: Array) -> Problem:
        """The same with these weights of the points."""
        combinations = None if self.combinations is None else self.combinations * counts[:, None]
        return replace(self, sample_weight=counts.astype(self.X.dtype), combinations=combinations)

    def repeated(self, counts: Array) -> Problem:
        """The same with every point as often as `counts` says."""
        rows = np.repeat(np.arange(len(counts)), counts)
        parts = ("X", "hidden", "weights", "codes", "combinations")
        moved: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows] for name in parts
        }
        return replace(self, sample_weight=None, **moved)

    def shaken(self, seed: int, amount: float) -> Problem:
        """The same with every number moved by up to `amount` units in the last place."""
        rng = np.random.default_rng([self.seed, self.index, seed])
        eps = amount * float(np.finfo(self.X.dtype).eps)

        def shake(value: Any) -> Any:
            moved = np.asarray(value, dtype=np.float64) * (1 + eps * rng.uniform(-1, 1, np.shape(value)))
            return moved.astype(self.X.dtype)

        names = ("X", "weights", "sample_weight", "feature_weight", "fixed", "codes", "components", "combinations")
        moved: dict[str, Any] = {name: shake(getattr(self, name)) for name in names if getattr(self, name) is not None}
        gamma = self.gamma if isinstance(self.gamma, str) else float(self.gamma * (1 + eps * rng.uniform(-1, 1)))
        return replace(self, gamma=gamma, **moved)


def _penalties(options: dict[str, Any], c: float, degree: float) -> dict[str, Any]:
    """The penalties for a basis in another unit; `Undecided` where none are the same, or where they leave the range."""
    codes, linear, square = (float(np.longdouble(c) ** (degree - power)) for power in (0, 1, 2))
    if options.get("method") == "soft":
        units = (codes, square) if options["of"] == "codes" else (square, codes)
        moved = {name: options[name] * unit for name, unit in zip(("mu", "lam"), units, strict=True)}
    elif "alpha_W" in options:
        on_codes, on_basis, ratio = options["alpha_W"], options["alpha_H"], options["l1_ratio"]
        on_basis = on_codes if on_basis == "same" else on_basis
        if 0 < ratio < 1 and on_basis:
            raise Undecided
        moved = {"alpha_W": on_codes * codes, "alpha_H": on_basis * (linear if ratio else square)}
    else:
        return options
    if not all(value == 0 or 1e-290 < value < 1e290 for value in moved.values()):
        raise Undecided
    return {**options, **moved}


def _copied(value: Array | None) -> Array | None:
    return None if value is None else value.copy()


def _scaled(value: Array | None, c: float) -> Array | None:
    if value is None:
        return None
    with np.errstate(over="ignore", under="ignore"):
        return (value.astype(np.float64) * c).astype(value.dtype)
