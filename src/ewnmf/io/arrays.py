"""NumPy and SciPy files: arrays without names of columns. Nothing is ever unpickled."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ewnmf._types import Array
from ewnmf.io.layout import Layout
from ewnmf.io.npy import Announced, announced, read_array
from ewnmf.io.source import Source, Unreadable, check_memory
from ewnmf.io.sparse_parts import sparse_from_parts
from ewnmf.io.table import Table
from ewnmf.io.variables import choose, one_per_point

__all__ = ["read_npy", "read_npz", "read_sparse", "real_numbers", "refuse_names"]

_SPARSE = {"format", "shape", "data"}
_PART = "take a part of its rows"


def read_npy(source: Source, layout: Layout) -> Table:
    """One array."""
    refuse_names(source, layout, "an .npy file")
    with source.path.open("rb") as stream:
        magic = stream.read(len(np.lib.format.MAGIC_PREFIX))
    if magic != np.lib.format.MAGIC_PREFIX:
        zipped = ": it holds several arrays; say --from npz" if magic.startswith(b"PK") else ", or a damaged one"
        raise Unreadable(f"{source.name} is no .npy file{zipped}.")
    try:
        array = np.load(source.path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "object" in str(error).lower():
            raise _pickled(source.name) from error
        raise
    check_memory(source.name, array.nbytes + 8.0 * array.size, _PART)
    return Table(real_numbers(np.array(array), source.name), source.name, "npy")


def read_npz(source: Source, layout: Layout) -> Table:
    """A matrix written by ``scipy.sparse.save_npz``, or one of several arrays."""
    if not zipfile.is_zipfile(source.path):
        raise Unreadable(f"{source.name} is no .npz file, or a damaged one.")
    with zipfile.ZipFile(source.path) as archive:
        check_memory(source.name, sum(info.file_size for info in archive.infolist()), _PART)
        return _table(_Members(archive, source.name), source, layout)


def _table(members: _Members, source: Source, layout: Layout) -> Table:
    if set(members.infos) >= _SPARSE and layout.variable is None:
        refuse_names(source, layout, "a sparse matrix in an .npz file")
        matrix = sparse_from_parts(members.read, source.name)
        return Table(real_numbers(matrix, source.name), source.name, "npz")
    shapes = {name: members.announced(name).shape for name in members.infos}
    variable = choose(source, layout, shapes)
    head = members.announced(variable)
    check_memory(source.name, head.nbytes + 8.0 * math.prod(head.shape), _PART)
    values = real_numbers(members.read(variable), f"{variable} of {source.name}")
    ids, labels = (one_per_point(members.read, name, len(values), source) for name in (layout.id, layout.label))
    return Table(values, source.name, "npz", ids=ids, labels=labels)


def read_sparse(path: Path, name: str) -> Any:
    """The matrix that ``scipy.sparse.save_npz`` wrote, which the user calls `name`."""
    with zipfile.ZipFile(path) as archive:
        return sparse_from_parts(_Members(archive, name).read, name)


class _Members:
    """The arrays of an ``.npz`` file."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive = archive
        self._file = name
        self.infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

    def announced(self, name: str) -> Announced:
        """What an array says that it is."""
        with self._archive.open(self.infos[name]) as stream:
            return announced(stream)

    def read(self, name: str) -> Array:
        """An array; KeyError where there is none of that name."""
        info = self.infos[name]
        with self._archive.open(info) as stream:
            return read_array(stream, info.file_size, f"{name} of {self._file}")


def real_numbers(values: Any, what: str) -> Any:
    """`values` as a table of real numbers, double precision unless it is single."""
    thin = sparse.issparse(values)
    if not thin:
        values = np.asarray(values)
    if values.dtype.kind == "O":
        raise _pickled(what)
    if values.dtype.kind not in "biuf":
        raise Unreadable(f"{what} has type {values.dtype}; give real numbers.")
    if values.ndim != 2:
        raise Unreadable(
            f"{what} has shape {values.shape}; give a table of points x attributes, such as the array after "
            "reshape(len(array), -1)."
        )
    dtype = np.float32 if values.dtype == np.float32 else np.float64
    if not thin:
        return np.ascontiguousarray(values, dtype=dtype)
    matrix = sparse.csr_matrix(values).astype(dtype)
    matrix.check_format(full_check=True)
    matrix.sum_duplicates()
    return matrix


def _pickled(what: str) -> Unreadable:
    return Unreadable(
        f"{what} holds Python objects, which could run any program when read; save it as an array of numbers."
    )


def refuse_names(source: Source, layout: Layout, what: str) -> None:
    """Refuse options that name parts of a file that has none."""
    for parameter in ("id", "label", "variable"):
        value = getattr(layout, parameter)
        if value is not None:
            raise Unreadable(
                f"{parameter}={value!r} cannot be had from {source.name}: {what} holds one table and no names."
            )
    if layout.drop:
        raise Unreadable(f"drop={layout.drop} names columns, which {source.name} does not name; leave it out.")
