"""The driver: estimators, `factorize` and the trials of a choice go one way from points to a solution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.fitting import pipeline
from ewnmf.fitting.checks import GammaRequest
from ewnmf.fitting.pipeline import Job, Settings, restarts
from ewnmf.fitting.points import Points
from ewnmf.fitting.starts import Starts, draw_start
from ewnmf.models.base import Factors
from ewnmf.problem import Problem
from ewnmf.solvers.loop import Interrupted, Solution

SRC = Path(ewnmf.__file__).parent
QUICK: dict[str, Any] = {"max_iter": 5, "tol": 0, "random_state": 0}
WAYS: dict[str, Callable[[Any], Any]] = {
    "estimator": lambda X: ewnmf.NMF(3, n_init=2, **QUICK).fit(X),
    "auto": lambda X: ewnmf.EWNMF(3, n_init=2, **QUICK).fit(X),
    "cv": lambda X: ewnmf.EWNMF("cv", **QUICK).fit(X),
    "factorize": lambda X: ewnmf.factorize(X, 3, max_iter=5, rng=0),
    "gamma_path": lambda X: ewnmf.gamma_path(X, 3, **QUICK),
    "select_rank": lambda X: ewnmf.select_rank(X, [1, 2], repeats=2, random_state=0),
}


def data() -> np.ndarray:
    return np.random.default_rng(0).random((40, 3)) @ np.random.default_rng(1).random((3, 8)) + 0.01


def job(**settings: Any) -> Job:
    X = data()
    points = Points(X, s=np.arange(40.0) % 4)
    return Job.of(Problem.of(), points, Settings(max_iter=8, **settings), np.empty((0, 8)), GammaRequest(1.0))


def starts(job: Job, count: int = 3) -> list[Factors]:
    return [draw_start(job.problem, job.points.X, 3, Starts(), np.random.default_rng(seed)) for seed in range(count)]


def never(job: Job, start: Factors) -> Solution:
    raise AssertionError("nothing is to be chosen")


@pytest.mark.parametrize("way", WAYS)
def test_every_run_of_the_core_is_one_of_a_job(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count = {"of jobs": 0, "of the core": 0}

    def counted(what: str, function: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            count[what] += 1
            return function(*given, **named)

        return call

    monkeypatch.setattr(Job, "run", counted("of jobs", Job.run))
    monkeypatch.setattr(pipeline, "solve", counted("of the core", vars(pipeline)["solve"]))
    WAYS[way](data())
    assert count["of jobs"] == count["of the core"] > 0


@pytest.mark.parametrize(
    ("what", "where"),
    [
        (" solve(\n", ["fitting/pipeline.py"]),
        ("restarts(", ["choosing/rank.py", "estimators/base.py", "factorization.py", "fitting/pipeline.py"]),
        (".excess <", ["fitting/pipeline.py"]),
        ("unit.back(", ["fitting/pipeline.py"]),
        ("unit.watching(", ["fitting/pipeline.py"]),
    ],
)
def test_there_is_one_of_each(what: str, where: list[str]) -> None:
    """The loop is called, starts are compared and results are translated in one place."""
    files = [path for path in SRC.rglob("*.py") if path.name != "loop.py"]
    found = [path for path in files if what in path.read_text(encoding="utf-8")]
    assert sorted(path.relative_to(SRC).as_posix() for path in found) == where


def test_the_best_start_is_kept() -> None:
    task = job()
    found = [task.run(start).excess for start in starts(task)]
    assert len(set(found)) == 3
    assert restarts(task, starts(task), never).excess == min(found)


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_an_interrupt_carries_the_best_so_far(turn: int) -> None:
    calls = 0

    def stop(at: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 8 * turn + 3:
            raise KeyboardInterrupt

    task = job(callbacks=[stop])
    with pytest.raises(Interrupted) as caught:
        restarts(task, starts(task), never)
    whole = [task.unwatched().run(start).excess for start in starts(task)[:turn]]
    part = Job.run(job(callbacks=[lambda at: at.number == 3]), starts(task)[turn]).excess
    assert caught.value.solution.excess == min([*whole, part])
    assert caught.value.solution.reason == ("interrupted" if part < min([*whole, np.inf]) else "max_iter")


def test_results_are_for_all_points_in_their_own_unit() -> None:
    X, counted = data() * 2.0**30, np.arange(40) % 4 > 0
    points = Points(X, s=np.arange(40.0) % 4)
    task = Job.of(Problem.of(), points, Settings(max_iter=8), np.ones((1, 8)) * 2.0**30, GammaRequest(1.0))
    np.testing.assert_array_equal(task.points.X, data()[counted] * 2.0**30 * task.unit.value)
    solution = task.run(starts(task, 1)[0])
    back = task.back(solution)
    np.testing.assert_array_equal(back.factors.H[:, counted], solution.factors.H)
    assert not back.factors.H[:, ~counted].any()
    np.testing.assert_array_equal(back.factors.W, solution.factors.W / task.unit.value)
    np.testing.assert_array_equal(back.factors.W[:, 0], 2.0**30)
    assert back.loss == solution.loss / task.unit.value**2
