"""ONMF with orthogonal rows of H; orthogonal columns of W are the same rules on ``X' ~ H' W'``."""

from __future__ import annotations

import math

from .losses import Euclidean, KullbackLeibler, Loss
from .tables import Table, floored, product, quotient, size, table, transpose


def lagrange_codes(X: Table, A: Table, W: Table, H: Table) -> Table:
    """``H *= sqrt( W'X / (W'X H'H) )`` (Ding et al. 2006)."""
    WX = product(transpose(W), X)
    below = product(product(WX, transpose(H)), H)
    moved = table(*size(H), lambda k, j: H[k][j] * math.sqrt(quotient(WX[k][j], below[k][j])))
    return floored(moved, X)


def stiefel_codes(X: Table, A: Table, W: Table, H: Table) -> Table:
    """``H *= W'X / (H X'W H)`` (Choi 2008)."""
    WX = product(transpose(W), X)
    below = product(product(H, transpose(WX)), H)
    return floored(table(*size(H), lambda k, j: H[k][j] * quotient(WX[k][j], below[k][j])), X)


def soft_codes(X: Table, A: Table, W: Table, H: Table, loss: Loss, mu: float) -> Table:
    """``H *= W'(A*X) / (W'(A*Y) + mu O H)`` or, for KL, ``H *= 2c / (p + sqrt(p^2 + 8 mu o c))``.

    ``O = 11' - I``, ``o = O H``, ``c = W'(A*X/Y)``, ``p = W'A``.
    """
    M, Y = len(X), product(W, H)
    K, N = size(H)

    def moved(k: int, j: int) -> float:
        others = math.fsum(H[q][j] for q in range(K) if q != k)
        terms = [(W[i][k] * A[i][j], X[i][j], Y[i][j]) for i in range(M)]
        return H[k][j] * _penalised_factor(loss, terms, mu * others)

    return floored(table(K, N, moved), X)


def ridge_components(X: Table, A: Table, W: Table, H: Table, loss: Loss, lam: float) -> Table:
    """``W *= (A*X)H' / ((A*Y)H' + lam W)`` or, for KL, ``W *= 2c / (p + sqrt(p^2 + 8 lam W c))``.

    ``c = (A*X/Y)H'``, ``p = A H'``.
    """
    N, Y = len(X[0]), product(W, H)

    def moved(i: int, k: int) -> float:
        terms = [(A[i][j] * H[k][j], X[i][j], Y[i][j]) for j in range(N)]
        return W[i][k] * _penalised_factor(loss, terms, lam * W[i][k])

    return floored(table(*size(W), moved), X)


def _penalised_factor(loss: Loss, terms: list[tuple[float, float, float]], pull: float) -> float:
    """The factor of a multiplicative step against a penalty whose gradient is ``2 pull``."""
    if isinstance(loss, Euclidean):
        above = math.fsum(c * x for c, x, _ in terms)
        return quotient(above, math.fsum(c * y for c, _, y in terms) + pull)
    if isinstance(loss, KullbackLeibler):
        c = math.fsum(w * x / y for w, x, y in terms if x > 0.0)
        p = math.fsum(w for w, _, _ in terms)
        return quotient(2.0 * c, p + math.sqrt(p * p + 8.0 * pull * c))
    raise ValueError("Soft ONMF is defined for the Euclidean and the Kullback-Leibler loss alone.")


def soft_penalty(W: Table, H: Table, mu: float, lam: float) -> float:
    """``mu sum_j sum_{k != l} H_kj H_lj + lam sum_ik W_ik^2``."""
    K, N = size(H)
    overlap = math.fsum(H[k][j] * H[q][j] for j in range(N) for k in range(K) for q in range(K) if q != k)
    return mu * overlap + lam * math.fsum(w * w for row in W for w in row)


def hard_codes(X: Table, A: Table, W: Table, H: Table, loss: Loss) -> Table:
    """``c(j) = argmin_k min_h sum_i A_ij d(x_ij, W_ik h)``, the first of equals; ``H_cj = h``, the rest 0."""
    M, K = size(W)
    N = len(X[0])
    H = table(K, N, lambda k, j: 0.0)
    for j in range(N):
        best, least, scale = 0, math.inf, 0.0
        for k in range(K):
            h = loss.best_scale([(A[i][j], X[i][j], W[i][k]) for i in range(M)]) or 0.0
            cost = _cost([(A[i][j], X[i][j], W[i][k] * h) for i in range(M)], loss)
            if k == 0 or cost < least:
                best, least, scale = k, cost, h
        H[best][j] = scale
    return H


def _cost(terms: list[tuple[float, float, float]], loss: Loss) -> float:
    """``sum a d(x, y)``; an entry of no weight adds nothing, even where its loss is infinite."""
    return math.fsum(a * loss.divergence(x, y) for a, x, y in terms if a != 0.0)


def hard_components(X: Table, A: Table, W: Table, H: Table, loss: Loss) -> Table:
    """``W_ik = argmin_w sum_j A_ij d(x_ij, w H_kj)`` over points with ``H_kj > 0``; else kept."""
    N = len(X[0])

    def refitted(i: int, k: int) -> float:
        w = loss.best_scale([(A[i][j], X[i][j], H[k][j]) for j in range(N) if H[k][j] > 0.0])
        return W[i][k] if w is None else w

    return table(*size(W), refitted)
