"""The command: everything the demonstration does, its files and its refusals."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from ewnmf import __version__
from ewnmf.demo.comparison import N_DIGITS, Plan, compared
from ewnmf.demo.page import write_page
from ewnmf.demo.repair import repaired
from ewnmf.plots import figures as plots
from ewnmf.report.writing import check_installed

__all__ = ["main"]

UNWRITABLE = "--output {} cannot be written ({}); name another folder."


def run(plan: Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    """Mend damage, then compare representations; all numbers, and the figures by file name."""
    started = time.perf_counter()
    mended, pictures = repaired(plan.seeds)
    numbers, figures = compared(plan)
    seconds = round(time.perf_counter() - started, 1)
    found = {"version": __version__, "plan": asdict(plan), **mended, **numbers, "seconds": seconds}
    return found, {**pictures, **figures}


def _finite(value: Any) -> Any:
    """The same with the word "inf" for infinite numbers, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return "inf" if value == np.inf else value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; 0, or 2 after a sentence on standard error that says what to change."""
    arguments = _parser().parse_args(argv)
    output, plan = Path(arguments.output), Plan(arguments.seeds, arguments.digits, arguments.iterations)
    try:
        plots.loss_curve([0.0])
    except ImportError as error:
        return _refuse(f"The demo draws figures, but {error}")
    try:
        check_installed()
    except ImportError as error:
        return _refuse(f"The demo writes a report, but {error}")
    try:
        output.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=output).close()
    except OSError as error:
        return _refuse(UNWRITABLE.format(output, error.strerror))
    from matplotlib import pyplot

    numbers, figures = run(plan)
    try:
        for name, figure in figures.items():
            figure.savefig(output / name, dpi=110)
            pyplot.close(figure)
        text = json.dumps(_finite(numbers), indent=1, allow_nan=False)
        (output / "demo.json").write_text(text + "\n", encoding="utf-8")
        page = write_page(output)
    except OSError as error:
        return _refuse(UNWRITABLE.format(output, error.strerror))
    print(f"\nThe figures ({', '.join(figures)}) and all numbers (demo.json) are in {output}.")
    print(f"It took {numbers['seconds']:.0f} seconds.")
    print(f"Open {page} in a browser: what was found in the first table of sensors.")
    return 0


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ewnmf.demo", description="Damage found and mended, and NMF against EWNMF."
    )
    plan = Plan()
    add = parser.add_argument
    add("--output", default="demo_output", help="folder for figures and numbers (default: %(default)s)")
    add("--seeds", type=_count(1), default=plan.seeds, help="runs of everything (default: %(default)s)")
    add("--digits", type=_count(50, N_DIGITS), default=plan.digits, help="how many of them (default: %(default)s)")
    add("--iterations", type=_count(2), default=plan.iterations, help="of every run (default: %(default)s)")
    return parser


def _count(least: int, most: int | None = None) -> Callable[[str], int]:
    """The parser of a whole number in these bounds."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"

    def parse(text: str) -> int:
        if not (text.isdecimal() and least <= int(text) <= (most or int(text))):
            raise argparse.ArgumentTypeError(f"{text!r} must be a whole number {bounds}.")
        return int(text)

    return parse
