"""Every update rule written out loop by loop: the slow judge of the package.

Paper orientation: ``X ~ W H`` with ``X`` M x N (its columns are points), ``W`` M x K, ``H`` K x N,
weights ``A`` M x N.
"""

from __future__ import annotations

from .losses import Alpha, Euclidean, KullbackLeibler, Loss, loss_named
from .run import Run, run
from .weights import best_weights, least_objective

__all__ = [
    "Alpha",
    "Euclidean",
    "KullbackLeibler",
    "Loss",
    "Run",
    "best_weights",
    "least_objective",
    "loss_named",
    "run",
]
