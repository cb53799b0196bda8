"""scikit-learn conduct: the estimator checks, and the same numbers as its own NMF."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import ewnmf
from ewnmf.weightings.registry import WEIGHTINGS
from tests.problems import CONCAVE, kernels

CLASSES = (ewnmf.EWNMF, ewnmf.NMF, ewnmf.ONMF, ewnmf.SemiNMF, ewnmf.ConvexNMF)
WEIGHTED = [(cls, weighting) for cls in CLASSES for weighting in WEIGHTINGS]
SELDOM = [
    (cls, weighting)
    for cls, weighting in WEIGHTED
    if weighting in CONCAVE
    and (cls.__name__, weighting)
    not in {("EWNMF", "welsch"), ("NMF", "welsch"), ("ONMF", "cauchy"), ("SemiNMF", "huber"), ("ConvexNMF", "l1")}
]
"""Checked where ``EWNMF_EVERY_CHECK`` is set, and all on machine code: they differ from the others in one formula."""
EVERY = "EWNMF_EVERY_CHECK" in os.environ
ESTIMATORS = [
    *(cls(weighting=name) for cls, name in WEIGHTED if (cls, name) not in SELDOM or EVERY),
    *(ewnmf.ONMF(method=method) for method in ("soft", "lagrange", "stiefel")),
    *(ewnmf.EWNMF(loss=loss) for loss in ("kullback-leibler", "alpha")),
    ewnmf.MiniBatchEWNMF(gamma=1.0),
]
"""Every class under every weighting, method and loss; nothing else is chosen, least of all what makes a fit easy."""
OF_NUMBERS = ("equivalence", "idempotent", "invariance", "n_iter", "contiguous", "memmap_input", "overwritten")
"""Checks that compare numbers closely have longer fits than others; with the classes as they come, whole ones."""
OF_DATA = ("1sample", "1feature", "sparse_", "dtype", "nan", "positive_only", "transformer_general", "pickle")
"""Checks that show an estimator data of some kind. All others ask for names, tags and parameters, which no weighting,
method or loss changes; unless every check is asked for, they are made of the classes as they come."""
TWICE = ("check_estimator_sparse_matrix", "check_transformer_general", "check_estimators_pickle")
"""Checks that are there a second time, of sparse arrays or of data in a file that cannot be written."""


def _name(check: Any) -> str:
    return str(getattr(check, "func", check).__name__)


@cache
def _as_it_comes(estimator: Any) -> bool:
    return repr(estimator).endswith("()")


def _shorter(estimator: Any, name: str) -> dict[str, Any]:
    numbers = any(part in name for part in OF_NUMBERS)
    if EVERY or (numbers and _as_it_comes(estimator)):
        return {}
    return {"max_iter": 50 if numbers else 10}


def _asked(estimator: Any, check: Any) -> bool:
    """Every class as it comes has all checks, the others those that a weighting, method or loss may change, once."""
    if EVERY or type(estimator) not in CLASSES or _as_it_comes(estimator):
        return True
    again = _name(check) in TWICE and not getattr(check, "keywords", {}).get("readonly_memmap")
    return not again and any(part in _name(check) for part in (*OF_NUMBERS, *OF_DATA))


CHECKS = parametrize_with_checks(ESTIMATORS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), [pair for pair in CHECKS.args[1] if _asked(*pair)], **CHECKS.kwargs)
def test_estimator_checks(estimator: Any, check: Any) -> None:
    if shorter := _shorter(estimator, _name(check)):
        estimator = clone(estimator).set_params(**shorter)
    with kernels(EVERY or estimator.weighting not in CONCAVE):
        check(estimator)


@pytest.fixture
def start() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    X = rng.random((20, 4)) @ rng.random((4, 15)) + 0.2 * rng.random((20, 15))
    return {"X": X, "codes": rng.random((20, 4)) + 0.1, "components": rng.random((4, 15)) + 0.1}


@pytest.mark.filterwarnings("ignore:Maximum number of iterations:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "beta"), [("euclidean", "frobenius"), ("kullback-leibler", "kullback-leibler")])
@pytest.mark.parametrize("order", ["components-first", "codes-first"])
def test_unweighted_nmf_is_scikit_learns(start: dict[str, Any], loss: str, beta: str, order: str) -> None:
    X, codes, components = start["X"], start["codes"], start["components"]
    options: dict[str, Any] = {"init": "custom", "solver": "mu", "tol": 0, "max_iter": 100, "beta_loss": beta}
    if order == "components-first":
        theirs = non_negative_factorization(X.T.copy(), components.T.copy(), codes.T.copy(), n_components=4, **options)
        expected = theirs[1].T, theirs[0].T
    else:
        expected = non_negative_factorization(X, codes.copy(), components.copy(), n_components=4, **options)[:2]
    mine = ewnmf.factorize(
        X, 4, loss=loss, weighting="none", codes=codes, components=components, order=order, max_iter=100
    )
    np.testing.assert_allclose(mine.codes, expected[0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(mine.components, expected[1], rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "beta"), [("euclidean", "frobenius"), ("kullback-leibler", "kullback-leibler")])
def test_reconstruction_err_is_scikit_learns(start: dict[str, Any], loss: str, beta: str) -> None:
    from sklearn.decomposition import NMF

    X, codes, components = start["X"], start["codes"], start["components"]
    theirs = NMF(4, init="custom", solver="mu", tol=0, max_iter=50, beta_loss=beta)
    theirs.fit_transform(X, W=codes.copy(), H=components.copy())
    mine = ewnmf.NMF(4, init="custom", loss=loss, solver="mu", tol=0, max_iter=50, order="codes-first")
    mine.fit(X, W=codes, H=components)
    np.testing.assert_allclose(mine.reconstruction_err_, theirs.reconstruction_err_, rtol=1e-8)
    np.testing.assert_allclose(mine.components_, theirs.components_, rtol=1e-8, atol=1e-8)


def test_works_in_pipelines_and_searches(start: dict[str, Any]) -> None:
    pipeline = make_pipeline(MinMaxScaler(clip=True), ewnmf.EWNMF(3, tol=0, max_iter=20, random_state=0))
    search = GridSearchCV(pipeline, {"ewnmf__gamma": [0.01, 1.0], "ewnmf__n_components": [2, 3]}, cv=3)
    search.fit(start["X"])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.transform(start["X"]).shape[0] == 20


def test_set_output_and_feature_names(start: dict[str, Any]) -> None:
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    names = [f"pixel{i}" for i in range(15)]
    frame = pd.DataFrame(start["X"], columns=names)
    model = ewnmf.EWNMF(3, tol=0, max_iter=5, random_state=0).set_output(transform="pandas")
    codes = model.fit_transform(frame)
    assert list(codes.columns) == ["ewnmf0", "ewnmf1", "ewnmf2"] == list(model.get_feature_names_out())
    assert list(model.feature_names_in_) == names
    assert isinstance(clone(model).set_output(transform="polars").fit_transform(frame), pl.DataFrame)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[names[::-1]])


def test_weights_are_routed_as_metadata(start: dict[str, Any]) -> None:
    import sklearn

    X = start["X"]
    A = np.random.default_rng(0).random(X.shape) + 0.1
    with sklearn.config_context(enable_metadata_routing=True):
        model = ewnmf.NMF(3, weighting="fixed", tol=0, max_iter=10, random_state=0)
        model.set_fit_request(weights=True).set_transform_request(weights=True)
        pipeline = make_pipeline(model)
        pipeline.fit(X, weights=A)
        direct = ewnmf.NMF(3, weighting="fixed", tol=0, max_iter=10, random_state=0).fit(X, weights=A)
        np.testing.assert_array_equal(pipeline[-1].components_, direct.components_)


def test_warns_only_where_tol_was_not_reached(start: dict[str, Any]) -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        ewnmf.NMF(3, max_iter=3, random_state=0).fit(start["X"])
    ewnmf.NMF(3, max_iter=3, tol=0, random_state=0).fit(start["X"])
    ewnmf.NMF(3, max_iter=300, tol=1e-2, random_state=0).fit(start["X"])
