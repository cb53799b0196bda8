"""What all fitted estimators do with points: codes, weights, reconstruction, score, a file."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from ewnmf._types import Array
from ewnmf._warn import warn
from ewnmf.choosing.holdout import held_out_losses, trimmed_mean
from ewnmf.estimators.by_blocks import blocks_in, computed, lazy
from ewnmf.estimators.saving import write_estimator
from ewnmf.fitting.checks import FLOATS, check_matrix
from ewnmf.fitting.frames import numeric_table
from ewnmf.fitting.guard import reconstruct, scaled_bounds
from ewnmf.fitting.points import Points, read_points, spread
from ewnmf.fitting.unit import times
from ewnmf.models.base import Facts
from ewnmf.problem import Problem
from ewnmf.solvers.encode import encode, weights_of

__all__ = ["Encoder"]

_FINER = 0.1
"""The codes of a point end where its objective falls by this share of `tol`."""


class Encoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted model; `fit` of a subclass sets the attributes."""

    components_: Array
    n_components_: int
    max_iter: int
    tol: float
    n_jobs: int | None
    _fitted_problem: Problem
    _facts: Facts
    _tiny: float
    _mean_point: Array
    _feature_weight: Array | None
    _bounds: Array | None

    def _read(self, X: Any, **weighed: Any) -> Points:
        """New points under the fitted model."""
        return self._points(self._validated(X), **weighed)

    def _validated(self, X: Any) -> Any:
        """``X`` (n x m) as an array or CSR matrix of floats, with the attributes of `fit`."""
        check_is_fitted(self, "components_")
        return check_matrix(self, numeric_table(X), reset=False)

    def _points(self, X: Any, **weighed: Any) -> Points:
        """The points of validated data."""
        X = X.astype(self.components_.dtype, copy=False)
        weighed |= {"feature_weight": self._feature_weight, "unit": self._facts.unit}
        return read_points(X, self._fitted_problem, type(self).__name__, **weighed)

    def _codes(self, points: Points, problem: Problem | None = None) -> Array:
        """Codes (n x K) of points that are seen, for the fitted problem or another.

        Complete ones are encoded as if no other were not, and so are those of the signs that `fit` has seen.
        """
        whole, strange = points.complete, self._strange(points)
        for these in (whole, strange):
            if these.any() and not these.all():
                codes = np.empty((these.size, self.n_components_), self.components_.dtype)
                for rows in (these, ~these):
                    codes[rows] = self._codes(points.take(rows), problem)
                return codes
        unit = self._facts.unit
        data = (points.without_priors() if whole.all() else points).times(unit).data
        return encode(
            (problem or self._fitted_problem).times(unit),
            times(self.components_.T, unit),
            replace(data, s=None),
            replace(self._facts, priors=data.P is not None, signed=self._facts.signed or bool(strange.all())),
            tiny=self._tiny,
            max_iter=self.max_iter,
            tol=_FINER * self.tol,
            n_jobs=self.n_jobs,
        ).T

    def _strange(self, points: Points) -> Array:
        """Which points need a rule for both signs where the data of `fit` had one for its own."""
        own = self._fitted_problem.model.has_combinations and not self._facts.signed
        return points.negative if own else np.zeros(points.X.shape[0], dtype=bool)

    def transform(self, X: Any, weights: Any = None, mask: Any = None) -> Any:
        """Codes of the points for the learned components, every point on its own.

        A point without any observed entry gets the codes of the mean point of `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points, NaN is a missing value; which others are there, and in which order, changes nothing.
        weights : array-like of shape (n_samples, n_features), optional
            The weights of ``weighting="fixed"``.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed.

        Returns
        -------
        ndarray, Blocks or Dask array of shape (n_samples, n_components)
            The codes; of `Blocks` and Dask arrays they are computed when they are asked for.
        """
        blocks = blocks_in(self, X, weights=weights, mask=mask)
        if blocks is not None:
            names = tuple(self.get_feature_names_out())
            return computed(self, "transform", blocks, self.n_components_, self.components_.dtype, features=names)
        points = self._read(X, weights=weights, mask=mask)
        points.warn("the codes of the mean point", "")
        return self._transform(points)

    def _transform(self, points: Points, problem: Problem | None = None) -> Array:
        seen = points.seen
        if seen.all():
            return self._codes(points, problem)
        codes = np.empty((seen.size, self.n_components_), self.components_.dtype)
        f = self._feature_weight
        mean = Points(self._mean_point[None], None if f is None else f[None])
        codes[~seen] = self._codes(mean)
        if seen.any():
            codes[seen] = self._codes(points.take(seen), problem)
        return codes

    def weights(self, X: Any, weights: Any = None, mask: Any = None) -> Any:
        """The weight of every entry (n x m) under the codes of `transform`, 0 where it is missing.

        The share of an entry in its point: rows sum to one with ``weighting="entropy"`` (Eq. (18)) and with ``"none"``,
        where what was observed has equal shares (times `feature_weight`), as at an infinite gamma; but for points
        without an observed entry. ``"fixed"`` gives the weights handed in, times `feature_weight`; ``"welsch"``,
        ``"cauchy"``, ``"huber"`` and ``"l1"`` judge every entry on its own, so that their rows have no common sum.

        Parameters
        ----------
        X : array-like, sparse matrix, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points, NaN is a missing value.
        weights : array-like of shape (n_samples, n_features), optional
            The weights of ``weighting="fixed"``.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed.

        Returns
        -------
        ndarray, Blocks or Dask array of shape (n_samples, n_features)
            The weights; of `Blocks` and Dask arrays they are computed when they are asked for.
        """
        blocks = blocks_in(self, X, weights=weights, mask=mask)
        if blocks is not None:
            return computed(self, "weights", blocks, blocks.shape[1], self.components_.dtype)
        path = getattr(self, "gamma_path_", None)
        if path is not None and path.gamma == math.inf:
            warn(f"All weights of a point are equal: {path.verdict}")
        return self._weights_under(None, X, weights=weights, mask=mask)

    def _weights_under(self, codes: Array | None, X: Any, **weighed: Any) -> Array:
        """`weights` under the `codes` that `transform` gave for these points, which are then not looked for again."""
        points = self._read(X, **weighed)
        seen, unit = points.take(points.seen), self._facts.unit
        problem, W, data = self._fitted_problem.times(unit), times(self.components_.T, unit), seen.times(unit).data
        if not problem.weighting.adaptive:
            H = np.zeros((W.shape[1], data.n_points), W.dtype)
        else:
            H = (self._codes(seen) if codes is None else codes[points.seen]).T
        return spread(weights_of(problem, W, H, data, tiny=self._tiny, facts=self._facts).T, points.seen)

    def inverse_transform(self, X: Any) -> Array:
        """``codes @ components_``: the data that the codes stand for.

        Where `fit` left some entries of an attribute without weight (missing, of a negligible prior, or turned away
        from by the entropy weighting), nothing holds that product there. Such an attribute is kept within the range
        that `fit` has seen of it, widened by half of it on either side; ``codes @ components_`` is without bounds.
        Values that leave the numbers of the type end at the largest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The reconstruction.
        """
        check_is_fitted(self, "components_")
        codes = check_array(X, dtype=FLOATS, input_name="codes")
        if codes.shape[1] != self.components_.shape[0]:
            raise ValueError(
                f"codes has {codes.shape[1]} columns, but {type(self).__name__} has {self.n_components_} components."
            )
        return reconstruct(codes, self.components_, self._known_bounds)

    def score(self, X: Any, y: Any = None, weights: Any = None, sample_weight: Any = None, mask: Any = None) -> float:
        """Minus the trimmed mean loss of entries that are hidden from `transform`; larger is better.

        Of every point a tenth of what was observed (at least one entry) is hidden, drawn by a seed that never changes
        from the point itself; the rest gives its codes, and the hidden entries are held against
        ``inverse_transform``. The largest losses do not count: as many as a tenth of the hidden entries that are not 0.
        So scores on the same `X` can be compared across `n_components`, `gamma` and weightings (not across losses).

        Parameters
        ----------
        X : array-like, sparse matrix, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points, NaN is a missing value. Points of fewer than two observed entries are left out; of data
            with more than 2^23 entries a sample of the points is scored, drawn from each alone.
        y : ignored
            For scikit-learn's conventions.
        weights : array-like of shape (n_samples, n_features), optional
            The weights of ``weighting="fixed"``, for the codes; in the mean entries count alike, but those of weight 0
            not at all.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the points in the mean.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed.

        Returns
        -------
        float
            The score, at most 0.
        """
        blocks = blocks_in(self, X, weights=weights, mask=mask)
        if blocks is None:
            points = self._points(self._validated(X), weights=weights, sample_weight=sample_weight, mask=mask)
        else:
            points = self._points(lazy(blocks), weights=weights, sample_weight=sample_weight)
        points = points.take(points.counted)
        loss, unit = self._fitted_problem.loss, self._facts.unit
        components, bounds = times(self.components_, unit), self._known_bounds
        bounds = None if bounds is None else scaled_bounds(bounds, unit)
        found = held_out_losses(points.times(unit), self._codes, components, loss, self._tiny, bounds)
        return -trimmed_mean(*found) / self._fitted_problem.cost(unit)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator, fitted or not, as one file without pickle; `ewnmf.load` reads it.

        The file appears only when it is complete. Callbacks are left out; a parameter that is neither a number, text
        or array nor an object of ewnmf's own (a generator as `random_state`, a loss of one's own) is refused.

        Parameters
        ----------
        path : path-like
            The file, by custom with the suffix ``.ewnmf``; an older one is replaced.
        """
        write_estimator(self, path, {})

    @property
    def _known_bounds(self) -> Array | None:
        """The bounds of reconstructions; models of before have none."""
        bounds: Array | None = getattr(self, "_bounds", None)
        return bounds

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])
