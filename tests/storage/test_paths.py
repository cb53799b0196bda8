"""One problem in memory, from a file, as one batch and on a cluster: the same objectives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.losses.beta import Beta
from ewnmf.weightings.registry import WEIGHTINGS, with_gamma

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

LOSSES = ("euclidean", "kullback-leibler", "alpha", Beta(0.5))
CASES: list[tuple[Any, str, Any]] = [
    *((loss, weighting, np.float64) for loss in LOSSES for weighting in WEIGHTINGS),
    *((loss, weighting, np.float32) for loss in LOSSES[:2] for weighting in ("none", "entropy")),
]


@pytest.mark.parametrize(("loss", "weighting", "dtype"), CASES, ids=str)
def test_the_same_objectives(
    loss: Any, weighting: str, dtype: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the reference, which compiles nothing: what differs is where points and codes are."""
    monkeypatch.setattr("ewnmf.kernels.select._numba_works", lambda: False)
    monkeypatch.setattr("ewnmf.storage.dense._BLOCK_ENTRIES", 16 * 16)
    rng = np.random.default_rng(0)
    X = (rng.random((90, 3)) @ rng.random((3, 8)) + 0.01).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    how: dict[str, Any] = {"loss": loss, "weighting": weighting, "max_iter": 4, "tol": 0, "random_state": 0}
    how |= {"solver": "mu", "order": "codes-first"} | ({"gamma": 0.1} if weighting in with_gamma() else {})
    curves = [
        ewnmf.EWNMF(2, **how).fit(data).loss_curve_
        for data in (X, ewnmf.open_blocks(tmp_path / "X.npy"), da.from_array(X, chunks=(40, 8)))
    ]
    curves.append(ewnmf.MiniBatchEWNMF(2, batch_size=90, forget_factor=0.0, **how).fit(X).loss_curve_)
    for other in curves[1:]:
        np.testing.assert_allclose(other, curves[0], rtol=1e-9 if dtype == np.float64 else 1e-4)
