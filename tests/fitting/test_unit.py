"""``c * X`` is answered like ``X``: the unit of the data changes the unit of the answer, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

import ewnmf
from ewnmf import losses, models
from ewnmf.fitting.points import Points
from ewnmf.fitting.unit import Unit
from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss
from ewnmf.problem import Problem
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy
from tests.problems import kernels

Array = NDArray[Any]
ALPHA3 = {"loss": "alpha", "alpha": 3.0}
KL = {"loss": "kullback-leibler"}
WEIGHTED = ("none", "fixed", "entropy")
SCALES: dict[Any, tuple[tuple[float, ...], float]] = {
    np.float64: ((1e-100, 1e-60, 1e-20, 1e-6, 1e20, 1e60, 1e100), 1e-8),
    np.float32: ((2.0**-93, 2.0**-66, 2.0**-18, 2.0**27, 2.0**66, 2.0**93), 1e-5),
}
"""Scales, and how far answers may be apart. In single precision a scale that is no power of two rounds every value, of
which the start of a point is drawn."""
MODELS: list[tuple[type[Any], dict[str, Any], tuple[str, ...]]] = [
    *((ewnmf.NMF, loss, WEIGHTED) for loss in ({}, KL, {"loss": "alpha"}, ALPHA3, {"loss": "alpha", "alpha": -1.0})),
    (ewnmf.NMF, {"init": "nndsvda"}, ("entropy",)),
    (ewnmf.NMF, {"solver": "accelerated"}, ("entropy",)),
    *((ewnmf.ONMF, loss, WEIGHTED) for loss in ({}, KL, ALPHA3)),
    *((ewnmf.ONMF, {"of": "components", **loss}, WEIGHTED) for loss in ({}, KL, ALPHA3)),
    (ewnmf.ONMF, {"method": "lagrange"}, ("none",)),
    (ewnmf.ONMF, {"method": "stiefel", "of": "components"}, ("none",)),
    (ewnmf.SemiNMF, {}, WEIGHTED),
    *((ewnmf.ConvexNMF, loss, WEIGHTED) for loss in ({}, KL, ALPHA3)),
]
CASES = [(cls, {"weighting": w, **options}) for cls, options, weightings in MODELS for w in weightings]


def _data() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.random((12, 3)) @ rng.random((3, 8)) + 0.3 * rng.random((12, 8))
    X[rng.random(X.shape) < 0.1] *= 4
    return X, rng.uniform(0.1, 2, X.shape)


DATA, GIVEN = _data()


def answers(model: Any, X: Array, c: float) -> dict[str, Any]:
    """What a model fitted on ``c * X`` says, without its unit."""
    cX = X * X.dtype.type(c)
    given = {"weights": GIVEN} if model.weighting == "fixed" else {}
    model.fit(cX, **given)
    degree = model._fitted_problem.loss.degree
    codes = model.transform(cX, **given)
    return {
        "reconstruction": codes.astype(np.float64) @ (model.components_ / c).astype(np.float64),
        "weights": model.weights(cX, **given),
        "score": model.score(cX, **given) / c**degree,
        "gamma": 0 if model.gamma_ is None else model.gamma_ / c**degree,
        "curve": model.loss_curve_ / c**degree,
        "error": model.reconstruction_err_ / c ** (degree / 2),
    }


def at(cls: type[Any], c: float, gamma: Any = "4x", **options: Any) -> Any:
    """The estimator, with a gamma that is a number in the unit of the loss of ``c * X``."""
    if isinstance(gamma, float):
        gamma *= c ** (2 if options.get("loss", "euclidean") == "euclidean" else 1)
    model = cls(3, gamma=gamma, max_iter=6, tol=0, n_jobs=1, random_state=0)
    return model.set_params(**options)


def compare(one: dict[str, Any], other: dict[str, Any], tolerance: float, where: str = "") -> None:
    for name, value in one.items():
        np.testing.assert_allclose(
            other[name], value, rtol=0, atol=tolerance * np.abs(value).max(), err_msg=name + where
        )


ROUNDS = 1e-7
"""Rounds of weighted least squares are taken back where ``E`` rises, which its rounding may decide: codes that are near
their end are known to the root of that."""


@pytest.mark.parametrize("order", ["components-first", "codes-first"])
@pytest.mark.parametrize("dtype", SCALES)
def test_points_that_depend_on_each_other_start_in_the_size_of_the_data(dtype: Any, order: str) -> None:
    """Six points of which three differ cannot say all of five components: the rest of the start stays."""
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 6)), 2, axis=0).astype(dtype)
    model = ewnmf.SemiNMF(5, weighting="none", order=order, max_iter=3, tol=0, random_state=0)
    one, *others = (model.fit(c * X).inverse_transform(model.transform(c * X)) / c for c in (1, dtype(2) ** 15))
    np.testing.assert_array_equal(others[0], one)


@pytest.mark.parametrize("dtype", SCALES)
@pytest.mark.parametrize(("cls", "options"), CASES, ids=str)
def test_the_unit_changes_nothing(cls: type[Any], options: dict[str, Any], dtype: Any) -> None:
    X, (scales, tolerance) = DATA.astype(dtype), SCALES[dtype]
    if cls is ewnmf.NMF and options.get("weighting") == "entropy" and dtype == np.float64:
        tolerance = ROUNDS
    with kernels(dtype == np.float64 or options.get("loss") != "alpha"):
        one = answers(at(cls, 1.0, **options), X, 1.0)
        for c in scales:
            compare(one, answers(at(cls, c, **options), X, c), tolerance, f" at {c:g}")


@pytest.mark.parametrize("power", [-9, 9])
def test_what_no_point_of_a_component_has_weight_for_has_the_unit_of_the_data(power: int) -> None:
    X, c, P = DATA[:6], 2.0**power, 1.0 * (np.random.default_rng(0).random((6, 8)) < 0.5)
    model = ewnmf.ONMF(4, weighting="fixed", solver="mu", max_iter=5, tol=0, random_state=0)
    one, other = (clone(model).fit(unit * X, weights=P).components_ / unit for unit in (1.0, c))
    np.testing.assert_allclose(other, one, rtol=1e-9)


@pytest.mark.parametrize("c", [1e-80, 2.0**-18, 2.0**18, 1e60])
@pytest.mark.parametrize("beta", [-1.0, 0.0, 0.5, 1.5, 2.5, 3.0])
def test_steps_that_are_short_start_from_the_size_of_the_data(beta: float, c: float) -> None:
    with kernels(False):
        one, other = (answers(at(ewnmf.NMF, s, loss=losses.Beta(beta)), DATA + 0.1, s) for s in (1.0, c))
    compare(one, other, 1e-8)


@pytest.mark.parametrize("beta", [0.0, 3.0])
@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_powers_of_single_precision_are_taken_of_values_near_one(beta: float, scale: float) -> None:
    rng = np.random.default_rng(0)
    X = (np.where(rng.random((6, 4)) < 0.5, 1, 1e-5) * scale).astype(np.float32)
    start = {
        name: rng.random(shape).astype(np.float32) + 0.1 for name, shape in (("codes", (6, 2)), ("components", (2, 4)))
    }
    start["components"] *= np.float32(scale)
    E: list[float] = []
    asked: dict[str, Any] = {**start, "weighting": "none", "max_iter": 30, "tol": 0}
    ewnmf.factorize(X, 2, loss=losses.Beta(beta), callbacks=[lambda at: E.append(at.excess)], **asked)
    assert (np.diff(E) <= 1e-5 * np.abs(E[:-1])).all()


@pytest.mark.parametrize("scale", [1e100, 1e-100])
def test_losses_that_would_leave_all_numbers_are_refused(scale: float) -> None:
    with pytest.raises(ValueError, match=r"X has values .* (overflow|vanish) .* so that the largest is"):
        ewnmf.NMF(2, loss=losses.Beta(4.5)).fit(DATA * scale)


@pytest.mark.parametrize("power", [-18, 18, 60])
def test_penalties_of_absolute_errors_follow_the_unit(power: int) -> None:
    c = 2.0**power
    start = {"codes": DATA[:, :2] + 0.1, "components": DATA[:2] + 0.1}
    answer = []
    for unit in (1.0, c):
        model = models.NMF(alpha_codes=0.1 * unit, alpha_components=0.01, l1_ratio=1.0)
        given: dict[str, Any] = {"codes": start["codes"], "components": unit * start["components"]}
        answer.append(ewnmf.factorize(unit * DATA, 2, model=model, weighting="l1", max_iter=5, tol=0, **given))
    np.testing.assert_allclose(answer[1].codes, answer[0].codes, rtol=1e-9)
    np.testing.assert_allclose(answer[1].excess / c, answer[0].excess, rtol=1e-9)


@pytest.mark.parametrize("gamma", ["auto", "self-tuned", 0.05])
@pytest.mark.parametrize("c", [1e-100, 1e60])
@pytest.mark.parametrize("cls", [ewnmf.EWNMF, ewnmf.SemiNMF, ewnmf.ConvexNMF, ewnmf.ONMF])
def test_however_gamma_is_chosen(cls: type[Any], c: float, gamma: Any) -> None:
    X = np.repeat(DATA, 2, axis=0) * np.random.default_rng(1).uniform(0.9, 1.1, (24, 8))
    X = X - X.mean() if cls in (ewnmf.SemiNMF, ewnmf.ConvexNMF) else X
    one, other = (at(cls, scale, gamma, weighting="entropy") for scale in (1.0, c))
    compare(answers(one, X, 1.0), answers(other, X, c), 1e-7)
    if gamma == "auto":
        assert one.gamma_path_.rule == other.gamma_path_.rule
        np.testing.assert_allclose(other.gamma_path_.gammas / c**2, one.gamma_path_.gammas, rtol=1e-9)
        np.testing.assert_allclose(other.gamma_path_.relative, one.gamma_path_.relative, rtol=1e-9)
        np.testing.assert_allclose(other.gamma_path_.scores, one.gamma_path_.scores, rtol=1e-7)


@pytest.mark.parametrize("k", [-330, -66, -15, 15, 66, 330])
@pytest.mark.parametrize("cls", [ewnmf.EWNMF, ewnmf.NMF, ewnmf.SemiNMF, ewnmf.ConvexNMF, ewnmf.ONMF])
def test_powers_of_two_change_no_bit(cls: type[Any], k: int) -> None:
    one, other = (answers(at(cls, c, weighting="entropy"), DATA, c) for c in (1.0, 2.0**k))
    compare(one, other, 0.0)


@pytest.mark.parametrize(
    "model",
    [
        ewnmf.NMF(3, alpha_W=50.0, alpha_H=0.02, l1_ratio=0.3),
        ewnmf.NMF(3, loss="kullback-leibler", alpha_W=50.0, alpha_H=0.02, l1_ratio=0.3),
        ewnmf.EWNMF(3, gamma=1e4, alpha_W=50.0, l1_ratio=1.0),
        ewnmf.ONMF(3, method="soft", mu=50.0, lam=0.1),
        ewnmf.ONMF(3, method="soft", of="components", loss="kullback-leibler", mu=0.1, lam=50.0),
    ],
    ids=str,
)
def test_penalties_are_meant_for_the_data_as_it_is(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    start = {"W": rng.random((12, 3)) + 0.1, "H": 1000 * rng.random((3, 8)) + 100}
    model.set_params(max_iter=6, tol=0, init="custom", n_jobs=1)
    one = clone(model).fit(1000 * DATA, **start)
    monkeypatch.setattr("ewnmf.fitting.unit._USUAL", 2.0)
    other = clone(model).fit(1000 * DATA, **start)
    assert (one._facts.unit, other._facts.unit) == (1, 2.0**-13)
    np.testing.assert_allclose(other.components_, one.components_, rtol=1e-12)
    np.testing.assert_allclose(other.loss_curve_, one.loss_curve_, rtol=1e-12)
    np.testing.assert_allclose(other.transform(1000 * DATA), one.transform(1000 * DATA), rtol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "model",
    [
        models.Orthogonal("soft", "codes", 1e-3, 1e-2),
        models.Orthogonal("soft", "components", 1e-2, 1e-3),
        models.NMF(1e-3, 2e-3, 0.0),
    ],
    ids=str,
)
def test_penalties_beyond_single_precision(model: Any) -> None:
    """In the unit of such data their strength is more than float32 can hold."""
    rng = np.random.default_rng(0)
    codes, components = rng.random((12, 3)), 1e-27 * rng.random((3, 8))
    single, double = (
        ewnmf.factorize(
            (1e-27 * DATA).astype(dtype), 3, model=model, max_iter=4, tol=0,
            codes=codes.astype(dtype), components=components.astype(dtype),
        )
        for dtype in ("f4", "f8")
    )  # fmt: skip
    assert single.excess == pytest.approx(double.excess, rel=1e-5, abs=0)
    assert single.codes.max() < 1e-30


@pytest.mark.filterwarnings("error")
def test_penalties_beyond_all_numbers_leave_nothing() -> None:
    """In the unit of data of 1e-130 the ridge on codes is 1e258 times as strong."""
    X = 4e-130 * DATA[:2, :3] / DATA[:2, :3].max() * 1.01
    model = ewnmf.ONMF(3, method="soft", of="components", mu=0.02, lam=0.01, init="custom", max_iter=7, tol=0)
    rng = np.random.default_rng(0)
    codes = model.fit(X, W=1e60 * rng.random((2, 3)), H=1e-130 * rng.random((3, 3))).transform(X)
    assert np.isfinite(codes).all()


def test_usual_data_is_not_copied() -> None:
    for size in (2.0**-20, 1.0, 2.0**20):
        points = Points(DATA * size / DATA.max())
        unit = Unit.of(Problem.of(), points)
        assert unit.value == 1
        assert points.times(unit.value) is points
    assert Unit.of(Problem.of(), Points(2.0**21 * DATA / DATA.max())).value == 2.0**-22


@pytest.mark.parametrize("cls", [ewnmf.EWNMF, ewnmf.SemiNMF])
@pytest.mark.parametrize("value", [0.0, 1e-30, 1e30])
def test_what_has_no_weight_has_no_say_in_the_unit(cls: type[Any], value: float) -> None:
    X, importance = DATA.copy(), np.ones(8)
    X[:, 2], importance[2] = value, 0
    assert Points(X, np.broadcast_to(importance, X.shape)).scale == np.delete(X, 2, axis=1).max()
    thin = sparse.csr_array(X)
    assert Points(thin, np.broadcast_to(importance, X.shape)).scale == np.delete(X, 2, axis=1).max()
    model = at(cls, 1.0, 0.1, weighting="entropy", feature_weight=importance).fit(X)
    assert model._facts.unit == 1


def test_given_components_are_in_the_unit_of_the_data() -> None:
    rng, c = np.random.default_rng(3), 2.0**-100
    codes, components = rng.random((12, 3)) + 0.1, rng.random((3, 8)) + 0.1
    seen: list[Any] = []
    asked: dict[str, Any] = {"gamma": 0.1, "codes": codes, "max_iter": 5, "n_jobs": 1}
    one = ewnmf.factorize(DATA, 3, components=components, fixed_components=components[:1], **asked)
    other = ewnmf.factorize(
        c * DATA,
        3,
        components=c * components,
        fixed_components=c * components[:1],
        callbacks=[seen.append],
        **{**asked, "gamma": 0.1 * c**2},
    )
    np.testing.assert_array_equal(other.codes, one.codes)
    np.testing.assert_array_equal(other.components, c * one.components)
    np.testing.assert_array_equal(other.history, c**2 * one.history)
    np.testing.assert_array_equal(other.weights(), one.weights())
    assert (other.excess, other.loss, other.gamma) == (c**2 * one.excess, c**2 * one.loss, 0.1 * c**2)
    assert [at.objective for at in seen] == other.history.tolist()
    assert [at.gamma for at in seen] == 5 * [0.1 * c**2]
    np.testing.assert_array_equal(seen[-1].components, other.components)


def test_what_an_interrupt_leaves_is_in_the_unit_of_the_data() -> None:
    c = 1e-40

    def stop(at: Any) -> None:
        if at.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        ewnmf.factorize(c * DATA, 3, gamma=0.1 * c**2, rng=0, callbacks=[stop])
    left: Any = caught.value
    reached = ewnmf.factorize(c * DATA, 3, gamma=0.1 * c**2, rng=0, max_iter=3)
    np.testing.assert_array_equal(left.solution.components, reached.components)
    assert left.solution.gamma == 0.1 * c**2


@pytest.mark.filterwarnings("ignore:.*codes of the mean point:UserWarning")
@pytest.mark.parametrize("weighting", ["none", "entropy"])
def test_missing_and_sparse_data(weighting: str) -> None:
    c, X = 1e-80, DATA.copy()
    X[0, 1] = X[3] = np.nan
    thin = sparse.csr_array(np.where(DATA > 1, DATA, 0))
    one, other = (at(ewnmf.NMF, unit, weighting=weighting).fit(unit * X) for unit in (1.0, c))
    codes, scaled = one.transform(X), other.transform(c * X)
    expected = codes @ one.components_
    np.testing.assert_allclose(scaled @ (other.components_ / c), expected, atol=1e-9 * expected.max())
    one, other = (at(ewnmf.NMF, c, weighting=weighting).fit(unit * thin) for unit in (1, c))
    np.testing.assert_allclose(other.reconstruction_err_ / c, one.reconstruction_err_, rtol=1e-9)


def test_a_loaded_model_keeps_the_unit(tmp_path: Path) -> None:
    c = 1e-90
    model = at(ewnmf.EWNMF, c).fit(c * DATA)
    model.save(tmp_path / "model.ewnmf")
    loaded = ewnmf.load(tmp_path / "model.ewnmf")
    np.testing.assert_array_equal(loaded.transform(c * DATA), model.transform(c * DATA))
    np.testing.assert_array_equal(loaded.weights(c * DATA), model.weights(c * DATA))
    assert loaded.score(c * DATA) == model.score(c * DATA)


def test_ranks_are_chosen_alike() -> None:
    c = 1e-70
    one, other = (ewnmf.select_rank(unit * DATA, [1, 2, 3], repeats=2, random_state=0, n_jobs=1) for unit in (1, c))
    np.testing.assert_allclose(other.scores / c**2, one.scores, rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "c"), [(np.float64, 1e130), (np.float64, 1e-140), (np.float32, 1e31), (np.float32, 1e-32)]
)
def test_what_cannot_come_back_is_refused(dtype: Any, c: float) -> None:
    with pytest.raises(
        ValueError, match=rf"X has values .* {np.dtype(dtype)}; (divide|multiply) X by a constant so that"
    ):
        ewnmf.EWNMF(3).fit(DATA.astype(dtype) * dtype(c))


def test_new_points_far_above_the_fit_are_refused() -> None:
    model = at(ewnmf.EWNMF, 1e-28).fit((DATA * 1e-28).astype(np.float32))
    assert not model.transform((DATA * 1e-38).astype(np.float32)).max() > 1
    with pytest.raises(ValueError, match=r"X has values up to .*overflow float32; divide X"):
        model.transform(DATA.astype(np.float32))


class _OwnLoss(Loss):
    name = "own"

    def divergence(self, x: Array, y: Array) -> Array:
        return np.asarray((x - y) ** 2 / (1 + x))


class _OwnWeighting(Weighting):
    name = "own"


def test_what_has_no_known_unit_is_left_as_it_is() -> None:
    points = Points(1e30 * DATA)
    assert Unit.of(Problem.of(loss=_OwnLoss()), points).value == 1
    assert Unit.of(Problem.of(weighting=_OwnWeighting()), points).value == 1
    assert Unit.of(Problem.of(loss=Alpha(0.3)), points).value == pytest.approx(1e-30, rel=9)
    with pytest.raises(ValueError, match="products overflow"):
        ewnmf.NMF(2, loss=_OwnLoss()).fit(1e103 * DATA)


def test_absolute_errors_of_next_to_nothing_are_refused_in_single_precision() -> None:
    """Weights are ``1 / sqrt(d)``, up to 1e31 here, and their sums overflowed."""
    X, model = DATA.astype(np.float32) * np.float32(1e-25), ewnmf.NMF(2, weighting="l1", max_iter=3, tol=0)
    words = r"X has values of at most .*e-2\d, whose weights of up to .* overflow float32"
    with kernels(compiled=False):
        with pytest.raises(ValueError, match=words):
            model.fit(X)
        assert np.isfinite(model.fit(X.astype(np.float64)).loss_curve_).all()
        assert np.isfinite(model.fit(X * np.float32(1e10)).loss_curve_).all()


def test_gamma_stays_a_gamma() -> None:
    assert Entropy(1e200).times(1e200).gamma == np.finfo(float).max
    assert Entropy(1e-200).times(1e-200).gamma == np.finfo(float).tiny
    assert Entropy(np.inf).times(1e-200).gamma == np.inf
    problem = Problem.of(weighting=Entropy(1e-200))
    unit = Unit.of(problem, Points(1e100 * DATA))
    model = ewnmf.EWNMF(2, gamma=1e-200, max_iter=2, tol=0, random_state=0).fit(1e100 * DATA)
    assert unit.problem != problem
    assert model.gamma_ == 1e-200
    assert replace(unit, value=1.0).problem is problem


@pytest.mark.parametrize(("dtype", "near", "far"), [(np.float32, 1e-11, 1e-20), (np.float64, 1e-45, 1e-80)])
def test_a_start_far_above_the_data_is_refused(dtype: Any, near: float, far: float) -> None:
    """Its products would overflow, and the codes that belong to it end at the floor: nothing, or little, was fitted."""
    rng = np.random.default_rng(0)
    X, W, H = rng.random((6, 5)), rng.random((6, 2)) + 0.1, rng.random((2, 5)) + 0.1
    model = ewnmf.NMF(2, init="custom", solver="mu", tol=0, max_iter=10)
    usual, small = (model.fit((X * c).astype(dtype), W=W, H=H).reconstruction_err_ / c for c in (1.0, near))
    assert small == pytest.approx(usual, rel=1e-4)
    with pytest.raises(ValueError, match=r"components has start values up to .*, more than .* times those of X"):
        model.fit((X * far).astype(dtype), W=W, H=H)


@pytest.mark.parametrize("power", [-19, 1, 15])
@pytest.mark.parametrize(
    ("weighting", "loss"), [("cauchy", "alpha"), ("huber", "euclidean"), ("entropy", "kullback-leibler")]
)
def test_a_gamma_below_single_precision_has_a_unit(weighting: str, loss: str, power: int) -> None:
    """It is held at the least number, of whatever unit the data is fitted in."""
    X = np.where(np.random.default_rng(1).random((12, 8)) < 0.3, 0, DATA[:12, :8]).astype(np.float32)
    c = 2.0**power
    with kernels(weighting == "entropy"):
        one, other = (
            answers(at(ewnmf.NMF, unit, 1e-46, loss=loss, alpha=2.0, weighting=weighting), X, unit) for unit in (1.0, c)
        )
    for name in ("reconstruction", "weights", "curve"):
        np.testing.assert_array_equal(other[name], one[name], err_msg=name)
    assert other["error"] == pytest.approx(one["error"], rel=1e-15)  # the root of a loss
    assert other["gamma"] == pytest.approx(1e-46)


@pytest.mark.parametrize(("dtype", "c", "tolerance"), [(np.float64, 2.0**280, 1e-9), (np.float32, 2.0**90, 1e-4)])
@pytest.mark.parametrize("weighting", ["none", "entropy"])
@pytest.mark.parametrize("solver", ["mu", "accelerated"])
def test_a_start_far_below_the_data_is_not_lost_at_the_floor(
    solver: str, weighting: str, dtype: Any, c: float, tolerance: float
) -> None:
    """Codes that move first take up what components lack, which then all ended at their floor."""
    rng = np.random.default_rng(0)
    X, W, H = ((rng.random(shape) + 0.1).astype(dtype) for shape in ((9, 7), (9, 2), (2, 7)))
    model = ewnmf.NMF(2, weighting=weighting, gamma=np.inf, solver=solver, init="custom", tol=0, max_iter=10)
    usual, far = (model.fit(X * dtype(unit), W=W, H=H).reconstruction_err_ / unit for unit in (1.0, c))
    assert far == pytest.approx(usual, rel=tolerance)


def test_codes_of_a_point_seen_where_components_are_zero_have_no_unit() -> None:
    X = np.random.default_rng(0).random((12, 4))
    X[:, 0] = 0
    new = np.array([[5.0, np.nan, np.nan, np.nan]])
    model = ewnmf.NMF(2, loss="alpha", alpha=3.0, tol=0, random_state=0, max_iter=20)
    one, other = (clone(model).fit(c * X).transform(c * new) for c in (1.0, 1024.0))
    np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize("power", [-12, 15])
def test_points_that_show_only_zero_attributes_have_no_say_in_extrapolated_steps(power: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((12, 5))
    X[:, 3:] = 0
    X[:4, :3] = np.nan
    model = ewnmf.NMF(3, solver="accelerated", random_state=0, max_iter=12, tol=0)
    fits = {c: clone(model).fit(c * X) for c in (1.0, 2.0**power)}
    expected, found = (fit.inverse_transform(fit.transform(c * X)) / c for c, fit in fits.items())
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("init", ["random", "nndsvd", "nndsvda"])
def test_combinations_start_alike_in_every_unit(init: str) -> None:
    X = np.random.default_rng(0).random((8, 5)) + 0.1
    model = ewnmf.ConvexNMF(2, loss=losses.Beta(0.0), init=init, max_iter=2, tol=0, random_state=0)
    one, other = (clone(model).fit(c * X).components_ / c for c in (1.0, 0.125))
    np.testing.assert_allclose(other, one, rtol=1e-10)
