"""Threads without harm to the process: BLAS held to one thread, work spread over one pool."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

__all__ = ["BlasLimiter", "Workers", "count_workers", "single_threaded_blas"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class BlasLimiter:
    """Holds every BLAS of the process to one thread while somebody is inside.

    threadpoolctl acts on the whole process, so overlapping runs share one limit: the first one in sets it, the
    last one out restores what was found.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._controller: Any = None
        self._limit: Any = None
        self._inside = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                if self._controller is None:
                    self._controller = ThreadpoolController()
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                limit, self._limit = self._limit, None
                limit.restore_original_limits()


single_threaded_blas = BlasLimiter()


def count_workers(n_jobs: object) -> int:
    """Threads for `n_jobs`: None means all usable cores, and one inside a joblib worker; -1 means all cores."""
    if n_jobs is None:
        backend, _ = joblib.parallel.get_active_backend()
        return 1 if getattr(backend, "nesting_level", 0) else int(joblib.cpu_count())
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} is not a number of threads; give a positive integer, -1 for all cores, or None."
        )
    return n_jobs if n_jobs > 0 else max(1, int(joblib.cpu_count()) + 1 + n_jobs)


class Workers:
    """A pool of threads for one run; answers come in the order of the items, whatever the number of threads."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def map(self, work: Callable[[Item], Answer], items: Iterable[Item]) -> Iterator[Answer]:
        """``work(item)`` for every item, in order."""
        todo = list(items)
        if self.n_workers == 1 or len(todo) < 2:
            return map(work, todo)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_workers, thread_name_prefix="ewnmf")
        return self._pool.map(work, todo)
