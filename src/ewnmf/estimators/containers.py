"""Answers in the form that the question had: arrays, pandas or polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils._set_output import _get_output_config

from ewnmf._types import Array

__all__ = ["Form"]


class Form:
    """How to hand out what was made of ``X``: as `set_output` says, else as ``X`` came.

    Parameters
    ----------
    estimator : estimator
        Whose `set_output` it is.
    X : array-like or data frame of shape (n, m)
        What was given.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        given = _library(X)
        asked = _get_output_config("transform", estimator)["dense"]
        known = getattr(estimator, "feature_names_in_", None)
        self.library = given if asked == "default" else asked
        self._index = X.index if given == "pandas" else None
        columns = list(X.columns) if given is not None else known
        self._columns = columns if columns is None else [*map(_plain, columns)]

    def names(self, m: int) -> list[Any]:
        """The names of the attributes; ``x0`` and so on where they have none."""
        return [f"x{j}" for j in range(m)] if self._columns is None else self._columns

    def points(self, rows: Array) -> Array:
        """What points are called: by the index of a pandas table, else by their number."""
        return rows if self._index is None else self._index.to_numpy()[rows]

    def table(self, values: Any) -> Any:
        """Values (n x m) of the same points and attributes."""
        if self.library == "pandas":
            import pandas as pd

            return pd.DataFrame(values, index=self._index, columns=self.names(values.shape[1]), copy=False)
        if self.library == "polars":
            import polars as pl

            return pl.DataFrame(np.ascontiguousarray(values), schema=self.names(values.shape[1]), orient="row")
        return values

    def columns(self, columns: Mapping[str, Array]) -> Any:
        """A table of its own by columns; of arrays a structured one."""
        if self.library == "pandas":
            import pandas as pd

            return pd.DataFrame(dict(columns))
        if self.library == "polars":
            import polars as pl

            return pl.DataFrame({name: column.tolist() for name, column in columns.items()})
        table = np.empty(len(columns["point"]), [(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            table[name] = column
        return table


def _library(X: Any) -> str | None:
    """The library of a data frame."""
    module = type(X).__module__.partition(".")[0]
    return module if module in ("pandas", "polars") and type(X).__name__ == "DataFrame" else None


def _plain(name: Any) -> Any:
    return str(name) if isinstance(name, np.str_) else name
