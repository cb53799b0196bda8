"""The first page: what it stands on, when a claim is judged, its tables and figures, and the diagram of the method."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ewnmf.experiments.execution.execute import execute
from ewnmf.experiments.execution.runner import _row
from ewnmf.experiments.execution.store import Store
from ewnmf.experiments.execution.workers import Finished
from ewnmf.experiments.pages import front, front_tables, overview
from ewnmf.experiments.pages.coverage import CLAIM_TARGETS, Coverage, coverage_table, hours_left, overall, standing
from ewnmf.experiments.pages.diagram import Lane, method_diagram
from ewnmf.experiments.pages.material import Material
from ewnmf.experiments.pages.statistics import MAIN, experiment, results
from ewnmf.experiments.pages.verdicts import Verdict
from ewnmf.experiments.protocol.cartoons import SIDE, cartoon_faces
from ewnmf.experiments.protocol.paper import CLAIMS
from ewnmf.experiments.protocol.plan import TARGETS, planned
from ewnmf.experiments.protocol.spec import Row
from ewnmf.plots.display import VERMILION
from tests.experiment_rows import row


def rows_of(specs):
    return [Row(spec.key, spec, {}, 1.0, {}, "", "2026-01-02") for spec in specs]


def line_of(table, title):
    (found,) = (line for line in table.rows if line[0] == title)
    return [cell.replace("\u00a0", " ") for cell in found[1:]]


def test_coverage_counts_runs_by_kind_and_whole_starts():
    specs = TARGETS["table2"].specs()
    first = [spec for spec in specs if spec.seed == 0 and not spec.chooses]
    second = [spec for spec in specs if spec.seed == 1 and spec.gamma != 0.1]
    found = coverage_table(rows_of([*first, *second]))
    assert line_of(found, "Table 2") == ["77 of 400", "42 of 210", "33 of 170", "1 of 10", "1 of 10", "1 of 10"]
    assert line_of(found, "Fig. 3") == ["37 of 200", "2 of 10", "33 of 170", "1 of 10", "1 of 10", "1 of 10"]
    assert line_of(found, "Fig. 9") == ["0 of 3600", "0 of 1890", "0 of 1530", "0 of 90", "0 of 90", "0 of 90"]
    assert line_of(found, "together")[0] == f"77 of {len(planned(['all']))}"
    assert [line[0] for line in found.rows[:5]] == ["Table 1", "Table 2", "Table 3", "Fig. 1", "Fig. 2"]
    assert line_of(coverage_table(rows_of(specs)), "Table 2") == [
        "all 400",
        "all 210",
        "all 170",
        "all 10",
        "all 10",
        "all 10",
    ]
    assert overall(rows_of(specs)) == Coverage(400, len(planned(["all"])))


def test_what_more_hours_would_add_is_said():
    """Missing runs by target, those that several share in the first; with and without the data sets."""
    specs = planned(["all"])
    assert hours_left(rows_of(specs)) == ""
    without = [spec for spec in specs if not (spec.dataset == "tdt2" and spec.draw is not None)]
    said = hours_left(rows_of(without))
    found = re.fullmatch(
        r"What is missing takes about (\d+) hours of one core: "
        r"Fig. 9 about (\d+) hours, Choice of gamma about (\d+) hours.",
        said,
    )
    assert found
    total, texts, choice = map(int, found.groups())
    assert abs(total - texts - choice) <= 1
    few = [spec for spec in specs if spec.key != TARGETS["fig10"].specs()[0].key]
    assert hours_left(rows_of(few)).endswith("takes less than an hour of one core: Fig. 10 less than an hour.")


@pytest.mark.parametrize(("draws", "judged"), [(1, False), (2, True)])
def test_a_claim_is_judged_with_a_fifth_of_the_runs_of_each_figure(draws, judged):
    specs = [
        spec
        for name in CLAIM_TARGETS["gtfd"]
        for spec in TARGETS[name].specs()
        if spec.draw is not None and spec.draw < draws and not spec.chooses
    ]
    verdict = Verdict("gtfd", "holds", "Many numbers.", "a few numbers")
    (found,) = standing([verdict], rows_of(specs))
    if judged:
        assert found == Verdict("gtfd", "holds", "Many numbers.", "A few numbers")
    else:
        assert found.outcome == f"not judged yet: {len(specs)} of 17100 runs"
        assert (found.why, found.brief) == ("So far holds: Many numbers.", "So far holds: a few numbers")


def test_a_figure_without_runs_is_enough_for_no_verdict():
    specs = [spec for name in ("fig5", "fig6", "fig7", "fig8") for spec in TARGETS[name].specs()]
    (found,) = standing([Verdict("all-aspects", "holds", "x", "x")], rows_of(specs))
    assert found.outcome == "not judged yet: 13680 of 17100 runs"
    (found,) = standing([Verdict("stable", "not yet run", "No rows.")], [])
    assert (found.outcome, found.brief) == ("not judged yet: 0 of 6 runs", "")


def test_every_claim_has_targets_and_a_chapter():
    assert set(CLAIM_TARGETS) == set(CLAIMS)
    assert {claim for each in front.CHAPTERS.values() for claim in each.claims} == set(CLAIMS)
    for each in front.CHAPTERS.values():
        assert {name for claim in each.claims for name in CLAIM_TARGETS[claim]} <= set(each.targets)


@pytest.fixture
def grid():
    """Yale: NMF at 0.5, EWNMF 10 points above it at 0.01, 0.1 and 10, 10 points below at 1e-8."""
    rows = []
    for seed in (0, 1):
        rows += [row("yale", "nmf", 15, seed, acc=0.5 + 0.01 * seed, attempt=at) for at in range(5)]
        for gamma, shift in ((1e-8, -0.1), (0.01, 0.1), (0.1, 0.1), (1.0, 0.0), (10.0, 0.1)):
            rows.append(row("yale", "ewnmf", 15, seed, acc=0.5 + shift + 0.01 * seed, nmi=0.5 + shift, gamma=gamma))
        rows += [row("yale", name, 15, seed, acc=0.4) for name in ("onmf-codes", "semi-nmf")]
    return rows


def test_neighbouring_gammas_are_a_range(grid):
    found = front_tables.ranges([experiment(grid, "yale", draws=False)])
    assert found.rows[0] == ["Yale, ACC", "5 of 17", "0.01 to 0.1, 10", "1e-08", "2"]


def test_both_tables_set_ours_beside_the_papers(grid):
    scores = {"table2": results(experiment(grid, "yale", draws=False), MAIN)}
    lines = {line[0]: line[1:] for line in front_tables.both_tables(scores).rows}
    assert lines["NMF"] == ["39.0", "50.5", "44.7", "50.0"]
    assert lines["EWNMF, best gamma per run"] == ["46.1", "**60.5**", "53.3", "**60.0**"]
    assert lines["runs"] == ["", "2", "", "2"]


def test_the_table_of_clusters_counts_where_ewnmf_is_ahead():
    rows = []
    for k in (2, 3):
        for method in ("nmf", "onmf-codes", "onmf-components", "semi-nmf", "convex-nmf"):
            acc = 0.9 if (k, method) == (3, "semi-nmf") else 0.5
            rows.append(row("gtfd", method, k, 0, draw=0, acc=acc))
        rows.append(row("gtfd", "ewnmf", k, 0, draw=0, acc=0.8, gamma=1.0))
    runs = {"gtfd": experiment(rows, "gtfd", draws=True)}
    found = {"gtfd": results(runs["gtfd"], MAIN)}
    lines = {line[0]: line[1:] for line in front_tables.by_dataset(found, runs).rows}
    assert lines["Semi-NMF"] == ["70.0"]
    assert lines["EWNMF, one gamma for all"] == ["**80.0**"]
    assert lines["EWNMF, best gamma per run: no other method above it at"] == ["1 of 2 k"]
    assert lines["draws at each number of clusters"] == ["1 of 10"]
    figure = overview.all_clusters(found)
    lines_drawn: dict[Any, Any] = {line.get_label(): line for line in figure.axes[0].lines}
    assert_allclose(lines_drawn["Semi-NMF"].get_xydata(), [[2, 50], [3, 90]])


def test_smaller_draws_of_texts_are_told_apart():
    rows = [
        row("tdt2", name, 2, 0, draw=draw, acc=0.9 - 0.4 * draw)
        for draw in (0, 1)
        for name in ("nmf", "onmf-codes", "onmf-components", "semi-nmf", "convex-nmf")
    ]
    assert front._easier_texts(experiment(rows, "tdt2", draws=True)) == ""
    rows.append(row("tdt2", "ewnmf", 2, 0, draw=0, acc=0.9, gamma=1.0))
    words = front._easier_texts(experiment(rows, "tdt2", draws=True))
    assert words.endswith("NMF's ACC is 90.0 on those compared here, 70.0 on all that it has. ")


def test_overviews_show_the_means(grid):
    found = experiment(grid, "yale", draws=False)
    accuracy, information = overview.all_gammas({"table2": found}).axes
    line: Any
    (line,) = (each for each in accuracy.lines if each.get_label() == "EWNMF at each gamma")
    assert_allclose(line.get_xydata()[:, 1], [40.5, 60.5, 60.5, 50.5, 60.5])
    assert (accuracy.get_title(), information.get_title()) == ("Yale, ACC", "Yale, NMI")
    scores = results(found, MAIN)
    ax = overview.all_methods({"table2": scores}).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["NMF", "NMF, best of as many tries"]
    theirs: Any = next(each for each in ax.lines if each.get_label() == "the paper's figure")
    assert_allclose(theirs.get_xydata(), [[39.03, 0]])


def test_cartoon_faces_are_made_from_the_seed_and_one_has_a_hat():
    faces = cartoon_faces(0)
    assert faces.data.shape == faces.clean.shape == faces.damaged.shape == (60, SIDE**2)
    assert faces.data.min() == 0
    assert faces.data.max() <= 1
    assert_array_equal(faces.damaged.any(axis=1), np.arange(60) == 0)
    assert_array_equal(faces.data[1:], faces.clean[1:])
    assert_array_equal(faces.data[0][~faces.damaged[0]], faces.clean[0][~faces.damaged[0]])
    assert_array_equal(cartoon_faces(0).data, faces.data)
    assert (cartoon_faces(1).data != faces.data).any()


def test_the_diagram_is_true():
    """EWNMF distrusts the hat's own pixels and rebuilds the face without it; NMF has a hat among its features."""
    with Store.open(":memory:") as store:
        for spec in TARGETS["fig1"].specs():
            figures, arrays = execute(spec)
            store.add(_row(Finished(spec, figures, arrays, 1.0), {}), arrays)
        picture: Any
        (picture,) = front.idea(Material.of(store))
        figure = picture.draw()
        weighted, plain = sorted(store.rows(), key=lambda each: each.spec.method)
        rebuilt = {
            each.spec.method: (store.array(each.key, "codes") @ store.array(each.key, "components"))[0]
            for each in (weighted, plain)
        }
    faces = cartoon_faces(0)
    hat = faces.damaged[0]
    assert weighted.figures["weight_destroyed"] < 0.1 < 1 < weighted.figures["weight_rest"]
    assert (
        np.mean((rebuilt["ewnmf"] - faces.clean[0]) ** 2) < 0.03 < np.mean((rebuilt["nmf"] - faces.clean[0])[hat] ** 2)
    )
    framed = [ax for ax in figure.axes if ax.images and ax.spines["left"].get_edgecolor() == _colour(VERMILION)]
    assert len(framed) == 3  # the first image, NMF's hat, and what NMF makes of the image
    assert re.search(r"60 cartoon faces, .*; 12 features, gamma = 0\.1\.", picture.caption)


def _colour(name):
    from matplotlib.colors import to_rgba

    return to_rgba(name)


def test_the_diagram_shows_weights_features_and_what_is_rebuilt():
    hat = np.array([True, True, False, False])
    lane = Lane("words", np.array([0.0, 0, 2, 2]), np.eye(4) + 0.01, np.array([0.0, 0, 1, 1]))
    figure = method_diagram(np.eye(4)[[0, 2, 3, 2]], hat, {"NMF": lane, "EWNMF": lane})
    texts = [text.get_text() for text in figure.texts]
    assert {"images  X", "features  W", "$\\bf{NMF}$: words", "$\\bf{EWNMF}$: words"} <= set(texts)
    shown: list[Any] = [ax.images[0].get_array() for ax in figure.axes if ax.images]
    assert sum(np.array_equal(image, [[0, 0], [2, 2]]) for image in shown) == 2
    assert sum(np.array_equal(image, [[0, 0], [1, 1]]) for image in shown) == 2
