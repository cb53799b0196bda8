"""Time per iteration on random data: the targets, the share of the machine's peak, and where the time goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import joblib
import numpy as np

from benchmarks.contenders import (
    GAMMA,
    ORDER,
    OTHER_ORDER,
    matrix_product,
    ours,
    plain_numpy,
    products_alone,
    scikit_learn,
)
from benchmarks.plan import Plan, Shape
from benchmarks.problems import Problem, random_problem, size
from benchmarks.report import Section, Table, Target, figures, milliseconds
from benchmarks.timing import Work, per_iteration

__all__ = ["section"]

ORDERS = (ORDER, OTHER_ORDER)
KL = "kullback-leibler"
SMALL_GAMMA = 1e-6
PLAIN, SKLEARN, SKLEARN_KL = "NumPy transcription", "scikit-learn mu, unweighted", "scikit-learn mu KL, unweighted"
PRODUCTS, ACCELERATED = "six products through NumPy", 'EWNMF, solver="accelerated"'
Times = Mapping[str, float]
PEAK = """\
The fastest float64 square product of this machine runs at {peak:.1f} GFLOP/s with as many threads. A weighted
iteration has six products of the full size, an unweighted one two; everything else an iteration does (weights,
exponentials, objective, sums) counts as nothing here."""
SPENT = """\
Through NumPy, in the same blocks and threads, the six products alone take {shares}; ours are cut smaller, which BLAS
is quicker at. The rest is the pass that turns `Y` into weights and pulls, and the sums over blocks."""


def variants(problem: Problem, name: str, **settings: Any) -> dict[str, Work]:
    """Ours in both orders."""
    return {f"{name}, {order}": ours(problem, order=order, **settings) for order in ORDERS}


def middle_times(plan: Plan) -> dict[str, float]:
    """Seconds per iteration of everything that is compared at the middle size."""
    problem = random_problem(*plan.middle)
    contenders = {
        **variants(problem, "EWNMF"),
        ACCELERATED: ours(problem, solver="accelerated"),
        PLAIN: plain_numpy(problem),
        SKLEARN: scikit_learn(problem),
        **variants(problem, "EW-KL", loss=KL),
        SKLEARN_KL: scikit_learn(problem, beta_loss=KL),
        **variants(problem.astype(np.float32), "EWNMF float32"),
        **variants(problem, f"EWNMF gamma={SMALL_GAMMA:g}", gamma=SMALL_GAMMA),
        f"{PLAIN} gamma={SMALL_GAMMA:g}": plain_numpy(problem, SMALL_GAMMA),
        PRODUCTS: products_alone(problem),
    }
    return per_iteration(contenders, plan.counts_middle, plan.rounds, pause=plan.pause)


def large_times(plan: Plan) -> dict[str, float]:
    """Seconds per iteration at the large size, with one thread and two, and of square products for the peak."""
    problem = random_problem(*plan.large)
    contenders = {
        **variants(problem, "EWNMF"),
        PLAIN: plain_numpy(problem),
        SKLEARN: scikit_learn(problem),
        PRODUCTS: products_alone(problem),
        **variants(problem, "EWNMF 1 thread", n_jobs=1),
        **variants(problem, "EWNMF 2 threads", n_jobs=2),
        **{_product(side): matrix_product(side) for side in plan.product_sides},
    }
    return per_iteration(contenders, plan.counts_large, plan.rounds, pause=plan.pause)


def _product(side: int) -> str:
    return f"product of {side} x {side}"


def _ratios(times: Times, above: str, below: str) -> tuple[float, str]:
    """``t(above) / t(below)`` in the default order, and the same in the other order as words; ``*`` is the order."""
    ratio, other = (times[above.replace("*", order)] / times[below.replace("*", order)] for order in ORDERS)
    return ratio, f"{OTHER_ORDER} {other:.2f}"


def _target(what: str, shape: Shape, times: Times, above: str, below: str, relation: str, bound: float) -> Target:
    ratio, other = _ratios(times, above, below)
    return Target(what, size(shape), ratio, relation, bound, beside=other)


def targets(plan: Plan, middle: Times, large: Times) -> list[Target]:
    """The figures to reach per iteration."""
    both = ((plan.middle, middle), (plan.large, large))
    small = f"EWNMF gamma={SMALL_GAMMA:g}, *"
    what_small = f"gamma = {SMALL_GAMMA:g} / gamma = {GAMMA:g}"
    threads = _target("one thread / two", plan.large, large, "EWNMF 1 thread, *", "EWNMF 2 threads, *", "at least", 1.7)
    return [
        *(
            _target("EWNMF / scikit-learn **unweighted** mu", shape, times, "EWNMF, *", SKLEARN, "at most", 3.0)
            for shape, times in both
        ),
        *(_target("transcription / EWNMF", shape, times, PLAIN, "EWNMF, *", "at least", 2.5) for shape, times in both),
        _target("EW-KL / scikit-learn **unweighted** KL mu", plan.middle, middle, "EW-KL, *", SKLEARN_KL, "below", 1.0),
        _target("float64 / float32", plan.middle, middle, "EWNMF, *", "EWNMF float32, *", "at least", 1.6),
        threads if joblib.cpu_count() > 1 else replace(threads, measured=None, beside="one core"),
        _target(what_small, plan.middle, middle, small, "EWNMF, *", "at most", 1.2),
    ]


def _peak(plan: Plan, large: Times) -> float:
    """The machine's peak in GFLOP/s."""
    return max(2 * side**3 / large[_product(side)] for side in plan.product_sides) / 1e9


def share_target(plan: Plan, middle: Times, large: Times) -> Target:
    """How near a weighted iteration comes to the peak."""
    (n, m, K), peak = plan.middle, _peak(plan, large)
    shares = {name: 12 * n * m * K / middle[name] / 1e7 / peak for name in (f"EWNMF, {ORDER}", PRODUCTS)}
    ours, products = shares.values()
    what = "EWNMF's products, share of the machine's peak"
    return Target(what, size(plan.middle), ours, "at least", 60, " %", f"{PRODUCTS} {products:.0f} %")


def peak_table(plan: Plan, middle: Times, large: Times) -> tuple[float, Table]:
    """The machine's peak in GFLOP/s, and how far ours is from it."""
    peak = _peak(plan, large)
    rows = []
    for (n, m, K), times in ((plan.middle, middle), (plan.large, large)):
        for name, flops in ((f"EWNMF, {ORDER}", 12), (PRODUCTS, 12), (PLAIN, 12), (SKLEARN, 4)):
            rate = flops * n * m * K / times[name] / 1e9
            rows.append([size((n, m, K)), name, f"{flops} n m K", figures(rate), f"{rate / peak:.0%}"])
    return peak, Table(["", "", "counted", "GFLOP/s", "of the peak"], rows, left=3)


def section(plan: Plan) -> Section:
    """Time per iteration."""
    middle, large = middle_times(plan), large_times(plan)
    peak, shares = peak_table(plan, middle, large)
    spent = {
        size(shape): times[PRODUCTS] / times[f"EWNMF, {ORDER}"]
        for shape, times in ((plan.middle, middle), (plan.large, large))
    }
    counts = [" and ".join(map(str, count)) for count in (plan.counts_middle, plan.counts_large)]
    return Section(
        "Time per iteration",
        [*targets(plan, middle, large), share_target(plan, middle, large)],
        [
            f"Milliseconds; best of {plan.rounds} rounds of {counts[0]} iterations ({counts[1]} at the larger size).",
            _times_table(size(plan.middle), middle),
            _times_table(size(plan.large), large),
            PEAK.format(peak=peak),
            shares,
            SPENT.format(shares=" and ".join(f"{share:.0%} of an iteration at {at}" for at, share in spent.items())),
        ],
    )


def _times_table(title: str, times: Times) -> Table:
    return Table([title, "ms"], [[name, milliseconds(seconds)] for name, seconds in times.items()])
