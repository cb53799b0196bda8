"""From stored rows to figures that can be compared: which runs count, protocols, spread, paired differences.

A *run* is one start on one set of points, ``(k, draw, seed)``; all methods share it. A *view* is what k-means saw.
Where a protocol picks by label (a gamma, or one of several tries), it picks by ACC of the view at hand; the NMI
reported is that of the same pick.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ewnmf.experiments.protocol.paper import GAMMAS, ITERATIONS
from ewnmf.experiments.protocol.plan import FACES_GAMMA, PLAIN
from ewnmf.experiments.protocol.spec import RULES

if TYPE_CHECKING:
    from ewnmf.experiments.protocol.spec import Row

__all__ = [
    "MAIN",
    "MEASURES",
    "METHODS",
    "PROTOCOLS",
    "VIEWS",
    "Experiment",
    "Gap",
    "Protocol",
    "Result",
    "Spread",
    "compare",
    "experiment",
    "gap_of",
    "results",
    "spread",
    "tabulated",
]

Run = tuple[int, int | None, int]
Try = int | float | str
Scores = dict[Run, tuple[float, float]]
Tried = dict[Run, dict[Try, tuple[float, float]]]

METHODS = {
    "nmf": "NMF",
    "onmf-codes": "ONMF of codes",
    "onmf-components": "ONMF of components",
    "semi-nmf": "Semi-NMF",
    "convex-nmf": "Convex-NMF",
    "ewnmf": "EWNMF",
}
"""Method of `Spec` -> its title."""

MEASURES = ("ACC", "NMI")
VIEWS = {
    "raw_1": "raw codes, 1 start",
    "raw_10": "raw codes, 10 starts",
    "unit_10": "unit codes, 10 starts",
}
"""View (the ending of a figure's name) -> what k-means saw, and how often it was started."""

MAIN = "raw_1"
"""The view of figures and verdicts: the codes as they are, as in the paper, and one start, MATLAB's default."""


@dataclass(frozen=True)
class Protocol:
    """A way to turn the stored runs of a method into one score per run."""

    label: str
    method: str
    pick: str
    """``"first"``, ``"best"`` per run by label, ``"one"`` gamma for all runs by label, or a rule."""


PROTOCOLS: dict[str, Protocol] = {
    "nmf": Protocol("NMF", "nmf", "first"),
    "nmf-best": Protocol("NMF, best of as many tries", "nmf", "best"),
    "onmf-codes": Protocol("ONMF of codes", "onmf-codes", "first"),
    "onmf-components": Protocol("ONMF of components", "onmf-components", "first"),
    "semi-nmf": Protocol("Semi-NMF", "semi-nmf", "first"),
    "convex-nmf": Protocol("Convex-NMF", "convex-nmf", "first"),
    "ewnmf-best": Protocol("EWNMF, best gamma per run", "ewnmf", "best"),
    "ewnmf-one": Protocol("EWNMF, one gamma for all", "ewnmf", "one"),
    **{f"ewnmf-{rule}": Protocol(f'EWNMF, gamma="{rule}"', "ewnmf", rule) for rule in RULES},
}


@dataclass(frozen=True)
class Experiment:
    """The rows of one data set that are comparable: method -> try (gamma, or number of the start) -> run -> row."""

    dataset: str
    iterations: int
    rows: Mapping[str, Mapping[Try, Mapping[Run, Row]]]
    grid: Sequence[float] = GAMMAS

    @cached_property
    def gammas(self) -> list[float]:
        """The gammas of the grid that count, ascending.

        Where not all runs have the same ones, those that leave the most gammas times runs that have all of them.
        """
        tried: dict[Run, set[float]] = defaultdict(set)
        for gamma in self.grid:
            for run in self.rows.get("ewnmf", {}).get(gamma, {}):
                tried[run].add(gamma)
        sets = list(tried.values())
        return sorted(
            max(sets, key=lambda each: (len(each) * sum(each <= other for other in sets), len(each)), default=())
        )

    @property
    def shown(self) -> float | str | None:
        """The gamma of Figs. 10 and 11; else the first rule that has runs."""
        known: tuple[float | str, ...] = (FACES_GAMMA, *RULES)
        return next((gamma for gamma in known if gamma in self.rows.get("ewnmf", {})), None)

    def tries(self, method: str) -> list[Try]:
        """What a pick by label chooses from: the gammas, and for NMF as many starts."""
        return list(self.gammas) if method == "ewnmf" else list(range(len(self.gammas)))

    def scores(self, method: str, attempt: Try, view: str) -> Scores:
        """Run -> (ACC, NMI) of one try."""
        found = self.rows.get(method, {}).get(attempt, {})
        return {run: _pair(row, view) for run, row in found.items() if f"acc_{view}" in row.figures}

    def complete(self, method: str, view: str) -> Tried:
        """Run -> try -> (ACC, NMI), for the runs that have every try."""
        tries = {attempt: self.scores(method, attempt, view) for attempt in self.tries(method)}
        runs = set.intersection(*map(set, tries.values())) if tries else set()
        return {run: {attempt: scores[run] for attempt, scores in tries.items()} for run in runs}


def experiment(rows: Iterable[Row], dataset: str, *, draws: bool, occluded: float = 0.0) -> Experiment:
    """The rows of a data set, whole or in draws of categories, at 300 iterations if there are any, else at the most.

    Runs that have some of the gammas that count, but not all, are left out: they were cut short, or made for
    something else. Of draws only EWNMF is: those without all the other methods, which Figs. 5 to 9 compare, do not
    count at all. A rule of choosing gamma has to have half of the runs, because means are over those that all have.
    """
    found = [
        row
        for row in rows
        if row.spec.dataset == dataset
        and (row.spec.draw is not None) == draws
        and row.spec.occluded == occluded
        and row.spec.method != "none"
        and row.spec.loss == "euclidean"
    ]
    if draws:
        methods = defaultdict(set)
        for row in found:
            methods[_run(row)].add(row.spec.method)
        found = [row for row in found if methods[_run(row)].issuperset(PLAIN)]
    return _without_rare_rules(_without_parts(tabulated(dataset, found), draws=draws))


def _without_rare_rules(found: Experiment) -> Experiment:
    """Without the runs of rules that have few of those that count."""
    tries = found.rows.get("ewnmf", {})
    counted = set(found.rows.get("nmf", {}).get(0, {}))
    if found.gammas:
        counted &= set(tries[found.gammas[0]])
    rare = {rule for rule in RULES if rule in tries and 2 * len(counted & set(tries[rule])) < len(counted)}
    return _without(found, lambda method, attempt: tries[attempt] if attempt in rare else ())


def tabulated(dataset: str, found: Sequence[Row], grid: Sequence[float] = GAMMAS) -> Experiment:
    """Rows of runs that differ in nothing but what an `Experiment` tells apart, and iterations."""
    counts = {row.spec.max_iter for row in found}
    iterations = ITERATIONS if ITERATIONS in counts else max(counts, default=0)
    table: dict[str, dict[Try, dict[Run, Row]]] = defaultdict(lambda: defaultdict(dict))
    for row in found:
        spec = row.spec
        if spec.max_iter == iterations and (spec.gamma is None or spec.attempt == 0):
            attempt = spec.attempt if spec.gamma is None else spec.gamma
            table[spec.method][attempt][_run(row)] = row
    return Experiment(dataset, iterations, {method: dict(tries) for method, tries in table.items()}, grid)


def _run(row: Row) -> Run:
    return row.spec.k, row.spec.draw, row.spec.seed


def _without_parts(found: Experiment, *, draws: bool) -> Experiment:
    """The experiment without the runs that have some of its gammas, but not all; of draws without EWNMF's there."""
    counts = Counter(run for gamma in found.gammas for run in found.rows["ewnmf"][gamma])
    parts = {run for run, count in counts.items() if count < len(found.gammas)}

    def unwanted(method: str, attempt: Try) -> Collection[Run]:
        return parts if not draws or (method == "ewnmf" and attempt in found.gammas) else ()

    return _without(found, unwanted)


def _without(found: Experiment, unwanted: Callable[[str, Try], Collection[Run]]) -> Experiment:
    """The experiment without some runs of each method and try."""
    rows = {
        method: {
            attempt: {run: row for run, row in runs.items() if run not in unwanted(method, attempt)}
            for attempt, runs in by_try.items()
        }
        for method, by_try in found.rows.items()
    }
    kept = {method: {attempt: runs for attempt, runs in by_try.items() if runs} for method, by_try in rows.items()}
    return replace(found, rows={method: by_try for method, by_try in kept.items() if by_try})


@dataclass(frozen=True)
class Result:
    """One score per run under a protocol, and what was picked (a gamma or a try) for each run."""

    protocol: str
    scores: Scores
    picks: Mapping[Run, Try]

    def values(self, measure: str, k: int | None = None) -> list[float]:
        """ACC or NMI of every run, or of those with `k` clusters."""
        at = MEASURES.index(measure)
        return [score[at] for run, score in self.scores.items() if k is None or run[0] == k]

    @property
    def clusters(self) -> list[int]:
        """The numbers of clusters that were run."""
        return sorted({run[0] for run in self.scores})


def results(found: Experiment, view: str, protocols: Iterable[str] = tuple(PROTOCOLS)) -> dict[str, Result]:
    """Every protocol that has runs, on the runs that all of these have, so that nobody got the easier ones."""
    tried = {name: _tried(found, PROTOCOLS[name], view) for name in protocols}
    present = {name: table for name, table in tried.items() if table}
    shared = set.intersection(*map(set, present.values())) if present else set()
    runs = sorted(shared, key=_order)
    return {name: _result(name, {run: table[run] for run in runs}) for name, table in present.items() if runs}


def _tried(found: Experiment, protocol: Protocol, view: str) -> Tried:
    """Run -> try -> (ACC, NMI) of what the protocol picks from."""
    if protocol.pick in ("best", "one"):
        return found.complete(protocol.method, view)
    attempt: Try = 0 if protocol.pick == "first" else protocol.pick
    return {run: {attempt: score} for run, score in found.scores(protocol.method, attempt, view).items()}


def _result(name: str, tried: Tried) -> Result:
    if PROTOCOLS[name].pick == "one":
        attempts = next(iter(tried.values()))
        one = max(attempts, key=lambda attempt: np.mean([scores[attempt][0] for scores in tried.values()]))
        picks = dict.fromkeys(tried, one)
    else:
        picks = {run: max(scores, key=lambda attempt: scores[attempt][0]) for run, scores in tried.items()}
    return Result(name, {run: tried[run][picks[run]] for run in tried}, picks)


def _pair(row: Row, view: str) -> tuple[float, float]:
    return row.figures[f"acc_{view}"], row.figures[f"nmi_{view}"]


def _order(run: Run) -> tuple[int, ...]:
    return tuple(-1 if part is None else part for part in run)


@dataclass(frozen=True)
class Spread:
    """Mean, standard deviation (ddof 1; NaN for a single value) and number of values."""

    mean: float
    deviation: float
    count: int

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 where one value has none."""
        return self.deviation / float(np.sqrt(self.count)) if self.count > 1 else 0.0


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else np.nan, len(values))


@dataclass(frozen=True)
class Gap:
    """Mean difference over the same runs with its 95 % interval and p-value (paired t); NaN for a single run."""

    mean: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    count: int

    @property
    def clear(self) -> int:
        """1 or -1 where the interval lies above or below 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def compare(ours: Result, theirs: Result, measure: str, k: int | None = None) -> Gap | None:
    """Paired difference ``ours - theirs`` over the runs that both have; None if there are none.

    A paired t test, because the claims are about means and the interval of the mean is that of the same test;
    the signed-rank test could not fall below p = 0.05 with five runs or fewer.
    """
    at = MEASURES.index(measure)
    runs = [run for run in ours.scores if run in theirs.scores and (k is None or run[0] == k)]
    if not runs:
        return None
    return gap_of([ours.scores[run][at] - theirs.scores[run][at] for run in runs])


def gap_of(differences: ArrayLike) -> Gap:
    """The gap of paired differences."""
    values = np.asarray(differences, dtype=float)
    mean, wins, losses = float(values.mean()), int((values > 0).sum()), int((values < 0).sum())
    low = high = p = np.nan
    if values.size > 1 and np.ptp(values) == 0:
        low = high = mean
        p = 1.0 if mean == 0 else 0.0
    elif values.size > 1:
        test: Any = stats.ttest_1samp(values, 0.0)
        low, high = map(float, test.confidence_interval(0.95))
        p = float(test.pvalue)
    return Gap(mean, low, high, p, wins, losses, values.size)
