"""Results as files: tables with names (CSV, TSV, Parquet) or bare arrays (``.npy``)."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.formulas import guarded
from ewnmf.io.source import import_extra

__all__ = ["RESULT_KINDS", "Result", "result_kind", "write_result"]

RESULT_KINDS = ("csv", "tsv", "parquet", "npy")
_SUFFIXES = {".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_SUFFIXES[".npy"] = "npy"


@dataclass(frozen=True, eq=False)
class Result:
    """Numbers (n x m) with a name for every column, and leading columns of text.

    Parameters
    ----------
    values : ndarray or Blocks of shape (n, m)
        The numbers; `write_result` takes arrays.
    columns : sequence of str
        Their m names.
    texts : mapping of str to ndarray of shape (n,), default={}
        What stands before them in a table; an ``.npy`` file leaves it out.
    """

    values: Any
    columns: tuple[str, ...]
    texts: Mapping[str, Array] = field(default_factory=dict)


def result_kind(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """What a result's file is by its name, and whether it is compressed."""
    file = Path(path)
    zipped = file.suffix.lower() == ".gz"
    suffix = (Path(file.stem) if zipped else file).suffix.lower()
    kind = _SUFFIXES.get(suffix)
    if kind is None or (zipped and kind not in ("csv", "tsv")):
        raise ValueError(
            f"{file} has a suffix that no result is written as ({''.join(file.suffixes[-2:]) or 'none'}); use one of "
            f"{', '.join(_SUFFIXES)}, or .csv.gz."
        )
    return kind, zipped


def write_result(stream: IO[bytes], result: Result, kind: str, zipped: bool = False) -> None:
    """Write the result into an open file.

    Parameters
    ----------
    stream : binary stream
        Where to.
    result : Result
        What.
    kind : {"csv", "tsv", "parquet", "npy"}
        How.
    zipped : bool, default=False
        Whether to compress it (gzip).
    """
    with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) if zipped else nullcontext(stream) as target:
        if kind == "npy":
            np.lib.format.write_array(_Plain(target), np.ascontiguousarray(result.values), allow_pickle=False)
        else:
            _write_table(target, result, kind)


class _Plain:
    """A stream that NumPy must `write` to, which tells why it fails; what NumPy itself writes into a file does not."""

    def __init__(self, stream: Any) -> None:
        self.write = stream.write


def _write_table(stream: Any, result: Result, kind: str) -> None:
    import_extra("pyarrow", "pyarrow", f"writing {kind}")
    import pyarrow as pa
    from pyarrow import csv, parquet

    form = str if kind == "parquet" else guarded
    texts = [pa.array([form(str(text)) for text in column], pa.string()) for column in result.texts.values()]
    numbers = [pa.array(np.ascontiguousarray(column)) for column in result.values.T]
    table = pa.Table.from_arrays([*texts, *numbers], names=[form(name) for name in (*result.texts, *result.columns)])
    if kind == "parquet":
        parquet.write_table(table, stream)
    else:
        csv.write_csv(table, stream, csv.WriteOptions(delimiter="\t" if kind == "tsv" else ","))
