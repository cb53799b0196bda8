"""The package as a whole: what it exports, what importing it costs, and that its docs point to what exists."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ewnmf

ROOT = Path(__file__).parents[1]


def test_every_public_name_exists() -> None:
    for name in ewnmf.__all__:
        assert getattr(ewnmf, name) is not None
    assert dir(ewnmf) == sorted(ewnmf.__all__)


STEPS = {
    "the package": "import ewnmf",
    "data sets": "import ewnmf.datasets",
    "plots": "from ewnmf import plots",
    "a fit": "import numpy as np; ewnmf.EWNMF(2, tol=0, max_iter=2).fit(np.ones((4, 3)))",
    "a drawing": "plots.loss_curve([2, 1])",
}
"""What is done in one process, one after the other."""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """The modules that are there after each step."""
    code = "\n".join(["import sys", *(f"{step}\nprint(*sys.modules)" for step in STEPS.values())])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name: set(line.split()) for name, line in zip(STEPS, done.stdout.splitlines(), strict=True)}


def test_importing_is_lazy(loaded: dict[str, set[str]]) -> None:
    assert not loaded["the package"] & {"sklearn", "scipy", "matplotlib", "pooch", "numba"}


def test_neither_data_sets_nor_plots_nor_a_fit_load_an_extra(loaded: dict[str, set[str]]) -> None:
    for step in ("data sets", "plots", "a fit"):
        assert not loaded[step] & {"matplotlib", "pooch", "PIL", "requests"}, step


def test_matplotlib_is_imported_when_drawing(loaded: dict[str, set[str]]) -> None:
    assert "matplotlib.pyplot" in loaded["a drawing"]


def _named_in(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return sorted(set(re.findall(r"`(ewnmf(?:\.\w+)+)`", text)))


@pytest.mark.parametrize("name", _named_in("about/equations.md"))
def test_equations_point_to_code(name: str) -> None:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        return
    pytest.fail(f"{name} does not exist")


def test_equations_point_to_tests() -> None:
    text = (ROOT / "docs" / "about" / "equations.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", text))
    assert named
    assert all((ROOT / path).exists() for path in named)


def test_all_equations_of_the_paper_are_listed() -> None:
    text = (ROOT / "docs" / "about" / "equations.md").read_text(encoding="utf-8")
    listed: set[int] = set()
    for row in re.findall(r"^\| ([^|]+) \|", text, flags=re.M):
        for first, last in re.findall(r"\((\d+)\)(?:-\((\d+)\))?", row):
            listed.update(range(int(first), int(last or first) + 1))
    assert listed == set(range(1, 29))


PRIVATE_WORDS = re.compile(r"\b(?:wish|wishes|heard|told|settle|settles|settling|loud)\b", re.I)
"""Words that are not the field's: it has request, text, tuned, chosen, stable."""


def test_the_words_are_those_of_the_field() -> None:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    found = {
        f"{file.name}: {line.strip()}"
        for file in files
        for line in file.read_text(encoding="utf-8").splitlines()
        if PRIVATE_WORDS.search(line) and "loud noise" not in line
    }
    assert found == set()
