"""A table as it was read: points x attributes, with what the file says about rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ewnmf._types import Array

__all__ = ["Table"]


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers (n x m), one point a row, and the names that the file gives.

    Parameters
    ----------
    values : ndarray or CSR matrix of shape (n, m)
        float64, or float32 where the file has that; NaN where a cell is empty.
    source : str
        The file, as the user knows it.
    kind : str
        What the file is.
    ids, labels : ndarray of str of shape (n,), optional
        Names and classes of the points.
    features : tuple of str, optional
        Names of the attributes.
    sha256 : str, default=""
        Of the file.
    first_row : int, default=1
        Number of the first point's row in the file.
    transposed : bool, default=False
        Whether points are columns in the file.
    image_size : tuple of two int, optional
        Width and height, where points are images.
    """

    values: Any
    source: str
    kind: str
    ids: Array | None = None
    labels: Array | None = None
    features: tuple[str, ...] | None = None
    sha256: str = ""
    first_row: int = 1
    transposed: bool = False
    image_size: tuple[int, int] | None = None

    @property
    def missing(self) -> int:
        """How many cells are empty."""
        return int(np.isnan(self._stored()).sum())

    def transpose(self) -> Table:
        """The same with columns as points: names of attributes and points change places."""
        values = self.values.T.tocsr() if sparse.issparse(self.values) else np.ascontiguousarray(self.values.T)
        ids = None if self.features is None else np.array(self.features, dtype=object)
        features = None if self.ids is None else tuple(map(str, self.ids))
        return replace(self, values=values, ids=ids, features=features, transposed=not self.transposed)

    def where(self, i: int, j: int) -> str:
        """Where the file has attribute `j` of point `i`, in words."""
        row, column = (j, i) if self.transposed else (i, j)
        names = self.ids if self.transposed else self.features
        name = repr(str(names[column])) if names is not None else str(column + 1)
        if self.kind == "images":
            return f"image {self.ids[row]!r}" if self.ids is not None else f"image {row + 1}"
        return f"row {row + self.first_row}, column {name}"

    def check(self) -> Table:
        """Itself, refused where it is empty or has infinite cells."""
        n, m = self.values.shape
        if n == 0 or m == 0:
            what = "points" if n == 0 else "attributes"
            raise ValueError(
                f"{self.source} has no {what}: {n} x {m} numbers were found; give at least one row of numbers."
            )
        stored = self._stored()
        bad = self._places(np.isinf(stored))
        if bad is not None:
            raise ValueError(
                f"{self.source}: {self.where(*bad)} is infinite; give a finite number, or leave the cell empty."
            )
        with np.errstate(invalid="ignore"):
            large = self._places(np.abs(stored) > np.sqrt(np.finfo(stored.dtype).max) / 1e4)
        if large is not None:
            raise ValueError(
                f"{self.source}: {self.where(*large)} holds {self.values[large]:.3g}, whose square is too large; give "
                "the table in another unit."
            )
        return self

    def refuse_negative(self, whom: str) -> None:
        """Refuse a table that has negative values, naming the first column that has and how many are there."""
        negative = self._stored() < 0
        first = self._places(negative)
        if first is None:
            return
        i, j = first
        line = self.values[i] if self.transposed else self.values[:, [j]]
        there = int(((line.toarray() if sparse.issparse(line) else line) < 0).sum())
        total = int(negative.sum())
        raise ValueError(
            f"{self.source}: {self.where(i, j)} holds {self.values[i, j]:.6g}, the first of {there} negative "
            f"value{'s' * (there > 1)} in that column and {total} in the table; {whom} needs numbers of at least 0: "
            "correct or shift them, or use --model semi-nmf."
        )

    def _stored(self) -> Array:
        values: Array = self.values.data if sparse.issparse(self.values) else self.values
        return values

    def _places(self, hit: Array) -> tuple[int, int] | None:
        """The first place in the order of the file's rows where `hit` holds, for stored values."""
        if not hit.any():
            return None
        if sparse.issparse(self.values):
            stored = self.values.tocoo()
            rows, columns = stored.row[hit], stored.col[hit]
        else:
            rows, columns = np.nonzero(hit)
        first = np.lexsort((rows, columns) if self.transposed else (columns, rows))[0]
        return int(rows[first]), int(columns[first])
