"""Pictures and reports of the command."""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

FIT = ("--gamma", "1", "--max-iter", "20", "--tol", "0", "--seed", "0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table, a folder of images, and a model of each."""
    from PIL import Image

    from ewnmf.cli import main

    here = tmp_path_factory.mktemp("showing")
    rng = np.random.default_rng(0)
    X = rng.random((40, 3)) @ rng.random((3, 5)) + 0.1
    X[5:9, 2] = 20
    lines = ["time,a,b,<b>c</b>,d,e", *(f"t{i}," + ",".join(f"{x:.5f}" for x in row) for i, row in enumerate(X))]
    (here / "table.csv").write_text("\n".join(lines))
    (here / "others.csv").write_text("\n".join(["f,g,h,i,j", *(line.partition(",")[2] for line in lines[1:])]))
    (here / "head.csv").write_text("a,b,<b>c</b>,d,e\n")
    (here / "photos").mkdir()
    for i, image in enumerate(load_digits().images[:24]):
        Image.fromarray((15 * image).astype(np.uint8)).save(here / "photos" / f"{i:02}.png")
    of_table = ["fit", str(here / "table.csv"), "-k", "3", "--id", "time", "-o", str(here / "t"), "--report", "-q"]
    assert main([*of_table, *FIT]) == 0
    assert main(["fit", str(here / "photos"), "-k", "4", "-o", str(here / "p"), "-q", *FIT]) == 0
    return here


def test_a_folder_of_images_gives_pictures(folder):
    for name in ("components", "trust", "repair"):
        assert (folder / "p" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert not list((folder / "t").glob("*.png"))
    assert json.loads((folder / "p" / "summary.json").read_text())["files"][2] == "components.png"


def test_pictures_of_a_table_come_where_asked_for(folder, run, tmp_path):
    run("fit", folder / "table.csv", "-k", 3, "--id", "time", "-o", tmp_path / "o", "--pictures", *FIT)
    assert {path.stem for path in (tmp_path / "o").glob("*.png")} == {"components", "trust", "repair"}
    run("fit", folder / "photos", "-k", 3, "-o", tmp_path / "q", "--no-pictures", *FIT)
    assert not list((tmp_path / "q").glob("*.png"))


def test_fit_writes_the_report_into_its_folder(folder):
    page = (folder / "t" / "report.html").read_text(encoding="utf-8")
    assert "EWNMF report: table.csv" in page
    assert "<bdi>&lt;b&gt;c&lt;/b&gt;</bdi>" in page
    assert "<bdi>t5</bdi>" in page


@pytest.mark.parametrize("what", ["components", "trust", "repair", "clusters", "objective"])
def test_plot_draws_what_is_asked_for(folder, run, tmp_path, what):
    for name, data in (("t", "table.csv"), ("p", "photos")):
        out = tmp_path / f"{name}.png"
        options = ("--id", "time") if name == "t" else ()
        said = run("plot", folder / name, folder / data, "--what", what, "-o", out, *options)
        assert out.read_bytes().startswith(b"\x89PNG")
        assert said.out == f"{out}: {what}\n"


def test_plot_needs_no_data_where_the_model_knows(folder, run, tmp_path):
    run("plot", folder / "p", "-o", tmp_path / "c.svg")
    assert "Guessed" not in (tmp_path / "c.svg").read_text()
    said = run("plot", folder / "t", "--what", "gamma", "-o", tmp_path / "g.png", code=2)
    assert "fit with gamma='auto'" in said.err
    assert not (tmp_path / "g.png").exists()


def test_report_of_a_saved_model(folder, run, tmp_path):
    out = tmp_path / "r.html"
    said = run("report", folder / "p", folder / "photos", "-o", out, "--title", "Photos & more", "--json")
    summary = json.loads(said.out)
    assert summary["bytes"] == out.stat().st_size
    assert '<h1 dir="auto">Photos &amp; more</h1>' in out.read_text(encoding="utf-8")
    assert "exists already" in run("report", folder / "p", folder / "photos", "-o", out, code=2).err
    run("report", folder / "p", folder / "photos", "-o", out, "--force", "-q")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("plot", "t", "--what", "trust", "-o", "x.png"), "--what trust shows what the model makes of data"),
        (("plot", "t", "-o", "x.gif"), "the name of a picture ends with .png, .svg"),
        (("plot", "nothing", "-o", "x.png"), "nothing"),
        (
            ("report", "p", "table.csv", "--id", "time", "-o", "x.html"),
            "attributes, but p was fitted on 64; give the same columns",
        ),
        (
            ("report", "t", "table.csv", "--id", "time", "--false-alarms", "3", "-o", "x.html"),
            "false_alarms=3.0 must be",
        ),
        (
            ("report", "t", "others.csv", "-o", "x.html"),
            "has 'f' as its 1. attribute, but t was fitted with",
        ),
        (("plot", "t", "others.csv", "--what", "trust", "-o", "x.png"), "give the same columns in the same order"),
        (("report", "t", "head.csv", "-o", "x.html"), "head.csv has no points: 0 x 5 numbers were found"),
        (("plot", "t", "head.csv", "--what", "repair", "-o", "x.png"), "give at least one row of numbers"),
        (
            ("report", "t", "table.csv", "--id", "time", "-o", "no/x.html"),
            "x.html could not be written (No such file",
        ),
        (("plot", "t", "-o", "table.csv/x.png"), "x.png could not be written (Not a directory)"),
    ],
)
def test_bad_requests_end_in_a_sentence(folder, run, monkeypatch, arguments, sentence):
    monkeypatch.chdir(folder)
    error = run(*arguments, code=2).err
    assert sentence in error
    assert error.count("\n") == 1
    assert not [*folder.glob("x.*"), *folder.glob("*unfinished*")]


@pytest.mark.parametrize("command", [("report", "x.html"), ("plot", "x.png", "--what", "trust")])
def test_a_full_disk_leaves_nothing(folder, run, monkeypatch, tmp_path, command):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    what, name, *options = command
    monkeypatch.setattr(os, "fsync", full)
    said = run(what, folder / "p", folder / "photos", "-o", tmp_path / name, *options, code=2)
    assert said.err == (
        f"ewnmf: {tmp_path / name} could not be written (No space left on device); nothing was left under that name.\n"
    )
    assert not list(tmp_path.iterdir())


def test_one_point_can_be_shown(folder, run, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("\n".join((folder / "table.csv").read_text().splitlines()[:2]))
    run("report", folder / "t", one, "--id", "time", "-o", tmp_path / "one.html")
    for what in ("components", "trust", "repair", "clusters"):
        run("plot", folder / "t", one, "--id", "time", "--what", what, "-o", tmp_path / f"{what}.png")


def test_missing_extras_are_named(folder, run, monkeypatch, tmp_path):
    from ewnmf.report.writing import _template

    with monkeypatch.context() as without:
        without.setitem(sys.modules, "matplotlib", None)
        said = run("fit", folder / "photos", "-k", 3, "-o", tmp_path / "o", *FIT)
        assert 'no pictures: ewnmf.plots needs matplotlib: pip install "ewnmf[plots]".' in said.out
        said = run("fit", folder / "photos", "-k", 3, "-o", tmp_path / "q", "--pictures", *FIT, code=2)
        assert 'pip install "ewnmf[plots]"' in said.err
        assert not (tmp_path / "q").exists()
        for what in ("components", "trust"):
            said = run("plot", folder / "p", folder / "photos", "--what", what, "-o", tmp_path / "x.png", code=2)
            assert said.err == 'ewnmf: ewnmf.plots needs matplotlib: pip install "ewnmf[plots]".\n'
        assert not list(tmp_path.glob("*x.png*"))
    _template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = run("fit", folder / "table.csv", "-k", 3, "--id", "time", "-o", tmp_path / "r", "--report", *FIT, code=2)
    assert said.err == 'ewnmf: ewnmf.report needs Jinja2: pip install "ewnmf[report]".\n'
    said = run("report", folder / "p", folder / "photos", "-o", tmp_path / "r.html", code=2)
    assert said.err == 'ewnmf: ewnmf.report needs Jinja2: pip install "ewnmf[report]".\n'
