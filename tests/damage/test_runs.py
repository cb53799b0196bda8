"""Faults that last: found in a series by what single entries of it do not show, and not where points have no order."""

from __future__ import annotations

import numpy as np
import pytest

from ewnmf.damage.pairs import Pairs
from ewnmf.damage.runs import FEWEST_ROWS, odds_of_runs, worth_of


def scores(n: int = 300, m: int = 8) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, m))


def seen(z: np.ndarray) -> np.ndarray:
    return np.ones(z.shape, dtype=bool)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_shift_shows_in_a_run(sign):
    z = scores()
    z[100:180, 3] += 2 * sign
    odds = odds_of_runs(z, seen(z), np.ones(8))
    assert np.median(odds[100:180, 3]) > 5
    assert np.quantile(np.delete(odds, 3, axis=1), 0.999) < 3


def test_the_same_entries_out_of_order_show_nothing():
    z = scores()
    z[100:180, 3] += 2
    z[:, 3] = z[np.random.default_rng(1).permutation(300), 3]
    assert odds_of_runs(z, seen(z), np.ones(8))[:, 3].max() < 4


def test_one_entry_is_no_run_however_far_it_is_off():
    z = scores()
    z[100, 3] = 1e3
    assert odds_of_runs(z, seen(z), np.ones(8))[:, 3].max() < 3


def test_few_points_are_no_series():
    z = np.full((FEWEST_ROWS - 1, 2), 5.0)
    np.testing.assert_array_equal(odds_of_runs(z, seen(z), np.ones(2)), 0)


def test_long_series_are_judged_in_pieces():
    z = scores(2600, 2)
    z[1000:1060, 1] += 2
    odds = odds_of_runs(z, seen(z), np.ones(2))
    near = odds_of_runs(z[700:1400], seen(z[700:1400]), np.ones(2))
    assert np.median(odds[1000:1060, 1]) > 5
    assert np.median(near[300:360, 1]) > 5


def test_residuals_that_last_are_worth_less():
    """Where points have an order; shuffled, a run in one attribute does not make any."""
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=(400, 6)), axis=0)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    white, slow = 0.1 * rng.normal(size=x.shape), 0.8 * x
    assert worth_of(x, white, np.full(6, 0.1), seen(x)).min() > 0.5
    assert worth_of(x, slow, np.full(6, 0.8), seen(x)).max() < 0.2
    shuffled = x[rng.permutation(400)]
    shuffled[100:200, 2] += 5
    np.testing.assert_array_equal(worth_of(shuffled, shuffled, np.ones(6), seen(x)), 1)


def test_two_that_are_off_and_agree_are_not_damaged():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    x[:, 1] = x[:, 0] + 0.05 * rng.normal(size=200)
    pairs = Pairs.of(x, seen(x))
    np.testing.assert_array_equal(pairs.other, [1, 0, 2, 3])
    x[10, :2], x[11, :2] = (5, 5), (5, -5)
    far = np.abs(x) >= 5
    agree = pairs.agree(x, far, np.ones(4))
    assert agree[10, :2].all()
    assert not agree[11].any()
    assert not pairs.agree(x, far, np.full(4, 1e-3)).any()


def test_twins_measure_the_same():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    x[:, 1] = x[:, 0] + 0.05 * rng.normal(size=200)
    x[:, 3] = x[:, 2] + 0.3 * rng.normal(size=200)
    pairs = Pairs.of(x, seen(x))
    np.testing.assert_array_equal(pairs.slope != 0, [True] * 4)
    np.testing.assert_array_equal(pairs.twins().slope != 0, [True, True, False, False])
    x[:, 2] = x[:, 0] + 0.05 * rng.normal(size=200)  # three of a kind, as next to each other in spectra
    assert not Pairs.of(x, seen(x)).twins().slope.any()
