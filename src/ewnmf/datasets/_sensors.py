"""Tables as sensors write them: columns of different unit and noise, of several natures."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ewnmf.datasets._arguments import check_count, is_a, random_of
from ewnmf.naming import unknown_name

__all__ = ["make_sensors"]

Array = NDArray[np.float64]
_FEWEST = 8


def make_sensors(
    n_samples: int = 500,
    n_features: int = 20,
    *,
    kind: str = "low-rank",
    n_sources: int = 4,
    noise: float | tuple[float, float] = (0.02, 0.3),
    units: bool = True,
    return_names: bool = False,
    random_state: Any = None,
) -> Any:
    """Readings (n_samples x n_features) of sensors that see the same few sources, in the order of time.

    ``X_tj = unit_j (offset_j + (S L')_tj + noise_tj)``, with loadings ``L`` uniform on [0, 1], of which about a third
    are 0. The sources ``S`` are, by `kind`,

    * ``"low-rank"``: independent from one time to the next (gamma distributed);
    * ``"periodic"``: two harmonics of a period that is the source's own;
    * ``"autoregressive"``: ``s_t = a s_(t-1) + e_t``, with ``a`` between 0.9 and 0.99;
    * ``"set-points"``: constant for a while, then at another level, which is approached by and by.

    All values are nonnegative.

    Parameters
    ----------
    n_samples : int, default=500
        Times (points), at least 8.
    n_features : int, default=20
        Sensors (attributes), at least 2.
    kind : {"low-rank", "periodic", "autoregressive", "set-points"}
        Of which nature the sources are.
    n_sources : int, default=4
        Number of sources, which is the rank of what is no noise.
    noise : float or (float, float), default=(0.02, 0.3)
        Standard deviation of a sensor's noise in units of its signal's; of a pair, every sensor has its own in between,
        drawn uniformly in logarithms.
    units : bool, default=True
        Whether every sensor has its own unit, from 0.01 to 1000, and offset, up to three times its signal's range.
    return_names : bool, default=False
        Whether names of the sensors are returned, too.
    random_state : int, RandomState, Generator or None, default=None
        Source of everything.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The readings.
    names : list of str
        ``"sensor 1"`` and so on, with `return_names` only.

    Examples
    --------
    >>> from ewnmf.datasets import make_sensors
    >>> X, names = make_sensors(100, 3, kind="periodic", return_names=True, random_state=0)
    >>> X.shape, names
    ((100, 3), ['sensor 1', 'sensor 2', 'sensor 3'])
    """
    check_count("n_samples", n_samples, _FEWEST)
    check_count("n_features", n_features, 2)
    check_count("n_sources", n_sources, 1)
    if kind not in _SOURCES:
        raise unknown_name("kind", kind, _SOURCES)
    low, high = _noise(noise)
    random = random_of(random_state)
    sources = np.stack([_unit_range(_SOURCES[kind](n_samples, random)) for _ in range(n_sources)], axis=1)
    loadings = random.uniform(size=(n_sources, n_features))
    hidden = random.uniform(size=loadings.shape) < 1 / 3
    hidden[(n_sources * random.uniform(size=n_features)).astype(int), np.arange(n_features)] = False
    signal = sources @ np.where(hidden, 0, loadings)
    level = np.exp(random.uniform(np.log(low), np.log(high), size=n_features)) if low else np.full(n_features, high)
    noisy = signal + level * signal.std(axis=0) * random.normal(size=signal.shape)
    noisy -= np.minimum(noisy.min(axis=0), 0)
    if units:
        noisy += random.uniform(0, 3, size=n_features) * (signal.max(axis=0) - signal.min(axis=0))
        noisy *= 10 ** random.uniform(-2, 3, size=n_features)
    return (noisy, [f"sensor {j + 1}" for j in range(n_features)]) if return_names else noisy


def _noise(noise: Any) -> tuple[float, float]:
    """Least and largest level; both the same, or both above 0."""
    both = (noise, noise) if is_a(Real, noise) else noise
    try:
        low, high = both
        valid = all(is_a(Real, level) and 0 <= level < np.inf for level in both) and low <= high
    except (TypeError, ValueError):
        valid = False
    if not valid or (low == 0 and high > 0):
        raise ValueError(f"noise={noise!r} must be a number of at least 0, or two above 0, the lesser first.")
    return float(low), float(high)


def _unit_range(source: Array) -> Array:
    """From 0 to 1."""
    source = source - source.min()
    return source / (source.max() or 1.0)


def _independent(count: int, random: Any) -> Array:
    drawn: Array = random.standard_gamma(2.0, size=count)
    return drawn


def _periodic(count: int, random: Any) -> Array:
    time, period = np.arange(count), np.exp(random.uniform(np.log(8), np.log(max(9, count / 2))))
    first, second = random.uniform(0, 2 * np.pi, size=2)
    turns = 2 * np.pi * time / period
    wave: Array = np.sin(turns + first) + random.uniform(0, 0.5) * np.sin(2 * turns + second)
    return wave


def _autoregressive(count: int, random: Any) -> Array:
    memory, drawn = random.uniform(0.9, 0.99), random.normal(size=count)
    drawn[0] /= (1 - memory**2) ** 0.5
    return _followed(drawn, memory)


def _set_points(count: int, random: Any) -> Array:
    """About ten levels; the way to a new one is half gone after a few points."""
    changes = random.uniform(size=count) < max(10 / count, 0.01)
    levels = random.uniform(size=count + 1)
    aims = levels[np.cumsum(changes)]
    memory = random.uniform(0.5, 0.9)
    drawn = (1 - memory) * aims
    drawn[0] = aims[0]
    return _followed(drawn, memory)


def _followed(drawn: Array, memory: float) -> Array:
    """``s_t = memory s_(t-1) + drawn_t``."""
    series = drawn.copy()
    for t in range(1, series.size):
        series[t] += memory * series[t - 1]
    return series


_SOURCES: dict[str, Callable[[int, Any], Array]] = {
    "low-rank": _independent,
    "periodic": _periodic,
    "autoregressive": _autoregressive,
    "set-points": _set_points,
}
