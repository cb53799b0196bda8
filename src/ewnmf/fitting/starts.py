"""Where a run starts: factors that were given, that are drawn as in the paper, or that depend on each point alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.fitting import checks
from ewnmf.fitting.init import INITS, nndsvd, point_numbers, uniform
from ewnmf.fitting.points import Points
from ewnmf.models.rule import Factors
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem

__all__ = ["Starts", "draw_start", "start_by_point"]


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

    def times(self, unit: float) -> Starts:
        """The same for data multiplied by `unit`, as components are."""
        if unit == 1 or self.components is None:
            return self
        checks.check_start_reach(self.components, unit)
        return replace(self, components=self.components * self.components.dtype.type(unit))

    def take(self, rows: Array) -> Starts:
        """The same for the points where `rows` is True."""
        points = {name: getattr(self, name) for name in ("codes", "combinations")}
        return replace(self, **{name: part[rows] for name, part in points.items() if part is not None})


def draw_start(
    problem: Problem,
    X: Array,
    n_components: int,
    starts: Starts,
    rng: np.random.Generator,
    P: Array | None = None,
) -> Factors:
    """The start in the paper's orientation: what `starts` gives, the rest uniform, as the paper draws it.

    `P` (n x m) are the prior weights of the entries.
    """
    codes, components, combinations = starts.codes, starts.components, starts.combinations
    basis_known = (combinations if problem.model.has_combinations else components) is not None
    if codes is None or not basis_known:
        drawn = uniform((n_components, X.shape[1]), rng, X.dtype)
        components = _sized(drawn, problem, Points(X, P)) if components is None else components
        drawn = uniform((X.shape[0], n_components), rng, X.dtype)
        codes = drawn if codes is None else codes
    if not problem.model.has_combinations:
        return Factors((components.T,), codes.T)
    if combinations is None:
        combinations = uniform(codes.shape, rng, X.dtype)
    return Factors((), codes.T, np.ascontiguousarray(combinations))


def _sized(components: Array, problem: Problem, points: Points) -> Array:
    """Components of the size of the data's largest value, where their size matters."""
    weighted = problem.weighting.weighted or points.P is not None
    mass = 0.0 if points.s is None else float(np.sum(points.s, dtype=np.float64))
    if not problem.model.remembers_start(len(components), max(points.X.shape[0], mass), weighted):
        return components
    sized: Array = components * components.dtype.type(points.scale)
    return sized


def start_by_point(
    problem: Problem, points: Points, n_components: int, init: str, starts: Starts, rng: np.random.Generator
) -> Factors:
    """A start whose components are drawn first and whose codes depend on each point alone.

    So a point of weight 2 starts as the same point twice does, and the order of the points changes nothing.
    """
    if init not in (*INITS, "custom"):
        raise unknown_name("init", init, [*INITS, "custom"])
    X, K, has_combinations = points.X, n_components, problem.model.has_combinations
    if starts.codes is not None:
        return draw_start(problem, X, K, starts, rng, points.P)
    components = _sized(uniform((K, X.shape[1]), rng, X.dtype), problem, points)
    numbers = point_numbers(X, points.P, 2 * K, rng.bytes(32))
    codes, combinations = (numbers[:, part] + 0.1 for part in (slice(K), slice(K, None)))
    if init != "random":
        codes, components = nndsvd(points, K, init, rng, numbers[:, :K])
        combinations = codes / codes.sum(axis=0) if points.s is None else codes / (points.s @ codes)
    codes = codes.astype(X.dtype, copy=False)
    if not has_combinations:
        return Factors((np.ascontiguousarray(components).T,), codes.T)
    if points.s is not None:
        combinations = combinations * points.s[:, None]
    return Factors((), codes.T, np.ascontiguousarray(combinations, dtype=X.dtype))
