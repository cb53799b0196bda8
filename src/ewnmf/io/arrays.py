"""NumPy, SciPy, MATLAB and Matrix Market files: arrays without names of columns. Nothing is ever unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable, check_memory
from ewnmf.io.table import Table

__all__ = ["read_mat", "read_mtx", "read_npy", "read_npz"]

Array = NDArray[Any]
_SPARSE = {"format", "shape", "data"}
_PART = "take a part of its rows"
_MAT_NUMBERS = (
    "double",
    "single",
    "logical",
    "sparse",
    *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)),
)


def read_npy(source: Source, layout: Layout) -> Table:
    """One array."""
    _refuse_columns(source, layout, "an .npy file")
    try:
        array = np.load(source.path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "object" in str(error).lower():
            raise _pickled(source.name) from error
        raise
    if not isinstance(array, np.ndarray):
        raise Unreadable(f"{source.name} holds several arrays; say --from npz.")
    check_memory(source.name, 8 * array.size, _PART)
    return Table(_numbers(np.array(array), source.name), source.name, "npy")


def read_npz(source: Source, layout: Layout) -> Table:
    """A matrix written by ``scipy.sparse.save_npz``, or one of several arrays."""
    with zipfile.ZipFile(source.path) as archive:
        check_memory(source.name, sum(info.file_size for info in archive.infolist()), _PART)
    with np.load(source.path, allow_pickle=False) as arrays:
        names = set(arrays.files)
        if names >= _SPARSE and layout.variable is None:
            _refuse_columns(source, layout, "a sparse matrix in an .npz file")
            return Table(_numbers(sparse.load_npz(source.path), source.name), source.name, "npz")

        def read(name: str) -> Array:
            try:
                array: Array = arrays[name]
            except ValueError as error:
                if "object" in str(error).lower():
                    raise _pickled(f"{name} of {source.name}") from error
                raise
            return array

        shapes = {name: _npy_shape(source, name) for name in arrays.files}
        return _chosen(source, layout, shapes, read, "npz")


def _npy_shape(source: Source, name: str) -> tuple[int, ...]:
    """The shape of an array of an ``.npz`` file, from its first bytes."""
    with zipfile.ZipFile(source.path) as archive:
        member = f"{name}.npy" if f"{name}.npy" in archive.namelist() else name
        with archive.open(member) as stream:
            version = np.lib.format.read_magic(stream)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape: tuple[int, ...] = header(stream)[0]
            return shape


def read_mat(source: Source, layout: Layout) -> Table:
    """One of the variables of a MATLAB file, up to version 7."""
    from scipy import io as scipy_io

    try:
        known = scipy_io.whosmat(source.path)
    except NotImplementedError as error:
        raise Unreadable(
            f"{source.name} is a MATLAB file of version 7.3 (HDF5), which is not read; in MATLAB, save it with '-v7'."
        ) from error
    shapes = {
        name: tuple(shape) for name, shape, kind in known if kind in _MAT_NUMBERS or name in (layout.id, layout.label)
    }
    check_memory(source.name, source.path.stat().st_size, _PART)

    def read(name: str) -> Any:
        return scipy_io.loadmat(source.path, variable_names=[name])[name]

    return _chosen(source, layout, shapes, read, "mat")


def read_mtx(source: Source, layout: Layout) -> Table:
    """A Matrix Market file; the coordinate form stays sparse."""
    _refuse_columns(source, layout, "a Matrix Market file")
    from scipy import io as scipy_io

    rows, columns, entries, form, field, _ = scipy_io.mminfo(source.path)
    if field == "complex":
        raise Unreadable(f"{source.name} holds complex numbers; give real ones.")
    check_memory(source.name, 16 * entries + 8 * rows if form == "coordinate" else 8 * rows * columns, _PART)
    return Table(_numbers(scipy_io.mmread(source.path), source.name), source.name, "mtx")


def _chosen(
    source: Source,
    layout: Layout,
    shapes: Mapping[str, tuple[int, ...]],
    read: Callable[[str], Any],
    kind: str,
) -> Table:
    """The table among several variables: the one that is named, or the only one that is a table."""
    if layout.drop:
        raise Unreadable(f"drop={layout.drop} names columns, which {source.name} does not name; leave it out.")
    aside = [name for name in (layout.id, layout.label) if name is not None]
    tables = [name for name, shape in shapes.items() if len(shape) == 2 and min(shape) > 1 and name not in aside]
    for name in (*aside, *([] if layout.variable is None else [layout.variable])):
        if name not in shapes:
            raise Unreadable(f"{source.name} has no variable {name!r} of numbers; it has {_described(shapes)}.")
    if layout.variable is None and len(tables) != 1:
        found = "several tables" if tables else "no table (points x attributes)"
        raise Unreadable(f"{source.name} has {found}: {_described(shapes)}; name the one to read with --variable.")
    variable = layout.variable or tables[0]
    check_memory(source.name, 8 * float(np.prod(shapes[variable], dtype=np.float64)), _PART) if kind == "npz" else None
    values = _numbers(read(variable), f"{variable} of {source.name}")
    n = values.shape[0]
    ids, labels = (_texts(read, name, n, source.name, shapes) for name in (layout.id, layout.label))
    return Table(values, source.name, kind, ids=ids, labels=labels)


def _texts(
    read: Callable[[str], Any], name: str | None, n: int, file: str, shapes: Mapping[str, tuple[int, ...]]
) -> Array | None:
    """A variable with one value for every point, as text."""
    if name is None:
        return None
    values = np.asarray(read(name)).ravel()
    if values.size != n:
        raise Unreadable(
            f"{name} of {file} has shape {shapes[name]}, but there are {n} points; give one value for every point."
        )
    whole = values.dtype.kind == "f" and np.all(values == np.floor(values))
    texts = [value.item(0) if isinstance(value, np.ndarray) and value.size == 1 else value for value in values]
    return np.array([str(int(text)) if whole else str(text).rstrip() for text in texts], dtype=object)


def _numbers(values: Any, what: str) -> Any:
    """A table of real numbers, double precision unless it is single."""
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


def _described(shapes: Mapping[str, tuple[int, ...]]) -> str:
    shown = [f"{name} ({' x '.join(map(str, shape))})" for name, shape in list(shapes.items())[:12]]
    return ", ".join([*shown, *(["..."] if len(shapes) > len(shown) else [])]) or "none of numbers"


def _refuse_columns(source: Source, layout: Layout, what: str) -> None:
    for parameter in ("id", "label", "variable"):
        value = getattr(layout, parameter)
        if value is not None:
            raise Unreadable(
                f"{parameter}={value!r} cannot be had from {source.name}: {what} holds one table and no names."
            )
    if layout.drop:
        raise Unreadable(f"drop={layout.drop} names columns, which {source.name} does not name; leave it out.")
