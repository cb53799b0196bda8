"""``python -m tests.torture --minutes 10 --seed 0``: random problems, and what every factorisation must do."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence

from tests.torture.drawing import draw
from tests.torture.properties import ALWAYS, CHOSEN, examine
from tests.torture.running import Report, run

VERDICTS = ("held", "violated", "refused", "undecided")


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="no problem begins after so many (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="of the problems (default: 0)")
    parser.add_argument("--count", type=int, default=1_000_000, help="problems at the most")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--only", type=int, metavar="INDEX", help="look at this problem alone, and print it")
    parser.add_argument("--every", action="store_true", help="with --only: all properties, not those drawn for it")
    return parser.parse_args(arguments)


def _show(report: Report, seed: int) -> int:
    """Print the violations of a problem; how many there are."""
    violated = [outcome for outcome in report.outcomes if outcome.verdict == "violated"]
    for outcome in violated:
        print(f"VIOLATION of {outcome.name}: {outcome.words}")
        print(f"  {report.words}")
        print(f"  python -m tests.torture --seed {seed} --only {report.index}", flush=True)
    return len(violated)


def _summary(counts: Counter[tuple[str, str]]) -> None:
    names = [*ALWAYS, *CHOSEN, *sorted({name for name, _ in counts} - {*ALWAYS, *CHOSEN})]
    print(f"{'property':15}{'checked':>10}{'violated':>10}{'refused':>10}{'undecided':>11}")
    for name in names:
        held, violated, refused, undecided = (counts[name, verdict] for verdict in VERDICTS)
        print(f"{name:15}{held + violated:>10}{violated:>10}{refused:>10}{undecided:>11}")


def _one(seed: int, index: int, every: bool) -> int:
    problem = draw(seed, index)
    print(problem)
    outcomes = examine(problem, every)
    for outcome in outcomes:
        print(f"{outcome.name:15}{outcome.verdict:12}{outcome.words}")
    return int(any(outcome.verdict == "violated" for outcome in outcomes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as asked; 1 where anything was violated."""
    asked = _asked(arguments)
    if asked.only is not None:
        return _one(asked.seed, asked.only, asked.every)
    began, problems, violations = time.monotonic(), 0, 0
    counts: Counter[tuple[str, str]] = Counter()
    for report in run(asked.seed, asked.count, asked.minutes, asked.jobs):
        problems += 1
        counts.update((outcome.name, outcome.verdict) for outcome in report.outcomes)
        violations += _show(report, asked.seed)
        if problems % 250 == 0:
            print(f"{problems} problems in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    _summary(counts)
    seconds = time.monotonic() - began
    print(f"{problems} problems of seed {asked.seed} in {seconds:.0f} s: {violations or 'no'} violation(s)")
    return int(violations > 0)


if __name__ == "__main__":
    sys.exit(main())
