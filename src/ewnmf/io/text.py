"""CSV and TSV files, read by Arrow: strict about the number of cells, exact about numbers."""

from __future__ import annotations

import csv
import gzip
import io
import re
from typing import Any

from ewnmf.io.columns import NULLS, Roles, to_table
from ewnmf.io.formulas import unguarded
from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable, available_memory, check_memory, import_extra
from ewnmf.io.table import Table

__all__ = ["read_text"]

_DELIMITERS = "\t;|,"
"""In this order: the first one that the first row has, outside quotes."""
_LARGEST_ROW = 64 << 20
_BYTES_OF_A_CELL = 32
"""As Arrow reads it, in pieces, in a table by columns and in one by rows."""
_LARGEST_RATIO = 1032
"""Bytes that one byte of a ``.gz`` file may stand for."""
_PIECE = 1 << 20


def read_text(source: Source, layout: Layout, kind: str) -> Table:
    """A delimited table; empty cells are NaN."""
    import_extra("pyarrow", "pyarrow", f"reading {source.name}")
    size = source.path.stat().st_size
    check_memory(source.name, size, "take a part of its rows, or keep it as Parquet, which is smaller")
    first = _first_line(source, layout)
    delimiter = layout.delimiter or ("\t" if kind == "tsv" else _delimiter(first))
    _check_unpacked(source, delimiter)
    cells = next(csv.reader([first], delimiter=delimiter), [])
    header = _is_header(cells, layout) if layout.header is None else layout.header
    names = cells if header else [f"column {j + 1}" for j in range(len(cells))]
    roles = Roles(source.name, [unguarded(name) for name in names], layout, named=header)
    texts = [names[j] for j in (roles.id, roles.label) if j is not None]
    table = _read(source, layout, delimiter, None if header else names, texts)
    if header:
        roles = Roles(source.name, [unguarded(name) for name in table.column_names], layout)
    return to_table(table, roles, source, kind, named=header, first_row=2 if header else 1)


def _check_unpacked(source: Source, delimiter: str) -> None:
    """Refuse a table whose cells would not fit into memory, however few bytes each of them or their file has."""
    free = available_memory()
    largest = source.path.stat().st_size * (_LARGEST_RATIO if source.zipped else 1)
    if free is None or _BYTES_OF_A_CELL * (largest + 1) <= free:
        return
    size = cells = 0
    with _opened(source) as stream:
        while piece := stream.read(_PIECE):
            size += len(piece)
            cells += piece.count(delimiter.encode()) + piece.count(b"\n")
            if max(size, _BYTES_OF_A_CELL * cells) > free:
                raise Unreadable(
                    f"{source.name} needs more than the {free / 1e9:.3g} GB of memory that are free, for its first "
                    f"{cells} cells alone; take a part of its rows, or of its columns."
                )


def _opened(source: Source) -> Any:
    return gzip.open(source.path, "rb") if source.zipped else source.path.open("rb")


def _first_line(source: Source, layout: Layout) -> str:
    try:
        with _opened(source) as raw, io.TextIOWrapper(raw, encoding=layout.encoding, newline="") as stream:
            for _ in range(1000):
                line: str = stream.readline(_LARGEST_ROW)
                if not line or line.strip():
                    break
    except LookupError as error:
        raise Unreadable(
            f"encoding={layout.encoding!r} is not known; use a name such as 'utf-8' or 'latin-1'."
        ) from error
    except UnicodeError as error:
        raise _wrong_encoding(source, layout) from error
    if "\0" in line:
        raise Unreadable(f"{source.name} has NUL characters in its first row: it is no text, or of another --encoding.")
    if not line.strip():
        raise Unreadable(f"{source.name} has no rows; give a file with a table of numbers.")
    return line.removeprefix("\ufeff").splitlines()[0]


def _wrong_encoding(source: Source, layout: Layout) -> Unreadable:
    return Unreadable(
        f"{source.name} is no text in the encoding {layout.encoding!r}; name the right one (--encoding latin-1, for "
        "example), or say what the file is (--from)."
    )


def _delimiter(line: str) -> str:
    bare = re.sub(r'"[^"]*"', "", line)
    return next((mark for mark in _DELIMITERS if mark in bare), ",")


def _is_header(cells: list[str], layout: Layout) -> bool:
    return not all(cell.strip() in NULLS or _is_number(cell, layout.decimal) for cell in cells)


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _read(source: Source, layout: Layout, delimiter: str, names: list[str] | None, texts: list[str]) -> Any:
    """The Arrow table; the columns `texts` stay text, and the first row names them all unless `names` are given."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    ragged: list[Any] = []

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    block = min(max(source.path.stat().st_size, 1 << 20), _LARGEST_ROW)
    reading = arrow.ReadOptions(use_threads=False, block_size=block, encoding=layout.encoding, column_names=names)
    parsing = arrow.ParseOptions(delimiter=delimiter, invalid_row_handler=refuse, newlines_in_values=True)
    converting = arrow.ConvertOptions(
        null_values=list(NULLS), decimal_point=layout.decimal, column_types=dict.fromkeys(texts, pa.string())
    )
    try:
        with pa.input_stream(str(source.path), compression="gzip" if source.zipped else None) as stream:
            return arrow.read_csv(stream, read_options=reading, parse_options=parsing, convert_options=converting)
    except UnicodeError as error:
        raise _wrong_encoding(source, layout) from error
    except pa.ArrowInvalid as error:
        if ragged:
            raise _ragged(source.name, ragged[0]) from error
        if "UTF8" in str(error):
            raise _wrong_encoding(source, layout) from error
        raise


def _ragged(file: str, row: Any) -> Unreadable:
    text = row.text if len(row.text) <= 40 else f"{row.text[:37]}..."
    return Unreadable(
        f"{file}: row {row.number} has {row.actual_columns} cell{'s' * (row.actual_columns != 1)} where "
        f"{row.expected_columns} are expected ({text!r}); correct the row, or name the --delimiter."
    )
