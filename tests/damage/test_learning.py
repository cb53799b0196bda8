"""What is expected, learned from damaged data: what the damage does not touch, in any unit and order."""

from __future__ import annotations

import numpy as np
import pytest

from ewnmf.damage.expectation import Expectation
from ewnmf.damage.learning import _floor, learn
from ewnmf.damage.repeats import repeats
from ewnmf.damage.verdict import examine
from ewnmf.datasets import make_damage, make_sensors, make_spectra
from ewnmf.fitting.points import Sample

UNITS = 10.0 ** np.linspace(-3, 3, 30)


def sample(X: np.ndarray, K: int = 3, unit: np.ndarray | float = 1.0) -> Sample:
    """With codes and components of a singular value decomposition, which damage has pulled."""
    U, s, V = np.linalg.svd(np.nan_to_num(X), full_matrices=False)
    return Sample(X * unit, ~np.isnan(X), U[:, :K] * s[:K], V[:K] * unit, np.arange(len(X)))


def spectra(m: int = 30) -> np.ndarray:
    return make_spectra(200, m, n_sources=3, noise=0.02, random_state=0) + 0.1


def error(found: np.ndarray, clean: np.ndarray, mask: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found - clean)[mask] ** 2)))


def mended(X: np.ndarray, K: int = 3, false_alarms: float = 1e-5) -> np.ndarray:
    verdict = examine(X, ~np.isnan(X), learn(sample(X, K)))
    return np.where(verdict.suspects(false_alarms), verdict.expected, X)


def test_an_entry_is_expected_by_the_others():
    """Given all others, the residual of a normal distribution is that of a regression on them."""
    rng = np.random.default_rng(0)
    model = Expectation(rng.normal(size=5), rng.normal(size=(2, 5)), rng.uniform(0.5, 1, size=5))
    x, hidden = rng.normal(size=(4, 5)), np.zeros((4, 5), dtype=bool)
    hidden[1, 2] = hidden[2, :3] = True
    residuals, expected = model.given(x, hidden)
    S = model.loadings.T @ model.loadings + np.diag(model.noise)
    for i, j in [(0, 0), (0, 3), (1, 2), (2, 0), (2, 2)]:
        others = [k for k in range(5) if k != j and not hidden[i, k]]
        weights = np.linalg.solve(S[np.ix_(others, others)], S[others, j])
        regression = model.mean[j] + weights @ (x[i] - model.mean)[others]
        np.testing.assert_allclose(residuals[i, j], x[i, j] - regression)
        if hidden[i, j]:
            np.testing.assert_allclose(expected[i, j], regression)


@pytest.mark.parametrize(
    ("kind", "left"),
    [("stuck", 0.2), ("saturated", 0.2), ("dead", 0.2), ("salt-and-pepper", 0.2), ("bursting", 0.3), ("drifting", 0.8)],
)
def test_damage_is_mended(kind, left):
    clean = spectra(120)
    X, mask = make_damage(clean, kind, random_state=0)
    assert error(mended(X), clean, mask) < left * error(X, clean, mask)


def test_values_that_are_known_to_be_damaged_widen_no_spread():
    """Of a value that half of an attribute has most are sure to be damaged: those that are left are no majority."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:90, 1] = 0
    known = np.ones(X.shape, dtype=bool)
    along = repeats(X.T, known.T)
    assert _floor(X, np.zeros(3), known, along)[1] > 0
    known[:80, 1] = False
    np.testing.assert_array_equal(_floor(X, np.zeros(3), known, along), 0)


def test_many_columns_dead_for_half_of_the_points():
    """Every point then has the value, in a fifth of its entries; what runs is no background all the same."""
    clean = spectra(40)
    clean -= clean.min(axis=0)
    X, mask = make_damage(clean, "dead", strength="strong", random_state=0)
    assert error(mended(X), clean, mask) < 0.1 * error(X, clean, mask)


def test_the_same_band_in_many_points():
    clean = spectra()
    X, mask = make_damage(clean, "bands", share=0.4, extent=0.25, image_shape=(6, 5), random_state=0)
    verdict = examine(X, np.ones(X.shape, dtype=bool), learn(sample(X)))
    assert verdict.suspects(1e-5)[mask].mean() > 0.99
    assert error(mended(X), clean, mask) < 0.15 * error(X, clean, mask)


@pytest.mark.parametrize("kind", ["low-rank", "periodic", "autoregressive", "set-points"])
def test_undamaged_sensors_are_left_alone(kind):
    for seed in range(2):
        X = make_sensors(300, 20, kind=kind, units=False, random_state=seed)
        assert np.sqrt(np.mean((mended(X, 4) - X) ** 2)) < 0.02 * X.std()


def test_false_alarms_are_as_stated():
    shares = []
    for seed in range(6):
        X = make_sensors(500, 20, units=False, noise=(0.05, 0.5), random_state=seed)
        verdict = examine(X[300:], np.ones((200, 20), dtype=bool), learn(sample(X[:300], 4)))
        shares.append([verdict.suspects(share).mean() / share for share in (0.05, 0.01)])
    assert np.mean(shares, axis=0).max() <= 1
    assert np.max(shares) <= 2


def test_units_of_attributes_do_not_matter():
    X, _ = make_damage(spectra(), "faults", random_state=0)
    one, other = learn(sample(X)), learn(sample(X, unit=UNITS))
    np.testing.assert_allclose(other.spread, UNITS * one.spread, rtol=1e-6)
    assert other.tail == pytest.approx(one.tail)
    np.testing.assert_array_equal(other.stuck, one.stuck)


def test_the_order_of_attributes_does_not_matter():
    X, _ = make_damage(spectra(), "faults", random_state=0)
    order = np.random.default_rng(0).permutation(30)
    seen = np.ones(X.shape, dtype=bool)
    one = examine(X, seen, learn(sample(X))).suspects(0.001)
    np.testing.assert_array_equal(examine(X[:, order], seen, learn(sample(X[:, order]))).suspects(0.001), one[:, order])


@pytest.mark.parametrize(("n", "m"), [(1, 4), (2, 2), (5, 30), (25, 3), (30, 1)])
def test_small_data(n, m):
    X = 1 + np.random.default_rng(0).random((n, m))
    calibration = learn(sample(X, 1))
    calibration.check(m)
    assert np.isfinite(examine(X, np.ones(X.shape, dtype=bool), calibration).expected).all()


def test_constant_and_empty_attributes():
    X = spectra()
    X[:, 3], X[:, 4] = 2.0, np.nan
    calibration = learn(sample(X))
    calibration.check(30)
    verdict = examine(X, ~np.isnan(X), calibration)
    assert not verdict.suspects(0.01)[:, 3].any()
    np.testing.assert_allclose(verdict.expected[:, 3], 2)
    assert np.isfinite(verdict.expected).all()


@pytest.mark.parametrize("scale", [1.0, 1e35])
def test_data_of_no_spread_is_learned_from(scale: float) -> None:
    """Constant attributes, whose spread is rounding, and components far beyond it."""
    X = scale * (1 + 1e-16 * np.random.default_rng(0).integers(0, 4, (30, 4)))
    codes, components = np.random.default_rng(1).random((30, 5)), scale * np.random.default_rng(2).random((5, 4))
    found = learn(Sample(X, np.ones(X.shape, dtype=bool), codes, components, np.arange(30)))
    assert all(np.isfinite(part).all() for part in (found.mean, found.loadings, found.noise, found.spread))
    assert np.isfinite(examine(X, np.ones(X.shape, dtype=bool), found).expected).all()


def test_loadings_of_any_size_leave_factors_that_can_be_solved_for() -> None:
    rng = np.random.default_rng(0)
    model = Expectation(np.zeros(6), rng.normal(size=(4, 6)) * 1e12, np.full(6, 1e-6))
    gain, rest = model._gain()
    assert np.isfinite(gain).all()
    assert (np.linalg.eigvalsh(rest) > -1e-12).all()


def test_values_that_repeat_do_not_count_among_suspects():
    X, mask = make_damage(spectra(120), "dead", random_state=0)
    calibration = learn(sample(X))
    assert mask.mean() > 0.02
    assert examine(X, ~np.isnan(X), calibration).suspects(0.01)[mask].mean() > 0.9
    assert calibration.replaced < 1e-5


def test_an_event_that_two_sensors_of_the_same_see_is_no_damage():
    rng = np.random.default_rng(0)
    X = spectra(20)
    own = np.cumsum(rng.normal(size=200)) * 0.02
    X[:, 4] = 1 + own + 0.002 * rng.normal(size=200)
    X[:, 9] = 2 * (1 + own) + 0.004 * rng.normal(size=200)
    X[60:64, [4, 9]] += [0.8, 1.6]
    X[140:144, 9] += 1.6
    verdict = examine(X, np.ones(X.shape, dtype=bool), learn(sample(X)))
    suspects = verdict.suspects(1e-4)
    assert not suspects[60:64].any()
    assert suspects[140:144, 9].all()


@pytest.mark.parametrize("kinds", [1, 2])
def test_regressions_are_asked_where_points_are_of_one_kind(monkeypatch, kinds):
    """Not of two, one after the other, in most attributes of which the second is higher."""
    asked = []

    def relearned(now, *rest):
        asked.append(now)
        return now

    monkeypatch.setattr("ewnmf.damage.learning.relearned", relearned)
    X = np.random.default_rng(0).normal(size=(200, 12))
    X[100:, :9] += 3 * (kinds - 1)
    learn(sample(X))
    assert bool(asked) is (kinds == 1)
