"""Files with several named arrays: which one is the table, which ones name points and classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable

__all__ = ["choose", "one_per_point"]

Shapes = Mapping[str, tuple[int, ...]]


def choose(source: Source, layout: Layout, shapes: Shapes) -> str:
    """The variable that is the table: the one that is named, or the only one of that form."""
    if layout.drop:
        raise Unreadable(f"drop={layout.drop} names columns, which {source.name} does not name; leave it out.")
    aside = [name for name in (layout.id, layout.label) if name is not None]
    for name in (*aside, *([] if layout.variable is None else [layout.variable])):
        if name not in shapes:
            raise Unreadable(f"{source.name} has no variable {name!r} of numbers; it has {_described(shapes)}.")
    if layout.variable is not None:
        return layout.variable
    tables = [name for name, shape in shapes.items() if len(shape) == 2 and min(shape) > 1 and name not in aside]
    if len(tables) != 1:
        found = "several tables" if tables else "no table (points x attributes)"
        raise Unreadable(f"{source.name} has {found}: {_described(shapes)}; name the one to read with --variable.")
    return tables[0]


def one_per_point(read: Callable[[str], Any], name: str | None, n: int, source: Source) -> Array | None:
    """A variable with one value for every one of `n` points, as text."""
    if name is None:
        return None
    values = np.asarray(read(name)).ravel()
    if values.size != n:
        raise Unreadable(
            f"{name} of {source.name} has {values.size} values, but there are {n} points; give one for every point."
        )
    whole = values.dtype.kind == "f" and bool(np.all(values == np.floor(values)))
    return np.array([str(int(value)) if whole else str(value).rstrip() for value in values], dtype=object)


def _described(shapes: Mapping[str, tuple[int, ...]]) -> str:
    shown = [f"{name} ({' x '.join(map(str, shape))})" for name, shape in list(shapes.items())[:12]]
    return ", ".join([*shown, *(["..."] if len(shapes) > len(shown) else [])]) or "none of numbers"
