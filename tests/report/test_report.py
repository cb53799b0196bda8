"""What the report says, for every kind of data, and what it does with bad input. How it behaves: tests/browser."""

from __future__ import annotations

import builtins
import json
import re
from html.parser import HTMLParser
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from ewnmf import EWNMF, NMF, Repairer, report
from ewnmf.report.charts import line_chart, ticks
from ewnmf.report.png import GREYS, TRUST, data_uri
from ewnmf.report.writing import _template

QUICK: dict[str, Any] = {"gamma": 1.0, "tol": 0, "max_iter": 20, "random_state": 0}
EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """Tags, ids, text and embedded data of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.text = re.sub(r"\s+", " ", " ".join(self.words))
        self.ids = [attributes["id"] for _, attributes in self.tags if "id" in attributes]
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.open = self.open[: len(self.open) - 1 - self.open[::-1].index(tag)]

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.words.append(data)


def low_rank(n, m, K=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, K)) @ rng.random((K, m)) + 0.01


@pytest.fixture(scope="module")
def table():
    X = low_rank(60, 12)
    X[10:20, 4] = 9
    X[5, 2] = np.nan
    X[:, 7] = 3.0
    names = [f"sensor {j}" for j in range(12)]
    names[4], names[5] = EVIL, "مضخة ٣"
    return pd.DataFrame(X, columns=names, index=[f"day {i}" for i in range(60)])


@pytest.fixture(scope="module")
def repairer(table):
    return Repairer(3, gamma="4x", random_state=0, max_iter=30).fit(table)


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data[:60].copy()
    X[0].reshape(8, 8)[:3, :3] = 16
    return X


@pytest.fixture(scope="module")
def images_model(digits):
    return EWNMF(4, **QUICK).fit(digits)


def test_report_of_a_table_says_what_was_found(repairer, table, tmp_path):
    path = report.write(repairer, table, tmp_path / "page.html", title=EVIL)
    page = Page(path.read_text(encoding="utf-8"))
    assert "of the entries (" in page.text
    assert f"Most of it is in \u2068{EVIL}\u2069 (" in page.text
    assert "comes from gamma='4x'" in page.text
    assert [section for section in page.ids if section in ("found", "points", "suspects", "components", "map", "fit")]
    worst = page.data["points"][[point["name"] for point in page.data["points"]].index("day 12")]
    assert page.data["names"][worst["entries"][0][0]] == EVIL
    j, value, expected, trust, repaired, suspect = worst["entries"][0]
    assert (j, value, suspect) == (4, 9.0, 1)
    assert expected < 3
    assert trust < 0.05
    assert repaired == expected


def test_names_from_the_data_stay_text(repairer, table):
    text = report.render(repairer, table, title=EVIL)
    page = Page(text)
    assert len(page.scripts) == 2
    assert all("alert(1)" not in script for script in page.scripts[1:])
    assert EVIL not in text
    assert "<bdi>مضخة ٣</bdi>" in text


@pytest.mark.parametrize(
    "attack", ["</script><script>x()</script>", '"><img src=x onerror=x()>', "{{ 7 * 7 }}", "]]>", "\ud800"]
)
def test_no_name_breaks_out(attack, tmp_path):
    X = low_rank(30, 4)
    X[3, 0] = 50
    model = NMF(2, tol=0, max_iter=20, random_state=0).fit(X)
    told: dict[str, Any] = {
        "feature_names": [attack, "b", "c", "d"],
        "point_names": [attack] * 30,
        "labels": [attack] * 30,
    }
    path = report.write(model, X, tmp_path / "x.html", **told)
    page = Page(path.read_text(encoding="utf-8"))
    assert len(page.scripts) == 2
    assert {tag for tag, _ in page.tags} <= set(SAFE)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "49" not in [word.strip() for word in page.words]


SAFE = re.findall(
    r"\w+",
    "html head meta title style body a header h1 h2 h3 button nav main section p dl div dt dd small strong table thead "
    "tr th td tbody bdi span label input select option noscript script article img svg path line text circle rect "
    "figure figcaption details summary code footer",
)


def test_the_page_asks_for_nothing_outside(repairer, table):
    page = Page(report.render(repairer, table))
    for tag, attributes in page.tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:", "#")), (tag, value)
    policy = next(attributes["content"] for _, attributes in page.tags if attributes.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page.scripts[1])


def test_images_are_images_and_a_guess_is_stated(images_model, digits):
    page = Page(report.render(images_model, digits, labels=["even", "odd"] * 30))
    assert page.data["kind"] == "images"
    assert set(page.data["points"][0]["images"]) == {"value", "expected", "trust", "repaired"}
    assert "Guessed: images of 8 x 8 pixels" in page.text
    assert page.data["map"]["groups"]["label"]["classes"] == ["even", "odd"]
    assert "row 1, column 1" in str(page.data["names"])
    given = Page(report.render(images_model, digits, image_shape=(4, 16)))
    assert "Guessed" not in given.text


def test_pngs_hold_the_values():
    image = pytest.importorskip("PIL.Image")
    values = np.array([[0.0, 0.5], [1.0, np.nan]])
    for palette in (GREYS, TRUST):
        uri = data_uri(values, 0, 1, palette)
        content = BytesIO(__import__("base64").b64decode(uri.partition(",")[2]))
        shown = np.asarray(image.open(content).convert("RGB"))
        assert shown.shape == (2, 2, 3)
        assert tuple(shown[0, 0]) == tuple(palette[:3])
        assert tuple(shown[1, 0]) == tuple(palette[-6:-3])
        assert tuple(shown[1, 1]) == (190, 170, 220)
    whole = BytesIO(__import__("base64").b64decode(data_uri(values[:1], 0, 1).partition(",")[2]))
    assert np.asarray(image.open(whole)).tolist() == [[0, 128]]


def test_series_and_words():
    series = np.cumsum(np.random.default_rng(0).random((30, 100)), axis=1)
    page = Page(report.render(EWNMF(3, **QUICK).fit(series), series))
    assert page.data["kind"] == "series"
    assert len(page.data["points"][0]["series"]["value"]) == 100
    words = csr_array(np.random.default_rng(0).poisson(0.2, (40, 300)).astype(float))
    model = NMF(3, tol=0, max_iter=10, random_state=0).fit(words)
    page = Page(report.render(model, words, feature_names=[f"word {j}" for j in range(300)]))
    assert page.data["kind"] == "words"
    assert f"word {int(np.argmax(model.components_[0]))}" in page.text
    assert "has no gamma" in page.text


def test_large_data_is_sampled_and_the_page_says_so(images_model, digits):
    page = Page(report.render(images_model, digits, max_entries=64 * 20))
    assert "Of 60 points 20 were looked at, in equal distances; counts are of these." in page.text
    assert len(page.data["points"]) == 20
    many = np.tile(digits, (20, 1))
    page = Page(report.render(images_model, many))
    assert "points can be picked: the most suspicious ones" in page.text
    assert len(page.data["points"]) <= 400


def test_100000_points_are_sampled_and_the_page_says_so():
    X = low_rank(100_000, 50)
    model = NMF(2, tol=0, max_iter=3, random_state=0).fit(X[:200])
    text = report.render(model, X, max_entries=500_000)
    page = Page(text)
    assert "Of 100,000 points 10,000 were looked at, in equal distances; counts are of these." in page.text
    assert 200 <= len(page.data["points"]) <= 400
    assert f"{len(page.data['points'])} points can be picked" in page.text
    assert len(text) < 5e6


def test_features_that_never_change_have_a_report():
    for X in (np.ones((30, 6)), np.zeros((30, 6)), np.tile(np.arange(6.0), (30, 1))):
        model = NMF(2, tol=0, max_iter=3, random_state=0).fit(X)
        page = Page(report.render(model, X))
        assert "Nothing looks damaged." in page.text
        assert "No entry is suspect." in page.text


def test_a_feature_and_a_point_without_any_value(repairer, table):
    X = table.copy()
    X["sensor 3"], X.iloc[4] = np.nan, np.nan
    page = Page(report.render(repairer, X))
    assert "1 of the points have no entry that is both observed and trusted." in page.text
    gone = next(point for point in page.data["points"] if point["name"] == "day 4")
    assert gone["missing"] == 12
    assert all(value is None and repaired is not None for _, value, _, _, repaired, _ in gone["entries"])


def test_columns_of_other_names_are_refused(repairer, table):
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        report.render(repairer, table.rename(columns={"sensor 1": "other"}))


@pytest.mark.parametrize("container", [pl.from_pandas, lambda table: table.to_numpy().tolist()])
def test_every_container_is_taken(repairer, table, container):
    page = Page(report.render(repairer, container(table)))
    assert len(page.data["points"]) == 60
    assert EVIL in page.data["names"]


def test_one_point_has_a_report(repairer, table, images_model, digits):
    page = Page(report.render(repairer, table.iloc[:1]))
    assert len(page.data["points"]) == 1
    assert "map" not in page.ids
    Page(report.render(images_model, digits[:1]))


def test_few_points_in_the_fit_are_noted():
    X = low_rank(6, 8)
    assert (
        "The model was fitted to 6 points only" in Page(report.render(NMF(2, tol=1e-2, random_state=0).fit(X), X)).text
    )


@pytest.mark.parametrize(
    ("change", "told", "error", "sentence"),
    [
        (lambda X: X[:0], {}, ValueError, "X has 0 points, and a report needs at least one"),
        (lambda X: X[:, :60], {}, ValueError, "X has 60 features, but EWNMF is expecting 64 features"),
        (lambda X: X[0], {}, ValueError, r"X has shape \(64,\); give a table"),
        (lambda X: X, {"image_shape": (5, 5)}, ValueError, r"image_shape=\(5, 5\) does not fit 64 pixels"),
        (lambda X: X, {"labels": [1]}, ValueError, r"labels has shape \(1,\), and X has 60 points"),
        (lambda X: X, {"feature_names": ["a"]}, ValueError, "feature_names has 1 names, and there are 64"),
        (lambda X: X, {"point_names": ["a"]}, ValueError, "point_names has 1 names, and X has 60 points"),
        (lambda X: X, {"false_alarms": 2}, ValueError, "false_alarms=2 must be a number between 0 and 0.5"),
        (lambda X: X, {"kind": "pictures"}, ValueError, "kind='pictures' is not known"),
        (lambda X: X, {"max_entries": 0}, ValueError, "max_entries=0 must be an integer of at least 1"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(images_model, digits, tmp_path, change, told, error, sentence):
    with pytest.raises(error, match=sentence):
        report.write(images_model, change(digits), tmp_path / "x.html", **told)
    assert not list(tmp_path.iterdir())


def test_what_is_no_fitted_estimator_is_refused(digits):
    with pytest.raises(TypeError, match="str is no estimator of ewnmf"):
        report.render("model", digits)
    with pytest.raises(ValueError, match="not fitted yet"):
        report.render(EWNMF(3), digits)


def test_without_jinja_a_sentence_says_what_to_install(images_model, digits, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "jinja2":
            raise ImportError("no jinja2")
        return real(name, *rest, **more)

    _template.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'ewnmf\.report needs Jinja2: pip install "ewnmf\[report\]"\.'):
        report.render(images_model, digits)


def test_charts_stay_in_their_box():
    chart = line_chart("t", "d", ("x", "y"), [("a", "blue", np.arange(5000.0), np.sin(np.arange(5000.0)))])
    numbers = np.array(re.findall(r"[ML]([\d.]+) ([\d.]+)", chart.lines[0].path), dtype=float)
    left, top, right, bottom = chart.box
    assert len(numbers) <= 1002
    assert numbers[:, 0].min() == left
    assert numbers[:, 0].max() == right
    assert (numbers[:, 1] >= top).all()
    assert (numbers[:, 1] <= bottom).all()
    assert ticks(0.0, 10.0) == [0, 2, 4, 6, 8, 10]
    assert ticks(3.0, 3.0) == [3.0]
    flat = line_chart("t", "d", ("x", "y"), [("a", "blue", np.zeros(1), np.full(1, np.nan))])
    assert flat.lines[0].path == ""
