"""What the estimators promise beyond scikit-learn's checks."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import ewnmf
from ewnmf import losses, weightings

CLASSES = (ewnmf.EWNMF, ewnmf.NMF, ewnmf.ONMF, ewnmf.SemiNMF, ewnmf.ConvexNMF)
QUICK: dict[str, Any] = {"tol": 0, "max_iter": 25, "random_state": 0}


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(11)
    X = rng.random((45, 3)) @ rng.random((3, 14)) + 0.05 * rng.random((45, 14))
    X[4, :3] = 2.0
    return X


def _variants() -> list[Any]:
    cases = [(cls, {"weighting": w}) for cls in CLASSES for w in ("entropy", "none", "fixed")]
    cases += [(ewnmf.EWNMF, {"loss": loss}) for loss in ("kullback-leibler", "alpha")]
    cases += [(ewnmf.ONMF, {"method": "soft", "of": of, "weighting": "entropy"}) for of in ("codes", "components")]
    cases += [(ewnmf.ONMF, {"of": "components"}), (ewnmf.ONMF, {"loss": "kullback-leibler"})]
    cases += [(ewnmf.ONMF, {"method": method}) for method in ("lagrange", "stiefel")]
    return [pytest.param(cls, kw, id=f"{cls.__name__}-{'-'.join(kw.values())}") for cls, kw in cases]


@pytest.mark.parametrize(("cls", "options"), _variants())
class TestTransform:
    def test_fit_transform_is_fit_then_transform(self, cls: Any, options: Any, X: np.ndarray) -> None:
        model = cls(3, **QUICK, **options)
        np.testing.assert_array_equal(model.fit_transform(X), clone(model).fit(X).transform(X))

    def test_is_a_function_of_one_point(self, cls: Any, options: Any, X: np.ndarray) -> None:
        model = cls(3, **{**QUICK, "tol": 1e-4}, **options)
        codes = model.set_params(tol=0).fit(X).set_params(tol=1e-4).transform(X)
        order = np.random.default_rng(0).permutation(len(X))
        np.testing.assert_allclose(model.transform(X[order]), codes[order], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(model.transform(X[7:41]), codes[7:41], rtol=1e-12, atol=1e-13)
        for i in (0, 31, 32, 44):
            np.testing.assert_allclose(model.transform(X[[i]]), codes[[i]], rtol=1e-12, atol=1e-13)

    def test_threads_change_nothing(self, cls: Any, options: Any, X: np.ndarray) -> None:
        one, four = (cls(3, n_jobs=n, **QUICK, **options).fit(X) for n in (1, 4))
        np.testing.assert_array_equal(one.components_, four.components_)
        np.testing.assert_array_equal(one.transform(X), four.transform(X))

    def test_pickle_keeps_the_bits(self, cls: Any, options: Any, X: np.ndarray) -> None:
        model = cls(3, **QUICK, **options).fit(X)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        np.testing.assert_array_equal(again.weights(X), model.weights(X))

    def test_attributes(self, cls: Any, options: Any, X: np.ndarray) -> None:
        model = cls(3, **QUICK, **options).fit(X)
        assert model.components_.shape == (3, 14)
        assert model.n_components_ == 3
        assert model.n_features_in_ == 14
        assert model.n_iter_ == 25
        assert model.stop_reason_ == "max_iter"
        assert model.objective_ == model.loss_curve_[-1]
        assert model.reconstruction_err_ > 0
        entropy = getattr(model, "weighting", None) == "entropy"
        assert (model.gamma_ is not None and model.gamma_ > 0) if entropy else model.gamma_ is None
        assert len(model.loss_curve_) == 25
        assert (model.gamma_path_.gamma == model.gamma_) if entropy else model.gamma_path_ is None
        assert model.inverse_transform(model.transform(X)).shape == X.shape
        assert model.score(X) < 0

    def test_input_is_left_alone(self, cls: Any, options: Any, X: np.ndarray) -> None:
        before = X.copy()
        X.setflags(write=False)
        cls(3, **QUICK, **options).fit(X).weights(X)
        np.testing.assert_array_equal(X, before)

    def test_float32_stays_float32(self, cls: Any, options: Any, X: np.ndarray) -> None:
        model = cls(3, **QUICK, **options).fit(X.astype(np.float32))
        single = X.astype(np.float32)
        assert model.components_.dtype == np.float32
        assert model.transform(single).dtype == np.float32
        assert model.weights(single).dtype == np.float32
        assert np.isfinite(model.transform(single)).all()


def test_weights_of_every_weighting(X: np.ndarray) -> None:
    A = np.random.default_rng(0).random(X.shape)
    learned = ewnmf.EWNMF(3, gamma=0.05, **QUICK).fit(X).weights(X)
    np.testing.assert_allclose(learned.sum(axis=1), 1, rtol=1e-12)
    assert learned[4, :3].max() < learned[4, 3:].min()
    np.testing.assert_array_equal(ewnmf.NMF(3, **QUICK).fit(X).weights(X), np.full_like(X, 1 / X.shape[1]))
    fixed = ewnmf.NMF(3, weighting="fixed", **QUICK).fit(X, weights=A)
    np.testing.assert_array_equal(fixed.weights(X, weights=A), A)
    np.testing.assert_array_equal(fixed.weights(X), np.ones_like(X))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_weights_of_plain_nmf_are_those_of_an_infinite_gamma(kind: Any, X: np.ndarray) -> None:
    mask = np.random.default_rng(1).random(X.shape) < 0.8
    f = np.linspace(0.5, 2, X.shape[1])
    masks: list[dict[str, Any]] = [{}, {"mask": mask}]
    importances: list[dict[str, Any]] = [{}, {"feature_weight": f}]
    for hidden in masks:
        for options in importances:
            plain = ewnmf.NMF(3, **options, **QUICK).fit(kind(X), **hidden).weights(kind(X), **hidden)
            infinite = ewnmf.EWNMF(3, gamma=np.inf, **options, **QUICK).fit(kind(X), **hidden)
            np.testing.assert_array_equal(plain, infinite.weights(kind(X), **hidden))
            share = np.ones_like(X) * hidden.get("mask", 1) * options.get("feature_weight", 1)
            np.testing.assert_allclose(plain, share / share.sum(axis=1, keepdims=True), rtol=1e-14)
    run = ewnmf.factorize(kind(X), 3, weighting="none", rng=0, max_iter=3)
    np.testing.assert_array_equal(run.weights(), np.full_like(X, 1 / X.shape[1]))


def test_run_weights_are_those_of_equation_18(X: np.ndarray) -> None:
    answer = ewnmf.factorize(X, 3, gamma=0.05, max_iter=20, rng=0)
    D = (X - answer.codes @ answer.components) ** 2
    T = np.exp(-D / 0.05)
    np.testing.assert_allclose(answer.weights(), T / T.sum(axis=1, keepdims=True), rtol=1e-10)


def test_transform_reaches_what_the_fit_reached(X: np.ndarray) -> None:
    model = ewnmf.NMF(3, tol=0, max_iter=2000, random_state=0).fit(X)
    error = np.linalg.norm(X - model.inverse_transform(model.transform(X)))
    assert error <= model.reconstruction_err_ * (1 + 1e-6)


def test_self_tuned_gamma_is_eight_mean_losses_and_shared_by_restarts(X: np.ndarray) -> None:
    options: dict[str, Any] = {"gamma": "self-tuned", "tol": 0, "max_iter": 40, "random_state": 0}
    model = ewnmf.EWNMF(3, n_init=3, **options).fit(X)
    first = ewnmf.EWNMF(3, n_init=1, **options).fit(X)
    assert model.gamma_ == first.gamma_
    assert model.gamma_path_ is None
    assert model.objective_ <= first.objective_
    tuned: list[Any] = []
    answer = ewnmf.factorize(X, 3, gamma="self-tuned", max_iter=40, rng=0, callbacks=[tuned.append])
    last = tuned[19]
    mean = np.mean((X - last.codes @ last.components) ** 2)
    assert answer.gamma == pytest.approx(8 * mean, rel=1e-10)
    assert [report.settled for report in tuned] == [False] * 20 + [True] * 20
    assert len(answer.history) == 20
    assert answer.n_iter == 40


@pytest.mark.parametrize("max_iter", [1, 2, 3, 9])
def test_self_tuned_gamma_with_few_iterations(max_iter: int, X: np.ndarray) -> None:
    model = ewnmf.EWNMF(3, gamma="self-tuned", tol=0, max_iter=max_iter, random_state=0).fit(X)
    assert model.gamma_ is not None
    assert 0 < model.gamma_ < np.inf
    assert np.isfinite(model.objective_)
    assert len(model.loss_curve_) == max(1, max_iter - max(1, max_iter // 2))


def test_auto_gamma_where_the_fit_is_exact() -> None:
    model = ewnmf.EWNMF(1, tol=0, max_iter=40, random_state=0).fit(np.full((6, 5), 3.0))
    assert model.gamma_ == np.inf
    np.testing.assert_allclose(model.weights(np.full((2, 5), 3.0)), 0.2)
    assert np.isfinite(model.objective_)


def test_restarts_keep_the_best_by_objective(X: np.ndarray) -> None:
    many = ewnmf.NMF(3, n_init=5, **QUICK).fit(X)
    starts = np.random.RandomState(0)
    singles = [ewnmf.NMF(3, **{**QUICK, "random_state": starts}).fit(X).objective_ for _ in range(5)]
    assert many.objective_ == min(singles)
    assert len(set(singles)) == 5


def test_custom_start_is_used(X: np.ndarray) -> None:
    rng = np.random.default_rng(5)
    codes, components = rng.random((45, 3)), rng.random((3, 14))
    model = ewnmf.EWNMF(init="custom", gamma=0.1, solver="mu", tol=0, max_iter=7)
    model.fit(X, W=codes, H=components)
    direct = ewnmf.factorize(X, 3, gamma=0.1, codes=codes, components=components, max_iter=7, order="codes-first")
    np.testing.assert_array_equal(model.components_, direct.components)
    np.testing.assert_array_equal(
        model.fit_transform(X, W=codes, H=components), clone(model).fit(X, W=codes, H=components).transform(X)
    )


def test_convex_components_are_combinations(X: np.ndarray) -> None:
    rng = np.random.default_rng(5)
    codes, U = rng.random((45, 3)), rng.random((45, 3))
    model = ewnmf.ConvexNMF(3, init="custom", weighting="entropy", gamma=0.1, tol=0, max_iter=7).fit(X, W=codes, U=U)
    np.testing.assert_allclose(model.components_, model.combinations_.T @ X, rtol=1e-10)
    direct = ewnmf.factorize(X, 3, model="convex-nmf", gamma=0.1, codes=codes, combinations=U, max_iter=7)
    np.testing.assert_array_equal(direct.combinations, model.combinations_)


@pytest.mark.parametrize("init", ["random", "nndsvd", "nndsvda", "nndsvdar"])
@pytest.mark.parametrize("cls", CLASSES)
def test_inits(cls: Any, init: str, X: np.ndarray) -> None:
    model = cls(3, init=init, **QUICK).fit(X)
    again = cls(3, init=init, **QUICK).fit(X)
    np.testing.assert_array_equal(model.components_, again.components_)
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_nndsvd_zeros_do_not_lock() -> None:
    X = np.kron(np.eye(3), np.ones((5, 4))) + 0.3
    locked = ewnmf.NMF(3, init="nndsvd", tol=0, max_iter=2000).fit(X)
    free = ewnmf.NMF(3, init="nndsvda", tol=0, max_iter=2000).fit(X)
    assert locked.reconstruction_err_ < 1e-2 + free.reconstruction_err_


def test_objects_as_parameters(X: np.ndarray) -> None:
    model = ewnmf.EWNMF(3, loss=losses.Alpha(0.3), weighting=weightings.Entropy(0.2), **QUICK).fit(X)
    named = ewnmf.EWNMF(3, loss="alpha", alpha=0.3, gamma=0.2, **QUICK).fit(X)
    np.testing.assert_array_equal(model.components_, named.components_)
    assert model.gamma_ == 0.2
    assert clone(model).get_params()["loss"] == losses.Alpha(0.3)


@dataclass(frozen=True)
class ItakuraSaito(losses.Loss):
    """``d(x, y) = x/y - ln(x/y) - 1``, with the exponent 1/2 of its auxiliary function."""

    name: ClassVar[str] = "itakura-saito"
    exponent: ClassVar[float] = 0.5

    def divergence(self, x: Any, y: Any) -> Any:
        return x / y - np.log(x / y) - 1

    def neg(self, x: Any, y: Any) -> Any:
        return x / y**2

    def pos(self, x: Any, y: Any) -> Any:
        return 1 / y

    @property
    def needs_positive(self) -> bool:
        return True


@pytest.mark.filterwarnings("ignore:loss=ItakuraSaito.* brings no scalar form of its own:RuntimeWarning")
def test_a_loss_of_ones_own(X: np.ndarray) -> None:
    model = ewnmf.EWNMF(3, loss=ItakuraSaito(), gamma=1.0, tol=0, max_iter=60, random_state=0).fit(X)
    assert (np.diff(model.loss_curve_) <= 0).all()
    assert pickle.loads(pickle.dumps(clone(model))).loss == ItakuraSaito()
    tuned = ewnmf.EWNMF(3, loss=ItakuraSaito(), gamma="groups", tol=0, max_iter=60, random_state=0).fit(X)
    assert tuned.gamma_ is not None
    assert tuned.gamma_ > 0
    np.testing.assert_allclose(model.weights(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match="X has zeros"):
        model.fit(np.zeros((4, 3)))


def test_hard_onmf_codes_have_one_component(X: np.ndarray) -> None:
    model = ewnmf.ONMF(3, weighting="entropy", **QUICK).fit(X)
    assert (np.count_nonzero(model.transform(X), axis=1) == 1).all()


def test_verbose_writes_to_standard_error(X: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    ewnmf.EWNMF(3, gamma="self-tuned", verbose=2, **QUICK).fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("EWNMF: fit\nEWNMF: iteration 1, objective ")
    assert "iteration 20" in err
    assert "(tuning)" in err


def test_components_of_convex_nmf_part() -> None:
    """From combinations of all points, all of them the mean, the fit ended within ten iterations."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 4)) @ rng.random((4, 30)) + 0.05 * rng.random((300, 30))
    model = ewnmf.ConvexNMF(4, max_iter=100, tol=1e-4, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert model.n_iter_ == 100
    assert np.corrcoef(model.components_).min() < 0.98
