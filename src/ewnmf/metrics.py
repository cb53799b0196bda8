"""Agreement of a clustering with known classes, as the paper measures it: Eq. (26), (27), (28)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score

__all__ = ["clustering_accuracy", "normalized_mutual_information"]

Labels = ArrayLike | Iterable[Hashable]
Codes = NDArray[np.intp]


def clustering_accuracy(y_true: Labels, y_pred: Labels) -> float:
    """``ACC = max over map of 1/N sum_i [y_i == map(y'_i)]``, Eq. (26), for N labels.

    ``map`` sends every cluster to a class of its own; it is found exactly, by the Hungarian method on the
    table of counts. Where there are more clusters than classes, the clusters left over count as wrong;
    where there are fewer, the classes left over are simply not found.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        Known classes: numbers, strings or any hashable values.
    y_pred : array-like of shape (N,)
        Clusters found, likewise; their names need not be those of the classes.

    Returns
    -------
    float
        Share of points in the right cluster, in (0, 1].
    """
    classes, clusters = _paired_codes(y_true, y_pred)
    counts = _contingency(classes, clusters)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / classes.size)


def normalized_mutual_information(y_true: Labels, y_pred: Labels) -> float:
    """``NMI = MI(y, y') / max(H(y), H(y'))``, Eq. (27), with ``MI`` of Eq. (28), for N labels.

    The larger of the two entropies normalises, which is scikit-learn's ``average_method="max"`` (its default
    is the arithmetic mean, which gives larger values).

    One group on one side only: 0, since it tells nothing about the other side. One group on both sides:
    0/0 in Eq. (27), set to 1, since the two partitions are the same.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        Known classes: numbers, strings or any hashable values.
    y_pred : array-like of shape (N,)
        Clusters found, likewise.

    Returns
    -------
    float
        Shared information, in [0, 1]; 1 where the two partitions are the same up to names.
    """
    classes, clusters = _paired_codes(y_true, y_pred)
    value = normalized_mutual_info_score(classes, clusters, average_method="max")
    return float(np.clip(value, 0.0, 1.0))


def _contingency(classes: Codes, clusters: Codes) -> NDArray[np.intp]:
    """Counts of the points in class k and cluster l, of shape (number of classes, number of clusters)."""
    shape = int(classes.max()) + 1, int(clusters.max()) + 1
    return np.bincount(classes * shape[1] + clusters, minlength=shape[0] * shape[1]).reshape(shape)


def _paired_codes(y_true: Labels, y_pred: Labels) -> tuple[Codes, Codes]:
    classes, clusters = _codes("y_true", y_true), _codes("y_pred", y_pred)
    if classes.size != clusters.size:
        raise ValueError(
            f"y_true has {classes.size} labels and y_pred has {clusters.size}; give one of each per point."
        )
    return classes, clusters


def _codes(name: str, labels: Labels) -> Codes:
    """The labels as whole numbers 0, 1, ... (N,)."""
    if isinstance(labels, (str, bytes, Set, Mapping)) or not isinstance(labels, Iterable):
        raise TypeError(f"{name}={labels!r} must be a one-dimensional sequence of labels.")
    values: Any = np.asarray(labels) if hasattr(labels, "__array__") else list(labels)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(
            f"{name} has shape {values.shape}; give a one-dimensional array of labels, such as its ravel()."
        )
    if len(values) == 0:
        raise ValueError(f"{name} is empty; give at least one label.")
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufcmMSU":
        missing = bool(np.any(values != values))
        codes = np.unique(values, return_inverse=True)[1]
    else:
        codes, known = _codes_of_hashables(name, values)
        missing = any(isinstance(label, (float, np.floating)) and label != label for label in known)
    if missing:
        raise ValueError(f"{name} contains NaN; give every point a label or leave the point out.")
    return np.asarray(codes, dtype=np.intp)


def _codes_of_hashables(name: str, values: Any) -> tuple[Codes, Iterable[Hashable]]:
    known: dict[Hashable, int] = {}
    try:
        return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.intp), known
    except TypeError as error:
        raise TypeError(f"{name} must be one-dimensional with hashable labels ({error}).") from error
