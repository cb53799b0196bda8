"""The chapters of the first page: for the paper's claims a verdict in brief, a figure, a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages import figures, front_tables, occlusion, overview, pictures, tables
from ewnmf.experiments.pages.diagram import Lane, method_diagram
from ewnmf.experiments.pages.markup import Picture, Section, Sheet, Table, bullets
from ewnmf.experiments.pages.material import Material, gamma_title, method_title
from ewnmf.experiments.pages.sections import BANDS, missing
from ewnmf.experiments.pages.showing import SHOWN_SHARE, shown_points
from ewnmf.experiments.pages.statistics import MAIN, VIEWS, Experiment, experiment, results
from ewnmf.experiments.protocol import paper
from ewnmf.experiments.protocol.plan import PLAIN

if TYPE_CHECKING:
    from ewnmf.experiments.pages.verdicts import Verdict
    from ewnmf.experiments.protocol.spec import Row

__all__ = ["CHAPTERS", "chapter"]

Part = str | Table | Sheet | Picture
FACES = {"table2": "yale", "table3": "umist"}
IN_DRAWS = {"fig5": "yale", "fig6": "umist", "fig7": "caltech101", "fig8": "gtfd", "fig9": "tdt2"}


@dataclass(frozen=True)
class Chapter:
    """Claims that one figure shows: the targets whose runs it needs, and what stands under the claims."""

    title: str
    claims: tuple[str, ...]
    targets: tuple[str, ...]
    parts: Callable[[Material], list[Part]]


def chapter(name: str, material: Material, judged: Sequence[Verdict]) -> Section:
    """A chapter with the verdicts on its claims."""
    made = CHAPTERS[name]
    texts = [
        f"{paper.CLAIMS[verdict.claim].says}: **{verdict.outcome}**." + (f" {verdict.brief}." if verdict.brief else "")
        for verdict in judged
        if verdict.claim in made.claims
    ]
    parts = made.parts(material) or missing(" ".join(made.targets))
    return Section(made.title, [*([bullets(texts)] if texts else []), *parts])


def idea(material: Material) -> list[Part]:
    """Fig. 1."""
    runs = {row.spec.method: row for row in material.kept("components", dataset="cartoons", seed=0)}
    if set(runs) != {"nmf", "ewnmf"}:
        return []
    arrays = {
        method: {name: material.array(row, name).astype(float) for name in ("components", "codes")}
        for method, row in runs.items()
    }
    rebuilt = {method: (each["codes"] @ each["components"])[0] for method, each in arrays.items()}
    faces, hat = material.array(runs["ewnmf"], "data").astype(float), material.array(runs["ewnmf"], "damaged")[0]
    weights = material.array(runs["ewnmf"], "weights")[0].astype(float) * faces.shape[1]
    plain = "every pixel has the same say, and one feature is the hat"
    ours = "the hat has no say, and the features are those of faces"
    lanes = {
        "NMF": Lane(plain, np.ones(faces.shape[1]), arrays["nmf"]["components"], rebuilt["nmf"]),
        "EWNMF": Lane(ours, weights, arrays["ewnmf"]["components"], rebuilt["ewnmf"]),
    }
    spec = runs["ewnmf"].spec
    caption = (
        f"The paper's diagram, computed: {len(faces)} cartoon faces, the first of them with a hat; {spec.k} features, "
        f"gamma = {spec.gamma:g}. Where the hat is as dark as the hair that the features put there nothing contradicts "
        "it, and the weights stay."
    )
    shows = "A face with a hat, its weights, the features of NMF and EWNMF, and the face rebuilt without the hat"
    return [Picture("fig1", shows, caption, partial(method_diagram, faces, hat.astype(bool), lanes))]


def destroyed(material: Material) -> list[Part]:
    """Fig. 2: signals and weights of the first seed."""
    runs = material.kept("weights", dataset="signals", method="ewnmf")
    if not runs:
        return []
    seed = min(row.spec.seed for row in runs)
    first = _rules_last(row for row in runs if row.spec.seed == seed)
    learned = {gamma_title(row): material.array(row, "weights") for row in first}
    source = first[0]
    data, sources, damaged = (material.array(source, name) for name in ("data", "sources", "damaged"))
    caption = (
        "The sources, the first mixtures (the beginning of the first one destroyed, shaded) and their learned "
        f"weights, times the number of samples, so that 1 means equal; seed {seed}, {source.spec.max_iter} iterations."
    )
    draw = partial(pictures.signal_weights, data, sources, damaged, learned)
    picture = Picture("fig2", "Sources, mixtures and learned weights", caption, draw)
    return [picture, tables.weights_by_gamma(material.rows)]


def _rules_last(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.spec.chooses)


def gammas(material: Material) -> list[Part]:
    """Figs. 3 and 4 in the main view."""
    whole = {table: experiment(material.rows, dataset, draws=False) for table, dataset in FACES.items()}
    found = {table: runs for table, runs in whole.items() if runs.gammas and runs.rows.get("nmf")}
    if not found:
        return []
    caption = (
        f"EWNMF at each gamma, NMF flat (same starts), k-means on {VIEWS[MAIN]}. {BANDS} Dashed: the best gamma per "
        "run, and NMF's best of as many tries, both picked by label. Triangles on the right edge: the paper's tables. "
        "[All views](reproduction-tables.md#fig-3-acc-and-nmi-against-gamma-yale)."
    )
    picture = Picture("gammas", "ACC and NMI against gamma", caption, partial(overview.all_gammas, found))
    return [picture, front_tables.ranges(list(found.values()))]


def methods(material: Material) -> list[Part]:
    """Tables 2 and 3 in the main view."""
    scores = {table: results(experiment(material.rows, name, draws=False), MAIN) for table, name in FACES.items()}
    found = {table: each for table, each in scores.items() if each}
    if not found:
        return []
    caption = (
        f"Means over the runs, k-means on {VIEWS[MAIN]}. EWNMF's best gamma per run is picked by label, as the paper "
        "presumably did; NMF's best of as many tries has the same advantage. "
        "[All views, differences and reasons](reproduction-tables.md#table-2-yale)."
    )
    picture = Picture("methods", "ACC and NMI of every method", caption, partial(overview.all_methods, found))
    return [picture, front_tables.both_tables(found)]


def clusters(material: Material) -> list[Part]:
    """Figs. 5 to 9 in the main view."""
    runs = {dataset: experiment(material.rows, dataset, draws=True) for dataset in IN_DRAWS.values()}
    scores = {dataset: results(each, MAIN) for dataset, each in runs.items()}
    found = {dataset: each for dataset, each in scores.items() if each}
    if not found:
        return []
    caption = (
        f"Means over the draws, k-means on {VIEWS[MAIN]}, EWNMF's gamma picked by label for every run. "
        f"{_easier_texts(runs['tdt2'])}"
        "[Each data set with all protocols](reproduction-tables.md#fig-5-2-to-10-clusters-yale)."
    )
    shows = "ACC and NMI against the number of clusters"
    picture = Picture("clusters", shows, caption, partial(overview.all_clusters, found))
    return [picture, front_tables.by_dataset(found, runs)]


def _easier_texts(found: Experiment) -> str:
    """What the draws of texts that are run first, the smallest, make of NMF."""
    shared, alone = results(found, MAIN).get("nmf"), results(found, MAIN, PLAIN).get("nmf")
    if shared is None or alone is None or len(shared.scores) == len(alone.scores):
        return ""
    few, all_of = (100 * front_tables.mean_over_clusters(each) for each in (shared, alone))
    return (
        f"{paper.DATASETS[found.dataset]}'s draws with the fewest texts are run first and are not like the others: "
        f"NMF's ACC is {few:.1f} on those compared here, {all_of:.1f} on all that it has. "
    )


def descent(material: Material) -> list[Part]:
    """Fig. 10: cost curves of the first seed on Yale."""
    runs = material.first_of_methods("history")
    if not runs:
        return []
    row = next(iter(runs.values()))
    caption = (
        f"Yale, one run of each method from the same start (seed {row.spec.seed}), {row.spec.max_iter} iterations. "
        "Cost above its bound (0 for a perfect fit); in the titles the share of it that was lost after the 200th "
        "iteration (dotted), and at how many iterations the cost rose. The table counts the runs on all data sets."
    )
    curves = material.descents()
    shows = "Cost against iterations, a panel for each method"
    picture = Picture("fig10", shows, caption, partial(pictures.cost_curves, curves))
    return [picture, front_tables.descents(material.rows, curves)]


def bases(material: Material) -> list[Part]:
    """Fig. 11: bases of the first seed on Yale."""
    runs = material.first_of_methods("components")
    if not runs:
        return []
    found = {
        method: (
            f"{method_title(row)}, sparseness {row.figures['sparseness']:.2f}",
            material.array(row, "components").astype(float),
        )
        for method, row in runs.items()
    }
    iterations = next(iter(runs.values())).spec.max_iter
    caption = (
        f"Yale, all components of one run of each method from the same start, {iterations} iterations; the pixels of "
        "each sum to one (Semi-NMF, which has both signs: their absolute values do, purple and orange are the two "
        "signs). One scale for each method, cut off at the 98th percentile of its pixels. "
        "Sparseness: Hoyer's, 0 for a flat image, 1 for a single pixel; the mean."
    )
    picture = Picture("fig11", "Basis images of each method", caption, partial(pictures.bases, found))
    return [picture, front_tables.sparseness(experiment(material.rows, "yale", draws=False))]


def occluded(material: Material) -> list[Part]:
    """ACC against the share of occluded images, and faces with their weights."""
    curves = occlusion.curves_by_view(material.rows)
    if not curves:
        return []
    caption = (
        "Yale, 15 clusters; a 12 x 12 block of black or white at a random place on so many of the images. EWNMF's "
        "fixed gammas are the same for all shares; values around them had done well on Yale before. k-means on "
        f"{VIEWS[MAIN]} and on {VIEWS['unit_10']}. {BANDS}"
    )
    draw = partial(figures.against_occlusion, curves)
    picture = Picture("occlusion", "ACC against the share of occluded images", caption, draw)
    gaps = {view: occlusion.gaps_by_share(curve) for view, curve in curves.items()}
    return [picture, front_tables.gains(gaps), *_faces(material)]


def _faces(material: Material) -> list[Part]:
    runs = [row for row in material.kept("weights", dataset="yale", method="ewnmf") if row.spec.occluded > 0]
    if not runs:
        return []
    share = min((row.spec.occluded for row in runs), key=lambda share: abs(share - SHOWN_SHARE))
    seed = min(row.spec.seed for row in runs if row.spec.occluded == share)
    shown = _rules_last(row for row in runs if (row.spec.occluded, row.spec.seed) == (share, seed))
    damaged = material.array(shown[0], "damaged").astype(bool)
    points = shown_points(damaged)
    learned = {
        gamma_title(row).replace(" (", "\n("): material.array(row, "weights")[points].astype(float) for row in shown
    }
    images = material.array(shown[0], "data")[points].astype(float)
    caption = (
        f"Some of the {100 * share:g} % of faces that are occluded (seed {seed}; evenly picked from all) and the "
        "weights learned for them, times the number of pixels, so that 1 means equal. The blocks are outlined."
    )
    draw = partial(pictures.occluded_faces, images, learned, damaged[points])
    return [Picture("occlusion-weights", "Occluded faces and learned weights", caption, draw)]


CHAPTERS: dict[str, Chapter] = {
    "idea": Chapter("The idea (Fig. 1)", (), ("fig1",), idea),
    "destroyed": Chapter("Weights of what is destroyed (Fig. 2)", ("weights",), ("fig2",), destroyed),
    "gammas": Chapter("A wide range of gamma? (Figs. 3, 4)", ("wide-range",), ("fig3", "fig4"), gammas),
    "methods": Chapter("The best ACC and NMI? (Tables 2, 3)", ("best",), tuple(FACES), methods),
    "clusters": Chapter("2 to 10 clusters (Figs. 5 to 9)", ("gtfd", "all-aspects"), tuple(IN_DRAWS), clusters),
    "descent": Chapter("Convergence (Fig. 10)", ("monotone", "onmf-rises", "stable"), ("fig10",), descent),
    "bases": Chapter("Bases (Fig. 11)", ("global", "local"), ("fig11",), bases),
    "occlusion": Chapter("Occlusion, an experiment of our own", (), ("occlusion",), occluded),
}
