"""A callback that shows how a run goes."""

from __future__ import annotations

import sys
from typing import TextIO

from ewnmf.solvers.loop import Iteration

__all__ = ["Progress"]


class Progress:
    """Write a line every few iterations.

    Parameters
    ----------
    every : int, default=10
        Iterations between lines.
    stream : text stream, optional
        Standard error where it is not given.
    label : str, default="ewnmf"
        Opens every line.
    """

    def __init__(self, every: int = 10, stream: TextIO | None = None, label: str = "ewnmf") -> None:
        self.every = every
        self.stream = stream
        self.label = label

    def __call__(self, report: Iteration) -> None:
        """Write the line of this iteration, if it has one."""
        if report.number != 1 and report.number % self.every:
            return
        gamma = "" if report.gamma is None else f", gamma {report.gamma:.4g}{'' if report.settled else ' (tuning)'}"
        self.say(f"iteration {report.number}, objective {report.objective:.8g}{gamma}")

    def say(self, words: str) -> None:
        """Write a line."""
        stream = sys.stderr if self.stream is None else self.stream
        stream.write(f"{self.label}: {words}\n")
        stream.flush()
