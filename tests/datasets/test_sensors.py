"""Sensors and spectra: natures, ranks, noise and units as stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ewnmf.datasets import make_sensors, make_spectra

KINDS = ("low-rank", "periodic", "autoregressive", "set-points")


@pytest.mark.parametrize("kind", KINDS)
def test_readings(kind):
    X = make_sensors(200, 12, kind=kind, random_state=0)
    assert X.shape == (200, 12)
    assert X.dtype == np.float64
    assert X.min() >= 0
    assert (X.std(axis=0) > 0).all()
    np.testing.assert_array_equal(X, make_sensors(200, 12, kind=kind, random_state=0))
    assert not np.array_equal(X, make_sensors(200, 12, kind=kind, random_state=1))
    spread = X.std(axis=0)
    assert spread.max() > 100 * spread.min()


@pytest.mark.parametrize("kind", KINDS)
def test_the_rank_is_the_number_of_sources(kind):
    X = make_sensors(200, 12, kind=kind, n_sources=3, noise=0.0, units=False, random_state=0)
    assert np.linalg.matrix_rank(X, tol=1e-8) == 3


def test_every_sensor_has_its_own_noise():
    asked: dict[str, Any] = {"kind": "autoregressive", "units": False, "random_state": 0}
    clean = make_sensors(5000, 30, noise=0.0, **asked)
    X = make_sensors(5000, 30, noise=(0.01, 1.0), **asked)
    ratio = (X - clean - (X - clean).mean(axis=0)).std(axis=0) / clean.std(axis=0)
    assert ratio.min() < 0.05
    assert ratio.max() > 0.5
    same = make_sensors(5000, 30, noise=0.2, **asked)
    np.testing.assert_allclose((same - clean).std(axis=0) / clean.std(axis=0), 0.2, rtol=0.05)


def test_natures():
    def steps(kind):
        X = make_sensors(400, 5, kind=kind, noise=0.0, units=False, random_state=2)
        return np.abs(np.diff(X, axis=0)).mean() / X.std()

    assert steps("low-rank") > 0.8
    assert steps("autoregressive") < 0.5
    assert steps("set-points") < 0.2


def test_names():
    X, names = make_sensors(20, 3, return_names=True, random_state=0)
    assert names == ["sensor 1", "sensor 2", "sensor 3"]
    np.testing.assert_array_equal(X, make_sensors(20, 3, random_state=0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 7}, "n_samples=7 must be at least 8"),
        ({"n_features": 1}, "n_features=1 must be at least 2"),
        ({"n_sources": 0}, "n_sources=0 must be at least 1"),
        ({"kind": "periodical"}, "kind='periodical' is not known; .* Did you mean 'periodic'?"),
        ({"noise": -1}, "noise=-1 must be a number of at least 0, or two above 0"),
        ({"noise": (0, 1)}, r"noise=\(0, 1\) must be"),
        ({"noise": (2, 1)}, r"noise=\(2, 1\) must be"),
        ({"noise": "much"}, "noise='much' must be"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_sensors(**arguments)


def test_spectra_are_smooth_mixtures():
    clean = make_spectra(80, 60, n_sources=3, noise=0, random_state=0)
    assert clean.shape == (80, 60)
    assert clean.min() > 0
    assert clean.max() <= 1
    assert np.linalg.matrix_rank(clean, tol=1e-8) == 3
    assert np.abs(np.diff(clean, n=2, axis=1)).max() < 0.05
    noisy = make_spectra(80, 60, n_sources=3, noise=0.05, random_state=0)
    assert noisy.min() >= 0
    np.testing.assert_allclose((noisy - clean).std(), 0.05, rtol=0.1)
    np.testing.assert_array_equal(noisy, make_spectra(80, 60, n_sources=3, noise=0.05, random_state=0))


def test_spectra_refuse():
    with pytest.raises(ValueError, match="noise=-1 must be a number of at least 0"):
        make_spectra(noise=-1)
    with pytest.raises(ValueError, match="n_features=7 must be at least 8"):
        make_spectra(n_features=7)
