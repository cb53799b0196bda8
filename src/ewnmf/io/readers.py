"""One door for all files: find the reader, turn whatever goes wrong into a sentence that names the file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace

from ewnmf.io import arrays, images, matlab, matrix_market, parquet, text
from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable, opened
from ewnmf.io.table import Table
from ewnmf.naming import unknown_name

__all__ = ["KINDS", "read_table"]

_READERS: dict[str, Callable[[Source, Layout], Table]] = {
    "csv": lambda source, layout: text.read_text(source, layout, "csv"),
    "tsv": lambda source, layout: text.read_text(source, layout, "tsv"),
    "parquet": parquet.read_parquet,
    "npy": arrays.read_npy,
    "npz": arrays.read_npz,
    "mtx": matrix_market.read_mtx,
    "mat": matlab.read_mat,
    "images": images.read_images,
}
KINDS = tuple(_READERS)
_SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".npz": "npz",
    ".mtx": "mtx",
    ".mat": "mat",
}
_ZIPPED = ("csv", "tsv", "mtx")


def read_table(file: str | os.PathLike[str], layout: Layout | None = None) -> Table:
    """Read a table of numbers, one point a row.

    Parameters
    ----------
    file : path-like
        A file, a folder of images, or ``"-"`` for standard input.
    layout : Layout, optional
        What the file does not say itself.

    Returns
    -------
    Table
        The numbers, NaN where a cell is empty, with the names of points and attributes that the file has.
    """
    layout = Layout() if layout is None else layout
    with opened(file) as source:
        kind = _kind(source, layout)
        if source.zipped and kind not in _ZIPPED:
            raise Unreadable(
                f"{source.name} is compressed, which is not read for {kind}; decompress it first (gunzip)."
            )
        table = _guarded(_READERS[kind], source, layout, kind)
        table = replace(table, sha256=table.sha256 or source.sha256())
    return (table.transpose() if layout.transpose else table).check()


def _guarded(reader: Callable[[Source, Layout], Table], source: Source, layout: Layout, kind: str) -> Table:
    """Run a reader; damaged files make libraries raise anything, which becomes a sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return reader(source, layout)
        except (Unreadable, ModuleNotFoundError, PermissionError):
            raise
        except MemoryError as error:
            raise Unreadable(f"{source.name} does not fit into memory; take a part of its rows.") from error
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            reason = reason.replace(str(source.path), source.name)
            raise Unreadable(
                f"{source.name} cannot be read as {kind}: {reason[:200].rstrip('.')}; check the file, or say what it "
                "is with --from."
            ) from error


def _kind(source: Source, layout: Layout) -> str:
    """What the file is: as asked for, else by its suffix."""
    if layout.kind is not None and layout.kind not in KINDS:
        raise unknown_name("kind", layout.kind, KINDS)
    folder = source.path.is_dir()
    if layout.kind is not None and folder != (layout.kind == "images"):
        what = "a folder, which is read as images only" if folder else "a file, and images are read from a folder"
        raise Unreadable(f"{source.name} is {what}; give another file, or leave --from {layout.kind} out.")
    if layout.kind is not None:
        return layout.kind
    if folder:
        return "images"
    if source.name == "standard input":
        return "csv"
    if source.suffix not in _SUFFIXES:
        known = ", ".join(dict.fromkeys(_SUFFIXES))
        raise Unreadable(
            f"{source.name} has a suffix that is not known ({source.suffix or 'none'}); use one of {known}, a folder "
            f"of images, or say what it is with --from ({', '.join(KINDS)})."
        )
    return _SUFFIXES[source.suffix]
