"""Starts by singular pairs: nndsvd and its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.fitting.points import Points
from ewnmf.storage.matrix import contiguous, dense, is_lazy, scaled

__all__ = ["nndsvd"]


def nndsvd(
    points: Points,
    n_components: int,
    variant: str,
    rng: np.random.Generator,
    numbers: Array,
) -> tuple[Array, Array]:
    """Nonnegative double SVD (Boutsidis and Gallopoulos, 2008): the dominant signs of each singular pair.

    Points count by the weights ``s``, attributes by their mean prior, and hidden entries take the mean of what was
    observed of their attribute. Zeros would lock multiplicative updates, so they are filled. With
    ``f = sqrt(mean(X) / K)``, the size at which codes and components multiply to the data's mean: ``1e-6 f``
    (``"nndsvd"``), ``f`` (``"nndsvda"``), or random values of up to ``f / 100`` (``"nndsvdar"``; those of a point are
    the `numbers` (n x K)).
    """
    X, P, s = points.X, points.P, points.s
    if n_components > min(X.shape):
        raise ValueError(
            f"init={variant!r} needs n_components={n_components} to be at most min(n_samples, n_features)="
            f"{min(X.shape)}; use init='random'."
        )
    if points.extremes[0] < 0:
        raise ValueError(f"init={variant!r} needs nonnegative data; use init='random'.")
    if is_lazy(X):
        raise ValueError(
            f"init={variant!r} needs all of X in memory, and {X.name} is read by blocks; use init='random'."
        )
    rows = np.ones(X.shape[0]) if s is None else np.sqrt(s, dtype=np.float64)
    X, columns = _completed(contiguous(X), P, rows)
    n_points = X.shape[0] if s is None else float(np.sum(s, dtype=np.float64))
    left, values, right = _singular_pairs(X, rows, columns, n_components, rng, n_points)
    codes, components = np.abs(left), np.abs(right)
    for k in range(1, n_components):
        codes[:, k], components[k] = _dominant_signs(left[:, k], right[k])
    size = np.sqrt(values)
    codes = codes * size / rows[:, None]
    components = np.divide(components * size[:, None], columns, out=np.zeros(components.shape), where=columns > 0)
    mean = float(np.average(np.asarray(X.mean(axis=1, dtype=np.float64)).ravel(), weights=rows**2))
    fill = float(np.sqrt(mean / n_components)) or 1.0
    _fill_zeros(codes, variant, fill, numbers)
    _fill_zeros(components, variant, fill, rng.random(components.shape))
    return codes.astype(X.dtype, copy=False), np.ascontiguousarray(components, dtype=X.dtype)


def _completed(X: Any, P: Array | None, rows: Array) -> tuple[Any, Array]:
    """``X`` with attribute means where it is hidden, and the roots of the attributes' mean priors."""
    if P is None:
        return X, np.ones(X.shape[1])
    weights = rows[:, None] ** 2 * P
    values, total = dense(X), weights.sum(axis=0)
    means = np.divide(np.sum(weights * values, axis=0), total, out=np.zeros(X.shape[1]), where=total > 0)
    return np.where(P > 0, values, means.astype(X.dtype)), np.sqrt(total / np.sum(rows**2))


def _singular_pairs(
    X: Any, rows: Array, columns: Array, n_components: int, rng: np.random.Generator, n_points: float
) -> tuple[Array, Array, Array]:
    """The leading singular pairs of ``X``, its rows and columns scaled; values that are only rounding are 0.

    The random test vectors belong to attributes, and `n_points` counts by weight, so that order and repetition of
    points change nothing. Iterations are as many as scikit-learn takes.
    """
    from sklearn.utils.extmath import randomized_svd

    seed = int(rng.integers(2**31))
    if (rows != 1).any() or (columns != 1).any():
        X = scaled(X, rows, columns)
    n_iter = 7 if n_components < 0.1 * min(n_points, X.shape[1]) else 4
    left, values, right = randomized_svd(X, n_components, n_iter=n_iter, transpose=False, random_state=seed)
    rounding = np.finfo(values.dtype).eps * max(n_points, X.shape[1]) * values.max()
    return left, np.where(values > rounding, values, 0), right


def _dominant_signs(u: Array, v: Array) -> tuple[Array, Array]:
    """Of the pair's positive and negative parts the larger one, scaled to share its singular value's root."""
    parts = [(np.maximum(sign * u, 0), np.maximum(sign * v, 0)) for sign in (1, -1)]
    mass = [np.linalg.norm(a) * np.linalg.norm(b) for a, b in parts]
    (a, b), size = max(zip(parts, mass, strict=True), key=lambda pair: pair[1])
    if size == 0:
        return np.zeros_like(u), np.zeros_like(v)
    root = np.sqrt(size)
    return a / np.linalg.norm(a) * root, b / np.linalg.norm(b) * root


def _fill_zeros(factor: Array, variant: str, fill: float, numbers: Array) -> None:
    zeros = factor < 1e-6 * fill
    if variant == "nndsvdar":
        factor[zeros] = fill / 100 * (1 - numbers[zeros])
    else:
        factor[zeros] = fill if variant == "nndsvda" else 1e-6 * fill
