"""The process around a fit: BLAS has its threads back after overlapping fits, forks and interrupts."""

from __future__ import annotations

import ast
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.cluster  # noqa: F401  (brings OpenMP)
from threadpoolctl import ThreadpoolController, threadpool_limits

import ewnmf
from ewnmf.choosing import gamma as choosing
from ewnmf.choosing import neighbours
from ewnmf.storage.threads import Workers, count_workers, single_threaded_blas

RNG = np.random.default_rng(2)
X = RNG.random((40, 4)) @ RNG.random((4, 16)) + 0.05 * RNG.random((40, 16))
FORKS = hasattr(os, "fork") and hasattr(os, "register_at_fork")


LIBRARIES = ThreadpoolController().lib_controllers


def _threads(api: str = "blas") -> list[int]:
    return [library.num_threads for library in LIBRARIES if library.user_api == api]


@pytest.fixture(autouse=True)
def no_tracing() -> Iterator[None]:
    """Whoever traces (coverage) holds a lock at times, which an interrupt or a fork would leave locked for good."""
    here, elsewhere = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    yield
    sys.settrace(here)
    threading.settrace(elsewhere)


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    """Limits that differ from one, on every machine."""
    with threadpool_limits(3):
        yield


def test_only_one_module_limits_threads() -> None:
    source = Path(ewnmf.__file__).parent
    importing = set()
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] == "threadpoolctl" for name in names):
                importing.add(path.relative_to(source).as_posix())
    assert importing == {"storage/threads.py"}


def test_overlapping_default_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that begins to score while another run is inside, and ends after it."""
    before, inside, go_on = _threads(), threading.Event(), threading.Event()
    partitions, seen = neighbours.partitions, list[int]()

    def wait(*given: Any) -> Any:
        inside.set()
        assert go_on.wait(60)
        seen.extend(_threads("blas") + _threads("openmp"))
        return partitions(*given)

    monkeypatch.setattr(choosing, "partitions", wait)
    model = ewnmf.EWNMF(2, gamma="groups", random_state=0, max_iter=20, tol=0)
    fit = threading.Thread(target=model.fit, args=(X,))
    with single_threaded_blas():
        fit.start()
        assert inside.wait(60)
    go_on.set()
    fit.join(60)
    assert set(seen) == {1}
    assert _threads() == before


def test_default_fits_at_once() -> None:
    before, openmp = _threads(), _threads("openmp")
    fits = [
        threading.Thread(target=ewnmf.EWNMF(2, random_state=i, max_iter=20, tol=0).fit, args=(X,)) for i in range(4)
    ]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join(60)
    assert (_threads(), _threads("openmp")) == (before, openmp)


def test_openmp_is_limited_where_it_is_asked_for() -> None:
    found = _threads("openmp")
    with single_threaded_blas():
        assert _threads("openmp") == found
        with single_threaded_blas(openmp=True):
            assert set(_threads("openmp")) == set(_threads()) == {1}
        assert _threads("openmp") == found
        assert set(_threads()) == {1}


def test_in_a_stack_of_contexts() -> None:
    before = _threads()
    with ExitStack() as stack:
        stack.enter_context(single_threaded_blas())
        _go_in_and_out()
        assert set(_threads()) == {1}
    assert _threads() == before


@pytest.mark.skipif(not FORKS, reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
class TestFork:
    def test_while_another_thread_goes_in_and_out(self) -> None:
        before = _threads()
        with _busy(_go_in_and_out):
            assert [_exit_code_of_child(lambda: _works(before)) for _ in range(10)] == [0] * 10
        assert _threads() == before

    def test_while_another_thread_fits(self) -> None:
        mine = _codes()
        with _busy(_codes):
            done = [_exit_code_of_child(lambda: np.array_equal(_codes(), mine)) for _ in range(5)]
        assert done == [0] * 5

    def test_by_who_is_inside(self) -> None:
        def child() -> bool:
            return set(_threads()) == {1}

        before = _threads()
        with single_threaded_blas():
            assert _exit_code_of_child(child) == 0
            assert set(_threads()) == {1}
        assert _threads() == before


def _codes() -> np.ndarray:
    return ewnmf.NMF(2, random_state=0, max_iter=5, tol=0, n_jobs=1).fit_transform(X)


def _go_in_and_out() -> None:
    with single_threaded_blas():
        pass


def _works(before: list[int]) -> bool:
    """Whether nothing is limited, can be, and is restored."""
    found = _threads()
    with single_threaded_blas():
        inside = _threads()
    return found == before == _threads() and set(inside) == {1}


class _busy:
    """A thread that does something over and over."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work, self.stop = work, threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self.stop.is_set():
            self.work()

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *error: object) -> None:
        self.stop.set()
        self.thread.join(60)


def _exit_code_of_child(holds: Callable[[], bool], seconds: float = 20) -> int:
    """0 where `holds` is true in a child of this process, -9 where it had to be killed."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if holds() else 1)
        finally:
            os._exit(2)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class _InterruptAt:
    """Raises KeyboardInterrupt at the n-th point where Python looks for signals: functions begun, C functions ended."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_return"):
            self.left -= 1
            if self.left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


def _interrupted_at(number: int) -> BaseException | None:
    sys.setprofile(_InterruptAt(number))
    try:
        with single_threaded_blas(openmp=True):
            pass
    except KeyboardInterrupt as interrupt:
        return interrupt
    finally:
        sys.setprofile(None)
    return None


@pytest.mark.parametrize("keep", [False, True], ids=["forgotten", "kept"])
def test_an_interrupt_at_any_point(keep: bool) -> None:
    """Where nobody keeps the traceback the limits are as found at once, else from the next use on."""
    before, number = (_threads(), _threads("openmp")), 0
    while True:
        kept = _interrupted_at(number)
        number += 1
        if kept is None:
            break
        if keep:
            _go_in_and_out()
        del kept
        assert (_threads(), _threads("openmp")) == before, number
        with single_threaded_blas():
            assert set(_threads()) == {1}, number
        assert (_threads(), _threads("openmp")) == before, number
    assert number > 20


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_many_real_interrupts() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before, until, count = _threads(), time.monotonic() + 1.5, 0
    found = signal.signal(signal.SIGALRM, interrupt)
    try:
        while time.monotonic() < until:
            try:
                signal.setitimer(signal.ITIMER_REAL, float(RNG.uniform(2e-5, 4e-4)))
                while True:
                    _go_in_and_out()
            except KeyboardInterrupt:
                count += 1
            assert _threads() == before, count
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, found)
    assert count > 50


@pytest.mark.parametrize("kind", [int, np.int64, np.int8])
def test_whole_numbers_of_jobs(kind: Any) -> None:
    assert count_workers(kind(2)) == 2
    assert type(count_workers(kind(2))) is int
    assert count_workers(kind(-1)) == count_workers(-1)
    assert ewnmf.EWNMF(2, n_jobs=kind(2), max_iter=3, tol=0).fit(X).n_iter_ == 3
    with pytest.raises(ValueError, match="is not a number of threads"):
        count_workers(True)


class TestWorkers:
    def test_answers_come_in_order_and_the_caller_works_too(self) -> None:
        here, both = threading.get_ident(), threading.Barrier(2)

        def work(item: int) -> tuple[int, bool]:
            if item in (0, 1):
                both.wait(60)
            return item, threading.get_ident() == here

        with Workers(2) as workers:
            answers = list(workers.map(work, range(50)))
        assert [item for item, _ in answers] == list(range(50))
        assert {mine for _, mine in answers[:2]} == {False, True}

    def test_what_was_taken_first_is_raised_first(self) -> None:
        def work(item: int) -> int:
            if item in (3, 7):
                raise ValueError(item)
            return item

        with Workers(2) as workers:
            answers = workers.map(work, range(9))
            assert [next(answers) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(ValueError, match=r"^3$"):
                next(answers)

    def test_an_interrupt_of_the_caller_ends_the_work(self) -> None:
        here, seen = threading.get_ident(), list[int]()

        def work(item: int) -> None:
            seen.append(item)
            if threading.get_ident() == here:
                raise KeyboardInterrupt
            time.sleep(0.01)

        with pytest.raises(KeyboardInterrupt), Workers(2) as workers:
            list(workers.map(work, range(1000)))
        assert len(seen) < 500
