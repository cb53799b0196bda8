"""Verdicts: suspects have no part in the codes that they are judged by."""

from __future__ import annotations

import numpy as np

from ewnmf.damage.calibration import calibrate
from ewnmf.damage.columns import Columns
from ewnmf.damage.repair import lost_points, most_suspicious, repaired
from ewnmf.damage.verdict import examine


def mean_of_the_seen(X):
    """A model whose points are constant: what is expected is the mean of what is not hidden, and 0 without that."""

    def reconstruct(rows, hidden, before, *, plain):
        means = [X[i][~hide].mean() if (~hide).any() else 0.0 for i, hide in zip(rows, hidden, strict=True)]
        return np.repeat(np.array(means)[:, None], X.shape[1], axis=1)

    return reconstruct


CALIBRATION = calibrate(np.random.default_rng(0).normal(scale=0.1, size=(500, 6)))


def test_damage_does_not_pull_what_is_expected():
    X = np.array([[1.0, 1, 1, 1, 1, 9], [2, 2, 2, 2, 2, 2], [3, 3, 3, -9, 9, 3]])
    verdict = examine(X, np.ones(X.shape, dtype=bool), mean_of_the_seen(X), CALIBRATION)
    np.testing.assert_allclose(verdict.expected, [[1] * 6, [2] * 6, [3] * 6])
    np.testing.assert_array_equal(verdict.suspects(0.01), verdict.expected != X)
    np.testing.assert_array_equal(verdict.trust[verdict.expected == X], 1)


def test_the_side_that_explains_more_is_taken():
    X = np.array([[1.0, 1, 1, 1, 1, 9], [2, 2, 2, 2, 2, 2]])

    def reconstruct(rows, hidden, before, *, plain):
        first, second = (1.0, 5.0) if plain else (9.0, 2.0)
        return np.where(rows == 0, first, second)[:, None] * np.ones(6)

    verdict = examine(X, np.ones(X.shape, dtype=bool), reconstruct, CALIBRATION, weighted=True)
    np.testing.assert_array_equal(verdict.expected, [[1] * 6, [2] * 6])


def test_missing_values_are_no_suspects_and_tell_nothing():
    X = np.array([[1.0, np.nan, 1, 1, 1, 9], [np.nan] * 6])
    seen = ~np.isnan(X)
    verdict = examine(X, seen, mean_of_the_seen(X), CALIBRATION)
    assert verdict.suspects(0.01).sum() == 1
    np.testing.assert_array_equal(np.isnan(verdict.trust), ~seen)
    clean = repaired(X, verdict, verdict.suspects(0.01), soft=False)
    np.testing.assert_allclose(clean, [[1] * 6, [0] * 6])
    np.testing.assert_array_equal(lost_points(verdict, verdict.suspects(0.01)), [False, True])


def test_a_point_without_anything_to_trust():
    X = np.array([[-30.0, -20, -10, 10, 20, 30]])

    def reconstruct(rows, hidden, before, *, plain):
        return np.full(X.shape, 99.0)

    verdict = examine(X, np.ones(X.shape, dtype=bool), reconstruct, CALIBRATION)
    suspects = verdict.suspects(0.01)
    assert lost_points(verdict, suspects).all()


def test_soft_repair_blends_by_trust():
    X = np.array([[1.0, 1.05, 1, 1, 1, 9]])
    verdict = examine(X, np.ones(X.shape, dtype=bool), mean_of_the_seen(X), CALIBRATION)
    soft = repaired(X, verdict, verdict.suspects(0.01), soft=True)
    np.testing.assert_allclose(soft, verdict.trust * X + (1 - verdict.trust) * verdict.expected)


def test_the_most_suspicious_come_first():
    X = np.array([[1.0, 1.05, 1, 1, 1, 9], [2, 2, 2, 2, np.nan, 4]])
    verdict = examine(X, ~np.isnan(X), mean_of_the_seen(X), CALIBRATION)
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
