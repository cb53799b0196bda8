"""A transformer that mends what it is given."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ewnmf._types import Array
from ewnmf.damage.calibration import Calibration
from ewnmf.damage.columns import Columns
from ewnmf.damage.learning import learn
from ewnmf.damage.repair import AUTO, check_replaced
from ewnmf.damage.verdict import Verdict
from ewnmf.estimators.by_blocks import blocks_in, computed, each_row, lazy
from ewnmf.estimators.containers import Form
from ewnmf.estimators.judging import Judging
from ewnmf.estimators.nmf import EWNMF
from ewnmf.estimators.saving import write_estimator
from ewnmf.fitting import checks
from ewnmf.fitting.checks import FLOATS
from ewnmf.fitting.frames import numeric_table
from ewnmf.fitting.points import Sample
from ewnmf.losses.base import Loss
from ewnmf.storage.matrix import in_memory, is_lazy, observed_rows
from ewnmf.weightings.base import Weighting

__all__ = ["Repairer"]

_USUAL_COMPONENTS = 8
_SAMPLED = 1 << 23
"""Entries of points that are not in memory by which the ranges of columns are learned."""


class Repairer(Judging, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Damaged and missing entries replaced by what `EWNMF` expects there: ``X`` in, ``X`` out, for any pipeline.

    Columns are brought to about [0, 1] first, and back afterwards, by a range that single outliers do not set; so they
    may have any unit and sign, and new values may lie outside of what `fit` has seen. Entries that are not suspect stay
    as they are, to the bit.

    Parameters
    ----------
    n_components : int, "auto" or "cv", default="auto"
        Number of components; ``"auto"`` is 8, but at most half the number of samples and of features, and ``"cv"``
        chooses it by entries that are held out (`ewnmf.select_rank`).
    false_alarms : float or "auto", default="auto"
        The share of undamaged entries that may be replaced, between 0 and 0.5; ``"auto"`` as in `EWNMF.repair`.
    soft : bool, default=False
        Whether observed entries become ``trust * x + (1 - trust) * expected`` instead of either.
    loss : str or Loss, default="euclidean"
        As in `EWNMF`, which learns the columns in their scale, like all that follow.
    weighting : str or Weighting, default="entropy"
        As in `EWNMF`.
    gamma : float or str, default="auto"
        As in `EWNMF`.
    n_init : int, default=1
        As in `EWNMF`.
    tol : float, default=1e-4
        As in `EWNMF`. No warning says that `max_iter` came first: what is expected of an entry hardly depends on the
        last digits of a fit.
    max_iter : int, default=300
        As in `EWNMF`.
    n_jobs : int, default=None
        As in `EWNMF`.
    random_state : int, RandomState or None, default=None
        As in `EWNMF`.
    verbose : int, default=0
        As in `EWNMF`.

    Attributes
    ----------
    model_ : EWNMF
        Fitted to the scaled columns.
    low_, span_ : ndarray of shape (n_features,)
        The model is shown ``(X - low_) / span_``.
    calibration_ : Calibration
        The usual residuals of every column, and what is expected by the others, in the unit of the data.
    n_iter_ : int
        Iterations of the model's best start.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where ``X`` had them.

    See Also
    --------
    EWNMF : The model inside, for data that is nonnegative and in one unit.
    ewnmf.datasets.make_damage : Known damage, to try a repair with.

    Examples
    --------
    >>> import numpy as np
    >>> from ewnmf import Repairer
    >>> from ewnmf.datasets import make_sensors
    >>> X = make_sensors(200, 12, noise=0.02, random_state=0)
    >>> damaged = X.copy()
    >>> damaged[50:80, 3] = 0
    >>> repairer = Repairer(4, gamma="4x", random_state=0).fit(damaged)
    >>> clean = repairer.transform(damaged)
    >>> bool(np.abs(clean - X)[50:80, 3].mean() < 0.2 * np.abs(damaged - X)[50:80, 3].mean())
    True
    """

    model_: EWNMF
    low_: Array
    span_: Array
    calibration_: Calibration

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        false_alarms: float | str = AUTO,
        soft: bool = False,
        loss: str | Loss = "euclidean",
        weighting: str | Weighting = "entropy",
        gamma: float | str = "auto",
        n_init: int = 1,
        tol: float = 1e-4,
        max_iter: int = 300,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.false_alarms = false_alarms
        self.soft = soft
        self.loss = loss
        self.weighting = weighting
        self.gamma = gamma
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the columns of ``X`` (n x m) have to do with each other, and how far they usually are from that.

        Parameters
        ----------
        X : array-like, data frame, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points; NaN is a missing value. Of `Blocks` and Dask arrays with more than 2^23 entries, the ranges
            of the columns are learned from a sample of the points.
        y : ignored
            For scikit-learn's conventions.

        Returns
        -------
        self
            The fitted transformer.
        """
        check_replaced(self.false_alarms)
        given = None if type(X) is np.ndarray else lazy(X)
        if given is None:
            X = given = validate_data(self, numeric_table(X), dtype=FLOATS, ensure_all_finite="allow-nan")
        else:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = given.shape[1]
            checks.check_finite(given, given.observed)
        columns = Columns.of(_sampled(given))
        model = EWNMF(
            self._n_components(given.shape),
            loss=self.loss,
            weighting=self.weighting,
            gamma=self.gamma,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model_ = model.fit(each_row(X, _Shown(columns, given.dtype)))
        self.low_, self.span_ = columns
        self.calibration_ = learn(self._seen_by(self.model_, given))
        self.n_iter_ = self.model_.n_iter_
        return self

    def _seen_by(self, model: EWNMF, X: Any) -> Sample:
        """What the model keeps of its points, as it is in ``X``."""
        sample: Sample = model.__dict__["_sample"]
        some = X[np.flatnonzero(observed_rows(X))[sample.rows]].astype(np.float64)
        return sample._replace(X=some, components=sample.components * self.span_, offset=self.low_)

    def _n_components(self, shape: tuple[int, int]) -> int | str:
        if isinstance(self.n_components, str) and self.n_components == "auto":
            return max(1, min(_USUAL_COMPONENTS, *(count // 2 for count in shape)))
        return self.n_components

    def transform(self, X: Any) -> Any:
        """``X`` with what is expected in place of suspect and missing entries.

        As in all pipelines, every point is judged on its own. `repair` also heeds the points before and after, which
        tell more of sensors that are off for a while; use it where the rows of a table are in order.

        Parameters
        ----------
        X : array-like, data frame, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points, every one on its own; NaN is a missing value.

        Returns
        -------
        ndarray, data frame, Blocks or Dask array of shape (n_samples, n_features)
            The repaired points; a data frame where `X` is one with the names of `fit`, or where `set_output` asks. Of
            `Blocks` and Dask arrays they are computed when they are asked for.
        """
        blocks = blocks_in(self, X)
        if blocks is not None:
            self._calibrated()
            return computed(self, "transform", blocks, blocks.shape[1], blocks.dtype)
        clean = self._repaired(X, check_replaced(self.false_alarms), self.soft, None, series=False)
        return Form(self, X).table(clean) if hasattr(self, "feature_names_in_") else clean

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the transformer, fitted or not, as one file without pickle; `ewnmf.load` reads it.

        Parameters
        ----------
        path : path-like
            The file, by custom with the suffix ``.ewnmf``; an older one is replaced.
        """
        write_estimator(self, path, {})

    @property
    def _columns(self) -> Columns:
        return Columns(self.low_, self.span_)

    def _calibrated(self) -> Calibration:
        check_is_fitted(self, "model_")
        calibration: Calibration | None = getattr(self, "calibration_", None)
        if calibration is None or calibration.expectation is None:
            raise ValueError(
                "This Repairer was fitted by an earlier version of ewnmf and does not know how far residuals usually "
                "go; fit it again."
            )
        return calibration

    def _verdicts(self, X: Any, mask: Any, series: bool = True) -> Iterator[tuple[Array, Verdict]]:
        check_is_fitted(self, "model_")
        X = validate_data(self, numeric_table(X), dtype=FLOATS, ensure_all_finite="allow-nan", reset=False)
        shown = checks.check_mask(mask, X.shape)
        return self._judged(X, shown, series)

    def _check_loaded(self) -> None:
        """Refuse what a file holds where it does not fit together."""
        if hasattr(self, "model_"):
            m = self.n_features_in_
            fits = getattr(self.model_, "components_", np.empty((0, 0))).shape[1] == m
            if not fits or any(np.shape(part) != (m,) for part in self._columns) or not np.all(self.span_ > 0):
                raise ValueError(f"its scale and model are not of {m} columns")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Shown:
    """What the model is shown of some rows; a function that other processes can be sent."""

    def __init__(self, columns: Columns, dtype: Any) -> None:
        self.columns, self.dtype = columns, dtype

    def __call__(self, rows: Array) -> Array:
        return self.columns.bounded(self.columns.scaled(rows)).astype(self.dtype)


def _sampled(X: Any) -> Array:
    """The points, or of many that are not in memory some from everywhere."""
    n, m = X.shape
    if not is_lazy(X) or n * m <= _SAMPLED:
        return np.asarray(in_memory(X))
    return np.asarray(X[np.unique(np.random.default_rng(0).integers(0, n, max(1, _SAMPLED // m)))])
