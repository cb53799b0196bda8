"""The sections of the page of tables, one for each target; what is not in the store is named as missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ewnmf.experiments.pages import figures, occlusion, tables
from ewnmf.experiments.pages.differences import explanations
from ewnmf.experiments.pages.markup import Picture, Section, Sheet, Table, bullets, counted, wrapped
from ewnmf.experiments.pages.material import Material
from ewnmf.experiments.pages.statistics import MAIN, VIEWS, Experiment, Result, experiment, results
from ewnmf.experiments.protocol import paper
from ewnmf.experiments.protocol.plan import PLAIN

__all__ = ["BANDS", "SECTIONS", "missing"]

Part = str | Table | Sheet | Picture
ByView = Mapping[str, Mapping[str, Result]]

BANDS = "Bands: one standard error of the mean over the runs."


def missing(target: str) -> list[Part]:
    """What stands in a section that has nothing to show."""
    return [f"Not yet run: `ewnmf reproduce {target}`."]


def table1(material: Material) -> Section:
    """Points, dimensions and classes; the paper's conflicts."""
    notes = [f"{paper.DATASETS[dataset]}: {words}" for dataset, words in paper.CONFLICTS.items()]
    found = any(row.spec.method == "none" for row in material.rows)
    parts: list[Part] = [tables.data_statistics(material.rows)] if found else missing("table1")
    return Section("Table 1: data sets", [*parts, bullets(notes)])


def _against_gamma(target: str, table: str) -> Callable[[Material], Section]:
    dataset = paper.PRINTED[table].dataset
    title = f"Fig. {target[3:]}: ACC and NMI against gamma, {paper.DATASETS[dataset]}"

    def section(material: Material) -> Section:
        found = experiment(material.rows, dataset, draws=False)
        if not found.gammas or not found.rows.get("nmf"):
            return Section(title, missing(target))
        caption = (
            f"EWNMF at each gamma, NMF flat (same starts). {BANDS} Dashed: the best gamma per run, and NMF's best of "
            "as many tries, both picked by label (ACC). Triangles on the right edge: Tables 2 and 3 of the paper. "
            'Where gamma="auto" or "groups" keeps plain NMF, it is drawn at the largest gamma.'
        )
        draw = partial(figures.against_gamma, found, table)
        picture = Picture(target, title.split(": ")[1], caption, draw)
        sheet = tables.gamma_sheet(target, found)
        return Section(title, [coverage(found), picture, sheet])

    return section


def _against_paper(table: str) -> Callable[[Material], Section]:
    dataset = paper.PRINTED[table].dataset
    title = f"Table {table[5:]}: {paper.DATASETS[dataset]}"

    def section(material: Material) -> Section:
        found = experiment(material.rows, dataset, draws=False)
        views = tables.all_views(found)
        if not all(views.values()):
            return Section(title, missing(table))
        parts: list[Part] = [coverage(found, views)]
        parts += [tables.against_paper(table, views, measure) for measure in ("ACC", "NMI")]
        parts += [wrapped(words) for words in [tables.picked_gammas(views)] if words]
        compared = tables.paired(views)
        if compared.rows:
            parts += [wrapped("Over the same runs, in points of percent:"), compared]
        parts += ["Against the paper, k-means on " + VIEWS[MAIN] + ":", bullets(explanations(table, views, found))]
        return Section(title, [*parts, tables.scores_sheet(table, views, table)])

    return section


def _against_clusters(target: str, dataset: str) -> Callable[[Material], Section]:
    name = paper.DATASETS[dataset]
    title = f"Fig. {target[3:]}: 2 to 10 clusters, {name}"

    def section(material: Material) -> Section:
        found = experiment(material.rows, dataset, draws=True)
        views = tables.all_views(found)
        if not all(views.values()):
            return Section(title, missing(target))
        caption = (
            f"Above the paper's comparison, with EWNMF's gamma picked by label for every run, as the paper "
            f"presumably did; below what the pick is worth. k-means on {VIEWS[MAIN]}. {BANDS}"
        )
        picture = Picture(
            target,
            f"ACC and NMI against the number of clusters, {name}",
            caption,
            partial(figures.against_clusters, views[MAIN]),
        )
        parts: list[Part] = [coverage(found, views), picture]
        parts += [tables.by_clusters(views[MAIN], measure) for measure in ("ACC", "NMI")]
        parts += _on_more_draws(found, views[MAIN])
        compared = tables.paired(views)
        if compared.rows:
            parts += [
                wrapped("Over the same draws and starts, all numbers of clusters together, in points of percent:"),
                compared,
            ]
        parts += [wrapped(words) for words in [tables.picked_gammas(views)] if words]
        return Section(title, [*parts, tables.scores_sheet(target, views)])

    return section


def _on_more_draws(found: Experiment, compared: Mapping[str, Result]) -> list[Part]:
    """The methods without gamma on all draws that they have, where EWNMF has fewer."""
    others = results(found, MAIN, PLAIN) or compared
    here, there = (next(iter(each.values())).scores for each in (compared, others))
    if len(there) == len(here):
        return []
    words = wrapped("The other methods on all their draws, those without EWNMF too:")
    return [words, *(tables.by_clusters(others, measure) for measure in ("ACC", "NMI"))]


def coverage(found: Experiment, views: ByView | None = None) -> str:
    """How much of the paper's protocol is in the store."""
    runs = next(iter(views[MAIN].values())).scores if views else found.rows["ewnmf"][found.gammas[0]]
    if any(draw is not None for _, draw, _ in runs):
        counts: dict[int, list[int]] = {}
        for k in sorted({run[0] for run in runs}):
            counts.setdefault(sum(run[0] == k for run in runs), []).append(k)
        text = " and ".join(f"{n} of {paper.DRAWS} draws at {_clusters(ks)}" for n, ks in counts.items())
        if found.dataset == "tdt2" and min(counts) < paper.DRAWS:
            text += " (those with the fewest texts are made first)"
    else:
        text = f"{len(runs)} of {paper.STARTS} starts"
    tries = sum(1 for attempt in found.rows.get("nmf", {}))
    words = (
        f"In the store: {text}; {len(found.gammas)} of {len(paper.GAMMAS)} gammas; {counted(tries, 'try')} of NMF "
        f"for each; {found.iterations} of {paper.ITERATIONS} iterations."
    )
    return wrapped(words.replace("trys", "tries"))


def _clusters(ks: Sequence[int]) -> str:
    whole = list(ks) == list(range(ks[0], ks[-1] + 1)) and len(ks) > 1
    return f"k = {ks[0]} to {ks[-1]}" if whole else f"k = {', '.join(map(str, ks))}"


def occluded(material: Material) -> Section:
    """ACC against the share of occluded images."""
    title = "Occlusion, an experiment of our own"
    curves = occlusion.curves_by_view(material.rows)
    if not curves:
        return Section(title, missing("occlusion"))
    gaps = {view: occlusion.gaps_by_share(curve) for view, curve in curves.items()}
    parts: list[Part] = [
        *(occlusion.by_share(curve, VIEWS[view]) for view, curve in curves.items()),
        wrapped("EWNMF against NMF on the same images from the same starts, with 95 % intervals (paired t):"),
        *(occlusion.gap_table(gap, VIEWS[view]) for view, gap in gaps.items()),
        wrapped(" ".join(occlusion.reading(gap, VIEWS[view]) for view, gap in gaps.items())),
    ]
    return Section(title, parts)


SECTIONS: dict[str, Callable[[Material], Section]] = {
    "table1": table1,
    "fig3": _against_gamma("fig3", "table2"),
    "fig4": _against_gamma("fig4", "table3"),
    "table2": _against_paper("table2"),
    "table3": _against_paper("table3"),
    "fig5": _against_clusters("fig5", "yale"),
    "fig6": _against_clusters("fig6", "umist"),
    "fig7": _against_clusters("fig7", "caltech101"),
    "fig8": _against_clusters("fig8", "gtfd"),
    "fig9": _against_clusters("fig9", "tdt2"),
    "occlusion": occluded,
}
