"""How long a run will take, roughly: for ``--list``, and for the first minute of a progress bar."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Any

from numpy.typing import NDArray

from ewnmf.experiments.protocol.data import class_sizes, drawn_categories
from ewnmf.experiments.protocol.spec import STATISTICS, Spec

__all__ = ["Estimator"]

_SECONDS_PER_ENTRY = {
    "nmf": 1.1e-8,
    "onmf-codes": 0.6e-8,
    "onmf-components": 0.6e-8,
    "semi-nmf": 0.65e-8,
    "convex-nmf": 1.1e-8,
    "ewnmf": 1.8e-8,
}
"""Of an iteration on one core (2023)."""
_OVERHEAD_SECONDS = 0.1
_TRIALS = {"auto": 5, "groups": 8}
"""What choosing gamma costs, in runs at a given gamma."""
_TRIED = 300
"""Texts that it is chosen by."""
_SHAPES = {
    "signals": (10, 200, 1),
    "yale": (165, 1024, 15),
    "umist": (1012, 1024, 20),
    "gtfd": (750, 1024, 50),
    "caltech101": (8677, 1024, 101),
    "tdt2": (9394, 36771, 30),
    "digits": (1797, 64, 10),
    "cartoons": (60, 1600, 1),
}
"""Points, attributes, categories."""
_TERMS = 140
"""Of a text."""


class Estimator:
    """Seconds that runs take; with the data folder at hand the sizes of drawn categories are known.

    Where not `by_size`, a category has as many points as the mean one, with and without data.
    """

    def __init__(self, home: str | None = None, *, by_size: bool = True) -> None:
        self._sizes = lru_cache(lambda dataset: _sizes(dataset, home) if by_size else None)
        self._points = lru_cache(None)(self._count)

    def seconds(self, spec: Spec) -> float:
        """Of one run on one core."""
        if spec.method == STATISTICS:
            return _OVERHEAD_SECONDS
        m, n = _SHAPES[spec.dataset][1], self._points(spec.dataset, spec.k, spec.draw)
        trials = _TRIALS[str(spec.gamma)] if spec.chooses else 0
        if spec.dataset == "tdt2":
            one = _of_texts(spec, n, m) + trials * _of_texts(spec, min(n, _TRIED), m)
        else:
            one = n * m * _SECONDS_PER_ENTRY[spec.method] * max(1, trials)
        return _OVERHEAD_SECONDS + one * spec.max_iter

    def _count(self, dataset: str, k: int, draw: int | None) -> float:
        points, _, categories = _SHAPES[dataset]
        if draw is None:
            return points
        sizes = self._sizes(dataset)
        if sizes is None:
            return points / categories * k
        return float(sizes[drawn_categories(dataset, k, draw)].sum())


def _of_texts(spec: Spec, n: float, m: int) -> float:
    """An iteration on texts: the terms of each without weights, with weights all terms that occur in one of them."""
    if spec.method == "ewnmf":
        return n * min(m, round(490 * sqrt(n))) * (5 + 0.5 * spec.k) * 1e-9
    return n * _TERMS * (25 + 6.5 * spec.k) * 1e-9


def _sizes(dataset: str, home: str | None) -> NDArray[Any] | None:
    try:
        return class_sizes(dataset, home)
    except (OSError, ImportError):
        return None
