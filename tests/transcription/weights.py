"""The entropy weights and the objective that they leave."""

from __future__ import annotations

import math

from .losses import Loss
from .tables import Table, size, table


def divergences(X: Table, Y: Table, loss: Loss) -> Table:
    """``D_ij = d(x_ij, y_ij)``."""
    return table(*size(X), lambda i, j: loss.divergence(X[i][j], Y[i][j]))


def best_weights(D: Table, gamma: float) -> Table:
    """``T_ij = exp(-d_ij/gamma) / sum_l exp(-d_lj/gamma)``: Eq. (18), (23), (25)."""
    M, N = size(D)
    least = [min(D[i][j] for i in range(M)) for j in range(N)]
    raised = table(M, N, lambda i, j: math.exp(-(D[i][j] - least[j]) / gamma))
    return table(M, N, lambda i, j: raised[i][j] / math.fsum(raised[l][j] for l in range(M)))


def least_objective(D: Table, gamma: float) -> float:
    """``J* = -gamma sum_j ln sum_i exp(-d_ij/gamma)``: Eq. (10), (22), (24) at the best T."""
    M, N = size(D)
    least = [min(D[i][j] for i in range(M)) for j in range(N)]
    sums = [math.fsum(math.exp(-(D[i][j] - least[j]) / gamma) for i in range(M)) for j in range(N)]
    return math.fsum(least[j] - gamma * math.log(sums[j]) for j in range(N))


def weighted_sum(D: Table, A: Table) -> float:
    """``sum_ij A_ij d_ij``; an entry of no weight adds nothing, even where its loss is infinite."""
    M, N = size(D)
    return math.fsum(A[i][j] * D[i][j] for i in range(M) for j in range(N) if A[i][j] != 0.0)
