"""Robust PCA: a low rank part and a sparse one, by principal component pursuit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["pursue", "shrunk_spectrum"]

Array = NDArray[Any]

FIRST, GROWTH = 1.25, 1.5
"""The first weight of the constraint, in units of 1 / (spectral norm of X), and its growth from step to step."""


def shrunk_spectrum(X: Array, by: float) -> tuple[Array, int]:
    """``X`` with its singular values smaller by `by`, those below gone, and how many are left.

    The eigenvectors of the smaller product of ``X`` with itself are the singular vectors of its shorter side.
    """
    if X.shape[0] > X.shape[1]:
        low, rank = shrunk_spectrum(X.T, by)
        return low.T, rank
    squares, vectors = np.linalg.eigh(X @ X.T)
    values = np.sqrt(np.maximum(squares, 0))
    kept = values > by
    U = vectors[:, kept]
    return (U * (1 - by / values[kept])) @ (U.T @ X), int(kept.sum())


def pursue(X: Array, *, tol: float = 1e-6, max_iter: int = 200) -> tuple[Array, Array]:
    """``L`` and ``S`` (n x m) with ``L + S = X`` that minimise ``|L|_* + |S|_1 / sqrt(max(n, m))``.

    By the inexact augmented Lagrangian: singular values of ``X - S + Y/mu`` are shrunk by ``1/mu``, entries of
    ``X - L + Y/mu`` by ``lam/mu``, then ``Y += mu (X - L - S)`` and `mu` grows, until the constraint holds.
    """
    lam, size = 1 / math.sqrt(max(X.shape)), float(np.linalg.norm(X))
    if size == 0:
        return X.copy(), X.copy()
    largest = float(np.linalg.norm(X, 2))
    Y = X / max(largest, float(np.abs(X).max()) / lam)
    mu, S = FIRST / largest, np.zeros_like(X)
    L = S
    for _ in range(max_iter):
        L, _ = shrunk_spectrum(X - S + Y / mu, 1 / mu)
        rest = X - L + Y / mu
        S = np.sign(rest) * np.maximum(np.abs(rest) - lam / mu, 0)
        gap = X - L - S
        Y += mu * gap
        mu *= GROWTH
        if np.linalg.norm(gap) <= tol * size:
            break
    return L, X - L
