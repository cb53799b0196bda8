"""scikit-learn's estimator checks with their data as Dask arrays.

No check is left out. What is no matrix of numbers (lists, data frames, sparse matrices, text, complex numbers, one
dimension, nothing at all) reaches the estimator as it is: what is to be said of it is scikit-learn's, and the checks of
`tests/estimators/test_scikit_learn.py` ask for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import ewnmf

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


class OnDask:
    """Shows Dask arrays of two chunks to an estimator, and gives arrays back, as the checks need them."""

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        return super().fit(_chunked(X), y, **options)  # type: ignore[misc]

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        return _here(super().fit_transform(_chunked(X), y, **options))  # type: ignore[misc]

    def transform(self, X: Any, weights: Any = None, mask: Any = None) -> Any:
        return _here(super().transform(_chunked(X), weights, mask))  # type: ignore[misc]

    def score(self, X: Any, y: Any = None, **options: Any) -> Any:
        return super().score(_chunked(X), y, **options)  # type: ignore[misc]

    def partial_fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        whole = _chunked(X)
        whole = whole.rechunk((-1, -1)) if isinstance(whole, da.Array) else whole
        return super().partial_fit(whole, y, **options)  # type: ignore[misc]


def _chunked(X: Any) -> Any:
    """A matrix of numbers as a Dask array; all else, which scikit-learn's own validation is for, as it is.

    So are the chunks that a worker asks the estimator about.
    """
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return X
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
        return X
    return da.from_array(np.asarray(X), chunks=(-(-len(X) // 2), X.shape[1]))


def _here(found: Any) -> Any:
    return found.compute() if isinstance(found, da.Array) else found


class DaskNMF(OnDask, ewnmf.NMF):  # type: ignore[misc]
    """NMF of Dask arrays."""


class DaskEWNMF(OnDask, ewnmf.EWNMF):  # type: ignore[misc]
    """EWNMF of Dask arrays."""


@pytest.fixture(scope="module", autouse=True)
def client() -> Iterator[Any]:
    options = {"processes": False, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options)
    with local, distributed.Client(local) as client:
        yield client


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([DaskNMF(max_iter=20), DaskEWNMF(gamma=1.0, max_iter=20)])
def test_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)
