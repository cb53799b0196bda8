"""Warnings point at the line of whoever called the package."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from ewnmf import NMF

X = np.random.default_rng(0).random((20, 8))
MODEL: Any = {"n_components": 2, "solver": "mu", "max_iter": 2, "tol": 1e-12, "random_state": 0}


@pytest.mark.parametrize(
    "fit",
    [
        lambda: NMF(**MODEL).fit(X),
        lambda: NMF(**MODEL).fit_transform(X),
        lambda: make_pipeline(NMF(**MODEL)).fit(X),
    ],
    ids=["fit", "fit_transform", "pipeline"],
)
def test_a_run_that_has_not_converged_is_warned_of_at_the_users_line(fit: Callable[[], Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        fit()
    (warning,) = (one for one in caught if one.category is ConvergenceWarning)
    assert (warning.filename, warning.lineno) == (__file__, inspect.getsourcelines(fit)[1])
