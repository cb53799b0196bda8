"""What the commands tell: progress, warnings, and a summary for people or as JSON."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import numpy as np

from ewnmf.io import Table

__all__ = ["Report", "described", "plain"]


class Report:
    """What happened in a run.

    Parameters
    ----------
    quiet : bool
        Whether to say nothing.
    as_json : bool
        Whether standard output gets the summary as JSON, and nothing else.
    """

    def __init__(self, quiet: bool, as_json: bool) -> None:
        self.seconds: dict[str, float] = {}
        self.warnings: list[str] = []
        self._quiet = quiet
        self._as_json = as_json

    @property
    def watched(self) -> bool:
        """Whether somebody sits at a terminal and wants to see progress."""
        return not self._quiet and sys.stderr.isatty()

    @contextmanager
    def step(self, name: str, words: str) -> Iterator[None]:
        """Time a part of the run, say that it begins, and collect its warnings."""
        if self.watched:
            click.echo(f"ewnmf: {words}", err=True)
        begin = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield
            finally:
                self.seconds[name] = round(time.perf_counter() - begin, 6)
        for warning in caught:
            text = " ".join(str(warning.message).split())
            if issubclass(warning.category, UserWarning | RuntimeWarning) and text not in self.warnings:
                self.warnings.append(text)
                if not self._quiet:
                    click.echo(f"ewnmf: warning: {text}", err=True)

    def close(self, summary: dict[str, Any], lines: list[str]) -> None:
        """Tell the result."""
        if self._as_json:
            click.echo(json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False))
        elif not self._quiet:
            for line in lines:
                click.echo(line)


def described(table: Table) -> dict[str, Any]:
    """A table in a summary."""
    n, m = table.values.shape
    return {
        "file": table.source,
        "kind": table.kind,
        "sha256": table.sha256,
        "points": n,
        "attributes": m,
        "missing": table.missing,
        "image_size": None if table.image_size is None else list(table.image_size),
    }


def plain(value: Any) -> Any:
    """The value as JSON has it: infinite and missing numbers become text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
