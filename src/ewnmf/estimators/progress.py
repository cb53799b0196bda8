"""How a fit goes, for somebody who waits: a line that moves on a terminal, or lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from ewnmf.solvers.loop import Iteration

__all__ = ["Progress", "Stages"]

_BAR, _WIDTH = 16, 110
_OFTEN, _SELDOM = 0.1, 5.0
"""Seconds between looks of a line that moves, and between lines."""


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


class Stages:
    """Say what a fit is doing, how far it has got, and when it ends at the latest.

    On a terminal it is one line that moves; elsewhere a line for every stage, and another one every five seconds.

    Parameters
    ----------
    label : str, default="ewnmf"
        Opens every line.
    stream : text stream, optional
        Standard error where it is not given.
    clock : callable, optional
        Seconds from some moment.
    """

    def __init__(
        self, label: str = "ewnmf", stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.label = label
        self.stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._moves = self.stream.isatty()
        self._words, self._left = "", 0
        self._begun = self._told = clock()
        self._drawn = False

    def stage(self, words: str, left: int = 0) -> None:
        """A part of the fit begins, after which at most `left` runs follow."""
        known, self._words = words == self._words, words
        self._left, self._begun = left, self._clock()
        if not known:
            self._show(f"{self.label}: {words}")

    def iteration(self, number: int, most: int) -> None:
        """The run has got to this iteration, of so many at the most."""
        now = self._clock()
        if now - self._told < (_OFTEN if self._moves else _SELDOM) or number < 2:
            return
        done = int(_BAR * number / most)
        bar = f"[{'#' * done}{'.' * (_BAR - done)}] " if self._moves else ""
        pace = (now - self._begun) / number
        rest = _lasting(pace * (most - number + self._left * most))
        self._show(f"{self.label}: {bar}{self._words}, iteration {number} of {most}, {rest} left at most")

    def close(self) -> None:
        """The fit is over: the line that moved is gone."""
        if self._drawn:
            self.stream.write(f"\r{' ' * _WIDTH}\r")
            self.stream.flush()
            self._drawn = False

    def _show(self, text: str) -> None:
        self._told = self._clock()
        if self._moves:
            self.stream.write(f"\r{text[:_WIDTH]:<{_WIDTH}}")
            self._drawn = True
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()


def _lasting(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
