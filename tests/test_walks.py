"""The walks of docs/design.md: what is said to be passed is passed, and in that order."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.cli.run import run

SRC = Path(ewnmf.__file__).parent
DESIGN = (Path(__file__).parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
WALKS = ("fit", "transform", 'gamma="auto"', "ewnmf fit", "ewnmf reproduce table2")
STOPS = 12
FILES = 26
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
        if event == "call" and file.startswith(str(SRC)):
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
    plain, auto, fitted = model(), model(ewnmf.EWNMF), model().fit(X)
    command = ["fit", str(tmp_path / "X.npy"), "-k", "3", "--gamma", "0.1", "--max-iter", "5", "--tol", "0"]
    command += ["-o", str(tmp_path / "out"), "--force", "--quiet"]
    found: dict[str, Callable[[], Any]] = {
        "fit": lambda: plain.fit(X),
        "transform": lambda: fitted.transform(X),
        'gamma="auto"': lambda: auto.fit(X),
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


@pytest.mark.parametrize("walk", WALKS[:4])
def test_stops_are_passed_in_their_order(walk: str, works: dict[str, Callable[[], Any]]) -> None:
    """A stop counts from its first file on; a file that an earlier stop has named is not looked for again."""
    trace, named = passed(works[walk]), []
    for stop in stops(walk):
        new = [name for name in stop if (SRC / f"{name}.py").is_file() and name not in named]
        assert set(new) <= set(trace), "not passed"
        named += new
    order = sorted(named, key=trace.index)
    number = {name: at for at, stop in reversed(list(enumerate(stops(walk), 1))) for name in stop}
    assert [number[name] for name in order] == sorted(number[name] for name in order)


def test_a_plain_fit_passes_the_files_of_its_walk_alone(works: dict[str, Callable[[], Any]]) -> None:
    outside = [name for name in passed(works["fit"]) if not name.startswith(MEMBERS)]
    assert set(outside) == {name for stop in stops("fit") for name in stop if (SRC / f"{name}.py").is_file()}
    assert len(outside) <= FILES
