"""Semi-NMF: X and W of any sign, H nonnegative, Euclidean loss."""

from __future__ import annotations

import math

from .tables import Table, floored, negative, positive, product, quotient, size, solve, table, transpose


def plain_semi_components(X: Table, H: Table) -> Table:
    """``W = X H' (H H')^-1`` (Ding, Li, Jordan 2010), row by row: ``(H H') w = H x_i``."""
    K, N = size(H)
    HH = product(H, transpose(H))
    return [solve(HH, [math.fsum(H[k][j] * x[j] for j in range(N)) for k in range(K)]) for x in X]


def plain_semi_codes(X: Table, W: Table, H: Table) -> Table:
    """``H *= sqrt( (P(W'X) + N(W'W)H) / (N(W'X) + P(W'W)H) )`` (Ding, Li, Jordan 2010)."""
    K, N = size(H)
    C, B = product(transpose(W), X), product(transpose(W), W)

    def moved(k: int, j: int) -> float:
        above = positive(C[k][j]) + math.fsum(negative(B[k][q]) * H[q][j] for q in range(K))
        below = negative(C[k][j]) + math.fsum(positive(B[k][q]) * H[q][j] for q in range(K))
        return H[k][j] * math.sqrt(quotient(above, below))

    return floored(table(K, N, moved), X)


def weighted_semi_components(X: Table, A: Table, W: Table, H: Table) -> Table:
    """Row i: ``(H diag(A_i) H' + rho_i I) w = H(A_i*x_i) + rho_i w_old``.

    ``rho_i = 1e-6 trace(H diag(A_i) H')/K``; a row whose trace is 0 is kept.
    """
    K, N = size(H)
    rows = []
    for x, a, old in zip(X, A, W, strict=True):
        B = [[math.fsum(H[k][j] * a[j] * H[q][j] for j in range(N)) for q in range(K)] for k in range(K)]
        c = [math.fsum(H[k][j] * a[j] * x[j] for j in range(N)) for k in range(K)]
        trace = math.fsum(B[k][k] for k in range(K))
        if trace == 0.0:
            rows.append(list(old))
            continue
        rho = 1e-6 * trace / K
        for k in range(K):
            B[k][k] += rho
            c[k] += rho * old[k]
        rows.append(solve(B, c))
    return rows


def weighted_semi_codes(X: Table, A: Table, W: Table, H: Table) -> Table:
    """``H *= sqrt( (P(C)+Wp'(A*WnH)+Wn'(A*WpH)) / (N(C)+Wp'(A*WpH)+Wn'(A*WnH)) )``, ``C = W'(A*X)``."""
    M = len(X)
    K, N = size(H)
    Wp = table(M, K, lambda i, k: positive(W[i][k]))
    Wn = table(M, K, lambda i, k: negative(W[i][k]))
    Yp, Yn = product(Wp, H), product(Wn, H)

    def moved(k: int, j: int) -> float:
        C = math.fsum(W[i][k] * A[i][j] * X[i][j] for i in range(M))
        crossed = math.fsum(A[i][j] * (Wp[i][k] * Yn[i][j] + Wn[i][k] * Yp[i][j]) for i in range(M))
        straight = math.fsum(A[i][j] * (Wp[i][k] * Yp[i][j] + Wn[i][k] * Yn[i][j]) for i in range(M))
        return H[k][j] * math.sqrt(quotient(positive(C) + crossed, negative(C) + straight))

    return floored(table(K, N, moved), X)
