"""Calibration: the spread of every attribute, whatever its unit, and limits that undamaged entries keep."""

from __future__ import annotations

import numpy as np
import pytest

from ewnmf.damage.calibration import FEWEST, calibrate

UNITS = np.array([1e-3, 1.0, 50.0, 1e6])


def residuals(n: int = 4000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 4)) * UNITS


def test_the_spread_is_the_standard_deviation_of_normal_residuals():
    np.testing.assert_allclose(calibrate(residuals()).spread, UNITS, rtol=0.05)


def test_a_third_of_a_column_may_be_damaged():
    r = residuals()
    r[:1300, 1] = 40.0
    spread = calibrate(r).spread
    assert 0.8 < spread[1] / UNITS[1] < 5
    np.testing.assert_allclose(spread[[0, 2, 3]], UNITS[[0, 2, 3]], rtol=0.05)


@pytest.mark.parametrize("false_alarms", [0.2, 0.05, 0.01, 0.001])
def test_limits_hold_for_normal_residuals(false_alarms):
    calibration = calibrate(residuals())
    share = np.mean(calibration.scores(residuals(50_000, seed=1)) > calibration.threshold(false_alarms))
    assert 0.5 * false_alarms < share < 1.5 * false_alarms


@pytest.mark.parametrize("false_alarms", [0.01, 0.001, 1e-4])
def test_limits_follow_tails_that_grow_longer_outwards(false_alarms):
    """As those of residuals do where a few things of a kind are rare: here 2 % are five times as far."""
    rng = np.random.default_rng(0)
    size = np.where(rng.random((200_000, 5)) < 0.02, 5.0, 1.0)
    drawn = rng.laplace(size=size.shape) * size
    calibration = calibrate(drawn[:4000])
    assert np.mean(calibration.scores(drawn[4000:]) > calibration.threshold(false_alarms)) < 2 * false_alarms


@pytest.mark.parametrize("false_alarms", [0.05, 0.01])
def test_limits_follow_long_tails(false_alarms):
    rng = np.random.default_rng(0)
    calibration = calibrate(rng.laplace(size=(4000, 5)))
    share = np.mean(calibration.scores(rng.laplace(size=(20_000, 5))) > calibration.threshold(false_alarms))
    assert share < 2 * false_alarms


def test_limits_fall_with_the_share():
    calibration = calibrate(residuals())
    limits = [calibration.threshold(share) for share in (0.001, 0.01, 0.1, 0.4)]
    assert limits == sorted(limits, reverse=True)


def test_trust_is_comparable():
    calibration = calibrate(residuals())
    limit = calibration.threshold(0.01)
    np.testing.assert_allclose(calibration.trust(limit * calibration.spread[None]), 0.5)
    assert (calibration.trust(np.zeros((1, 4))) == 1).all()
    far = np.array([[np.inf, 1e300, -1e300, np.nan]])
    trust = calibration.trust(far)
    assert (trust[0, :3] == 0).all()
    assert np.isnan(trust[0, 3])


def test_what_was_not_seen_counts_nowhere():
    r = residuals()
    seen = np.ones(r.shape, dtype=bool)
    seen[::2, 2] = seen[:, 3] = False
    r[~seen] = 1e9
    calibration = calibrate(r, seen)
    assert calibration.spread[3] == np.inf
    assert calibration.scores(np.full((1, 4), 1e9))[0, 3] == 0
    np.testing.assert_allclose(calibration.spread[:3], UNITS[:3], rtol=0.08)


def test_an_attribute_that_is_mostly_exact_is_not_infinitely_strict():
    r = np.random.default_rng(0).normal(size=(200, 3))
    r[:150, 1] = 0
    r[:, 2] = 0
    spread = calibrate(r).spread
    assert 0.04 < spread[1] < 0.06
    assert spread[2] == np.median(spread[:2])
    assert (calibrate(np.zeros((30, 3))).spread > 0).all()


def test_the_unit_does_not_matter():
    r = residuals(100)
    one, other = calibrate(r), calibrate(1e200 * r)
    np.testing.assert_allclose(other.spread, 1e200 * one.spread)
    assert other.tail == pytest.approx(one.tail)


def test_equal_ones_have_the_same_numbers():
    one, same, other = calibrate(residuals(50)), calibrate(residuals(50)), calibrate(residuals(50, seed=1))
    assert one == same
    assert one != other
    assert one != "calibration"


def test_it_knows_its_points():
    assert calibrate(residuals(7)).n_points == 7 < FEWEST
