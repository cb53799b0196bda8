"""Every way of choosing gamma serves every weighting that has one: a new one is a class and a line of the registry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import ewnmf
from ewnmf import weightings
from ewnmf._types import Array
from ewnmf.weightings.base import Weighed, Weighting
from ewnmf.weightings.registry import WEIGHTINGS

pytestmark = pytest.mark.filterwarnings("ignore:.*NumPy reference:RuntimeWarning")


@dataclass(frozen=True)
class Falling(Weighting):
    """Weights ``exp(-d / gamma)``: those of correntropy."""

    gamma: float

    name: ClassVar[str] = "falling"
    has_gamma: ClassVar[bool] = True

    @property
    def adaptive(self) -> bool:
        return self.gamma < math.inf

    def times(self, factor: float) -> Falling:
        return Falling(self.gamma * factor)

    def start(self) -> Falling:
        return Falling(math.inf)

    def evaluate(self, D: Array, P: Array | None = None, s: Array | None = None, silent: int = 0) -> Weighed:
        A = self.constant(D, P, s)
        T = A * np.exp(-D / self.gamma)
        E = np.sum(A * (D if self.gamma == math.inf else -self.gamma * np.expm1(-D / self.gamma)), axis=0)
        return Weighed(T, E, E)


@dataclass(frozen=True)
class Strict(Weighting):
    """No gamma, and none may be given."""

    name: ClassVar[str] = "strict"
    refuses_gamma: ClassVar[bool] = True


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for cls in (Falling, Strict):
        monkeypatch.setitem(WEIGHTINGS, cls.name, cls)


@pytest.fixture(scope="module")
def X() -> Array:
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)) @ rng.random((3, 12)) + 0.01 * rng.random((60, 12))
    X[:20, :3] = 4
    return X


QUICK: dict[str, Any] = {"max_iter": 40, "tol": 0, "weighting": "falling"}


def mean_loss_of_nmf(X: Array) -> float:
    return ewnmf.factorize(X, 3, weighting="none", rng=0, max_iter=40).loss / X.size


def test_the_same_weighting_at_another_gamma() -> None:
    assert weightings.Entropy(2.0).at(0.5) == weightings.Entropy(0.5)
    assert Falling(1.0).at(3.0) == Falling(3.0)
    assert (weightings.Entropy(2.0).strength, weightings.Uniform().strength) == (2.0, None)
    with pytest.raises(TypeError, match=r"Uniform\(\) has no gamma"):
        weightings.Uniform().at(1.0)


def test_auto_tries_gammas_of_the_weighting_that_was_asked_for(X: Array) -> None:
    fit = ewnmf.factorize(X, 3, rng=0, gamma="groups", **QUICK)
    assert fit.gamma_path is not None
    assert len(fit.gamma_path.gammas) > 2
    assert fit.problem.weighting == Falling(fit.gamma_path.gamma)
    assert fit.gamma == fit.gamma_path.gamma
    model = ewnmf.NMF(3, random_state=0, **QUICK).fit(X)
    assert model.gamma_ == model.gamma_path_.gamma


def test_a_multiple_is_one_of_plain_nmfs_mean_loss(X: Array) -> None:
    fit = ewnmf.factorize(X, 3, rng=0, gamma="4x", **QUICK)
    assert fit.gamma == pytest.approx(4 * mean_loss_of_nmf(X), rel=1e-9)
    assert isinstance(fit.problem.weighting, Falling)


def test_a_self_tuned_gamma_is_of_the_weighting_that_was_asked_for(X: Array) -> None:
    seen: list[float | None] = []
    fit = ewnmf.factorize(X, 3, rng=0, gamma="self-tuned", callbacks=[lambda at: seen.append(at.gamma)], **QUICK)
    assert isinstance(fit.problem.weighting, Falling)
    assert fit.gamma is not None
    assert 0 < fit.gamma < math.inf
    assert seen[0] == math.inf
    assert seen[-1] == fit.gamma


def test_callbacks_see_gamma_in_the_unit_of_the_data(X: Array) -> None:
    seen: list[Any] = []
    c = 2.0**40
    ewnmf.factorize(c * X, 3, rng=0, gamma=c**2 * 0.05, callbacks=[seen.append], **QUICK)
    assert {at.gamma for at in seen} == {c**2 * 0.05}


def test_paths_and_ranks(X: Array) -> None:
    model = ewnmf.NMF(3, random_state=0, **QUICK)
    assert ewnmf.gamma_path(X, estimator=model, relative=[4, 2], rule="groups").relative.tolist() == [math.inf, 4, 2]
    assert ewnmf.select_rank(X, [2, 3], estimator=model, repeats=2).candidates.tolist() == [2, 3]


def test_at_an_infinite_gamma_it_is_plain_nmf(X: Array) -> None:
    fit = ewnmf.factorize(X, 3, rng=0, gamma=math.inf, **QUICK)
    plain = ewnmf.factorize(X, 3, rng=0, max_iter=40, weighting="none")
    np.testing.assert_allclose(fit.components, plain.components, rtol=1e-6)
    assert fit.gamma == math.inf
    assert fit.objective == pytest.approx(plain.objective, rel=1e-9)


def test_a_weighting_may_refuse_a_gamma(X: Array) -> None:
    ewnmf.NMF(2, weighting="strict", max_iter=2, tol=0).fit(X)
    with pytest.raises(ValueError, match=r"gamma=0\.5 was given, but weighting='strict' has no gamma; leave it out"):
        ewnmf.NMF(2, weighting="strict", gamma=0.5).fit(X)


def test_an_unknown_name_names_all_that_are_known(X: Array) -> None:
    with pytest.raises(ValueError, match=r"'entropy', 'falling', 'fixed', .*'none', 'strict'"):
        ewnmf.NMF(2, weighting="fallin").fit(X)
