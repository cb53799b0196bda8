"""Our defaults against what else people do about damage.

``python -m benchmarks.repair [--sets yale ...] [--damage blocks ...] [--strengths medium] [--seeds 1] [--methods ...]``
computes the rows that are missing, keeps every one as it comes (``reproduction/repair.csv``, beside those in
``results/repair/rows.csv.gz``), and prints tables and whether the figures to reach are reached. ``--print`` computes
nothing, ``--again METHOD ...`` computes the rows of these methods anew, ``--export`` writes all rows to ``results/``,
and ``--page`` what is printed to a file, as docs/repair-study.md is made.
Faces and tables are found by `EWNMF_DATA` or beside the repository.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.repair.data import KINDS, POINTS, SETS, STRENGTHS
from benchmarks.repair.methods import METHODS
from benchmarks.repair.rows import Row, add, export, read
from benchmarks.repair.study import run_all, settings
from benchmarks.repair.tables import report


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=", ".join(SETS))
    add("--damage", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    add("--strengths", nargs="+", choices=STRENGTHS, default=list(STRENGTHS), metavar="STRENGTH")
    add("--seeds", type=int, default=1, help="how many")
    add("--first", type=int, default=0, help="the first of the seeds")
    add("--points", type=int, default=POINTS, help="of a table, at most (0: all; default: %(default)s)")
    names = list(METHODS)
    add("--methods", nargs="+", choices=names, default=names, metavar="METHOD", help=", ".join(names))
    add("--again", nargs="+", choices=names, default=[], metavar="METHOD", help="compute rows of these anew")
    add("--jobs", type=int, default=1, help="processes")
    add("--print", action="store_true", help="compute nothing")
    add("--export", action="store_true", help="write all rows into results/")
    add("--page", type=Path, metavar="FILE", help="write what is printed here, too")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute what is missing, and print the tables."""
    asked = _parser().parse_args(arguments)
    rows = read()
    chosen = settings(
        asked.sets, asked.damage, asked.strengths, range(asked.first, asked.first + asked.seeds), asked.points
    )
    if not asked.print:
        wanted = [(setting, method) for setting in chosen for method in asked.methods]
        missing = [job for job in wanted if job not in rows or job[1] in asked.again]
        for at, (job, row) in enumerate(zip(missing, run_all(missing, asked.jobs), strict=True), 1):
            if row is not None:
                add(row)
                rows[job] = row
            print(f"{at} of {len(missing)}: {' '.join(map(str, job[0]))}, {job[1]}", file=sys.stderr, flush=True)
    if asked.export:
        export(rows.values())
    shown: list[Row] = [row for (setting, _), row in rows.items() if setting in set(chosen)]
    text = report(shown)
    print(text)
    if asked.page:
        asked.page.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
