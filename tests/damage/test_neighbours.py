"""Neighbours: what is left of one attribute tells what is left of another, unless that is damaged itself."""

from __future__ import annotations

import numpy as np
import pytest

from ewnmf.damage.learning import learn
from ewnmf.damage.neighbours import Neighbours
from ewnmf.damage.verdict import examine
from ewnmf.fitting.points import Sample


def smooth(n: int = 300, m: int = 40, seed: int = 0) -> np.ndarray:
    """Sums of noise over windows: attributes next to each other are alike, far ones are not."""
    noise = np.random.default_rng(seed).normal(size=(n, m + 4))
    return sum(noise[:, i : i + m] for i in range(5)) / np.sqrt(5)


def learned(x: np.ndarray) -> Neighbours:
    return Neighbours.of(x, np.ones(x.shape, dtype=bool), np.ones(x.shape[1]))


def test_what_is_next_to_an_attribute_tells_of_it():
    near = learned(smooth())
    new = smooth(seed=1)
    left = new - near.predict(new, np.zeros(new.shape, dtype=bool))
    assert left[:, 2:-2].std() < 0.5 * new[:, 2:-2].std()
    assert (np.abs(near.near - np.arange(40)[:, None])[near.counts != 0] <= 4).all()


def test_noise_has_no_neighbours():
    x = np.random.default_rng(0).normal(size=(100, 200))
    near = learned(x)
    assert not near.counts.any()
    assert not near.predict(x, np.zeros(x.shape, dtype=bool)).any()


def test_attributes_that_drift_are_no_neighbours_by_that():
    x = np.random.default_rng(0).normal(size=(300, 20))
    x[:, :3] += np.linspace(0, 4, 300)[:, None]
    assert not learned(x).counts[:3].any()


@pytest.mark.parametrize(("n", "m"), [(10, 5), (100, 1), (100, 2)])
def test_small_data(n, m):
    x = np.random.default_rng(0).normal(size=(n, m))
    assert learned(x).predict(x, np.zeros(x.shape, dtype=bool)).shape == (n, m)


def test_what_is_hidden_tells_nothing():
    x = smooth()
    near, hidden = learned(x), np.zeros(x.shape, dtype=bool)
    hidden[:, 10:13] = True
    wrong = np.where(hidden, 1e6, x)
    np.testing.assert_array_equal(near.predict(wrong, hidden), near.predict(x, hidden))


def test_where_neighbours_are_hidden_residuals_are_wider():
    x = smooth()
    near, hidden = learned(x), np.zeros(x.shape, dtype=bool)
    hidden[5, 18:23] = True
    wider = near.unsure(hidden, np.full(40, 0.3))
    assert wider[5, 20] > 1.5
    assert wider.max() <= 1 / 0.3 + 1e-12
    np.testing.assert_array_equal(np.delete(wider, 5, axis=0), 1)


def test_the_one_that_is_farthest_off_goes_first():
    near = learned(smooth())
    scores = np.zeros((1, 40))
    scores[0, 19:22] = 4, 9, 4
    scores[0, 35] = 4
    hidden = np.zeros(scores.shape, dtype=bool)
    assert np.flatnonzero(near.first(scores, scores > 3, hidden)).tolist() == [20, 35]
    hidden[0, 19] = True
    assert np.flatnonzero(near.first(scores, scores > 3, hidden)).tolist() == [19, 20, 35]


def test_mild_damage_is_found_by_neighbours():
    """It is within what the components leave, and beyond what neighbours do; those are not suspected for it."""
    X = 5 + smooth()
    X[::7, 20] += 3
    sample = Sample(X, ~np.isnan(X), np.ones((300, 1)), np.full((1, 40), 5.0), np.arange(300))
    verdict = examine(X, ~np.isnan(X), learn(sample), series=False)
    suspects = verdict.suspects(0.01)
    assert suspects[::7, 20].mean() > 0.9
    assert np.delete(suspects, 20, axis=1).mean() < 0.01
    away = np.abs(verdict.expected - (5 + smooth()))[::7, 20]
    assert np.sqrt(np.mean(away**2)) < 0.7


def test_residuals_that_are_only_rounding_have_no_neighbours():
    """As multiples of the others' they would count without end."""
    x = smooth()
    x[:, 7] *= 1e-170
    near = learned(x)
    assert not near.counts[7].any()
    assert not near.counts[near.near == 7].any()
