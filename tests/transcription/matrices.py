"""A second writing of the rules as matrix formulas, one components-first round each, to check the loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Round = Callable[[Array, Array, Array, Array, Array], tuple[Array, Array]]


def plus(B: Array) -> Array:
    return np.maximum(B, 0.0)


def minus(B: Array) -> Array:
    return np.maximum(-B, 0.0)


def ding_semi_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    W = X @ H.T @ np.linalg.inv(H @ H.T)
    C, B = W.T @ X, W.T @ W
    return W, H * np.sqrt((plus(C) + minus(B) @ H) / (minus(C) + plus(B) @ H))


def weighted_semi_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    rows = []
    for x, a, w in zip(X, A, W, strict=True):
        B = (H * a) @ H.T
        rho = 1e-6 * np.trace(B) / len(H)
        rows.append(np.linalg.solve(B + rho * np.eye(len(H)), H @ (a * x) + rho * w))
    W = np.array(rows)
    return W, weighted_semi_H(X, W, H, A)


def weighted_semi_H(X: Array, W: Array, H: Array, A: Array) -> Array:
    Wp, Wn, C = plus(W), minus(W), W.T @ (A * X)
    above = plus(C) + Wp.T @ (A * (Wn @ H)) + Wn.T @ (A * (Wp @ H))
    return H * np.sqrt(above / (minus(C) + Wp.T @ (A * (Wp @ H)) + Wn.T @ (A * (Wn @ H))))


def ding_convex_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    B, G = X.T @ X, H.T
    Bp, Bn = plus(B), minus(B)
    U = U * np.sqrt((Bp @ G + Bn @ U @ G.T @ G) / (Bn @ G + Bp @ U @ G.T @ G))
    G = G * np.sqrt((Bp @ U + G @ U.T @ Bn @ U) / (Bn @ U + G @ U.T @ Bp @ U))
    return X @ U, G.T


def mixed_convex_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    Xp, Xn = plus(X), minus(X)
    a, b, C = A * (Xp @ U @ H), A * (Xn @ U @ H), X.T @ (A * X) @ H.T
    U = U * np.sqrt((plus(C) + (Xp.T @ b + Xn.T @ a) @ H.T) / (minus(C) + (Xp.T @ a + Xn.T @ b) @ H.T))
    return X @ U, weighted_semi_H(X, X @ U, H, A)


def alpha_convex_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    U = U * (X.T @ (A * np.sqrt(X / (X @ U @ H))) @ H.T / (X.T @ A @ H.T)) ** 2
    W = X @ U
    return W, H * (W.T @ (A * np.sqrt(X / (W @ H))) / (W.T @ A)) ** 2


def kl_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    W = W * ((A * X / (W @ H)) @ H.T) / (A @ H.T)
    return W, H * (W.T @ (A * X / (W @ H))) / (W.T @ A)


def reverse_kl_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    W = W * np.exp((A * np.log(X / (W @ H))) @ H.T / (A @ H.T))
    return W, H * np.exp(W.T @ (A * np.log(X / (W @ H))) / (W.T @ A))


def lagrange_codes_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    W = W * (X @ H.T) / (W @ H @ H.T)
    return W, H * np.sqrt(W.T @ X / (W.T @ X @ H.T @ H))


def lagrange_components_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    W = W * np.sqrt(X @ H.T / (W @ W.T @ X @ H.T))
    return W, H * (W.T @ X) / (W.T @ W @ H)


def stiefel_codes_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    W = W * (X @ H.T) / (W @ H @ H.T)
    return W, H * (W.T @ X) / (H @ X.T @ W @ H)


def stiefel_components_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    W = W * (X @ H.T) / (W @ H @ X.T @ W)
    return W, H * (W.T @ X) / (W.T @ W @ H)


def hard_codes_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    H = np.where(H == H.max(axis=0), H, 0.0)
    below = A @ (H * H).T
    W = np.divide((A * X) @ H.T, below, out=W.copy(), where=below > 0)
    Mx, D = W.T @ (A * X), (W * W).T @ A
    taken = np.arange(len(H))[:, None] == np.argmax(plus(Mx) ** 2 / D, axis=0)
    return W, np.where(taken, plus(Mx) / D, 0.0)


def soft_kl_components_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    mu, lam, others = 0.3 * A.mean(), 0.1 * A.mean(), np.ones((len(H), len(H))) - np.eye(len(H))
    c, p = (A * X / (W @ H)) @ H.T, A @ H.T
    W = W * 2 * c / (p + np.sqrt(p**2 + 8 * mu * (W @ others) * c))
    c, p = W.T @ (A * X / (W @ H)), W.T @ A
    return W, H * 2 * c / (p + np.sqrt(p**2 + 8 * lam * H * c))


def soft_euclidean_codes_round(X: Array, W: Array, H: Array, U: Array, A: Array) -> tuple[Array, Array]:
    mu, lam, others = 0.3 * A.mean(), 0.1 * A.mean(), np.ones((len(H), len(H))) - np.eye(len(H))
    W = W * ((A * X) @ H.T) / ((A * (W @ H)) @ H.T + lam * W)
    return W, H * (W.T @ (A * X)) / (W.T @ (A * (W @ H)) + mu * others @ H)


SOFT = {"model": "onmf", "method": "soft", "mu": 0.3, "lam": 0.1}
ROUNDS: list[tuple[Round, dict[str, Any]]] = [
    (kl_round, {"loss": "kullback-leibler", "weighting": "fixed"}),
    (reverse_kl_round, {"loss": "alpha", "alpha": 0.0, "weighting": "fixed"}),
    (ding_semi_round, {"model": "semi-nmf", "mixed": True}),
    (weighted_semi_round, {"model": "semi-nmf", "weighting": "fixed", "mixed": True}),
    (ding_convex_round, {"model": "convex-nmf", "mixed": True}),
    (mixed_convex_round, {"model": "convex-nmf", "weighting": "fixed", "mixed": True}),
    (mixed_convex_round, {"model": "convex-nmf", "mixed": True, "shape": (4, 6)}),
    (alpha_convex_round, {"model": "convex-nmf", "loss": "alpha", "alpha": 0.5, "weighting": "fixed"}),
    (lagrange_codes_round, {"model": "onmf", "method": "lagrange", "of": "codes"}),
    (lagrange_components_round, {"model": "onmf", "method": "lagrange", "of": "components"}),
    (stiefel_codes_round, {"model": "onmf", "method": "stiefel", "of": "codes"}),
    (stiefel_components_round, {"model": "onmf", "method": "stiefel", "of": "components"}),
    (hard_codes_round, {"model": "onmf", "method": "hard", "of": "codes", "weighting": "fixed"}),
    (soft_kl_components_round, SOFT | {"loss": "kullback-leibler", "of": "components", "weighting": "fixed"}),
    (soft_euclidean_codes_round, SOFT | {"of": "codes", "weighting": "fixed"}),
    (soft_euclidean_codes_round, SOFT | {"of": "codes", "weighting": "entropy"}),
]
