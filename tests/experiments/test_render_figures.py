"""What the figures of the report hold: plotted values, scales and labels (no pixels)."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal

from ewnmf.experiments.pages import figures, pictures
from ewnmf.experiments.pages.statistics import MAIN, PROTOCOLS, experiment, results
from tests.experiment_rows import row


def line(ax, label):
    (found,) = (each for each in ax.lines if each.get_label() == label)
    return found


@pytest.fixture
def faces():
    """Two runs on Yale, EWNMF at two gammas and by both rules."""
    rows = []
    for seed, shift in ((0, 0.0), (1, 0.1)):
        rows += [row("yale", "nmf", 15, seed, acc=0.4 + shift, nmi=0.3, attempt=at) for at in (0, 1)]
        rows += [
            row("yale", "ewnmf", 15, seed, acc=acc + shift, nmi=0.6, gamma=gamma)
            for gamma, acc in ((0.1, 0.5), (10.0, 0.2), ("auto", 0.45), ("groups", 0.35))
        ]
    return experiment(rows, "yale", draws=False)


def test_against_gamma_shows_means_bands_and_the_papers_values(faces):
    figure = figures.against_gamma(faces, "table2")
    assert len(figure.axes) == 6
    accuracy, information = figure.axes[:2]
    assert accuracy.get_title() == "ACC, k-means on raw codes, 1 start"
    assert (accuracy.get_ylabel(), information.get_ylabel()) == ("ACC in %", "NMI in %")
    assert_allclose(line(accuracy, "EWNMF at each gamma").get_xydata(), [[0.1, 55.0], [10.0, 25.0]])
    assert_allclose(line(accuracy, "NMF").get_ydata(), [45, 45])
    assert_allclose(line(accuracy, "EWNMF, best gamma per run").get_ydata(), [55, 55])
    assert_allclose(line(accuracy, 'EWNMF, gamma="auto", mean').get_xydata(), [[0.25, 50]])
    assert_allclose(line(accuracy, 'EWNMF, gamma="groups", mean').get_xydata(), [[0.25, 40]])
    assert_allclose(line(accuracy, "NMF, paper").get_ydata(), [39.03])
    assert_allclose(line(information, "EWNMF, paper").get_ydata(), [53.27])
    heights = np.asarray(accuracy.collections[0].get_paths()[0].vertices)[:, 1]
    assert_allclose((heights.min(), heights.max()), (20, 60))


def test_against_clusters_has_methods_above_and_protocols_below():
    rows, ours = [], (1.0, "auto", "groups")
    for k in (2, 5):
        for draw in (0, 1):
            rows += [
                row("gtfd", method, k, draw, draw=draw, acc=1 / k)
                for method in ("nmf", "onmf-codes", "onmf-components", "semi-nmf", "convex-nmf")
            ]
            rows += [row("gtfd", "ewnmf", k, draw, draw=draw, acc=1 / k + 0.2, gamma=gamma) for gamma in ours]
    figure = figures.against_clusters(results(experiment(rows, "gtfd", draws=True), MAIN))
    methods, _, protocols, _ = figure.axes
    assert [each.get_label() for each in methods.lines] == [PROTOCOLS[name].label for name in figures.AS_PRINTED]
    assert [each.get_label() for each in protocols.lines] == [PROTOCOLS[name].label for name in figures.FAIR]
    assert_allclose(line(methods, "Semi-NMF").get_xydata(), [[2, 50], [5, 20]])
    assert_allclose(line(protocols, "EWNMF, one gamma for all").get_xydata(), [[2, 70], [5, 40]])
    assert protocols.get_xlabel() == "number of clusters"


def test_lines_of_one_panel_differ_in_more_than_colour():
    for names in (figures.AS_PRINTED, figures.FAIR):
        looks = [figures.LOOKS[name] for name in names]
        assert len({(look.marker, look.dash, look.filled) for look in looks}) == len(looks)


def test_a_descent_knows_its_rises_and_what_it_lost_late():
    cost = np.linspace(3, 2, 300)
    run = pictures.Descent("NMF", cost)
    assert_array_equal(run.rises, [])
    assert run.late_fall == pytest.approx(1 - 2 / cost[199])
    cost[49] = 10
    assert_array_equal(pictures.Descent("ONMF", cost).rises, [50])
    late = pictures.Descent("EWNMF", cost[100:], first=100)
    assert late.late_fall == run.late_fall
    assert np.isnan(pictures.Descent("short", cost[:200]).late_fall)


def test_cost_curves_mark_rises_at_their_iterations():
    cost = np.linspace(3, 2, 300)
    cost[149] = 2.9
    figure = pictures.cost_curves(
        {"nmf": pictures.Descent("NMF", np.linspace(3, 2, 300)), "ewnmf": pictures.Descent("EWNMF", cost)}
    )
    plain, rising, unused = figure.axes
    assert plain.get_title() == "NMF\n14.3% lost after 200; 0 rises"
    assert rising.get_title().endswith("; 1 rise")
    assert_allclose(line(rising, "cost rose").get_xydata(), [[150, 2.9]])
    assert to_hex(rising.lines[0].get_color()).upper() == figures.LOOKS["ewnmf"].colour
    assert not unused.axison


def test_bases_sum_to_one_and_both_signs_get_a_scale_around_zero():
    plain = np.array([[1.0, 1, 2, 0], [0, 0, 0, 5]])
    signed = np.array([[1.0, -1, 2, 0], [0, 0, 0, 0]])
    figure = pictures.bases({"nmf": ("NMF", plain), "semi-nmf": ("Semi-NMF", signed)}, n_columns=2)
    shown = [ax.images[0] for ax in figure.axes]
    assert_array_equal(shown[0].get_array(), [[0.25, 0.25], [0.5, 0]])
    assert_array_equal(shown[1].get_array(), [[0, 0], [0, 1]])
    assert_array_equal(shown[2].get_array(), [[0.25, -0.25], [0.5, 0]])
    assert_array_equal(shown[3].get_array(), np.zeros((2, 2)))
    assert shown[0].get_clim()[0] == 0
    assert shown[2].get_clim()[0] == -shown[2].get_clim()[1]


def test_weights_are_shown_relative_to_equal_ones():
    weights = np.array([[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    damaged = np.array([[False, False, True, True], [False] * 4])
    figure = pictures.occluded_faces(np.ones((2, 4)), {"gamma = 1": weights}, damaged)
    images = [ax for ax in figure.axes if ax.images and ax.get_xticks().size == 0]
    assert [ax.get_ylabel() for ax in images] == ["occluded", "", "gamma = 1", ""]
    assert_array_equal(images[2].images[0].get_array(), [[2, 2], [0, 0]])
    assert [len(ax.lines) > 0 for ax in images] == [True, False, True, False]


def test_signals_stand_beside_their_weights():
    data, sources = np.arange(40.0).reshape(4, 10), np.ones((2, 10))
    damaged = np.zeros((4, 10), dtype=bool)
    damaged[0, :3] = True
    figure = pictures.signal_weights(data, sources, damaged, {"gamma = 1": np.full((4, 10), 0.1)})
    titles = {ax.get_title(): ax for ax in figure.axes if ax.get_title()}
    assert list(titles) == ["Sources", "Mixtures", "Weights,\ngamma = 1"]
    assert_array_equal(titles["Mixtures"].lines[0].get_ydata(), data[0])
    assert_array_equal(titles["Weights,\ngamma = 1"].lines[0].get_ydata(), np.ones(10))
    assert len(figure.axes) == 2 + 2 * 3
