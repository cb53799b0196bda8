"""Matrix Market files.

SciPy's own reader takes ``1,5`` for 1 and brings the process down at some malformed numbers, so the entries are read by
NumPy, which is strict.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from scipy import sparse

from ewnmf._types import Array
from ewnmf.io.arrays import real_numbers, refuse_names
from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable, check_memory
from ewnmf.io.sparse_parts import check_sparse_memory
from ewnmf.io.table import Table

__all__ = ["read_mtx"]

_LONGEST_LINE = 1 << 20
_LARGEST_SIDE = 1 << 53
"""Up to here a number of double precision tells one place from the next."""


def read_mtx(source: Source, layout: Layout) -> Table:
    """A matrix; the coordinate form stays sparse."""
    from scipy import io

    refuse_names(source, layout, "a Matrix Market file")
    with _opened(source) as stream:
        _skip_header(stream, source)
    rows, columns, entries, form, field, symmetry = io.mminfo(source.path)
    if field == "complex":
        raise Unreadable(f"{source.name} holds complex numbers; give real ones.")
    if symmetry != "general" and (form == "array" or rows != columns):
        raise Unreadable(f"{source.name} is {symmetry} and {rows} x {columns}, {form}; write it as a general matrix.")
    lines = entries if form == "coordinate" else rows * columns
    width = 1 if form == "array" else 2 if field == "pattern" else 3
    if form == "array":
        check_memory(source.name, 16.0 * lines, "take a part of its rows")
    else:
        check_sparse_memory(source.name, (rows, columns), lines * (1 if symmetry == "general" else 2))
    body = _body(source, lines, width)
    if form == "array":
        matrix = body.reshape(columns, rows).T
    else:
        matrix = _coordinates(body, (rows, columns), symmetry, source.name)
    return Table(real_numbers(matrix, source.name), source.name, "mtx")


def _body(source: Source, lines: int, width: int) -> Array:
    """What follows the line with the sizes: `lines` rows of `width` numbers."""
    with _opened(source) as stream:
        _skip_header(stream, source)
        try:
            body: Array = np.loadtxt(
                _lines(stream, source), dtype=np.float64, comments=None, ndmin=2, max_rows=lines + 1, encoding="latin-1"
            )
        except ValueError as error:
            raise _no_numbers(source, width) or error from error
    if body.shape[0] != lines or (lines and body.shape[1] != width):
        more = "more than " if body.shape[0] > lines else ""
        raise Unreadable(
            f"{source.name} has {more}{min(body.shape[0], lines)} rows of {body.shape[1]} numbers, but {lines} rows of "
            f"{width} are announced; it is cut short or damaged."
        )
    return body.reshape(lines, width)


def _opened(source: Source) -> Any:
    return gzip.open(source.path, "rb") if source.zipped else source.path.open("rb")


def _skip_header(stream: IO[bytes], source: Source) -> int:
    """Read on to the entries; the answer is the number of rows before them."""
    rows = 1
    for line in _lines(stream, source):
        if not (line.startswith(b"%") or line.isspace()):
            break
        rows += 1
    return rows


def _lines(stream: IO[bytes], source: Source) -> Iterator[bytes]:
    """The rows of the file, none of them larger than a row of numbers can be."""
    while line := stream.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise Unreadable(f"{source.name} has a row of more than {_LONGEST_LINE} characters; it is damaged.")
        yield line


def _no_numbers(source: Source, width: int) -> Unreadable | None:
    """The refusal of the first row that does not consist of `width` numbers."""
    with _opened(source) as stream:
        first = _skip_header(stream, source) + 1
        for number, line in enumerate(_lines(stream, source), first):
            cells = line.split()
            try:
                if len([float(cell) for cell in cells]) in (0, width):
                    continue
            except ValueError:
                pass
            text = line.decode("latin-1").strip()
            return Unreadable(f"{source.name}: row {number} is {text[:40]!r}, no row of {width} numbers; correct it.")
    return None


def _coordinates(body: Array, shape: tuple[int, int], symmetry: str, name: str) -> Any:
    """The sparse matrix of entries ``row column [value]``, counted from 1."""
    if max(shape) > _LARGEST_SIDE:
        raise Unreadable(f"{name} is {shape[0]} x {shape[1]}, and no side may exceed {_LARGEST_SIDE}.")
    places = body[:, :2]
    outside = ~np.all((places >= 1) & (places <= shape) & (places == np.floor(places)), axis=1)
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise Unreadable(f"{name}: entry {at + 1} stands at {places[at].tolist()}, outside of {shape[0]} x {shape[1]}.")
    i, j = (places - 1).astype(np.int64).T
    values = body[:, 2] if body.shape[1] == 3 else np.ones(len(body))
    if symmetry != "general":
        mirrored = i != j
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        i, j = np.concatenate([i, j[mirrored]]), np.concatenate([j, i[mirrored]])
        values = np.concatenate([values, sign * values[mirrored]])
    return sparse.coo_matrix((values, (i, j)), shape=shape)
