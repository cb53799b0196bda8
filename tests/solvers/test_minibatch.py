"""Batches: one of everything is the full algorithm, sums are carried over, and streams learn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss
from ewnmf.losses.beta import Beta
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler

QUICK: dict[str, Any] = {"max_iter": 8, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def X() -> Any:
    rng = np.random.default_rng(0)
    X = rng.random((240, 3)) @ rng.random((3, 12))
    X[rng.random(X.shape) < 0.02] = 3
    return X


def stream(X: Any, size: int = 60) -> Iterator[Any]:
    return (X[at : at + size] for at in range(0, len(X), size))


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "options",
    [
        {"gamma": 0.1, "solver": "mu"},
        {"gamma": "self-tuned", "solver": "mu"},
        {"weighting": "none", "solver": "mu"},
        {"weighting": "none", "solver": "cd"},
        {"loss": "kullback-leibler", "gamma": 0.1, "solver": "mu"},
    ],
    ids=str,
)
def test_one_batch_of_everything_is_the_full_algorithm(options: dict[str, Any], made: Any, X: Any) -> None:
    one = ewnmf.EWNMF(3, order="codes-first", **options, **QUICK).fit(made(X))
    other = ewnmf.MiniBatchEWNMF(3, batch_size=240, forget_factor=0.0, **options, **QUICK).fit(made(X))
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.loss_curve_, other.loss_curve_)
    assert one.gamma_ == other.gamma_


def test_batches_of_a_file_are_those_of_memory(X: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    model = ewnmf.MiniBatchEWNMF(3, gamma=0.1, batch_size=50, **QUICK)
    one, other = (model.fit(x).components_ for x in (X, ewnmf.open_blocks(tmp_path / "X.npy")))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("options", [{"gamma": 0.1}, {"weighting": "none"}], ids=str)
def test_batches_reach_what_all_points_do(options: dict[str, Any], X: Any) -> None:
    many = np.tile(X, (8, 1))
    how: dict[str, Any] = {"tol": 0, "max_iter": 20, "random_state": 0, **options}
    full = ewnmf.EWNMF(3, solver="cd" if options.get("weighting") == "none" else "mu", **how).fit(many)
    part = ewnmf.MiniBatchEWNMF(3, batch_size=240, **how).fit(many)
    assert part.objective_ < full.objective_
    assert part.loss_curve_[-1] < part.loss_curve_[0]


@pytest.mark.parametrize(
    "loss",
    [Euclidean(), KullbackLeibler(), *map(Alpha, (-1, 1e-6, 0.5, 2)), *map(Beta, (-1, 0, 0.5, 1, 1.5, 2, 3))],
    ids=repr,
)
def test_the_least_value_of_a_carried_majoriser_stays(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    num, den, V, W = rng.uniform(0.5, 2, (4, 6, 3))
    moved = loss.carried(num, den, W / V)
    np.testing.assert_allclose(W * loss.factor(*moved), V * loss.factor(num, den), rtol=1e-10)


class TestPartialFit:
    @pytest.mark.parametrize("model", [ewnmf.NMF(3, random_state=0), ewnmf.EWNMF(3, gamma=0.1, random_state=0)])
    def test_more_batches_explain_more(self, model: Any, X: Any) -> None:
        model = type(model)(**model.get_params())
        clean = np.minimum(X, 2)
        scores = [model.partial_fit(part).score(clean) for _ in range(4) for part in stream(clean)]
        assert scores[-1] > scores[3] > scores[0]
        assert (model.n_steps_, len(model.loss_curve_), model.stop_reason_) == (16, 16, "partial_fit")
        assert model.trust(X).shape == model.weights(X).shape == X.shape

    def test_gamma_is_settled_by_the_first_batch(self, X: Any) -> None:
        model, first = ewnmf.EWNMF(3, gamma="4x", random_state=0), ewnmf.EWNMF(3, gamma="4x", random_state=0)
        model.partial_fit(X[:100]).partial_fit(10 * X[100:])
        assert model.gamma_ == first.fit(X[:100]).gamma_

    @pytest.mark.parametrize("kind", ["save", "go on"])
    def test_it_goes_on(self, kind: str, X: Any, tmp_path: Path) -> None:
        one = ewnmf.EWNMF(3, gamma=0.1, **QUICK).partial_fit(X[:100])
        if kind == "save":
            one.save(tmp_path / "model.ewnmf")
            other = ewnmf.load(tmp_path / "model.ewnmf").partial_fit(X[100:])
            np.testing.assert_array_equal(other.components_, one.partial_fit(X[100:]).components_)
        else:
            fitted = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(X[:100])
            before = fitted.components_.copy()
            assert fitted.partial_fit(X[100:]).n_steps_ == 1
            assert 0 < np.abs(fitted.components_ - before).max() < np.abs(before).max()
            assert not hasattr(fitted.fit(X), "n_steps_")

    def test_a_stream_is_a_loop_over_partial_fit(self, X: Any, tmp_path: Path) -> None:
        model, own = (ewnmf.MiniBatchEWNMF(3, gamma=0.1, forget_factor=0.5, random_state=0) for _ in range(2))
        model.fit(stream(X))
        for part in stream(X):
            own.partial_fit(part)
        np.testing.assert_array_equal(model.components_, own.components_)
        again = model.fit(stream(X))
        np.testing.assert_array_equal(again.components_, own.components_)
        np.save(tmp_path / "X.npy", X)
        blocks = ewnmf.open_blocks(tmp_path / "X.npy")
        np.testing.assert_array_equal(
            ewnmf.NMF(3, random_state=0).partial_fit(blocks).components_,
            ewnmf.NMF(3, random_state=0).partial_fit(X).components_,
        )

    @pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
    def test_the_unit_changes_nothing(self, unit: float, X: Any) -> None:
        one, other = ewnmf.EWNMF(3, gamma=0.1, **QUICK), ewnmf.EWNMF(3, gamma=0.1 * unit**2, **QUICK)
        for part in stream(X, 120):
            one.partial_fit(part)
            other.partial_fit(unit * part)
        np.testing.assert_allclose(other.components_, unit * one.components_, rtol=1e-9)

    def test_gaps_and_weights_of_points(self, X: Any) -> None:
        gaps = np.where(X > 2.9, np.nan, X)
        s = np.linspace(0, 1, 240)
        model = ewnmf.EWNMF(3, gamma=0.1, **QUICK).partial_fit(X).partial_fit(gaps, sample_weight=s)
        assert np.isfinite(model.components_).all()
        plain = ewnmf.NMF(3, **QUICK).partial_fit(X)
        with pytest.raises(ValueError, match=r"X has missing values, which the batches before had not.*'fixed'"):
            plain.partial_fit(gaps)

    def test_fixed_components_stay(self, X: Any) -> None:
        held = np.ones((1, 12))
        model = ewnmf.EWNMF(3, gamma=0.1, fixed_components=held, **QUICK)
        for part in stream(X):
            model.partial_fit(part)
        np.testing.assert_array_equal(model.components_[:1], held)

    def test_refusals(self, X: Any) -> None:
        model = ewnmf.NMF(3, **QUICK).partial_fit(X)
        with pytest.raises(ValueError, match="X has 5 features, but NMF is expecting 12"):
            model.partial_fit(X[:, :5])
        with pytest.raises(ValueError, match="n_components='cv' needs all points"):
            ewnmf.NMF("cv").partial_fit(X)
        with pytest.raises(ValueError, match="init='custom' is for fit"):
            ewnmf.NMF(3, init="custom").partial_fit(X)
        with pytest.raises(ValueError, match="solver='accelerated' cannot be combined with partial_fit"):
            ewnmf.EWNMF(3, gamma=0.1, solver="accelerated").partial_fit(X)
        mini = ewnmf.MiniBatchEWNMF
        with pytest.raises(ValueError, match="solver='accelerated' cannot be combined with batches"):
            mini(3, gamma=0.1, solver="accelerated").fit(X)
        with pytest.raises(ValueError, match="order='components-first' cannot be combined with batches"):
            mini(3, order="components-first").fit(X)
        with pytest.raises(ValueError, match="forget_factor=2 must be a number from 0 to 1"):
            mini(3, forget_factor=2).fit(X)
        with pytest.raises(ValueError, match="batch_size=0 must be an integer of at least 1"):
            mini(3, batch_size=0).fit(X)
        with pytest.raises(ValueError, match="an iterator without any batch"):
            mini(3).fit(iter(()))
        with pytest.raises(ValueError, match="sample_weight was given, but X is an iterator"):
            mini(3).fit(stream(X), sample_weight=np.ones(240))
