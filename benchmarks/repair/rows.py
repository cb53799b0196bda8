"""Rows of the study: kept as they come, read again, and written into results/ as one small file."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.stored import ROOT

__all__ = ["KEPT", "WORKING", "Row", "Setting", "add", "export", "read"]

WORKING = ROOT / "reproduction" / "repair.csv"
"""Where rows are added as they come; git does not see it."""
KEPT = ROOT / "results" / "repair" / "rows.csv.gz"


class Setting(NamedTuple):
    """What is damaged, and how."""

    data: str
    damage: str
    strength: str
    seed: int
    points: int


@dataclass(frozen=True)
class Row:
    """What one method made of one setting; NaN where there is no such figure."""

    data: str
    damage: str
    strength: str
    seed: int
    points: int
    method: str
    error: float
    """Root mean square error of the damaged points (clean data: of all) against what they were."""
    change: float
    """Root mean square change of the table, in units of its standard deviation."""
    auc: float
    precision: float
    recall: float
    false_alarms: float
    """The share of undamaged entries that are suspected."""
    fit: float
    seconds: float
    note: str = ""

    @property
    def setting(self) -> Setting:
        """What it was done to."""
        return Setting(self.data, self.damage, self.strength, self.seed, self.points)


_NAMES = [field.name for field in fields(Row)]
_KINDS = {field.name: {"int": int, "float": float}.get(str(field.type), str) for field in fields(Row)}


def _parsed(lines: Iterable[str]) -> Iterator[Row]:
    for line in csv.DictReader(lines):
        if line.get(_NAMES[-1]) is not None:  # the last line of a killed run may be half
            values: dict[str, Any] = {name: _KINDS[name](line[name]) for name in _NAMES}
            yield Row(**values)


def read(working: Path = WORKING, kept: Path = KEPT) -> dict[tuple[Setting, str], Row]:
    """All rows by setting and method; those of the working file come before those that are kept."""
    rows: dict[tuple[Setting, str], Row] = {}
    if kept.exists():
        rows |= {
            (row.setting, row.method): row for row in _parsed(gzip.decompress(kept.read_bytes()).decode().splitlines())
        }
    if working.exists():
        rows |= {(row.setting, row.method): row for row in _parsed(working.read_text("utf-8").splitlines())}
    return rows


def _line(row: Row) -> list[str]:
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in asdict(row).values()]


def add(row: Row, working: Path = WORKING) -> None:
    """Write a row behind the others."""
    working.parent.mkdir(parents=True, exist_ok=True)
    new = not working.exists()
    with working.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(_NAMES)
        writer.writerow(_line(row))


def export(rows: Iterable[Row], kept: Path = KEPT) -> None:
    """Write all rows, sorted, without a time stamp: the same rows give the same bytes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_NAMES)
    writer.writerows(sorted(map(_line, rows)))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
