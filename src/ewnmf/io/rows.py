"""Rows of a matrix that stays in its file: some are read at a time, from NumPy's format, HDF5, Zarr or Parquet."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.npy import announced
from ewnmf.io.source import Unreadable, import_extra

__all__ = ["SUFFIXES", "ArrayRows", "Rows", "open_rows", "rows_of"]

SUFFIXES = {
    ".npy": "npy",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
    ".parquet": "parquet",
    ".pq": "parquet",
}


class Rows(ABC):
    """A matrix (n x m) of numbers of which rows can be read."""

    name: str
    """What messages call it."""
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    features: tuple[str, ...] | None = None

    @abstractmethod
    def read(self, start: int, stop: int) -> Array:
        """The rows from `start` to `stop`, in an array of their own."""

    def _changed(self, n_rows: int) -> Unreadable:
        return Unreadable(f"it has {n_rows} rows now, and had {self.shape[0]} when it was opened")

    def _check(self, shape: Sequence[int], dtype: Any) -> None:
        """Refuse what is no matrix of numbers."""
        self.dtype = np.dtype(dtype)
        if len(shape) != 2:
            raise Unreadable(
                f"{self.name} has {len(shape)} dimension(s), and a matrix has two: one row for every point."
            )
        if self.dtype.kind not in "fiub":
            raise Unreadable(f"{self.name} is of type {self.dtype}, and numbers are needed.")
        self.shape = int(shape[0]), int(shape[1])
        if 0 in self.shape:
            raise Unreadable(f"{self.name} is empty: it has {self.shape[0]} rows and {self.shape[1]} columns.")


class NpyRows(Rows):
    """A ``.npy`` file in C order, read by its bytes, so that none of it stays in the memory of this process."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = str(path), path.resolve()
        with path.open("rb") as stream:
            head = announced(stream)
            self._offset = stream.tell()
            size = os.fstat(stream.fileno()).st_size
        self._check(head.shape, head.dtype)
        self._row = self.shape[1] * self.dtype.itemsize
        if head.nbytes != size - self._offset:
            raise Unreadable(
                f"{self.name} announces {self.shape[0]} x {self.shape[1]} numbers, {head.nbytes} bytes, but has "
                f"{size - self._offset}; it is damaged."
            )

    def read(self, start: int, stop: int) -> Array:
        """The rows from `start` to `stop`."""
        part = np.empty((stop - start, self.shape[1]), self.dtype)
        left = part.data.cast("B")
        with self._path.open("rb", buffering=0) as stream:
            stream.seek(self._offset + start * self._row)
            while left.nbytes:
                count = stream.readinto(left)
                if not count:
                    raise Unreadable(f"it ends before row {stop}, and was longer when it was opened")
                left = left[count:]
        return part


class ArrayRows(Rows):
    """An array that NumPy has mapped into memory, or one that can be cut as an array."""

    def __init__(self, array: Any, name: str) -> None:
        self.name, self._array = name, array
        self._check(array.shape, array.dtype)

    def read(self, start: int, stop: int) -> Array:
        """The rows from `start` to `stop`."""
        return np.array(self._array[start:stop])


class PiecedRows(Rows):
    """A matrix that is stored in pieces of whole rows, of which each is read, or unpacked, at once."""

    def _cut(self, edges: Sequence[int]) -> None:
        self._edges = np.asarray(edges, dtype=np.int64)
        self._kept: tuple[int, Array] | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None, "_kept": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    def read(self, start: int, stop: int) -> Array:
        """The rows from `start` to `stop`; the last piece is kept, so that none is read twice in a row."""
        first, last = np.searchsorted(self._edges, (start, stop - 1), "right") - 1
        part = np.empty((stop - start, self.shape[1]), self.dtype)
        with self._lock:
            for number in range(int(first), int(last) + 1):
                at, end = (int(edge) for edge in self._edges[number : number + 2])
                low, high = max(at, start), min(end, stop)
                part[low - start : high - start] = self._piece(number)[low - at : high - at]
        return part

    def _piece(self, number: int) -> Array:
        if self._kept is None or self._kept[0] != number:
            self._kept = None  # two of them need not fit into memory
            self._kept = number, self._unpack(number)
        return self._kept[1]

    @abstractmethod
    def _unpack(self, number: int) -> Array:
        """The rows of that piece."""


class ChunkedRows(PiecedRows):
    """A Zarr array or a dataset of HDF5."""

    def __init__(self, array: Any, name: str, reopen: _Reopen | None = None) -> None:
        self.name, self._array, self._reopen = name, array, reopen
        self._check(array.shape, array.dtype)
        height = (array.chunks or (max(1, (1 << 20) // self.shape[1]),))[0]
        self._cut([*range(0, self.shape[0], height), self.shape[0]])

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return state if self._reopen is None else {**state, "_array": None}

    def _unpack(self, number: int) -> Array:
        if self._array is None and self._reopen is not None:
            self._array = self._reopen()
        if self._reopen is not None and not self._reopen.there():
            raise Unreadable("it is gone")
        if tuple(self._array.shape) != self.shape:
            raise self._changed(self._array.shape[0])
        start, stop = (int(edge) for edge in self._edges[number : number + 2])
        self._look_for(start, stop)
        return np.asarray(self._array[start:stop])

    def _look_for(self, start: int, stop: int) -> None:
        """Refuse rows that are not there."""


class ZarrRows(ChunkedRows):
    """A Zarr array. It reads a chunk that is not there as its fill value; here it is refused, unless `fill`."""

    def __init__(self, array: Any, name: str, reopen: _Reopen | None = None, fill: bool = False) -> None:
        super().__init__(array, name, reopen)
        self._fill = fill

    def _look_for(self, start: int, stop: int) -> None:
        from zarr.core.sync import sync

        array = self._array
        height, width = array.shards or array.chunks
        for i in range(start // height, -(-stop // height)):
            for j in range(-(-self.shape[1] // width)):
                key = array.metadata.encode_chunk_key((i, j))
                if not (self._fill or sync((array.store_path / key).exists())):
                    raise Unreadable(
                        f"its chunk {key} was never written, or is gone, and Zarr would read its fill value there "
                        "(open_blocks(..., fill_chunks=True) does)"
                    )


class ParquetRows(PiecedRows):
    """The columns of a Parquet file, a group of rows at a time."""

    def __init__(self, path: Path, columns: Sequence[str] | None) -> None:
        self.name, self._path = str(path), path.resolve()
        import_extra("pyarrow", "pyarrow", f"reading {path}")
        from pyarrow import parquet

        with parquet.ParquetFile(self._path) as file:
            schema, meta = file.schema_arrow, file.metadata
            groups = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        names = list(schema.names) if columns is None else list(columns)
        for name in names:
            if name not in schema.names:
                raise Unreadable(f"{path} has no column {name!r}; it has {', '.join(schema.names[:10])}.")
        kinds = [schema.field(name).type for name in names]
        for name, kind in zip(names, kinds, strict=True):
            if not str(kind).startswith(("int", "uint", "float", "double", "halffloat", "bool")):
                raise Unreadable(
                    f"{path} has the column {name!r} of type {kind}, and numbers are needed; name those to read with "
                    "columns=[...]."
                )
        single = bool(kinds) and all(str(kind) == "float" for kind in kinds)
        self._check((sum(groups), len(names)), np.float32 if single else np.float64)
        self.features = tuple(names)
        self._cut(np.cumsum([0, *groups]).tolist())

    def _unpack(self, number: int) -> Array:
        from pyarrow import parquet

        with parquet.ParquetFile(self._path) as file:
            if file.metadata.num_rows != self.shape[0]:
                raise self._changed(file.metadata.num_rows)
            assert self.features is not None
            table = file.read_row_group(number, columns=list(self.features), use_threads=False)
        part = np.empty((table.num_rows, self.shape[1]), self.dtype)
        for j, name in enumerate(self.features):
            part[:, j] = table.column(name).to_numpy()
        return part


def open_rows(
    path: str | os.PathLike[str], name: str | None, columns: Sequence[str] | None, fill_chunks: bool = False
) -> Rows:
    """The rows of a file, or of a folder in Zarr's format; `name` is that of an array within it."""
    text = os.fspath(path)
    kind = SUFFIXES.get(Path(text.rstrip("/")).suffix.lower())
    if kind is None:
        raise Unreadable(f"{text} has a suffix that is not read by blocks; use one of {', '.join(SUFFIXES)}.")
    if kind != "zarr" and not os.path.exists(text):
        raise FileNotFoundError(f"{text} does not exist.")
    if columns is not None and kind != "parquet":
        raise Unreadable(f"columns was given, but {text} has no columns by name; leave it out.")
    if fill_chunks and kind != "zarr":
        raise Unreadable(f"fill_chunks was given, but {text} is no Zarr array; leave it out.")
    if name is not None and kind in ("npy", "parquet"):
        raise Unreadable(f"name={name!r} was given, but {text} holds one matrix; leave it out.")
    try:
        return _open_zarr(text, name, fill_chunks) if kind == "zarr" else _OPENERS[kind](text, name, columns)
    except (Unreadable, ModuleNotFoundError, PermissionError, FileNotFoundError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise Unreadable(f"{text} cannot be read as {kind}: {reason[:200].rstrip('.')}; check the file.") from error


def rows_of(array: Any) -> Rows | None:
    """The rows of an array that lives in a file: one mapped by NumPy, of Zarr or of HDF5; None for any other."""
    library = type(array).__module__.partition(".")[0]
    if isinstance(array, np.memmap):
        return ArrayRows(array, str(getattr(array, "filename", None) or "X"))
    if library == "zarr" and hasattr(array, "chunks"):
        return ZarrRows(array, "X (Zarr)")
    if library == "h5py" and hasattr(array, "chunks"):
        return ChunkedRows(array, f"{array.file.filename}::{array.name}")
    return None


def _open_npy(text: str, name: str | None, columns: Sequence[str] | None) -> Rows:
    with open(text, "rb") as stream:
        fortran = announced(stream).fortran
    return ArrayRows(np.load(text, mmap_mode="r"), text) if fortran else NpyRows(Path(text))


def _open_parquet(text: str, name: str | None, columns: Sequence[str] | None) -> Rows:
    return ParquetRows(Path(text), columns)


class _Reopen:
    """How to find an array again, in another process."""

    def __init__(self, kind: str, text: str, name: str | None) -> None:
        self._kind, self._text, self._name = kind, text, name

    def __call__(self) -> Any:
        return _FINDERS[self._kind](self._text, self._name)

    def there(self) -> bool:
        """Whether the file or folder, where it is one, is still there: Zarr has zeros for chunks that are not."""
        return "://" in self._text or os.path.exists(self._text)


def _open_hdf5(text: str, name: str | None, columns: Sequence[str] | None) -> Rows:
    import_extra("h5py", "h5py", f"reading {text}", extra="scale")
    reopen = _Reopen("hdf5", text, name)
    return ChunkedRows(reopen(), text if name is None else f"{text}::{name}", reopen)


def _open_zarr(text: str, name: str | None, fill_chunks: bool) -> Rows:
    import_extra("zarr", "zarr", f"reading {text}", extra="scale")
    reopen = _Reopen("zarr", text, name)
    return ZarrRows(reopen(), text if name is None else f"{text}::{name}", reopen, fill_chunks)


def _find_hdf5(text: str, name: str | None) -> Any:
    import h5py

    file = h5py.File(text, "r")
    matrices: list[str] = []
    file.visititems(lambda at, node: matrices.append(at) if getattr(node, "ndim", 0) == 2 else None)
    return _named(file, matrices, text, name)


def _find_zarr(text: str, name: str | None) -> Any:
    import zarr

    found = zarr.open(text, mode="r")
    if not hasattr(found, "arrays"):
        if name is not None:
            raise Unreadable(f"name={name!r} was given, but {text} holds one matrix; leave it out.")
        return found
    return _named(found, [at for at, array in found.arrays() if array.ndim == 2], text, name)


def _named(group: Any, matrices: list[str], text: str, name: str | None) -> Any:
    """The matrix of that name, or the only one."""
    if name is None and len(matrices) != 1:
        raise Unreadable(
            f"{text} holds {len(matrices)} matrices ({', '.join(matrices[:5])}); say which with name=..."
            if matrices
            else f"{text} holds no matrix (an array of two dimensions)."
        )
    wanted = matrices[0] if name is None else name
    if wanted not in group or not hasattr(group[wanted], "chunks"):
        raise Unreadable(f"{text} holds no matrix named {wanted!r}; it has {', '.join(matrices[:5]) or 'none'}.")
    return group[wanted]


_FINDERS: dict[str, Callable[[str, str | None], Any]] = {"hdf5": _find_hdf5, "zarr": _find_zarr}
_OPENERS: dict[str, Callable[..., Rows]] = {
    "npy": _open_npy,
    "parquet": _open_parquet,
    "hdf5": _open_hdf5,
}
