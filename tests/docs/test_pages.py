"""The code in the documentation runs."""

from __future__ import annotations

import os
import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from ewnmf.datasets import fetch_yale

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.M | re.S)
MADE = {"_build", "api", "gallery", "tutorials"}
"""Folders without pages of our own."""


def run_blocks(page: str) -> dict[str, Any]:
    """The names that the Python blocks of a page leave behind, run one after the other."""
    text = (DOCS / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in BLOCK.findall(text):
        exec(compile(block, page, "exec"), names)
    return names


def pages() -> list[str]:
    """Those with Python in them that no test below looks at more closely."""
    found = [path for path in DOCS.rglob("*.md") if not MADE & set(path.relative_to(DOCS).parts)]
    names = {path.relative_to(DOCS).as_posix() for path in found if BLOCK.search(path.read_text(encoding="utf-8"))}
    return sorted((names | {"../README.md"}) - {"guide/missing-values.md", "guide/choosing-rank.md", "repair.md"})


@pytest.mark.parametrize("page", pages())
def test_every_block_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page == "guide/datasets.md":
        monkeypatch.setenv("EWNMF_DATA", os.environ.get("EWNMF_DATA", str(ROOT.parent / "shared" / "data")))
        try:
            fetch_yale(download_if_missing=False)
        except FileNotFoundError:
            pytest.skip("Yale is not here")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run_blocks(page)


def test_missing_values() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        names = run_blocks("guide/missing-values.md")
    X, complete, filled = names["X"], names["complete"], names["filled"]
    hidden = np.isnan(X)
    np.testing.assert_array_equal(filled[~hidden], complete[~hidden])
    mean = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    assert np.sum((filled - complete)[hidden] ** 2) < 0.6 * np.sum((mean - complete)[hidden] ** 2)
    assert names["best"][0] < 0.25
    np.testing.assert_allclose(names["trust"].sum(axis=1), 1)
    assert not names["trust"][hidden].any()
    assert np.mean(names["sparse_codes"] < 1e-6) > 0.3


def test_choosing_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        names = run_blocks("guide/choosing-rank.md")
    assert names["path"].chosen > 4
    assert names["model"].n_components_ == names["model"].rank_path_.chosen
    assert names["search"].best_params_["n_components"] == 8
    assert (tmp_path / "rank.png").exists()


def test_repair() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        names = run_blocks("repair.md")
    X, clean, mended, damaged = (names[name] for name in ("X", "clean", "mended", "damaged"))
    spread = clean.std(axis=0)
    before, after = (np.sqrt(np.mean(((table - clean) / spread)[damaged] ** 2)) for table in (X, mended))
    assert after < 0.7 * before
    assert len(names["worst"]) == 5
    assert names["trust"].shape == names["suspects"].shape == names["again"].shape == X.shape


def test_pictures_of_the_readme_are_there_and_absolute_once_the_project_has_a_home() -> None:
    links = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    if {"Homepage", "Repository", "Source"} & set(urls):
        assert all(link.startswith("https://") for link in links)
    else:
        assert links
        assert all((ROOT / link).is_file() for link in links)
