"""Times of contenders that take turns: the best of several rounds counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TypeVar

__all__ = ["Work", "best_times", "per_iteration"]

Name = TypeVar("Name", bound=Hashable)
Work = Callable[[int], object]
"""Runs a contender for the given number of iterations."""


SHORTEST = 1e-9
"""Seconds: noise may not make an iteration shorter than this."""


def best_times(
    tasks: Mapping[Name, Callable[[], object]],
    rounds: int,
    *,
    pause: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[Name, float]:
    """``min_r t(task, r)``: the shortest time of every task in seconds, all tasks taking turns within a round.

    Parameters
    ----------
    tasks : mapping of name to callable
        What is timed.
    rounds : int
        How often every task runs.
    pause : float
        Seconds of rest before every task.
    clock : callable
        The time in seconds.

    Returns
    -------
    dict of name to float
        In the order of `tasks`.
    """
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, task in tasks.items():
            time.sleep(pause)
            started = clock()
            task()
            best[name] = min(best[name], clock() - started)
    return best


def per_iteration(
    contenders: Mapping[Name, Work],
    counts: tuple[int, int],
    rounds: int,
    *,
    pause: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[Name, float]:
    """``(t(n2) - t(n1)) / (n2 - n1)`` of the best times: seconds per iteration, without what a run costs once.

    Every contender first makes one iteration that does not count.

    Parameters
    ----------
    contenders : mapping of name to callable
        Each takes a number of iterations.
    counts : (int, int)
        ``n1 < n2``.
    rounds : int
        How often every contender runs each number of iterations.
    pause : float
        Seconds of rest before every run.
    clock : callable
        The time in seconds.

    Returns
    -------
    dict of name to float
        In the order of `contenders`.
    """
    few, many = counts
    for work in contenders.values():
        work(1)
    tasks = {(name, count): partial(work, count) for name, work in contenders.items() for count in counts}
    best = best_times(tasks, rounds, pause=pause, clock=clock)
    return {name: max((best[name, many] - best[name, few]) / (many - few), SHORTEST) for name in contenders}
