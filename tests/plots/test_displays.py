"""Displays of every kind of data: what they hold, what they say, and what they refuse."""

from __future__ import annotations

import inspect
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from ewnmf import EWNMF, NMF, Repairer, plots
from ewnmf.plots import (
    ClusterDisplay,
    ComponentsDisplay,
    GammaPathDisplay,
    ObjectiveDisplay,
    RankPathDisplay,
    RepairDisplay,
    TrustDisplay,
)
from ewnmf.plots.judged import judge
from ewnmf.plots.kinds import kind_of

QUICK: dict[str, Any] = {"gamma": 1.0, "tol": 0, "max_iter": 20, "random_state": 0}
DISPLAYS = (ComponentsDisplay, TrustDisplay, RepairDisplay)
RNG = np.random.default_rng(0)


def low_rank(n, m, K=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, K)) @ rng.random((K, m)) + 0.01


def said(display: Any) -> str:
    """What stands below the picture, without its line breaks."""
    return " ".join(display.figure_.get_supxlabel().split())


def legend_of(display: Any) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def few(display: Any) -> dict[str, Any]:
    """Panels take their time."""
    return {} if display is ComponentsDisplay else {"n_points": 2, "top": 4}


@pytest.fixture(scope="module")
def table():
    X = low_rank(60, 12)
    X[10:20, 4] = 9
    X[5, 2] = np.nan
    names = [f"sensor {j}" for j in range(11)] + ["$\\alpha$ <b>"]
    return pd.DataFrame(X, columns=names, index=pd.date_range("2026-01-01", periods=60))


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data[:80].copy()
    X[0].reshape(8, 8)[:3, :3] = 16
    return X


@pytest.fixture(scope="module")
def cases(table, digits):
    """A model and data of every kind, with what else a display is told."""
    series = np.cumsum(RNG.random((30, 100)), axis=1)
    words = csr_array(RNG.poisson(0.2, (40, 300)).astype(float))
    wide = low_rank(12, 1000)
    named = [f"gene {j}" for j in range(1000)]
    return {
        "table": (Repairer(3, gamma="4x", random_state=0, max_iter=30).fit(table), table, {}),
        "images": (EWNMF(4, **QUICK).fit(digits), digits, {}),
        "series": (EWNMF(3, **QUICK).fit(series), series, {}),
        "words": (NMF(3, tol=0, max_iter=10, random_state=0).fit(words), words, {"feature_names": list(named[:300])}),
        "wide": (EWNMF(3, **QUICK).fit(wide), wide, {"feature_names": named}),
    }


@pytest.mark.parametrize("case", ["table", "images", "series", "words", "wide"])
@pytest.mark.parametrize("display", DISPLAYS)
def test_every_kind_of_data_is_drawn_on_a_figure_of_pyplot(cases, case, display):
    model, X, told = cases[case]
    drawn = display.from_estimator(model, X, **told, **few(display))
    assert drawn.figure_.number in pyplot.get_fignums()
    assert drawn.ax_.figure is drawn.figure_
    assert drawn.ax_ is drawn.axes_[0] or drawn.ax_ in drawn.figure_.axes
    kind = drawn.kind if display is ComponentsDisplay else drawn.judged.kind
    assert kind.name == ("table" if case == "wide" else case)
    drawn.figure_.savefig(BytesIO(), format="png", dpi=40)


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("case", ["table", "images", "words"])
def test_given_axes_are_drawn_in(cases, case, display):
    model, X, told = cases[case]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4))
    drawn = display.from_estimator(model, X, ax=left, **told, **few(display))
    assert drawn.figure_ is figure
    assert len(pyplot.get_fignums()) == 1
    assert not right.has_data()
    figure.savefig(BytesIO(), format="png", dpi=40)


def test_several_panels_need_axes_of_a_grid(cases):
    model, X, _ = cases["table"]
    ax = Figure().add_axes((0, 0, 1, 1))
    with pytest.raises(ValueError, match="ax is no part of a grid, and this picture needs several panels"):
        TrustDisplay.from_estimator(model, X, ax=ax)


@pytest.mark.parametrize("name", [name for name in plots.__all__ if name.endswith("Display")])
def test_all_displays_have_the_same_manner(name):
    display = getattr(plots, name)
    for method in ("from_estimator", "from_data", "plot"):
        assert "ax" in inspect.signature(getattr(display, method)).parameters
    assert "X" in inspect.signature(display.from_estimator).parameters


def test_nothing_is_shown(cases, monkeypatch):
    monkeypatch.setattr(pyplot, "show", lambda *_, **__: pytest.fail("a display called plt.show"))
    model, X, _ = cases["images"]
    for display in (*DISPLAYS, ClusterDisplay, ObjectiveDisplay):
        display.from_estimator(model, X)


def test_trust_shows_the_points_and_attributes_that_are_damaged(cases):
    model, X, _ = cases["table"]
    drawn = TrustDisplay.from_estimator(model, X)
    grid, bars = drawn.axes_
    assert bars.get_yticklabels()[0].get_text() == "sensor 4"
    shown: Any = np.ma.filled(np.ma.asarray(grid.images[0].get_array()), np.nan)
    assert np.median(shown[10:20, 4]) < 0.1 < 0.9 < np.median(shown[30:, 4])
    assert np.isnan(shown[5, 2])
    assert grid.get_yticklabels()[0].get_text().startswith("2026-01-01")


def test_repair_shows_attributes_of_a_table_and_points_that_are_asked_for(cases):
    model, X, _ = cases["table"]
    drawn = RepairDisplay.from_estimator(model, X, n_points=2)
    assert drawn.axes_[0].get_title().startswith("sensor 4 (")
    data, repaired = drawn.axes_[0].lines[:2]
    np.testing.assert_array_equal(data.get_ydata(), X["sensor 4"])
    assert np.abs(np.asarray(repaired.get_ydata())[10:20]).max() < 5
    drawn = RepairDisplay.from_estimator(model, X, points=[12, 5])
    assert [ax.get_title()[:16] for ax in drawn.axes_] == ["point 2026-01-13", "point 2026-01-06"]
    assert drawn.axes_[0].get_yticklabels()[0].get_text() == "sensor 4"
    assert said(drawn) == ""


def test_repaired_images_come_in_four_lines(cases, digits):
    model, X, _ = cases["images"]
    drawn = RepairDisplay.from_estimator(model, X, points=[0])
    assert [ax.texts[-1].get_text() for ax in drawn.axes_] == ["data", "expected", "trust", "repaired"]
    sheet = np.asarray(drawn.axes_[0].images[0].get_array())
    np.testing.assert_array_equal(sheet[-8:], digits[0].reshape(8, 8))
    assert "Guessed: images of 8 x 8 pixels" in said(drawn)


def test_names_are_no_mathematics(cases):
    model, X, _ = cases["table"]
    drawn = ComponentsDisplay.from_estimator(model, X)
    assert drawn.ax_.get_xticklabels()[-1].get_text() == r"\$\alpha\$ <b>"
    drawn.figure_.savefig(BytesIO(), format="png", dpi=40)


def test_words_of_a_topic_are_its_largest(cases):
    model, X, told = cases["words"]
    drawn = ComponentsDisplay.from_estimator(model, X, top=4, **told)
    for k, ax in enumerate(drawn.axes_):
        largest = np.argsort(-model.components_[k], kind="stable")[:4]
        assert [text.get_text() for text in ax.get_yticklabels()] == [f"gene {j}" for j in largest]
        assert ax.get_title() == f"topic {k + 1}"


def test_large_data_is_sampled_and_the_picture_says_so(cases):
    model, X, _ = cases["images"]
    found = judge(model, X, most=64 * 20)
    assert (len(found.rows), found.total) == (20, 80)
    assert said(TrustDisplay(found).plot()).endswith("20 of 80 points, in equal distances.")


def test_clusters_are_looked_for_or_given(cases):
    model, X, _ = cases["images"]
    drawn = ClusterDisplay.from_estimator(model, X, n_clusters=3)
    assert legend_of(drawn) == ["cluster 1", "cluster 2", "cluster 3"]
    drawn = ClusterDisplay.from_estimator(model, X, labels=["a", "b"] * 40)
    assert legend_of(drawn) == ["a", "b"]
    assert sum(len(np.asarray(points.get_offsets())) for points in drawn.ax_.collections) == 80
    with pytest.raises(ValueError, match=r"labels has shape \(2,\), and there are 80 points"):
        ClusterDisplay.from_estimator(model, X, labels=[1, 2])


def test_one_point_can_be_drawn(cases):
    for case in ("table", "images", "series", "words", "wide"):
        model, X, told = cases[case]
        for display in DISPLAYS:
            display.from_estimator(model, X[:1], **told)
        ClusterDisplay.from_estimator(model, X[:1])
        pyplot.close("all")


def test_from_data_draws_what_is_known_already():
    X = low_rank(20, 6)
    trust = np.ones_like(X)
    trust[3, 2] = 0.1
    drawn = TrustDisplay.from_data(X, trust, feature_names=list("abcdef"))
    assert drawn.axes_[1].get_yticklabels()[0].get_text() == "c"
    assert RepairDisplay.from_data(X, X + 1, trust, n_points=1).axes_[0].get_title().startswith("x2 (5 % suspect)")
    with pytest.raises(ValueError, match=r"trust has shape \(2, 2\) where X has \(20, 6\)"):
        TrustDisplay.from_data(X, trust[:2, :2])


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"image_shape": (3, 5)}, r"image_shape=\(3, 5\) does not fit 64 pixels; give \(height, width\) that does"),
        ({"kind": "picture"}, "kind='picture' is not known; use one of"),
        ({"kind": "table", "image_shape": (8, 8)}, "belongs to kind='images', not to 'table'"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, and there are 64 attributes"),
        ({"points": [80]}, r"points=\[80\] must be numbers of points, from 0 to 79"),
        ({"points": []}, r"points=\[\] must be numbers of points"),
        ({"point_names": ["a"]}, "point_names has 1 names, and X has 80 points"),
        ({"n_points": 0}, "n_points=0 must be an integer of at least 1"),
    ],
)
def test_what_does_not_fit_is_refused(cases, told, sentence):
    model, X, _ = cases["images"]
    with pytest.raises(ValueError, match=sentence):
        TrustDisplay.from_estimator(model, X, **told)


def test_data_that_is_not_the_models_is_refused(cases):
    model, X, _ = cases["images"]
    with pytest.raises(ValueError, match="X has 63 features, but EWNMF is expecting 64"):
        TrustDisplay.from_estimator(model, X[:, :63])
    with pytest.raises(ValueError, match="the components have 64 attributes"):
        ComponentsDisplay.from_estimator(model, X[:, :63])
    with pytest.raises(ValueError, match="X has 0 points; give at least one"):
        TrustDisplay.from_estimator(model, X[:0])
    with pytest.raises(TypeError, match="int is no estimator of ewnmf"):
        RepairDisplay.from_estimator(3, X)
    with pytest.raises(ValueError, match="has no scores; fit with gamma='auto'"):
        GammaPathDisplay.from_estimator(model)
    with pytest.raises(TypeError, match="has no scores of candidates"):
        RankPathDisplay.from_estimator(model)


def test_kinds_are_known_by_names_and_guessed_by_values(digits):
    assert kind_of(digits, [f"pixel_{i}_{j}" for i in range(8) for j in range(8)]).shape == (8, 8)
    assert kind_of(digits).shape == (8, 8)
    assert kind_of(digits).guess
    assert kind_of(digits, [f"c{j}" for j in range(64)]).name == "table"
    spectra = kind_of(np.ones((3, 20)), [str(400 + 10 * j) for j in range(20)])
    assert spectra.name == "series"
    np.testing.assert_array_equal(spectra.axis, 400 + 10 * np.arange(20))
    assert kind_of(np.cumsum(RNG.random((30, 100)), axis=1)).name == "series"
    assert kind_of(RNG.random((30, 64))).name == "table"
    assert kind_of(np.ones((30, 64))).name == "table"


def test_images_that_are_not_square_are_guessed(digits):
    wide = np.repeat(digits.reshape(-1, 8, 8), 2, axis=2).reshape(len(digits), -1)
    assert kind_of(wide).shape == (8, 16)
