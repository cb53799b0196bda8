"""The paper's updates as a plain NumPy program of whole matrices: the stand-in for the authors' own.

Letters and orientation are the paper's: ``X`` (M x N) with a column per point, ``W`` (M x K), ``H`` (K x N), and
weights ``T`` (M x N) whose columns sum to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["excess", "iterate", "run"]

Array = NDArray[Any]
TINY = 1e-300


def iterate(X: Array, W: Array, H: Array, gamma: float) -> Iterator[tuple[Array, Array]]:
    """``W``, ``H`` and ``T`` by Eq. (20), (21) and (18), from uniform weights, for as long as one asks.

    Parameters
    ----------
    X : ndarray of shape (M, N)
        Columns are points.
    W : ndarray of shape (M, K)
        Basis to start from.
    H : ndarray of shape (K, N)
        Codes to start from.
    gamma : float
        Strength of the entropy.

    Yields
    ------
    W, H : ndarray
        The factors after an iteration.
    """
    T = np.full(X.shape, 1 / X.shape[0])
    while True:
        W = W * ((T * X) @ H.T) / np.maximum((T * (W @ H)) @ H.T, TINY)
        H = H * (W.T @ (T * X)) / np.maximum(W.T @ (T * (W @ H)), TINY)
        D = (X - W @ H) ** 2
        T = np.exp((D.min(axis=0) - D) / gamma)
        T = T / T.sum(axis=0)
        yield W, H


def run(X: Array, W: Array, H: Array, gamma: float, n_iter: int) -> tuple[Array, Array]:
    """``W`` and ``H`` after `n_iter` iterations."""
    iterations = iterate(X, W, H, gamma)
    for _ in range(n_iter):
        W, H = next(iterations)
    return W, H


def excess(X: Array, W: Array, H: Array, gamma: float) -> float:
    """``E = -gamma sum_j ln mean_i exp(-d_ij / gamma)``, which is ``J* + gamma N ln M`` and never negative."""
    D = (X - W @ H) ** 2
    least = D.min(axis=0)
    return float(np.sum(least - gamma * np.log(np.exp((least - D) / gamma).mean(axis=0))))
