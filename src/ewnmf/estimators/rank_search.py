"""Choosing the number of components, as a function."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ewnmf.choosing.holdout import SHARE
from ewnmf.choosing.rank import RankPath
from ewnmf.estimators.base import Factorizer
from ewnmf.estimators.nmf import EWNMF

__all__ = ["select_rank"]


def select_rank(
    X: Any,
    candidates: Any = None,
    *,
    estimator: Any = None,
    repeats: int = 5,
    share: float = SHARE,
    weights: Any = None,
    sample_weight: Any = None,
    mask: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> RankPath:
    """Score numbers of components by entries of ``X`` (n x m) that are held out of the fit.

    Of every point a share of its observed entries is hidden, others in each repeat and the same for all candidates; a
    fit that gives them the weight 0 predicts them, and their trimmed mean loss is the candidate's (see `EWNMF.score`).
    Trials are short: at most 100 accelerated iterations (300 where the model has no accelerated solver), and a `tol` of
    at least 1e-4. ``gamma="auto"`` is chosen once, at the middle candidate: the multiple 16, 8, 4, 2 or 1 of plain
    NMF's mean loss that predicts the first hold-out best, or plain NMF where none is better than it by 5 %.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, m)
        Rows are points, NaN is a missing value. Of data with more than 2^23 entries a sample of the points is tried.
    candidates : iterable of int, optional
        Numbers of components, at most min(n, m). Where not given: 1, 2, 3, 4, 6, 8, 12, ... up to min(n, m) / 2 and 64,
        ended by the second in a row that is clearly worse than the best, and then up to three numbers on each side of
        the chosen one.
    estimator : estimator of ewnmf, optional
        Whose problem is to be solved; its `n_components` does not matter. By default ``EWNMF()``.
        `ConvexNMF` and ``ONMF(method="lagrange")`` or ``"stiefel"`` cannot hide entries and are refused.
    repeats : int, default=5
        Number of hold-outs, at least 2.
    share : float, default=0.1
        The share of a point's observed entries that each of them hides (at least one entry, never all).
    weights, sample_weight, mask : array-like, optional
        As in the estimator's `fit`.
    random_state : int, RandomState, optional
        Source of the hold-outs and starts; the estimator's where not given.
    n_jobs : int, optional
        Threads; the estimator's where not given. The result does not depend on it.

    Returns
    -------
    RankPath
        The scores, the best candidate, and the chosen one: the smallest within one standard error of the best.
    """
    estimator = EWNMF() if estimator is None else estimator
    if not isinstance(estimator, Factorizer):
        raise TypeError(f"estimator={estimator!r} must be an estimator of ewnmf, such as EWNMF() or NMF().")
    trial: Factorizer = clone(estimator)
    changes = {"random_state": random_state, "n_jobs": n_jobs, "n_components": "cv"}
    trial.set_params(**{name: value for name, value in changes.items() if value is not None})
    return trial._rank_path(X, candidates, repeats, share, weights=weights, sample_weight=sample_weight, mask=mask)
