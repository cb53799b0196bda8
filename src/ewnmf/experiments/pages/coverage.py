"""How much of the full protocol the rows are, for every table and figure, and which claims that is enough to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from ewnmf.experiments.execution.cost import Estimator
from ewnmf.experiments.pages.judgement import NOT_RUN
from ewnmf.experiments.pages.markup import Table
from ewnmf.experiments.pages.verdicts import Verdict
from ewnmf.experiments.protocol.plan import TARGETS, planned
from ewnmf.experiments.protocol.spec import RULES

if TYPE_CHECKING:
    from ewnmf.experiments.protocol.spec import Row, Spec

__all__ = [
    "CLAIM_TARGETS",
    "Coverage",
    "coverage_of",
    "coverage_table",
    "hours_left",
    "overall",
    "standing",
    "target_title",
]

ENOUGH = 0.2
"""A claim is judged where every table and figure that it speaks of has this share of its runs."""
NO_BREAK = "\u00a0"
_DRAWS = ("fig5", "fig6", "fig7", "fig8", "fig9")
CLAIM_TARGETS: dict[str, tuple[str, ...]] = {
    "weights": ("fig2",),
    "wide-range": ("fig3", "fig4"),
    "best": ("table2", "table3"),
    "gtfd": _DRAWS,
    "all-aspects": _DRAWS,
    "monotone": ("fig10",),
    "onmf-rises": ("fig10",),
    "stable": ("fig10",),
    "global": ("fig11",),
    "local": ("fig11",),
}
"""Claim -> the tables and figures whose runs decide it."""


def _follows(rule: str, spec: Spec) -> bool:
    return spec.gamma == rule


_KINDS: dict[str, Callable[[Spec], bool]] = {
    "NMF and other methods": lambda spec: spec.gamma is None,
    "EWNMF, fixed gamma": lambda spec: isinstance(spec.gamma, float),
    **{f'EWNMF, gamma="{rule}"': partial(_follows, rule) for rule in RULES},
}


@dataclass(frozen=True)
class Coverage:
    """Runs that are there, of so many."""

    present: int
    planned: int

    def __str__(self) -> str:
        if self.planned == 0:
            return "-"
        return f"all {self.planned}" if self.present == self.planned else f"{self.present} of {self.planned}"

    @property
    def enough(self) -> bool:
        """Whether a claim can be judged by them."""
        return self.present >= ENOUGH * self.planned


@cache
def _planned(targets: tuple[str, ...]) -> tuple[Spec, ...]:
    return tuple(planned(targets))


def coverage_of(specs: Iterable[Spec], there: set[Spec]) -> Coverage:
    """How many of the planned runs are there."""
    wanted = list(specs)
    return Coverage(sum(spec in there for spec in wanted), len(wanted))


def overall(rows: Sequence[Row]) -> Coverage:
    """How much of everything is there."""
    return coverage_of(_planned(tuple(TARGETS)), {row.spec for row in rows})


def coverage_table(rows: Sequence[Row], targets: Sequence[str] = tuple(TARGETS)) -> Table:
    """For each table and figure the runs that are there, by kind, and the starts or draws that are whole."""
    there = {row.spec for row in rows}
    lines = []
    listed = [(target_title(name), (name,)) for name in sorted(targets, key=_place)]
    for title, names in [*listed, ("together", tuple(targets))]:
        specs = _planned(names)
        kinds = [coverage_of(filter(kind, specs), there) for kind in _KINDS.values()]
        cells = map(str, (coverage_of(specs, there), *kinds, _whole(specs, there)))
        lines.append([title, *(cell.replace(" ", NO_BREAK) for cell in cells)])
    return Table(["", "runs", *_KINDS, "whole starts or draws"], lines)


def hours_left(rows: Sequence[Row], targets: Sequence[str] = tuple(TARGETS)) -> str:
    """What more hours of one core would add, as a sentence; nothing where nothing is missing.

    A run that several targets share is of the first of them.
    """
    there, estimator, hours = {row.spec for row in rows}, Estimator(by_size=False), {}
    for name in targets:
        left = [spec for spec in _planned((name,)) if spec not in there]
        there.update(left)
        if left:
            hours[name] = sum(map(estimator.seconds, left)) / 3600
    if not hours:
        return ""
    each = ", ".join(f"{target_title(name)} {_hours(hours[name])}" for name in sorted(hours, key=_place))
    return f"What is missing takes {_hours(sum(hours.values()))} of one core: {each}."


def _hours(hours: float) -> str:
    if hours < 1:
        return "less than an hour"
    return f"about {hours:.0f} hour{'s' if round(hours) > 1 else ''}"


def _whole(specs: Iterable[Spec], there: set[Spec]) -> Coverage:
    """Starts or draws of which no run is missing but those that choose gamma."""
    groups: dict[tuple[object, ...], list[Spec]] = {}
    for spec in specs:
        place = (spec.dataset, spec.k, spec.draw, spec.seed, spec.occluded, spec.loss)
        groups.setdefault(place, []).extend([] if spec.chooses else [spec])
    return Coverage(sum(all(spec in there for spec in group) for group in groups.values()), len(groups))


def _place(name: str) -> tuple[int, int]:
    """Tables first, then figures by number, then what the paper does not have."""
    for at, kind in enumerate(("table", "fig")):
        if name.startswith(kind):
            return at, int(name.removeprefix(kind))
    return 2, 0


def target_title(name: str) -> str:
    """``"Fig. 5"``, ``"Table 2"``, ``"Occlusion"``."""
    return name.replace("fig", "Fig. ").replace("table", "Table ").replace("auto-gamma", "choice of gamma").capitalize()


def _capitalised(words: str) -> str:
    return words[:1].upper() + words[1:]


def standing(found: Sequence[Verdict], rows: Sequence[Row]) -> list[Verdict]:
    """Verdicts, where there are enough runs; else how many there are, and what they say so far."""
    there = {row.spec for row in rows}
    judged = []
    for verdict in found:
        each = [
            coverage_of((spec for spec in _planned((name,)) if not spec.chooses), there)
            for name in CLAIM_TARGETS[verdict.claim]
        ]
        if all(part.enough for part in each) and verdict.outcome != NOT_RUN:
            judged.append(replace(verdict, brief=_capitalised(verdict.brief)))
            continue
        present, of = sum(part.present for part in each), sum(part.planned for part in each)
        so_far = "" if verdict.outcome == NOT_RUN else f"so far {verdict.outcome}: "
        outcome = f"not judged yet: {present} of {of} runs"
        why, brief = (_capitalised(so_far + words) if words else "" for words in (verdict.why, verdict.brief))
        judged.append(replace(verdict, outcome=outcome, why=why, brief=brief))
    return judged
