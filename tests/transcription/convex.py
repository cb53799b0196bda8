"""Convex-NMF: X ~ X U H with U, H nonnegative; the components W = X U are combinations of the points."""

from __future__ import annotations

import math

from .losses import Loss
from .tables import Table, floored, negative, positive, product, quotient, size, table, transpose


def plain_convex_combinations(X: Table, U: Table, H: Table) -> Table:
    """``U *= sqrt( (P(K)G + N(K)U G'G) / (N(K)G + P(K)U G'G) )``, ``K = X'X``, ``G = H'``."""
    Kp, Kn, G = *_signed_gram(X), transpose(H)
    UGG = product(U, product(H, G))
    KpG, KnG = product(Kp, G), product(Kn, G)
    KpUGG, KnUGG = product(Kp, UGG), product(Kn, UGG)

    def moved(j: int, k: int) -> float:
        return U[j][k] * math.sqrt(quotient(KpG[j][k] + KnUGG[j][k], KnG[j][k] + KpUGG[j][k]))

    return floored(table(*size(U), moved), X)


def plain_convex_codes(X: Table, U: Table, H: Table) -> Table:
    """``G *= sqrt( (P(K)U + G U'N(K)U) / (N(K)U + G U'P(K)U) )``, ``K = X'X``, ``G = H'``."""
    Kp, Kn, G = *_signed_gram(X), transpose(H)
    KpU, KnU = product(Kp, U), product(Kn, U)
    GUKpU, GUKnU = product(G, product(transpose(U), KpU)), product(G, product(transpose(U), KnU))

    def moved(k: int, j: int) -> float:
        return G[j][k] * math.sqrt(quotient(KpU[j][k] + GUKnU[j][k], KnU[j][k] + GUKpU[j][k]))

    return floored(table(*size(H), moved), X)


def weighted_convex_combinations(X: Table, A: Table, U: Table, H: Table, loss: Loss) -> Table:
    """``U_lk *= [sum_ij X_il A_ij neg_ij H_kj / sum_ij X_il A_ij pos_ij H_kj]^exponent``, X >= 0."""
    M, N = size(X)
    Y = product(product(X, U), H)

    def moved(l: int, k: int) -> float:
        terms = [(X[i][l] * A[i][j] * H[k][j], X[i][j], Y[i][j]) for i in range(M) for j in range(N)]
        return U[l][k] * loss.factor(terms)

    return floored(table(*size(U), moved), X)


def mixed_convex_combinations(X: Table, A: Table, U: Table, H: Table) -> Table:
    """``U *= sqrt( (P(C)+(Xp'b+Xn'a)H') / (N(C)+(Xp'a+Xn'b)H') )``, ``C = X'(A*X)H'``.

    ``a = A*(Xp U H)`` and ``b = A*(Xn U H)`` with the parts ``X = Xp - Xn`` of mixed signs.
    """
    M, N = size(X)
    Xp = table(M, N, lambda i, j: positive(X[i][j]))
    Xn = table(M, N, lambda i, j: negative(X[i][j]))
    Yp, Yn = product(product(Xp, U), H), product(product(Xn, U), H)
    cells = [(i, j) for i in range(M) for j in range(N)]

    def moved(l: int, k: int) -> float:
        C = math.fsum(X[i][l] * A[i][j] * X[i][j] * H[k][j] for i, j in cells)
        crossed = math.fsum((Xp[i][l] * Yn[i][j] + Xn[i][l] * Yp[i][j]) * A[i][j] * H[k][j] for i, j in cells)
        straight = math.fsum((Xp[i][l] * Yp[i][j] + Xn[i][l] * Yn[i][j]) * A[i][j] * H[k][j] for i, j in cells)
        return U[l][k] * math.sqrt(quotient(positive(C) + crossed, negative(C) + straight))

    return floored(table(*size(U), moved), X)


def _signed_gram(X: Table) -> tuple[Table, Table]:
    """``P(X'X)`` and ``N(X'X)``, N x N."""
    gram = product(transpose(X), X)
    N = len(gram)
    return table(N, N, lambda j, l: positive(gram[j][l])), table(N, N, lambda j, l: negative(gram[j][l]))
