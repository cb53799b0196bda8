"""This tree against another one of the same package: ``python -m benchmarks.versus FOLDER [--rounds 9]``.

Two processes, one for each tree, take turns, so that both see the same machine. FOLDER is a checkout of another
commit (``git worktree add FOLDER COMMIT``). Times are CPU seconds at one thread and wall seconds at two; the ratio of
the lower quartiles decides, since the best of several runs of a noisy machine is noisy itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.problems import Array, random_problem, size
from benchmarks.report import Table
from benchmarks.stored import ROOT
from ewnmf import EWNMF, factorize

__all__ = ["CASES", "Case", "main", "measure"]

WORST = 1.05
KL = "kullback-leibler"


class Case(NamedTuple):
    """What is timed: a problem's shape, two numbers of iterations (none: the codes of so many points), settings."""

    title: str
    shape: tuple[int, int, int]
    counts: tuple[int, int]
    settings: Mapping[str, Any] = {}
    dtype: str = "float64"


MIDDLE, LARGE, SMALL = (2000, 1024, 20), (9144, 1024, 50), (150, 50, 5)
CASES = {
    case.title: case
    for case in (
        Case("codes-first", MIDDLE, (5, 25)),
        Case("components-first", MIDDLE, (5, 25), {"order": "components-first"}),
        Case("accelerated", MIDDLE, (5, 25), {"solver": "accelerated"}),
        Case("KL", MIDDLE, (5, 25), {"loss": KL}),
        Case("KL, components-first", MIDDLE, (5, 25), {"loss": KL, "order": "components-first"}),
        Case("float32", MIDDLE, (5, 25), dtype="float32"),
        Case("gamma 1e-6", MIDDLE, (5, 25), {"gamma": 1e-6}),
        Case("plain", MIDDLE, (5, 25), {"weighting": "none"}),
        Case("large", LARGE, (2, 6)),
        Case("large, components-first", LARGE, (2, 6), {"order": "components-first"}),
        Case("small", SMALL, (50, 550)),
        Case("small, components-first", SMALL, (50, 550), {"order": "components-first"}),
        Case("one point", MIDDLE, (0, 1)),
    )
}


def _work(case: Case) -> Any:
    """A function of the number of iterations (or of repeated encodings) and of threads."""
    problem = random_problem(*case.shape).astype(case.dtype)
    if case.counts[0]:
        gamma = {} if "weighting" in case.settings else {"gamma": 0.1}
        settings = {"order": "codes-first", **gamma, **case.settings}
        return lambda count, threads: factorize(
            problem.X,
            problem.K,
            codes=problem.codes,
            components=problem.components,
            max_iter=count,
            n_jobs=threads,
            **settings,
        )
    model = EWNMF(problem.K, gamma=0.1, solver="mu", tol=0, max_iter=20, random_state=0).fit(problem.X)
    model.set_params(tol=EWNMF().tol, max_iter=EWNMF().max_iter)
    return lambda count, threads: [model.transform(problem.X[:1]) for _ in range(count)]


def serve() -> None:
    """Answer lines ``title`` with CPU seconds at one thread and wall seconds at two, per iteration."""
    ready: dict[str, Any] = {}
    for line in sys.stdin:
        case = CASES[line.strip()]
        if case.title not in ready:
            ready[case.title] = _work(case)
            ready[case.title](1, 1)
        seconds = []
        for threads, clock in ((1, time.process_time), (2, time.perf_counter)):
            times = []
            for count in case.counts:
                began = clock()
                ready[case.title](count, threads)
                times.append(clock() - began)
            seconds.append((times[1] - times[0]) / (case.counts[1] - case.counts[0]))
        print(json.dumps(seconds), flush=True)


@contextmanager
def tree(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that measures the package in `folder`."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "benchmarks.versus", "--serve"]
    with subprocess.Popen(
        command, env=variables, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        if process.stdin is not None:
            process.stdin.close()


def ask(process: subprocess.Popen[str], title: str) -> list[float]:
    """The seconds of a case in that process's tree."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process has no pipes")
    process.stdin.write(f"{title}\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the process that measures {title!r} has ended; what it printed says why.")
    answer: list[float] = json.loads(line)
    return answer


def measure(other: Path, titles: Sequence[str], rounds: int) -> Iterator[tuple[str, Array]]:
    """Every case with its seconds (rounds x 2 trees x 2 clocks), the other tree first."""
    with tree(other) as before, tree(ROOT) as now:
        for title in titles:
            turns = [[ask(before, title), ask(now, title)] for _ in range(rounds + 1)]
            yield title, np.array(turns[1:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as asked and print a table; 1 where anything is slower by more than a twentieth."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="a checkout of another commit")
    parser.add_argument("--rounds", type=int, default=9, help="turns of every case (default: 9)")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES), help="some cases alone")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.serve:
        serve()
        return 0
    if asked.folder is None or not (asked.folder / "src" / "ewnmf").is_dir():
        parser.error(f"{asked.folder} is no checkout of ewnmf: git worktree add FOLDER COMMIT makes one.")
    rows, slower = [], 0
    for title, seconds in measure(asked.folder.resolve(), asked.only, asked.rounds):
        before, now = np.quantile(seconds, 0.25, axis=0)
        ratios = now / before
        slower += bool(ratios.min() > WORST)
        times = [f"{1e3 * before[k]:.3g} / {1e3 * now[k]:.3g}" for k in range(2)]
        print(title, *ratios.round(3), file=sys.stderr, flush=True)
        rows.append([title, size(CASES[title].shape), times[0], f"{ratios[0]:.3f}", times[1], f"{ratios[1]:.3f}"])
    head = ["", "", "CPU ms, one thread: other / this", "ratio", "wall ms, two threads", "ratio"]
    print(Table(head, rows, left=2).markdown())
    return int(slower > 0)


if __name__ == "__main__":
    sys.exit(main())
