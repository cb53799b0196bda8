"""How many undamaged entries are suspected: `suspects` on points that `fit` has not seen, and nothing is wrong with.

``python -m benchmarks.calibration [--sets yale ...] [--seeds 1] [--false-alarms 0.01 0.001]`` fits the defaults to a
random half of the points of every set of the study and prints the share of suspects in the other half: at most what was
asked for on average, and at most twice that on any set. Data is found by `EWNMF_DATA` or beside the repository.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import ewnmf
from benchmarks.repair.data import POINTS, SETS, Table, load
from benchmarks.report import Section, Target, target_table
from benchmarks.report import Table as Printed

__all__ = ["alarms", "main", "shares"]


def alarms(table: Table, seed: int, limits: Sequence[float]) -> list[float]:
    """The share of suspects among entries that `fit` has not seen, for every share that is asked for."""
    order = np.random.default_rng(seed).permutation(len(table.X))
    seen, unseen = np.array_split(table.X[order], 2)
    kind = ewnmf.Repairer if table.mixed else ewnmf.EWNMF
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model = kind(table.K, random_state=seed, n_jobs=1).fit(seen)
        return [float(np.mean(model.suspects(unseen, limit))) for limit in limits]


def shares(sets: Sequence[str], seeds: int, limits: Sequence[float], points: int = POINTS) -> dict[str, list[float]]:
    """The mean shares of every set."""
    found = {}
    for name in sets:
        found[name] = list(np.mean([alarms(load(name, seed, points), seed, limits) for seed in range(seeds)], axis=0))
        print(f"{name}: done", file=sys.stderr, flush=True)
    return found


def targets(found: Mapping[str, Sequence[float]], limits: Sequence[float]) -> list[Target]:
    """What the shares are to be: on average, and on any set, as multiples of what was asked for."""
    answers = []
    for at, limit in enumerate(limits):
        ratios = {name: each[at] / limit for name, each in found.items()}
        worst = max(ratios, key=lambda name: ratios[name])
        where = f"false_alarms={limit:g}"
        answers += [
            Target("mean share / asked for", where, float(np.mean(list(ratios.values()))), "at most", 1),
            Target("largest share / asked for", where, ratios[worst], "at most", 2, beside=worst),
        ]
    return answers


def main(arguments: Sequence[str] | None = None) -> int:
    """Print shares and targets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=", ".join(SETS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--false-alarms", nargs="+", type=float, default=[0.01, 0.001], metavar="SHARE")
    parser.add_argument("--points", type=int, default=POINTS, help="of a table, at most (0: all; default: %(default)s)")
    asked = parser.parse_args(arguments)
    found = shares(asked.sets, asked.seeds, asked.false_alarms, asked.points)
    head = ["", *(f"false_alarms={limit:g}" for limit in asked.false_alarms)]
    print(Printed(head, [[name, *(f"{share:.4f}" for share in each)] for name, each in found.items()]).markdown())
    print(f"\n{target_table([Section('', targets(found, asked.false_alarms))]).markdown()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
