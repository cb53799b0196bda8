"""NMF: both factors nonnegative, any loss."""

from __future__ import annotations

from .losses import Loss
from .tables import Table, floored, product, size, table


def nmf_codes(X: Table, A: Table, W: Table, H: Table, loss: Loss) -> Table:
    """``H_kj *= [sum_i W_ik A_ij neg_ij / sum_i W_ik A_ij pos_ij]^exponent``: Eq. (8), (21)."""
    M, Y = len(X), product(W, H)
    moved = table(
        *size(H),
        lambda k, j: H[k][j] * loss.factor([(W[i][k] * A[i][j], X[i][j], Y[i][j]) for i in range(M)]),
    )
    return floored(moved, X)


def nmf_components(X: Table, A: Table, W: Table, H: Table, loss: Loss) -> Table:
    """``W_ik *= [sum_j A_ij neg_ij H_kj / sum_j A_ij pos_ij H_kj]^exponent``: Eq. (7), (20)."""
    N, Y = len(X[0]), product(W, H)
    moved = table(
        *size(W),
        lambda i, k: W[i][k] * loss.factor([(A[i][j] * H[k][j], X[i][j], Y[i][j]) for j in range(N)]),
    )
    return floored(moved, X)
