"""One run of an experiment, and the row that it leaves in the store.

A `Spec` says everything that decides a result; two runs of the same spec give the same figures and arrays to the bit.
A run that several tables and figures need has one spec and is computed once.

The statistics of a data set (Table 1) are a row too: method ``"none"``, with `k` the number of classes and seed 0.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from ewnmf.naming import unknown_name

__all__ = ["DATASETS", "KEPT", "LOSSES", "METHODS", "RULES", "Row", "Spec"]

DATASETS = ("yale", "umist", "gtfd", "caltech101", "tdt2", "signals", "digits", "cartoons")
LOSSES = ("euclidean", "kullback-leibler")
RULES = {"auto": 3, "groups": 2}
"""The ways to choose gamma without labels, and which rule each follows; to be raised where it would choose otherwise,
so that its runs are made again.

``"auto"``, 0: gamma is tuned to 8 times the mean loss within the run. 1: a path of gammas is fitted and the partitions
are scored. 2: more partitions, a lower threshold, smaller subsamples. 3: for damage, by the loss of all entries but the
worst. ``"groups"``, 1: by the neighbourhoods of the data, with a second opinion of what is within the points. 2: where
that is a structure of its own, a fit must know more of it, too.
"""
METHODS = ("nmf", "onmf-codes", "onmf-components", "semi-nmf", "convex-nmf", "ewnmf")
"""The methods that are compared; both ONMF by the method ``"lagrange"``."""
STATISTICS = "none"
KEPT = ("history", "components", "weights", "codes", "data", "damaged", "clean", "sources")
"""Arrays that a run can leave beside its figures.

``data`` is what was factorized (points are rows), ``damaged`` marks the entries that were destroyed or occluded,
``clean`` is the data without damage, ``sources`` are the signals of Fig. 2.
"""


@dataclass(frozen=True)
class Spec:
    """One run; what its key is made of.

    Parameters
    ----------
    dataset : str
        One of `DATASETS`.
    method : str
        One of `METHODS`, or ``"none"`` for the statistics of the data set.
    k : int
        Reduced dimension, and number of clusters.
    seed : int
        Of the start and of k-means, shared by all methods; of the damage too, where there is any.
    gamma : float, "auto" or "groups", optional
        EWNMF's; None for the other methods.
    attempt : int, default=0
        Further starts of the same seed: NMF is given as many tries as EWNMF has gammas.
    max_iter : int, default=300
        Iterations.
    draw : int, optional
        Which random subset of `k` categories; None takes all points.
    occluded : float, default=0.0
        Share of the images with a block of black or white at a random place.
    keep : tuple of str
        Arrays kept in the store, of `KEPT`.
    loss : str, default="euclidean"
        One of `LOSSES`.
    block : int, default=12
        Rows and columns of the block; without occluded images it says nothing, and is 12.
    rule : int, optional
        The rule by which gamma is chosen, that of `RULES` where not given; None where nothing is chosen.
    """

    dataset: str
    method: str
    k: int
    seed: int
    gamma: float | str | None = None
    attempt: int = 0
    max_iter: int = 300
    draw: int | None = None
    occluded: float = 0.0
    keep: tuple[str, ...] = ()
    loss: str = "euclidean"
    block: int = 12
    rule: int | None = None

    def __post_init__(self) -> None:
        if self.dataset not in DATASETS:
            raise unknown_name("dataset", self.dataset, DATASETS)
        if self.method not in (*METHODS, STATISTICS):
            raise unknown_name("method", self.method, (*METHODS, STATISTICS))
        if self.loss not in LOSSES:
            raise unknown_name("loss", self.loss, LOSSES)
        for name in self.keep:
            if name not in KEPT:
                raise unknown_name("keep", name, KEPT)
        if (self.gamma is not None) != (self.method == "ewnmf"):
            raise ValueError(f"gamma={self.gamma!r} does not go with method={self.method!r}: EWNMF alone has a gamma.")
        if isinstance(self.gamma, str) and self.gamma not in RULES:
            raise unknown_name("gamma", self.gamma, tuple(RULES))
        # One run has one spelling, and so one key.
        if self.gamma is not None and not isinstance(self.gamma, str):
            object.__setattr__(self, "gamma", float(self.gamma))
        object.__setattr__(self, "occluded", float(self.occluded))
        object.__setattr__(self, "block", self.block if self.occluded else _LATER["block"])
        object.__setattr__(self, "keep", tuple(sorted(set(self.keep))))
        followed = RULES[self.gamma] if isinstance(self.gamma, str) else None
        object.__setattr__(self, "rule", followed if followed is None or self.rule is None else self.rule)

    @property
    def chooses(self) -> bool:
        """Whether gamma is chosen from the data, by one of `RULES`."""
        return isinstance(self.gamma, str)

    @property
    def key(self) -> str:
        """sha256 of the canonical JSON; later fields are part of it where they say something new."""
        values = asdict(self)
        for name, before in _LATER.items():
            if (values[name] or before) == before:
                del values[name]
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def order(self) -> tuple[Any, ...]:
        """Where the spec stands in a sorted list: numbers by size, None and words before them."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(_rank(value) for value in values)

    def __str__(self) -> str:
        words = [self.dataset, "statistics" if self.method == STATISTICS else self.method]
        if self.gamma is not None:
            words.append(f"gamma={self.gamma if isinstance(self.gamma, str) else format(self.gamma, 'g')}")
        words.append(f"k={self.k}")
        if self.draw is not None:
            words.append(f"draw={self.draw}")
        if self.draw != self.seed:
            words.append(f"seed={self.seed}")
        if self.attempt:
            words.append(f"try={self.attempt + 1}")
        if self.occluded:
            words.append(f"occluded={self.occluded:g}" + (f" block={self.block}" if self.block != 12 else ""))
        if self.loss != LOSSES[0]:
            words.append(self.loss)
        return " ".join(words)


_LATER: dict[str, Any] = {"loss": "euclidean", "block": 12, "rule": 0}
"""Fields that older stores do not have, and what their runs had."""


def _rank(value: Any) -> tuple[int, Any]:
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, str | tuple) else (2, value)


@dataclass(frozen=True)
class Row:
    """What a run found: its figures by name, how long it took, with what, where, and when it was finished (UTC)."""

    key: str
    spec: Spec
    figures: dict[str, float]
    seconds: float
    versions: dict[str, str]
    host: str
    finished: str
