"""The tables of the first page, one for each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages.clustering import OURS, gaps_by_gamma, losses, places
from ewnmf.experiments.pages.markup import Table
from ewnmf.experiments.pages.statistics import (
    MAIN,
    MEASURES,
    METHODS,
    PROTOCOLS,
    VIEWS,
    Experiment,
    Gap,
    Result,
    spread,
)
from ewnmf.experiments.pages.tables import printed
from ewnmf.experiments.pages.verdicts import _figure, _rising
from ewnmf.experiments.protocol.paper import DATASETS, DRAWS, GAMMAS, PRINTED

if TYPE_CHECKING:
    from ewnmf.experiments.pages.pictures import Descent
    from ewnmf.experiments.protocol.spec import Row

__all__ = ["both_tables", "by_dataset", "descents", "gains", "mean_over_clusters", "ranges", "sparseness"]


def ranges(found: Sequence[Experiment]) -> Table:
    """At which gammas EWNMF is clearly better or worse than NMF, by data set and measure."""
    lines = []
    for runs in found:
        for measure in MEASURES:
            gaps = gaps_by_gamma(runs, MAIN, measure)
            better, worse = ([g for g, gap in gaps.items() if gap.clear == sign] for sign in (1, -1))
            count = str(max((gap.count for gap in gaps.values()), default=0))
            of = f"{len(gaps)} of {len(GAMMAS)}"
            lines.append([f"{DATASETS[runs.dataset]}, {measure}", of, _listed(better), _listed(worse), count])
    return Table(["", "gammas run", "clearly better than NMF at", "clearly worse at", "runs"], lines)


def _listed(gammas: Sequence[float]) -> str:
    """Powers of ten; neighbours as a range."""
    powers = sorted(round(np.log10(gamma)) for gamma in gammas)
    stretches: list[list[int]] = []
    for power in powers:
        if stretches and power == stretches[-1][-1] + 1:
            stretches[-1].append(power)
        else:
            stretches.append([power])
    summary = [f"{10.0 ** each[0]:g}" + (f" to {10.0 ** each[-1]:g}" if len(each) > 1 else "") for each in stretches]
    return ", ".join(summary) or "none"


def both_tables(found: Mapping[str, Mapping[str, Result]]) -> Table:
    """Tables 2 and 3: the paper's figure and ours, side by side; the highest of ours is bold."""
    names = list(dict.fromkeys(name for scores in found.values() for name in scores))
    head, columns = ["mean in %"], []
    for table, scores in found.items():
        for measure in MEASURES:
            head += [f"{DATASETS[PRINTED[table].dataset]} {measure}, paper", "ours"]
            means = {name: spread(result.values(measure)).mean for name, result in scores.items()}
            theirs = [printed(table, name, measure) for name in names]
            columns.append(["-" if value is None else f"{value:.1f}" for value in theirs])
            columns.append([_cell(means, name) for name in names])
    lines = [[PROTOCOLS[name].label, *cells] for name, *cells in zip(names, *columns, strict=True)]
    runs = [cell for scores in found.values() for cell in ["", str(len(next(iter(scores.values())).scores))] * 2]
    return Table(head, [*lines, ["runs", *runs]])


def by_dataset(found: Mapping[str, Mapping[str, Result]], runs: Mapping[str, Experiment]) -> Table:
    """Mean ACC over all numbers of clusters for each data set, and at how many of them no other is above EWNMF."""
    names = [name for name in PROTOCOLS if any(name in scores for scores in found.values())]
    means = {
        dataset: {name: mean_over_clusters(result) for name, result in scores.items()}
        for dataset, scores in found.items()
    }
    lines = [[PROTOCOLS[name].label, *(_cell(of_set, name) for of_set in means.values())] for name in names]
    lines += [
        [f"{PROTOCOLS[name].label}: no other method above it at", *(_ahead(dataset, found, name) for dataset in found)]
        for name in OURS
        if name in names
    ]
    lines.append(["draws at each number of clusters", *map(_draws, found.values())])
    lines.append(["gammas", *(f"{len(runs[dataset].gammas)} of {len(GAMMAS)}" for dataset in found)])
    return Table(["mean ACC in %, all numbers of clusters", *(DATASETS[dataset] for dataset in found)], lines)


def _cell(means: Mapping[str, float], name: str) -> str:
    """A mean in percent, bold where it is the highest."""
    if name not in means:
        return "-"
    text = f"{100 * means[name]:.1f}"
    return f"**{text}**" if means[name] == max(means.values()) else text


def _ahead(dataset: str, found: Mapping[str, Mapping[str, Result]], name: str) -> str:
    """At how many numbers of clusters no other method (with one try) has a higher ACC."""
    scores = {dataset: found[dataset]}
    asked = len(places(scores, name))
    return f"{asked - len(losses(scores, name))} of {asked} k" if asked else "-"


def _draws(scores: Mapping[str, Result]) -> str:
    first = next(iter(scores.values()))
    counts = sorted({len(first.values("ACC", k)) for k in first.clusters})
    return f"{counts[0]} of {DRAWS}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} of {DRAWS}"


def mean_over_clusters(result: Result) -> float:
    """The mean ACC of all numbers of clusters, each with the same say."""
    return float(np.mean([np.mean(result.values("ACC", k)) for k in result.clusters]))


def descents(rows: Sequence[Row], curves: Mapping[str, Descent]) -> Table:
    """What each method lost late, and in how many of all runs its cost rose."""
    rising = _rising(rows)
    lines = []
    for method, title in METHODS.items():
        if method in curves or method in rising:
            fall = curves[method].late_fall if method in curves else np.nan
            rose, of = rising.get(method, (0, 0))
            lines.append([title, "-" if np.isnan(fall) else f"{fall:.1%}", f"{rose} of {of}"])
    return Table(["", "cost lost after 200 iterations", "runs whose cost rose"], lines)


def gains(gaps: Mapping[str, Mapping[str, Mapping[float, Gap]]]) -> Table:
    """View -> label -> share of occluded images -> points over NMF; bold where the 95 % interval lies off 0."""
    shares = sorted(next(iter(next(iter(gaps.values())).values())))
    lines = [
        [f"{label}, {VIEWS[view]}", *(_points(by_share[share]) for share in shares)]
        for view, by_label in gaps.items()
        for label, by_share in by_label.items()
    ]
    return Table(["points of ACC over NMF (bold: clearly)", *(f"{100 * share:g} %" for share in shares)], lines)


def _points(gap: Gap) -> str:
    text = f"{100 * gap.mean:+.1f}"
    return f"**{text}**" if gap.clear else text


def sparseness(yale: Experiment) -> Table:
    """Hoyer's sparseness of the bases, mean and deviation over the runs on Yale."""
    found = {method: _figure(yale, method, "sparseness") for method in METHODS}
    shown = "" if yale.shown is None else f", gamma = {yale.shown}"
    lines = []
    for method, values in found.items():
        if values:
            ours = spread(values)
            summary = f"{ours.mean:.2f}" + (f" ± {ours.deviation:.2f}" if ours.count > 1 else "")
            lines.append([METHODS[method] + (shown if method == "ewnmf" else ""), summary, str(ours.count)])
    return Table(["", "sparseness of the bases", "runs"], lines)
