"""Arrays, masked ones and those of other libraries, and tables with numbers in every column; else a sentence."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ewnmf.storage.matrix import is_lazy

__all__ = ["numeric_table", "plain_array"]

_BY_BLOCKS = {
    "dask": "Dask collection, which is worked on by blocks in fit and transform alone; give X.compute() here",
    "zarr": "Zarr array, which is read by blocks in fit and transform alone; give X[:] here",
}
"""What NumPy would load as a whole."""


def numeric_table(X: Any) -> Any:
    """A data frame with floats in every column, NaN where a cell is empty; anything else as `plain_array` has it.

    Integer, boolean and decimal columns become floats. Text, categories, dates and the like are refused, and so is an
    array or list with text that is no number, or a list of rows of different lengths.
    """
    X = plain_array("X", X, missing=True)
    kind = f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}"
    if kind == "polars.LazyFrame":
        raise TypeError("X is a polars LazyFrame, and its values are needed; give X.collect().")
    if kind == "polars.DataFrame":
        return _of_polars(X)
    if kind == "pandas.DataFrame":
        return _of_pandas(X)
    if isinstance(X, np.ndarray | list | tuple):
        _refuse_text(X)
    return X


def plain_array(name: str, X: Any, *, missing: bool = False) -> Any:
    """An array of NumPy where `X` is an array; NaN where it is masked if values may be `missing`, else that is refused.

    Arrays of other libraries are taken over where NumPy can read them. Dask and Zarr are refused.
    """
    if is_lazy(X):
        raise TypeError(
            f"{name} is read by blocks ({X.name}), and an array is needed here; give some of it: {name}[:1000]."
        )
    for kind in type(X).__mro__:
        library = kind.__module__.partition(".")[0].removesuffix("_expr")
        if library in _BY_BLOCKS:
            raise TypeError(f"{name} is a {_BY_BLOCKS[library].replace('X', name)}.")
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) and row.ndim for row in X):
        X = np.ma.array([np.ma.getdata(row) for row in X], mask=[np.ma.getmaskarray(row) for row in X])
    if isinstance(X, np.ma.MaskedArray):
        return _of_masked(name, X, missing)
    if hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray | np.generic):
        return _of_another_library(name, X)
    return X


def _of_masked(name: str, X: Any, missing: bool) -> Any:
    values, masked = np.ma.getdata(X), np.ma.getmaskarray(X)
    if not masked.any():
        return values
    if not missing:
        raise ValueError(f"{name} is masked in {int(masked.sum())} of its values; give numbers for all of them.")
    if values.dtype.kind != "c":
        kind = {"f": values.dtype, "O": object, "S": object, "U": object}.get(values.dtype.kind, np.float64)
        values = values.astype(kind)
        values[masked] = np.nan
    return values


def _of_another_library(name: str, X: Any) -> Any:
    """The values of an array that follows the array API standard."""
    try:
        return np.asarray(X) if hasattr(X, "__array__") else np.from_dlpack(X)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        kind = f"{type(X).__module__}.{type(X).__name__}"
        raise TypeError(
            f"{name} is a {kind}, whose values NumPy cannot read ({error}); move it to the CPU, or give a NumPy array."
        ) from error


def _refuse_text(X: Any) -> None:
    try:
        values = np.asarray(X)
    except ValueError:
        raise ValueError("X has rows of different lengths; give every point the same number of values.") from None
    for value in values.flat if values.dtype.kind in "USO" else ():
        if isinstance(value, str | bytes):
            try:
                float(value)
            except ValueError:
                raise ValueError(
                    f"X has the text {str(value)!r}, and numbers are needed; drop such columns, or encode them as "
                    "numbers first (scikit-learn's OneHotEncoder for categories, TfidfVectorizer for documents)."
                ) from None


def _refusal(column: Any, kind: str) -> ValueError:
    return ValueError(
        f"X has the column {column!r} of type {kind}, and numbers are needed; drop it, or encode it as numbers first "
        "(scikit-learn's OneHotEncoder for text and categories)."
    )


def _of_pandas(X: Any) -> Any:
    import pandas as pd
    from pandas.api import types

    kinds = list(X.dtypes)
    if all(isinstance(kind, np.dtype) and kind.kind == "f" for kind in kinds):
        return X
    for name, kind in zip(X.columns, kinds, strict=True):
        if types.is_complex_dtype(kind):
            raise ValueError(f"Complex data not supported: X has the column {name!r} of type {kind}.")
        if not any(known(kind) for known in (types.is_numeric_dtype, types.is_bool_dtype, types.is_object_dtype)):
            raise _refusal(name, str(kind))
    if all(isinstance(kind, pd.SparseDtype) and kind.fill_value == 0 for kind in kinds):
        return X
    floats = {position: _floats(X.iloc[:, position], name) for position, name in enumerate(X.columns)}
    return pd.DataFrame(floats, index=X.index).set_axis(X.columns, axis=1)


def _floats(column: Any, name: Any) -> Any:
    """The values of a pandas column."""
    if column.dtype.kind == "O" and isinstance(column.dtype, np.dtype):
        return _of_objects(column, name)
    if hasattr(column, "sparse"):
        column = column.sparse.to_dense()
    single = str(column.dtype).lower() in ("float32", "float[pyarrow]")
    return column.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)


def _of_objects(column: Any, name: Any) -> Any:
    """Numbers that are stored as objects, None and NA among them."""
    import pandas as pd

    missing = pd.isna(column).to_numpy()
    values = np.full(len(column), np.nan)
    for i in np.flatnonzero(~missing):
        value = column.iloc[i]
        if not isinstance(value, numbers.Real | np.bool_) and type(value).__name__ != "Decimal":
            raise _refusal(name, f"{column.dtype} (row {i} holds {value!r:.40})")
        values[i] = float(value)
    return values


def _of_polars(X: Any) -> Any:
    import polars as pl

    for name, kind in X.schema.items():
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            raise _refusal(name, str(kind))
    casts = [pl.col(name).cast(pl.Float32 if kind == pl.Float32 else pl.Float64) for name, kind in X.schema.items()]
    return X.select(casts).fill_null(float("nan"))
