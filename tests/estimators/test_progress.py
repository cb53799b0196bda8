"""What somebody who waits is shown."""

from __future__ import annotations

import io

import numpy as np
import pytest

from ewnmf import EWNMF
from ewnmf.estimators.progress import Stages

X = np.random.default_rng(0).random((40, 6))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Three seconds for every look."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 3.0
        return self.now


def test_a_terminal_has_one_line_that_moves_and_goes():
    stream = Terminal()
    stages = Stages("EWNMF", stream, Clock())
    stages.stage("choosing gamma, 3 of 7", left=4)
    for number in range(1, 11):
        stages.iteration(number, 100)
    assert "\n" not in stream.getvalue()
    last = stream.getvalue().split("\r")[-1]
    assert last.startswith("EWNMF: [#...............] choosing gamma, 3 of 7, iteration 10 of 100, ")
    assert "min left at most" in last
    stages.close()
    assert stream.getvalue().endswith(f"\r{' ' * 110}\r")


def test_elsewhere_every_stage_has_a_line_and_long_ones_more():
    stream = io.StringIO()
    stages = Stages("EWNMF", stream, Clock())
    stages.stage("fit")
    stages.stage("fit")
    for number in range(1, 6):
        stages.iteration(number, 10)
    stages.close()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "EWNMF: fit"
    assert lines[1].startswith("EWNMF: fit, iteration ")
    assert all(line.endswith("left at most") for line in lines[1:])
    assert 1 < len(lines) < 6


def test_watching_changes_nothing_and_makes_no_fit_again(capsys: pytest.CaptureFixture[str]):
    plain = EWNMF(2, max_iter=20, tol=0, random_state=0).fit(X)
    watched = EWNMF(2, max_iter=20, tol=0, random_state=0, verbose=1).fit(X)
    np.testing.assert_array_equal(plain.components_, watched.components_)
    said = capsys.readouterr().err
    assert "choosing gamma, 1 of 7 (plain NMF)" in said
    assert "fit at the chosen gamma" not in said
    assert "iteration" not in said


def test_further_starts_and_numbers_of_components_are_stages(capsys: pytest.CaptureFixture[str]):
    EWNMF(2, gamma=1.0, max_iter=5, tol=0, n_init=2, random_state=0, verbose=1).fit(X)
    assert capsys.readouterr().err.splitlines() == ["EWNMF: fit", "EWNMF: start 2"]
    EWNMF("cv", gamma=1.0, max_iter=5, tol=0, random_state=0, verbose=1).fit(X)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "EWNMF: choosing the number of components: 1"
    assert said[-1] == "EWNMF: fit"
