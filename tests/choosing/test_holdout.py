"""Entries held out: which are hidden, what they cost, and a score that can be compared."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import ewnmf
from ewnmf import losses
from ewnmf.choosing import holdout
from ewnmf.choosing.holdout import SHARE, hold_out, sampled, trimmed_mean
from ewnmf.fitting.points import Points

KEY = b"a key"
QUICK: dict[str, Any] = {"tol": 0, "max_iter": 30, "random_state": 0}
MODELS = [
    ewnmf.EWNMF(3, gamma=0.1),
    ewnmf.EWNMF(3, loss="kullback-leibler", gamma=0.1),
    ewnmf.NMF(3, loss="alpha", alpha=-0.5),
    ewnmf.NMF(3, weighting="fixed"),
    ewnmf.SemiNMF(3),
    ewnmf.ConvexNMF(3),
    ewnmf.ConvexNMF(3, weighting="entropy", gamma=0.1),
    ewnmf.ONMF(3),
    *(ewnmf.ONMF(3, method=method) for method in ("soft", "lagrange", "stiefel")),
]
every_estimator = pytest.mark.parametrize("model", [clone(m).set_params(**QUICK) for m in MODELS], ids=str)


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.random((40, 3)) @ rng.random((3, 20)) + 0.1 * rng.random((40, 20)) + 0.01


def judge(model: Any, X: np.ndarray, observed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The losses of the entries that `score` hides, found anew, and the entries."""
    P = None if observed is None else observed.astype(float)
    hidden = hold_out(Points(X, P), SHARE, holdout._KEY)
    codes = np.stack(
        [regress(model, x[~h & seen], ~h & seen) for x, h, seen in zip(X, hidden, ~np.isnan(X), strict=True)]
    )
    loss = losses.resolve(model.loss, model.alpha)
    return loss.divergence(X[hidden], (codes @ model.components_)[hidden]), X[hidden]


def regress(model: Any, x: np.ndarray, where: np.ndarray) -> np.ndarray:
    from scipy.optimize import nnls

    return nnls(model.components_[:, where].T, x)[0]


@given(st.integers(1, 12), st.integers(1, 30), st.floats(0.01, 0.99), st.integers(0, 5))
def test_a_share_of_every_point_is_hidden(n: int, m: int, share: float, turn: int) -> None:
    rng = np.random.default_rng(n * m)
    X, P = rng.random((n, m)), (rng.random((n, m)) < 0.6).astype(float)
    hidden = hold_out(Points(X, P), share, KEY, turn)
    seen = P.sum(axis=1).astype(int)
    expected = [0 if count < 2 else min(max(1, int(share * count)), count - 1) for count in seen]
    assert hidden.sum(axis=1).tolist() == expected
    assert not hidden[P == 0].any()


def test_turns_hide_everything_once(X: np.ndarray) -> None:
    turns = [hold_out(Points(X), 0.1, KEY, turn) for turn in range(10)]
    np.testing.assert_array_equal(np.sum(turns, axis=0), 1)
    np.testing.assert_array_equal(hold_out(Points(X), 0.1, KEY, 10), turns[0])
    assert (hold_out(Points(X), 0.1, b"other") != turns[0]).any()


def test_hold_outs_depend_on_the_point_alone(X: np.ndarray) -> None:
    hidden = hold_out(Points(X), 0.2, KEY)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(hold_out(Points(X[order]), 0.2, KEY), hidden[order])
    np.testing.assert_array_equal(hold_out(Points(sparse.csr_array(X)), 0.2, KEY), hidden)
    np.testing.assert_array_equal(hold_out(Points(X[[3, 3]]), 0.2, KEY), hidden[[3, 3]])
    assert len(np.unique(hidden, axis=0)) > 30


def test_the_largest_losses_do_not_count() -> None:
    values = np.r_[np.arange(1.0, 20), 1e9]
    nonzero = np.ones(20, dtype=bool)
    assert trimmed_mean(values, nonzero) == pytest.approx(np.arange(1, 19).mean(), rel=1e-15)
    nonzero[5:15] = False
    assert trimmed_mean(values, nonzero) == pytest.approx(np.arange(1, 20).mean(), rel=1e-15)
    assert trimmed_mean(values, np.zeros(20, dtype=bool)) == pytest.approx(values.mean(), rel=1e-15)
    assert trimmed_mean(np.array([4.0, 2.0]), np.ones(2, dtype=bool)) == pytest.approx((0.8 * 4 + 2) / 1.8)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.booleans(), st.integers(1, 4)), min_size=1, max_size=30))
def test_a_weight_of_two_is_two_entries(entries: list[tuple[float, bool, int]]) -> None:
    values, nonzero, weights = (np.array(part) for part in zip(*entries, strict=True))
    twice = trimmed_mean(np.repeat(values, weights), np.repeat(nonzero, weights))
    assert trimmed_mean(values, nonzero, weights.astype(float)) == pytest.approx(twice, rel=1e-9, abs=1e-9)
    assert twice <= values.mean() * values.size + 1e-9


def test_infinite_losses_are_left_out_first() -> None:
    values = np.r_[np.ones(9), np.inf]
    assert trimmed_mean(values, np.ones(10, dtype=bool)) == 1


def test_score_is_that_of_hidden_entries(X: np.ndarray) -> None:
    model = ewnmf.NMF(3, tol=0, max_iter=3000, random_state=0).fit(X)
    values, x = judge(model, X)
    assert model.score(X) == pytest.approx(-trimmed_mean(values, x != 0), rel=1e-3)
    gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    values, x = judge(model, gaps, ~np.isnan(gaps))
    assert model.score(gaps) == pytest.approx(-trimmed_mean(values, x != 0), rel=1e-3)


@every_estimator
def test_scores_of_points_do_not_depend_on_others(model: Any, X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    model.fit(X)
    score = model.score(X)
    assert -np.inf < score < 0
    order = np.random.default_rng(2).permutation(len(X))
    assert model.score(X[order]) == score
    assert model.score(sparse.csr_array(X)) == pytest.approx(score, rel=1e-12)
    monkeypatch.setattr(holdout, "_BLOCK_ENTRIES", 1)
    assert model.score(X) == score


@every_estimator
def test_hidden_entries_do_not_leak(model: Any, X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    model.fit(X)
    seen: list[np.ndarray] = []
    codes_of = type(model)._codes

    def watched(self: Any, points: Points) -> np.ndarray:
        seen.append(codes_of(self, points))
        return seen[-1]

    monkeypatch.setattr(type(model), "_codes", watched)
    model.score(X)
    hidden = hold_out(Points(X), SHARE, holdout._KEY)
    wrong = np.where(hidden, 7.0, X)
    monkeypatch.setattr(holdout, "hold_out", lambda *_: hidden)
    model.score(wrong)
    np.testing.assert_array_equal(seen[0], seen[1])


@every_estimator
def test_points_count_by_their_weight(model: Any, X: np.ndarray) -> None:
    model.fit(X)
    weights = np.arange(40) % 3
    repeated = model.score(X[np.repeat(np.arange(40), weights)])
    assert model.score(X, sample_weight=weights) == pytest.approx(repeated, rel=1e-9)


def test_the_score_tells_the_rank_and_sees_outliers(X: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    X = np.abs(rng.random((150, 3)) @ rng.random((3, 30)) + 0.1 * rng.standard_normal((150, 30)))
    X[rng.random(X.shape) < 0.03] = 5.0
    scores = {
        (K, gamma): ewnmf.EWNMF(K, gamma=gamma, tol=0, max_iter=300, random_state=0).fit(X[:100]).score(X[100:])
        for K in (1, 3, 12)
        for gamma in (0.1, float("inf"))
    }
    assert max(scores, key=lambda pair: scores[pair]) == (3, 0.1)


def test_searches_and_pipelines(X: np.ndarray) -> None:
    grid = {"n_components": [1, 3], "gamma": [0.05, 1.0]}
    search = GridSearchCV(ewnmf.EWNMF(tol=0, max_iter=100, random_state=0), grid, cv=3).fit(X)
    assert search.best_params_["n_components"] == 3
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() < 0
    pipeline = make_pipeline(MinMaxScaler(clip=True), ewnmf.EWNMF(3, **QUICK)).fit(X)
    assert pipeline.score(X) == pipeline[-1].score(pipeline[0].transform(X))


def test_too_few_entries(X: np.ndarray) -> None:
    model = ewnmf.NMF(2, **QUICK).fit(X)
    mask = np.zeros(X.shape, dtype=bool)
    mask[:, 0] = True
    with pytest.raises(ValueError, match="no point with two observed entries"):
        model.score(X, mask=mask)
    mask[5, :10] = True
    alone = model.score(X[[5]], mask=mask[[5]])
    assert model.score(X, mask=mask) == alone


def test_large_data_is_sampled(X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    some = sampled(Points(X), 200, KEY)
    assert 3 <= len(some.X) <= 20
    order = np.random.default_rng(0).permutation(40)
    again = sampled(Points(X[order]), 200, KEY)
    assert {x.tobytes() for x in some.X} == {x.tobytes() for x in again.X}
    assert len(sampled(Points(X), 1, KEY).X) == 1
    model = ewnmf.NMF(2, **QUICK).fit(X)
    expected = model.score(sampled(Points(X), 200, holdout._KEY).X)
    assert expected != model.score(X)
    monkeypatch.setattr(holdout, "MOST", 200)
    assert model.score(X) == expected


def test_sparse_data_stays_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdout, "MOST", 1 << 16)
    X = sparse.random_array((3000, 1500), density=0.01, rng=np.random.default_rng(0), format="csr")
    model = ewnmf.NMF(2, tol=0, max_iter=2, random_state=0).fit(X)
    model.score(X[:50])
    tracemalloc.start()
    try:
        model.score(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3000 * 1500 * 8 / 4
