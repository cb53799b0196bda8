"""Does acceleration cost anything: ``python -m benchmarks.paired [--seeds 20] [--sets yale ...] [--times 4]``.

``--other same`` stops it at the ``E`` of ``"mu"``, ``--other longer`` puts 1500 iterations of that in its place.

``solver="accelerated"`` under entropy weights against the paper's multiplicative updates, which share their starts:
what 300 iterations of ``"mu"`` reach, and where the other ends by the default `tol`. Clusterings are those of k-means
with 10 starts on the run's codes, raw and with unit norm. Points are scaled to [0, 1]; damage is a block in 30 % of
the images. Repair is soft, ``t x + (1 - t) y`` with ``t = exp(-d / gamma)``, and judged by its root mean square error
over damaged images. A difference is clearly below 0 where it lies more than two of its standard errors below it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize

import ewnmf
from benchmarks.defaults import quietly
from benchmarks.report import Table
from benchmarks.stored import stored_set
from ewnmf import datasets
from ewnmf.metrics import clustering_accuracy

Array = NDArray[Any]

SHAPES = {"yale": (32, 32), "umist": (32, 32), "gtfd": (32, 32), "digits": (8, 8)}
KINDS = {"clean": None, "occluded": "blocks"}
HEADER = ["data", "E / mu's", "ACC", "NMI", "ACC, unit", "NMI, unit", "error of repair", "largest value"]


class Case(NamedTuple):
    """What is fitted, what it was before damage, where that is, and the groups."""

    X: Array
    clean: Array
    mask: Array
    groups: Array


def load(name: str, damage: str | None, seed: int) -> Case:
    """The data of a seed."""
    if name == "digits":
        X, groups = load_digits(return_X_y=True)
    else:
        X, groups = stored_set(name)
    clean = datasets.scale_points(X)
    if damage is None:
        return Case(clean, clean, np.zeros(clean.shape, dtype=bool), groups)
    X, mask = datasets.make_damage(clean, damage, image_shape=SHAPES[name], random_state=seed)
    return Case(X, clean, mask, groups)


def figures(case: Case, fit: ewnmf.Factorization, seed: int) -> Array:
    """``E``, accuracy and NMI on raw and unit codes, the error of repair, the largest reconstruction."""
    unit = normalize(fit.codes * np.linalg.norm(fit.components, axis=1))
    found = [fit.excess]
    for codes in (fit.codes, unit):
        labels = KMeans(len(np.unique(case.groups)), n_init=10, random_state=seed).fit_predict(codes)
        found += [
            clustering_accuracy(case.groups, labels),
            float(normalized_mutual_info_score(case.groups, labels)),
        ]
    Y, rows = fit.codes @ fit.components, case.mask.any(axis=1) if case.mask.any() else slice(None)
    assert fit.gamma is not None
    t = np.exp(-np.square(case.X - Y) / fit.gamma)
    mended = t * case.X + (1 - t) * Y
    return np.array([*found, np.sqrt(np.mean(np.square(mended - case.clean)[rows])), Y.max()])


def pair(name: str, damage: str | None, times: float, seed: int, other: str) -> tuple[Array, Array]:
    """The figures of ``"mu"`` and of the `other`, from one start."""
    case = load(name, damage, seed)
    K, default = len(np.unique(case.groups)), ewnmf.EWNMF()
    with quietly():
        plain = ewnmf.factorize(case.X, K, weighting="none", solver="auto", tol=default.tol, rng=seed)
        asked: dict[str, Any] = {"gamma": times * plain.loss / case.X.size, "order": "codes-first", "rng": seed}
        usual = ewnmf.factorize(case.X, K, max_iter=300, **asked)
        options: dict[str, dict[str, Any]] = {
            "accelerated": {"solver": "accelerated", "max_iter": default.max_iter, "tol": default.tol},
            "same": {"solver": "accelerated", "callbacks": [lambda at: at.excess <= usual.excess]},
            "longer": {"max_iter": 1500},
        }
        fast = ewnmf.factorize(case.X, K, **options[other], **asked)
    return figures(case, usual, seed), figures(case, fast, seed)


def _words(usual: Array, fast: Array, column: int) -> str:
    """The mean of one, and the mean difference of the other with its standard error."""
    difference = fast[:, column] - usual[:, column]
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    return f"{usual[:, column].mean():.3f} {difference.mean():+.3f} ± {error:.3f}"


def rows(names: Sequence[str], times: Sequence[float], seeds: int, other: str) -> Iterator[list[str]]:
    """The lines of the table."""
    for name in names:
        for kind, damage in KINDS.items():
            for factor in times:
                pairs = [pair(name, damage, factor, seed, other) for seed in range(seeds)]
                usual, fast = (np.array(side) for side in zip(*pairs, strict=True))
                ratio = f"{np.mean(fast[:, 0] / usual[:, 0]):.3f}"
                words = [_words(usual, fast, column) for column in range(1, 7)]
                line = [f"{name}, {kind}, {factor:g}x", ratio, *words]
                print(*line, sep=" | ", file=sys.stderr, flush=True)
                yield line


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.paired", description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--sets", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    options.add_argument("--times", type=float, nargs="+", default=[4.0], help="gamma, in mean losses of plain NMF")
    options.add_argument("--other", choices=["accelerated", "same", "longer"], default="accelerated")
    asked = options.parse_args(arguments)
    print(Table(HEADER, list(rows(asked.sets, asked.times, asked.seeds, asked.other)), left=1).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
