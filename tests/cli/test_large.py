"""``ewnmf fit``, ``transform`` and ``weights`` of files that are read by blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.cli import large
from ewnmf.cli.run import run

pytest.importorskip("zarr")

FIT = ["--gamma", "0.1", "--max-iter", "5", "--tol", "0", "--seed", "0", "--quiet"]


@pytest.fixture
def X() -> Any:
    rng = np.random.default_rng(0)
    return rng.random((300, 3)) @ rng.random((3, 9))


@pytest.fixture
def folder(X: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    np.save(tmp_path / "X.npy", X)
    for suffix in ("zarr", "parquet"):
        ewnmf.open_blocks(tmp_path / "X.npy").save(tmp_path / f"X.{suffix}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_results_are_those_of_memory(folder: Path) -> None:
    assert run(["fit", "X.npy", "-k", "3", "-o", "memory", *FIT]) == 0
    assert run(["fit", "X.zarr", "-k", "3", "-o", "blocks", *FIT, "--clusters"]) == 0
    for name in ("codes", "components", "weights"):
        one, other = (np.load(folder / where / f"{name}.npy") for where in ("memory", "blocks"))
        np.testing.assert_array_equal(one, other)
    summary = json.loads((folder / "blocks" / "summary.json").read_text())
    assert (summary["input"]["kind"], summary["input"]["missing"]) == ("zarr", 0)
    assert "labels.npy" in summary["files"]
    for command, name in (("transform", "codes"), ("weights", "weights")):
        assert run([command, "blocks", "X.zarr", "-o", "out.npy", "--quiet", "--force"]) == 0
        np.testing.assert_array_equal(np.load("out.npy"), np.load(folder / "memory" / f"{name}.npy"))


def test_files_that_would_fill_the_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "available_memory", lambda: 1000)
    monkeypatch.setattr(large, "_SMALL", 0)
    seen = []

    def opened(path: Any, **named: Any) -> Any:
        seen.append(path)
        return ewnmf.open_blocks(path, **named)

    monkeypatch.setattr(large, "open_blocks", opened)
    assert run(["fit", "X.parquet", "-k", "3", "-o", "out", "--scale", "--drop", "x0", *FIT]) == 0
    assert seen
    codes = ewnmf.open_blocks("out/codes.parquet")
    assert (codes.shape, codes.features) == ((300, 3), ("ewnmf0", "ewnmf1", "ewnmf2"))
    assert ewnmf.load("out/model.ewnmf").feature_names_in_.tolist() == [f"x{j}" for j in range(1, 9)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--to", "csv"], "not written as csv; use npy or parquet"),
        (["--report"], "--report needs a table in memory"),
        (["--transpose"], "read by blocks, for which there is no --transpose"),
        (["--id", "1"], "for which there is no --id"),
        (["--variable", "b"], "holds one matrix; leave it out"),
    ],
)
def test_refusals(options: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "X.zarr", "-k", "3", "-o", "out", *FIT, *options]) == 2
    assert words in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_applying_refuses_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "X.zarr", "-k", "3", "-o", "out", *FIT]) == 0
    assert run(["transform", "out", "X.zarr", "-o", "codes.csv"]) == 2
    assert "not written as csv" in capsys.readouterr().err
