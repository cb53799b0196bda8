"""Whether a gamma without labels clusters as well as plain NMF, run by run.

``python -m benchmarks.clusters [--gamma groups] [--sets pie10 digits ...] [--seeds 5] [--first 0]`` prints, for every
set, the mean accuracy of both, of k-means with 10 starts on unit and on raw codes, the mean difference of the runs from
the same start with its 95 % interval (paired t), and what was chosen. Runs are kept as they come
(``reproduction/clusters.csv``) and not made twice; ``--again`` makes those of the gamma anew. Data is found by
`EWNMF_DATA` or beside the repository.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.report import Table
from benchmarks.stored import ROOT, data_home, stored_set
from ewnmf import datasets, factorize
from ewnmf.experiments.execution.execute import clustering
from ewnmf.experiments.protocol.cases import CASES
from ewnmf.experiments.protocol.data import sample
from ewnmf.storage.threads import single_threaded_blas

Array = NDArray[Any]

KEPT = ROOT / "reproduction" / "clusters.csv"
BY_NAME = {case.name: case for case in CASES}
SETS = ("pie10", *BY_NAME)
PLAIN = "plain"
MARGIN = -0.01
"""A set is not clearly below where the interval of the difference reaches above this."""


class Run(NamedTuple):
    """What was fitted, the accuracies, and gamma in units of plain NMF's mean loss."""

    data: str
    seed: int
    gamma: str
    unit: float
    raw: float
    chosen: float


def load(name: str, seed: int) -> tuple[Any, Array, int, str]:
    """Points scaled to [0, 1], their classes, the number of these, and the loss."""
    if name == "pie10":
        X, classes = stored_set(name)
        return datasets.scale_points(X), classes, len(np.unique(classes)), "euclidean"
    spec, home = BY_NAME[name].start(BY_NAME[name].seed(seed)), data_home()
    given = sample(spec, None if home is None else str(home))
    assert given.classes is not None
    return given.X, given.classes, spec.k, spec.loss


def run(name: str, seed: int, gamma: str) -> Run:
    """One fit from the start of the seed, at one thread."""
    X, classes, K, loss = load(name, seed)
    how: dict[str, Any] = {"weighting": "none"} if gamma == PLAIN else {"gamma": gamma}
    with single_threaded_blas(openmp=True):
        fit = factorize(X, K, loss=loss, max_iter=300, order="codes-first", n_jobs=1, rng=seed, **how)
        found = clustering(fit, classes, K, seed)
    path = fit.gamma_path
    chosen = np.inf if path is None else float(path.relative[path.chosen])
    return Run(name, seed, gamma, found["acc_unit_10"], found["acc_raw_10"], chosen)


def kept() -> dict[tuple[str, int, str], Run]:
    """The runs that were made before."""
    if not KEPT.exists():
        return {}
    with KEPT.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if len(line) == len(Run._fields)]
    runs = [Run(line[0], int(line[1]), line[2], *map(float, line[3:])) for line in lines]
    return {one[:3]: one for one in runs}


def keep(one: Run) -> None:
    """Write a run behind the others."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with KEPT.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(one)


def difference(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """The mean of the paired differences and its 95 % interval; without bounds where there is one run."""
    pairs = np.subtract(ours, theirs)
    if len(pairs) < 2:
        return float(pairs.mean()), -np.inf, np.inf
    half = stats.t.ppf(0.975, len(pairs) - 1) * pairs.std(ddof=1) / np.sqrt(len(pairs))
    return float(pairs.mean()), float(pairs.mean() - half), float(pairs.mean() + half)


def line(name: str, ours: Sequence[Run], theirs: Sequence[Run]) -> list[str]:
    """A set's line of the table."""
    cells = [name, str(len(ours))]
    clear = []
    for kind in ("unit", "raw"):
        own, other = ([getattr(one, kind) for one in runs] for runs in (ours, theirs))
        mean, low, high = difference(own, other)
        clear.append(high < MARGIN)
        cells += [
            f"{np.mean(other):.3f}",
            f"{np.mean(own):.3f}",
            f"{100 * mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})",
        ]
    chosen = [PLAIN if np.isinf(one.chosen) else f"{one.chosen:g}x" for one in ours]
    counts = ", ".join(f"{chosen.count(each)} {each}" for each in dict.fromkeys(chosen))
    return [*cells, counts, "**clearly below**" if any(clear) else "no"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the runs that are missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clusters", description=__doc__.splitlines()[0])
    parser.add_argument("--gamma", choices=("groups", "auto"), default="groups")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["pie10", "yale", "digits"], metavar="SET")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--again", action="store_true", help="make the runs of the gamma anew")
    asked = parser.parse_args(arguments)
    known, lines = kept(), []
    for name in asked.sets:
        pairs = []
        for seed in range(asked.first, asked.first + asked.seeds):
            for gamma in (PLAIN, asked.gamma):
                if (name, seed, gamma) not in known or (asked.again and gamma != PLAIN):
                    known[name, seed, gamma] = run(name, seed, gamma)
                    keep(known[name, seed, gamma])
            pairs.append((known[name, seed, asked.gamma], known[name, seed, PLAIN]))
            print(f"{name}, seed {seed}: done", file=sys.stderr, flush=True)
        lines.append(line(name, *zip(*pairs, strict=True)))
    ours = f'"{asked.gamma}"'
    head = ["", "runs", "unit: NMF", ours, "difference", "raw: NMF", ours, "difference", "chosen", "below NMF by 1"]
    print(Table(head, lines).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
