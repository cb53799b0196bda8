"""Tables of pandas and polars: numbers in every column, or a sentence that names the column."""

from __future__ import annotations

from typing import Any

__all__ = ["numeric_table"]


def numeric_table(X: Any) -> Any:
    """A data frame with floats in every column, NaN where a cell is empty; anything else as it is.

    Integer, boolean and decimal columns become floats. Text, categories, dates and the like are refused.
    """
    module = type(X).__module__.partition(".")[0]
    if module == "pandas" and hasattr(X, "dtypes") and hasattr(X, "columns"):
        return _of_pandas(X)
    if module == "polars" and hasattr(X, "schema"):
        return _of_polars(X)
    return X


def _refusal(column: Any, kind: str) -> ValueError:
    return ValueError(
        f"X has the column {column!r} of type {kind}, and numbers are needed; drop it, or encode it as numbers first "
        "(scikit-learn's OneHotEncoder for text and categories)."
    )


def _of_pandas(X: Any) -> Any:
    import numpy as np
    from pandas.api import types

    kinds = list(X.dtypes)
    if all(isinstance(kind, np.dtype) and kind.kind == "f" for kind in kinds):
        return X
    changed = {}
    for position, (name, kind) in enumerate(zip(X.columns, kinds, strict=True)):
        column = X.iloc[:, position]
        if types.is_complex_dtype(kind):
            raise ValueError(f"Complex data not supported: X has the column {name!r} of type {kind}.")
        if kind == object:
            changed[position] = _of_objects(column, name)
        elif not types.is_numeric_dtype(kind):
            raise _refusal(name, str(kind))
        elif hasattr(column, "sparse"):
            changed[position] = column.sparse.to_dense().to_numpy(dtype=np.float64)
        else:
            wanted = np.float32 if str(kind).lower() in ("float32", "float[pyarrow]") else np.float64
            changed[position] = column.to_numpy(dtype=wanted, na_value=np.nan)
    frame = type(X)(changed, index=X.index)
    frame.columns = X.columns
    return frame


def _of_objects(column: Any, name: Any) -> Any:
    """Numbers that are stored as objects, None and NA among them."""
    import numbers

    import numpy as np
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
