"""What a person waits for, against scikit-learn's NMF at its defaults: ``python -m benchmarks.defaults [--quick]``.

``--parts digits rest`` measures some of it: data sets by their names, and the rest.

CPU time at one thread decides; wall time at two threads stands beside it. A fit counts until it has reached what the
other one ends with: the number of iterations that takes is found first, and a fit of as many is timed.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import random_array
from sklearn.base import clone
from sklearn.decomposition import NMF as PEER
from sklearn.exceptions import ConvergenceWarning

from benchmarks.children import run_child
from benchmarks.contenders import ours, plain_numpy
from benchmarks.plan import FULL, QUICK, Plan
from benchmarks.problems import data_problem, random_problem, size
from benchmarks.report import SMOKE, Section, Table, Target, figures, target_table
from benchmarks.timing import best_times, per_iteration
from ewnmf import EWNMF, NMF
from ewnmf.solvers.registry import SOLVERS
from ewnmf.storage.threads import single_threaded_blas

__all__ = ["Case", "Times", "excesses", "iterations_to", "main", "multiplicative_codes", "section"]

Array = NDArray[Any]
Task = Callable[[], object]
SLACK = 1e-9
DEFAULT = "default"
REST = "rest"
MOST = 3
"""A run has this many times the iterations of the default to get where the other one ended."""
WORDS = """\
Ratios of CPU time at one thread, best of {rounds}, contenders taking turns; beside them those of wall time at two
threads, and seconds. Digits are scikit-learn's, every point is scaled to [0, 1]. scikit-learn's NMF runs at its
defaults (`solver="cd"`, `tol=1e-4`, `max_iter=200`), with its warnings about `max_iter` left out. A fit of ours counts
until its objective is no higher than what is named; the default solver is judged, and beside it stand the others and
the whole fit at the defaults, to where `tol` ends it."""


class Times(NamedTuple):
    """Seconds of every contender: CPU time at one thread, wall time at two."""

    cpu: Mapping[str, float]
    wall: Mapping[str, float]

    def ratio(self, name: str, of: str) -> float:
        """By CPU time."""
        return self.cpu[name] / self.cpu[of]

    def beside(self, name: str, of: str) -> str:
        """The ratio of wall times, and both CPU times."""
        seconds = f"{_short(self.cpu[name])} / {_short(self.cpu[of])}"
        return f"{self.wall[name] / self.wall[of]:.2f} at two threads; {seconds}"


def _short(seconds: float) -> str:
    return f"{figures(seconds)} s" if seconds >= 0.1 else f"{figures(1e3 * seconds)} ms"


@dataclass(frozen=True, eq=False)
class Case:
    """Data with its number of components, and scikit-learn's fit of it."""

    title: str
    X: Array
    K: int
    rounds: int
    peer: Any

    @classmethod
    def of(cls, title: str, X: Array, K: int, rounds: int) -> Case:
        """The case, scikit-learn's NMF fitted."""
        with quietly():
            return cls(title, X, K, rounds, PEER(K).fit(X))

    def times(self, tasks: Callable[[int], Mapping[str, Task]], repeat: int = 1) -> Times:
        """The seconds of the tasks that a number of threads makes."""
        return timed(tasks, self.rounds * repeat)


def timed(tasks: Callable[[int], Mapping[str, Task]], rounds: int) -> Times:
    """The seconds of the tasks that a number of threads makes, after one round that does not count."""
    with quietly():
        for task in tasks(1).values():
            task()
        with single_threaded_blas():
            cpu = best_times(tasks(1), rounds, clock=time.process_time)
        return Times(cpu, best_times(tasks(2), rounds))


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings that a run has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def iterations_to(model: Any, X: Any, goal: float) -> int | None:
    """After how many iterations the objective of a fit is no higher than `goal`; None where it never is."""
    with quietly():
        curve = clone(model).set_params(tol=0, max_iter=MOST * model.max_iter).fit(X).loss_curve_
        there = np.flatnonzero(curve <= goal + SLACK * abs(goal))
        if not there.size:
            return None
        count, short = int(there[0]) + 1, clone(model).set_params(tol=0)
        while short.set_params(max_iter=count).fit(X).objective_ > goal + SLACK * abs(goal):
            count += 1  # points that were given up are iterations, too, and not on the curve
        return count


def fit_times(case: Case, models: Mapping[str, Any], goal: float) -> tuple[Times, dict[str, int]]:
    """The seconds of scikit-learn's fit and of those that get to `goal`, and the iterations of these."""
    counts = {name: iterations_to(model, case.X, goal) for name, model in models.items()}
    reached = {name: count for name, count in counts.items() if count is not None}

    def tasks(threads: int) -> dict[str, Task]:
        fits = {
            name: partial(clone(models[name]).set_params(tol=0, max_iter=count, n_jobs=threads).fit, case.X)
            for name, count in reached.items()
        }
        return {"scikit-learn": partial(PEER(case.K).fit, case.X), **fits}

    return case.times(tasks), reached


def _with_solvers(model: Any) -> dict[str, Any]:
    """The model as it is, with every solver that takes it, and coordinate descent from scikit-learn's start, too."""
    found = {DEFAULT: model}
    for solver in SOLVERS:
        asked = clone(model).set_params(solver=solver, max_iter=2, tol=0)
        try:
            asked.fit(np.random.default_rng(0).random((9, 7)))
        except ValueError:
            continue
        found[solver] = clone(model).set_params(solver=solver)
        if SOLVERS[solver].coordinates:
            found[f"{solver}, nndsvda"] = clone(model).set_params(solver=solver, init="nndsvda")
    return found


def _fit_target(case: Case, what: str, bound: float, model: Any, goal: float) -> Target:
    times, counts = fit_times(case, _with_solvers(model), goal)
    ratios = {name: times.ratio(name, "scikit-learn") for name in counts}
    others = ", ".join(f"{name} {ratio:.2f} ({counts[name]} iterations)" for name, ratio in ratios.items())
    measured = ratios.get(DEFAULT, np.inf)
    reached = times.beside(DEFAULT, "scikit-learn") if DEFAULT in ratios else "never reached"
    return Target(what, case.title, measured, "at most", bound, beside=f"{reached}; {others}; {_whole(case, model)}")


def _whole(case: Case, model: Any) -> str:
    """The ratio of a fit at the defaults, and where it ends."""

    def tasks(threads: int) -> dict[str, Task]:
        mine = clone(model).set_params(n_jobs=threads)
        return {"scikit-learn": partial(PEER(case.K).fit, case.X), DEFAULT: partial(mine.fit, case.X)}

    times = case.times(tasks)
    with quietly():
        fit = clone(model).fit(case.X)
    return f"whole fit {times.ratio(DEFAULT, 'scikit-learn'):.2f} ({fit.n_iter_} iterations, {fit.stop_reason_})"


def plain_targets(case: Case) -> list[Target]:
    """Fit and codes of plain NMF."""
    error = float(case.peer.reconstruction_err_)
    fit = _fit_target(case, "`NMF.fit` to scikit-learn's error / its time", 1.2, NMF(case.K, random_state=0), error**2)
    with quietly():
        model = NMF(case.K, solver="mu", random_state=0).fit(case.X)
    peer = PEER(case.K)
    peer.components_, peer.n_components_, peer.n_features_in_ = model.components_, case.K, case.X.shape[1]
    peer._n_components = case.K

    def tasks(threads: int) -> dict[str, Task]:
        mine = clone_fitted(model, threads)
        return {"scikit-learn": partial(peer.transform, case.X), "NMF": partial(mine.transform, case.X)}

    times = case.times(tasks, 3)
    with quietly():
        errors = [float(np.linalg.norm(case.X - m.transform(case.X) @ model.components_)) for m in (model, peer)]
    ratio = times.ratio("NMF", "scikit-learn")
    beside = times.beside("NMF", "scikit-learn")
    return [
        fit,
        Target("`NMF.transform` / scikit-learn's, same components", case.title, ratio, "at most", 1.2, beside=beside),
        Target(
            "its error / scikit-learn's", case.title, errors[0] / errors[1], "at most", 1, beside=f"{errors[0]:.4f}"
        ),
    ]


def clone_fitted(model: Any, threads: int) -> Any:
    """The fitted model with another number of threads."""
    other = clone(model)
    vars(other).update(vars(model))
    return other.set_params(n_jobs=threads)


def multiplicative_codes(X: Array, components: Array, gamma: float, max_iter: int = 300, tol: float = 1e-5) -> Array:
    """Codes (n x K) by multiplicative steps, Eq. (21), each point until its ``E`` falls by `tol` of itself.

    From equal codes of the size of the point and uniform weights, as `transform` did before it solved least squares.
    """
    H = np.repeat(X.sum(axis=1, keepdims=True) / components.sum(), components.shape[0], axis=1)
    T, last, going = np.full(X.shape, 1 / X.shape[1]), np.full(len(X), np.inf), np.ones(len(X), dtype=bool)
    for _ in range(max_iter):
        Y = H[going] @ components
        H[going] *= (T[going] * X[going]) @ components.T / np.maximum((T[going] * Y) @ components.T, 1e-300)
        D = (X - H @ components) ** 2
        E = excesses(D, gamma)
        going &= ~(np.abs(last - E) <= tol * np.minimum(last, 1e300))
        if not going.any():
            break
        last, T = E, np.exp((D.min(axis=1, keepdims=True) - D) / gamma)
        T /= T.sum(axis=1, keepdims=True)
    return H


def excesses(D: Array, gamma: float) -> Array:
    """``E`` of every point (n) from the losses of its attributes (n x m)."""
    low = D.min(axis=1)
    E: Array = low - gamma * np.log(np.mean(np.exp((low[:, None] - D) / gamma), axis=1))
    return E


def weighted_targets(case: Case) -> list[Target]:
    """Fit and codes under entropy weights, gamma given and chosen."""
    with quietly():
        gamma = 4 * NMF(case.K, solver="mu", random_state=0).fit(case.X).reconstruction_err_ ** 2 / case.X.size
        model = EWNMF(case.K, gamma=gamma, solver="mu", tol=0, max_iter=300, random_state=0).fit(case.X)
        model.set_params(tol=EWNMF().tol, max_iter=EWNMF().max_iter)
    goal = EWNMF(case.K, gamma=gamma, random_state=0)
    what = "`EWNMF(gamma=g).fit` to `E` of 300 `mu` iterations / scikit-learn's `NMF.fit`"
    targets = [_fit_target(case, what, 2.5, goal, model.objective_)]

    def codes(threads: int) -> dict[str, Task]:
        mine, peer, one = clone_fitted(model, threads), case.peer, case.X[:1]
        return {
            "scikit-learn": partial(peer.transform, case.X),
            "EWNMF": partial(mine.transform, case.X),
            "scikit-learn, one": partial(peer.transform, one),
            "EWNMF, one": partial(mine.transform, one),
        }

    times = case.times(codes, 3)
    mine, before = (
        excesses((case.X - H @ model.components_) ** 2, gamma)
        for H in (model.transform(case.X), multiplicative_codes(case.X, model.components_, gamma))
    )
    share = float(np.quantile(mine / before, 0.99))
    for name, what, bound in (("EWNMF", "`EWNMF.transform`", 4.0), ("EWNMF, one", "the same, one point", 2.0)):
        peer = name.replace("EWNMF", "scikit-learn")
        target = Target(f"{what} / scikit-learn's NMF", case.title, times.ratio(name, peer), "at most", bound)
        targets.append(replace(target, beside=times.beside(name, peer)))
    what = "its `E` / that of multiplicative codes"
    return [
        *targets,
        Target(f"{what}, mean", case.title, float(mine.mean() / before.mean()), "at most", 1),
        Target(f"{what}, 99 % of the points", case.title, share, "at most", 1.001),
        _chosen_target(case),
    ]


def _chosen_target(case: Case) -> Target:
    def tasks(threads: int) -> dict[str, Task]:
        mine = EWNMF(case.K, n_jobs=threads, random_state=0)
        return {"scikit-learn": partial(PEER(case.K).fit, case.X), "EWNMF": partial(mine.fit, case.X)}

    times = timed(tasks, 1)
    what, ratio = "`EWNMF.fit`, gamma chosen / scikit-learn's `NMF.fit`", times.ratio("EWNMF", "scikit-learn")
    return Target(what, case.title, ratio, "at most", 8, beside=times.beside("EWNMF", "scikit-learn"))


def small_target(plan: Plan) -> Target:
    """An iteration on a small problem against plain NumPy's."""
    problem, where = random_problem(*plan.small), size(plan.small)
    contenders = {"EWNMF": ours(problem, n_jobs=1), "NumPy": plain_numpy(problem)}
    with single_threaded_blas():
        times = per_iteration(contenders, plan.counts_small, plan.rounds, clock=time.process_time)
    beside = ", ".join(f"{name} {1e6 * seconds:.0f} us" for name, seconds in times.items())
    ratio = times["EWNMF"] / times["NumPy"]
    return Target("EWNMF's iteration / plain NumPy's, one thread", where, ratio, "at most", 1, beside=beside)


def sparse_targets(plan: Plan) -> list[Target]:
    """Sparse data: iterations against scikit-learn's, and an infinite gamma against plain NMF."""
    n, m, K = plan.sparse
    X = random_array((n, m), density=0.01, format="csr", random_state=np.random.default_rng(0))
    start = {"W": np.random.default_rng(1).random((n, K)) + 0.1, "H": np.random.default_rng(2).random((K, m)) + 0.1}

    def work(model: Any, count: int) -> object:
        with quietly():
            return model.set_params(max_iter=count).fit(X, **{name: part.copy() for name, part in start.items()})

    same: dict[str, Any] = {"init": "custom", "tol": 0, "solver": "mu"}
    fits = {
        "NMF": partial(work, NMF(K, n_jobs=1, **same)),
        "EWNMF": partial(work, EWNMF(K, gamma=np.inf, n_jobs=1, **same)),
    }

    def peer(count: int) -> object:
        with quietly():
            return PEER(K, max_iter=count, **same).fit_transform(X, **{k: part.copy() for k, part in start.items()})

    with single_threaded_blas():
        each = per_iteration({**fits, "scikit-learn": peer}, plan.counts_sparse, plan.rounds, clock=time.process_time)
        fitted = {name: task(2).set_params(max_iter=300, tol=1e-5) for name, task in fits.items()}  # type: ignore[attr-defined]
        codes = {name: partial(model.transform, X[: n // 10]) for name, model in fitted.items()}
        transforms = best_times(codes, plan.rounds, clock=time.process_time)
    where = f"sparse, {size(plan.sparse)}"
    seconds = ", ".join(f"{name} {figures(1e3 * value)} ms" for name, value in each.items())
    what = "`EWNMF(gamma=inf)` / `NMF`"
    return [
        Target(
            "NMF's iteration / scikit-learn mu's",
            where,
            each["NMF"] / each["scikit-learn"],
            "at most",
            1,
            beside=seconds,
        ),
        Target(f"{what}, iteration", where, each["EWNMF"] / each["NMF"], "at most", 1.05),
        Target(f"{what}, transform", where, transforms["EWNMF"] / transforms["NMF"], "at most", 1.05),
    ]


def help_target(plan: Plan) -> Target:
    """Seconds until the command has said what it can do."""
    script = "import subprocess, sys, time; t = time.perf_counter(); "
    script += "subprocess.run([sys.executable, '-m', 'ewnmf', '--help'], capture_output=True, check=True); "
    script += "print(time.perf_counter() - t)"
    seconds = min(float(run_child("-c", script)) for _ in range(plan.children))
    return Target("`ewnmf --help`", "cold start", seconds, "below", 0.3, " s")


def section(plan: Plan, parts: Sequence[str] = ()) -> Section:
    """Every figure, or those of some `parts`, data set by data set; data that is not there is skipped by name."""
    targets: list[Target] = []
    words = [WORDS.format(rounds=plan.rounds)]
    for name, title, K in plan.defaults:
        if parts and name not in parts:
            continue
        try:
            problem = data_problem(name, K, download=plan.download, limit=100 if plan.quick else None)
        except (OSError, ImportError) as error:
            print(f"{title} is skipped: {error}", file=sys.stderr)
            words.append(f"{title} is skipped: it is not here.")
            continue
        case = Case.of(f"{title}, K {K}", problem.X, K, plan.rounds)
        targets += [*plain_targets(case), *weighted_targets(case)]
    if not parts or REST in parts:
        targets += [small_target(plan), *sparse_targets(plan), help_target(plan)]
    rows = [[target.what, target.where, target.row()[2], target.beside] for target in targets]
    return Section("Defaults, against scikit-learn's", targets, [*words, Table(["", "where", "", ""], rows, left=4)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the targets."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.defaults", description="Fits and codes at the defaults."
    )
    options.add_argument("--quick", action="store_true", help="tiny problems: does everything run?")
    names = [name for name, _, _ in FULL.defaults]
    options.add_argument("--parts", nargs="+", default=[], choices=[*names, REST], help="data sets, and the rest")
    asked = options.parse_args(arguments)
    found = section(QUICK if asked.quick else FULL, asked.parts)
    print(*([SMOKE, ""] if asked.quick else []), target_table([found]).markdown(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
