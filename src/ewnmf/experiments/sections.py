"""The sections of the report, one for each target; what is not in the store is named as missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments import figures, occlusion, paper, pictures, tables
from ewnmf.experiments.differences import explanations
from ewnmf.experiments.markup import Picture, Section, Sheet, Table, bullets, counted, wrapped
from ewnmf.experiments.material import Material, gamma_title, method_title
from ewnmf.experiments.statistics import MAIN, VIEWS, Experiment, Result, experiment

if TYPE_CHECKING:
    from ewnmf.experiments.spec import Row

__all__ = ["SECTIONS"]

Part = str | Table | Sheet | Picture
ByView = Mapping[str, Mapping[str, Result]]

BANDS = "Bands: one standard error of the mean over the runs."
N_FACES = 8


def missing(target: str) -> list[Part]:
    """What stands in a section that has nothing to show."""
    return [f"Not yet run: `ewnmf reproduce {target}`."]


def table1(material: Material) -> Section:
    """Points, dimensions and classes; the paper's conflicts."""
    notes = [f"{paper.DATASETS[dataset]}: {words}" for dataset, words in paper.CONFLICTS.items()]
    found = any(row.spec.method == "none" for row in material.rows)
    parts: list[Part] = [tables.data_statistics(material.rows)] if found else missing("table1")
    return Section("Table 1: data sets", [*parts, bullets(notes)])


def fig2(material: Material) -> Section:
    """Signals and weights of the first seed."""
    runs = material.kept("weights", dataset="signals", method="ewnmf")
    if not runs:
        return Section("Fig. 2: weights of destroyed signals", missing("fig2"))
    seed = min(row.spec.seed for row in runs)
    first = _auto_last(row for row in runs if row.spec.seed == seed)
    learned = {gamma_title(row): material.array(row, "weights") for row in first}
    source = first[0]
    data, sources, damaged = (material.array(source, name) for name in ("data", "sources", "damaged"))
    figure = pictures.signal_weights(data, sources, damaged, learned)
    caption = (
        "The sources, the first mixtures (the beginning of the first one destroyed, shaded) and their learned "
        f"weights, times the number of samples, so that 1 means equal; seed {seed}, {source.spec.max_iter} iterations."
    )
    picture = Picture("fig2", "Sources, mixtures and learned weights", caption, figure)
    return Section("Fig. 2: weights of destroyed signals", [picture, tables.weights_by_gamma(material.rows)])


def _auto_last(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: isinstance(row.spec.gamma, str))


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
            'Where gamma="auto" keeps plain NMF, it is drawn at the largest gamma.'
        )
        picture = Picture(target, title.split(": ")[1], caption, figures.against_gamma(found, table))
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
            figures.against_clusters(views[MAIN]),
        )
        parts: list[Part] = [coverage(found, views), picture]
        parts += [tables.by_clusters(views[MAIN], measure) for measure in ("ACC", "NMI")]
        compared = tables.paired(views)
        if compared.rows:
            parts += [
                wrapped("Over the same draws and starts, all numbers of clusters together, in points of percent:"),
                compared,
            ]
        parts += [wrapped(words) for words in [tables.picked_gammas(views)] if words]
        return Section(title, [*parts, tables.scores_sheet(target, views)])

    return section


def coverage(found: Experiment, views: ByView | None = None) -> str:
    """How much of the paper's protocol is in the store."""
    runs = next(iter(views[MAIN].values())).scores if views else found.rows["nmf"][0]
    if any(draw is not None for _, draw, _ in runs):
        counts: dict[int, list[int]] = {}
        for k in sorted({run[0] for run in runs}):
            counts.setdefault(sum(run[0] == k for run in runs), []).append(k)
        told = " and ".join(f"{n} of {paper.DRAWS} draws at {_clusters(ks)}" for n, ks in counts.items())
        if found.dataset == "tdt2" and min(counts) < paper.DRAWS:
            told += " (those with the fewest texts are made first)"
    else:
        told = f"{len(runs)} of {paper.STARTS} starts"
    tries = sum(1 for attempt in found.rows.get("nmf", {}))
    words = (
        f"In the store: {told}; {len(found.gammas)} of {len(paper.GAMMAS)} gammas; {counted(tries, 'try')} of NMF "
        f"for each; {found.iterations} of {paper.ITERATIONS} iterations."
    )
    return wrapped(words.replace("trys", "tries"))


def _clusters(ks: Sequence[int]) -> str:
    whole = list(ks) == list(range(ks[0], ks[-1] + 1)) and len(ks) > 1
    return f"k = {ks[0]} to {ks[-1]}" if whole else f"k = {', '.join(map(str, ks))}"


def fig10(material: Material) -> Section:
    """Cost curves of the first seed on Yale."""
    title = "Fig. 10: cost against iterations, Yale"
    runs = material.first_of_methods("history")
    if not runs:
        return Section(title, missing("fig10"))
    row = next(iter(runs.values()))
    caption = (
        f"One run of each method from the same start (seed {row.spec.seed}), {row.spec.max_iter} iterations. Cost "
        "above its bound (0 for a perfect fit); in the titles the share of it that was lost "
        "after the 200th iteration (dotted), and at how many iterations the cost rose."
    )
    figure = pictures.cost_curves(material.descents())
    return Section(title, [Picture("fig10", "Cost against iterations, a panel for each method", caption, figure)])


def fig11(material: Material) -> Section:
    """Bases of the first seed on Yale."""
    title = "Fig. 11: basis images, Yale"
    runs = material.first_of_methods("components")
    if not runs:
        return Section(title, missing("fig11"))
    found = {
        method: (f"{method_title(row)}, sparseness {row.figures['sparseness']:.2f}", material.array(row, "components"))
        for method, row in runs.items()
    }
    iterations = next(iter(runs.values())).spec.max_iter
    caption = (
        f"All components of one run of each method from the same start, {iterations} iterations; the pixels of each "
        "sum to one (Semi-NMF, which has both signs: their absolute values do, purple and orange are the two signs). "
        "One scale for each method, cut off at the 98th percentile of its pixels. "
        "Sparseness: Hoyer's, 0 for a flat image, 1 for a single pixel; the mean."
    )
    return Section(title, [Picture("fig11", "Basis images of each method", caption, pictures.bases(found))])


def occluded(material: Material) -> Section:
    """ACC against the share of occluded images, and faces with their weights."""
    title = "Occlusion, an experiment of our own"
    shares = sorted({row.spec.occluded for row in material.rows if row.spec.dataset == "yale"})
    found = {share: experiment(material.rows, "yale", draws=False, occluded=share) for share in shares}
    curves = {view: occlusion.curves_of(found, view) for view in (MAIN, "unit_10")}
    if any(len(curve) < 2 or len(curve["NMF"]) < 2 for curve in curves.values()):
        return Section(title, missing("occlusion"))
    gaps = {view: occlusion.gaps_by_share(curve) for view, curve in curves.items()}
    caption = (
        "Yale, 15 clusters; a 12 x 12 block of black or white at a random place on so many of the images. EWNMF's "
        "fixed gammas are the same for all shares; values around them had done well on Yale before. k-means on "
        f"{VIEWS[MAIN]} and on {VIEWS['unit_10']}. {BANDS}"
    )
    parts: list[Part] = [
        Picture("occlusion", "ACC against the share of occluded images", caption, figures.against_occlusion(curves)),
        *(occlusion.by_share(curve, VIEWS[view]) for view, curve in curves.items()),
        wrapped("EWNMF against NMF on the same images from the same starts, with 95 % intervals (paired t):"),
        *(occlusion.gap_table(gap, VIEWS[view]) for view, gap in gaps.items()),
        wrapped(" ".join(occlusion.reading(gap, VIEWS[view]) for view, gap in gaps.items())),
    ]
    return Section(title, [*parts, *_faces(material)])


def _faces(material: Material) -> list[Part]:
    runs = [row for row in material.kept("weights", dataset="yale", method="ewnmf") if row.spec.occluded > 0]
    if not runs:
        return []
    share = min((row.spec.occluded for row in runs), key=lambda share: abs(share - 0.3))
    seed = min(row.spec.seed for row in runs if row.spec.occluded == share)
    shown = _auto_last(row for row in runs if (row.spec.occluded, row.spec.seed) == (share, seed))
    damaged = material.array(shown[0], "damaged").astype(bool)
    rows = np.flatnonzero(damaged.any(axis=1))
    rows = rows[np.linspace(0, rows.size - 1, min(N_FACES, rows.size)).astype(int)]
    learned = {gamma_title(row).replace(" (", "\n("): material.array(row, "weights")[rows] for row in shown}
    faces = pictures.occluded_faces(material.array(shown[0], "data")[rows], learned, damaged[rows])
    caption = (
        f"Some of the {100 * share:g} % of faces that are occluded (seed {seed}; evenly picked from all) and the "
        "weights learned for them, times the number of pixels, so that 1 means equal. The blocks are outlined."
    )
    return [Picture("occlusion-weights", "Occluded faces and learned weights", caption, faces)]


SECTIONS: dict[str, Callable[[Material], Section]] = {
    "table1": table1,
    "fig2": fig2,
    "fig3": _against_gamma("fig3", "table2"),
    "fig4": _against_gamma("fig4", "table3"),
    "table2": _against_paper("table2"),
    "table3": _against_paper("table3"),
    "fig5": _against_clusters("fig5", "yale"),
    "fig6": _against_clusters("fig6", "umist"),
    "fig7": _against_clusters("fig7", "caltech101"),
    "fig8": _against_clusters("fig8", "gtfd"),
    "fig9": _against_clusters("fig9", "tdt2"),
    "fig10": fig10,
    "fig11": fig11,
    "occlusion": occluded,
}
