"""How often a fit looks for the least and the largest value of ``X``: once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf.fitting.points import Points

QUICK: dict[str, Any] = {"max_iter": 5, "tol": 0, "random_state": 0}
FITS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda X: ewnmf.NMF(3, **QUICK).fit(X),
    "restarts": lambda X: ewnmf.NMF(3, n_init=3, **QUICK).fit(X),
    "nndsvd": lambda X: ewnmf.NMF(3, init="nndsvda", **QUICK).fit(X),
    "gamma": lambda X: ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(X),
    "auto": lambda X: ewnmf.EWNMF(3, gamma="auto", **QUICK).fit(X),
    "self-tuned": lambda X: ewnmf.EWNMF(3, gamma="self-tuned", **QUICK).fit(X),
    "semi": lambda X: ewnmf.SemiNMF(3, weighting="entropy", gamma=0.1, **QUICK).fit(X),
    "convex": lambda X: ewnmf.ConvexNMF(3, **QUICK).fit(X),
    "factorize": lambda X: ewnmf.factorize(X, 3, max_iter=5, rng=0).weights(),
}


def scans(work: Callable[[], Any], size: int) -> Counter[str]:
    """How often the least and the largest of at least `size` values were looked for while `work` ran."""
    found: Counter[str] = Counter()

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        name = frame.f_code.co_name
        if event == "call" and name in ("_amin", "_amax") and "_methods" in frame.f_code.co_filename:
            whole = frame.f_locals["axis"] is None
            found[name] += whole and np.asarray(frame.f_locals["a"]).size >= size

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    X = np.random.default_rng(0).random((60, 12))
    for fit in FITS.values():  # what is compiled now need not be while scans are counted
        fit(X)
    return X


def test_scans_are_counted(X: np.ndarray) -> None:
    assert scans(lambda: (X.min(), X.max(), X.max(), X.max(axis=1), X[1].min()), X.size) == {"_amin": 1, "_amax": 2}


@pytest.mark.parametrize("fit", FITS)
def test_data_is_scanned_once(X: np.ndarray, fit: str) -> None:
    assert scans(lambda: FITS[fit](X), X.size) == {"_amin": 1, "_amax": 1}


def test_new_points_are_scanned_once(X: np.ndarray) -> None:
    model = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(X)
    assert scans(lambda: model.transform(X), X.size) == {"_amin": 1, "_amax": 1}


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [2.0**-140, 2.0**-3, 2.0**40])
def test_what_is_known_of_points_stays_true(made: Any, dtype: Any, factor: float) -> None:
    values = np.random.default_rng(1).normal(size=(9, 5)).astype(dtype)
    points = Points(made(values), s=np.ones(9, dtype))
    some, moved = points.take(np.arange(3)), points.times(factor)
    for known in (points, some, moved, moved.take(np.arange(9) > 5), points.hiding(values > 0.5, positive=False)):
        assert known.extremes == (known.X.min(), known.X.max())
        assert known.data.extremes == known.extremes
