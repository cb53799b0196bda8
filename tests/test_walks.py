"""The walks of docs/about/design.md: what is said to be passed is passed, and in that order."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from copy import copy
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.cli import reproduce  # noqa: F401  (loaded before anything is traced)
from ewnmf.cli.run import run

SRC = Path(ewnmf.__file__).parent
DESIGN = (Path(__file__).parents[1] / "docs" / "about" / "design.md").read_text(encoding="utf-8")
WALKS = ("fit", "transform", 'gamma="auto"', "repair", "ewnmf fit", "ewnmf reproduce table2")
STOPS = 12
FILES = 18
MEMBERS = ("kernels/", "losses/")


def stops(walk: str) -> list[list[str]]:
    """The files of every stop of a walk: what its numbered line names before the colon."""
    section = re.split(r"^#+ ", DESIGN, flags=re.M)
    (text,) = [part for part in section if part.startswith(f"`{walk}`\n")]
    heads = re.findall(r"^\d+\. (.*?):", text, flags=re.M)
    return [re.findall(r"`([\w/]+)`", head) for head in heads]


def passed(work: Callable[[], Any]) -> list[str]:
    """Our files in the order in which a function of each is called first."""
    found: dict[str, None] = {}

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(str(SRC)) and frame.f_code.co_name != "<module>":
            found.setdefault(Path(file).relative_to(SRC).with_suffix("").as_posix())

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return list(found)


def data() -> np.ndarray:
    return np.random.default_rng(0).random((40, 12))


def model(cls: Any = ewnmf.NMF, **parameters: Any) -> Any:
    return cls(3, max_iter=5, tol=0, n_jobs=1, random_state=0, **parameters)


@pytest.fixture
def works(tmp_path: Path) -> dict[str, Callable[[], Any]]:
    """What every walk is about, after a first time that loads and compiles what it needs."""
    X = data()
    np.save(tmp_path / "X.npy", X)
    plain, auto, fitted = model(solver="mu"), model(ewnmf.EWNMF), model().fit(X)
    command = ["fit", str(tmp_path / "X.npy"), "-k", "3", "--gamma", "0.1", "--max-iter", "5", "--tol", "0"]
    command += ["-o", str(tmp_path / "out"), "--force", "--quiet"]
    found: dict[str, Callable[[], Any]] = {
        "fit": lambda: plain.fit(X),
        "transform": lambda: fitted.transform(X),
        'gamma="auto"': lambda: auto.fit(X),
        "repair": lambda: copy(fitted).repair(X),
        "ewnmf fit": lambda: run(command),
    }
    for work in found.values():
        work()
    return found


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_has_at_most_a_dozen_stops_at_files_that_are_there(walk: str) -> None:
    found = stops(walk)
    assert 3 <= len(found) <= STOPS
    for name in (name for stop in found for name in stop):
        assert (SRC / name).is_dir() or (SRC / f"{name}.py").is_file(), name


def follows(trace: list[str], walk: list[list[str]]) -> bool:
    """Whether the files of a walk were entered, those of a stop before those of the next one.

    Where a walk comes back to a file, it was entered at the first stop that names it.
    """
    number = {name: at for at, stop in reversed(list(enumerate(walk, 1))) for name in stop}
    named = [name for name in number if (SRC / f"{name}.py").is_file()]
    assert [name for name in named if name not in trace] == []
    entered = [number[name] for name in trace if name in named]
    return entered == sorted(entered)


@pytest.mark.parametrize("walk", WALKS[:5])
def test_stops_are_passed_in_their_order(walk: str, works: dict[str, Callable[[], Any]]) -> None:
    assert follows(passed(works[walk]), stops(walk))


def test_other_orders_are_noticed() -> None:
    assert follows(["problem", "naming", "metrics"], [["problem"], ["metrics", "problem"]])
    assert not follows(["metrics", "naming", "problem"], [["problem"], ["metrics"]])


def test_reproducing_goes_the_way_of_its_walk(tmp_path: Path) -> None:
    """By a figure whose data needs no files. Runs are made by other processes, and pages take long."""
    command = ["reproduce", "fig2", "--quick", "--seeds", "1", "--tries", "1", "--jobs", "1", "--quiet", "--no-render"]
    (tmp_path / "results").mkdir()
    command += ["--results", str(tmp_path / "results"), "--out", str(tmp_path)]
    elsewhere = {"experiments/execution/execute", "factorization", "fitting/pipeline", "experiments/pages/render"}
    walk = [[name for name in stop if name not in elsewhere] for stop in stops(WALKS[-1])]
    assert follows(passed(lambda: run(command)), walk)


def test_a_plain_fit_passes_the_files_of_its_walk_alone(works: dict[str, Callable[[], Any]]) -> None:
    outside = [name for name in passed(works["fit"]) if not name.startswith(MEMBERS)]
    assert set(outside) == {name for stop in stops("fit") for name in stop if (SRC / f"{name}.py").is_file()}
    assert len(outside) <= FILES
