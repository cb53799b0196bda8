"""Spectra of mixed materials."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ewnmf.datasets._arguments import check_count, is_a, random_of

__all__ = ["make_spectra"]

_PEAKS = 4


def make_spectra(
    n_samples: int = 400, n_features: int = 100, *, n_sources: int = 4, noise: float = 0.01, random_state: Any = None
) -> NDArray[np.float64]:
    """Mixtures (n_samples x n_features) of a few smooth spectra: ``X = max(0, B A S + noise)``.

    A spectrum ``S_k`` is a level and four peaks of different width, its largest value 1. The abundances ``A_i`` of a
    point sum to one (Dirichlet distributed, most of them small), and its brightness ``B_i`` is between 0.5 and 1.

    Parameters
    ----------
    n_samples : int, default=400
        Pixels of the scene (points), at least 2.
    n_features : int, default=100
        Bands (attributes), at least 8.
    n_sources : int, default=4
        Number of materials.
    noise : float, default=0.01
        Standard deviation of the noise, in units of the largest value of a spectrum.
    random_state : int, RandomState, Generator or None, default=None
        Source of everything.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        The spectra of the points.

    Examples
    --------
    >>> from ewnmf.datasets import make_spectra
    >>> make_spectra(50, 60, random_state=0).shape
    (50, 60)
    """
    check_count("n_samples", n_samples, 2)
    check_count("n_features", n_features, 8)
    check_count("n_sources", n_sources, 1)
    if not is_a(Real, noise) or not 0 <= noise < np.inf:
        raise ValueError(f"noise={noise!r} must be a number of at least 0.")
    random = random_of(random_state)
    spectra = np.stack([_spectrum(n_features, random) for _ in range(n_sources)])
    shares = random.standard_gamma(0.5, size=(n_samples, n_sources)) + 1e-12
    shares *= random.uniform(0.5, 1, size=(n_samples, 1)) / shares.sum(axis=1, keepdims=True)
    mixed = shares @ spectra
    return np.maximum(mixed + noise * random.normal(size=mixed.shape), 0)


def _spectrum(n_features: int, random: Any) -> NDArray[np.float64]:
    band = np.linspace(0, 1, n_features)
    centres, widths, heights = (random.uniform(low, high, _PEAKS) for low, high in ((0, 1), (0.04, 0.25), (0.2, 1)))
    peaks = heights[:, None] * np.exp(-0.5 * ((band - centres[:, None]) / widths[:, None]) ** 2)
    spectrum: NDArray[np.float64] = random.uniform(0.05, 0.4) + peaks.sum(axis=0)
    spectrum /= spectrum.max()
    return spectrum
