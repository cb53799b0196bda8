"""Choosing the number of components: paths, the rule of one standard error, nothing leaks, what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import ewnmf
from ewnmf import RankPath, select_rank
from ewnmf.choosing import holdout
from ewnmf.choosing import rank as ranks
from ewnmf.choosing.rank import search, usual_candidates
from ewnmf.fitting.points import Points
from ewnmf.solvers.loop import Interrupted

SHORT: dict[str, Any] = {"max_iter": 60, "random_state": 0}


def low_rank(seed: int = 0, n: int = 80, m: int = 30, rank: int = 3, noise: float = 0.05) -> np.ndarray:
    """Parts that overlap little, so that their number can be found."""
    rng = np.random.default_rng(seed)
    codes, parts = (rng.random(shape) * (rng.random(shape) < 0.6) for shape in ((n, rank), (rank, m)))
    return np.abs(codes @ parts + noise * rng.standard_normal((n, m)))


def kept(function: Any, answers: list[Any]) -> Any:
    """The function, with its answers kept."""

    def call(*arguments: Any, **options: Any) -> Any:
        answers.append(function(*arguments, **options))
        return answers[-1]

    return call


def path_of(scores: Any, candidates: Any = None) -> RankPath:
    scores = np.asarray(scores, dtype=float)
    return RankPath(np.arange(1, scores.shape[1] + 1) if candidates is None else np.array(candidates), scores, 0.1, 9)


def test_the_smallest_within_one_standard_error_is_chosen() -> None:
    path = path_of([[-4.0, -1.2, -1.0, -1.1], [-4.0, -1.0, -1.0, -1.1], [-4.0, -0.95, -1.0, -1.4]], [2, 4, 8, 16])
    np.testing.assert_allclose(path.means, [-4.0, -1.05, -1.0, -1.2])
    assert path.best == 8
    errors: list[Any] = [0, np.std([0.2, 0, -0.05], ddof=1) / 3**0.5, 0, np.std([0.1, 0.1, 0.4], ddof=1) / 3**0.5]
    np.testing.assert_allclose(path.standard_errors, errors)
    assert path.chosen == 4


@given(st.integers(2, 6), st.integers(1, 8), st.integers(0, 10**6))
def test_the_chosen_is_at_most_the_best(n_repeats: int, n_candidates: int, seed: int) -> None:
    path = path_of(np.random.default_rng(seed).normal(size=(n_repeats, n_candidates)))
    assert path.chosen <= path.best
    assert path.standard_errors[path.candidates == path.best] == 0
    shifted = path_of(path.scores + np.arange(n_repeats)[:, None])
    assert (shifted.best, shifted.chosen) == (path.best, path.chosen)


@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
def test_the_rank_is_found_in_spite_of_outliers(loss: str) -> None:
    X = low_rank()
    X[np.random.default_rng(1).random(X.shape) < 0.03] = 4.0
    estimator = ewnmf.EWNMF(loss=loss, n_init=2, **SHORT)
    path = select_rank(X, [1, 2, 3, 6, 10], estimator=estimator)
    assert path.chosen == 3
    assert path.scores.shape == (5, 5)
    assert (path.share, path.n_points) == (0.1, 80)


def test_candidates_are_sorted_and_each_counts_once() -> None:
    path = select_rank(low_rank(), (4, 2, 4, np.int64(1)), repeats=2, random_state=0)
    assert path.candidates.tolist() == [1, 2, 4]
    alone = select_rank(low_rank(), [2], repeats=2, random_state=0)
    np.testing.assert_array_equal(alone.scores[:, 0], path.scores[:, 1])
    assert alone.chosen == 2


def test_hold_outs_do_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the hidden entries hold changes their losses, and nothing in the fits."""
    X = low_rank()
    solutions: list[Any] = []
    hidden = [holdout.hold_out(Points(X), 0.1, b"k", turn) for turn in range(2)]
    turns = iter(hidden * 2)
    monkeypatch.setattr(ranks, "hold_out", lambda *_: next(turns))
    monkeypatch.setattr(ranks, "restarts", kept(vars(ranks)["restarts"], solutions))
    estimator = ewnmf.EWNMF(gamma=0.1, **SHORT)
    before = select_rank(X, [2], estimator=estimator, repeats=2)
    changed = X.copy()
    changed[hidden[0]] = 9.0
    after = select_rank(changed, [2], estimator=estimator, repeats=2)
    assert after.scores[0, 0] < before.scores[0, 0] - 1
    # Codes start from the point itself, of which the first fit sees the same.
    factors = [solution.factors for solution in solutions]
    np.testing.assert_array_equal(factors[0].H, factors[2].H)
    np.testing.assert_array_equal(factors[0].W, factors[2].W)
    assert (factors[1].W != factors[3].W).any()


def test_the_same_seed_gives_the_same_path_in_any_order() -> None:
    X = low_rank()
    options: dict[str, Any] = {"repeats": 2, "random_state": 3}
    path = select_rank(X, [1, 3], **options)
    np.testing.assert_array_equal(select_rank(X, [1, 3], n_jobs=2, **options).scores, path.scores)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(select_rank(X[order], [1, 3], **options).scores, path.scores, rtol=1e-6)
    assert (select_rank(X, [1, 3], repeats=2, random_state=4).scores != path.scores).all()


def test_gaps_masks_and_weights_count() -> None:
    X = low_rank()
    mask = np.random.default_rng(1).random(X.shape) > 0.2
    options: dict[str, Any] = {"repeats": 2, "random_state": 0}
    gaps = select_rank(np.where(mask, X, np.nan), [1, 3], **options)
    np.testing.assert_array_equal(select_rank(np.where(mask, X, -5), [1, 3], mask=mask, **options).scores, gaps.scores)
    assert gaps.chosen == 3
    weights = np.arange(80) % 2
    twice = select_rank(X, [1, 3], sample_weight=2 * weights, **options)
    assert twice.n_points == 40
    np.testing.assert_allclose(twice.scores, select_rank(X[weights > 0], [1, 3], **options).scores, rtol=1e-9)
    fixed = select_rank(X, [1, 3], estimator=ewnmf.NMF(weighting="fixed"), weights=mask * 1.0, **options)
    assert fixed.chosen == 3


@pytest.mark.parametrize(
    "estimator",
    [ewnmf.SemiNMF(), ewnmf.ONMF(), ewnmf.ONMF(method="soft"), ewnmf.NMF(loss="alpha", alpha=-1.0)],
    ids=str,
)
def test_every_model_that_takes_gaps(estimator: Any) -> None:
    path = select_rank(low_rank(), [1, 3], estimator=estimator.set_params(max_iter=50), repeats=2, random_state=0)
    assert path.chosen == 3


def test_sparse_data_is_that_of_dense_and_sampled_where_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.maximum(low_rank(noise=0) - 0.2, 0)
    X[:5] += 0.1  # no attribute is zero in every point: those have a closed form in sparse data
    options: dict[str, Any] = {"repeats": 2, "random_state": 0, "estimator": ewnmf.NMF()}
    dense, thin = (select_rank(data, [1, 3], **options) for data in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin.scores, dense.scores, rtol=1e-8)
    monkeypatch.setattr(holdout, "MOST", 900)
    few = select_rank(sparse.csr_array(X), [1, 3], **options)
    assert 15 <= few.n_points <= 45


def chosen_gamma(X: np.ndarray, **options: Any) -> Any:
    """What becomes of gamma in the trials."""
    estimator = ewnmf.EWNMF(**SHORT, **options)
    trials = estimator._trials(Points(X), *estimator._problem())
    return trials.at_chosen_gamma([1, 3, 6]).job.request


def test_gamma_is_chosen_once_by_what_predicts() -> None:
    X = low_rank()
    assert chosen_gamma(X).value == np.inf
    X[np.random.default_rng(1).random(X.shape) < 0.03] = 4.0
    assert 0.1 < chosen_gamma(X).value < 6
    assert chosen_gamma(2 * X).value == pytest.approx(4 * chosen_gamma(X).value, rel=0.1)
    assert chosen_gamma(X, gamma=0.3).value == 0.3
    assert chosen_gamma(X, gamma="4x").times == 4
    assert chosen_gamma(X, gamma="self-tuned").rule == "self-tuned"
    assert chosen_gamma(np.ones((20, 8))).value == np.inf


@pytest.mark.parametrize("gamma", ["4x", "self-tuned", 0.5])
def test_gammas_that_are_given_are_used(gamma: Any) -> None:
    X = low_rank()
    X[np.random.default_rng(1).random(X.shape) < 0.03] = 4.0
    assert select_rank(X, [1, 3], estimator=ewnmf.EWNMF(gamma=gamma, **SHORT), repeats=2).chosen == 3


@given(st.integers(1, 300))
def test_usual_candidates_reach_half_the_limit(limit: int) -> None:
    found = usual_candidates(limit)
    assert found[0] == 1
    assert found == sorted(set(found))
    assert found[-1] <= max(1, limit // 2)
    assert 1.5 * found[-1] >= min(64, limit // 2) - 1


class Curve:
    """Trials whose scores are known."""

    limit, least = 1000, 1

    def __init__(self, top: float) -> None:
        self.top, self.asked = top, []  # type: ignore[var-annotated]

    def at_chosen_gamma(self, candidates: list[int]) -> Any:
        return self

    def scores(self, K: int) -> list[float]:
        self.asked.append(K)
        return [-abs(K - self.top) + 0.01 * turn * (-1) ** K for turn in range(3)]

    share = 0.1
    job = SimpleNamespace(points=Points(np.ones((5, 5))))
    path = ranks.Trials.path


@pytest.mark.parametrize(("top", "asked"), [(5, [1, 2, 3, 4, 6, 8, 12, 5, 7]), (1, [1, 2, 3])])
def test_the_search_ends_early_and_looks_closer(top: float, asked: list[int]) -> None:
    curve: Any = Curve(top)
    path = search(curve)
    assert path.chosen == top
    assert set(curve.asked) <= set(asked)
    assert len(curve.asked) == len(set(curve.asked))


def test_the_search_looks_at_few_numbers_on_each_side() -> None:
    curve: Any = Curve(26)
    path = search(curve)
    assert path.candidates.tolist() == [1, 2, 3, 4, 6, 8, 12, 16, 18, 20, 22, 24, 26, 28, 30, 32, 48]
    assert path.chosen == 26


def test_estimators_choose_by_themselves(tmp_path: Path) -> None:
    X = low_rank()
    model = ewnmf.EWNMF("cv", tol=1e-3, random_state=1).fit(X)
    assert model.n_components_ == len(model.components_) == model.rank_path_.chosen == 3
    assert model.n_components == "cv"
    same = clone(model).set_params(n_components=3).fit(X)
    np.testing.assert_array_equal(model.components_, same.components_)
    assert not hasattr(same, "rank_path_")
    path = select_rank(X, estimator=model)
    np.testing.assert_array_equal(path.scores, model.rank_path_.scores)
    model.save(tmp_path / "model.ewnmf")
    again = ewnmf.load(tmp_path / "model.ewnmf")
    np.testing.assert_array_equal(again.rank_path_.scores, model.rank_path_.scores)
    assert again.rank_path_.chosen == 3
    model.set_params(n_components=2).fit(X)
    assert (model.n_components_, hasattr(model, "rank_path_")) == (2, False)


def test_components_that_stay_are_among_the_candidates() -> None:
    X = low_rank()
    estimator = ewnmf.NMF(fixed_components=X[:2], **SHORT)
    assert select_rank(X, [2, 4], estimator=estimator, repeats=2).candidates.tolist() == [2, 4]
    with pytest.raises(ValueError, match="fixed_components has 2 rows, but n_components=1"):
        select_rank(X, [1, 2], estimator=estimator, repeats=2)
    model = clone(estimator).set_params(n_components="cv", tol=0).fit(X)
    np.testing.assert_array_equal(model.components_[:2], X[:2])
    assert model.rank_path_.candidates[0] == 2


def test_ctrl_c_ends_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    solution: Any = None

    def interrupted(*_: Any, **__: Any) -> Any:
        raise Interrupted(solution)

    monkeypatch.setattr(ranks, "restarts", interrupted)
    model = ewnmf.EWNMF("cv", random_state=0)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(low_rank())
    assert not hasattr(caught.value, "solution")
    assert not hasattr(model, "components_")


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"candidates": []}, ValueError, "candidates is empty"),
    ({"candidates": [2, 31]}, ValueError, r"candidates has 31, but X allows at most min\(n_samples, n_features\)=30"),
    ({"candidates": [0, 2]}, ValueError, "n_components=0 must be an integer of at least 1"),
    ({"candidates": [2.5]}, ValueError, "n_components=2.5 must be an integer"),
    ({"candidates": [True]}, ValueError, "n_components=True must be an integer"),
    ({"candidates": "auto"}, TypeError, "candidates='auto' must be a list of integers"),
    ({"candidates": 3}, TypeError, "candidates=3 must be a list of integers"),
    ({"repeats": 1}, ValueError, "repeats=1 must be an integer of at least 2"),
    ({"share": 0}, ValueError, "share=0 must be a number above 0 and below 1"),
    ({"share": 1.0}, ValueError, "share=1.0 must be a number above 0 and below 1"),
    ({"share": "half"}, ValueError, "share='half' must be a number above 0"),
    ({"estimator": "nmf"}, TypeError, "estimator='nmf' must be an estimator of ewnmf"),
    ({"estimator": ewnmf.ConvexNMF()}, ValueError, "ConvexNMF .*cannot do; search n_components with GridSearchCV"),
    ({"estimator": ewnmf.ONMF(method="stiefel")}, ValueError, "ONMF .*cannot do; search n_components"),
    ({"estimator": ewnmf.NMF(init="custom")}, ValueError, "init='custom' has the n_components of its start"),
    ({"mask": np.eye(80, 30, dtype=bool)}, ValueError, "no point with two observed entries"),
]


@pytest.mark.parametrize(("options", "kind", "message"), REFUSED)
def test_what_cannot_be_is_refused(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        select_rank(low_rank(), **options)


def test_names_that_are_not_known() -> None:
    with pytest.raises(ValueError, match=r"n_components='Cv'.*'auto'.*'cv'"):
        ewnmf.EWNMF("Cv").fit(low_rank())
    with pytest.raises(ValueError, match=r"n_components='cv' is for the estimators; .*select_rank\(X\).chosen"):
        ewnmf.factorize(low_rank(), "cv")
    with pytest.raises(ValueError, match=r"ConvexNMF .*cannot do"):
        ewnmf.ConvexNMF("cv").fit(low_rank())
    with pytest.raises(ValueError, match="no point with two observed entries"):
        ewnmf.EWNMF("cv").fit(np.ones((5, 1)))
