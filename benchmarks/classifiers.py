"""Classifiers on damaged data, with a `Repairer` before them and without.

``python -m benchmarks.classifiers [--sets digits isolet] [--damage KIND ...] [--seeds 3]`` prints accuracies.
Points that are trained on and points that are asked for are damaged alike, anew for every seed, and so are the halves
they come from. Data is found by `EWNMF_DATA` or beside the repository.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.report import Table
from benchmarks.stored import stored_set
from ewnmf import Repairer
from ewnmf.datasets import DAMAGES, make_damage

__all__ = ["compare", "halves", "main"]

Array = NDArray[Any]

SETS = ("digits", "isolet")
POINTS = 800
"""At most so many points are drawn, half of them to train on."""
KINDS = {"digits": ("blocks", "salt-and-pepper"), "isolet": ("faults", "salt-and-pepper")}
CLASSIFIERS: dict[str, Any] = {
    "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
}


def halves(name: str, damage: str, strength: str, seed: int) -> tuple[list[Array], list[Array], list[Array]]:
    """Points, damaged points and classes, of both halves."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        X, y = stored_set(name)
    drawn = np.random.default_rng(seed).permutation(len(X))[:POINTS]
    clean, classes = np.array_split(X[drawn], 2), np.array_split(y[drawn], 2)
    shape = (8, 8) if name == "digits" else None
    spoilt = [
        make_damage(half, damage, strength=strength, image_shape=shape, random_state=2 * seed + at)[0]
        for at, half in enumerate(clean)
    ]
    return clean, spoilt, classes


def compare(name: str, damage: str, strength: str, seed: int) -> dict[str, tuple[float, float, float]]:
    """Accuracy of every classifier: on undamaged data, on damaged data, and there behind a `Repairer`."""
    clean, spoilt, classes = halves(name, damage, strength, seed)
    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        repairer = Repairer(len(np.unique(classes[0])), random_state=seed, n_jobs=1)
        mended = [repairer.fit_transform(spoilt[0]), repairer.transform(spoilt[1])]
        for words, classifier in CLASSIFIERS.items():
            scores = [
                float(clone(classifier).fit(train, classes[0]).score(test, classes[1]))
                for train, test in (clean, spoilt, mended)
            ]
            found[words] = (scores[0], scores[1], scores[2])
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classifiers", description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--damage", nargs="+", choices=DAMAGES, metavar="KIND", help="in place of the sets' own")
    parser.add_argument("--strength", default="medium", choices=("mild", "medium", "strong"))
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args(arguments)
    lines = []
    for name in asked.sets:
        for damage in asked.damage or KINDS[name]:
            runs = [compare(name, damage, asked.strength, seed) for seed in range(asked.seeds)]
            print(f"{name}, {damage}: done", file=sys.stderr, flush=True)
            for words in CLASSIFIERS:
                mean = np.mean([each[words] for each in runs], axis=0)
                better = sum(each[words][2] > each[words][1] for each in runs)
                lines.append([name, damage, words, *(f"{value:.3f}" for value in mean), f"{better} of {len(runs)}"])
    head = ["data", "damage", "classifier", "undamaged", "damaged", "Repairer before it", "better in"]
    print(Table(head, lines, left=3).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
