"""How well a fit explains what is not damaged: the mean loss of its entries without the largest."""

from __future__ import annotations

import numpy as np

from ewnmf._types import Array
from ewnmf.choosing.holdout import trimmed_mean
from ewnmf.fitting.points import Points
from ewnmf.losses.base import Loss
from ewnmf.models.base import Factors
from ewnmf.storage.matrix import dense

__all__ = ["trimmed_loss"]

_BLOCK_ENTRIES = 1 << 20


def trimmed_loss(points: Points, rows: Array, factors: Factors, loss: Loss) -> float:
    """The trimmed mean loss of the observed entries of some points, weighted by their priors and points."""
    width = max(1, _BLOCK_ENTRIES // points.X.shape[1])
    blocks = [_losses(points, rows[at : at + width], factors, loss) for at in range(0, rows.size, width)]
    losses, nonzero, weights = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return trimmed_mean(losses, nonzero, weights if points.P is not None or points.s is not None else None)


def _losses(points: Points, rows: Array, factors: Factors, loss: Loss) -> tuple[Array, Array, Array]:
    """The losses of the observed entries of these points, which of them are not 0, and their weights."""
    x = dense(points.X[rows]).astype(np.float64)
    y = factors.H[:, rows].T.astype(np.float64) @ factors.W.T
    losses = loss.divergence(x, y if loss.signed else np.maximum(y, points.data.tiny))
    weights = np.ones_like(x) if points.P is None else points.P[rows].astype(np.float64)
    if points.s is not None:
        weights = weights * points.s[rows, None]
    seen = weights > 0
    return losses[seen], (x != 0)[seen], weights[seen]
