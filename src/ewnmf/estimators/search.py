"""Searches for the user to look at: along gammas, and over numbers of components."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ewnmf.choosing.gamma import GammaPath
from ewnmf.choosing.holdout import SHARE
from ewnmf.choosing.rank import RankPath
from ewnmf.estimators.base import Factorizer
from ewnmf.estimators.nmf import EWNMF
from ewnmf.fitting.checks import check_grid
from ewnmf.fitting.starts import Starts
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.registry import with_gamma

__all__ = ["gamma_path", "select_rank"]


def gamma_path(
    X: Any,
    n_components: Any = "auto",
    *,
    relative: Any = None,
    gammas: Any = None,
    rule: str = "auto",
    estimator: Factorizer | None = None,
    sample_weight: Any = None,
    mask: Any = None,
    **parameters: Any,
) -> GammaPath:
    """Fit along a grid of gammas and score every fit as ``gamma="auto"`` or ``"groups"`` does.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows are points.
    n_components : int or "auto", default="auto"
        Number of components of the default estimator.
    relative : array-like, optional
        Gammas in units of the mean loss of plain NMF; 16, 8, 4, 2, 1 and 0.5 where no grid is given. Plain NMF is
        always part of the path, which ends where the score is lost.
    gammas : array-like, optional
        Gammas in the unit of the loss instead; all of them are fitted.
    rule : {"auto", "groups"}, default="auto"
        What gamma is for: to find damage, or to find groups of points.
    estimator : estimator of ewnmf, optional
        What to fit, with a gamma; ``EWNMF(n_components, **parameters)`` by default. It is left as it is.
    sample_weight, mask : array-like, optional
        As in the estimator's `fit`.
    **parameters
        Of the default estimator, ``random_state`` for one.

    Returns
    -------
    GammaPath
        Gammas, scores, and which of them the rule would take.

    Examples
    --------
    >>> import numpy as np
    >>> import ewnmf
    >>> X = np.random.default_rng(0).random((30, 12))
    >>> path = ewnmf.gamma_path(X, 3, relative=[8, 4], tol=1e-3, random_state=0)
    >>> path.relative.tolist()  # at 8 times the mean loss it is clear that smaller gammas are worse
    [inf, 8.0]
    """
    if estimator is not None and (parameters or n_components != "auto"):
        raise ValueError("estimator was given, so its parameters cannot be given too; set them on the estimator.")
    request = check_grid(relative, gammas, rule)
    model = EWNMF(n_components, **parameters) if estimator is None else clone(estimator)
    model.set_params(gamma=rule)
    if not model._problem()[0].weighting.has_gamma or isinstance(model.weighting, Weighting):
        names = " or ".join(f"weighting={name!r}" for name in with_gamma())
        raise ValueError(f"weighting={model.weighting!r} has no gamma to choose; use {names}.")
    given = {"sample_weight": sample_weight, "mask": mask}
    model._fit(X, Starts(), request, **{name: value for name, value in given.items() if value is not None})
    path: GammaPath = model.gamma_path_
    return path


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
    at least 1e-4. ``gamma="auto"`` (or ``"groups"``) is chosen once, at the middle candidate: the multiple 16, 8, 4, 2
    or 1 of plain NMF's mean loss that predicts the first hold-out best, or plain NMF where none is better by 5 %.

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
