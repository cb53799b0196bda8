"""The rows in ``results/``, from which a clone draws every page: sorted text, compressed, a file for each target.

A row that several targets need is in the file of the first of them. Figures have all their digits; the host is left
out. ``versions.json`` has the versions that rows name, ``arrays.npz`` the few arrays that pictures show.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ewnmf._types import Array
from ewnmf.experiments.execution.files import replace_file
from ewnmf.experiments.pages.showing import shown_arrays
from ewnmf.experiments.protocol.plan import TARGETS
from ewnmf.experiments.protocol.spec import RULES, Row, Spec

__all__ = ["Archive", "Export", "Source", "committed", "export", "read"]

Arrays = dict[tuple[str, str], Array]

VERSIONS, ARRAYS, ENDING = "versions.json", "arrays.npz", ".csv.gz"
_SPEC = tuple(field.name for field in fields(Spec))
_WHOLE = ("k", "seed", "attempt", "max_iter", "draw", "block", "rule")
_AFTER = ("seconds", "versions", "finished")
_FOUND = "_found"
"""Tells the gamma that a run found from the one that was asked for."""


class Source(Protocol):
    """What pages are drawn from: rows in the order of their specs, and arrays by key and name."""

    def rows(self) -> list[Row]:
        """All rows."""

    def has(self, key: str, name: str) -> bool:
        """Whether the array of that name of that run is there."""

    def array(self, key: str, name: str) -> Array:
        """The array of that name of that run."""


@dataclass(frozen=True, eq=False)
class Archive:
    """What a folder of results holds."""

    folder: Path
    found: Sequence[Row]
    arrays: Mapping[tuple[str, str], Array]

    def rows(self) -> list[Row]:
        """All rows, in the order of their specs."""
        return list(self.found)

    def has(self, key: str, name: str) -> bool:
        """Whether the array of that name of that run is there."""
        return (key, name) in self.arrays

    def array(self, key: str, name: str) -> Array:
        """The array of that name of that run, as exact as pictures need it."""
        return self.arrays[key, name]

    def items(self) -> Iterable[tuple[Row, dict[str, Array]]]:
        """Rows with their arrays, for a store."""
        by_key: dict[str, dict[str, Array]] = {}
        for (key, name), array in self.arrays.items():
            by_key.setdefault(key, {})[name] = array
        return ((row, by_key.get(row.key, {})) for row in self.found)


def committed() -> Path | None:
    """``results`` of the clone that this module belongs to; None for a package that was installed without one."""
    source = Path(__file__).resolve().parents[3]
    folder = source.parent / "results"
    return folder if source.name == "src" and (folder / VERSIONS).is_file() else None


def read(folder: Path) -> Archive:
    """The rows and arrays of a folder of results; an empty or missing folder has none.

    Raises
    ------
    ValueError
        A file is damaged or was written by another version.
    """
    rows: list[Row] = []
    try:
        versions = json.loads((folder / VERSIONS).read_text(encoding="utf-8")) if (folder / VERSIONS).exists() else {}
        for path in sorted(folder.glob(f"*{ENDING}")):
            rows += _rows(_unzipped(path), versions)
        arrays = _arrays(folder / ARRAYS)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder} has results that cannot be read ({error}); restore its files.") from error
    return Archive(folder, sorted(rows, key=lambda row: row.spec.order), arrays)


@dataclass(frozen=True)
class Export:
    """What an export did: rows in the folder now, how many of them are new, and rows that were not taken.

    `differing` rows were in the folder already, with other figures, and stayed as they were there; `unplanned` ones
    belong to no target, as those of an earlier rule of choosing gamma.
    """

    rows: int
    added: int
    differing: int
    unplanned: int


def export(source: Source, folder: Path) -> Export:
    """Write the rows of `source` into a folder of results, beside those that are there."""
    there = read(folder)
    before = {row.key: row for row in there.rows()}
    given = {row.key: row for row in source.rows()}
    parts, unplanned = _by_target([*before.values(), *(row for key, row in given.items() if key not in before)])
    kept = {row.key: row for rows in parts.values() for row in rows}
    arrays = {place: array for place, array in there.arrays.items() if place[0] in kept}
    for key, row in kept.items():
        if key in given and given[key].figures == row.figures:
            arrays = {(key, name): array for name, array in shown_arrays(row.spec, source).items()} | arrays
    _write(folder, parts, arrays)
    differing = sum(before[key].figures != row.figures for key, row in given.items() if key in before)
    return Export(len(kept), len(kept.keys() - before.keys()), differing, unplanned)


def _by_target(rows: Iterable[Row]) -> tuple[dict[str, list[Row]], int]:
    """Rows by the first target that plans them, sorted, and how many no target plans."""
    home: dict[Spec, str] = {}
    for target in TARGETS.values():
        for spec in target.specs():
            home.setdefault(spec, target.name)
    parts: dict[str, list[Row]] = {}
    unplanned = 0
    for row in sorted(rows, key=lambda row: row.spec.order):
        if row.spec in home:
            parts.setdefault(home[row.spec], []).append(row)
        else:
            unplanned += 1
    return parts, unplanned


def _write(folder: Path, parts: Mapping[str, Sequence[Row]], arrays: Arrays) -> None:
    """Replace what changed; compressed files are compared by what is in them, so other versions of zlib do no harm."""
    versions = {_name(row.versions): row.versions for rows in parts.values() for row in rows}
    replace_file(folder / VERSIONS, (json.dumps(versions, indent=1, sort_keys=True) + "\n").encode())
    for path in folder.glob(f"*{ENDING}"):
        if path.name.removesuffix(ENDING) not in parts:
            path.unlink()
    for target, rows in parts.items():
        path, text = folder / f"{target}{ENDING}", _text(rows)
        if not path.exists() or _unzipped(path) != text:
            replace_file(path, gzip.compress(text.encode(), mtime=0))
    if not _same(arrays, _arrays(folder / ARRAYS)):
        stream = io.BytesIO()
        named: dict[str, Any] = {"-".join(place): arrays[place] for place in sorted(arrays)}
        np.savez_compressed(stream, **named)
        replace_file(folder / ARRAYS, stream.getvalue())


def _unzipped(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode()


def _same(ours: Arrays, theirs: Arrays) -> bool:
    return ours.keys() == theirs.keys() and all(
        ours[place].dtype == theirs[place].dtype and np.array_equal(ours[place], theirs[place]) for place in ours
    )


def _arrays(path: Path) -> Arrays:
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as found:
        return {(name[:64], name[65:]): found[name] for name in found.files}


def _name(versions: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:8]


def _text(rows: Sequence[Row]) -> str:
    """Comma-separated values under a head; a figure that a row does not have is empty."""
    names = sorted({name for row in rows for name in row.figures})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_SPEC, *(f"{name}{_FOUND}" if name in _SPEC else name for name in names), *_AFTER])
    for row in rows:
        spec = [_word(getattr(row.spec, name)) for name in _SPEC]
        figures = [_word(row.figures.get(name)) for name in names]
        writer.writerow([*spec, *figures, f"{row.seconds:.2f}", _name(row.versions), row.finished[:10]])
    return text.getvalue()


def _word(value: Any) -> str:
    """Numbers with all their digits, names of arrays with spaces between them."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " ".join(value)
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _rows(text: str, versions: Mapping[str, dict[str, str]]) -> list[Row]:
    reader = csv.reader(io.StringIO(text))
    head = next(reader)
    if head[: len(_SPEC)] != list(_SPEC) or head[-len(_AFTER) :] != list(_AFTER):
        raise ValueError("columns of another version")
    names = [name.removesuffix(_FOUND) for name in head[len(_SPEC) : -len(_AFTER)]]
    rows = []
    for words in reader:
        spec = _spec(dict(zip(_SPEC, words, strict=False)))
        figures = {name: float(word) for name, word in zip(names, words[len(_SPEC) :], strict=False) if word}
        seconds, name, finished = words[-len(_AFTER) :]
        rows.append(Row(spec.key, spec, figures, float(seconds), versions[name], "", finished))
    return rows


def _spec(words: Mapping[str, str]) -> Spec:
    values: dict[str, Any] = dict(words)
    values |= {name: int(words[name]) if words[name] else None for name in _WHOLE}
    values |= {"keep": tuple(words["keep"].split()), "occluded": float(words["occluded"])}
    gamma = words["gamma"]
    values["gamma"] = None if not gamma else gamma if gamma in RULES else float(gamma)
    return Spec(**values)
