"""Two trees that take turns: a tree against itself, and folders that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.stored import ROOT
from benchmarks.versus import main, measure


def test_a_tree_against_itself() -> None:
    ((title, seconds),) = measure(ROOT, ["small"], 1)
    assert title == "small"
    assert seconds.shape == (1, 2, 2)
    assert np.isfinite(seconds).all()


def test_a_folder_that_is_no_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "is no checkout of ewnmf: git worktree add FOLDER COMMIT makes one." in capsys.readouterr().err
