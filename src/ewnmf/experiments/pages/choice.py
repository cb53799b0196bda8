"""What ``gamma="auto"`` is worth on each data set: against NMF, and against the best gamma by label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages.markup import counted
from ewnmf.experiments.pages.statistics import MEASURES, Experiment, Gap, Result, compare, results, tabulated
from ewnmf.experiments.protocol.cases import CASES, Case
from ewnmf.experiments.protocol.paper import PRINTED

if TYPE_CHECKING:
    from ewnmf.experiments.protocol.spec import Row

__all__ = ["CHOICE_VIEWS", "GOALS", "Comparison", "Study", "Verdict", "chosen_gammas", "judged", "study"]

CHOICE_VIEWS = {"unit_10": "unit codes", "raw_10": "raw codes"}
"""View (the ending of a figure's name) -> what k-means saw, with 10 starts."""
COMPARED = ("nmf", "ewnmf-one", "ewnmf-auto")
LOSS_ALLOWED = 0.01
WORTHWHILE = 0.03
KEPT_ENOUGH = 0.8
MET, NOT_MET, PART, NOT_RUN = "met", "not met", "met in part", "not yet run"


@dataclass(frozen=True)
class Comparison:
    """NMF, the best gamma by label and ``"auto"`` on the runs that all three have, in one view of the codes."""

    case: Case
    nmf: Result
    best: Result
    auto: Result
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

    def gap(self, measure: str) -> Gap:
        """``"auto"`` minus NMF."""
        gap = compare(self.auto, self.nmf, measure)
        assert gap is not None
        return gap

    def possible(self, measure: str = "ACC") -> float:
        """The mean of the best gamma by label minus that of NMF."""
        return float(np.mean(self.best.values(measure)) - np.mean(self.nmf.values(measure)))

    @property
    def kept(self) -> float | None:
        """The share of the possible gain in ACC that ``"auto"`` keeps; None where there is little to gain."""
        return self.gap("ACC").mean / self.possible() if self.possible() >= WORTHWHILE - 1e-12 else None


Compared = Mapping[str, Mapping[str, Comparison]]
"""View -> name of the case -> comparison."""


@dataclass(frozen=True)
class Study:
    """What the store has of all cases: the runs of each, and how they compare in each view."""

    experiments: Mapping[str, Experiment]
    compared: Compared


def study(rows: Iterable[Row]) -> Study:
    """The cases that have runs of NMF, at fixed gammas and with ``"auto"``."""
    rows = list(rows)
    found = {case: tabulated(case.dataset, [row for row in rows if case.has(row.spec)], case.gammas) for case in CASES}
    compared: dict[str, dict[str, Comparison]] = {view: {} for view in CHOICE_VIEWS}
    for case, runs in found.items():
        for view in CHOICE_VIEWS:
            scores = results(runs, view, COMPARED)
            if set(scores) == set(COMPARED):
                nmf, best, auto = (scores[name] for name in COMPARED)
                compared[view][case.name] = Comparison(case, nmf, best, auto, runs.gammas)
    return Study({case.name: runs for case, runs in found.items()}, compared)


def chosen_gammas(runs: Experiment, compared: Comparison) -> list[float]:
    """What ``"auto"`` chose in the runs that are compared; infinite where it kept NMF."""
    rows = runs.rows["ewnmf"]["auto"]
    return [rows[run].figures["gamma"] for run in compared.auto.scores]


@dataclass(frozen=True)
class Verdict:
    """A figure to reach, whether it is reached, and the numbers that decide it."""

    goal: str
    outcome: str
    why: str


def judged(found: Compared) -> list[Verdict]:
    """The figures to reach, in their order."""
    return [Verdict(goal, *judge(found)) for goal, judge in GOALS.items()]


def never_worse(found: Compared) -> tuple[str, str]:
    """No 95 % interval of auto minus NMF lies wholly below -1 point of ACC."""
    judged = [(view, each, each.gap("ACC")) for view, cases in found.items() for each in cases.values()]
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


def keeps_most(found: Compared) -> tuple[str, str]:
    """Wherever the best gamma by label gains 3 points of ACC or more, auto has at least 80 % of that gain."""
    asked = [(view, each) for view, cases in found.items() for each in cases.values() if each.kept is not None]
    if not any(found.values()):
        return NOT_RUN, "No data set has been run."
    if not asked:
        return _so_far(MET, found), "No data set has 3 points to gain."
    short = [(view, each) for view, each in asked if each.kept is not None and each.kept < KEPT_ENOUGH]
    whole = sum(each.gap("ACC").mean for _, each in asked) / sum(each.possible() for _, each in asked)
    text = (
        f"{len(asked) - len(short)} of {len(asked)} pairs of data set and view with 3 points or more to gain keep 80 % "
        f"or more; all of these together keep {100 * whole:.0f} %."
    )
    if short:
        text += f" Short of it: {'; '.join(f'{_place(view, each)} {_percent(each.kept)}' for view, each in short)}."
    text += " The best gamma is the highest of several noisy means, so the gain it promises is flattered."
    return _so_far(NOT_MET if short else MET, found), text


def reaches_the_paper(found: Compared) -> tuple[str, str]:
    """The mean ACC on Yale is the paper's or above, in every view; the NMI stands beside it."""
    printed = PRINTED["table2"].values["ewnmf"]
    reached, texts = [], []
    for view, cases in found.items():
        if "yale" in cases:
            means = [100 * float(np.mean(cases["yale"].auto.values(measure))) for measure in MEASURES]
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


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _place(view: str, each: Comparison) -> str:
    return f"{each.case.title}, {CHOICE_VIEWS[view]}"


def _interval(gap: Gap) -> str:
    return f"{100 * gap.mean:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"


GOALS: dict[str, Callable[[Compared], tuple[str, str]]] = {
    "Never worse than NMF by more than 1 point of accuracy": never_worse,
    "Keeps at least 80 % of the gain wherever the best gamma by label gains 3 points or more": keeps_most,
    "On Yale the mean accuracy without labels reaches the paper's 46.06": reaches_the_paper,
}
"""What ``"auto"`` is to reach, and the rule that decides it."""
