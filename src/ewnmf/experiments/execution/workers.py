"""Spawned processes that make runs; one that is killed is replaced, and its run made again.

Every worker has a pipe of its own, so that one killed at any moment, in the middle of an answer too, harms no other.
(The pools of the standard library share one queue for all answers.)
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from numpy.typing import NDArray

from ewnmf.experiments.protocol.spec import Spec

__all__ = ["Crew", "Event", "Failed", "Finished", "Lost", "Started", "Tick"]

MOST_TRIES = 3
"""How often a run is begun whose worker is killed."""
MOST_LOSSES = 6
"""Workers killed without any run finished in between: then something is wrong with the machine."""
_TICK_SECONDS = 1.0
_MEMORY = "is there enough memory? Fewer --jobs need less"


@dataclass(frozen=True)
class Started:
    """A run has begun."""

    spec: Spec


@dataclass(frozen=True)
class Finished:
    """A run has ended well."""

    spec: Spec
    figures: dict[str, float]
    arrays: dict[str, NDArray[Any]]
    seconds: float


@dataclass(frozen=True)
class Failed:
    """A run cannot be made."""

    spec: Spec
    reason: str


@dataclass(frozen=True)
class Lost:
    """The worker of a run was killed from outside; the run will be made again."""

    spec: Spec


@dataclass(frozen=True)
class Tick:
    """Nothing new for a second."""


Event = Started | Finished | Failed | Lost | Tick


class Crew:
    """Up to `jobs` workers; within ``with``, at whose end all of them are gone."""

    def __init__(self, jobs: int, home: str | None = None) -> None:
        self._jobs = jobs
        self._home = home
        self._workers: list[_Worker] = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def run(self, specs: Sequence[Spec], skip: Callable[[Spec], bool] = lambda spec: False) -> Iterator[Event]:
        """Make the runs, but for those to `skip` when their turn comes; what happens, as it happens.

        Raises
        ------
        OSError
            A worker could not read its data, or workers keep being killed.
        """
        todo, begun, losses = deque(specs), Counter[Spec](), 0
        while True:
            for spec in self._hand_out(todo, skip):
                begun[spec] += 1
                yield Started(spec)
            busy = [worker for worker in self._workers if worker.spec is not None]
            if not busy:
                return
            events = [self._answer(worker) for worker in _ready(busy)]
            for event in events or [Tick()]:
                if isinstance(event, Finished):
                    losses = 0
                if isinstance(event, Lost):
                    losses += 1
                    _check_losses(losses, event.spec)
                    if begun[event.spec] >= MOST_TRIES:
                        event = Failed(event.spec, f"its process was killed {MOST_TRIES} times: {_MEMORY}")
                    else:
                        todo.appendleft(event.spec)
                yield event

    def _hand_out(self, todo: deque[Spec], skip: Callable[[Spec], bool]) -> Iterator[Spec]:
        """Give every idle worker a run, and hire while there are fewer workers than jobs."""
        while todo:
            spec = todo.popleft()
            if skip(spec):
                continue
            worker = next((worker for worker in self._workers if worker.spec is None), None)
            if worker is None and len(self._workers) < self._jobs:
                worker = _Worker(self._home)
                self._workers.append(worker)
            if worker is None:
                todo.appendleft(spec)
                return
            worker.begin(spec)
            yield spec

    def _answer(self, worker: _Worker) -> Event:
        spec = worker.spec
        assert spec is not None
        try:
            answer = worker.answer()
        except (EOFError, OSError, pickle.UnpicklingError):
            worker.end()
            self._workers.remove(worker)
            return Lost(spec)
        if isinstance(answer, OSError):
            raise answer
        return answer


def _check_losses(losses: int, spec: Spec) -> None:
    if losses >= MOST_LOSSES:
        raise ChildProcessError(
            f"{losses} worker processes were killed one after the other, the last one in the run {spec}: {_MEMORY}."
        )


class _Worker:
    """A process with a pipe to it, and the run that it is at."""

    def __init__(self, home: str | None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, home), daemon=True)
        with _ctrl_c_held():
            self._process.start()
        theirs.close()
        self.spec: Spec | None = None

    @property
    def pipe(self) -> Connection:
        """Readable when there is an answer, or when the worker is gone."""
        return self._pipe

    def begin(self, spec: Spec) -> None:
        """Give it a run; that it is gone is seen when the answer is fetched."""
        self.spec = spec
        try:
            self._pipe.send(spec)
        except OSError:
            self._process.kill()

    def answer(self) -> Finished | Failed | OSError:
        """What the worker has sent; it is idle then."""
        answer: Finished | Failed | OSError = self._pipe.recv()
        self.spec = None
        return answer

    def end(self) -> None:
        """Kill it, whatever it does."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()


def _ready(workers: Sequence[_Worker]) -> list[_Worker]:
    pipes = wait([worker.pipe for worker in workers], timeout=_TICK_SECONDS)
    return [worker for worker in workers if worker.pipe in pipes]


@contextmanager
def _ctrl_c_held() -> Iterator[None]:
    """Ctrl-C reaches the parent alone: a child that begins inside never sees it (on Windows, once it has begun)."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection, home: str | None) -> None:
    """Make runs until the parent closes the pipe or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_go_with_parent, daemon=True).start()
    from ewnmf.experiments.execution.execute import execute

    while True:
        try:
            spec: Spec = pipe.recv()
        except EOFError:
            return
        started = time.perf_counter()
        answer: Finished | Failed | OSError
        try:
            figures, arrays = execute(spec, home)
            answer = Finished(spec, figures, arrays, time.perf_counter() - started)
        except OSError as error:
            answer = OSError(str(error))
        except Exception as error:
            answer = Failed(spec, f"{type(error).__name__}: {error}")
        pipe.send(answer)


def _go_with_parent() -> None:
    """A parent that was killed cannot end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
