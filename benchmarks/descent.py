"""Time to the same objective: how long the transcription takes for its iterations, and we to the ``E`` it reaches."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice

from benchmarks import pictures, transcription
from benchmarks.contenders import ORDER, ours, paper_orientation
from benchmarks.plan import DataRun, Plan
from benchmarks.problems import Problem, data_problem, size
from benchmarks.report import Section, Table, Target, figures
from benchmarks.timing import best_times
from ewnmf import Factorization
from ewnmf.solvers.loop import Iteration

__all__ = ["Race", "curves", "race", "section"]

PLAIN = "NumPy transcription"
SOLVERS = ("mu", "accelerated")
SLACK = 1e-9
WORDS = """\
`E` is the objective above its bound. The transcription makes {iterations} iterations; ours run from the same start,
order {order}, until their `E` is no higher. The target is judged by the faster of both solvers; `EWNMF` takes the
accelerated one by itself. Steps that it took back are in its time and not in its iterations. Best of so many runs
(transcription and ours): {rounds}."""
Curve = list[tuple[float, float]]


@dataclass(frozen=True)
class Race:
    """Seconds of the transcription, the ``E`` it reaches, and seconds and iterations of each solver to the same.

    A solver that did not get there within the iterations it had has None for its seconds.
    """

    gamma: float
    plain: float
    excess: float
    solvers: Mapping[str, tuple[float | None, int]]

    def ratio(self, solver: str) -> float:
        """How many times faster a solver was; 0 if it did not get there."""
        seconds = self.solvers[solver][0]
        return 0.0 if seconds is None else self.plain / seconds

    @property
    def best(self) -> float:
        """The ratio of the faster solver."""
        return max(map(self.ratio, self.solvers))

    def words(self, solver: str) -> str:
        """The ratio, or that there is none."""
        return f"{solver} {self.ratio(solver):.2f}" if self.solvers[solver][0] is not None else f"{solver}: not reached"


def race(problem: Problem, gamma: float, data: DataRun, plan: Plan) -> Race:
    """Run the transcription for its iterations, then every solver until its ``E`` is no higher; several rounds."""
    X, W, H = paper_orientation(problem)
    goal = [0.0]
    reached: dict[str, Factorization] = {}

    def plain() -> None:
        factors = transcription.run(X, W, H, gamma, plan.iterations)
        goal[0] = transcription.excess(X, *factors, gamma)

    def to_goal(solver: str) -> None:
        work = ours(problem, gamma=gamma, solver=solver, callbacks=[lambda seen: seen.excess <= goal[0] * (1 + SLACK)])
        answer = work(plan.most_iterations)
        assert isinstance(answer, Factorization)
        reached[solver] = answer

    for solver in SOLVERS:
        ours(problem, gamma=gamma, solver=solver)(2)
    tasks = {solver: partial(to_goal, solver) for solver in SOLVERS}
    times = best_times({PLAIN: plain, **tasks}, data.rounds_plain, pause=plan.pause)
    more = best_times(tasks, data.rounds_ours - data.rounds_plain, pause=plan.pause)
    solvers = {
        solver: (min(times[solver], more[solver]) if answer.reason == "callback" else None, answer.n_iter)
        for solver, answer in reached.items()
    }
    return Race(gamma, times[PLAIN], goal[0], solvers)


def curves(problem: Problem, gamma: float, n_iter: int) -> dict[str, Curve]:
    """``(seconds, E)`` after every iteration of the transcription and both solvers; its ``E`` is not on the clock."""
    X, W, H = paper_orientation(problem)
    plain: Curve = []
    spent, started = 0.0, time.perf_counter()
    for factors in islice(transcription.iterate(X, W, H, gamma), n_iter):
        spent += time.perf_counter() - started
        plain.append((spent, transcription.excess(X, *factors, gamma)))
        started = time.perf_counter()
    return {PLAIN: plain, **{f"EWNMF {solver}": _our_curve(problem, gamma, solver, n_iter) for solver in SOLVERS}}


def _our_curve(problem: Problem, gamma: float, solver: str, n_iter: int) -> Curve:
    curve: Curve = []
    started = time.perf_counter()

    def watch(seen: Iteration) -> None:
        curve.append((time.perf_counter() - started, seen.excess))

    ours(problem, gamma=gamma, solver=solver, callbacks=[watch])(n_iter)
    return curve


def section(plan: Plan) -> Section:
    """Races on every data set that is there, and the curves of one."""
    targets, rows, shown, absent = [], [], {}, []
    for data in plan.data:
        try:
            problem = data_problem(data.name, data.K, download=plan.download, limit=data.limit)
        except (OSError, ImportError) as error:
            print(f"{data.title} is skipped: {error}", file=sys.stderr)
            absent.append(f"{data.title} is skipped: its data could not be read (`--download` gets it).")
            targets += [_target(data, gamma, None, data.title) for gamma in plan.gammas]
            continue
        where = f"{data.title}, {size((*problem.X.shape, problem.K))}"
        for gamma in plan.gammas:
            result = race(problem, gamma, data, plan)
            targets.append(_target(data, gamma, result, where))
            rows += _rows(data, result, plan)
        if data.name == plan.curves_of:
            shown = {gamma: curves(problem, gamma, plan.iterations) for gamma in plan.gammas}
            title = where
    rounds = [f"{data.title} {data.rounds_plain} and {data.rounds_ours}" for data in plan.data]
    words = WORDS.format(iterations=plan.iterations, order=ORDER, rounds=", ".join(rounds))
    head = ["", "gamma", "", "iterations", "s", "transcription / it"]
    table = [Table(head, rows, left=3)] if rows else []
    parts = [words, *table, *absent, *(pictures.descent(shown, title) if shown else ())]
    return Section("Time to the same objective", targets, parts)


def _target(data: DataRun, gamma: float, result: Race | None, where: str) -> Target:
    return Target(
        "transcription's time / our time to the same `E`",
        f"{where}, gamma {gamma:g}",
        None if result is None else result.best,
        "at least",
        data.at_least,
        beside="" if result is None else ", ".join(map(result.words, SOLVERS)),
    )


def _rows(data: DataRun, result: Race, plan: Plan) -> list[list[str]]:
    first = [data.title, f"{result.gamma:g}", PLAIN, str(plan.iterations), figures(result.plain), "1"]
    rest = [
        [
            data.title,
            f"{result.gamma:g}",
            f"EWNMF {solver}",
            str(count) if seconds is not None else f"not in {count}",
            "-" if seconds is None else figures(seconds),
            "-" if seconds is None else f"{result.ratio(solver):.2f}",
        ]
        for solver, (seconds, count) in result.solvers.items()
    ]
    return [first, *rest]
