"""The documentation's pages are, to the byte, what the rows in ``results/`` give."""

from __future__ import annotations

from pathlib import Path

import pytest

from ewnmf.experiments.execution.archive import committed, read
from ewnmf.experiments.pages.render import report
from ewnmf.experiments.protocol.plan import TARGETS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def made():
    return report(read(ROOT / "results"), ["all"])


def test_the_rows_of_this_clone_are_found():
    assert committed() == ROOT / "results"


def test_pages_and_sheets_are_what_the_rows_give(made):
    """Draw them again with: ewnmf reproduce --render --out docs."""
    assert {path for path in made.texts if path.endswith(".md")} == {
        "reproduction.md",
        "reproduction-tables.md",
        "choosing-gamma-results.md",
    }
    for path, text in made.texts.items():
        assert (DOCS / path).read_bytes() == text.encode(), path


def test_every_picture_is_there_and_no_other(made):
    drawn = {f"{each.folder}/{each.name}.{kind}" for each in made.pictures for kind in ("png", "svg")}
    sheets = {path for path in made.texts if path.endswith(".csv")}
    folders = [DOCS / "images" / name for name in ("reproduction", "choosing-gamma")]
    found = {path.relative_to(DOCS).as_posix() for folder in folders for path in folder.glob("*")}
    assert found == drawn | sheets


def test_files_are_a_few_megabytes_and_named_after_targets():
    files = list((ROOT / "results").iterdir())
    assert sum(path.stat().st_size for path in files) < 5_000_000
    names = {path.name.removesuffix(".csv.gz") for path in files if path.name.endswith(".csv.gz")}
    assert names <= set(TARGETS)
    assert "fig1" in names
