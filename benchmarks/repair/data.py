"""What is damaged in the study: tables of moderate size, their columns or pixels between 0 and 1."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.stored import stored_set
from ewnmf.datasets import DAMAGES, make_damage, make_sensors, make_spectra

__all__ = ["COLUMN_KINDS", "FACES", "KINDS", "MADE", "MIXED", "NONE", "SETS", "STRENGTHS", "Table", "damaged", "load"]

Array = NDArray[Any]

NONE = "none"
KINDS = (NONE, *DAMAGES)
COLUMN_KINDS = ("dead", "stuck", "saturated", "drifting", "bursting", "gain", "faults")
STRENGTHS = ("mild", "medium", "strong")
FACES = ("yale", "umist", "gtfd")
NATURES = ("low-rank", "periodic", "autoregressive", "set-points")
MADE = tuple(f"sensors-{nature}" for nature in NATURES)
MIXED = ("isolet", "tox171", "tep")
"""Columns of different unit and noise."""
SETS = (*FACES, "digits", "spectra", *MADE, *MIXED)
POINTS, COLUMNS = 300, 400
"""A table has at most so many points, and genes."""
RANK = 8
"""Components where neither classes nor sources say how many."""


class Table(NamedTuple):
    """Points (n x m) in [0, 1], the number of components, what an image looks like, and whether units are mixed."""

    X: Array
    K: int
    shape: tuple[int, int] | None = None
    mixed: bool = False


def load(name: str, seed: int, points: int = POINTS) -> Table:
    """A set as the seed draws it, of at most so many points (0: all).

    Of faces and spoken letters whole classes are drawn, whose number is that of the components; of digits single
    points; of the plant a stretch of time. Where there is no order of time the points are shuffled.
    """
    rng = np.random.default_rng(seed)
    if name in MADE:
        X = make_sensors(points or 500, 24, kind=name.removeprefix("sensors-"), random_state=seed)
        return Table(_columns_scaled(X), 4, mixed=True)
    if name == "spectra":
        return Table(make_spectra(points or 400, 100, random_state=seed), 4)
    if name == "digits":
        X = load_digits().data / 16
        return Table(X[rng.permutation(len(X))[: points or None]], 10, (8, 8))
    return _stored(name, rng, points)


def _stored(name: str, rng: np.random.Generator, points: int) -> Table:
    X, labels = stored_set(name)
    if name == "tep":
        start = int(rng.integers(len(X) - points + 1)) if 0 < points < len(X) else 0
        return Table(_columns_scaled(X[start : start + points] if points else X), RANK, mixed=True)
    if name == "tox171":
        X = np.log(X[rng.permutation(len(X))])[:, np.sort(rng.permutation(X.shape[1])[:COLUMNS])]
        return Table(_columns_scaled(X), RANK, mixed=True)
    assert labels is not None
    rows, K = _whole_classes(labels, rng, points or len(X))
    if name in FACES:
        return Table(X[rows] / 255, K, (32, 32))
    return Table(_columns_scaled(X[rows]), K, mixed=True)


def _whole_classes(labels: Array, rng: np.random.Generator, points: int) -> tuple[Array, int]:
    """Points of as many classes as have at most so many, shuffled, and the number of the classes; at least two."""
    classes, sizes = np.unique(labels, return_counts=True)
    drawn = rng.permutation(classes.size)
    count = max(2, int(np.searchsorted(np.cumsum(sizes[drawn]), points, side="right")))
    rows = np.flatnonzero(np.isin(labels, classes[drawn[:count]]))
    return rng.permutation(rows), min(count, classes.size)


def _columns_scaled(X: Array) -> Array:
    low, high = X.min(axis=0), X.max(axis=0)
    scaled: Array = (X - low) / np.where(high > low, high - low, 1)
    return scaled


def damaged(table: Table, kind: str, strength: str, seed: int) -> tuple[Array, Array]:
    """The table with damage, and where it is."""
    if kind == NONE:
        return table.X, np.zeros(table.X.shape, dtype=bool)
    make = partial(make_damage, strength=strength, image_shape=table.shape, random_state=seed)
    return make(table.X, kind)
