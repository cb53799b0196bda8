"""The results of ``ewnmf reproduce auto-gamma`` as a page that ``docs/choosing-gamma.md`` includes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ewnmf.experiments.pages.choice import (
    CHOICE_VIEWS,
    GOALS,
    NOT_RUN,
    Comparison,
    Study,
    Verdict,
    chosen_gammas,
    judged,
    study,
)
from ewnmf.experiments.pages.choice_figure import accuracy_against_gamma
from ewnmf.experiments.pages.coverage import coverage_of
from ewnmf.experiments.pages.markup import Picture, Section, Sheet, Table, bullets, counted, wrapped
from ewnmf.experiments.pages.material import Material
from ewnmf.experiments.pages.statistics import MEASURES, Gap, Result, spread
from ewnmf.experiments.pages.tables import percent, provenance
from ewnmf.experiments.protocol.cases import CASES
from ewnmf.experiments.protocol.plan import TARGETS
from ewnmf.experiments.protocol.spec import RULES

__all__ = ["PAGE", "TARGET", "page", "sections"]

TARGET = "auto-gamma"
PAGE = "choosing-gamma-results.md"
FILES = "images/choosing-gamma"
INTRODUCTION = """\
# Results

Written by `ewnmf reproduce auto-gamma` from its results; do not edit."""
READING = """\
All methods share data and start of a seed. The seed also draws the images that are occluded by a block of black or
white, and which of 10 random subsets is taken of Caltech101 (10 categories) and TDT2 (5 categories; the subsets with
the fewest texts are run first). Every point is scaled to [0, 1]; K is the number of classes. The loss is Euclidean
where nothing else is said. k-means has 10 starts and sees the run's own codes (*raw*) or *unit* codes: components
scaled to norm 1 into the codes, then every code to norm 1.

*Best gamma by label* is the gamma of the grid (in brackets; "end": it is the smallest or largest one) with the highest
mean accuracy in the view at hand; its NMI is that of the same gamma. *auto* is the rule for damage,
*groups* that for clusters; neither uses a label.

± is the standard deviation over runs. Differences are paired and in points of percent, with the 95 % interval of the
paired t test. *Gain kept*: the rule minus NMF as a share of the best gamma minus NMF, where the latter is 3 points
of accuracy or more."""

Part = str | Table | Sheet | Picture
Record = dict[str, str | int | float]


def page(parts: Sequence[Section]) -> str:
    """The whole page as Markdown."""
    return "\n\n".join([INTRODUCTION, *(section.markdown() for section in parts)]) + "\n"


def sections(material: Material) -> list[Section]:
    """The sections of the page, whatever part of the study the store has."""
    found = study(material.rows)
    verdicts = _standing(judged(found.compared), material)
    by_goal = {goal: [f"**{each.outcome}**" for each in verdicts if each.goal == goal] for goal in GOALS}
    head = ["figure to reach", *(f'gamma="{rule}"' for rule in RULES)]
    outcomes = Table(head, [[goal, *cells] for goal, cells in by_goal.items()], left=len(head))
    reasons = bullets([f'**{each.goal}**, gamma="{each.rule}" ({each.outcome}): {each.why}' for each in verdicts])
    first = [
        Section("What was run", _what_was_run(material, found)),
        Section("Figures to reach", [outcomes, reasons]),
    ]
    if not all(found.compared.values()):
        return first
    views = [Section(f"k-means on {title}", _view(found, view)) for view, title in CHOICE_VIEWS.items()]
    chosen = Section("Gammas chosen without labels", [choices(found), _sheet(found)])
    return [*first, Section("How to read the tables", [bullets(READING.split("\n\n"))]), *views, chosen]


def _standing(verdicts: Sequence[Verdict], material: Material) -> list[Verdict]:
    """Verdicts, where there are enough runs; else how many there are, and what they say so far."""
    runs = coverage_of(TARGETS[TARGET].specs(), {row.spec for row in material.rows})
    words = f"not judged yet: {runs.present} of {runs.planned} runs"
    standing = []
    for each in verdicts:
        if not runs.enough and each.outcome != NOT_RUN:
            so_far = f"So far {each.outcome.removesuffix(' so far')}. {each.why}"
            standing.append(replace(each, outcome=words, why=so_far))
        else:
            standing.append(replace(each, outcome=words) if each.outcome == NOT_RUN else each)
    return standing


def _what_was_run(material: Material, found: Study) -> list[Part]:
    rows = [row for row in material.rows if any(case.has(row.spec) for case in CASES)]
    if not rows:
        return [wrapped(f"Nothing yet: `ewnmf reproduce {TARGET}`.{material.left_out()}")]
    there = {row.spec for row in rows}
    planned = TARGETS[TARGET].specs()
    lines = []
    for case in CASES:
        runs = [spec for spec in planned if case.has(spec)]
        fixed = coverage_of((spec for spec in runs if not spec.chooses), there)
        rules = [str(coverage_of((spec for spec in runs if spec.gamma == rule), there)) for rule in RULES]
        each = found.compared["unit_10"].get(case.name)
        seeds, gammas = "-", "-"
        if each is not None:
            seeds = f"{each.runs} of {case.seeds}"
            gammas = f"{len(each.gammas)} of {len(case.gammas)}, {min(each.gammas):.2g} to {max(each.gammas):.2g}"
        lines.append([case.title, str(fixed), *rules, seeds, gammas])
    of_rules = [f'of gamma="{rule}"' for rule in RULES]
    head = ["", "runs at fixed gammas and of NMF", *of_rules, "seeds compared", "gammas compared"]
    return [wrapped(provenance(rows) + material.left_out()), Table(head, lines)]


def _view(found: Study, view: str) -> list[Part]:
    compared, title = found.compared[view], CHOICE_VIEWS[view]
    caption = (
        f"EWNMF at each gamma, NMF and EWNMF with gamma chosen by a rule, k-means on {title}. Bands: one standard "
        'error of the mean over the runs (NMF, EWNMF at each gamma). Crosses and stars: what gamma="auto" and '
        'gamma="groups" chose in each run; on the right (∞) where they kept plain NMF.'
    )
    name = f"accuracy-{view.split('_')[0]}"
    draw = partial(accuracy_against_gamma, found, view)
    picture = Picture(name, f"Accuracy against gamma, k-means on {title}", caption, draw, FILES)
    return [*(table(compared, measure) for measure in MEASURES for table in (scores, gains)), picture]


def scores(compared: Mapping[str, Comparison], measure: str) -> Table:
    """NMF, the best gamma by label and the rules in percent."""
    rules = _rules(compared)
    lines = [
        [
            each.case.title,
            _percent(each.nmf, measure),
            f"{_percent(each.best, measure)} ({each.best_gamma:.2g}{', end' if each.at_edge else ''})",
            *(_percent(each.rules[rule], measure) if rule in each.rules else "-" for rule in rules),
            str(each.runs),
        ]
        for each in compared.values()
    ]
    return Table([f"{measure} in %", "NMF", "best gamma by label", *rules, "runs"], lines)


def gains(compared: Mapping[str, Comparison], measure: str) -> Table:
    """What the best gamma by label and the rules gain over NMF, and the share of it that a rule keeps in ACC."""
    rules = _rules(compared)
    lines = [
        [
            each.case.title,
            _points(each.possible(measure)),
            *(cell for rule in rules for cell in _of_rule(each, rule, measure)),
        ]
        for each in compared.values()
    ]
    kept = ["gain kept"] if measure == "ACC" else []
    head = [f"points of {measure} over NMF", "best gamma by label"]
    return Table([*head, *(word for rule in rules for word in (rule, *kept))], lines)


def _rules(compared: Mapping[str, Comparison]) -> list[str]:
    return [rule for rule in RULES if any(rule in each.rules for each in compared.values())]


def _of_rule(each: Comparison, rule: str, measure: str) -> list[str]:
    there = rule in each.rules
    kept = [_kept(each, rule) if there else "-"] if measure == "ACC" else []
    return [_points(each.gap(rule, measure)) if there else "-", *kept]


def _percent(result: Result, measure: str) -> str:
    return percent(spread(result.values(measure)))


def _points(gap: Gap) -> str:
    mean = f"{100 * gap.mean:+.1f}"
    return mean if gap.count < 2 else f"{mean} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"


def _kept(each: Comparison, rule: str) -> str:
    kept = each.kept(rule)
    return "-" if kept is None else f"{100 * kept:.0f} %"


def choices(found: Study) -> Table:
    """How often a rule kept plain NMF, the gammas it chose otherwise, and the best ones by label."""
    lines = []
    for name, each in found.compared["unit_10"].items():
        best = [f"{found.compared[view][name].best_gamma:.2g}" for view in CHOICE_VIEWS]
        for rule in each.rules:
            gammas = np.array(chosen_gammas(found.experiments[name], each, rule))
            finite = gammas[np.isfinite(gammas)]
            text = f"{np.median(finite):.2g} ({finite.min():.2g} to {finite.max():.2g})" if finite.size else "-"
            kept = f"{gammas.size - finite.size} of {counted(gammas.size, 'run')}"
            lines.append([each.case.title, rule, kept, text, *best])
    head = ["", "rule", "plain NMF kept", "else gamma: median (range)"]
    return Table([*head, *(f"best by label, {title}" for title in CHOICE_VIEWS.values())], lines, left=2)


def _sheet(found: Study) -> Sheet:
    """Mean, deviation and number of runs of every method and gamma on every data set, in every view."""
    records: list[Record] = []
    for view, compared in found.compared.items():
        for name, each in compared.items():
            fixed = {gamma: found.experiments[name].scores("ewnmf", gamma, view) for gamma in each.gammas}
            for measure in MEASURES:
                place: Record = {"set": name, "codes": view.split("_")[0], "measure": measure}
                records.append(place | {"method": "nmf"} | _figures(each.nmf.values(measure)))
                for rule, result in each.rules.items():
                    of_rule: Record = {"method": "ewnmf", "gamma": rule}
                    records.append(
                        place | of_rule | _figures(result.values(measure)) | _interval(each.gap(rule, measure))
                    )
                for gamma, by_run in fixed.items():
                    shared = Result("ewnmf-one", {run: by_run[run] for run in each.nmf.scores}, {})
                    figures = _figures(shared.values(measure)) | _interval(each.above_nmf(shared, measure))
                    records.append(place | {"method": "ewnmf", "gamma": gamma} | figures)
    return Sheet(TARGET, records, FILES)


def _interval(gap: Gap) -> Record:
    interval = {"minus NMF": gap.mean, "low": gap.low, "high": gap.high}
    return {key: round(100 * value, 4) for key, value in interval.items()}


def _figures(values: Sequence[float]) -> Record:
    ours = spread(values)
    record: Record = {"mean": round(100 * ours.mean, 4), "runs": ours.count}
    return record | ({"standard deviation": round(100 * ours.deviation, 4)} if ours.count > 1 else {})
