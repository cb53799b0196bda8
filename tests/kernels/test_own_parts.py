"""Losses and weightings of the user's own: honoured with Numba as without it, compiled if they bring scalar forms."""

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
from ewnmf.kernels.compiled.records import How
from ewnmf.kernels.reference import Kernel
from ewnmf.losses.elementary import numbers
from ewnmf.losses.euclidean import Squared
from ewnmf.problem import Problem
from ewnmf.scalar import Numbers, exp, expm1
from ewnmf.storage.dense import Dense
from ewnmf.weightings.base import Weighed, Weighting
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from ewnmf.weightings.uniform import Uniform
from tests.problems import kernels

ignored = pytest.mark.filterwarnings("ignore:.* brings no scalar form of its own:RuntimeWarning")
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
    with pytest.warns(RuntimeWarning, match=rf"{name} brings no scalar form of its own.*NumPy reference") as caught:
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


class Unknown(NamedTuple):
    """A compiled loss that nobody has written."""

    alpha: float


@pytest.mark.skipif(not select._numba_works(), reason="nothing is compiled")
def test_no_compiled_dispatch_falls_through() -> None:
    from numba import errors, njit

    from ewnmf.kernels.compiled import formulas, rows

    ends = numbers(np.float64, 1e-90)

    calls = [
        lambda loss, v: rows.losses_of_row(loss, v, v, v),
        lambda loss, v: rows.pull_row(loss, v, v, v, v, v),
        lambda loss, v: rows.pull_row_again(loss, v, v, v, v, v),
        lambda loss, v: formulas.factor(loss, 1.0, 1.0, 1.0),
        lambda loss, v: formulas.penalised_factor(loss, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0),
        lambda form, v: rows.weigh_row(How(Squared(ends), form), v, v, None, 0, v, v),
    ]
    for call in calls:
        with pytest.raises(errors.TypingError, match="has no formula"):
            njit(call)(Unknown(0.5), np.ones(3))


class TriplePower(NamedTuple):
    """Scalar form of `Triple`."""

    numbers: Numbers

    @staticmethod
    def divergence(c: Any, x: Any, y: Any) -> Any:
        return 3 * (x - y) * (x - y)

    @staticmethod
    def neg(c: Any, x: Any, y: Any) -> Any:
        return x

    @staticmethod
    def pos(c: Any, x: Any, y: Any) -> Any:
        return y

    @staticmethod
    def factor(c: Any, num: Any, den: Any, cap: Any) -> Any:
        return num / den if den > 0 else 1.0


@dataclass(frozen=True)
class Triple(Nine):
    """``3 (x - y)^2`` with a scalar form."""

    def divergence(self, x: Any, y: Any) -> Any:
        return 3 * (x - y) ** 2

    def scalar(self, numbers: Numbers) -> TriplePower:
        return TriplePower(numbers)


@dataclass(frozen=True)
class Compiled(Welsch):
    """`Welsch` with a scalar form."""

    def scalar(self, dtype: Any) -> Any:
        return WelschForm(np.dtype(dtype).type(self.g))


class WelschForm(NamedTuple):
    """Scalar form of `Compiled`."""

    g: Any

    @staticmethod
    def value(c: Any, d: Any) -> Any:
        return -c.g * expm1(-d / c.g)

    @staticmethod
    def slope(c: Any, d: Any) -> Any:
        return exp(-d / c.g)


@pytest.mark.filterwarnings("error:.*NumPy reference")
@pytest.mark.parametrize(("order", "weights"), [("codes-first", True), ("components-first", False)])
def test_own_parts_with_scalar_forms_are_compiled(order: str, weights: bool, X: np.ndarray) -> None:
    options: dict[str, Any] = {"order": order, "rng": 0, "max_iter": 15}
    X[3, 4] = np.nan
    if weights:
        options["sample_weight"] = np.linspace(0.5, 2, 40)
    if select._numba_works():
        problem, data = Problem(Triple(), models.NMF(), Compiled(0.1)), Dense(np.nan_to_num(X).T)
        assert type(select.kernel_for(problem, problem.rule(data.facts(problem)), data.tiny)) is fused.FusedKernel
    mine = ewnmf.factorize(X, 3, loss=Triple(), weighting=Compiled(0.1), **options)
    with warnings.catch_warnings(), kernels(False):
        warnings.simplefilter("ignore")
        theirs = ewnmf.factorize(X, 3, weighting=Welsch(0.1 / 3), **options)
    np.testing.assert_allclose(mine.history, 3 * theirs.history, rtol=1e-9)
    np.testing.assert_allclose(mine.codes, theirs.codes, rtol=1e-7, atol=1e-9)


@pytest.mark.skipif(not select._numba_works(), reason="nothing is compiled")
def test_machine_code_of_own_forms_is_not_kept_on_disk() -> None:
    from numba import typeof

    from ewnmf.kernels.compiled.entry import _is_ours

    ends = numbers(np.float64, 1e-90)
    ours = How(Squared(ends), Entropy(0.1).scalar(np.float64))
    assert _is_ours(typeof(ours))
    assert not _is_ours(typeof(ours._replace(loss=TriplePower(ends))))
