"""Points as users have them, rows of ``X``, with what is known of their weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf._warn import warn
from ewnmf.fitting import checks
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense
from ewnmf.storage.matrix import (
    contiguous,
    filled,
    gapped,
    in_memory,
    is_lazy,
    is_remote,
    largest_seen,
    least_of_rows,
    place_of,
    row_blocks,
    storage,
    weighted_sums,
    with_point_weights,
)
from ewnmf.storage.priors import Priors

__all__ = ["Points", "Sample", "extremes_of", "read_points", "spread"]

_BLOCK_ENTRIES = 1 << 18
"""Entries of single precision that are summed in double at a time."""


class Sample(NamedTuple):
    """Points (n x m) of a fit, where they were seen, their codes (n x K) and the components (K x m)."""

    X: Array
    seen: Array
    codes: Array
    components: Array
    rows: Array
    """Which of the points that count these are."""
    offset: Array | float = 0.0
    """What is added to ``codes @ components``."""


@dataclass(frozen=True, eq=False)
class Points:
    """Data ``X`` (n x m, complete), prior weights ``P`` (n x m) and point weights ``s`` (n), None meaning ones.

    Missing entries have the prior 0, and in ``X`` a value that counts nowhere.
    """

    X: Any
    P: Any = None
    s: Array | None = None
    empty_attributes: int = 0
    """How many attributes were never observed."""
    unit: float = 1.0
    """What ``X`` was multiplied by, see `ewnmf.fitting.unit`."""
    known_extremes: tuple[float, float] | None = None
    """The least and the largest value of ``X``, where they are known."""

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The least and the largest value of ``X``; it is searched for them once."""
        return self.known_extremes or extremes_of(self.X)

    @property
    def data(self) -> Dense:
        """The same for the core, points as columns."""
        P = None if self.P is None else self.P.T
        return storage(self.X.T, P, self.s, unit=self.unit, known_extremes=self.extremes)

    @cached_property
    def scale(self) -> float:
        """The largest absolute value of positive prior weight, and 1 where all are 0."""
        if self.P is None:
            return self.data.scale
        return largest_seen(self.X, self.P)

    @cached_property
    def seen(self) -> Array:
        """Which points have an entry of positive prior weight."""
        return np.ones(self.X.shape[0], dtype=bool) if self.P is None else np.asarray(self.P.any(axis=1))

    @cached_property
    def counted(self) -> Array:
        """Which points can teach anything: those seen, with a weight above 0; refused where none can."""
        counted = self.seen if self.s is None else self.seen & (self.s > 0)
        if not counted.any():
            raise ValueError(
                "X has no observed entry of positive weight (NaN, mask and weights taken together), so that nothing "
                "can be learned; give at least one."
            )
        return counted

    @property
    def unseen_attributes(self) -> Array:
        """The attributes without an entry of positive prior weight."""
        return np.arange(0) if self.P is None else np.flatnonzero(~self.P.any(axis=0))

    @property
    def complete(self) -> Array:
        """Which points have the prior 1 for every entry."""
        if is_lazy(self.P):
            return self.P.complete  # type: ignore[no-any-return]
        return np.ones(self.X.shape[0], dtype=bool) if self.P is None else np.asarray((self.P == 1).all(axis=1))

    @property
    def negative(self) -> Array:
        """Which points have a negative value."""
        return np.asarray(least_of_rows(self.X) < 0)

    def in_memory(self) -> Points:
        """The same, read where it is not in memory."""
        P = self.P[np.arange(self.X.shape[0])] if is_lazy(self.P) else self.P
        return replace(self, X=in_memory(self.X), P=P) if is_lazy(self.X) else self

    def without_priors(self) -> Points:
        """The same with equal priors."""
        return replace(self, P=None)

    def hiding(self, hidden: Array, *, positive: bool) -> Points:
        """The same with some entries (n x m) missing; `positive` where ``X`` must stay without zeros."""
        P = np.ones(self.X.shape, self.X.dtype) if self.P is None else np.array(self.P)
        P[hidden] = 0
        return replace(self, X=filled(self.X, hidden, positive), P=P, known_extremes=None)

    def take(self, rows: Array) -> Points:
        """The points at `rows`, or where `rows` is True; itself where that is all of them."""
        if rows.dtype == bool and rows.all():
            return self

        def rows_of(part: Any) -> Any:
            if is_lazy(part) and rows.dtype == bool:
                return part.take(rows)
            if part is None or rows.dtype != bool or part.strides[0]:
                return None if part is None else part[rows]
            return np.broadcast_to(part[0], (int(rows.sum()), *part.shape[1:]))

        P, s = (None if _is_one(part) else part for part in map(rows_of, (self.P, self.s)))
        taken = np.zeros(self.X.shape[0], dtype=bool)
        taken[rows] = True
        return Points(self.X[rows], P, s, unit=self.unit, known_extremes=self.extremes if taken.all() else None)

    def times(self, unit: float) -> Points:
        """The same multiplied by `unit` and no longer by what it was; itself where that is nothing new."""
        if unit == self.unit:
            return self
        factor = self.X.dtype.type(unit / self.unit)
        low, high = (float(self.X.dtype.type(value) * factor) for value in self.extremes)
        return replace(self, X=self.X * factor, unit=unit, known_extremes=(low, high))

    def _attribute_sums(self) -> tuple[Array, Array]:
        """Of every attribute (m) the weighted sum, and the sum of the weights."""
        s = np.ones(self.X.shape[0]) if self.s is None else self.s.astype(np.float64)
        X, P = contiguous(self.X), self.P
        total, mass = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        if is_remote(X):
            known = P.known if is_lazy(P) else None if P is None else P[0]
            f = np.ones(X.shape[1]) if known is None else known.astype(np.float64)
            total, mass = X.sums()
            return f * total, f * mass
        whole = X.dtype == np.float64 and not is_lazy(X)
        for rows in [slice(None)] if whole else row_blocks(X, _BLOCK_ENTRIES, 1):
            if P is None:
                total += s[rows] @ X[rows]
                mass += s[rows].sum()
            else:
                share = s[rows, None] * P[rows]
                total += weighted_sums(X[rows], share)
                mass += share.sum(axis=0)
        return total, mass

    def mean(self, *, positive: bool) -> Array:
        """The mean of every attribute (m) over what was observed of it, and 0 where nothing was.

        Where it must be `positive`, the least of the others stands there; components of 0 make nothing of it.
        """
        total, mass = self._attribute_sums()
        means: Array = np.divide(total, mass, out=np.zeros(self.X.shape[1]), where=mass > 0)
        if positive:
            means[mass <= 0] = means[mass > 0].min()
        return means.astype(self.X.dtype)

    def warn(self, points: str, attributes: str) -> None:
        """One warning that names how many have nothing observed, if there are any, and what that means for them."""
        found = [
            (int((~self.seen).sum()), "point(s)", points),
            (self.empty_attributes if attributes else 0, "attribute(s)", attributes),
        ]
        texts = [f"{count} {what} of X without an observed entry get {this}" for count, what, this in found if count]
        if texts:
            warn(f"{', and '.join(texts)}.")


def _is_one(part: Any) -> bool:
    """Whether these weights are as good as none."""
    return part is None or (not is_lazy(part) and bool((part == 1).all()))


def spread(part: Array, rows: Array) -> Array:
    """The rows of `part` where `rows` is True, zeros elsewhere; of a part that is not here, itself."""
    if is_lazy(part) or rows.all():
        return part
    whole = np.zeros((rows.size, part.shape[1]), part.dtype)
    whole[rows] = part
    return whole


def read_points(
    X: Any,
    problem: Problem,
    whom: str,
    *,
    weights: Any = None,
    mask: Any = None,
    sample_weight: Any = None,
    feature_weight: Any = None,
    unit: float | None = None,
) -> Points:
    """The points of ``X`` (n x m, floats), refused where the problem cannot take them.

    NaN is a missing value, and so is every entry where `mask` is False. ``X`` is copied only if there is one, or if it
    is sparse with entries stored in parts, which are summed. `unit` is that of a fitted model.
    """
    if issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    extremes = extremes_of(X)
    gaps, hidden = is_lazy(X) and math.isnan(extremes[0]), None
    if gaps:
        _refuse_hidden(f"X contains NaN{place_of(X, np.isnan)}", problem)
        X = gapped(X, problem.loss.needs_positive)
        extremes = extremes_of(X)
    else:
        hidden = _hidden(X, checks.check_mask(mask, X.shape), math.isnan(extremes[0]))
    if hidden is not None:
        count = int(hidden.sum())
        what = f"X contains NaN ({count} entries)" if mask is None else f"mask hides {count} entries"
        _refuse_hidden(what, problem)
        X = filled(X, hidden, problem.loss.needs_positive)
        extremes = extremes_of(X)
    checks.check_values(X, extremes, problem, whom, unit)
    A = checks.check_weights(weights, X, problem)
    s = checks.check_vector("sample_weight", sample_weight, X.shape[0], X.dtype)
    f = checks.check_vector("feature_weight", feature_weight, X.shape[1], X.dtype)
    checks.check_products(X.dtype, weights=A, feature_weight=f, sample_weight=s)
    why = problem.model.refuses_priors()
    if why is not None and f is not None:
        raise ValueError(f"feature_weight was given, but {why}.")
    X = with_point_weights(X, s)
    if gaps:
        P = Priors(X, f if A is None else A if f is None else A * f)
        return Points(X, P, s, int(P.survey.empty.sum()), known_extremes=extremes)
    empty = 0 if hidden is None else int(hidden.all(axis=0).sum())
    return Points(X, _prior(A, hidden, f, X), s, empty, known_extremes=extremes)


def extremes_of(X: Any) -> tuple[float, float]:
    """The least and the largest value of ``X``; NaN where it contains one."""
    return float(X.min()), float(X.max())


def _hidden(X: Any, mask: Array | None, has_nan: bool) -> Array | None:
    """Where entries are missing (n x m), or None where none is."""
    if has_nan:
        if issparse(X):
            raise ValueError(
                f"X is sparse and contains NaN in {int(np.isnan(X.data).sum())} stored entries; missing values need a "
                "dense X (X.toarray()), or zeros there and mask= with False."
            )
        missing: Array = np.isnan(X)
        return missing if mask is None else missing | ~mask
    return None if mask is None else ~mask


def _refuse_hidden(what: str, problem: Problem) -> None:
    why = problem.model.refuses_hidden()
    if why is not None:
        raise ValueError(f"{what}, but {why}.")


def _prior(A: Array | None, hidden: Array | None, f: Array | None, X: Any) -> Array | None:
    """``P``: the user's weights, times the attributes' weights, 0 where hidden."""
    if f is None and hidden is None:
        return A
    if hidden is None and A is None:
        return np.broadcast_to(f, X.shape)  # type: ignore[arg-type]
    P = np.ones(X.shape, X.dtype) if A is None else A.copy()
    if f is not None:
        P *= f
    if hidden is not None:
        P[hidden] = 0
    return P
