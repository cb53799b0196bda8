"""Convex-NMF."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import NDArray

from ewnmf.estimators.base import Factorizer
from ewnmf.estimators.documented import documented
from ewnmf.fitting.starts import Starts
from ewnmf.models.base import Model
from ewnmf.models.convex import Convex

__all__ = ["ConvexNMF"]


@documented
class ConvexNMF(Factorizer):
    """Convex-NMF: components are nonnegative combinations of data points, ``components_ = combinations_.T @ X``.

    Every loss on nonnegative data; the Euclidean loss on data of both signs.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    combinations_ : ndarray of shape (n_samples, n_components)
        The share of every point in every component.
    $attributes

    See Also
    --------
    $related

    Examples
    --------
    >>> import numpy as np
    >>> from ewnmf import ConvexNMF
    >>> X = np.random.default_rng(0).random((20, 6))
    >>> model = ConvexNMF(n_components=2, tol=1e-3, random_state=0).fit(X)
    >>> bool(np.allclose(model.components_, model.combinations_.T @ X))
    True
    """

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, W: Any = None, U: Any = None, weights: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the combinations of ``X`` (n x m).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows are points, without missing values.
        y : ignored
            For scikit-learn's conventions.
        W : array-like of shape (n_samples, n_components), optional
            Codes to start from, with ``init="custom"``.
        U : array-like of shape (n_samples, n_components), optional
            Combinations to start from, with ``init="custom"``.
        weights : array-like of shape (n_samples, n_features), optional
            The weights of ``weighting="fixed"``; ones where not given.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the points: one of weight 2 counts as two, one of weight 0 not at all.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, Starts(codes=W, combinations=U), weights=weights, sample_weight=sample_weight)
        return self

    def fit_transform(  # type: ignore[override]
        self, X: Any, y: Any = None, W: Any = None, U: Any = None, weights: Any = None, sample_weight: Any = None
    ) -> NDArray[Any]:
        """``fit(X).transform(X)``, to the bit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows are points, without missing values.
        y : ignored
            For scikit-learn's conventions.
        W : array-like of shape (n_samples, n_components), optional
            Codes to start from, with ``init="custom"``.
        U : array-like of shape (n_samples, n_components), optional
            Combinations to start from, with ``init="custom"``.
        weights : array-like of shape (n_samples, n_features), optional
            The weights of ``weighting="fixed"``; ones where not given.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the points: one of weight 2 counts as two, one of weight 0 not at all.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The codes.
        """
        fitted = self.fit(X, W=W, U=U, weights=weights, sample_weight=sample_weight)
        return fitted._transform(fitted._read(X, weights=weights))

    def _may_be_missing(self) -> bool:
        return False

    def _model(self) -> Model:
        return Convex()

    def _may_be_negative(self) -> bool:
        return self.loss == "euclidean"
