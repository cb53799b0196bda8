"""Data sets of the benchmarks are found, or a sentence says where they are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import ordered
from benchmarks.stored import data_home, stored_set


def test_a_set_is_read_from_the_folder_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EWNMF_DATA", str(tmp_path))
    np.savez(tmp_path / "pie10.npz", X=np.eye(3, dtype=np.uint8), y=np.arange(3))
    np.savez(tmp_path / "tep.npz", X=np.eye(2))
    assert data_home() == tmp_path
    X, classes = stored_set("pie10")
    assert X.dtype == np.float64
    np.testing.assert_array_equal(classes, [0, 1, 2])
    assert stored_set("tep")[1] is None


def test_a_set_that_is_not_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EWNMF_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match=r"^umist\.npz is not there in .*: set EWNMF_DATA to the folder that has it"):
        ordered.main(["--sets", "umist"])
