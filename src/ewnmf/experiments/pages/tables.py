"""Tables of the report: the paper against ours, under every protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages.markup import Sheet, Table, counted, number
from ewnmf.experiments.pages.statistics import (
    MEASURES,
    METHODS,
    PROTOCOLS,
    VIEWS,
    Experiment,
    Gap,
    Result,
    Spread,
    compare,
    results,
    spread,
)
from ewnmf.experiments.protocol import paper
from ewnmf.experiments.protocol.spec import RULES

if TYPE_CHECKING:
    from ewnmf.experiments.protocol.spec import Row

__all__ = [
    "against_paper",
    "all_views",
    "by_clusters",
    "data_statistics",
    "gamma_sheet",
    "paired",
    "percent",
    "picked_gammas",
    "printed",
    "provenance",
    "scores_sheet",
    "weights_by_gamma",
    "what_was_run",
]

COMPARISONS = {
    ("ewnmf-best", "nmf"): "best gamma per run - NMF",
    ("ewnmf-best", "nmf-best"): "best gamma per run - NMF, best of as many tries",
    ("ewnmf-one", "nmf"): "one gamma for all - NMF",
    **{(f"ewnmf-{rule}", "nmf"): f'gamma="{rule}" - NMF' for rule in RULES},
}
"""Pairs of protocols that the paired test compares."""

ByView = Mapping[str, Mapping[str, Result]]
Record = dict[str, str | int | float]


def all_views(found: Experiment) -> dict[str, dict[str, Result]]:
    """View -> protocol -> result."""
    return {view: results(found, view) for view in VIEWS}


def data_statistics(rows: Iterable[Row]) -> Table:
    """Table 1: points, dimensions and classes, printed and found."""
    found = {row.spec.dataset: row.figures for row in rows if row.spec.method == "none"}
    lines = []
    for dataset, theirs in paper.TABLE1.items():
        figures = found.get(dataset, {})
        ours = [_whole(figures.get(name)) for name in ("n_points", "n_attributes", "n_classes")]
        sizes = [_whole(figures.get(name)) for name in ("smallest_class", "largest_class")]
        pairs = zip(map(str, theirs), ours, strict=True)
        lines.append([paper.DATASETS[dataset], *(text for pair in pairs for text in pair), " to ".join(sizes)])
    head = ["", "points, paper", "ours", "dimensions, paper", "ours", "classes, paper", "ours", "points in a class"]
    return Table(head, lines)


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def printed(table: str, protocol: str, measure: str) -> float | None:
    """The paper's percentage that a protocol answers to; None where the paper has none."""
    if protocol == "nmf-best":
        return None
    method = PROTOCOLS[protocol].method
    values = paper.PRINTED[table].values["onmf" if method.startswith("onmf") else method]
    return values[MEASURES.index(measure)]


def against_paper(table: str, views: ByView, measure: str) -> Table:
    """Table 2 or 3 by one measure: printed value, and for each view mean, deviation and difference, in percent."""
    lines = []
    best = {view: max(np.mean(result.values(measure)) for result in found.values()) for view, found in views.items()}
    for name in views[next(iter(views))]:
        theirs = printed(table, name, measure)
        spreads = {view: spread(found[name].values(measure)) for view, found in views.items()}
        cells = [
            _against(percent(ours, bold=ours.mean == best[view]), ours.mean, theirs) for view, ours in spreads.items()
        ]
        count = str(next(iter(spreads.values())).count)
        lines.append([PROTOCOLS[name].label, "-" if theirs is None else f"{theirs:.2f}", *cells, count])
    return Table([f"{measure} in %", "paper", *(VIEWS[view] for view in views), "runs"], lines)


def percent(ours: Spread, *, bold: bool = False) -> str:
    """``mean ± standard deviation`` in percent."""
    text = f"{100 * ours.mean:.1f}" + (f" ± {100 * ours.deviation:.1f}" if ours.count > 1 else "")
    return f"**{text}**" if bold else text


def _against(text: str, mean: float, theirs: float | None) -> str:
    return text if theirs is None else f"{text} ({100 * mean - theirs:+.1f})"


def picked_gammas(views: ByView) -> str:
    """Which gammas the protocols used, as a sentence for each."""
    sentences = []
    one = {
        VIEWS[view]: next(iter(found["ewnmf-one"].picks.values()))
        for view, found in views.items()
        if "ewnmf-one" in found
    }
    if one:
        summary = ", ".join(f"{gamma:g} ({view})" for view, gamma in one.items())
        sentences.append(f"One gamma for all runs, by label: {summary}.")
    ranges = []
    for view, found in views.items():
        if "ewnmf-best" in found:
            counts = Counter(found["ewnmf-best"].picks.values())
            summary = ", ".join(f"{gamma:g} in {counts[gamma]}" for gamma in sorted(counts, key=float))
            ranges.append(f"{summary} ({VIEWS[view]})")
    if ranges:
        sentences.append(f"Best gamma per run, by label, with the number of runs: {'; '.join(ranges)}.")
    return " ".join(sentences)


def paired(views: ByView) -> Table:
    """Differences over the same runs in points of percent, with their 95 % intervals, p-values and runs won."""
    lines = []
    for measure in MEASURES:
        for (ours, theirs), label in COMPARISONS.items():
            if all(ours in found and theirs in found for found in views.values()):
                gaps = [compare(found[ours], found[theirs], measure) for found in views.values()]
                lines.append([label, measure, *(difference(gap) for gap in gaps)])
    return Table(["EWNMF - NMF in points", "", *(VIEWS[view] for view in views)], lines, left=2)


def difference(gap: Gap | None) -> str:
    """``+3.2 (+1.0 to +5.4; p = 0.010; 8 of 10)``."""
    if gap is None:
        return "-"
    if gap.count < 2:
        return f"{100 * gap.mean:+.1f} (1 run)"
    p = "p < 0.001" if gap.p < 0.001 else f"p = {gap.p:.3f}"
    return f"{100 * gap.mean:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f}; {p}; {gap.wins} of {gap.count})"


def by_clusters(found: Mapping[str, Result], measure: str) -> Table:
    """Mean of one measure in percent for each number of clusters; the largest of each column is bold."""
    clusters = next(iter(found.values())).clusters
    means = {name: [float(np.mean(result.values(measure, k))) for k in clusters] for name, result in found.items()}
    best = [max(column) for column in zip(*means.values(), strict=True)]
    lines = [
        [PROTOCOLS[name].label, *(_bold(value, top) for value, top in zip(values, best, strict=True))]
        for name, values in means.items()
    ]
    runs = [str(len(next(iter(found.values())).values(measure, k))) for k in clusters]
    return Table([f"{measure} in %", *(f"k = {k}" for k in clusters)], [*lines, ["draws", *runs]])


def _bold(value: float, top: float) -> str:
    return f"**{100 * value:.1f}**" if value == top else f"{100 * value:.1f}"


def scores_sheet(name: str, views: ByView, table: str | None = None) -> Sheet:
    """Mean, deviation and number of runs for every protocol, view, measure and number of clusters."""
    records: list[Record] = []
    for view, found in views.items():
        for protocol, result in found.items():
            for k in result.clusters:
                for measure in MEASURES:
                    ours = spread(result.values(measure, k))
                    record = _record(result, view, k, measure, ours)
                    theirs = None if table is None else printed(table, protocol, measure)
                    if theirs is not None:
                        record |= {"paper": theirs, "difference": round(100 * ours.mean - theirs, 4)}
                    records.append(record)
    return Sheet(name, records)


def _record(result: Result, view: str, k: int, measure: str, ours: Spread) -> Record:
    protocol = PROTOCOLS[result.protocol]
    record: Record = {
        "method": protocol.method,
        "protocol": result.protocol,
        "codes": view.split("_")[0],
        "k-means starts": int(view.split("_")[1]),
        "clusters": k,
        "measure": measure,
        "mean": round(100 * ours.mean, 4),
        "runs": ours.count,
    }
    if ours.count > 1:
        record["standard deviation"] = round(100 * ours.deviation, 4)
    if protocol.pick == "one":
        record["gamma"] = next(iter(result.picks.values()))
    return record


def provenance(rows: Sequence[Row]) -> str:
    """How many runs, how long they took, when and with what they were made; of at least one row."""
    days = sorted(row.finished[:10] for row in rows)
    minutes = sum(row.seconds for row in rows) / 60
    time = f"{minutes / 60:.1f} hours" if minutes >= 60 else counted(round(minutes), "minute")
    versions = sorted({f"{name} {version}" for row in rows for name, version in row.versions.items()})
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return (
        f"{counted(len(rows), 'run')}, {time} of one process in all, finished {when}. Versions: {', '.join(versions)}."
    )


def what_was_run(rows: Sequence[Row]) -> Table:
    """Number of runs in the store by data set and method."""
    counts = Counter((row.spec.dataset, row.spec.method) for row in rows if row.spec.method in METHODS)
    lines = [
        [title, *(str(counts[dataset, method]) for method in METHODS)]
        for dataset, title in paper.DATASETS.items()
        if any(counts[dataset, method] for method in METHODS)
    ]
    return Table(["runs in the store", *METHODS.values()], lines)


def gamma_sheet(name: str, found: Experiment) -> Sheet:
    """Mean, deviation and number of runs at every gamma that was run."""
    records: list[Record] = []
    for gamma in found.gammas:
        for view in VIEWS:
            scores = found.scores("ewnmf", gamma, view)
            for at, measure in enumerate(MEASURES):
                result = Result("ewnmf-one", scores, dict.fromkeys(scores, gamma))
                ours = spread([score[at] for score in scores.values()])
                records.append(_record(result, view, result.clusters[0], measure, ours) | {"protocol": "ewnmf"})
    return Sheet(name, records)


def weights_by_gamma(rows: Iterable[Row]) -> Table:
    """Median weights of destroyed and other samples of the signals, over the runs."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.spec.dataset == "signals" and "weight_destroyed" in row.figures:
            found.setdefault(str(row.spec.gamma), []).append(row)
    lines = []
    for gamma, group in found.items():
        columns = [[row.figures[name] for row in group] for name in ("weight_destroyed", "weight_rest")]
        used = [row.figures["gamma"] for row in group]
        summary = f'"{gamma}" ({number(min(used))} to {number(max(used))})' if gamma in RULES else gamma
        lines.append([summary, *(f"{np.median(column):.2g}" for column in columns), str(len(group))])
    head = ["gamma", "weight where destroyed (1 = equal)", "elsewhere in that mixture", "runs"]
    return Table(head, lines)
