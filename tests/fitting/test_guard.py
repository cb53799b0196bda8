"""What has no weight is predicted within what was seen of its attribute; everything else stays as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ewnmf import EWNMF, NMF, ONMF, ConvexNMF, SemiNMF, load
from ewnmf.fitting.guard import NEGLIGIBLE, WIDENED, reconstruct

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

KINDS = ("flat", "faint", "empty")
LONG: dict[str, Any] = {"max_iter": 150, "tol": 1e-4, "random_state": 0}


def table(kind, seed=0, n=90, m=16):
    """Data in [0, 1] with three columns of almost no spread, and the weights 1 / spread^2 of its columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)) @ (rng.random((4, m)) * (rng.random((4, m)) < 0.6))
    X /= X.max()
    noise = 1e-8 * np.abs(rng.standard_normal((n, 3)))
    X[:, :3] = {"flat": 0.5 + noise, "faint": noise, "empty": 0 * noise}[kind]
    return X, 1 / np.maximum(X.std(axis=0), 1e-8) ** 2


def assert_held(model, X, seen=None, **given):
    """Entries of negligible weight lie within the range seen, widened by half; no entry is far beyond the data."""
    seen = X if seen is None else seen
    Y, A = model.inverse_transform(model.transform(X, **given)), model.weights(X, **given)
    low, high = np.nanmin(seen, axis=0), np.nanmax(seen, axis=0)
    reach, unheld = WIDENED * (high - low), A < NEGLIGIBLE * A.mean()
    assert unheld.any()
    assert (Y - high <= reach)[unheld].all()
    assert (low - Y <= reach)[unheld].all()
    assert np.abs(Y).max() <= 5 * np.nanmax(np.abs(seen))


def plain(X, K):
    model = NMF(K, **LONG).fit(X)
    return model.inverse_transform(model.transform(X)).max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", ["4x", 1e-3])
def test_extreme_priors_of_attributes(kind, gamma, seed):
    X, f = table(kind, seed)
    model = EWNMF(8, gamma=gamma, feature_weight=f, **LONG).fit(X)
    assert_held(model, X)
    assert model.inverse_transform(model.transform(X)).max() <= 10 * plain(X, 8)


@given(kind=st.sampled_from(KINDS), gamma=st.sampled_from(["4x", "2x", 1e-3]), seed=st.integers(0, 2**20))
def test_extrapolation_leaves_nothing_unheld(kind, gamma, seed):
    X, f = table(kind, seed, n=40)
    model = EWNMF(6, gamma=gamma, feature_weight=f, solver="accelerated", **LONG).fit(X)
    assert_held(model, X)
    assert model.inverse_transform(model.transform(X)).max() <= 10 * plain(X, 6)


@pytest.mark.parametrize("seed", [0, 1, 3])
@pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler", "alpha"])
@pytest.mark.parametrize("solver", ["mu", "accelerated"])
def test_entropy_weights_with_gaps(loss, solver, seed):
    X, f = table("faint", seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.3] = np.nan
    assert_held(EWNMF(8, gamma="1x", loss=loss, solver=solver, feature_weight=f, **LONG).fit(X), X)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator", [NMF, SemiNMF, ONMF, ConvexNMF])
def test_fixed_weights_of_many_sizes(estimator, seed):
    X = table("flat", seed)[0] - (0.3 if estimator is SemiNMF else 0)
    A = 10.0 ** np.random.default_rng(seed).uniform(-15, 0, X.shape)
    assert_held(estimator(5, weighting="fixed", **LONG).fit(X, weights=A), X, weights=A)


@pytest.mark.parametrize("estimator", [SemiNMF, ONMF, ConvexNMF])
def test_entropy_weights_of_other_models(estimator):
    X, f = table("faint")
    assert_held(estimator(5, weighting="entropy", gamma="1x", feature_weight=f, **LONG).fit(X), X)


def test_new_points_sparse_and_single_precision():
    X, f = table("faint", n=180)
    assert_held(EWNMF(8, gamma="4x", feature_weight=f, **LONG).fit(X[:90]), X[90:], seen=X[:90])
    single = X.astype(np.float32)
    assert_held(EWNMF(8, gamma="4x", feature_weight=f / f.max(), **LONG).fit(single), single)
    X[X < 0.3] = 0
    model = EWNMF(8, gamma="4x", feature_weight=f, **LONG)
    rebuilt = model.fit(X).inverse_transform(model.transform(X))
    thin = csr_matrix(X)
    np.testing.assert_allclose(model.fit(thin).inverse_transform(model.transform(thin)), rebuilt, atol=1e-8)


def test_gaps_are_filled_within_the_range():
    """Each point has as many observed entries as components, so that the rest of it is a guess."""
    rng = np.random.default_rng(1)
    X = rng.random((60, 12))
    X[:, 4:][rng.random((60, 8)) < 0.6] = np.nan
    model = NMF(8, **LONG).fit(X)
    assert_held(model, X)
    assert not np.allclose(model.transform(X) @ model.components_, model.inverse_transform(model.transform(X)))


@pytest.mark.parametrize(
    "model",
    [
        NMF(3),
        SemiNMF(3),
        EWNMF(3, gamma=np.inf),
        EWNMF(3, gamma="64x"),
        NMF(3, feature_weight=np.linspace(1, 20, 16)),
    ],
    ids=repr,
)
def test_without_faint_entries_the_reconstruction_is_the_product(model):
    X, _ = table("flat")
    model.set_params(**LONG).fit(X)
    codes = 1e3 * model.transform(X)
    assert np.array_equal(model.inverse_transform(codes), codes @ model.components_)


def bounds_of(model) -> Any:
    return model._bounds


def fits():
    """A fit of data in [0, 1] whose factors have a product of 3e6."""
    X, f = table("faint", 3)
    X[np.random.default_rng(3).random(X.shape) < 0.3] = np.nan
    return X, EWNMF(8, gamma="4x", feature_weight=f, **LONG).fit(X)


def test_bounds_never_raise_a_loss():
    X, model = fits()
    codes, seen = model.transform(X), ~np.isnan(X)
    product, held = codes @ model.components_, model.inverse_transform(codes)
    assert (np.abs(X - held) <= np.abs(X - product))[seen].all()
    assert product.max() > 1e6
    assert held.max() < 1.5


def test_bounds_belong_to_the_data_of_fit():
    """Order, repetition, unit and a refit of it."""
    X, model = fits()
    bounds = bounds_of(model)
    again = EWNMF(**model.get_params())
    assert np.array_equal(bounds_of(again.fit(np.repeat(X, 2, axis=0)[::-1])), bounds)
    assert np.array_equal(bounds_of(again.fit(X, sample_weight=np.full(len(X), 2.0))), bounds)
    assert np.array_equal(bounds_of(again.fit(4 * X)) / 4, np.minimum(bounds, np.finfo(float).max / 4))
    assert bounds_of(again.set_params(gamma=np.inf, feature_weight=None).fit(np.nan_to_num(X))) is None


def test_bounds_are_saved(tmp_path):
    X, model = fits()
    model.save(tmp_path / "m.ewnmf")
    again = load(tmp_path / "m.ewnmf")
    codes = model.transform(X)
    assert np.array_equal(again.inverse_transform(codes), model.inverse_transform(codes))
    assert again.score(X) == model.score(X)
    model._bounds = bounds_of(model)[:, 1:]
    model.save(tmp_path / "m.ewnmf")
    with pytest.raises(ValueError, match="its bounds are no table of 2 x 16 numbers"):
        load(tmp_path / "m.ewnmf")


def test_models_of_before_have_no_bounds(tmp_path):
    X, model = fits()
    del model._bounds
    model.save(tmp_path / "m.ewnmf")
    codes = model.transform(X)
    assert np.array_equal(load(tmp_path / "m.ewnmf").inverse_transform(codes), codes @ model.components_)


def test_score_is_that_of_bounded_reconstructions():
    """Hidden entries of a point are unheld too."""
    X, model = fits()
    bounded = model.score(X)
    model._bounds = None
    assert model.score(X) < bounded


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_beyond_the_numbers_of_their_type_are_held(dtype):
    """Where codes of a point stand against next to nothing, and components elsewhere are large."""
    large = dtype(np.finfo(dtype).max / 4)
    codes = np.array([[large, 1], [large, large], [1, 1e-3]], dtype)
    components = np.array([[2, 8, -8, 8, 1], [1, 1, 1, -8, 1]], dtype)
    with np.errstate(all="raise"):
        Y = reconstruct(codes, components, None)
    end = np.finfo(dtype).max
    np.testing.assert_allclose(Y[0], [2 * large, end, -end, end, large])
    np.testing.assert_allclose(Y[1], [3 * large, end, -end, 0, 2 * large])
    np.testing.assert_allclose(Y[2], [2.001, 8.001, -7.999, 7.992, 1.001], rtol=1e-6)
    assert Y.dtype == dtype
    bounds = np.array([[-1] * 5, [1e3] * 5], dtype)
    np.testing.assert_array_equal(reconstruct(codes, components, bounds), np.clip(Y, -1, 1e3))


def test_a_fitted_model_reconstructs_codes_that_are_too_large():
    X = np.random.default_rng(0).random((12, 6)).astype(np.float32)
    model = NMF(2, max_iter=5, tol=0, random_state=0).fit(X)
    codes = np.full((1, 2), 1e38, np.float32)
    model.components_[:, 0] = 1e30
    Y = model.inverse_transform(codes)
    assert Y[0, 0] == np.finfo(np.float32).max
    np.testing.assert_allclose(Y[0, 1:], 1e38 * model.components_[:, 1:].sum(axis=0), rtol=1e-6)
