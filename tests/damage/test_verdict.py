"""Verdicts: suspects have no part in the codes that they are judged by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ewnmf.damage.calibration import Calibration, calibrate
from ewnmf.damage.columns import Columns
from ewnmf.damage.repair import lost_points, most_suspicious, repaired
from ewnmf.damage.runs import FEWEST_ROWS
from ewnmf.damage.verdict import Verdict, examine


def level(m: int = 6, noise: float = 0.1) -> Calibration:
    """Points are constant but for noise: what is expected is the mean of what is not hidden, or 2 without that."""
    ones, wide = np.ones(m), np.full(m, 1e9)
    return replace(
        calibrate(np.random.default_rng(0).normal(scale=noise, size=(500, m))),
        center=0 * ones,
        unit=ones,
        mean=2 * ones,
        loadings=1e3 * ones[None],
        noise=noise**2 * ones,
        low=-wide,
        high=wide,
        usual=np.nan * ones,
        common=np.empty(0),
        stuck=np.array([5]),
        stuck_values=np.array([7.0]),
        level=1.5,
    )


CALIBRATION = level()


def judged(X: Any, calibration: Calibration = CALIBRATION) -> Verdict:
    return examine(X, ~np.isnan(X), calibration)


def test_damage_does_not_pull_what_is_expected():
    X = np.array([[1.0, 1.1, 1, 0.9, 1, 9], [2, 2, 2.1, 2, 1.9, 2], [3, 3, 3.1, -9, 9, 3]])
    verdict = judged(X)
    np.testing.assert_allclose(verdict.expected, np.repeat([[1.0], [2], [3.025]], 6, axis=1), atol=1e-6)
    np.testing.assert_array_equal(verdict.suspects(0.001), np.abs(verdict.expected - X) > 1)
    assert (verdict.trust[np.abs(verdict.expected - X) < 0.01] > 0.99).all()


def test_points_are_judged_on_their_own():
    """As long as they are too few for a series."""
    X = 2 + np.random.default_rng(1).normal(scale=0.1, size=(FEWEST_ROWS - 1, 6))
    X[::3, 2] = 5
    whole = judged(X)
    for i in range(len(X)):
        alone = judged(X[i : i + 1])
        np.testing.assert_allclose(alone.expected[0], whole.expected[i], rtol=1e-12)
        np.testing.assert_array_equal(alone.suspects(0.01)[0], whole.suspects(0.01)[i])


def test_a_run_of_points_is_judged_together():
    """Every entry of it is a little off, as some others are, which are not suspected."""
    X = 2 + np.random.default_rng(1).normal(scale=0.1, size=(200, 6))
    X[60:120, 2] += 0.25
    suspects = judged(X).suspects(1e-4)
    assert suspects[60:120, 2].mean() > 0.7
    assert np.mean([judged(X[i : i + 1]).suspects(1e-4)[0, 2] for i in range(60, 120)]) < 0.1
    rest = np.ones(X.shape, dtype=bool)
    rest[55:125, 2] = False
    assert suspects[rest].mean() < 1e-3


def test_missing_values_are_no_suspects_and_tell_nothing():
    X = np.array([[1.0, np.nan, 1.1, 0.9, 1, 9], [np.nan] * 6])
    seen = ~np.isnan(X)
    verdict = judged(X)
    assert verdict.suspects(0.001).sum() == 1
    np.testing.assert_array_equal(np.isnan(verdict.trust), ~seen)
    clean = repaired(X, verdict, verdict.suspects(0.001), soft=False)
    np.testing.assert_allclose(clean[:, [1, 5]], [[1, 1], [2, 2]], atol=1e-6)
    np.testing.assert_array_equal(lost_points(verdict, verdict.suspects(0.001)), [False, True])


def test_a_stuck_value_is_damaged_wherever_it_comes():
    X = np.array([[7.0, 7.1, 6.9, 7, 7.05, 7.0], [7, 7.1, 6.9, 7, 7.05, 6.99]])
    verdict = judged(X)
    np.testing.assert_array_equal(verdict.suspects(1e-8), X == np.where(np.arange(6) == 5, 7.0, np.nan))


def test_equal_values_are_judged_together():
    """Every entry of a block is a little off, and all of them together are not; where that is usual, nothing is."""
    X = 2 + np.random.default_rng(1).normal(scale=0.1, size=(4, 200))
    X[1, 40:90] = 2.25
    calibration = level(200)
    suspects = judged(X, calibration).suspects(1e-6)
    np.testing.assert_array_equal(suspects[1], X[1] == 2.25)
    assert not suspects[[0, 2, 3]].any()
    assert not judged(X, replace(calibration, usual=np.full(200, 2.25))).suspects(1e-6).any()
    assert not judged(X, replace(calibration, common=np.array([2.25]))).suspects(1e-6).any()


def test_expectations_stay_in_the_range_of_what_was_trusted():
    verdict = judged(np.array([[4.0, 4.1, 3.9, 4, 4.05, np.nan]]), replace(CALIBRATION, high=np.full(6, 3.0)))
    assert verdict.expected[0, 5] == 3


def test_a_point_without_anything_to_trust():
    verdict = judged(np.array([[-3000.0, -2000, -1000, 1000, 2000, 3000]]))
    assert lost_points(verdict, verdict.suspects(0.01)).all()


def test_soft_repair_blends_by_trust():
    X = np.array([[1.0, 1.05, 1, 1, 1, 9]])
    verdict = judged(X)
    soft = repaired(X, verdict, verdict.suspects(0.01), soft=True)
    np.testing.assert_allclose(soft, verdict.trust * X + (1 - verdict.trust) * verdict.expected)


def test_the_most_suspicious_come_first():
    X = np.array([[1.0, 1.05, 1, 1, 1, 9], [2, 2, 2, 2, np.nan, 4]])
    verdict = judged(X)
    table = most_suspicious(X, verdict, 3)
    np.testing.assert_array_equal(table["value"][:2], [9, 4])
    np.testing.assert_array_equal(table["point"][:2], [0, 1])
    np.testing.assert_array_equal(table["attribute"][:2], [5, 5])
    assert (np.diff(table["trust"]) >= 0).all()
    assert len(most_suspicious(X, verdict, 100)["value"]) == 11


def test_columns_go_to_a_range_and_back():
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(-5, 2, 300), 1e6 * rng.random(300), np.full(300, 4.0), np.full(300, np.nan)], axis=1)
    X[0, 1] = 1e12
    columns = Columns.of(X)
    scaled = columns.scaled(X)
    np.testing.assert_allclose(columns.back(scaled)[:, :3], X[:, :3], rtol=1e-12)
    assert 0.6 < np.sort(scaled[:, 1])[-2] <= 1
    assert scaled[0, 1] > 1e5
    np.testing.assert_array_equal(scaled[:, 2], 0)
    shown = columns.bounded(columns.scaled(np.array([[-1e9, 1e300, 5.0, 0.0]])))
    np.testing.assert_array_equal(shown, [[0, 1.5, 1, 0]])


def test_a_third_of_a_column_may_be_anything():
    X = np.random.default_rng(0).normal(1000, 1, size=(300, 1))
    X[:100] = 0
    columns = Columns.of(X)
    assert 990 < columns.low[0] < 997
    assert columns.span[0] < 12


def test_a_column_of_mostly_one_value_keeps_its_range():
    X = np.zeros((100, 1))
    X[:3, 0] = 1, 2, 4
    assert Columns.of(X).span[0] == 4
