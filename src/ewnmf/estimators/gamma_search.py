"""Paths of fits for the user to look at."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ewnmf.choosing.gamma import GammaPath
from ewnmf.estimators.base import Factorizer
from ewnmf.estimators.nmf import EWNMF
from ewnmf.fitting.request import check_grid
from ewnmf.fitting.starts import Starts
from ewnmf.weightings.entropy import Entropy

__all__ = ["gamma_path"]


def gamma_path(
    X: Any,
    n_components: Any = "auto",
    *,
    relative: Any = None,
    gammas: Any = None,
    estimator: Factorizer | None = None,
    sample_weight: Any = None,
    mask: Any = None,
    **parameters: Any,
) -> GammaPath:
    """Fit along a grid of gammas and score every fit as ``gamma="auto"`` does.

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
    estimator : estimator of ewnmf, optional
        What to fit, with entropy weights; ``EWNMF(n_components, **parameters)`` by default. It is left as it is.
    sample_weight, mask : array-like, optional
        As in the estimator's `fit`.
    **parameters
        Of the default estimator, ``random_state`` for one.

    Returns
    -------
    GammaPath
        Gammas, scores, and which of them ``gamma="auto"`` would take.

    Examples
    --------
    >>> import numpy as np
    >>> import ewnmf
    >>> X = np.random.default_rng(0).random((30, 12))
    >>> path = ewnmf.gamma_path(X, 3, relative=[8, 4], random_state=0)
    >>> path.relative.tolist()
    [inf, 8.0, 4.0]
    """
    if estimator is not None and (parameters or n_components != "auto"):
        raise ValueError("estimator was given, so its parameters cannot be given too; set them on the estimator.")
    wish = check_grid(relative, gammas)
    model = EWNMF(n_components, **parameters) if estimator is None else clone(estimator)
    model.set_params(gamma="auto")
    if not isinstance(model._problem()[0].weighting, Entropy) or isinstance(model.weighting, Entropy):
        raise ValueError(f"weighting={model.weighting!r} has no gamma to choose; use weighting='entropy'.")
    given = {"sample_weight": sample_weight, "mask": mask}
    model._fit(X, Starts(), wish, **{name: value for name, value in given.items() if value is not None})
    path: GammaPath = model.gamma_path_
    return path
