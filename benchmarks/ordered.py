"""Undamaged tables whose points stand class after class, as many files have them: what `repair` leaves of them.

``python -m benchmarks.ordered [--sets umist wine ...] [--points 400] [--components 8]`` fits the defaults to a table
in the order of its classes and in a random one, and prints the share of suspects and how far `repair` changes the
table, in units of its spread. Faces and letters are found by `EWNMF_DATA` or beside the repository.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

import ewnmf
from benchmarks.report import Table
from benchmarks.stored import stored_set

__all__ = ["main", "seen"]

Array = NDArray[Any]
STORED = ("yale", "umist", "gtfd", "pie10", "isolet", "tox171")
LOADED: dict[str, Callable[[], Any]] = {
    "digits": datasets.load_digits,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
}
SETS = (*STORED, *LOADED)
IMAGES = ("yale", "umist", "gtfd", "pie10", "digits")
WIDEST = 2500
"""Of more columns every tenth is taken."""


def classes_in_order(name: str, points: int) -> Array:
    """The first so many points (0: all) of a set, sorted by class; columns of tables between 0 and 1."""
    if name in LOADED:
        given = LOADED[name]()
        X, labels = given.data, given.target
    else:
        X, labels = stored_set(name)
    if name == "tox171":
        X = np.log(X)
    X = X[np.argsort(labels, kind="stable")][: points or None, :: 10 if X.shape[1] > WIDEST else 1]
    low, high = (0.0, np.full(1, X.max())) if name in IMAGES else (X.min(axis=0), X.max(axis=0))
    scaled: Array = (X - low) / np.where(high > low, high - low, 1)
    return scaled


def seen(X: Array, components: int, *, image: bool) -> tuple[float, float]:
    """The share of suspects at 1 % of false alarms, and the change by `repair` in units of the spread."""
    model = (ewnmf.EWNMF if image else ewnmf.Repairer)(components, random_state=0, n_jobs=1).fit(X)
    return float(model.suspects(X).mean()), float(np.sqrt(np.mean((model.repair(X) - X) ** 2)) / X.std())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ordered", description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=", ".join(SETS))
    parser.add_argument("--points", type=int, default=400, help="the first so many (0: all; default: %(default)s)")
    parser.add_argument("--components", type=int, default=8)
    asked = parser.parse_args(arguments)
    rows = []
    for name in asked.sets:
        X = classes_in_order(name, asked.points)
        shuffled = np.random.default_rng(0).permutation(len(X))
        found = [seen(part, asked.components, image=name in IMAGES) for part in (X, X[shuffled])]
        rows.append([name, *(f"{each[at]:.4f}" for at in (0, 1) for each in found)])
        print(f"{name}: done", file=sys.stderr, flush=True)
    head = ["", "suspects, by class", "shuffled", "change / spread, by class", "shuffled"]
    print(Table(head, rows).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
