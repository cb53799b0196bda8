"""Tables in the form that they were read in: text, Parquet, arrays, Matrix Market, MATLAB, images."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import IO

import numpy as np

from ewnmf._types import Array
from ewnmf.io.layout import Layout
from ewnmf.io.source import import_extra
from ewnmf.io.table import Table
from ewnmf.io.writers import Result, result_kind, write_result

__all__ = ["Depth", "image_names", "table_kind", "write_images", "write_pixels", "write_table"]

_ARRAYS = {".npz": "npz", ".mtx": "mtx", ".mat": "mat"}
_VARIABLE = "X"
_FRACTIONS = (".tif", ".tiff")
_WORDS = (".png", *_FRACTIONS)
_BYTES = (".bmp", ".pgm", *_WORDS)
"""Images whose files keep every value."""
_FORMATS = {".bmp": "BMP", ".pgm": "PPM", ".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF"}
_DIGITS = 17


def table_kind(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """What a table's file is by its name, and whether it is compressed."""
    kind = _ARRAYS.get(Path(path).suffix.lower())
    return result_kind(path) if kind is None else (kind, False)


def write_table(stream: IO[bytes], table: Table, kind: str, zipped: bool, layout: Layout) -> None:
    """Write a table into an open file, names and classes of the points included; points are where `layout` had them.

    Parameters
    ----------
    stream : binary stream
        Where to.
    table : Table
        What, one point a row.
    kind : {"csv", "tsv", "parquet", "npy", "npz", "mtx", "mat"}
        How.
    zipped : bool
        Whether to compress it (gzip).
    layout : Layout
        How the table was read.
    """
    if layout.transpose:
        table = table.transpose()
    if kind in ("csv", "tsv", "parquet", "npy"):
        write_result(stream, _result(table, layout), kind, zipped)
        return
    values = np.ascontiguousarray(table.values)
    if kind == "mtx":
        from scipy import io

        io.mmwrite(stream, values, precision=_DIGITS)
        return
    texts = {layout.id: table.ids, layout.label: table.labels}
    named = {
        name: np.array(list(map(str, text))) for name, text in texts.items() if name is not None and text is not None
    }
    arrays = {layout.variable or _VARIABLE: values, **named}
    if kind == "npz":
        np.savez(stream, **arrays)  # type: ignore[arg-type]
    else:
        from scipy import io

        io.savemat(stream, arrays)


def _result(table: Table, layout: Layout) -> Result:
    def named(column: str | None, otherwise: str) -> str:
        return otherwise if column is None or column.isdecimal() else column

    texts = {named(layout.id, "id"): table.ids, named(layout.label, "label"): table.labels}
    features = table.features or tuple(f"x{j}" for j in range(table.values.shape[1]))
    return Result(table.values, features, {name: text for name, text in texts.items() if text is not None})


class Depth(Enum):
    """What the numbers of an image need."""

    BYTE = "uint8"
    WORD = "uint16"
    FRACTION = "float32"

    @classmethod
    def of(cls, table: Table) -> Depth:
        """By the values of all images of a table."""
        values = table.values
        if values.min() < 0 or values.max() > np.iinfo(np.uint16).max or not (values == np.rint(values)).all():
            return cls.FRACTION
        return cls.BYTE if values.max() <= np.iinfo(np.uint8).max else cls.WORD

    def holds(self, suffix: str) -> bool:
        """Whether files of that suffix keep every value."""
        exact = {Depth.BYTE: _BYTES, Depth.WORD: _WORDS, Depth.FRACTION: _FRACTIONS}[self]
        return suffix.lower() in exact


def image_names(table: Table, depth: Depth) -> list[str]:
    """Under which names images of a table are written: their own, or longer ones where their format loses values."""
    assert table.ids is not None
    more = ".tif" if depth is Depth.FRACTION else ".png"
    return [name if depth.holds(Path(name).suffix) else f"{name}{more}" for name in map(str, table.ids)]


def write_images(folder: Path, table: Table, depth: Depth) -> list[str]:
    """Write the points of a table as grey images into a folder, and folders below it; their names."""
    assert table.image_size is not None
    width, height = table.image_size
    names = image_names(table, depth)
    for name, values in zip(names, table.values, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as stream:
            write_pixels(stream, values.reshape(height, width), Path(name).suffix, depth)
    return names


def write_pixels(stream: IO[bytes], pixels: Array, suffix: str, depth: Depth) -> None:
    """Write grey values (height x width) as an image, by the suffix of its name."""
    import_extra("PIL", "Pillow", "writing images")
    from PIL import Image

    if depth is not Depth.FRACTION:
        pixels = np.clip(np.rint(pixels), 0, np.iinfo(depth.value).max)
    Image.fromarray(pixels.astype(depth.value)).save(stream, format=_FORMATS[suffix.lower()])
