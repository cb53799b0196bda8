"""How runs stop, what callbacks see, and what happens to the process around them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from importlib.util import find_spec
from itertools import count
from typing import Any

import joblib
import numpy as np
import pytest
from scipy.sparse import csr_array
from threadpoolctl import threadpool_info, threadpool_limits

import ewnmf
from ewnmf.kernels.reference import Kernel
from ewnmf.solvers.loop import Interrupted, Iteration
from ewnmf.storage.threads import count_workers, single_threaded_blas

RNG = np.random.default_rng(2)
X = RNG.random((40, 4)) @ RNG.random((4, 16)) + 0.05 * RNG.random((40, 16))


def _blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


class TestStopReasons:
    def test_max_iter(self) -> None:
        answer = ewnmf.factorize(X, 3, gamma=0.1, max_iter=4, rng=0)
        assert (answer.reason, answer.n_iter, len(answer.history)) == ("max_iter", 4, 4)

    @pytest.mark.parametrize("order", ["components-first", "codes-first"])
    def test_converged(self, order: str) -> None:
        seen: list[float] = []
        answer = ewnmf.factorize(
            X, 3, gamma=0.1, tol=1e-4, rng=0, order=order, callbacks=[lambda it: seen.append(it.excess)]
        )
        assert answer.reason == "converged"
        falls = -np.diff(seen) / seen[:-1]
        assert falls[-1] <= 1e-4
        assert (falls[:-1] > 1e-4).all()
        assert answer.n_iter == len(seen) == len(answer.history)

    @pytest.mark.parametrize("order", ["components-first", "codes-first"])
    def test_callback(self, order: str) -> None:
        answer = ewnmf.factorize(X, 3, gamma=0.1, rng=0, order=order, callbacks=[lambda it: it.number == 5])
        whole = ewnmf.factorize(X, 3, gamma=0.1, rng=0, order=order, max_iter=5)
        assert (answer.reason, answer.n_iter) == ("callback", 5)
        np.testing.assert_array_equal(answer.codes, whole.codes)
        np.testing.assert_array_equal(answer.components, whole.components)
        np.testing.assert_array_equal(answer.history, whole.history)

    def test_interrupted(self) -> None:
        with pytest.raises(KeyboardInterrupt) as caught:
            ewnmf.factorize(X, 3, gamma=0.1, rng=0, callbacks=[_ctrl_c_at(6)])
        assert isinstance(caught.value, Interrupted)
        state = caught.value.solution
        assert (state.reason, state.n_iter) == ("interrupted", 6)
        np.testing.assert_array_equal(state.codes, ewnmf.factorize(X, 3, gamma=0.1, rng=0, max_iter=6).codes)

    @pytest.mark.parametrize("solver", ["mu", "accelerated"])
    @pytest.mark.parametrize("order", ["components-first", "codes-first"])
    def test_interrupted_within_a_sweep(self, order: str, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The last whole iteration is there, whatever the sweep has done to other blocks."""
        options: Any = {"gamma": 0.1, "rng": 0, "order": order, "solver": solver, "n_jobs": 1, "max_iter": 9}
        monkeypatch.setattr("ewnmf.storage.dense._BLOCK_ENTRIES", 16 * 16)
        monkeypatch.setattr("ewnmf.solvers.orders.kernel_for", Kernel)
        whole: list[Iteration] = []
        ewnmf.factorize(X, 3, **options, callbacks=[whole.append])
        by_codes = order == "codes-first" or solver == "accelerated"
        name, calls = "sweep_codes_first" if by_codes else "sweep_components_first", count()
        sweep = getattr(Kernel, name)

        def interrupted(*given: Any, **options: Any) -> Any:
            if next(calls) == 3 * 6 + 1:  # three blocks, the second one of the seventh sweep
                raise KeyboardInterrupt
            return sweep(*given, **options)

        monkeypatch.setattr(Kernel, name, interrupted)
        with pytest.raises(Interrupted) as caught:
            ewnmf.factorize(X, 3, **options)
        solution = caught.value.solution
        assert solution.n_iter == (6 if not by_codes else 5)
        np.testing.assert_array_equal(solution.codes, whole[solution.n_iter - 1].codes)
        np.testing.assert_array_equal(solution.components, whole[solution.n_iter - 1].components)

    def test_interrupted_before_anything_was_done(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ewnmf.solvers.orders.Run.start_sums", _raise_interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            ewnmf.factorize(X, 3, rng=0)
        assert not isinstance(caught.value, Interrupted)

    def test_exact_fit_stops_at_once(self) -> None:
        answer = ewnmf.factorize(np.zeros((4, 3)), 2, weighting="none", tol=1e-3, rng=0)
        assert answer.reason == "converged"
        assert answer.objective < 1e-100


def _raise_interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _ctrl_c_at(number: int) -> Any:
    def callback(report: Iteration) -> None:
        if report.number == number:
            raise KeyboardInterrupt

    return callback


def test_ctrl_c_leaves_a_fitted_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ewnmf.EWNMF(3, gamma=0.1, random_state=0, verbose=2)
    monkeypatch.setattr("ewnmf.estimators.base.Progress", lambda label: _ctrl_c_at(8))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.stop_reason_ == "interrupted"
    assert model.n_iter_ == 8
    assert model.transform(X).shape == (40, 3)


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal to itself")
def test_a_real_signal_in_the_middle_of_a_run() -> None:
    before = _blas_threads()
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    # A process that was started in the background may have to ignore the signal.
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            ewnmf.factorize(np.tile(X, (60, 20)), 5, gamma=0.1, rng=0, max_iter=100_000, n_jobs=2)
    finally:
        signal.signal(signal.SIGINT, found)
    assert _blas_threads() == before


def test_callbacks_see_the_state() -> None:
    reports: list[Iteration] = []
    states: list[np.ndarray] = []

    def keep(report: Iteration) -> None:
        reports.append(report)
        states.append(report.codes @ report.components)

    answer = ewnmf.factorize(X, 3, gamma=0.1, rng=0, max_iter=6, callbacks=[keep])
    assert [report.number for report in reports] == list(range(1, 7))
    np.testing.assert_array_equal([report.objective for report in reports], answer.history)
    for report, Y in zip(reports, states, strict=True):
        losses = (X - Y) ** 2
        direct = -0.1 * np.log(np.exp(-losses / 0.1).sum(axis=1)).sum()
        np.testing.assert_allclose(report.objective, direct, rtol=1e-12)
        np.testing.assert_allclose(report.excess, direct + 0.1 * 40 * np.log(16), rtol=1e-9)


@pytest.mark.parametrize("model", ["nmf", "semi-nmf", "convex-nmf", "onmf"])
@pytest.mark.parametrize("options", [{"gamma": 0.1}, {"gamma": np.inf}, {"weighting": "none"}])
def test_callbacks_cannot_write_into_the_factors(model: str, options: dict[str, Any]) -> None:
    refused = []

    def meddle(report: Iteration) -> None:
        parts = [report.codes, report.components, report.factors.H, *report.factors.basis, report.factors.U]
        for part in parts:
            if part is not None:
                with pytest.raises(ValueError, match="read-only"):
                    part[:] = 0
                refused.append(report.number)

    data = np.c_[X, np.zeros(len(X))]
    for kind in (np.asarray, csr_array):
        watched = ewnmf.factorize(kind(data), 3, model=model, rng=0, max_iter=3, callbacks=[meddle], **options)
        alone = ewnmf.factorize(kind(data), 3, model=model, rng=0, max_iter=3, **options)
        np.testing.assert_array_equal(watched.codes, alone.codes)
        assert watched.codes.flags.writeable
        assert watched.components.flags.writeable
    assert set(refused) == {1, 2, 3}


def test_all_callbacks_are_called_when_one_stops() -> None:
    calls: list[int] = []
    callbacks = [lambda _: True, lambda report: calls.append(report.number)]
    assert ewnmf.factorize(X, 3, rng=0, callbacks=callbacks).n_iter == 1
    assert calls == [1]


class TestProcess:
    def test_blas_threads_are_as_they_were(self) -> None:
        with threadpool_limits(3, user_api="blas"):
            before = _blas_threads()
            inside: list[list[int]] = []
            ewnmf.factorize(X, 3, rng=0, max_iter=2, callbacks=[lambda _: inside.append(_blas_threads())])
            assert inside == [before, before]
            assert _blas_threads() == before

    def test_a_callback_that_raises(self) -> None:
        def fail(_: Iteration) -> None:
            raise RuntimeError("mine")

        before = _blas_threads()
        with pytest.raises(RuntimeError, match="mine"):
            ewnmf.factorize(X, 3, rng=0, callbacks=[fail])
        assert _blas_threads() == before

    def test_two_fits_at_once(self) -> None:
        before = _blas_threads()
        answers: list[np.ndarray] = []

        def fit() -> None:
            answers.append(ewnmf.factorize(X, 3, gamma=0.1, rng=0, max_iter=60).codes)

        threads = [threading.Thread(target=fit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert _blas_threads() == before
        assert len(answers) == 4
        assert all(np.array_equal(answers[0], answer) for answer in answers)

    def test_overlapping_limits(self) -> None:
        before = _blas_threads()
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        assert set(_blas_threads()) <= {1}
        first.__exit__(None, None, None)
        assert set(_blas_threads()) <= {1}
        second.__exit__(None, None, None)
        assert _blas_threads() == before

    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
    def test_fit_fork_fit(self) -> None:
        big = np.tile(X, (200, 8))
        mine = _objective(big)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply_async(_objective, (big,)).get(timeout=120) == mine

    def test_one_thread_inside_a_joblib_worker(self) -> None:
        counts = joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(count_workers)(None) for _ in range(2))
        assert counts == [1, 1]
        assert count_workers(None) == joblib.cpu_count()
        assert count_workers(-1) == joblib.cpu_count()
        assert count_workers(5) == 5


def _objective(data: np.ndarray) -> float:
    return ewnmf.factorize(data, 3, gamma=0.1, rng=0, max_iter=3, n_jobs=2).objective


@pytest.mark.skipif(find_spec("sklearn.callback") is None, reason="scikit-learn has callbacks from version 1.9 on")
class TestScikitLearnCallbacks:
    def test_hooks(self) -> None:
        record = _Record()
        ewnmf.EWNMF(3, n_init=2, tol=0, max_iter=4, random_state=0).set_callbacks(record).fit(X)
        assert record.setups == record.teardowns == 1
        assert record.begun == record.ended
        assert record.ended == {"fit": 1, "start": 2, "iteration": 8}
        assert record.shapes == {(40, 3)}

    def test_stop(self) -> None:
        record = _Record(stop_at=2)
        model = ewnmf.EWNMF(3, gamma=0.1, tol=0, random_state=0).set_callbacks(record).fit(X)
        assert (model.stop_reason_, model.n_iter_) == ("callback", 3)

    def test_convergence_closes_the_task_begun(self) -> None:
        record = _Record()
        ewnmf.NMF(3, tol=1e-2, random_state=0).set_callbacks(record).fit(X)
        assert record.begun == record.ended

    def test_teardown_after_a_failure(self) -> None:
        record = _Record(fail=True)
        with pytest.raises(RuntimeError, match="callback failed"):
            ewnmf.NMF(3, random_state=0).set_callbacks(record).fit(X)
        assert record.teardowns == 1


class _Record:
    def __init__(self, stop_at: int | None = None, fail: bool = False) -> None:
        self.setups = self.teardowns = 0
        self.begun: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        self.shapes: set[tuple[int, ...]] = set()
        self.stop_at = stop_at
        self.fail = fail

    def setup(self, estimator: Any, context: Any) -> None:
        self.setups += 1

    def teardown(self, estimator: Any, context: Any) -> None:
        self.teardowns += 1

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.begun[context.task_name] = self.begun.get(context.task_name, 0) + 1

    def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any, fitted_estimator: Any) -> bool:
        if self.fail:
            raise RuntimeError("callback failed")
        self.ended[context.task_name] = self.ended.get(context.task_name, 0) + 1
        if context.task_name == "iteration" and fitted_estimator is not None:
            self.shapes.add(fitted_estimator.transform(X).shape)
        return context.task_name == "iteration" and context.task_id == self.stop_at
