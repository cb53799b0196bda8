"""Results are finite, of the right type and the same every time, on data that is hard on the arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ewnmf import EWNMF, Factorization, factorize
from ewnmf.fitting.points import Points
from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss
from ewnmf.losses.kullback_leibler import KullbackLeibler
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.problem import Problem
from ewnmf.weightings.registry import with_gamma
from tests.problems import DEFINED, ORDERS, OTHERS, PAIRED, Case, Instance, excesses

Array = NDArray[Any]


def _ordinary() -> Array:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(7, 3)) @ rng.uniform(size=(3, 9)) + 0.05 * rng.uniform(size=(7, 9))
    hit = rng.random(X.shape) < 0.1
    X[hit] = rng.uniform(0, 10, hit.sum())
    X[rng.random(X.shape) < 0.2] = 0
    return X


ORDINARY = _ordinary()
EMPTY = ORDINARY.copy()
EMPTY[2], EMPTY[:, 4] = 0, 0

DATA: dict[str, tuple[Array, int]] = {
    "ordinary": (ORDINARY, 3),
    "times 1e-6": (1e-6 * ORDINARY, 3),
    "times 1e6": (1e6 * ORDINARY, 3),
    "zero point and attribute": (EMPTY, 3),
    "nothing but zeros": (np.zeros((4, 5)), 2),
    "one point": (ORDINARY[:1], 2),
    "one attribute": (ORDINARY[:, :1], 2),
    "one entry": (ORDINARY[:1, :1] + 1, 1),
    "K = 1": (ORDINARY, 1),
    "K > min(n, m)": (ORDINARY, 12),
    "constant": (np.full((5, 6), 0.7), 2),
    "attributes over ten decades": (ORDINARY * np.geomspace(1e-5, 1e5, 9), 3),
}
SHAPES = ("one point", "one attribute", "one entry", "K = 1", "constant")
"""What has nothing to do with precision."""
EXTREMES = [(1e-8, ORDERS[0]), (1e-8, ORDERS[1]), (1e8, ORDERS[0])]
CHOSEN = [("auto", ORDERS[0]), (1e-8, ORDERS[1])]
"""What robust weights of single entries are tried with: a choice takes several runs."""


def suited(X: Array, case: Case, dtype: Any) -> Array:
    """The data without zeros where the loss forbids them, and of both signs where the case wants them."""
    if case.loss.needs_positive:
        X = np.where(X > 0, X, 0.5 * min(X[X > 0], default=2.0))
    if case.mixed:
        X = X * np.where(np.arange(X.size).reshape(X.shape) % 3, 1, -1)
    return X.astype(dtype)


def results(case: Case, X: Array, K: int, which: slice) -> list[Factorization]:
    """Short runs in both orders, at gammas at both ends of what is allowed for, or some of them."""
    instance = Instance.around(X, K, np.random.default_rng(1), case)
    weights = instance.weights if case.weighting == "fixed" else None
    parts: dict[str, Any] = {"loss": case.loss, "model": case.model, "weighting": case.weighting, "weights": weights}
    runs: list[tuple[Any, str]] = [("auto", order) for order in ORDERS]
    if case.weighting in with_gamma():
        runs = EXTREMES if case.weighting == "entropy" else CHOSEN
    return [factorize(X, K, **parts, gamma=g, order=o, max_iter=4, rng=0, n_jobs=1) for g, o in runs[which]]


EITHER = [(case, np.float64) for case in DEFINED] + [(case, np.float32) for case in (*PAIRED, *OTHERS)]
"""Every case in double precision, and in single precision every pair of parts."""


@pytest.mark.parametrize(("case", "dtype"), EITHER, ids=str)
def test_results_are_finite_and_keep_their_type(case: Case, dtype: Any) -> None:
    if case.loss.needs_double and dtype == np.float32:
        pytest.skip("refused in single precision")
    single = dtype == np.float32
    for number, (kind, (values, K)) in enumerate(DATA.items()):
        if single and kind in SHAPES:
            continue
        # In single precision kinds of data take turns in the order.
        which = slice(number % 2, None, 2) if single else slice(2 if kind in SHAPES else 3)
        answers = results(case, suited(values, case, dtype), K, which)
        for answer in answers:
            assert_sound(answer, case, dtype, kind)


def assert_sound(answer: Factorization, case: Case, dtype: Any, kind: str) -> None:
    arrays = [answer.codes, answer.components, answer.weights()]
    if case.convex:
        assert answer.combinations is not None, kind
        arrays.append(answer.combinations)
    for array in arrays:
        assert array.dtype == dtype, kind
        assert np.isfinite(array).all(), kind
    assert np.all(answer.codes >= 0), kind
    assert np.all(answer.components >= 0) or case.mixed or case.semi, kind
    assert np.isfinite(answer.history).all(), kind
    assert 0 <= answer.excess < np.inf, kind


@pytest.mark.parametrize("case", [*PAIRED, *OTHERS], ids=str)
def test_single_precision_follows_double(case: Case) -> None:
    if case.loss.needs_double:
        pytest.skip("refused in single precision")
    X = suited(np.abs(ORDINARY) + 0.1, case, np.float64)
    instance = Instance.around(X, 2, np.random.default_rng(1), case, calm=True)
    options: dict[str, Any] = {"weights": instance.weights} if case.weighting == "fixed" else {}
    basis = "combinations" if case.convex else "components"
    start = {"codes": instance.codes, basis: getattr(instance, basis)}
    parts: dict[str, Any] = {"loss": case.loss, "model": case.model, "weighting": case.weighting, "gamma": 10.0}
    if case.weighting != "entropy":
        del parts["gamma"]

    def answer(dtype: Any) -> Factorization:
        return factorize(X.astype(dtype), 2, **parts, **options, **start, max_iter=3, n_jobs=1)

    double, single = answer(np.float64), answer(np.float32)
    size = np.abs(double.codes @ double.components).max()
    error = np.abs(double.codes @ double.components - single.codes @ single.components).max()
    assert error <= 1e-3 * size
    assert single.excess == pytest.approx(double.excess, rel=1e-3)


@pytest.mark.parametrize("case", [*PAIRED, *OTHERS], ids=str)
def test_the_same_rng_gives_the_same_bits(case: Case) -> None:
    X = suited(ORDINARY, case, np.float64)
    one, again, other = (results_at(case, X, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.codes, again.codes)
    np.testing.assert_array_equal(one.components, again.components)
    np.testing.assert_array_equal(one.history, again.history)
    assert not np.array_equal(one.components, other.components) or case.steep


def results_at(case: Case, X: Array, seed: int) -> Factorization:
    gamma = 0.1 if case.weighting in with_gamma() and not case.common else "auto"
    parts: dict[str, Any] = {"loss": case.loss, "model": case.model, "weighting": case.weighting, "gamma": gamma}
    return factorize(X, 3, **parts, max_iter=3, rng=seed, n_jobs=1)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("case", [*PAIRED, *OTHERS], ids=str)
def test_data_and_start_are_left_alone(case: Case, order: str) -> None:
    X = suited(ORDINARY, case, np.float64)
    instance = Instance.around(X, 3, np.random.default_rng(2), case)
    given = (instance.X, instance.weights, instance.codes, instance.components, instance.combinations)
    before = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    assert np.isfinite(excesses(case, instance, order=order, max_iter=3)).all()
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)


SPARSE_TABLE = np.array(
    [
        [0.68, 0.33, 0.18, 0.84],
        [0.0, 0.56, 1.5, 0.38],
        [0.4, 0.06, 0.1, 0.31],
        [0.24, 0.06, 1.5, 0.0],
        [0.65, 0.0, 0.88, 1.1],
        [0.89, 0.49, 0.8, 0.57],
        [0.0, 0.28, 1.3, 0.0],
        [0.63, 0.35, 0.44, 0.65],
        [1.0, 0.4, 1.7, 0.06],
    ]
)


@pytest.mark.parametrize("a", [-8.0, 4.0, 8.0, 30.0])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(4))
def test_large_powers_keep_the_excess_falling(a: float, order: str, seed: int) -> None:
    """A point of one weighted entry suits every component, and one of them comes to hold only a floor there."""
    X, weights = SPARSE_TABLE[:, :2], SPARSE_TABLE[:, 2:]
    case = Case(Orthogonal("hard"), Alpha(a), "fixed")
    X = suited(X, case, np.float64)
    instance = replace(Instance.around(X, 2, np.random.default_rng(seed), case), weights=weights)
    E = excesses(case, instance, order=order, max_iter=25)
    assert np.all(np.diff(E) <= 1e-12 * E[0])


@pytest.mark.parametrize(
    ("loss", "of", "seed"),
    [
        (KullbackLeibler(), "codes", 23),
        (Alpha(0.5), "codes", 26),
        (Alpha(0.5), "components", 47),
        (Alpha(2.0), "codes", 5),
        (Alpha(0.0), "components", 49),
    ],
    ids=str,
)
def test_rounding_does_not_choose_between_components_that_suit_alike(loss: Loss, of: str, seed: int) -> None:
    """All rows are equal, so that every component fits, and weights over 18 decades make rounding of costs visible."""
    rng = np.random.default_rng(seed)
    X = np.full((12, 9), 0.81)
    mask, f = rng.random(X.shape) < 0.9, 10.0 ** rng.uniform(-9, 9, 9)
    E: list[float] = []
    watch = [lambda at: E.append(at.excess)]
    parts: dict[str, Any] = {"loss": loss, "model": Orthogonal("hard", of), "weighting": "none"}
    factorize(X, 5, **parts, mask=mask, feature_weight=f, rng=seed, max_iter=25, n_jobs=1, callbacks=watch)
    exact = (16 * np.finfo(float).eps) ** 2 * np.sum(mask * f * X)
    assert np.all(np.diff(E) <= 1e-12 * E[0] + exact)


@pytest.mark.parametrize("loss", [KullbackLeibler(), Alpha(0.5), Alpha(2.0)], ids=repr)
def test_an_attribute_that_only_one_point_has_is_found(loss: Loss) -> None:
    X = np.zeros((4, 5))
    X[:3, :4], X[3, 4] = 1, 2
    answer = factorize(X, 2, loss=loss, weighting="none", max_iter=200, rng=0, n_jobs=1)
    np.testing.assert_allclose(answer.codes @ answer.components, X, atol=1e-9)


@pytest.mark.parametrize("numba", [True, False], ids=["compiled", "reference"])
def test_codes_that_would_overflow_stay_finite(numba: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that was observed only where its component has next to nothing asks for codes beyond single precision."""
    if not numba:
        monkeypatch.setattr("ewnmf.kernels.select._numba_works", lambda: False)
    X = np.array([[1.0, 0.0], [2000.0, 0.0], [np.nan, 4000.0]], np.float32)
    F = np.array([[1.0, 1e-36]], np.float32)
    asked: dict[str, Any] = {"loss": "kullback-leibler", "gamma": 0.3, "max_iter": 20, "tol": 0, "random_state": 0}
    model = EWNMF(1, fixed_components=F, **asked)
    codes = model.fit(X[:2]).transform(X)
    assert np.isfinite(codes).all()
    assert codes[2, 0] > 1e30
    assert np.isfinite(model.inverse_transform(codes)).all()
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-5, 1.0, 9e5])
def test_what_stands_against_a_floor_can_be_divided_by_it(scale: float, dtype: Any) -> None:
    data = Points(np.array([[scale, 0.0]], dtype)).data
    facts = data.facts(Problem.of("kullback-leibler", "nmf", "none"))
    assert scale / facts.basis_floor < 0.01 * np.finfo(dtype).max
    assert facts.basis_floor <= 1e-30 * max(1.0, scale)


def test_codes_of_hard_orthogonal_nmf_leave_losses_that_can_be_summed() -> None:
    """A point that was observed only where components are at their floor gets codes whose squares must not overflow."""
    X = np.array([[1, 0], [2, 0], [np.nan, 1]], np.float32)
    start: dict[str, Any] = {"codes": np.ones((3, 1)), "components": np.array([[2, 1e-36]], np.float32)}
    asked: dict[str, Any] = {"weighting": "none", "order": "codes-first", "max_iter": 1}
    answer = factorize(X, 1, model=Orthogonal(method="hard", of="components"), **start, **asked)
    assert answer.codes.max() > 1e14
    assert np.isfinite([answer.loss, answer.excess]).all()
