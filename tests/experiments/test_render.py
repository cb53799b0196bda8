"""The report drawn from a store: its files, its numbers, and what it says of what is missing."""

from __future__ import annotations

import csv
import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ewnmf.experiments.execution.store import Store
from ewnmf.experiments.pages import render as rendering
from ewnmf.experiments.pages.front import CHAPTERS
from ewnmf.experiments.pages.render import render, report
from ewnmf.experiments.pages.sections import SECTIONS
from ewnmf.experiments.protocol.paper import CLAIMS, GAMMAS
from ewnmf.experiments.protocol.plan import TARGETS
from tests.experiment_rows import row

OTHERS = ("onmf-codes", "onmf-components", "semi-nmf", "convex-nmf")
SIDE, K, N = 4, 3, 12
KEPT = ("damaged", "data", "weights")
DIAGRAM = TARGETS["fig1"].specs()


def protocol(dataset, k, seed, shift=0.0, draw=None, gammas=GAMMAS[6:9]):
    """Rows of all methods for one run: EWNMF is best at gamma 0.1, by 10 points."""
    rows = [
        row(dataset, "ewnmf", k, seed, draw=draw, gamma=gamma, acc=0.5 + shift + 0.1 * (gamma == 0.1))
        for gamma in (*gammas, "auto", "groups")
    ]
    rows += [
        row(dataset, "nmf", k, seed, draw=draw, attempt=at, acc=0.5 + shift + 0.01 * at) for at in range(len(gammas))
    ]
    return rows + [row(dataset, method, k, seed, draw=draw, acc=0.4 + shift) for method in OTHERS]


def arrays_of(made, random):
    """What the engine would have kept of a row."""
    n, m = (10, 40) if made.spec.dataset == "signals" else (N, SIDE**2)
    weights = random.uniform(0.5, 1.5, size=(n, m))
    damaged = np.zeros((n, m), dtype=bool)
    damaged[0, :5] = True
    everything = {
        "history": 1 + 4 * np.linspace(2, 1, 300),
        "components": random.uniform(-1 if made.spec.method == "semi-nmf" else 0, 1, size=(K, m)),
        "weights": weights / weights.sum(axis=1, keepdims=True),
        "data": random.uniform(size=(n, m)),
        "damaged": damaged,
        "sources": random.uniform(size=(2, m)),
        "codes": random.uniform(size=(n, K)),
        "clean": random.uniform(size=(n, m)),
    }
    return {name: everything[name] for name in made.spec.keep}


def all_rows():
    rows = [row(dataset, "none", 3, 0) for dataset in ("yale", "umist", "gtfd", "caltech101", "tdt2")]
    rows += [row(spec.dataset, spec.method, spec.k, 0, gamma=spec.gamma, keep=spec.keep) for spec in DIAGRAM]
    ratio = {"weight_destroyed": 0.001, "weight_rest": 1.1}
    rows += [
        row("signals", "ewnmf", 2, seed, gamma=gamma, keep=("sources", *KEPT), figures=ratio)
        for seed in (0, 1)
        for gamma in (0.1, "auto", "groups")
    ]
    for seed in (0, 1):
        rows += protocol("yale", 15, seed, 0.01 * seed) + protocol("umist", 20, seed, 0.01 * seed)
    for dataset in ("yale", "umist", "gtfd", "caltech101", "tdt2"):
        for k in (2, 3):
            for draw in (0, 1):
                rows += protocol(dataset, k, draw, 0.1 / k, draw)
    for method in ("nmf", *OTHERS, "ewnmf"):
        gamma = 0.02 if method == "ewnmf" else None
        rows.append(row("yale", method, 15, 0, gamma=gamma, acc=0.5, keep=("components", "history")))
    for share in (0.0, 0.3, 0.5):
        for seed in (0, 1):
            rows.append(row("yale", "nmf", 15, seed, occluded=share, acc=0.5 - share / 2))
            keep = KEPT if seed == 0 and share else ()
            rows += [
                row("yale", "ewnmf", 15, seed, occluded=share, acc=0.5 - share / 4, gamma=gamma, keep=keep)
                for gamma in (0.02, "auto", "groups")
            ]
    return rows


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    random = np.random.default_rng(0)
    with Store.open(tmp_path_factory.mktemp("store") / "results.sqlite") as made:
        for each in all_rows():
            made.add(each, arrays_of(each, random))
        yield made


@pytest.fixture
def empty(tmp_path):
    with Store.open(tmp_path / "empty.sqlite") as made:
        yield made


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are made but not turned into files, which takes most of the time."""
    monkeypatch.setattr(rendering, "_drawn", lambda figure, kind: b"")


@pytest.fixture(scope="module")
def whole(store, tmp_path_factory):
    """The folder and the files of a report on everything; as SVG, the figures that are drawn again below."""
    out, drawn = tmp_path_factory.mktemp("whole"), rendering._drawn
    names: list[str] = []

    def noted(*given):
        made = report(*given)
        names.extend(picture.name for picture in made.pictures for _ in ("png", "svg"))
        return made

    def some(figure, kind):
        return drawn(figure, kind) if names.pop(0) in AGAIN or kind == "png" else b""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "report", noted)
        patch.setattr(rendering, "_drawn", some)
        return out, render(store, ["all"], out)


AGAIN = ("methods", "fig10")
FRONT, TABLES = "reproduction.md", "reproduction-tables.md"


def text_of(out, page=TABLES):
    return (out / page).read_text(encoding="utf-8")


def section(text, title):
    """The section whose heading begins like this."""
    (found,) = (part for part in text.split("\n## ") if part.startswith(title))
    return found


def test_the_report_has_every_table_and_figure(whole):
    out, files = whole
    names = {path.relative_to(out).as_posix() for path in files}
    drawn = [*(f"fig{n}" for n in range(1, 12)), "gammas", "methods", "clusters", "occlusion", "occlusion-weights"]
    sheets = ["table2", "table3", *(f"fig{n}" for n in range(3, 10))]
    assert names == {
        "reproduction.md",
        "reproduction-tables.md",
        *(f"images/reproduction/{name}.{kind}" for name in drawn for kind in ("png", "svg")),
        *(f"images/reproduction/{name}.csv" for name in sheets),
        "choosing-gamma-results.md",
        *(f"images/choosing-gamma/accuracy-{codes}.{kind}" for codes in ("unit", "raw") for kind in ("png", "svg")),
        "images/choosing-gamma/auto-gamma.csv",
    }
    assert {path for path in out.rglob("*") if path.is_file()} == set(files)
    assert files[0] == out / FRONT


def test_pictures_are_small_enough_and_of_page_width(whole):
    for path in whole[1]:
        if path.suffix == ".png":
            assert path.stat().st_size < 300_000
            with Image.open(path) as image:
                assert image.width <= 1500


def test_every_link_of_the_page_leads_to_a_file_beside_it(whole):
    out, files = whole
    pages = [path for path in files if path.suffix == ".md"]
    links = {link for path in pages for link in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8"))}
    reached = {out / link.split("#")[0] for link in links if not link.startswith("#")}
    assert set(files) - set(pages) == {path for path in reached if path.suffix != ".md"}
    assert {path for path in reached if path.suffix == ".md"} == set(pages[:2])


def test_the_page_is_markdown_that_the_documentation_can_show(whole):
    parser = pytest.importorskip("myst_parser.docutils_").Parser()
    core = pytest.importorskip("docutils.core")
    complaints = io.StringIO()
    settings = {
        "warning_stream": complaints,
        "myst_enable_extensions": ["dollarmath", "amsmath"],
        "myst_all_links_external": True,
    }
    for page, images in (("reproduction.md", 9), ("reproduction-tables.md", 7)):
        tree = core.publish_doctree(text_of(whole[0], page), parser=parser, settings_overrides=settings)
        assert complaints.getvalue() == ""
        text = tree.pformat()
        assert text.count("<image ") == images
        assert text.count("<math") == 0
        assert "|" not in tree.astext()


def test_the_page_has_no_placeholders_and_no_machine(whole):
    for page, count in ((FRONT, 2 + len(CHAPTERS)), (TABLES, 3 + len(SECTIONS))):
        text = text_of(whole[0], page)
        assert not re.search(r"\bnan\b|\binf\b|None|somewhere|/tmp|Not yet run", text)
        assert all(claim.says in " ".join(text.split()) for claim in CLAIMS.values())
        assert text.count("\n## ") == count


def test_what_was_run_is_counted(whole):
    words = section(text_of(whole[0]), "What was run")
    assert f"{len({each.key for each in all_rows()}) - len(DIAGRAM)} runs" in words
    assert "finished 2026-01-02. Versions: ewnmf 1.2.3." in words
    assert re.search(r"\| mixed signals +\| +0 \| +0 \| +0 \| +0 \| +0 \| +6 \|", words)


def test_table_1_sets_the_data_against_the_paper(whole):
    words = section(text_of(whole[0]), "Table 1")
    line = next(line for line in words.splitlines() if line.startswith("| Caltech101"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["Caltech101", "9144", "12", "1024", "16", "101", "3", "2 to 7"]
    assert "* Yale: The text says 150 images; Table 1 says 165" in words


def test_table_2_sets_ours_against_the_paper(whole):
    lines = section(text_of(whole[0]), "Table 2").splitlines()
    nmf = next(line for line in lines if line.startswith("| NMF  "))
    cells = [cell.strip() for cell in nmf.strip("|").split("|")]
    assert cells == ["NMF", "39.03", *["50.5 ± 0.7 (+11.5)"] * 3, "2"]
    best = next(line for line in lines if line.startswith("| EWNMF, best gamma per run"))
    assert best.count("**60.5 ± 0.7** (+14.4)") == 3
    gap = next(line for line in lines if line.startswith("| best gamma per run - NMF, best of as many tries"))
    assert gap.count("+8.0 (+8.0 to +8.0; p < 0.001; 2 of 2)") == 3
    assert "In the store: 2 of 10 starts; 3 of 17 gammas; 3 tries of NMF for each; 300 of 300 iterations." in lines


def test_clusters_are_counted_and_tabled(whole):
    words = section(text_of(whole[0]), "Fig. 9")
    assert "In the store: 2 of 10 draws at k = 2 to 3 (those with the fewest texts are made first); 3 of 17" in words
    assert re.search(r"\| EWNMF, best gamma per run +\| \*\*65\.0\*\* \| \*\*63\.3\*\* \|", words)
    assert re.search(r"\| draws +\| +2 \| +2 \|", words)


def test_the_sheet_has_the_numbers_of_the_table(whole):
    content = (whole[0] / "images/reproduction/table2.csv").read_text(encoding="utf-8")
    records = list(csv.DictReader(io.StringIO(content)))
    assert len(records) == 10 * 3 * 2
    one = next(
        record
        for record in records
        if (record["protocol"], record["codes"], record["k-means starts"], record["measure"])
        == ("ewnmf-one", "unit", "10", "ACC")
    )
    assert {name: float(one[name]) for name in ("mean", "runs", "gamma", "paper", "difference")} == {
        "mean": 60.5,
        "runs": 2,
        "gamma": 0.1,
        "paper": 46.06,
        "difference": 14.44,
    }
    assert float(one["standard deviation"]) == pytest.approx(0.7071)


def test_occlusion_is_tabled_by_share(whole):
    words = section(text_of(whole[0]), "Occlusion")
    assert re.search(r"ACC in %, raw codes, 1 start \| +0 % \| +30 % \| +50 % \|", words)
    assert re.search(r"\| NMF +\| 50\.\d ± \d\.\d \| 35\.0 ± 0\.0 \| 25\.0 ± 0\.0 \|", words)
    assert re.search(r"\| EWNMF, gamma = 0\.02 +\| .* \| \+7\.5 \(\+7\.5 to \+7\.5\) \| \+12\.5 \(", words)
    assert " ".join(words.split()).count("EWNMF is clearly ahead of NMF (interval above 0) at 6 of 6 pairs") == 2


def test_rendering_again_gives_the_same_bytes(whole, store, tmp_path):
    out = tmp_path / "new" / "folder"
    again = render(store, ["fig10", "table2"], out)
    drawn = [f"{name}.{kind}" for name in AGAIN for kind in ("png", "svg")]
    assert [path.name for path in again] == [FRONT, TABLES, "table2.csv", *drawn]
    for path in again[2:]:
        assert path.read_bytes() == (whole[0] / path.relative_to(out)).read_bytes()


def test_an_empty_store_gives_a_page_that_says_so(empty, tmp_path):
    files = render(empty, ["all"], tmp_path)
    assert files == [tmp_path / FRONT, tmp_path / TABLES, tmp_path / "choosing-gamma-results.md"]
    text, front = text_of(tmp_path), text_of(tmp_path, FRONT)
    assert "Nothing yet: the store is empty." in text
    assert len(re.findall(r"\| \*\*not judged yet: 0 of \d+ runs\*\* +\|", front)) == len(CLAIMS)
    for target in SECTIONS:
        assert f"Not yet run: `ewnmf reproduce {target}`." in text
    for each in CHAPTERS.values():
        assert f"Not yet run: `ewnmf reproduce {' '.join(each.targets)}`." in front


@pytest.mark.parametrize("keep_of", ["nmf", "ewnmf", "none", "semi-nmf"])
def test_a_store_with_some_methods_renders(empty, tmp_path, keep_of, undrawn):
    random = np.random.default_rng(0)
    rows = [each for each in all_rows() if each.spec.method == keep_of and each.spec not in DIAGRAM]
    for each in rows:
        empty.add(each, arrays_of(each, random))
    render(empty, ["all"], tmp_path)
    assert f"{len({each.key for each in rows})} runs" in text_of(tmp_path)


def test_one_run_of_each_renders_without_spread(empty, tmp_path, undrawn):
    for each in protocol("yale", 15, 0):
        empty.add(each, {})
    files = render(empty, ["fig3", "table2"], tmp_path)
    assert len(files) == 2 + 2 + 2 * 3
    assert re.search(r"\| NMF +\| 39\.03 \| +50\.0 \(\+11\.0\) \|", section(text_of(tmp_path), "Table 2"))
    assert "+10.0 (1 run)" in section(text_of(tmp_path), "Table 2")


def test_other_methods_are_shown_on_draws_that_ewnmf_lacks(empty, tmp_path, undrawn):
    rows = [each for draw in range(3) for each in protocol("tdt2", 2, draw, 0.1 * draw, draw)]
    for each in rows:
        if each.spec.method != "ewnmf" or each.spec.draw == 0:
            empty.add(each, {})
    render(empty, ["fig9"], tmp_path)
    first, second = section(text_of(tmp_path), "Fig. 9").split("The other methods on all their draws")
    counts = [re.findall(r"\| draws +\| +(\d) \|", part) for part in (first, second)]
    assert counts == [["1", "1"], ["3", "3"]]
    assert re.search(r"\| Semi-NMF +\| +40\.0 \|", first)
    assert re.search(r"\| Semi-NMF +\| +50\.0 \|", second)
    assert "EWNMF, " not in second.split("\n\n")[1]


def test_an_unknown_target_is_refused(empty, tmp_path):
    with pytest.raises(ValueError, match=r"target='fig12' is not known; use one of 'all', .*'table3'\."):
        render(empty, ["fig12"], tmp_path)
    assert not (tmp_path / "reproduction.md").exists()


def test_without_matplotlib_a_sentence_names_the_extra(empty, tmp_path, monkeypatch):
    monkeypatch.setattr(rendering, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r'needs matplotlib: pip install "ewnmf\[plots\]"'):
        render(empty, ["all"], tmp_path)


def test_a_failed_write_leaves_the_old_page_and_nothing_else(empty, tmp_path, monkeypatch):
    render(empty, ["table1"], tmp_path / "out")
    before = text_of(tmp_path / "out")

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        render(empty, ["all"], tmp_path / "out")
    assert text_of(tmp_path / "out") == before
    assert sorted(path.name for path in Path(tmp_path / "out").iterdir()) == [TABLES, FRONT]
