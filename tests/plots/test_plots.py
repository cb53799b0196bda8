"""What the figures hold: labels, scales and the plotted values (no pixels)."""

from __future__ import annotations

import sys
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

from ewnmf import EWNMF, RankPath, factorize
from ewnmf.plots import figures as plots

N, HEIGHT, WIDTH = 3, 2, 4
PIXELS = HEIGHT * WIDTH


@pytest.fixture
def pictures():
    rng = np.random.default_rng(0)
    images = rng.uniform(size=(N, PIXELS))
    occluded = images.copy()
    occluded[0, :2] = 2
    mask = occluded != images
    weights = rng.uniform(size=(N, PIXELS))
    return SimpleNamespace(
        images=images, occluded=occluded, mask=mask, weights=weights / weights.sum(axis=1, keepdims=True)
    )


@pytest.fixture
def waves():
    rng = np.random.default_rng(1)
    data = rng.uniform(1, 2, size=(4, 20))
    damaged = np.zeros(data.shape, dtype=bool)
    damaged[0, :5] = True
    return {
        "mixtures": data,
        "reconstructions": {"NMF": data + 1, "EWNMF": data - 1},
        "weights": np.full(data.shape, 1 / 20),
        "sources": rng.uniform(size=(2, 20)),
        "clean": data / 2,
        "damaged": damaged,
    }


def draw_maps(pictures, **changes):
    given = {
        "images": pictures.images,
        "occluded": pictures.occluded,
        "reconstructions": {"NMF": pictures.images / 2, "EWNMF": pictures.images / 4},
        "weights": pictures.weights,
        "image_shape": (HEIGHT, WIDTH),
    }
    return plots.weight_maps(**(given | changes))


def rows_of_images(figure):
    axes = [ax for ax in figure.axes if ax.images]
    return [axes[start : start + N] for start in range(0, len(axes), N)]


def tiles(ax, shape, n_columns, count):
    """The images of a mosaic, by the places that nothing covers."""
    sheet, paper = (np.asarray(image.get_array()) for image in ax.images)
    height, width = shape
    n_rows = -(-count // n_columns)
    above, gap = len(sheet) // n_rows - height, (sheet.shape[1] - n_columns * width) // max(1, n_columns - 1)
    found = []
    for number in range(count):
        row, place = divmod(number, n_columns)
        top, left = row * (height + above) + above, place * (width + gap)
        assert not paper[top : top + height, left : left + width].any()
        found.append(sheet[top : top + height, left : left + width])
    assert (paper[..., 3] == 0).sum() == count * height * width
    return np.array(found)


def column(figure, title):
    """The axes below a title, downwards."""
    left = next(ax for ax in figure.axes if ax.get_title() == title).get_subplotspec().colspan.start
    return [ax for ax in figure.axes if ax.get_subplotspec().colspan.start == left]


def test_weight_maps_show_every_image_under_its_label(pictures):
    rows = rows_of_images(draw_maps(pictures, titles=["a", "b", "c"]))
    labels = [row[0].get_ylabel() for row in rows]
    assert labels == ["original", "occluded", "rebuilt by\nNMF", "rebuilt by\nEWNMF", "learned\nweights"]
    assert [ax.get_title() for ax in rows[0]] == ["a", "b", "c"]
    for row, values in zip(rows[:2], [pictures.images, pictures.occluded], strict=True):
        for ax, image in zip(row, values, strict=True):
            assert_array_equal(ax.images[0].get_array(), image.reshape(HEIGHT, WIDTH))


def test_weight_maps_share_scales_and_show_weights_relative_to_equal_ones(pictures):
    figure = draw_maps(pictures)
    rows = rows_of_images(figure)
    shared = {ax.images[0].get_clim() for row in rows[:-1] for ax in row}
    assert shared == {(pictures.images.min(), 2.0)}
    relative = PIXELS * pictures.weights
    assert {ax.images[0].get_clim() for ax in rows[-1]} == {(0.0, relative.max())}
    assert_array_equal(rows[-1][1].images[0].get_array(), relative[1].reshape(HEIGHT, WIDTH))
    assert [ax.get_ylabel() for ax in figure.axes if not ax.images] == ["pixel value", "weight\n(1 = equal)"]


def test_weight_maps_outline_the_mask(pictures):
    rows = rows_of_images(draw_maps(pictures, mask=pictures.mask))
    for row in (rows[1], rows[-1]):
        edges = {tuple(map(tuple, line.get_xydata())) for line in row[0].lines}
        assert edges == {
            ((-0.5, -0.5), (0.5, -0.5)),
            ((0.5, -0.5), (1.5, -0.5)),
            ((-0.5, 0.5), (0.5, 0.5)),
            ((0.5, 0.5), (1.5, 0.5)),
            ((-0.5, -0.5), (-0.5, 0.5)),
            ((1.5, -0.5), (1.5, 0.5)),
        }
    assert [len(ax.lines) for row in rows for ax in row] == [0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"image_shape": None}, r"image_shape=None does not fit 8 pixels; give \(height, width\) that does\."),
        ({"image_shape": (3, 3)}, r"image_shape=\(3, 3\) does not fit 8 pixels"),
        ({"images": np.ones(8)}, r"images has shape \(8,\); give a table with one row for each\."),
        ({"weights": np.ones((2, 8))}, r"weights has shape \(2, 8\) where the data have \(3, 8\)"),
        ({"reconstructions": {"mine": np.ones((3, 7))}}, r"mine has shape \(3, 7\) where the data have \(3, 8\)"),
        ({"mask": np.ones((3, 2, 4))}, r"mask has shape \(3, 2, 4\) where the data have \(3, 8\)"),
    ],
)
def test_weight_maps_refuse_what_does_not_fit(pictures, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw_maps(pictures, **changes)


def test_components_are_divided_by_their_largest_value():
    W = np.array([[0.0, 1, 2, 4], [3, 0, 0, 0], [0, 0, 0, 0]])
    figure = plots.components(W, n_columns=2)
    ax = figure.axes[0]
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3"]
    assert_array_equal(tiles(ax, (2, 2), 2, 3), [[[0, 0.25], [0.5, 1]], [[1, 0], [0, 0]], [[0, 0], [0, 0]]])
    assert ax.images[0].get_clim() == (0.0, 1.0)
    assert figure.axes[-1].get_ylabel() == "share of the largest"


def test_components_of_both_signs_have_a_scale_around_zero():
    ax = plots.components(np.array([[-2.0, 1, 0, 1]])).axes[0]
    assert ax.images[0].get_clim() == (-1.0, 1.0)
    assert_array_equal(tiles(ax, (2, 2), 1, 1), [[[-1, 0.5], [0, 0.5]]])


def test_components_and_loss_curve_take_estimators_and_factorizations():
    X = np.random.default_rng(0).uniform(size=(12, 6))
    model = EWNMF(2, gamma=0.1, tol=0, max_iter=7, random_state=0).fit(X)
    fit = factorize(X, 2, gamma="self-tuned", max_iter=9, rng=0)
    for source, W in ((model, model.components_), (fit, fit.components)):
        shown = tiles(plots.components(source, (2, 3)).axes[0], (2, 3), 2, 2)
        assert_array_equal(shown, (W / W.max(axis=1, keepdims=True)).reshape(2, 2, 3))
    for source, iterations, history in ((model, range(1, 8), model.loss_curve_), (fit, range(5, 10), fit.history)):
        curve = plots.loss_curve(source).lines[0]
        assert_array_equal(curve.get_xdata(), iterations)
        assert_array_equal(curve.get_ydata(), history)


def test_loss_curve_adds_to_given_axes():
    ax = Figure().add_subplot()
    assert plots.loss_curve([3, 2, 1], ax=ax, label="first") is ax
    plots.loss_curve([5, 4], ax=ax, label="second")
    assert [line.get_label() for line in ax.lines] == ["first", "second"]
    assert len({to_hex(line.get_color()) for line in ax.lines}) == 2
    assert_array_equal(ax.lines[1].get_xydata(), [[1, 5], [2, 4]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", "objective $J^*$")
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["first", "second"]


def test_loss_curve_without_a_label_has_no_legend():
    assert plots.loss_curve([3, 2, 1]).get_legend() is None


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def a_path(candidates, means):
    """A path of these mean scores, each twice but 0.1 apart in the first candidate."""
    scores = np.array([means, means], dtype=float)
    scores[:, 0] += [0.1, -0.1]
    return RankPath(np.array(candidates), scores, 0.1, 20)


def test_rank_path_shows_losses_with_errors_and_marks_the_chosen():
    path = a_path([1, 2, 4, 16], [-5, -2, -1, -3])
    ax = plots.rank_path(path)
    curve, _, (bars,) = ax.containers[0]
    assert_array_equal(curve.get_xydata(), [[1, 5], [2, 2], [4, 1], [16, 3]])
    heights = [bar[1, 1] - bar[0, 1] for bar in bars.get_segments()]
    np.testing.assert_allclose(heights, [0.2, 0, 0, 0], atol=1e-12)
    assert_array_equal(ax.lines[-1].get_xydata(), [[4, 1]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of components", "held-out loss (trimmed mean)")
    assert ax.get_xscale() == "log"
    assert legend_of(ax) == ["4 chosen"]
    plots.rank_path(path, ax=ax)
    assert {"1", "2", "4", "8", "16"} <= {label.get_text() for label in ax.get_xticklabels()}


def test_rank_path_takes_estimators_and_given_axes():
    model = EWNMF("cv").set_params(max_iter=5)
    model.rank_path_ = a_path([2, 3, 5], [-3, -1, -2])
    ax = Figure().add_subplot()
    assert plots.rank_path(model, ax=ax, label="one") is ax
    plots.rank_path(a_path([2, 4], [-2, -3]), ax=ax, label="two")
    assert ax.get_xscale() == "linear"
    assert sorted(legend_of(ax)) == ["one", "one: 3 chosen", "two", "two: 2 chosen"]
    assert len({to_hex(container[0].get_color()) for container in ax.containers}) == 2


def test_rank_path_refuses_what_has_no_scores():
    with pytest.raises(TypeError, match=r"has no scores of candidates; give what select_rank returns"):
        plots.rank_path(EWNMF(3))


@pytest.mark.parametrize("history", [[], [[1.0, 2.0]]])
def test_loss_curve_refuses_what_is_no_history(history):
    with pytest.raises(ValueError, match=r"model has a history of shape .*; give one value per iteration\."):
        plots.loss_curve(history)


def test_signals_has_a_column_for_each_kind(waves):
    figure = plots.signals(**waves, n_shown=3)
    sources, mixtures = column(figure, "Sources"), column(figure, "Mixtures")
    weights, rebuilt = column(figure, "Learned weights (1 = equal)"), column(figure, "Reconstructions")
    assert [ax.get_ylabel() for ax in sources] == ["source 1", "source 2"]
    assert [ax.get_ylabel() for ax in mixtures] == ["mixture 1", "mixture 2", "mixture 3"]
    assert [[ax.get_xlabel() for ax in axes][-1] for axes in (sources, mixtures, weights, rebuilt)] == ["time"] * 4
    assert_array_equal(sources[1].lines[0].get_ydata(), waves["sources"][1])
    for j in range(3):
        assert_array_equal(mixtures[j].lines[0].get_ydata(), waves["mixtures"][j])
        assert_array_equal(weights[j].lines[0].get_ydata(), np.ones(20))
        curves = [waves["clean"], *waves["reconstructions"].values()]
        assert_array_equal([line.get_ydata() for line in rebuilt[j].lines], [curve[j] for curve in curves])
        assert mixtures[j].get_ylim() == rebuilt[j].get_ylim()
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["clean mixture", "NMF", "EWNMF", "destroyed"]


def test_signals_shade_the_damage_alone(waves):
    mixtures = column(plots.signals(**waves), "Mixtures")
    shades = [ax.collections[0].get_paths() for ax in mixtures]
    assert [len(paths) for paths in shades] == [1, 0, 0]
    assert (shades[0][0].vertices[:, 0].min(), shades[0][0].vertices[:, 0].max()) == (0, 4)


def test_signals_show_no_more_than_there_are(waves):
    assert len(column(plots.signals(**waves, n_shown=9), "Mixtures")) == 4


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"clean": np.ones((4, 19))}, r"clean has shape \(4, 19\) where the data have \(4, 20\); give the same rows"),
        ({"sources": np.ones(20)}, r"sources has shape \(20,\); give a table"),
    ],
)
def test_signals_refuse_what_does_not_fit(waves, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        plots.signals(**(waves | changes))


def test_every_figure_can_be_written(pictures, waves):
    figures = [
        draw_maps(pictures, mask=pictures.mask),
        plots.components(pictures.images, (HEIGHT, WIDTH)),
        plots.signals(**waves),
        plots.loss_curve([3, 2, 1], label="one").figure,
        plots.rank_path(a_path([1, 9], [-2, -1])).figure,
    ]
    for figure in figures:
        assert figure.number in pyplot.get_fignums()
        file = BytesIO()
        figure.savefig(file, format="png")
        assert file.getvalue().startswith(b"\x89PNG")


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'ewnmf\.plots needs matplotlib: pip install "ewnmf\[plots\]"\.'):
        plots.loss_curve([1.0])
