"""The study of rules that choose gamma: its scores exactly, the built rule as the library has it, and its tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from benchmarks import gamma_rules
from benchmarks.gamma_rules import Accuracy, Fits, Rise, contest, rules
from ewnmf import factorize
from ewnmf.choosing.gamma import _Neighbours, _walk
from ewnmf.choosing.neighbours import unlikeness
from ewnmf.fitting.checks import RELATIVE, GammaRequest

REQUEST = GammaRequest(rule="auto")
TRIED = {"NMF": 0.4, "16x": 0.45, "8x": 0.5, "4x": 0.4, "2x": 0.3, "1x": 0.2, "0.5x": 0.1}


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Four groups with patterns of their own, six attributes of every third point destroyed."""
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 4
    X = rng.random((4, 24))[labels] * (0.7 + 0.6 * rng.random((80, 1))) + 0.03 * rng.random((80, 24))
    for i in range(0, 80, 3):
        place = rng.integers(18)
        X[i, place : place + 6] = 2.0
    return X, labels


@pytest.fixture(scope="module")
def fits(data: tuple[np.ndarray, np.ndarray]) -> Fits:
    return Fits.drawn(data[0], 4, 3, 40)


@pytest.fixture(scope="module")
def scale(fits: Fits) -> float:
    return fits.at(math.inf).loss / fits.job.points.X.size


OPTIONS: dict[str, Any] = {"order": "codes-first", "max_iter": 40, "n_jobs": 1, "rng": 3}


@pytest.mark.parametrize("gamma", [math.inf, 0.05, "self-tuned"])
def test_fits_are_those_of_the_library(fits: Fits, gamma: Any) -> None:
    fit = fits.self_tuned() if gamma == "self-tuned" else fits.at(gamma)
    expected = factorize(fits.job.points.X, 4, gamma=gamma, **OPTIONS)
    np.testing.assert_array_equal(fit.factors.H.T, expected.codes)
    np.testing.assert_array_equal(fit.factors.W.T, expected.components)


def test_the_built_rule_decides_as_in_the_library(fits: Fits, scale: float) -> None:
    expected = factorize(fits.job.points.X, 4, gamma="groups", **OPTIONS).gamma_path
    assert expected is not None
    assert expected.rule == "neighbourhoods"
    judge = rules(fits, scale, hide=False)["smooth groups (`groups`)"]
    path, _ = _walk(judge, fits.at(math.inf), scale, REQUEST)
    assert path.chosen == expected.chosen > 0
    np.testing.assert_array_equal(path.scores, expected.scores)


def test_fits_are_made_once_and_hidden_entries_have_fits_of_their_own(fits: Fits, scale: float) -> None:
    hidden = rules(fits, scale, hide=True)["hidden entries, 90 %"].trials
    assert fits.at(scale) is fits.at(scale)
    assert hidden.at(scale) is hidden.at(scale)
    assert hidden.at(scale) is not fits.at(scale)


def test_the_graph_in_local_units_is_that_of_the_built_rule(fits: Fits, scale: float) -> None:
    built = _Neighbours.of(fits, scale)
    assert built is not None
    D = unlikeness(fits.job.points.take(built.rows), fits.job.problem.loss, scale)
    found = gamma_rules.neighbourhoods(gamma_rules.links(gamma_rules.in_local_units(D)), 4)
    labels = np.random.default_rng(0).integers(4, size=built.rows.size)
    assert found.smooth_share(labels) == pytest.approx(built.graphs[0].smooth_share(labels), abs=1e-9)


def test_pairs_together_are_counted_above_chance() -> None:
    graph = sparse.csr_array(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]))
    # 3 of 4 links stay inside; half of the points are in each group, 3/4 and 1/4 of the links end there.
    assert gamma_rules.pairs_together(graph, np.array([0, 0, 1, 1])) == 0.75 - (0.5 * 0.75 + 0.5 * 0.25)
    assert gamma_rules.pairs_together(graph, np.zeros(4, dtype=int)) == 0


def test_neighbours_are_kept_where_unit_codes_are_near(fits: Fits) -> None:
    fit, rows = fits.at(math.inf), np.arange(80)
    unit = gamma_rules.unit_codes(fit)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    apart = np.linalg.norm(unit[:, None] - unit, axis=2)
    assert gamma_rules.neighbours_kept(gamma_rules.links(apart), rows, fit) == 1
    assert gamma_rules.neighbours_kept(gamma_rules.links(3 - apart - 3 * np.eye(80)), rows, fit) == 0


def test_a_prediction_is_the_trimmed_loss_of_hidden_entries(fits: Fits, scale: float) -> None:
    judge: Any = rules(fits, scale, hide=True)["hidden entries (`groups` for few points)"]
    fit, hidden = judge.trials.at(scale), judge.trials.job.points.P == 0
    assert 0.05 < hidden.mean() < 0.15
    losses = np.sort((fits.job.points.X - fit.factors.H.T @ fit.factors.W.T)[hidden] ** 2)
    expected = -np.mean(losses[: math.ceil(0.8 * losses.size)])
    assert gamma_rules.prediction(judge, 0.8, fit) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("least", "chosen"), [(1.0, 2), (1.4, 2), (1.6, 0)])
def test_a_rise_leaves_plain_nmf_only_for_enough(fits: Fits, scale: float, least: float, chosen: int) -> None:
    scores = dict(zip([math.inf, *RELATIVE], [0.2, 0.25, 0.3, 0.1, 0.3, 0.0, 0.0], strict=True))
    known = {id(fits.at(times * scale)): score for times, score in scores.items()}
    path, _ = _walk(Rise(fits, lambda fit: known[id(fit)], least), fits.at(math.inf), scale, REQUEST)
    assert path.chosen == chosen


def test_every_rule_takes_one_of_the_fits(data: tuple[np.ndarray, np.ndarray]) -> None:
    rows = contest(*data, 3, hide=True, max_iter=40)
    tried = [rows[word] for word in gamma_rules.TRIED]
    judged = [word for word in rows if word not in (*gamma_rules.TRIED, "self-tuned")]
    assert len(judged) == 12
    assert all(rows[word] in tried for word in judged)


def test_a_table_tells_the_gain_kept_and_the_worst_loss() -> None:
    means = {
        "yale": {**TRIED, "rule": 0.45, "elsewhere": 0.5},
        "digits-occluded": {**TRIED, "8x": 0.42, "16x": 0.42, "rule": 0.385},
    }
    assert gamma_rules.table(means).markdown().splitlines() == [
        "|                     |  Yale | digits occl. | gain kept | worst loss |",
        "| ------------------- | ----: | -----------: | --------: | ---------: |",
        "| NMF                 | 0.400 |        0.400 |        0% |        0.0 |",
        "| best gamma by label | 0.500 |        0.420 |      100% |        0.0 |",
        "| rule                | 0.450 |        0.385 |       50% |        1.5 |",
        "| elsewhere           | 0.500 |              |      100% |        0.0 |",
    ]


def test_the_command_prints_a_table_for_each_kind_of_codes(
    data: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = {**{word: Accuracy(share, share) for word, share in TRIED.items()}, "rule": Accuracy(0.45, 0.35)}
    asked = []

    def known(X: Any, target: Any, seed: int, *, hide: bool) -> dict[str, Accuracy]:
        asked.append((X.shape, seed, hide))
        return output

    monkeypatch.setattr(gamma_rules, "contest", known)
    gamma_rules.main(["--seeds", "2", "--first", "4", "--sets", "digits", "digits-occluded", "--hidden", "digits"])
    assert asked == [((1797, 64), seed, hide) for seed in (4, 5) for hide in (True, False)]
    printed = capsys.readouterr().out
    assert "Mean accuracy on unit codes, seeds 4 to 5:" in printed
    assert "| rule                |  0.450 |        0.450 |       50% |        0.0 |" in printed
    assert "| rule                |  0.350 |        0.350 |      -50% |        5.0 |" in printed


def test_occlusions_are_drawn_by_the_seed() -> None:
    clean, target = gamma_rules.load("digits", 0)
    one, other = (gamma_rules.load("digits-occluded", seed)[0] for seed in (0, 1))
    assert target.shape == (1797,)
    assert clean.max() == 1
    damaged = (one != clean).any(axis=1)
    assert 0.25 < damaged.mean() <= 0.3
    assert ((one != clean).sum(axis=1) <= 9).all()
    assert (one != other).any()
