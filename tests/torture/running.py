"""Problems spread over processes, within a time; a process that dies or hangs is a violation too."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

from tests.torture.drawing import draw
from tests.torture.properties import Outcome, examine

__all__ = ["LONGEST", "Report", "run"]

LONGEST = 120.0
"""Seconds of a processor that a problem may take, compilation included."""
HANGING = 30 * LONGEST
"""Seconds after which a problem hangs, however busy the machine is."""


@dataclass(frozen=True)
class Report:
    """What came out of one problem."""

    index: int
    words: str
    outcomes: list[Outcome] = field(default_factory=list)


def _work(pipe: Connection, seed: int, indices: range, until: float) -> None:
    """The problems of `indices` one after the other, until the time is over."""
    for index in indices:
        if time.time() > until:
            break
        problem = draw(seed, index)
        pipe.send(Report(index, str(problem)))
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        pipe.send(Report(index, str(problem), examine(problem)))
    signal.setitimer(signal.ITIMER_PROF, 0)
    pipe.send(None)


class _Worker:
    """One process, replaced by another where it dies."""

    def __init__(self, seed: int, indices: range, until: float) -> None:
        self.seed, self.indices, self.until = seed, indices, until
        self.begin(indices)

    def begin(self, indices: range) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(theirs, self.seed, indices, self.until), daemon=True)
        self.process.start()
        theirs.close()
        self.at: Report | None = None
        self.since = time.time()

    def lose(self, why: str) -> Report:
        """Give up the present problem, and go on after it."""
        self.process.kill()
        self.process.join()
        if self.at is None:
            raise RuntimeError(f"a process of the harness {why} before its first problem; see its words above.")
        lost = Report(self.at.index, self.at.words, [Outcome("process", "violated", why)])
        step = self.indices.step
        self.begin(range(lost.index + step, self.indices.stop, step))
        return lost


def run(seed: int, count: int, minutes: float, jobs: int) -> Iterator[Report]:
    """Reports of the problems 0 to `count` of this seed, as they come; none begins after so many minutes."""
    until = time.time() + 60 * minutes
    workers = [_Worker(seed, range(job, count, jobs), until) for job in range(jobs)]
    try:
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=1.0)
            for worker in list(workers):
                report: Report | None = None
                if worker.pipe in ready:
                    try:
                        report = worker.pipe.recv()
                    except EOFError:
                        worker.process.join()
                        code = worker.process.exitcode
                        slow = code == -signal.SIGPROF
                        yield worker.lose(f"took more than {LONGEST:g} s" if slow else f"ended with code {code}")
                        continue
                    if report is None:
                        workers.remove(worker)
                    elif report.outcomes:
                        yield report
                    else:
                        worker.at, worker.since = report, time.time()
                elif worker.at is not None and time.time() - worker.since > HANGING:
                    yield worker.lose(f"did not end in {HANGING:g} s")
    finally:
        for worker in workers:
            worker.process.kill()
