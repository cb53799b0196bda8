"""Small problems and single points: they must not pay for threads and blocks."""

from __future__ import annotations

import warnings

from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks.contenders import GAMMA, ORDER, OTHER_ORDER, ours, plain_numpy, scikit_learn
from benchmarks.plan import Plan
from benchmarks.problems import random_problem, size
from benchmarks.report import Section, Table, milliseconds
from benchmarks.timing import best_times, per_iteration
from ewnmf import EWNMF

__all__ = ["section", "transform_times"]

OURS = f"EWNMF, {ORDER}"
FIT_ITERATIONS = 20


def transform_times(plan: Plan) -> dict[str, float]:
    """Seconds for the codes of one point, components of the middle size, each package with its own defaults."""
    problem = random_problem(*plan.middle)
    point, start = problem.X[:1], {"W": problem.codes, "H": problem.components}
    models = {
        "EWNMF": EWNMF(problem.K, gamma=GAMMA, init="custom", tol=0, max_iter=FIT_ITERATIONS),
        "scikit-learn mu, unweighted": NMF(problem.K, solver="mu", init="custom", tol=0, max_iter=FIT_ITERATIONS),
    }
    for model in models.values():
        model.fit_transform(problem.X, **{name: part.copy() for name, part in start.items()})
        usual = type(model)()
        model.set_params(tol=usual.tol, max_iter=usual.max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tasks = {name: lambda model=model: model.transform(point) for name, model in models.items()}
        return best_times(tasks, 5 * plan.rounds, pause=plan.pause)


def section(plan: Plan) -> Section:
    """Iterations on a small problem, and one point's codes."""
    problem = random_problem(*plan.small)
    contenders = {
        OURS: ours(problem),
        f"EWNMF, {OTHER_ORDER}": ours(problem, order=OTHER_ORDER),
        "NumPy transcription": plain_numpy(problem),
        "scikit-learn mu, unweighted": scikit_learn(problem),
    }
    times = per_iteration(contenders, plan.counts_small, plan.rounds, pause=plan.pause)
    rows = [[name, milliseconds(seconds), f"{seconds / times[OURS]:.2f}"] for name, seconds in times.items()]
    one = transform_times(plan)
    single = [[name, milliseconds(seconds)] for name, seconds in one.items()]
    _, m, K = plan.middle
    return Section(
        "Small problems and single points",
        (),
        [
            Table([size(plan.small), "ms per iteration", "relative to EWNMF"], rows),
            f"`transform` of one point ({m} attributes, K {K}), each estimator with its default `tol` and `max_iter`:",
            Table(["", "ms"], single),
        ],
    )
