"""Where the factors start: random, nndsvd and its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ewnmf.naming import unknown_name

__all__ = ["INITS", "nndsvd", "start_matrices", "uniform"]

Array = NDArray[Any]

INITS = ("random", "nndsvd", "nndsvda", "nndsvdar")


def uniform(shape: tuple[int, int], rng: np.random.Generator, dtype: Any) -> Array:
    """Uniform on [0.1, 1.1], as in the paper."""
    return (rng.random(shape) + 0.1).astype(dtype, copy=False)


def start_matrices(X: Array, n_components: int, init: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Start for ``X ~ codes @ components`` (rows of ``X`` are points): codes (n x K) and components (K x m)."""
    n, m = X.shape
    if init == "random":
        components = uniform((n_components, m), rng, X.dtype)
        return uniform((n, n_components), rng, X.dtype), components
    if init not in INITS:
        raise unknown_name("init", init, [*INITS, "custom"])
    return nndsvd(X, n_components, init, rng)


def nndsvd(X: Array, n_components: int, variant: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Nonnegative double SVD (Boutsidis and Gallopoulos, 2008): the dominant signs of each singular pair.

    Zeros would lock multiplicative updates, so they are filled. With ``f = sqrt(mean(X) / K)``, the size at which
    codes and components multiply to the data's mean: ``1e-6 f`` (``"nndsvd"``), ``f`` (``"nndsvda"``), or random
    values of up to ``f / 100`` (``"nndsvdar"``).
    """
    if n_components > min(X.shape):
        raise ValueError(
            f"init={variant!r} needs n_components={n_components} to be at most min(n_samples, n_features)="
            f"{min(X.shape)}; use init='random'."
        )
    if X.min() < 0:
        raise ValueError(f"init={variant!r} needs nonnegative data; use init='random'.")
    from sklearn.utils.extmath import randomized_svd

    left, values, right = randomized_svd(X, n_components, random_state=int(rng.integers(2**31)))
    codes, components = np.abs(left), np.abs(right)
    for k in range(1, n_components):
        codes[:, k], components[k] = _dominant_signs(left[:, k], right[k])
    size = np.sqrt(values)
    codes, components = codes * size, components * size[:, None]
    fill = float(np.sqrt(X.mean(dtype=np.float64) / n_components)) or 1.0
    for factor in (codes, components):
        _fill_zeros(factor, variant, fill, rng)
    return codes.astype(X.dtype, copy=False), np.ascontiguousarray(components, dtype=X.dtype)


def _dominant_signs(u: Array, v: Array) -> tuple[Array, Array]:
    """Of the pair's positive and negative parts the larger one, scaled to share its singular value's root."""
    parts = [(np.maximum(sign * u, 0), np.maximum(sign * v, 0)) for sign in (1, -1)]
    mass = [np.linalg.norm(a) * np.linalg.norm(b) for a, b in parts]
    (a, b), size = max(zip(parts, mass, strict=True), key=lambda pair: pair[1])
    if size == 0:
        return np.zeros_like(u), np.zeros_like(v)
    root = np.sqrt(size)
    return a / np.linalg.norm(a) * root, b / np.linalg.norm(b) * root


def _fill_zeros(factor: Array, variant: str, fill: float, rng: np.random.Generator) -> None:
    zeros = factor < 1e-6 * fill
    if variant == "nndsvdar":
        factor[zeros] = fill / 100 * (1 - rng.random(int(zeros.sum())))
    else:
        factor[zeros] = fill if variant == "nndsvda" else 1e-6 * fill
