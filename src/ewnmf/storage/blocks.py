"""A matrix that is never in memory as a whole: rows are read, or computed, a block at a time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.row_writers import write_rows
from ewnmf.io.rows import Rows, open_rows, rows_of
from ewnmf.storage.dense import block_height
from ewnmf.storage.derived import Chosen, Made, Refused, Times
from ewnmf.storage.lazy import Lazy, Place

__all__ = ["Blocks", "Columns", "blocks_of", "open_blocks"]

_MAPPED = 1 << 25
"""Arrays mapped by NumPy of at least so many bytes are read by blocks; smaller ones are as good as in memory."""


class Blocks(Lazy):
    """A matrix (n x m) whose rows are read from a file, or computed, a block at a time.

    `ewnmf.open_blocks` makes it of a file, and the methods of a fitted estimator make others of it. Estimators are
    fitted on it as on an array, with the same result to the bit, and hold a few blocks of it in memory.

    Parameters
    ----------
    rows : Rows
        Where the rows come from.
    height : int, optional
        Rows in a block; by default of about two million entries.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : numpy.dtype
        float32 where the rows are, else float64.
    n_blocks : int
        How many blocks iterating gives.

    See Also
    --------
    open_blocks : Blocks of a file.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> import ewnmf
    >>> path = os.path.join(tempfile.mkdtemp(), "X.npy")
    >>> np.save(path, np.random.default_rng(0).random((1000, 20)))
    >>> X = ewnmf.open_blocks(path)
    >>> X.shape, X[10:12].shape
    ((1000, 20), (2, 20))
    >>> codes = ewnmf.NMF(3, random_state=0).fit(X).transform(X)
    >>> codes.shape
    (1000, 3)
    """

    ndim = 2

    def __init__(self, rows: Rows, height: int | None = None) -> None:
        self._rows, self.name = rows, rows.name
        self.shape = rows.shape
        self.height = height or block_height(rows.shape[1])
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)

    @property
    def features(self) -> tuple[str, ...] | None:
        """The names of the columns, where the file has them."""
        return self._rows.features

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix, if it were in memory."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return -(-self.shape[0] // self.height)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Blocks({self.shape[0]} x {self.shape[1]}, {self.dtype}, {self.n_blocks} of them, of {self.name})"

    def __iter__(self) -> Iterator[Array]:
        for _, part in self.stream(self.cuts()):
            yield part

    def cuts(self) -> list[slice]:
        """The rows of every block.

        Returns
        -------
        list of slice
            They follow each other.
        """
        n, height = self.shape[0], self.height
        return [slice(at, min(at + height, n)) for at in range(0, n, height)]

    def stream(self, cuts: Sequence[slice]) -> Iterator[tuple[slice, Array]]:
        """The rows of consecutive cuts, each in an array; the next one is read while somebody works on this one.

        Parameters
        ----------
        cuts : sequence of slice
            Which rows, in the order of the file.

        Yields
        ------
        tuple of slice and ndarray
            A cut and its rows.
        """
        with ThreadPoolExecutor(1, thread_name_prefix="ewnmf-read") as reader:
            ahead = deque((cut, reader.submit(self._read, cut.start, cut.stop)) for cut in cuts[:2])
            for following in [*cuts[2:], None, None]:
                if not ahead:
                    return
                cut, part = ahead.popleft()
                rows = part.result()
                if following is not None:
                    ahead.append((following, reader.submit(self._read, following.start, following.stop)))
                yield cut, rows
                del rows, part

    def _read(self, start: int, stop: int) -> Array:
        if start >= stop:
            return np.empty((0, self.shape[1]), self.dtype)
        try:
            part = self._rows.read(start, stop)
        except (MemoryError, Refused):
            raise
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise Refused(
                f"{self.name} could not be read at rows {start} to {stop - 1}: {reason[:200].rstrip('.')}; see whether "
                "it is still there and whole."
            ) from error
        return np.ascontiguousarray(part, dtype=self.dtype)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            return self._read(start, max(start, stop)) if step == 1 else self[np.arange(start, stop, step)]
        numbers = np.asarray(rows)
        if numbers.dtype == bool:
            return self if numbers.all() else Blocks(Chosen(self, np.flatnonzero(numbers)), self.height)
        return Chosen(self, numbers.ravel()).read(0, numbers.size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        whole = np.empty(self.shape, self.dtype if dtype is None else dtype)
        for cut, part in self.stream(self.cuts()):
            whole[cut] = part
        return whole

    def __mul__(self, factor: Any) -> Blocks:
        return self.map(Times(self.dtype.type(factor)), self.shape[1], self.dtype, self.name)

    def astype(self, dtype: Any, copy: bool = False) -> Blocks:
        """The same in another precision, when it is read.

        Parameters
        ----------
        dtype : dtype
            Single or double precision.
        copy : bool, default=False
            For NumPy's conventions.

        Returns
        -------
        Blocks
            Itself where it has that precision.
        """
        return self if self.dtype == dtype else self.map(np.asarray, self.shape[1], dtype, self.name)

    @property
    def T(self) -> Columns:
        """The same with points as columns."""
        return Columns(self)

    @cached_property
    def _extremes(self) -> tuple[float, float, bool]:
        """The least and the largest number, and whether an entry is none. Every row is read, once."""
        low, high, gaps = np.nan, np.nan, False
        for part in self:
            least, most = part.min(), part.max()
            if np.isnan(least):
                gaps, least, most = True, np.fmin.reduce(part, axis=None), np.fmax.reduce(part, axis=None)
            low, high = np.fmin(low, least), np.fmax(high, most)
        return float(low), float(high), gaps

    @property
    def observed(self) -> tuple[float, float]:
        """The least and the largest value of what is not missing."""
        return self._extremes[:2]

    def min(self) -> float:
        """The least value; NaN where one is not a number.

        Returns
        -------
        float
            The value.
        """
        return np.nan if self._extremes[2] else self._extremes[0]

    def max(self) -> float:
        """The largest value; NaN where one is not a number.

        Returns
        -------
        float
            The value.
        """
        return np.nan if self._extremes[2] else self._extremes[1]

    def place(self, where: Callable[[Array], Array]) -> Place | None:
        """The first entry at which ``where(rows)`` is True.

        Parameters
        ----------
        where : callable
            Of an array (rows x m) another one of bool.

        Returns
        -------
        tuple of three int, or None
            The block, the row and the column, from 0.
        """
        for cut, part in self.stream(self.cuts()):
            found = where(part)
            if found.any():
                row, column = divmod(int(found.argmax()), self.shape[1])
                return Place(cut.start // self.height, cut.start + row, column)
        return None

    def map(
        self, function: Callable[[Array], Any], n_columns: int, dtype: Any, name: str, features: Any = None
    ) -> Blocks:
        """Blocks that are computed from these when they are read, row by row alike: ``function(rows)``.

        Parameters
        ----------
        function : callable
            Of an array (rows x m) another one (rows x `n_columns`).
        n_columns : int
            How many columns it makes.
        dtype : dtype
            Of what it makes.
        name : str
            What messages call it.
        features : tuple of str, optional
            The names of the columns.

        Returns
        -------
        Blocks
            Nothing of it is computed yet.
        """
        return Blocks(Made(self, function, n_columns, np.dtype(dtype), name, features), self.height)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all rows to a file, block by block; it appears only when it is complete.

        Parameters
        ----------
        path : path-like
            The file; its suffix says how: ``.npy``, ``.h5``, ``.hdf5``, ``.zarr`` (a folder), ``.parquet`` or ``.pq``.
        """
        names = self.features or tuple(f"x{j}" for j in range(self.shape[1]))
        write_rows(path, self.shape, self.dtype, iter(self), names, self.height)


class Columns:
    """Blocks with points as columns (M x N), as a storage has them."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.shape, self.dtype = blocks.shape[::-1], blocks.dtype

    def __getitem__(self, places: tuple[slice, slice]) -> Array:
        rows: Array = self.blocks[places[1]]
        return rows.T


def open_blocks(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    columns: Sequence[str] | None = None,
    fill_chunks: bool = False,
) -> Blocks:
    """A matrix in a file, to be fitted without ever being in memory as a whole.

    Parameters
    ----------
    path : path-like
        A ``.npy`` file, HDF5 (``.h5``, ``.hdf5``; needs h5py), Zarr (a folder or address that ends in ``.zarr``; needs
        zarr) or Parquet (``.parquet``, ``.pq``; needs pyarrow). Rows are points.
    name : str, optional
        Which matrix, in HDF5 and Zarr; needed where there are several.
    columns : sequence of str, optional
        Which columns, in Parquet; all by default, which must hold numbers.
    fill_chunks : bool, default=False
        Whether chunks of Zarr that are not there are taken as its fill value instead of refused. Zarr itself leaves
        chunks out that are nothing but this value, unless ``write_empty_chunks`` is set.

    Returns
    -------
    Blocks
        For `fit`, `transform`, `weights`, `trust` and `repair` of every estimator. Nothing of it is read but its shape.

    See Also
    --------
    Blocks : What can be done with it.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from ewnmf import EWNMF, open_blocks
    >>> path = os.path.join(tempfile.mkdtemp(), "X.npy")
    >>> np.save(path, np.random.default_rng(0).random((500, 12)))
    >>> X = open_blocks(path)
    >>> model = EWNMF(3, gamma=0.1, random_state=0).fit(X)
    >>> model.weights(X).save(os.path.join(os.path.dirname(path), "weights.npy"))
    """
    return Blocks(open_rows(path, name, columns, fill_chunks))


def blocks_of(X: Any) -> Blocks | None:
    """``X`` as blocks, where it is that already or an array that lives in a file; None for any other.

    Small arrays that NumPy has mapped are taken as they are.
    """
    if isinstance(X, Blocks):
        return X
    if isinstance(X, np.ndarray) and (not isinstance(X, np.memmap) or X.nbytes < _MAPPED or X.ndim != 2):
        return None
    rows = rows_of(X)
    return None if rows is None else Blocks(rows)
