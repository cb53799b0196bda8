"""How the time of an iteration grows with points, attributes and components."""

from __future__ import annotations

from benchmarks import pictures
from benchmarks.contenders import ORDER, OTHER_ORDER, ours
from benchmarks.plan import Plan, Shape
from benchmarks.problems import random_problem, size
from benchmarks.report import Section, Table, Target, milliseconds
from benchmarks.timing import per_iteration

__all__ = ["section"]

AXES = ("n", "m", "K")


def shapes_along(plan: Plan) -> dict[str, list[Shape]]:
    """The middle size with one of its numbers changed, by the name of that number."""
    n, m, K = plan.middle
    return {
        "n": [(value, m, K) for value in plan.growth_n],
        "m": [(n, value, K) for value in plan.growth_m],
        "K": [(n, m, value) for value in plan.growth_K],
    }


def doubled(shape: Shape, axis: str) -> Shape:
    """`shape` with one number doubled."""
    n, m, K = (value * (1 + (name == axis)) for name, value in zip(AXES, shape, strict=True))
    return n, m, K


def section(plan: Plan) -> Section:
    """Doubling n, m or K from the middle size, and the whole curves."""
    along = shapes_along(plan)
    wanted = {
        plan.middle,
        *(doubled(plan.middle, axis) for axis in AXES),
        *(s for line in along.values() for s in line),
    }
    problems = {shape: random_problem(*shape) for shape in sorted(wanted)}
    contenders = {(ORDER, shape): ours(problem) for shape, problem in problems.items()}
    for shape in (plan.middle, *(doubled(plan.middle, axis) for axis in AXES)):
        contenders[OTHER_ORDER, shape] = ours(problems[shape], order=OTHER_ORDER)
    times = per_iteration(contenders, plan.counts_large, plan.rounds, pause=plan.pause)

    def ratio(order: str, axis: str) -> float:
        return times[order, doubled(plan.middle, axis)] / times[order, plan.middle]

    targets = [
        Target(
            f"time when {axis} doubles",
            f"from {size(plan.middle)}",
            ratio(ORDER, axis),
            "at most",
            2.3,
            beside=f"{OTHER_ORDER} {ratio(OTHER_ORDER, axis):.2f}",
        )
        for axis in AXES
    ]
    curves = {axis: [(shape[AXES.index(axis)], times[ORDER, shape]) for shape in line] for axis, line in along.items()}
    rows = [
        [size(shape), milliseconds(times[ORDER, shape]), f"{1e9 * times[ORDER, shape] / _work(shape):.3f}"]
        for shape in problems
    ]
    words = f"EWNMF, {ORDER}; the last column would be constant if only the matrix products counted."
    table = Table(["", "ms per iteration", "ns per n m K"], rows)
    return Section("Growth", targets, [words, table, *pictures.growth(curves)])


def _work(shape: Shape) -> int:
    n, m, K = shape
    return n * m * K
