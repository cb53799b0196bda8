"""What a run found: targets with their verdicts, tables, words, pictures; written as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from benchmarks.reasons import why

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "SMOKE",
    "Picture",
    "Section",
    "Table",
    "Target",
    "figures",
    "milliseconds",
    "page",
    "target_table",
    "write",
]

INTRODUCTION = """\
# Benchmarks

Written by `make bench`; do not edit. The machine: {machine}.

Contenders take turns within one run, several rounds, and the best time of each counts. Time per iteration is
`(t(n2)-t(n1))/(n2-n1)`, so that set-up and validation cancel. The contenders of a comparison share data and
start. EWNMF means entropy weights, squared Euclidean loss and `order="codes-first"` unless said otherwise; data is
float64, uniform on [0, 1), gamma = 0.1, where no data set is named. Compare ratios: absolute times are those of one
machine."""
WIDTH = 118
SMOKE = "**A smoke run on tiny problems: its figures mean nothing.**"


@dataclass(frozen=True)
class Target:
    """A figure to reach: what, where, the measured value (None if there is none), the bound, and what else was seen."""

    what: str
    where: str
    measured: float | None
    relation: str
    bound: float
    unit: str = ""
    beside: str = ""

    @property
    def verdict(self) -> str:
        """``"pass"``, ``"miss"`` or ``"not measured"``."""
        if self.measured is None:
            return "not measured"
        met = {
            "at least": self.measured >= self.bound,
            "at most": self.measured <= self.bound,
            "below": self.measured < self.bound,
        }
        return "pass" if met[self.relation] else "miss"

    def row(self) -> list[str]:
        """The cells of its line in the table of targets."""
        measured = "-" if self.measured is None else f"{self.measured:.2f}{self.unit}"
        verdict = self.verdict if self.verdict == "pass" else f"**{self.verdict}**"
        return [self.what, self.where, measured, f"{self.relation} {self.bound:g}{self.unit}", verdict, self.beside]


@dataclass(frozen=True)
class Table:
    """Rows of text under a head; columns after the first `left` are right-aligned."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    def markdown(self) -> str:
        """The table with its columns padded to equal widths."""
        widths = [max(len(cell) for cell in column) for column in zip(self.head, *self.rows, strict=True)]
        rules = [
            "-" * width if at < self.left else "-" * (width - 1) + ":" for at, width in enumerate(map(_wide, widths))
        ]
        lines = [self._line(self.head, widths), f"| {' | '.join(rules)} |"]
        return "\n".join(lines + [self._line(row, widths) for row in self.rows])

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            cell.ljust(_wide(width)) if at < self.left else cell.rjust(_wide(width))
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"


def _wide(width: int) -> int:
    return max(3, width)


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its file, and what it shows."""

    name: str
    shows: str
    figure: Figure

    def markdown(self) -> str:
        """The line that shows it."""
        return f"![{self.shows}](images/{self.name})"


@dataclass(frozen=True)
class Section:
    """A heading, the targets it answers, and what is under it: words, tables and pictures in order."""

    title: str
    targets: Sequence[Target] = ()
    parts: Sequence[str | Table | Picture] = field(default_factory=list)

    def markdown(self) -> str:
        """The section with its heading."""
        parts = [wrapped(part) if isinstance(part, str) else part.markdown() for part in self.parts]
        return "\n\n".join([f"## {self.title}", *parts])


def wrapped(words: str) -> str:
    """A paragraph in lines of at most `WIDTH` characters."""
    return fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def milliseconds(seconds: float) -> str:
    """Three significant digits, in milliseconds."""
    return figures(1e3 * seconds)


def figures(value: float) -> str:
    """At least three significant digits and never an exponent."""
    decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{decimals}f}"


def target_table(sections: Sequence[Section]) -> Table:
    """All targets, one a line."""
    head = ["", "where", "measured", "target", "", "beside it"]
    rows = [target.row() for section in sections for target in section.targets]
    return Table(head, rows, left=len(head))


def _verdicts(sections: Sequence[Section]) -> list[str]:
    targets = [target for section in sections for target in section.targets]
    measured = [target for target in targets if target.measured is not None]
    missed = [target for target in measured if target.verdict == "miss"]
    words = f"{len(measured) - len(missed)} of {len(measured)} measured targets are met."
    if len(measured) < len(targets):
        words += f" {len(targets) - len(measured)} could not be measured here."
    if missed:
        listed = "; ".join(f"{miss.what} ({miss.where}): {miss.measured:.2f}{miss.unit}" for miss in missed)
        words += f" Missed: {listed}."
    reasons: dict[str, list[str]] = {}
    for miss in missed:
        if reason := why(miss.what):
            reasons.setdefault(reason, []).append(f"{miss.what} ({miss.where})")
    return [wrapped(words), *(wrapped(f"*{'; '.join(names)}:* {reason}") for reason, names in reasons.items())]


def page(sections: Sequence[Section], machine: str, *, quick: bool = False) -> str:
    """The whole page as Markdown."""
    head = [*map(wrapped, INTRODUCTION.format(machine=machine).split("\n\n")), *([SMOKE] if quick else [])]
    targets = ["## Targets", target_table(sections).markdown(), *_verdicts(sections)]
    return "\n\n".join([*head, *targets, *(section.markdown() for section in sections)]) + "\n"


def write(sections: Sequence[Section], machine: str, folder: Path, *, quick: bool = False) -> Path:
    """Write ``benchmarks.md`` and its pictures (``images/bench-*.png``) into `folder`; returns the page's path."""
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for part in section.parts:
            if isinstance(part, Picture):
                part.figure.savefig(images / part.name, dpi=110, metadata={"Software": None})
    path = folder / "benchmarks.md"
    path.write_text(page(sections, machine, quick=quick), encoding="utf-8", newline="\n")
    return path
