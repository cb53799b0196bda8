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


class TestRepair:
    REPAIR: tuple[str, ...] = ("-k", "3", "--gamma", "0.1", "--max-iter", "20", "--quiet", "--force")

    @pytest.fixture
    def damaged(self, X: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        """A file in five blocks, and what the estimator makes of each of them."""
        monkeypatch.setattr("ewnmf.storage.dense._HIGH_ENTRIES", 64 * 9)
        D = X.copy()
        D[40:50, 2] = 5
        D[200, 7] = np.nan
        np.save(folder / "D.npy", D)
        ewnmf.open_blocks(folder / "D.npy").save(folder / "D.zarr")
        model = ewnmf.Repairer(3, gamma=0.1, max_iter=20, random_state=0).fit(ewnmf.open_blocks(folder / "D.npy"))
        return np.concatenate([model.repair(D[at : at + 64]) for at in range(0, 300, 64)])

    @pytest.mark.parametrize("suffix", ["npy", "zarr"])
    def test_blocks_are_written_as_they_are_mended(
        self, suffix: str, damaged: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given = ["repair", "D.zarr", "-o", f"clean.{suffix}", *self.REPAIR, "--suspects", "suspects.csv", "--json"]
        assert run(given) == 0
        summary = json.loads(capsys.readouterr().out)
        np.testing.assert_array_equal(ewnmf.open_blocks(f"clean.{suffix}"), damaged)
        assert (summary["input"]["missing"], summary["missing_filled"]) == (1, 1)
        listed = Path("suspects.csv").read_text().splitlines()
        assert len(listed) == summary["suspects"] + 1
        assert summary["most_suspects"]["x2"] >= 10
        assert summary["points_with_suspects"] >= 10
        assert all(',"x2",5,' in line for line in listed[1:9])
        if suffix == "npy":
            monkeypatch.setattr("ewnmf.cli.repair_blocks.LISTED", 4)
            assert run(given) == 0
            assert Path("suspects.csv").read_text().splitlines() == listed[:5]

    def test_neither_file_appears_before_both_are_complete(
        self, damaged: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        def full(*args: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("ewnmf.cli.repair.write_result", full)
        assert run(["repair", "D.zarr", "-o", "clean.npy", *self.REPAIR, "--suspects", "suspects.csv"]) != 0
        assert "No space left on device" in capsys.readouterr().err
        assert not {"clean.npy", "suspects.csv"} & {file.name for file in folder.iterdir()}
        assert not [file for file in folder.iterdir() if file.name.startswith((".clean", ".suspects"))]

    def test_what_cannot_be_written(self, damaged: Any, capsys: Any) -> None:
        assert run(["repair", "D.zarr", "-o", "clean.csv", *self.REPAIR]) != 0
        assert "read by blocks is not written to clean.csv; use one of .npy" in capsys.readouterr().err
        assert run(["repair", "D.npy", "-o", "clean.zarr", *self.REPAIR]) != 0
        assert not Path("clean.zarr").exists()
