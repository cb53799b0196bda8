"""Codes in the workers of a Dask cluster, beside points there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure, Swept, add_sums
from ewnmf.models.base import Basis, Block, Facts, Rule, Stats
from ewnmf.problem import Problem
from ewnmf.storage import visits
from ewnmf.storage.base import Answer, Codes
from ewnmf.storage.dense import Dense
from ewnmf.storage.fleet import Fleet, Version
from ewnmf.storage.priors import PriorColumns
from ewnmf.storage.remote import RemoteCodes, nonzero
from ewnmf.storage.sparse import RARE
from ewnmf.storage.threads import Workers
from ewnmf.storage.visits import How, Recipe

__all__ = ["Clustered", "CodesInCluster"]


class CodesInCluster(Codes):
    """A version of codes; every piece of work is one task for each worker."""

    def __init__(self, data: Clustered, version: Version, recipe: Recipe, n_components: int) -> None:
        self._data, self._version, self._recipe, self._n_components = data, version, recipe, n_components

    @property
    def _fleet(self) -> Fleet:
        return self._data.X.points.fleet  # type: ignore[no-any-return]

    @property
    def losses(self) -> int:
        """How often a worker was lost with codes."""
        return len(self._fleet.losses)

    def _moved(self, version: Version, sweep: Any) -> CodesInCluster:
        return CodesInCluster(self._data, version, replace(self._recipe, sweep=sweep), self._n_components)

    def sweep(self, work: Callable[..., Swept], *, keep: bool = False) -> tuple[Codes, Stats, Measure]:
        """New codes in the workers, summed statistics and summed measure."""
        new = Version(self._fleet)
        task = visits.Sweep(work, self._version.number, self._recipe, new.number)
        stats, measure = self._fleet.visit(self._data.how, task, add_sums)
        return self._moved(new, work), stats, measure

    def blend(self, before: Codes, function: Callable[[Array, Array], Array]) -> Codes:
        """Where the codes are."""
        assert isinstance(before, CodesInCluster)
        new = Version(self._fleet)
        task = visits.Blend(function, self._version.number, before._version.number, self._recipe, new.number)
        self._fleet.visit(self._data.how, task, _neither)
        return self._moved(new, self._recipe.sweep)

    def fold(self, work: Callable[[Block, Array], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """The answers, added by workers and here."""
        task = visits.Fold(work, add, self._version.number, self._recipe)
        answer: Answer = self._fleet.visit(self._data.how, task, add)
        return answer

    def read(self) -> tuple[Any, Array | None]:
        """What stands for the codes."""
        return RemoteCodes(self._fleet, self._version, self._recipe, self._n_components), None

    def combine(self, work: Callable[[Block, Array], tuple[Array, Basis]]) -> tuple[Codes, Basis]:
        """Not asked for: Convex-NMF is refused."""
        raise NotImplementedError

    def tabulate(self, work: Callable[[Block, Array], Array], n_rows: int) -> Array:
        """Not asked for: what is as large as the points stays lazy."""
        raise NotImplementedError


@dataclass(frozen=True)
class Clustered(Dense):
    """Points (M x N) on the workers of a cluster."""

    X: Any
    P: Any = None
    thinned: tuple[Problem, Rule] | None = field(default=None, compare=False)

    @property
    def _has_gaps(self) -> bool:
        return isinstance(self.P, PriorColumns)

    @property
    def how(self) -> How:
        """What makes a storage of a chunk."""
        if self._has_gaps:
            weights = self.P.priors.known
        else:
            weights = None if self.P is None else np.ascontiguousarray(self.P[:, 0])
        return How(weights, {"unit": self.unit, "known_extremes": self.extremes}, self.thinned, self._has_gaps)

    @property
    def mass(self) -> float:
        """The prior weight of all entries, ``sum s P``."""
        if self._has_gaps:
            return super().mass
        points = self.n_points if self.s is None else float(np.sum(self.s, dtype=np.float64))
        return points * float(self.X.shape[0] if self.P is None else self.P[:, 0].sum())

    @property
    def stores_zeros(self) -> bool:
        """Whether zeros are stored as any other value."""
        return self.X.points.stored is None

    @property
    def sparse(self) -> bool:
        """Whether zeros are not stored and have no priors of their own."""
        return not self.stores_zeros and self.P is None

    def facts(self, problem: Problem) -> Facts:
        """What the update rules may know of the data; none may ask for all points at once."""
        share = self.X.points.stored
        rare = share is not None and share <= RARE
        return replace(super().facts(problem), gram=None, stored=bool(self.sparse and rare))

    def thin(self, problem: Problem, rule: Rule) -> Dense:
        """The same data in blocks that stay sparse, where the problem and its rule allow it."""
        return replace(self, thinned=(problem, rule)) if self.sparse else self

    def zero_attributes(self) -> Array:
        """The attributes that are zero in all points."""
        there = self.X.points.fleet.visit(How(), nonzero, np.logical_or)
        zero: Array = np.flatnonzero(~there)
        if self._has_gaps:
            zero = zero[self.P.priors.any(axis=0)[zero]]
            return zero
        return zero if self.P is None else zero[self.P[zero, 0] > 0]

    def of_each_point(self, function: Callable[[Array], Array], H: RemoteCodes) -> RemoteCodes:
        """Where the codes are, when they are drawn."""
        return H.of_each_point(function)

    def norms(self, H: RemoteCodes) -> Array:
        """Summed by the workers."""
        return H.norms()

    def blinded(self, H: RemoteCodes, zero: Array) -> RemoteCodes:
        """Codes that are 0, when they are drawn, for points that show nothing but the attributes `zero`."""
        if self.P is None:
            return H
        known = self.how.feature_weight
        shown = np.ones(self.X.shape[0], dtype=bool) if known is None else known > 0
        shown[zero] = False
        return H.of_points_that_show(np.flatnonzero(shown))

    def hold(self, H: Any, U: Array | None = None, *, workers: Workers, whole: bool = False) -> Codes:
        """Codes in the workers."""
        assert isinstance(H, RemoteCodes)
        return CodesInCluster(self, H.version, H.recipe, H.shape[0])


def _neither(one: None, other: None) -> None:
    """Nothing is added."""
