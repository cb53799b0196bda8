"""How long runs will still take: one line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib.util import find_spec

import click

from ewnmf.experiments.execution.runner import Watcher
from ewnmf.experiments.protocol.spec import Spec

__all__ = ["Forecast", "duration", "watching"]

_LINE_EVERY_SECONDS = 30.0
_TRUST_AFTER_SECONDS = 10.0


def duration(seconds: float) -> str:
    """In words, to two figures or so: ``"40 s"``, ``"12 min"``, ``"3.5 h"``, ``"6 days"``."""
    if seconds < 90:
        return f"{round(seconds)} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{round(seconds / 86400)} days"


class Forecast:
    """Seconds left: the expected cost of what is left, at the speed seen so far.

    Parameters
    ----------
    costs : mapping of Spec to float
        Expected seconds of every run on one core.
    jobs : int
        Processes, for the first seconds, when no speed is known.
    clock : callable
        Seconds from some moment.
    """

    def __init__(self, costs: Mapping[Spec, float], jobs: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._costs = costs
        self._clock = clock
        self._begun = clock()
        self._running: dict[Spec, float] = {}
        self._jobs = min(jobs, max(1, len(costs)))
        self.total = sum(costs.values())
        self.done_cost = 0.0
        self.done = 0

    @property
    def running(self) -> list[Spec]:
        """The runs under way, the oldest first."""
        return list(self._running)

    def begin(self, spec: Spec) -> None:
        """A run has begun."""
        self._running[spec] = self._clock()

    def end(self, spec: Spec, *, over: bool = True) -> None:
        """A run has ended, and is `over` unless it has to be made again."""
        self._running.pop(spec, None)
        if over:
            self.done += 1
            self.done_cost += self._costs[spec]

    def advanced(self) -> float:
        """The cost of what is done, the running ones by the time they have had so far."""
        now = self._clock()
        partly = (min(now - begun, 0.9 * self._costs[spec]) for spec, begun in self._running.items())
        return self.done_cost + sum(partly)

    def seconds_left(self) -> float:
        """From now to the end."""
        elapsed, advanced = self._clock() - self._begun, self.advanced()
        known = elapsed > _TRUST_AFTER_SECONDS and self.done > 0
        speed = advanced / elapsed if known else float(self._jobs)
        return (self.total - advanced) / speed


@contextmanager
def watching(costs: Mapping[Spec, float], jobs: int, *, quiet: bool) -> Iterator[Watcher]:
    """What shows how the runs of `costs` go, as fits standard error."""
    forecast = Forecast(costs, jobs)
    if quiet:
        yield _Quiet(forecast)
    elif sys.stderr.isatty() and find_spec("rich") is not None:
        with _bar(forecast) as bar:
            yield bar
    else:
        yield _Lines(forecast)


class _Quiet:
    """Tells only what goes wrong."""

    def __init__(self, forecast: Forecast) -> None:
        self.forecast = forecast

    def started(self, spec: Spec) -> None:
        self.forecast.begin(spec)
        self.tick()

    def finished(self, spec: Spec, seconds: float) -> None:
        self.forecast.end(spec)
        self.tick()

    def lost(self, spec: Spec) -> None:
        self.forecast.end(spec, over=False)
        self.tell(f"the process of the run {spec} was killed; the run is made again.")

    def failed(self, spec: Spec, reason: str) -> None:
        self.forecast.end(spec)
        self.tell(f"the run {spec} failed: {reason}.")

    def tick(self) -> None:
        pass

    def tell(self, sentence: str) -> None:
        click.echo(f"ewnmf: {sentence}", err=True)


class _Lines(_Quiet):
    """A line at the beginning, and every half minute."""

    def __init__(self, forecast: Forecast) -> None:
        super().__init__(forecast)
        self._told = -_LINE_EVERY_SECONDS

    def tick(self) -> None:
        now = time.monotonic()
        if now - self._told >= _LINE_EVERY_SECONDS and self.forecast.running:
            self._told = now
            click.echo(f"{_counted(self.forecast)}, {_ending(self.forecast)}: {_named(self.forecast)}", err=True)


@contextmanager
def _bar(forecast: Forecast) -> Iterator[_Quiet]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    tail = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (BarColumn(20), TextColumn("{task.fields[text]}"), TextColumn("{task.fields[runs]}", table_column=tail))
    with Progress(*columns, console=Console(stderr=True), expand=True) as progress:
        task = progress.add_task("", total=forecast.total, text="", runs="")

        class _Bar(_Quiet):
            def tick(self) -> None:
                text = f"{_counted(forecast)}, {_ending(forecast)}"
                progress.update(task, completed=forecast.advanced(), text=text, runs=_named(forecast))

            def tell(self, sentence: str) -> None:
                progress.console.print(f"ewnmf: {sentence}", markup=False, highlight=False)

        yield _Bar(forecast)
        progress.update(task, completed=forecast.total)


def _counted(forecast: Forecast) -> str:
    return f"{forecast.done} of {len(forecast._costs)} runs"


def _ending(forecast: Forecast) -> str:
    left = forecast.seconds_left()
    end = datetime.now() + timedelta(seconds=left)
    return f"about {duration(left)} left, until {end:%H:%M}" if left < 86400 else f"about {duration(left)} left"


def _named(forecast: Forecast) -> str:
    return "; ".join(map(str, forecast.running))
