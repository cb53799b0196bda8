"""Threads without harm to the process: BLAS held to one thread, work spread over one pool."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from numbers import Integral
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

__all__ = ["Limiter", "Workers", "count_workers", "runs_on_dask", "single_threaded_blas"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")


_NOTHING: AbstractContextManager[None] = nullcontext()


class _Pool(NamedTuple):
    """Libraries that are limited together, for the whole process (None) or for what one thread of it calls."""

    api: str
    thread: int | None

    def has(self, library: Any) -> bool:
        return bool(library.user_api == self.api) and _by_thread(library) == (self.thread is not None)


def _by_thread(library: Any) -> bool:
    """Whether a limit holds for the calling thread alone."""
    with_openmp = getattr(library, "threading_layer", None) == "openmp"
    return library.user_api == "openmp" or (with_openmp and hasattr(library, "_real_set_num_threads"))


def _set_threads(library: Any, threads: int) -> None:
    """Limit a library; threadpoolctl would not do it for any thread but the first that asked."""
    getattr(library, "_real_set_num_threads", library.set_num_threads)(threads)


@dataclass(frozen=True, eq=False)
class _Entry:
    """Somebody who is inside: which thread, by which function, and what is limited for it."""

    thread: int
    frame: FrameType
    pools: tuple[_Pool, ...]

    def left_behind(self) -> bool:
        """Whether it belongs to this thread, but its function has ended: an interrupt kept it from leaving."""
        if self.thread != threading.get_ident():
            return False
        frame = sys._getframe().f_back
        while frame is not None:
            if frame is self.frame:
                return False
            frame = frame.f_back
        return True


def _user_of_contextlib() -> FrameType:
    """The function whose ``with`` statement, or `ExitStack`, brought the caller here."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") == "contextlib":
        frame = frame.f_back
    return frame


class Limiter:
    """Holds every BLAS of the process to one thread while somebody is inside, and OpenMP for whom asks for it.

    threadpoolctl acts on the whole process, so overlapping runs share one limit: the first one in sets it, the last
    one out restores what was found. A `KeyboardInterrupt` may come between any two instructions. So what was found is
    kept before anything is changed and until all is restored, whoever leaves says so twice, and who could not is found
    by the next one in or out.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside: list[_Entry] = []
        self._found: dict[_Pool, list[tuple[Any, int]]] = {}
        self._limited: set[_Pool] = set()
        self._controller: Any = None
        self._n_modules = 0

    def __call__(self, *, openmp: bool = False) -> AbstractContextManager[None]:
        """One thread for BLAS; with `openmp`, for what this thread does by OpenMP too. Nested ones do nothing."""
        thread, count = threading.get_ident(), 3 if openmp else 2
        for entry in self._inside:
            if entry.thread == thread and len(entry.pools) >= count and not entry.left_behind():
                return _NOTHING
        pools = _Pool("blas", None), _Pool("blas", thread), _Pool("openmp", thread)
        return self._limiting(thread, pools[:count])

    @contextmanager
    def _limiting(self, thread: int, pools: tuple[_Pool, ...]) -> Iterator[None]:
        entry, left = _Entry(thread, _user_of_contextlib(), pools), False
        try:
            try:
                self._enter(entry)
                yield
            finally:
                left = self._leave(entry)
        finally:
            if not left:
                self._leave(entry)

    def _enter(self, entry: _Entry) -> None:
        with self._lock:
            self._inside = [*(other for other in self._inside if not other.left_behind()), entry]
            for pool in entry.pools:
                if pool not in self._limited:
                    self._limit(pool)

    def _leave(self, entry: _Entry) -> bool:
        with self._lock:
            self._inside = [other for other in self._inside if other is not entry and not other.left_behind()]
            self._restore()
        return True

    def _limit(self, pool: _Pool) -> None:
        if pool not in self._found:
            libraries = [library for library in self._libraries() if pool.has(library)]
            self._found[pool] = [(library, library.num_threads) for library in libraries]
        for library, _ in self._found[pool]:
            _set_threads(library, 1)
        self._limited.add(pool)

    def _restore(self) -> None:
        """Give every pool that nobody needs limited the threads that were found, unless it is another thread's."""
        needed = {pool for entry in self._inside for pool in entry.pools}
        for pool in reversed(tuple(self._found)):
            if pool not in needed and pool.thread in (None, threading.get_ident()):
                self._limited.discard(pool)
                for library, threads in self._found.get(pool, ()):
                    _set_threads(library, threads)
                self._found.pop(pool, None)

    def this_thread(self) -> None:
        """Hold what this thread calls to one thread for good, where limits are a thread's own."""
        for library in self._libraries():
            if _by_thread(library):
                _set_threads(library, 1)

    def _libraries(self) -> list[Any]:
        """The libraries with threads of their own; looked for again when an import may have loaded one."""
        if self._controller is None or self._n_modules != len(sys.modules):
            n_modules = len(sys.modules)
            self._controller = ThreadpoolController()
            self._n_modules = n_modules
        libraries: list[Any] = self._controller.lib_controllers
        return libraries

    def before_fork(self) -> None:
        """Let nobody change limits while the process forks."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Forget the threads that are not there any more, and restore the limits that were theirs."""
        self._lock = threading.RLock()
        self._inside = [entry for entry in self._inside if entry.thread == threading.get_ident()]
        self._restore()


single_threaded_blas = Limiter()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=single_threaded_blas.before_fork,
        after_in_parent=single_threaded_blas.after_fork_in_parent,
        after_in_child=single_threaded_blas.after_fork_in_child,
    )


def count_workers(n_jobs: object) -> int:
    """Threads for `n_jobs`: None means all usable cores, and one inside a joblib worker; -1 means all cores."""
    if n_jobs is None:
        backend, _ = joblib.parallel.get_active_backend()
        return 1 if getattr(backend, "nesting_level", 0) else int(joblib.cpu_count())
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} is not a number of threads; give a positive integer, -1 for all cores, or None."
        )
    wanted = int(n_jobs)
    return wanted if wanted > 0 else max(1, int(joblib.cpu_count()) + 1 + wanted)


def runs_on_dask() -> bool:
    """Whether ``joblib.parallel_config("dask")`` holds here, and this is none of its tasks."""
    backend, _ = joblib.parallel.get_active_backend()
    return type(backend).__module__ == "joblib._dask" and not getattr(backend, "nesting_level", 0)


class Workers:
    """A pool of threads for one run; answers come in the order of the items, whatever the number of threads."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool: ThreadPoolExecutor | None = None
        self._left = False

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self._left = True
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def map(self, work: Callable[[Item], Answer], items: Iterable[Item]) -> Iterator[Answer]:
        """``work(item)`` for every item, in order; the calling thread works, too."""
        todo = list(items)
        if self.n_workers == 1 or len(todo) < 2:
            return map(work, todo)
        return self._shared(work, todo)

    def _shared(self, work: Callable[[Item], Answer], todo: list[Item]) -> Iterator[Answer]:
        """Every thread takes the next item when it is done with one: nobody is woken for each of them."""
        answers = deque(Future[Answer]() for _ in todo)
        waiting = deque(zip(answers, todo, strict=True))

        def work_on() -> bool:
            try:
                answer, item = waiting.popleft()
            except IndexError:
                return False
            try:
                answer.set_result(work(item))
            except BaseException as error:
                answer.set_exception(error)
                if not isinstance(error, Exception):
                    raise
            return True

        def work_all() -> None:
            while not self._left and work_on():
                pass

        for _ in range(min(self.n_workers, len(todo)) - 1):
            self._started().submit(work_all)
        try:
            while answers:
                answer = answers.popleft()
                while not answer.done() and work_on():
                    pass
                yield answer.result()
        finally:
            waiting.clear()

    def stream(self, work: Callable[[Item], Answer], items: Iterable[Item]) -> Iterator[Answer]:
        """The same of items that are made one after the other: a few are taken before their answers are."""
        if self.n_workers == 1:
            yield from map(work, items)
            return
        waiting: deque[Future[Answer]] = deque()
        for item in items:
            waiting.append(self._started().submit(work, item))
            if len(waiting) > 2 * self.n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _started(self) -> ThreadPoolExecutor:
        if self._pool is None:
            start = single_threaded_blas.this_thread
            self._pool = ThreadPoolExecutor(self.n_workers, thread_name_prefix="ewnmf", initializer=start)
        return self._pool
