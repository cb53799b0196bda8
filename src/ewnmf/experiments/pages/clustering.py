"""The paper's claims about clustering, judged in one view of the codes: a rule and the numbers that decide it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from ewnmf.experiments.pages.judgement import HOLDS, NOT_RUN, NOT_SEEN, PART, Judgement, graded
from ewnmf.experiments.pages.markup import counted
from ewnmf.experiments.pages.statistics import MEASURES, PROTOCOLS, Experiment, Gap, Result, gap_of
from ewnmf.experiments.protocol.paper import DATASETS, GAMMAS
from ewnmf.experiments.protocol.spec import RULES

__all__ = ["OURS", "all_aspects", "beaten_only", "best_in_tables", "wide_range"]

Scores = Mapping[str, Mapping[str, Result]]
"""Data set -> protocol -> result, in one view."""

Place = tuple[str, int]

RIVALS = ("nmf", "onmf-codes", "onmf-components", "semi-nmf", "convex-nmf")
OURS = {
    "ewnmf-best": "with the best gamma per run",
    "ewnmf-one": "with one gamma for all runs",
    **{f"ewnmf-{rule}": f'with gamma="{rule}"' for rule in RULES},
}
DECADES = 5
"""So many neighbouring powers of ten make a wide range."""


def wide_range(found: Mapping[str, Experiment], view: str) -> Judgement:
    """Clearly better than NMF at five neighbouring gammas, by ACC and NMI, on both data sets."""
    met = asked = seen = 0
    sentences, brief = [], []
    for dataset, runs in found.items():
        texts = []
        for measure in MEASURES:
            gaps = gaps_by_gamma(runs, view, measure)
            if gaps:
                better, worse = ([g for g, gap in gaps.items() if gap.clear == sign] for sign in (1, -1))
                count = min(gap.count for gap in gaps.values())
                asked, met = asked + 1, met + (longest_range(gaps) >= DECADES)
                seen += bool(better)
                texts.append(
                    f"by {measure} clearly better at {len(better)} of {len(gaps)} gammas{_listed(better)}, "
                    f"clearly worse at {len(worse)}{_listed(worse)}"
                )
                if measure == "ACC":
                    brief.append(f"{len(better)} of {len(gaps)} gammas on {DATASETS[dataset]}")
        if texts:
            sentences.append(f"{DATASETS[dataset]} ({count} runs): {'; '.join(texts)}.")
    outcome = graded(met, asked)
    why = " ".join(sentences)
    rule = f" (Clearly: the 95 % interval of the mean difference lies off 0. Wide: {DECADES} powers of ten in a row.)"
    told_briefly = f"clearly better by ACC at {', '.join(brief)}" if brief else ""
    return Judgement(PART if outcome == NOT_SEEN and seen else outcome, why + rule if why else why, told_briefly)


def gaps_by_gamma(runs: Experiment, view: str, measure: str) -> dict[float, Gap]:
    """EWNMF at each gamma against NMF's first try from the same start, where there are two runs or more."""
    at = MEASURES.index(measure)
    theirs = runs.scores("nmf", 0, view)
    gaps = {}
    for gamma in runs.gammas:
        ours = runs.scores("ewnmf", gamma, view)
        shared = [run for run in ours if run in theirs]
        if len(shared) > 1:
            gaps[gamma] = gap_of([ours[run][at] - theirs[run][at] for run in shared])
    return gaps


def longest_range(gaps: Mapping[float, Gap]) -> int:
    """The most powers of ten in a row at which EWNMF is clearly better; one that was not run ends a row."""
    stretches = groupby(gamma in gaps and gaps[gamma].clear == 1 for gamma in GAMMAS)
    return max((len(list(stretch)) for better, stretch in stretches if better), default=0)


def _listed(gammas: Sequence[float]) -> str:
    return f" ({', '.join(f'{gamma:g}' for gamma in gammas)})" if gammas else ""


def best_in_tables(found: Scores) -> Judgement:
    """Above the other methods' means by ACC and NMI under each protocol, and with picked gammas above picked NMF."""
    met = asked = 0
    sentences, brief = [], []
    for dataset, scores in found.items():
        rivals = [name for name in RIVALS if name in scores]
        fields = [(name, rivals) for name in OURS]
        if "nmf-best" in scores:
            fields.insert(1, ("ewnmf-best", ["nmf-best"]))
        texts = []
        for name, against in fields:
            if name in scores and against:
                above, words = _stands(scores, name, against)
                asked, met = asked + 1, met + above
                texts.append(words)
        if texts:
            count = len(scores[rivals[0]].scores)
            sentences.append(f"{DATASETS[dataset]} ({counted(count, 'run')}): {'; '.join(texts)}.")
            brief += [f"{DATASETS[dataset]} {_briefly(scores, rivals)}"] if "ewnmf-best" in scores else []
    told_briefly = f"ACC with the best gamma per run: {'; '.join(brief)}" if brief else ""
    return Judgement(graded(met, asked), " ".join(sentences), told_briefly)


def _briefly(scores: Mapping[str, Result], rivals: Sequence[str]) -> str:
    """Our ACC, that of the best rival, and of NMF with as many tries."""
    rival = max(rivals, key=lambda other: _mean(scores[other], "ACC"))
    against = [rival, *(["nmf-best"] if "nmf-best" in scores else [])]
    text = " and ".join(f"{100 * _mean(scores[name], 'ACC'):.1f} ({PROTOCOLS[name].label})" for name in against)
    return f"{100 * _mean(scores['ewnmf-best'], 'ACC'):.1f} against {text}"


def _stands(scores: Mapping[str, Result], name: str, rivals: Sequence[str]) -> tuple[bool, str]:
    """Whether it is above all rivals by both measures, and the figures."""
    above, figures = True, []
    for measure in MEASURES:
        ours = _mean(scores[name], measure)
        rival = max(rivals, key=lambda other: _mean(scores[other], measure))
        theirs = _mean(scores[rival], measure)
        above &= ours > theirs
        figures.append(f"{measure} {100 * ours:.1f} against {100 * theirs:.1f} ({PROTOCOLS[rival].label})")
    return above, f"{OURS[name]} {'ahead' if above else 'not ahead'}, {' and '.join(figures)}"


def beaten_only(found: Scores) -> Judgement:
    """No ACC above ours at any number of clusters on every data set, but for GTFD with two, where Semi-NMF may win."""
    lost = {name: losses(found, name) for name in OURS}
    asked = {name: len(places(found, name)) for name in OURS}
    if not asked["ewnmf-best"]:
        return Judgement(NOT_RUN, "")
    allowed = {("gtfd", 2): "semi-nmf"}
    kept = [name for name in ("ewnmf-best", "ewnmf-one") if lost[name].items() <= allowed.items()]
    half = [name for name in ("ewnmf-best", "ewnmf-one") if asked[name] and len(lost[name]) <= asked[name] / 2]
    outcome = HOLDS if len(kept) == 2 else PART if half else NOT_SEEN
    text = "; ".join(
        f"{OURS[name]} no other is above it by ACC at {asked[name] - len(lost[name])} of {asked[name]} places"
        for name in OURS
        if asked[name]
    )
    tries = losses(found, "ewnmf-best", ("nmf-best",))
    fair = f" NMF given as many tries is above EWNMF with the best gamma per run at {len(tries)} of them."
    return Judgement(
        outcome,
        f"A place is a data set and a number of clusters, {_draws(found)} at each. EWNMF: {text}. Beaten with the "
        f"best gamma per run: {_places(lost['ewnmf-best'])}.{fair if _has(found, 'nmf-best') else ''}",
        f"unbeaten by ACC at {asked['ewnmf-best'] - len(lost['ewnmf-best'])} of {asked['ewnmf-best']} places with the "
        f"best gamma per run, at {asked['ewnmf-one'] - len(lost['ewnmf-one'])} with one gamma"
        + (f"; NMF with as many tries is above it at {len(tries)}" if _has(found, "nmf-best") else ""),
    )


def losses(found: Scores, name: str, rivals: Sequence[str] = RIVALS) -> dict[Place, str]:
    """Data set and number of clusters -> the rival with the highest mean ACC, where that is above ours."""
    lost = {}
    for dataset, scores in found.items():
        for k in scores[name].clusters if name in scores else ():
            means = {rival: _mean(scores[rival], "ACC", k) for rival in rivals if rival in scores}
            if means and max(means.values()) > _mean(scores[name], "ACC", k):
                lost[dataset, k] = max(means, key=means.__getitem__)
    return lost


def places(found: Scores, name: str) -> list[Place]:
    """Data sets and numbers of clusters at which a protocol has runs and rivals."""
    return [
        (dataset, k)
        for dataset, scores in found.items()
        if name in scores and any(rival in scores for rival in RIVALS)
        for k in scores[name].clusters
    ]


def _places(lost: Mapping[Place, str]) -> str:
    by_rival = [
        f"{DATASETS[dataset]} with {', '.join(str(k) for (_, k), _ in items)} by {PROTOCOLS[rival].label}"
        for (dataset, rival), group in groupby(
            sorted(lost.items(), key=lambda item: (item[0][0], item[1], item[0][1])),
            key=lambda item: (item[0][0], item[1]),
        )
        for items in [list(group)]
    ]
    return "; ".join(by_rival) or "nowhere"


def _draws(found: Scores) -> str:
    """The fewest and most runs at a place."""
    counts = [
        len(scores["ewnmf-best"].values("ACC", k))
        for scores in found.values()
        if "ewnmf-best" in scores
        for k in scores["ewnmf-best"].clusters
    ]
    fewest, most = min(counts), max(counts)
    return counted(most, "draw") if fewest == most else f"{fewest} to {most} draws"


def _has(found: Scores, name: str) -> bool:
    return any(name in scores for scores in found.values())


def all_aspects(found: Scores) -> Judgement:
    """No rival has the higher mean in ACC and NMI at every number of clusters; over all data sets and on each."""
    asked = places(found, "ewnmf-best")
    if not asked:
        return Judgement(NOT_RUN, "")
    sentences, everywhere, somewhere, brief = [], False, False, ""
    for name in OURS:
        wins = _share_of_wins(found, name)
        if wins:
            rival, (won, of) = max(wins.items(), key=lambda item: item[1][0] / item[1][1])
            whole = _better_on(found, name)
            brief = brief or f"{PROTOCOLS[rival].label}, the strongest rival, is above it in {won} of {of} aspects"
            everywhere |= won == of
            somewhere |= bool(whole)
            sentences.append(
                f"EWNMF {OURS[name]}: {PROTOCOLS[rival].label}, the strongest rival, is above it in {won} of {of}"
                + (f"; in all aspects of one data set: {', '.join(whole)}." if whole else ".")
            )
    why = f"Aspects: ACC and NMI at each number of clusters of each data set. {' '.join(sentences)}"
    return Judgement(NOT_SEEN if everywhere else PART if somewhere else HOLDS, why, brief)


def _share_of_wins(found: Scores, name: str) -> dict[str, tuple[int, int]]:
    """Rival -> number of aspects in which its mean is above ours, and number of aspects."""
    totals: dict[str, tuple[int, int]] = {}
    for scores in found.values():
        for rival, wins in _aspects(scores, name).items():
            won, of = totals.get(rival, (0, 0))
            totals[rival] = won + sum(wins), of + len(wins)
    return totals


def _better_on(found: Scores, name: str) -> list[str]:
    """Rivals that are above ours in all aspects of a data set."""
    return [
        f"{PROTOCOLS[rival].label} on {DATASETS[dataset]}"
        for dataset, scores in found.items()
        for rival, wins in _aspects(scores, name).items()
        if all(wins)
    ]


def _aspects(scores: Mapping[str, Result], name: str) -> dict[str, list[bool]]:
    if name not in scores:
        return {}
    ours = scores[name]
    return {
        rival: [
            _mean(scores[rival], measure, k) > _mean(ours, measure, k) for k in ours.clusters for measure in MEASURES
        ]
        for rival in RIVALS
        if rival in scores
    }


def _mean(result: Result, measure: str, k: int | None = None) -> float:
    return float(np.mean(result.values(measure, k)))
