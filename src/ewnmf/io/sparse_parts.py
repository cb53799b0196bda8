"""Sparse matrices from the arrays of a file.

SciPy's compiled code trusts indices: a wrong one reads or writes memory that belongs to others. So every index is
looked at before SciPy sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ewnmf._types import Array
from ewnmf.io.source import Unreadable, check_memory

__all__ = ["check_sparse_memory", "sparse_from_parts"]

Shape = tuple[int, int]
_BYTES_OF_AN_ENTRY = 48
"""Number and two indices, as they are in the file and once more while they are put in order."""
_BYTES_OF_A_LINE = 40
"""Where a row begins (or a column, transposed), in the copies that converting and checking make."""


def check_sparse_memory(name: str, shape: tuple[int, ...], entries: int) -> None:
    """Refuse a matrix that needs more memory than is free; a row or column without entries needs some, too."""
    needed = float(_BYTES_OF_A_LINE) * (sum(shape) + 2) + float(_BYTES_OF_AN_ENTRY) * entries
    check_memory(name, needed, "take a part of its rows")


def sparse_from_parts(read: Callable[[str], Array], name: str) -> Any:
    """The CSR matrix whose parts `read` gives by the names of ``scipy.sparse.save_npz``, refused unless it is sound."""

    def part(key: str) -> Array:
        try:
            return read(key)
        except KeyError as error:
            raise Unreadable(f"{name} is no sparse matrix: it has no array {key!r}; save it anew.") from error

    kind = part("format")
    text = kind.item() if kind.size == 1 else ""
    text = text.decode("ascii", errors="replace") if isinstance(text, bytes) else str(text)
    if text not in _READERS:
        raise Unreadable(f"{name} is a sparse matrix of the form {text[:20]!r}; use one of {', '.join(_READERS)}.")
    try:
        shape, data = _shape(part("shape")), part("data")
        if data.dtype.kind not in "biuf":
            raise ValueError(f"its numbers have type {data.dtype}")
        check_sparse_memory(name, shape, data.size)
        return _READERS[text](part, data, shape)
    except Unreadable:
        raise
    except ValueError as error:
        raise Unreadable(f"{name} is no sound sparse matrix ({text}): {error}; save it anew.") from error


def _shape(values: Array) -> Shape:
    if values.shape != (2,) or values.dtype.kind not in "iu" or values.min() < 0:
        raise ValueError(f"its shape is {values.tolist() if values.size < 9 else 'an array'}")
    return int(values[0]), int(values[1])


def _indices(values: Array, name: str, end: int, size: int | None = None) -> Array:
    """Whole numbers from 0 to `end`, without it; `size` of them."""
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(f"{name} is no row of whole numbers")
    if size is not None and values.size != size:
        raise ValueError(f"{name} has {values.size} entries where {size} are needed")
    if values.size and (values.min() < 0 or values.max() >= end):
        raise ValueError(f"{name} has entries from {values.min()} to {values.max()}, outside of 0 to {end - 1}")
    return values.astype(np.int64)


def _compressed(part: Callable[[str], Array], entries: int, major: int, minor: int) -> tuple[Array, Array]:
    """Indices and pointers of a compressed matrix: `major` slices with indices below `minor`."""
    pointers = _indices(part("indptr"), "indptr", entries + 1, major + 1)
    if pointers[0] != 0 or np.any(np.diff(pointers) < 0):
        raise ValueError("indptr does not rise from 0")
    indices = _indices(part("indices"), "indices", minor, entries)
    return indices[: pointers[-1]], pointers


def _flat(data: Array, dimensions: int = 1) -> Array:
    if data.ndim != dimensions:
        raise ValueError(f"data has {data.ndim} dimensions where {dimensions} are needed")
    return data


def _csr(part: Callable[[str], Array], data: Array, shape: Shape) -> Any:
    indices, pointers = _compressed(part, _flat(data).size, *shape)
    return sparse.csr_matrix((data[: indices.size], indices, pointers), shape=shape)


def _csc(part: Callable[[str], Array], data: Array, shape: Shape) -> Any:
    indices, pointers = _compressed(part, _flat(data).size, *shape[::-1])
    return sparse.csc_matrix((data[: indices.size], indices, pointers), shape=shape).tocsr()


def _bsr(part: Callable[[str], Array], data: Array, shape: Shape) -> Any:
    height, width = _flat(data, 3).shape[1:]
    if min(height, width) < 1 or shape[0] % height or shape[1] % width:
        raise ValueError(f"blocks of {height} x {width} do not fill {shape[0]} x {shape[1]}")
    indices, pointers = _compressed(part, len(data), shape[0] // height, shape[1] // width)
    return sparse.bsr_matrix((data[: indices.size], indices, pointers), shape=shape).tocsr()


def _coo(part: Callable[[str], Array], data: Array, shape: Shape) -> Any:
    row, column = (
        _indices(part(key), key, end, _flat(data).size) for key, end in zip(("row", "col"), shape, strict=True)
    )
    return sparse.coo_matrix((data, (row, column)), shape=shape).tocsr()


def _dia(part: Callable[[str], Array], data: Array, shape: Shape) -> Any:
    """Entry ``j`` of the diagonal at offset ``k`` stands in row ``j - k`` and column ``j``, if there is such a row."""
    offsets = part("offsets")
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or offsets.size != len(_flat(data, 2)):
        raise ValueError("offsets is no row of whole numbers, one for every diagonal")
    if np.unique(offsets).size != offsets.size:
        raise ValueError("offsets names a diagonal twice")
    rows, columns, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [data[:0, :0].ravel()]
    for k, diagonal in zip(offsets.tolist(), data, strict=True):
        j = np.arange(max(0, k), max(0, k, min(shape[0] + k, shape[1], diagonal.size)))
        j = j[diagonal[j] != 0] if j.size else j[:0]
        rows.append(j - k if j.size else j)
        columns.append(j)
        values.append(diagonal[j])
    places = (np.concatenate(rows), np.concatenate(columns))
    return sparse.coo_matrix((np.concatenate(values), places), shape=shape).tocsr()


_READERS = {"csr": _csr, "csc": _csc, "bsr": _bsr, "coo": _coo, "dia": _dia}
