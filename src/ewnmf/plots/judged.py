"""What a fitted model says of points, for pictures: values, expectation, trust, suspects and repair, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from ewnmf._types import Array
from ewnmf.damage.repair import AUTO, check_false_alarms, repaired
from ewnmf.plots.kinds import Kind, kind_of

__all__ = ["MOST_ENTRIES", "Judged", "as_judged", "judge", "model_of", "names_of", "point_labels", "replaced_share"]

HALF = 0.5
"""What has less trust is suspect, where nothing else is known."""

MOST_ENTRIES = 1 << 22
"""Entries that a picture looks at, at the most: of larger data, points in equal distances."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Of points (n x m): what they are, and what a model makes of them.

    Attributes
    ----------
    values, expected, trust, repaired : ndarray of shape (n, m)
        NaN in `values` and `trust` where an entry is missing. `repaired` is what the model's `repair` makes of points.
    suspects : ndarray of bool of shape (n, m)
        What is likely damaged.
    rows : ndarray of shape (n,)
        The numbers of the points, from 0.
    labels : ndarray of str of shape (n,)
        What they are called.
    total : int
        How many points there are, of which these are some; as many as these where they were asked for.
    kind : Kind
        What the attributes are.
    one_by_one : bool
        Whether these points were asked for, and not as some of all.
    """

    values: Array
    expected: Array
    trust: Array
    suspects: Array
    repaired: Array
    rows: Array
    labels: Array
    total: int
    kind: Kind
    one_by_one: bool = False

    @property
    def sampled(self) -> str:
        """The sentence that says that not all points were looked at; empty where they were."""
        n = len(self.rows)
        return "" if n == self.total else f"{n:,} of {self.total:,} points, in equal distances"

    @property
    def distrust(self) -> Array:
        """The share of a point's observed entries that are suspect (n)."""
        there = ~np.isnan(self.values)
        share: Array = self.suspects.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        return share

    def worst(self, count: int) -> Array:
        """Places of the points that are least to be trusted, worst first."""
        doubt = np.nansum(1 - self.trust, axis=1)
        return np.argsort(-(self.distrust + 1e-9 * doubt), kind="stable")[:count]

    def columns(self, count: int) -> Array:
        """Places of the attributes that are least to be trusted, worst first."""
        seen = np.maximum((~np.isnan(self.values)).sum(axis=0), 1)
        doubt = np.nansum(1 - self.trust, axis=0) / seen
        return np.argsort(-(self.suspects.sum(axis=0) / seen + 1e-9 * doubt), kind="stable")[:count]


def model_of(estimator: Any) -> Any:
    """What has the components: the estimator, or the model inside of a `Repairer`."""
    return getattr(estimator, "model_", estimator)


def names_of(estimator: Any, X: Any = None, feature_names: Any = None) -> Any:
    """Names of the attributes: as given, those of a table, or those that `fit` has seen; None where there are none."""
    if feature_names is not None:
        return feature_names
    if X is not None and hasattr(X, "columns"):
        return list(X.columns)
    return getattr(estimator, "feature_names_in_", None)


def judge(
    estimator: Any,
    X: Any,
    *,
    false_alarms: float = 0.01,
    kind: Kind | str = "auto",
    image_shape: Sequence[int] | None = None,
    feature_names: Any = None,
    point_names: Any = None,
    points: Any = None,
    most: int = MOST_ENTRIES,
) -> Judged:
    """What the estimator says of the rows of ``X``: all, those of the numbers `points`, or a sample of large data."""
    share = check_false_alarms(false_alarms)
    X = X if hasattr(X, "shape") else np.asarray(X)
    n, m = _shape_of(X)
    if not hasattr(estimator, "_decided"):
        raise TypeError(f"{type(estimator).__name__} is no estimator of ewnmf, such as a fitted EWNMF or Repairer.")
    replaced = replaced_share(estimator, share)
    rows = _rows(points, n, m, most)
    some = X if len(rows) == n else _safe_indexing(X, rows)
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for x, verdict, suspects, _ in estimator._decided(some, share, None):
            clean = repaired(x, verdict, verdict.suspects(replaced), soft=False)
            values = np.where(verdict.seen, x, np.nan)
            parts.append((values, verdict.expected, verdict.trust, suspects, clean))
    values, expected, trust, suspects, clean = (np.concatenate(column) for column in zip(*parts, strict=True))
    total = n if points is None else len(rows)
    if not isinstance(kind, Kind):
        kind = kind_of(values, names_of(estimator, X, feature_names), kind, image_shape, sparse=issparse(X))
    labels = point_labels(X, point_names, n)[rows]
    return Judged(values, expected, trust, suspects, clean, rows, labels, total, kind, points is not None)


def replaced_share(estimator: Any, false_alarms: float) -> float:
    """The share of false alarms at which its `repair` replaces entries; no more than are suspected."""
    replaced: float = estimator._replaced(getattr(estimator, "false_alarms", AUTO))
    return min(false_alarms, replaced)


def _shape_of(X: Any) -> tuple[int, int]:
    shape = X.shape
    if len(shape) != 2:
        raise ValueError(f"X has shape {tuple(shape)}; give a table with one row for each point.")
    if shape[0] == 0:
        raise ValueError("X has 0 points; give at least one.")
    return int(shape[0]), int(shape[1])


def _rows(points: Any, n: int, m: int, most: int) -> Array:
    if points is None:
        return np.arange(0, n, max(1, -(-n * m // most)))
    rows = np.atleast_1d(np.asarray(points))
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0 or rows.min() < -n or rows.max() >= n:
        raise ValueError(f"points={points!r} must be numbers of points, from 0 to {n - 1}.")
    return rows % n


def point_labels(X: Any, point_names: Any, n: int) -> Array:
    """Names of the points: as given, the index of a pandas table, or their numbers."""
    names = point_names if point_names is not None else getattr(X, "index", None)
    labels = np.empty(n, dtype=object)
    if names is None:
        labels[:] = [str(row) for row in range(n)]
        return labels
    if len(names) != n:
        raise ValueError(f"point_names has {len(names)} names, and X has {n} points; give one for each.")
    labels[:] = [str(name) for name in names]
    return labels


def as_judged(
    values: Array,
    kind: Kind,
    point_names: Any = None,
    *,
    trust: ArrayLike,
    repaired: ArrayLike | None = None,
    one_by_one: bool = False,
) -> Judged:
    """Points with a trust that is known already; what has less than one half of it is suspect."""
    if values.ndim != 2 or values.size == 0:
        raise ValueError(f"X has shape {values.shape}; give a table with one row for each point.")
    tables = {"trust": np.asarray(trust, dtype=float)}
    tables["repaired"] = values if repaired is None else np.asarray(repaired, dtype=float)
    for name, table in tables.items():
        if table.shape != values.shape:
            raise ValueError(f"{name} has shape {table.shape} where X has {values.shape}; give the same rows of each.")
    n = len(values)
    with np.errstate(invalid="ignore"):
        suspects = tables["trust"] < HALF
    mended = tables["repaired"]
    labels = point_labels(None, point_names, n)
    return Judged(values, mended, tables["trust"], suspects, mended, np.arange(n), labels, n, kind, one_by_one)
