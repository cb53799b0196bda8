"""Losses and weightings of the user's own: honoured with Numba as without it, by the reference, with one warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf import losses, models
from ewnmf.kernels import select
from ewnmf.kernels.compiled import fused
from ewnmf.kernels.reference import Kernel
from ewnmf.problem import Problem
from ewnmf.storage.dense import Dense
from ewnmf.weightings.base import Weighed, Weighting
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from ewnmf.weightings.uniform import Uniform

ignored = pytest.mark.filterwarnings("ignore:.* is not one of ewnmf's own:RuntimeWarning")
QUICK: dict[str, Any] = {"tol": 0, "max_iter": 25, "random_state": 0}


@dataclass(frozen=True)
class Welsch(Weighting):
    """``phi(d) = g (1 - exp(-d / g))`` of every entry."""

    g: float

    def evaluate(self, D: Any, P: Any = None, s: Any = None, silent: int = 0) -> Weighed:
        A = self.constant(D, P, s)
        values = np.asarray(-self.g * np.sum(A * np.expm1(-D / self.g), axis=0, dtype=np.float64))
        return Weighed(A * np.exp(-D / self.g), values, values)


@dataclass(frozen=True)
class Doubled(Entropy):
    """Entropy weights at twice the gamma that they are given."""

    def evaluate(self, D: Any, P: Any = None, s: Any = None, silent: int = 0) -> Weighed:
        return Entropy(2 * self.gamma).evaluate(D, P, s, silent)


@dataclass(frozen=True)
class Falling(Uniform):
    """Constant weights that fall from attribute to attribute."""

    def constant(self, X: Any, P: Any = None, s: Any = None, silent: int = 0) -> Any:
        A = np.ones(X.shape, X.dtype) * np.linspace(1, 0.2, X.shape[0])[:, None]
        A = A if P is None else A * P
        return A if s is None else A * s


@dataclass(frozen=True)
class Nine(losses.Euclidean):
    """``9 (x - y)^2``."""

    def divergence(self, x: Any, y: Any) -> Any:
        return 9 * (x - y) ** 2


@dataclass(frozen=True)
class Pulled(losses.KullbackLeibler):
    """KL with another step: its slope is not that of its divergence."""

    def neg(self, x: Any, y: Any) -> Any:
        return 2 * super().neg(x, y)


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.random((40, 3)) @ rng.random((3, 12)) + 0.05 * rng.random((40, 12))
    X[::5, 2] = 3.0
    return X


@pytest.fixture(autouse=True)
def _nothing_was_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "_warned", set())


@pytest.mark.skipif(not select._numba_works(), reason="without Numba there is another warning")
@pytest.mark.parametrize(
    ("options", "name"),
    [({"weighting": Welsch(0.1)}, r"weighting=Welsch\(g=0.1\)"), ({"loss": Nine(), "gamma": 1.0}, r"loss=Nine\(\)")],
)
def test_one_warning_for_each_class(options: dict[str, Any], name: str, X: np.ndarray) -> None:
    model = ewnmf.EWNMF(3, **options, **QUICK)
    with pytest.warns(RuntimeWarning, match=rf"{name} is not one of ewnmf's own.*NumPy reference") as caught:
        model.fit(X).transform(X)
    assert len(caught) == 1
    model.fit(X).transform(X)


ESTIMATORS: list[Callable[..., Any]] = [ewnmf.EWNMF, ewnmf.NMF, ewnmf.SemiNMF, ewnmf.ConvexNMF, ewnmf.ONMF]


@ignored
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_that_depend_on_the_losses(estimator: Any, dtype: Any, X: np.ndarray) -> None:
    X = X.astype(dtype)
    model = estimator(3, weighting=Welsch(0.1), **QUICK).fit(X)
    Y = model.transform(X) @ model.components_
    np.testing.assert_allclose(
        model.weights(X), np.exp(-((X - Y) ** 2) / 0.1), rtol=1e-3 if dtype == np.float32 else 1e-9
    )
    assert np.all(np.diff(model.loss_curve_) <= 1e-6 * model.loss_curve_[0])
    assert model.gamma_ is None
    assert np.isfinite(model.score(X))


@ignored
@pytest.mark.parametrize("order", ["codes-first", "components-first"])
@pytest.mark.parametrize("gap", [False, True])
def test_a_weighting_derived_from_entropy(order: str, gap: bool, X: np.ndarray) -> None:
    if gap:
        X[3, 4] = np.nan
    options: dict[str, Any] = {"order": order, "rng": 0, "max_iter": 20}
    mine = ewnmf.factorize(X, 3, weighting=Doubled(0.1), **options)
    theirs = ewnmf.factorize(X, 3, gamma=0.2, **options)
    np.testing.assert_allclose(mine.history, theirs.history, rtol=1e-9)
    np.testing.assert_allclose(mine.codes, theirs.codes, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(mine.weights(), theirs.weights(), rtol=1e-7, atol=1e-9)
    assert mine.gamma == 0.1
    assert Doubled(np.inf).adaptive


@ignored
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_constant_weights_derived_from_none(kind: Any, X: np.ndarray) -> None:
    X[X < 1] = 0
    A = np.broadcast_to(np.linspace(1, 0.2, 12), X.shape)
    mine = ewnmf.factorize(kind(X), 3, weighting=Falling(), rng=0, max_iter=25)
    theirs = ewnmf.factorize(X, 3, weighting="fixed", weights=A, rng=0, max_iter=25)
    np.testing.assert_allclose(mine.history, theirs.history, rtol=1e-10)
    np.testing.assert_allclose(mine.codes, theirs.codes, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(mine.weights(), A)
    np.testing.assert_allclose(ewnmf.NMF(3, weighting=Falling(), **QUICK).fit(kind(X)).weights(kind(X)), A)


@ignored
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_losses_derived_from_others(kind: Any, X: np.ndarray) -> None:
    X[X < 1] = 0
    options: dict[str, Any] = {"weighting": "none", "rng": 0, "max_iter": 15}
    nine = ewnmf.factorize(kind(X), 3, loss=Nine(), **options)
    one = ewnmf.factorize(X, 3, **options)
    np.testing.assert_allclose(nine.history, 9 * one.history, rtol=1e-9)
    pulled = ewnmf.factorize(kind(X), 3, loss=Pulled(), **options)
    assert pulled.history[-1] > 1.1 * ewnmf.factorize(X, 3, loss="kullback-leibler", **options).history[-1]
    with pytest.raises(ValueError, match="cannot be combined with model='semi-nmf'"):
        ewnmf.factorize(X, 3, loss=Nine(), model="semi-nmf", weighting="none")


def test_no_compiled_kernel_takes_them(X: np.ndarray) -> None:
    known = Problem(losses.Euclidean(), models.NMF(), Entropy(0.1))
    data = Dense(X.T)
    rule = known.rule(data.facts(known))
    for problem in (known.at(Doubled(0.1)), known.at(Welsch(0.1)), replace(known, loss=Nine())):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert type(select.kernel_for(problem, rule, data.tiny)) is Kernel
        with pytest.raises(TypeError, match="has no compiled form"):
            fused.FusedKernel(problem, rule, data.tiny)
    for weighting in (Uniform(), Fixed(), Entropy(0.1)):
        assert known.at(weighting).is_known
    with pytest.raises(TypeError, match=r"loss=Nine\(\) has no compiled form"):
        fused._compiled(Nine())


class Unknown(NamedTuple):
    """A compiled loss that nobody has written."""

    alpha: float


@pytest.mark.skipif(not select._numba_works(), reason="nothing is compiled")
def test_no_compiled_dispatch_falls_through() -> None:
    from numba import errors, njit

    from ewnmf.kernels.compiled import rows, sweeps

    losses_of_row, pull_row, again = rows.losses_of_row, rows.pull_row, rows.pull_row_again
    factor, penalised, weights_row = sweeps._factor, sweeps._penalised_factor, sweeps._weights_row
    calls = [
        lambda loss, v: losses_of_row(loss, v, v, v, 0.0, 0.0, 0.0),
        lambda loss, v: pull_row(loss, v, v, v, v, v, 0.0, 0.0, 0.0),
        lambda loss, v: again(loss, v, v, v, v, v, 0.0, 0.0, 0.0),
        lambda loss, v: factor(loss, 1.0, 1.0, 1.0),
        lambda loss, v: penalised(loss, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0),
        lambda loss, v: weights_row(loss, v, v),
    ]
    for call in calls:
        with pytest.raises(errors.TypingError, match="no compiled form is known for Unknown"):
            njit(call)(Unknown(0.5), np.ones(3))
