"""One line for every setting: what our default makes of it, and of undamaged data that `fit` has not seen.

``python -m benchmarks.repair.panel [--sets tep ...] [--damage faults ...] [--seed 0] [--strength medium]`` is for a
look after every change of the verdict: error in units of doing nothing, AUC, what is changed of undamaged tables (in
units of their standard deviation), and false alarms at 1 %. Nothing is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from benchmarks.calibration import alarms
from benchmarks.repair.data import KINDS, NONE, SETS, STRENGTHS, load
from benchmarks.repair.methods import DEFAULT, NOTHING
from benchmarks.repair.rows import Setting
from benchmarks.repair.study import run

__all__ = ["line", "main"]

FEW = (NONE, "blocks", "salt-and-pepper", "drifting", "faults")


def line(setting: Setting) -> str:
    """The figures of a setting."""
    ours, nothing = run(setting, DEFAULT), run(setting, NOTHING)
    assert ours is not None
    assert nothing is not None
    name = f"{setting.data:24s} {setting.damage:16s}"
    if setting.damage == NONE:
        unseen = alarms(load(setting.data, setting.seed, setting.points), setting.seed, [0.01])[0]
        return f"{name} change {ours.change:.3f}  alarms {ours.false_alarms:.4f}  unseen {unseen:.4f}  {ours.note}"
    error = ours.error / nothing.error
    return f"{name} error {error:.3f}  AUC {ours.auc:.3f}  alarms {ours.false_alarms:.4f}  {ours.note}"


def _settings(asked: argparse.Namespace) -> Iterator[Setting]:
    for name in asked.sets:
        for kind in asked.damage:
            yield Setting(name, kind, NONE if kind == NONE else asked.strength, asked.seed, asked.points)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the lines."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.panel", description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=", ".join(SETS))
    parser.add_argument("--damage", nargs="+", choices=KINDS, default=list(FEW), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--strength", choices=STRENGTHS, default="medium")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--points", type=int, default=300)
    for setting in _settings(parser.parse_args(arguments)):
        print(line(setting), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
