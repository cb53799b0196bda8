"""What is asked of a matrix (n x m, rows are points) before it is a storage, however it is stored; and its storage."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import diags_array, issparse

from ewnmf._types import Array
from ewnmf.storage.blocks import Columns
from ewnmf.storage.cluster import Clustered
from ewnmf.storage.dense import Dense, row_blocks, tabulated_here
from ewnmf.storage.files import Filed, room
from ewnmf.storage.gaps import Gapped
from ewnmf.storage.lazy import Lazy
from ewnmf.storage.priors import Priors
from ewnmf.storage.remote import Distributed, RemoteColumns
from ewnmf.storage.sparse import Sparse

__all__ = [
    "by_form",
    "contiguous",
    "dense",
    "filled",
    "gapped",
    "gaps_of",
    "in_memory",
    "is_lazy",
    "is_remote",
    "largest_of_rows",
    "largest_seen",
    "least_of_rows",
    "nonzero_counts",
    "observed_rows",
    "place_of",
    "row_blocks",
    "scaled",
    "storage",
    "tabulated",
    "weighted_sums",
    "with_point_weights",
]

Form = TypeVar("Form")


def by_form(X: Any, *, whole: Form, stored: Form) -> Form:
    """What is meant for a matrix that holds all entries, or for one of stored entries, as ``X`` is one."""
    return stored if issparse(X) else whole


def dense(X: Any) -> Array:
    """``X`` with all its entries."""
    whole: Array = X.toarray() if issparse(X) else X
    return whole


def is_lazy(X: Any) -> bool:
    """Whether ``X`` is read or computed by blocks, and never in memory as a whole."""
    return isinstance(X, Lazy)


def is_remote(X: Any) -> bool:
    """Whether ``X`` is in the memory of other machines."""
    return isinstance(X, Distributed)


def with_point_weights(X: Any, s: Array | None) -> Any:
    """``X``, with the weights of its points (n) beside them where they are in the memory of other machines."""
    return X.weighted(s) if is_remote(X) and s is not None else X


def in_memory(X: Any) -> Any:
    """``X``, read where it is not in memory."""
    return X[np.arange(X.shape[0])] if is_remote(X) else np.asarray(X) if is_lazy(X) else X


def place_of(X: Any, where: Callable[[Array], Array]) -> str:
    """Where the first entry is for which ``where(X)`` is True, in words, if ``X`` is not in memory for all to see."""
    place = X.place(where) if is_lazy(X) else None
    return "" if place is None else f" (the first in {place} of {X.name})"


def contiguous(X: Any) -> Any:
    """``X``, its points contiguous in memory."""
    return X if issparse(X) or is_lazy(X) else np.ascontiguousarray(X)


def tabulated(
    X: Any,
    work: Callable[[Any, slice], Array],
    n_columns: int,
    dtype: Any,
    *,
    n_entries: int,
    beside: int,
    stays: bool = False,
) -> Any:
    """``work(points, rows)`` (rows x `n_columns`) of some points at a time, as one table in the room that ``X`` has.

    Missing entries of points that are not in memory are NaN. Where `stays`, the table of points in other machines is
    made, and stays, there.
    """
    pieces = partial(tabulated_here, work, n_columns, dtype, n_entries, beside)
    if is_remote(X):
        return X.table(pieces, n_columns, dtype, stays=stays)
    if is_lazy(X):
        table = room((X.shape[0], n_columns), dtype)
        marked = X.marked if isinstance(X, Gapped) else X
        for cut, part in marked.stream(X.cuts()):
            table[cut] = pieces(part, cut)
        return table
    return pieces(X, slice(0, X.shape[0]))


def _observed(X: Any, rows: slice) -> Array:
    return np.asarray(~np.isnan(X).all(axis=1)).reshape(-1, 1)


def observed_rows(X: Any) -> Array:
    """Which points (n) have an entry that is not NaN."""
    if not is_lazy(X):
        return _observed(X, slice(None))[:, 0]
    if not math.isnan(X.min()):
        return np.ones(X.shape[0], dtype=bool)
    seen: Array = tabulated(X, _observed, 1, bool, n_entries=1 << 21, beside=1)[:, 0]
    return seen


def least_of_rows(X: Any) -> Array:
    """The least value of every point (n)."""
    return dense(X.min(axis=1)).ravel()


def _largest_of(X: Any, rows: slice) -> Array:
    return (dense(abs(X).max(axis=1)) if issparse(X) else np.fmax.reduce(abs(X), axis=1)).reshape(-1, 1)


def largest_of_rows(X: Any) -> Array:
    """The largest absolute value of every point (n)."""
    if is_lazy(X):
        part = X.shape[1] * getattr(X, "height", 1)
        return tabulated(X, _largest_of, 1, X.dtype, n_entries=part, beside=1)[:, 0]  # type: ignore[no-any-return]
    return dense(abs(X).max(axis=1)).ravel()


def largest_seen(X: Any, seen: Any) -> float:
    """The largest absolute value where `seen` (n x m) is True or above 0, and 1 where all are 0.

    What stands for missing entries of points that are not in memory is none of the largest.
    """
    if isinstance(seen, Priors):
        known = seen.known
        if known is None:
            return max(-X.min(), X.max()) or 1.0
        seen = np.broadcast_to(known, X.shape)
    if issparse(X):
        shown = X.multiply(seen > 0).tocsr()
        return max(float(shown.max()), -float(shown.min())) or 1.0
    if is_remote(X):
        return float(X.largest(seen)) or 1.0
    if is_lazy(X):
        return max(0.0, *(_largest_in(part, seen[cut]) for cut, part in X.stream(X.cuts()))) or 1.0
    return _largest_in(X, seen) or 1.0


def _largest_in(X: Array, seen: Array) -> float:
    shown = seen if seen.dtype == bool else seen > 0
    return max(float(X.max(where=shown, initial=0)), -float(X.min(where=shown, initial=0)))


def nonzero_counts(X: Any) -> Array:
    """How many points have something in an attribute (m)."""
    if issparse(X):
        stored = X.tocoo()
        return np.bincount(stored.col[stored.data != 0], minlength=X.shape[1])
    counts: Array = np.count_nonzero(X, axis=0)
    return counts


def weighted_sums(X: Any, weights: Array) -> Array:
    """The sums of every attribute (m) over the points, entries times their `weights` (n x m)."""
    if issparse(X):
        return np.asarray(X.multiply(weights).sum(axis=0)).ravel()
    sums: Array = np.einsum("ij,ij->j", weights, X)
    return sums


def scaled(X: Any, rows: Array, columns: Array) -> Any:
    """``X`` with its points multiplied by `rows` (n) and its attributes by `columns` (m)."""
    if issparse(X):
        return diags_array(rows) @ X @ diags_array(columns)
    return rows[:, None] * X * columns


def gaps_of(X: Any) -> Array | None:
    """Where entries of points in memory are NaN, or None where none is; stored ones are never."""
    hidden = None if issparse(X) else np.isnan(X)
    return hidden if hidden is not None and hidden.any() else None


def gapped(X: Any, positive: bool) -> Any:
    """``X``, which is not in memory, with a number for missing entries, as `filled` has it."""
    low = X.observed[0]
    fill = (low if math.isfinite(low) else 1) if positive else 0
    return X.gapped(fill) if is_remote(X) else Gapped(X, fill)


def filled(X: Any, hidden: Array, positive: bool) -> Any:
    """``X`` with zeros where it is `hidden` or, where it must be `positive`, the least of its other values."""
    if issparse(X):
        return type(X)(filled(X.toarray(), hidden, positive)) if positive else X.multiply(~hidden).tocsr()
    full = X.copy()
    full[hidden] = X[~hidden].min(initial=np.inf) if positive else 0
    if positive and hidden.all():
        full[:] = 1
    return full


def storage(X: Any, P: Any = None, s: Array | None = None, **known: Any) -> Dense:
    """The storage for ``X`` (M x N), dense or sparse, with priors ``P`` (M x N) and point weights ``s`` (N)."""
    if isinstance(X, RemoteColumns):
        return Clustered(X, P, s, **known)
    if isinstance(X, Columns):
        return Filed(X, P, s, **known)
    return Sparse(X.tocsc(), P, s, **known) if issparse(X) else Dense(X, P, s, **known)
