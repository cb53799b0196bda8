"""From Arrow's columns to a table: which ones hold numbers, names and classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.formulas import unguarded
from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable
from ewnmf.io.table import Table

__all__ = ["NULLS", "Roles", "to_table"]

NULLS = ("", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "#N/A")
"""Cells of a text table that count as empty."""
_INDEX = "__index_level_0__"
"""Under this name pandas keeps the index of a data frame in a Parquet file."""


class Roles:
    """What the columns of a file are for."""

    def __init__(self, name: str, columns: Sequence[str], layout: Layout, named: bool = True) -> None:
        self._file = name
        self.names = list(columns)
        self._named = named
        self._positions = self._without_twins()
        self.id = self._index("id", layout.id)
        if layout.id is None:
            self.id = self._positions.get(_INDEX)
        self.label = self._index("label", layout.label)
        if self.id is not None and self.id == self.label:
            raise Unreadable(f"{name}: id={layout.id!r} and label={layout.label!r} are the same column; name two.")
        aside = {self.id, self.label, *(self._index("drop", column) for column in layout.drop)}
        self.numbers = [j for j in range(len(columns)) if j not in aside]

    def _without_twins(self) -> dict[str, int]:
        """The position of every column, refused where two have one name."""
        seen: dict[str, int] = {}
        for j, column in enumerate(self.names):
            if column in seen:
                raise Unreadable(
                    f"{self._file} has two columns named {column!r}, the {seen[column] + 1}. and the {j + 1}.; rename "
                    "one of them, or say --no-header if the first row holds numbers."
                )
            seen[column] = j
        return seen

    def _index(self, parameter: str, column: str | None) -> int | None:
        """Position of a column given by its name, or by its number from 1."""
        if column is None:
            return None
        if self._named and column in self._positions:
            return self._positions[column]
        if column.isdecimal() and 1 <= int(column) <= len(self.names):
            return int(column) - 1
        raise Unreadable(
            f"{self._file} has no column {column!r} ({parameter}); it has {_listed(self.names)}; a number from 1 to "
            f"{len(self.names)} names one too."
        )


def to_table(table: Any, roles: Roles, source: Source, kind: str, named: bool, first_row: int) -> Table:
    """The Arrow table as points x attributes."""
    n = table.num_rows
    chosen = [table.column(j) for j in roles.numbers]
    names = [roles.names[j] if named else None for j in roles.numbers]
    for position, name, column in zip(roles.numbers, names, chosen, strict=True):
        if not _is_numeric(column.type):
            raise _no_numbers(source.name, repr(name) if named else str(position + 1), column, first_row)
    single = bool(chosen) and all(str(column.type) == "float" for column in chosen)
    # One row per attribute, so that a column is written in one piece.
    values = np.empty((len(chosen), n), dtype=np.float32 if single else np.float64)
    for row, column in zip(values, chosen, strict=True):
        row[:] = column.cast("float" if single else "double", safe=False).to_numpy()
    return Table(
        values=np.ascontiguousarray(values.T),
        source=source.name,
        kind=kind,
        ids=_texts(table, roles.id, kind),
        labels=_labels(table, roles, source.name, kind, first_row),
        features=tuple(map(str, names)) if named else None,
        first_row=first_row,
    )


def _is_numeric(type_: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(type_) for test in tests)


def _no_numbers(file: str, column: str, cells: Any, first_row: int) -> Unreadable:
    """The refusal of a column that is not all numbers, with its first cell that is none."""
    row, cell = _first_text(cells)
    if isinstance(cell, bytes):
        return Unreadable(
            f"{file}: row {row + first_row}, column {column} is no valid text in the given encoding; name the right "
            "one (--encoding latin-1, for example)."
        )
    return Unreadable(
        f"{file}: row {row + first_row}, column {column} holds {_short(cell)}, which is no number; correct it, or "
        "say what the column is (--id, --label or --drop)."
    )


def _first_text(cells: Any) -> tuple[int, Any]:
    """Index and content of the first cell that is neither a number nor empty."""
    from pyarrow import ArrowInvalid, ArrowNotImplementedError, types

    if not types.is_string(cells.type):
        row = next((i for i, cell in enumerate(cells.to_pylist()) if cell is not None and not _decodes(cell)), 0)
        return row, cells[row].as_py()
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _emptied(cells.slice(low, middle - low)).cast("double")
            low = middle
        except (ArrowInvalid, ArrowNotImplementedError):
            high = middle
    return low, cells[low].as_py()


def _decodes(cell: Any) -> bool:
    """Whether a cell of bytes is text all the same, and not what made its column one of bytes."""
    try:
        return isinstance(cell, bytes) and cell.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def _emptied(cells: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(cells)
    empty = compute.is_in(trimmed, value_set=pa.array(NULLS))
    return compute.if_else(empty, pa.scalar(None, pa.string()), trimmed)


def _texts(table: Any, index: int | None, kind: str) -> Array | None:
    if index is None:
        return None
    texts = ["" if cell is None else str(cell) for cell in table.column(index).to_pylist()]
    return np.array(texts if kind == "parquet" else [unguarded(text) for text in texts], dtype=object)


def _labels(table: Any, roles: Roles, file: str, kind: str, first_row: int) -> Array | None:
    labels = _texts(table, roles.label, kind)
    if labels is not None and not all(labels):
        row = next(i for i, label in enumerate(labels) if not label)
        raise Unreadable(
            f"{file}: row {row + first_row} has no label in column {roles.names[roles.label or 0]!r}; give every "
            "point one, or leave --label out."
        )
    return labels


def _short(cell: Any) -> str:
    text = repr(cell if isinstance(cell, str) else str(cell))
    return text if len(text) <= 40 else f"{text[:37]}..."


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
