"""A verdict for every claim of the paper: a rule on the stored rows, and the numbers that decide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages import clustering
from ewnmf.experiments.pages.judgement import HOLDS, NOT_RUN, NOT_SEEN, PART, Judgement, graded
from ewnmf.experiments.pages.markup import counted
from ewnmf.experiments.pages.statistics import MAIN, METHODS, VIEWS, Experiment, experiment, results, spread
from ewnmf.experiments.protocol.paper import CLAIMS, DATASETS

if TYPE_CHECKING:
    from ewnmf.experiments.protocol.spec import Row

__all__ = ["Seen", "Verdict", "monotone", "rising_onmf", "stable", "verdicts", "weights_of_destroyed"]

FACES = ("yale", "umist")
IN_DRAWS = ("yale", "umist", "caltech101", "gtfd", "tdt2")
DESTROYED = 0.1
ALIKE = 2.0
WITHIN = 200
LATE = 0.05
MOST = 0.95

Figures = Mapping[str, float]
Whole = Mapping[str, Experiment]


@dataclass(frozen=True)
class Verdict:
    """A claim (by its name in `CLAIMS`), what was found, how other views of the codes differ, and all that in brief."""

    claim: str
    outcome: str
    why: str
    brief: str = ""


@dataclass(frozen=True)
class Seen:
    """What the kept arrays show.

    `late_falls`: method -> share of its cost that the run of Fig. 10 lost after the 200th iteration. `unlikeness`:
    gamma -> for every run of Fig. 2, the 95th over the 5th percentile of the weights outside the destroyed part.
    """

    late_falls: Mapping[str, float]
    unlikeness: Mapping[float | str, Sequence[float]]


def verdicts(rows: Sequence[Row], seen: Seen) -> list[Verdict]:
    """All claims, in the paper's order."""
    whole = {dataset: experiment(rows, dataset, draws=False) for dataset in FACES}
    draws = {dataset: experiment(rows, dataset, draws=True) for dataset in IN_DRAWS}
    found = {
        "weights": weights_of_destroyed(rows, seen),
        "wide-range": _in_all_views(lambda view: clustering.wide_range(whole, view)),
        "best": _in_all_views(lambda view: clustering.best_in_tables(_scores(whole, view))),
        "gtfd": _in_all_views(lambda view: clustering.beaten_only(_scores(draws, view))),
        "all-aspects": _in_all_views(lambda view: clustering.all_aspects(_scores(draws, view))),
        "monotone": monotone(rows),
        "onmf-rises": rising_onmf(rows),
        "stable": stable(whole["yale"], seen),
        "global": global_bases(whole["yale"]),
        "local": local_bases(whole["yale"]),
    }
    missing = {
        "wide-range": _missing(whole),
        "best": _missing(whole),
        "gtfd": _missing(draws),
        "all-aspects": _missing(draws),
    }
    return [_verdict(claim, found[claim], missing.get(claim, "")) for claim in CLAIMS]


def _verdict(claim: str, found: Judgement, missing: str) -> Verdict:
    if found.outcome == NOT_RUN:
        return Verdict(claim, NOT_RUN, "The store has no rows that decide it.")
    return Verdict(claim, found.outcome, " ".join([found.why, *([missing] if missing else [])]), found.brief)


def _missing(found: Whole) -> str:
    absent = [DATASETS[dataset] for dataset, runs in found.items() if not runs.rows]
    return f"Not yet run: {', '.join(absent)}." if absent else ""


def _scores(found: Whole, view: str) -> clustering.Scores:
    return {dataset: results(runs, view) for dataset, runs in found.items()}


def _in_all_views(judge: Callable[[str], Judgement]) -> Judgement:
    """The main view's judgement; the other views' outcomes are named behind it."""
    found = {view: judge(view) for view in VIEWS}
    main = found[MAIN]
    others = "; ".join(f"{VIEWS[view]}: {other.outcome}" for view, other in found.items() if view != MAIN)
    return replace(main, why=f"{main.why} (This is for {VIEWS[MAIN]}; {others}.)") if main.why else main


def weights_of_destroyed(rows: Sequence[Row], seen: Seen) -> Judgement:
    """In every run at a fixed gamma, destroyed samples weigh under a tenth of the others, which are alike."""
    by_gamma: dict[float | str, list[float]] = {}
    for row in rows:
        if row.spec.dataset == "signals" and row.spec.gamma is not None:
            ratio = row.figures["weight_destroyed"] / row.figures["weight_rest"]
            by_gamma.setdefault(row.spec.gamma, []).append(ratio)
    if not by_gamma:
        return Judgement(NOT_RUN, "")
    met, texts = [], []
    for gamma, ratios in sorted(by_gamma.items(), key=lambda item: isinstance(item[0], str)):
        hits = sum(ratio < DESTROYED for ratio in ratios)
        alike = seen.unlikeness.get(gamma, [])
        met.append(hits == len(ratios) and max(alike, default=1.0) < ALIKE)
        words = (
            f"{_gamma(gamma)}: under a tenth in {hits} of {counted(len(ratios), 'run')}, median {np.median(ratios):.2g}"
        )
        if alike:
            words += f"; the others spread by a factor of {np.median(alike):.2g} (median), {max(alike):.2g} (largest)"
        texts.append(words)
    why = (
        "Median weight of the destroyed samples, divided by that of the others of the mixture (and the 95th over the "
        f"5th percentile of all others). {'. '.join(words[0].upper() + words[1:] for words in texts)}."
    )
    everything = [ratio for ratios in by_gamma.values() for ratio in ratios]
    hits = sum(ratio < DESTROYED for ratio in everything)
    brief = f"under a tenth of the others' weight in {hits} of {counted(len(everything), 'run')}"
    return Judgement(HOLDS if met[0] else PART if hits else NOT_SEEN, why, brief)


def _gamma(gamma: float | str) -> str:
    return f'gamma="{gamma}"' if isinstance(gamma, str) else f"gamma = {gamma:g}"


def monotone(rows: Sequence[Row]) -> Judgement:
    """No EWNMF run rose."""
    counts = _rising(rows)
    if "ewnmf" not in counts:
        return Judgement(NOT_RUN, "")
    rose, of = counts["ewnmf"]
    others = "; ".join(
        f"{METHODS[method]} {counts[method][0]} of {counts[method][1]}"
        for method in ("nmf", "semi-nmf", "convex-nmf")
        if method in counts
    )
    why = f"The cost rose (by more than 1e-12 of itself) at least once in {rose} of {counted(of, 'run')} of EWNMF"
    outcome = HOLDS if rose == 0 else PART if rose <= (1 - MOST) * of else NOT_SEEN
    brief = f"it rose in {rose} of {counted(of, 'run')}"
    return Judgement(outcome, f"{why}; {others}." if others else f"{why}.", brief)


def rising_onmf(rows: Sequence[Row]) -> Judgement:
    """Some ONMF run rose."""
    counts = {method: count for method, count in _rising(rows).items() if method.startswith("onmf")}
    if not counts:
        return Judgement(NOT_RUN, "")
    text = "; ".join(
        f"{METHODS[method]} {rose} of {counted(of, 'run')}" for method, (rose, of) in sorted(counts.items())
    )
    outcome = HOLDS if any(rose for rose, _ in counts.values()) else NOT_SEEN
    brief = f"it rose in {' and '.join(f'{rose} of {of}' for _, (rose, of) in sorted(counts.items()))} runs"
    return Judgement(outcome, f"The cost rose at least once in: {text}.", brief)


def _rising(rows: Sequence[Row]) -> dict[str, tuple[int, int]]:
    """Method -> number of runs whose cost rose, and of all runs."""
    counts: dict[str, tuple[int, int]] = {}
    for row in rows:
        if "rises" in row.figures:
            rose, of = counts.get(row.spec.method, (0, 0))
            counts[row.spec.method] = rose + (row.figures["rises"] > 0), of + 1
    return counts


def stable(yale: Experiment, seen: Seen) -> Judgement:
    """In the runs of Fig. 10, after the 200th iteration Convex-NMF loses 5 % of its cost or more, all others less."""
    falls = {method: fall for method, fall in seen.late_falls.items() if not np.isnan(fall)}
    if not falls:
        return Judgement(NOT_RUN, "")
    met = [(fall < LATE) != (method == "convex-nmf") for method, fall in falls.items()]
    text = ", ".join(f"{METHODS[method]} {fall:.1%}" for method, fall in falls.items()) + _at(yale)
    found = {method: _figure(yale, method, "stable_at") for method in METHODS}
    reached = ", ".join(f"{METHODS[method]} {np.median(at):.0f}" for method, at in found.items() if at)
    why = (
        f"Cost lost from the {WITHIN}th iteration to the last, one run of each (stable: under {LATE:.0%}): {text}. "
        "By the rule planned first, the iteration from which "
        f"the cost stays within 1 % of its whole fall, median over the runs: {reached}; that rule "
        "flatters methods whose first step is large."
    )
    most = sorted(falls, key=falls.__getitem__, reverse=True)[:2]
    brief = f"lost after {WITHIN} iterations: {', '.join(f'{METHODS[each]} {falls[each]:.1%}' for each in most)}"
    return Judgement(graded(sum(met), len(met)), why, f"{brief}, the others less" if len(falls) > 2 else brief)


def global_bases(yale: Experiment) -> Judgement:
    """Semi-NMF's and Convex-NMF's bases are less sparse (Hoyer) than those of NMF, ONMF and EWNMF."""
    found = _sparseness(yale)
    asked = [method for method in ("semi-nmf", "convex-nmf") if method in found]
    others = [value for method, value in found.items() if method not in ("semi-nmf", "convex-nmf")]
    if not asked or not others:
        return Judgement(NOT_RUN, "")
    outcome = graded(sum(found[method] < min(others) for method in asked), len(asked))
    return Judgement(outcome, _told(yale, found), f"{_brief(found, asked)}, the others from {min(others):.2f} on")


def local_bases(yale: Experiment) -> Judgement:
    """ONMF's bases are sparser (Hoyer) than EWNMF's."""
    found = _sparseness(yale)
    asked = [method for method in ("onmf-codes", "onmf-components") if method in found]
    if not asked or "ewnmf" not in found:
        return Judgement(NOT_RUN, "")
    outcome = graded(sum(found[method] > found["ewnmf"] for method in asked), len(asked))
    return Judgement(outcome, _told(yale, found), _brief(found, [*asked, "ewnmf"]))


def _brief(found: Figures, methods: Sequence[str]) -> str:
    return f"sparseness {', '.join(f'{METHODS[method]} {found[method]:.2f}' for method in methods)}"


def _told(yale: Experiment, found: Figures) -> str:
    listed = ", ".join(f"{METHODS[method]} {value:.2f}" for method, value in found.items())
    return f"Hoyer's sparseness (0 global, 1 a single pixel), mean over the runs on Yale: {listed}{_at(yale)}."


def _at(yale: Experiment) -> str:
    return "" if yale.shown is None else f" ({_gamma(yale.shown)})"


def _sparseness(yale: Experiment) -> dict[str, float]:
    found = {method: _figure(yale, method, "sparseness") for method in METHODS}
    return {method: spread(values).mean for method, values in found.items() if values}


def _figure(yale: Experiment, method: str, name: str) -> list[float]:
    """One figure of all runs of a method's first try, EWNMF's at the gamma of Fig. 11."""
    attempt = yale.shown if method == "ewnmf" else 0
    found = yale.rows.get(method, {}).get(attempt, {}) if attempt is not None else {}
    return [row.figures[name] for row in found.values() if name in row.figures]
