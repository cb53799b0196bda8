"""Starts and grids on the workers of joblib's Dask backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import ewnmf

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

FIT: dict[str, Any] = {"gamma": 0.1, "max_iter": 20, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def X() -> Any:
    rng = np.random.default_rng(0)
    X = rng.random((600, 4)) @ rng.random((4, 20))
    X[rng.random(X.shape) < 0.02] = 3
    return X


@pytest.mark.parametrize("gamma", [0.1, "4x"])
def test_starts_run_at_once(gamma: Any, X: Any, client: Any) -> None:
    model = ewnmf.EWNMF(4, n_init=5, **{**FIT, "gamma": gamma})
    here = model.fit(X).components_
    with distributed.get_task_stream(client) as tasks, joblib.parallel_config("dask"):
        there = model.fit(X).components_
    np.testing.assert_array_equal(here, there)
    assert len(tasks.data) >= 4
    assert {task["worker"] for task in tasks.data} == set(client.nthreads())


def test_a_dask_array_has_its_starts_one_after_the_other(X: Any, client: Any) -> None:
    model = ewnmf.EWNMF(4, n_init=2, **FIT)
    here = model.fit(X).loss_curve_
    with joblib.parallel_config("dask"):
        there = model.fit(da.from_array(X, chunks=(100, 20))).loss_curve_
    np.testing.assert_allclose(here, there, rtol=1e-9)


def test_a_grid(X: Any, client: Any) -> None:
    search = GridSearchCV(ewnmf.EWNMF(4, n_init=2, **FIT), {"gamma": [0.05, 0.5], "n_components": [2, 4]}, cv=2)
    here = search.fit(X)
    scores, best = here.cv_results_["mean_test_score"], here.best_params_
    with distributed.get_task_stream(client) as tasks, joblib.parallel_config("dask"):
        there = search.fit(X)
    np.testing.assert_array_equal(there.cv_results_["mean_test_score"], scores)
    assert there.best_params_ == best
    assert {task["worker"] for task in tasks.data} == set(client.nthreads())
