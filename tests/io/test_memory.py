"""What would not fit into memory is refused, with the memory that it needs, before any is taken."""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

import pytest

import ewnmf
from ewnmf.io import KINDS, Layout, read_table, source, text
from ewnmf.io.source import available_memory
from tests.fuzz_files import write_valid

QUICK = ["-k", "2", "--max-iter", "4", "--tol", "0", "--seed", "0"]


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, Path]:
    return write_valid(tmp_path_factory.mktemp("valid"))


def refused(path: Path | str, message: str, **layout) -> None:
    with pytest.raises((ValueError, OSError), match=re.escape(message)):
        read_table(path, Layout(**layout))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "images"])
def test_what_does_not_fit_into_memory_is_not_read(valid, monkeypatch, kind):
    monkeypatch.setattr(source, "available_memory", lambda: 100)
    refused(valid[kind], f"{valid[kind]} needs about")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows gives a file all the disk space of its size")
def test_a_file_of_100_gigabytes(tmp_path, monkeypatch):
    path = tmp_path / "large.csv"
    with path.open("wb") as stream:
        stream.truncate(100 * 10**9)
    monkeypatch.setattr(source, "available_memory", lambda: 8 * 10**9)
    refused(path, "large.csv needs about 100 GB of memory, and 8 GB are free; take a part of its rows")


@pytest.mark.parametrize("zipped", [False, True])
def test_cells_count_and_not_bytes(tmp_path, monkeypatch, zipped):
    """A cell of two bytes in the file takes 32 in memory; a compressed one may take no byte at all."""
    content = b"1," * 99 + b"1\n"
    content = content * 5000 if zipped else content * 500
    path = tmp_path / ("t.csv.gz" if zipped else "t.csv")
    path.write_bytes(gzip.compress(content, mtime=0) if zipped else content)
    free = 11 * 10**6 if zipped else 10**6
    assert path.stat().st_size < free / 9
    monkeypatch.setattr(source, "available_memory", lambda: free)
    monkeypatch.setattr(text, "available_memory", lambda: free)
    refused(path, f"{path} needs more than the {free / 1e9:.3g} GB of memory that are free, for its first")
    monkeypatch.setattr(text, "available_memory", lambda: 2 * free)
    assert read_table(path).values.shape == (5000 if zipped else 500, 100)


def test_the_cells_of_a_small_file_are_not_counted(valid, monkeypatch):
    monkeypatch.setattr(text, "_opened", lambda source: pytest.fail("it was read twice"))
    text._check_unpacked(source.Source(valid["csv"], "t.csv"), ",")


def test_the_memory_of_this_machine_is_known():
    known = available_memory()
    assert known is None or known > 10**6


def test_weights_that_do_not_fit_into_memory(run, tmp_path, monkeypatch):
    path = tmp_path / "t.mtx"
    rows = "".join(f"{i + 1} {2 * i + 1} 1\n" for i in range(200))
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n200 500 200\n{rows}")
    monkeypatch.setattr(source, "available_memory", lambda: 1_200_000)
    said = run("fit", path, *QUICK, "-o", tmp_path / "out", code=2)
    assert f"A weight for every entry of {path} needs about 0.0016 GB" in said.err
    assert "leave them out with --no-weights" in said.err
    run("fit", path, *QUICK, "--no-weights", "--gamma", "inf", "-o", tmp_path / "out")
    said = run("weights", tmp_path / "out", path, "-o", tmp_path / "result.csv", code=2)
    assert f"The result for 200 points of {path} needs about 0.0016 GB of memory" in said.err


@pytest.mark.parametrize(("sizes", "components"), [("2 300000000 1", 2), ("9 2 1", 10**9)])
def test_factors_that_do_not_fit_into_memory(run, tmp_path, monkeypatch, sizes, components):
    """A file of 70 bytes took all the memory that there is."""
    path = tmp_path / "t.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{sizes}\n1 1 1\n")
    monkeypatch.setattr(source, "available_memory", lambda: 20 * 10**9)
    monkeypatch.setattr(ewnmf.EWNMF, "fit", lambda *_, **__: pytest.fail("it was fitted"))
    said = run("fit", path, "-k", components, "-o", tmp_path / "out", code=2)
    assert f"A fit of {components} components to" in said.err
    assert "GB are free; choose fewer components, or take a part of its rows and columns." in said.err


def test_entry_weights_that_do_not_fit_into_memory(valid, run, tmp_path, monkeypatch):
    path = tmp_path / "w.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n50000 50000 1\n1 1 1\n")
    monkeypatch.setattr(source, "available_memory", lambda: 10**9)
    arguments = ["--weighting", "fixed", "--entry-weights", path, "-o", tmp_path / "out"]
    said = run("fit", valid["npy"], *QUICK, *arguments, code=2)
    assert f"A number for every entry of {path} needs about 20 GB of memory, and 1 GB are free" in said.err
