"""Rows of a matrix into a file as they come."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.atomic import atomic_file, atomic_folder
from ewnmf.io.rows import SUFFIXES
from ewnmf.io.source import import_extra

__all__ = ["write_rows"]


def write_rows(
    path: str | os.PathLike[str],
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    parts: Iterable[Array],
    names: Sequence[str],
    height: int,
    force: bool = False,
) -> None:
    """Write consecutive rows, in `parts` of at most `height`, to a file of the kind that its suffix says.

    It appears when it is complete; a folder of that name is replaced only with `force`.
    """
    kind = SUFFIXES.get(Path(path).suffix.lower())
    if kind is None:
        raise ValueError(f"{path} has a suffix that is not written by blocks; use one of {', '.join(SUFFIXES)}.")
    if kind == "zarr":
        import_extra("zarr", "zarr", f"writing {path}", extra="scale")
        import zarr

        with atomic_folder(path, force) as folder:
            chunks = (min(height, shape[0]), shape[1])
            how: dict[str, Any] = {"overwrite": True, "config": {"write_empty_chunks": True}}
            _fill(zarr.create_array(str(folder), shape=shape, dtype=dtype, chunks=chunks, **how), parts)
        return
    with atomic_file(path) as stream:
        if kind == "npy":
            _write_npy(stream, shape, dtype, parts)
        elif kind == "hdf5":
            import_extra("h5py", "h5py", f"writing {path}", extra="scale")
            import h5py

            with h5py.File(stream, "w") as file:
                chunks = (min(height, shape[0]), shape[1])
                _fill(file.create_dataset("X", shape, dtype, chunks=chunks), parts)
        else:
            import_extra("pyarrow", "pyarrow", f"writing {path}")
            _write_parquet(stream, parts, names)


def _fill(array: Any, parts: Iterable[Array]) -> None:
    at = 0
    for part in parts:
        array[at : at + len(part)] = part
        at += len(part)


def _write_npy(stream: IO[bytes], shape: tuple[int, int], dtype: np.dtype[Any], parts: Iterable[Array]) -> None:
    head = {"shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(dtype)}
    np.lib.format.write_array_header_1_0(stream, head)
    for part in parts:
        stream.write(np.ascontiguousarray(part, dtype).data.cast("B"))


def _write_parquet(stream: IO[bytes], parts: Iterable[Array], names: Sequence[str]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    for part in parts:
        table = pa.table({name: np.ascontiguousarray(part[:, j]) for j, name in enumerate(names)})
        writer = writer or parquet.ParquetWriter(stream, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
