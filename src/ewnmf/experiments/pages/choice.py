"""What the rules of choosing gamma are worth on each data set: against NMF, and against the best gamma by label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages.markup import counted
from ewnmf.experiments.pages.statistics import MEASURES, Experiment, Gap, Result, compare, results, tabulated
from ewnmf.experiments.protocol.cases import CASES, Case
from ewnmf.experiments.protocol.paper import PRINTED
from ewnmf.experiments.protocol.spec import RULES

if TYPE_CHECKING:
    from ewnmf.experiments.protocol.spec import Row

__all__ = ["CHOICE_VIEWS", "GOALS", "Comparison", "Study", "Verdict", "chosen_gammas", "judged", "study"]

CHOICE_VIEWS = {"unit_10": "unit codes", "raw_10": "raw codes"}
"""View (the ending of a figure's name) -> what k-means saw, with 10 starts."""
FIXED = ("nmf", "ewnmf-one")
LOSS_ALLOWED = 0.01
WORTHWHILE = 0.03
KEPT_ENOUGH = 0.8
MET, NOT_MET, PART, NOT_RUN = "met", "not met", "met in part", "not yet run"


@dataclass(frozen=True)
class Comparison:
    """NMF, the best gamma by label and the rules on the runs that all of them have, in one view of the codes."""

    case: Case
    nmf: Result
    best: Result
    rules: Mapping[str, Result]
    gammas: Sequence[float]

    @property
    def runs(self) -> int:
        """How many runs are compared."""
        return len(self.nmf.scores)

    @property
    def best_gamma(self) -> float:
        """The gamma of the highest mean ACC."""
        return float(next(iter(self.best.picks.values())))

    @property
    def at_edge(self) -> bool:
        """Whether the best gamma is the smallest or largest of the grid, so that a better one may lie beyond."""
        return self.best_gamma in (min(self.gammas), max(self.gammas))

    def gap(self, rule: str, measure: str = "ACC") -> Gap:
        """The rule minus NMF."""
        return self.above_nmf(self.rules[rule], measure)

    def possible(self, measure: str = "ACC") -> Gap:
        """The best gamma by label minus NMF."""
        return self.above_nmf(self.best, measure)

    def kept(self, rule: str) -> float | None:
        """The share of the possible gain in ACC that a rule keeps; None where there is little to gain."""
        possible = self.possible().mean
        return self.gap(rule).mean / possible if possible >= WORTHWHILE - 1e-12 else None

    def above_nmf(self, result: Result, measure: str) -> Gap:
        """A result on the same runs minus NMF."""
        gap = compare(result, self.nmf, measure)
        assert gap is not None
        return gap


Compared = Mapping[str, Mapping[str, Comparison]]
"""View -> name of the case -> comparison."""


@dataclass(frozen=True)
class Study:
    """What the store has of all cases: the runs of each, and how they compare in each view."""

    experiments: Mapping[str, Experiment]
    compared: Compared


def study(rows: Iterable[Row]) -> Study:
    """The cases that have runs of NMF, at fixed gammas and with a rule."""
    rows = list(rows)
    found = {case: tabulated(case.dataset, [row for row in rows if case.has(row.spec)], case.gammas) for case in CASES}
    compared: dict[str, dict[str, Comparison]] = {view: {} for view in CHOICE_VIEWS}
    for case, runs in found.items():
        for view in CHOICE_VIEWS:
            rules = _often_run(runs)
            scores = results(runs, view, (*FIXED, *rules.values()))
            if rules and len(scores) == len(FIXED) + len(rules):
                nmf, best = (scores[name] for name in FIXED)
                by_rule = {rule: scores[name] for rule, name in rules.items()}
                compared[view][case.name] = Comparison(case, nmf, best, by_rule, runs.gammas)
    return Study({case.name: runs for case, runs in found.items()}, compared)


def _often_run(runs: Experiment) -> dict[str, str]:
    """Rule -> its protocol, of the rules that have runs, and at least half as many as the others."""
    counts = {rule: len(runs.rows.get("ewnmf", {}).get(rule, {})) for rule in RULES}
    return {rule: f"ewnmf-{rule}" for rule, count in counts.items() if count and 2 * count >= max(counts.values())}


def chosen_gammas(runs: Experiment, compared: Comparison, rule: str) -> list[float]:
    """What a rule chose in the runs that are compared; infinite where it kept NMF."""
    rows = runs.rows["ewnmf"][rule]
    return [rows[run].figures["gamma"] for run in compared.rules[rule].scores]


@dataclass(frozen=True)
class Verdict:
    """A figure to reach, whether a rule reaches it, and the numbers that decide it."""

    goal: str
    rule: str
    outcome: str
    why: str


def judged(found: Compared) -> list[Verdict]:
    """The figures to reach in their order, for each rule."""
    return [
        Verdict(goal, rule, *judge(_followed(found, rule), rule)) for goal, judge in GOALS.items() for rule in RULES
    ]


def _followed(found: Compared, rule: str) -> Compared:
    """What has runs of this rule."""
    return {view: {name: each for name, each in cases.items() if rule in each.rules} for view, cases in found.items()}


def never_worse(found: Compared, rule: str) -> tuple[str, str]:
    """No 95 % interval of the rule minus NMF lies wholly below -1 point of ACC."""
    judged = [(view, each, each.gap(rule)) for view, cases in found.items() for each in cases.values()]
    judged = [(view, each, gap) for view, each, gap in judged if gap.count > 1]
    if not judged:
        return NOT_RUN, "No data set has two runs."
    broken = [(view, each, gap) for view, each, gap in judged if gap.high < -LOSS_ALLOWED]
    view, each, least = min(judged, key=lambda item: item[2].mean)
    text = f"The interval is wholly below -1 at {len(broken)} of {len(judged)} pairs of data set and view"
    if broken:
        text += f" ({'; '.join(f'{_place(view, each)} {_interval(gap)}' for view, each, gap in broken)})"
    text += f". The lowest mean difference is {_interval(least)} ({_place(view, each)})."
    return _so_far(NOT_MET if broken else MET, found), text


def keeps_most(found: Compared, rule: str) -> tuple[str, str]:
    """Wherever the best gamma by label gains 3 points of ACC or more, the rule has at least 80 % of that gain."""
    every = [(view, each, each.kept(rule)) for view, cases in found.items() for each in cases.values()]
    asked = [(view, each, kept) for view, each, kept in every if kept is not None]
    if not any(found.values()):
        return NOT_RUN, "No data set has been run."
    if not asked:
        return _so_far(MET, found), "No data set has 3 points to gain."
    short = [(view, each, kept) for view, each, kept in asked if kept < KEPT_ENOUGH]
    whole = sum(each.gap(rule).mean for _, each, _ in asked) / sum(each.possible().mean for _, each, _ in asked)
    text = (
        f"{len(asked) - len(short)} of {len(asked)} pairs of data set and view with 3 points or more to gain keep 80 % "
        f"or more; all of these together keep {100 * whole:.0f} %."
    )
    if short:
        text += f" Short of it: {'; '.join(f'{_place(view, each)} {100 * kept:.0f} %' for view, each, kept in short)}."
    text += " The best gamma is the highest of several noisy means, so the gain it promises is flattered."
    return _so_far(NOT_MET if short else MET, found), text


def reaches_the_paper(found: Compared, rule: str) -> tuple[str, str]:
    """The mean ACC on Yale is the paper's or above, in every view; the NMI stands beside it."""
    printed = PRINTED["table2"].values["ewnmf"]
    reached, texts = [], []
    for view, cases in found.items():
        if "yale" in cases:
            means = [100 * float(np.mean(cases["yale"].rules[rule].values(measure))) for measure in MEASURES]
            reached.append(means[0] >= printed[0])
            figures = ", ".join(
                f"{measure} {mean:.2f} (paper {theirs:.2f})"
                for measure, mean, theirs in zip(MEASURES, means, printed, strict=True)
            )
            texts.append(f"{CHOICE_VIEWS[view]} {figures}, {counted(cases['yale'].runs, 'run')}")
    if not reached:
        return NOT_RUN, "Yale has not been run."
    outcome = MET if all(reached) else PART if any(reached) else NOT_MET
    if not all(_whole(cases, CASES[:1]) for cases in found.values()):
        outcome += " so far"
    return outcome, f"With {'; with '.join(texts)}. The paper presumably picked its gamma by label."


def _so_far(outcome: str, found: Compared) -> str:
    """The outcome, with a word where runs are missing."""
    return outcome if all(_whole(cases) for cases in found.values()) else f"{outcome} so far"


def _whole(cases: Mapping[str, Comparison], wanted: Sequence[Case] = CASES) -> bool:
    """Whether every data set has all its seeds and gammas."""
    found = [cases.get(case.name) for case in wanted]
    return all(each and each.runs >= each.case.seeds and len(each.gammas) == len(each.case.gammas) for each in found)


def _place(view: str, each: Comparison) -> str:
    return f"{each.case.title}, {CHOICE_VIEWS[view]}"


def _interval(gap: Gap) -> str:
    return f"{100 * gap.mean:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"


GOALS: dict[str, Callable[[Compared, str], tuple[str, str]]] = {
    "Never worse than NMF by more than 1 point of accuracy": never_worse,
    "Keeps at least 80 % of the gain wherever the best gamma by label gains 3 points or more": keeps_most,
    "On Yale the mean accuracy without labels reaches the paper's 46.06": reaches_the_paper,
}
"""What a rule is to reach, and how that is decided."""
