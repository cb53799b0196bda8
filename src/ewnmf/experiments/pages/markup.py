"""Parts of the report, as Markdown: tables, pictures, sections."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FILES", "Picture", "Section", "Sheet", "Table", "bullets", "counted", "number", "wrapped"]

FILES = "images/reproduction"
"""Where pictures and sheets of the paper's experiments lie, seen from the page."""

WIDTH = 118


@dataclass(frozen=True)
class Table:
    """Rows of text under a head; columns after the first `left` are right-aligned."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    def markdown(self) -> str:
        """The table with its columns padded to equal widths."""
        widths = [max(3, *map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        rules = ["-" * width if at < self.left else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
        return "\n".join(self._line(cells, widths) for cells in (self.head, rules, *self.rows))

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            cell.ljust(width) if at < self.left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"


@dataclass(frozen=True)
class Sheet:
    """All numbers of a table or figure, for a file of comma-separated values; a record per line."""

    name: str
    records: Sequence[dict[str, str | int | float]]
    folder: str = FILES

    def markdown(self) -> str:
        """The line that links to it."""
        return f"All numbers, with more digits: [{self.name}.csv]({self.folder}/{self.name}.csv)."

    def csv(self) -> str:
        """Head and records; a missing value is empty."""
        names = list(dict.fromkeys(name for record in self.records for name in record))
        text = StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(self.records)
        return text.getvalue()


@dataclass(frozen=True)
class Picture:
    """A figure that `draw` makes, the name of its files (PNG and SVG), what it shows, and a caption."""

    name: str
    shows: str
    caption: str
    draw: Callable[[], Figure]
    folder: str = FILES

    def markdown(self) -> str:
        """The picture, and under it the caption and a link to the vector drawing."""
        path = f"{self.folder}/{self.name}"
        return f"![{self.shows}]({path}.png)\n\n{wrapped(f'{self.caption} ([SVG]({path}.svg))')}"


@dataclass(frozen=True)
class Section:
    """A heading and what is under it, in order."""

    title: str
    parts: Sequence[str | Table | Sheet | Picture]

    def markdown(self) -> str:
        """The section with its heading."""
        parts = [part if isinstance(part, str) else part.markdown() for part in self.parts]
        return "\n\n".join([f"## {self.title}", *parts])


def wrapped(words: str) -> str:
    """A paragraph in lines of at most `WIDTH` characters."""
    return fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def bullets(sentences: Sequence[str]) -> str:
    """A list, one item for each."""
    return "\n".join(
        fill(words, WIDTH, initial_indent="* ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for words in sentences
    )


def number(value: float) -> str:
    """To two digits; an infinite gamma as its sign."""
    return "∞" if value == float("inf") else f"{value:.2g}"


def counted(count: int, thing: str) -> str:
    """``"1 run"``, ``"2 runs"``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
