"""``python -m benchmarks [--quick] [--only NAME ...] [--output FOLDER] [--download]``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import cold, defaults, descent, field, growth, iterations, memory, shares, small
from benchmarks.machine import describe
from benchmarks.plan import FULL, QUICK, Plan
from benchmarks.report import SMOKE, Section, target_table, write
from benchmarks.stored import ROOT

__all__ = ["main"]

SECTIONS: dict[str, Callable[[Plan], Section]] = {
    "defaults": defaults.section,
    "iterations": iterations.section,
    "descent": descent.section,
    "growth": growth.section,
    "small": small.section,
    "memory": memory.section,
    "cold": cold.section,
    "shares": shares.section,
    "packages": field.section,
}


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure ewnmf; write benchmarks.md.")
    options.add_argument(
        "--quick", action="store_true", help="tiny problems: does everything run? (figures mean nothing)"
    )
    options.add_argument(
        "--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), help="some sections alone"
    )
    options.add_argument("--output", type=Path, help="folder of the page (docs; with --quick build/bench)")
    options.add_argument("--download", action="store_true", help="download data sets that are not there")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the targets, write the page."""
    asked = parser().parse_args(arguments)
    plan = replace(QUICK if asked.quick else FULL, download=asked.download)
    started, sections = time.perf_counter(), []
    for name in asked.only:
        print(f"{time.perf_counter() - started:6.0f} s  {name}", file=sys.stderr, flush=True)
        sections.append(SECTIONS[name](plan))
    folder = asked.output or (ROOT / "build" / "bench" if asked.quick else ROOT / "docs")
    path = write(sections, describe(), folder, quick=asked.quick)
    print(*([SMOKE, ""] if asked.quick else []), target_table(sections).markdown(), sep="\n")
    print(f"\n{time.perf_counter() - started:.0f} s; tables and pictures: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
