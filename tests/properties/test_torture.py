"""A short run of the random problems, and whether they would tell: faults put in on purpose must be found."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import ewnmf
from ewnmf import losses
from ewnmf.kernels.select import _numba_works
from ewnmf.weightings import entropy
from tests.problems import WEIGHTINGS, kernels
from tests.torture import running
from tests.torture.__main__ import main
from tests.torture.answers import Trial
from tests.torture.data import DENSE, KINDS, SPARSE, lay_out, matrix
from tests.torture.drawing import draw
from tests.torture.judging import Refused, Undecided, Violation, attempt, no_sentence
from tests.torture.problems import Problem
from tests.torture.properties import ALWAYS, CHOSEN, Bench, examine, judge

SEED, EACH = 12, 30


by_reference = partial(kernels, compiled=False)


@pytest.mark.parametrize("part", range(5))
def test_no_violation(part: int) -> None:
    """Of five parts one runs compiled, where machine code is made anyway."""
    found = []
    for index in range(part * EACH, (part + 1) * EACH)[: EACH if part == 0 else EACH * 2 // 3]:
        problem = draw(SEED, index)
        usual = problem.loss in ("euclidean", "kullback-leibler") and problem.weighting in WEIGHTINGS
        usual &= problem.X.dtype == np.float64
        with kernels(part == 0 and usual):
            outcomes = examine(problem)
        found += [
            f"python -m tests.torture --seed {SEED} --only {index}: {outcome.name}: {outcome.words}"
            for outcome in outcomes
            if outcome.verdict == "violated"
        ]
    assert not found, "\n".join(found)


def ordinary(**changes: Any) -> Problem:
    """A problem that nothing is wrong with."""
    rng = np.random.default_rng(5)
    X = rng.random((12, 2)) @ rng.random((2, 7)) + 0.1 * rng.random((12, 7))
    starts = {"codes": rng.random((12, 2)) + 0.1, "components": rng.random((2, 7)) + 0.1}
    parts: dict[str, Any] = {"name": "EWNMF", "weighting": "entropy", "gamma": 0.05, "max_iter": 6, **starts}
    return Problem(0, 2, "test", X=X, layout="C", K=2, **{**parts, **changes})


def verdict(name: str, problem: Problem, way: str = "factorize") -> str:
    """How a property fares."""
    return judge(name, {**ALWAYS, **CHOSEN}[name], Bench(problem, way)).verdict


@pytest.mark.parametrize("way", ALWAYS)
@pytest.mark.parametrize("name", [*ALWAYS, *CHOSEN])
def test_an_ordinary_problem_holds(name: str, way: str) -> None:
    if name == "compiled" and not _numba_works():
        pytest.skip("there is nothing compiled")
    assert verdict(name, ordinary(), way) == "held"


def test_weights_that_do_not_sum_to_one_are_found() -> None:
    whole = entropy._softmax

    def short(*arguments: Any) -> Any:
        T, E = whole(*arguments)
        return T * (1 - 1e-12), E

    with by_reference(), patch("ewnmf.weightings.entropy._softmax", short):
        assert verdict("factorize", ordinary()) == "violated"


@pytest.mark.skipif(not _numba_works(), reason="there is nothing compiled")
@pytest.mark.parametrize("way", ALWAYS)
def test_compiled_code_that_differs_in_the_eleventh_digit_is_found(way: str) -> None:
    whole = losses.KullbackLeibler.neg
    with patch.object(losses.KullbackLeibler, "neg", lambda self, X, Y: whole(self, X, Y) * (1 + 1e-11)):
        assert verdict("compiled", ordinary(loss="kullback-leibler"), way) == "violated"


def test_a_step_that_is_too_long_is_found() -> None:
    whole = losses.Euclidean.neg
    with by_reference(), patch.object(losses.Euclidean, "neg", lambda self, X, Y: 1.3 * whole(self, X, Y)):
        assert verdict("factorize", ordinary(max_iter=30)) == "violated"


def test_a_floor_that_knows_no_unit_is_found() -> None:
    with (
        by_reference(),
        patch("ewnmf.fitting.unit._USUAL", 2.0**1000),
        patch("ewnmf.models.nmf.multiply", lambda F, ratio, _: np.maximum(F * ratio, 1e-9)),
    ):
        assert verdict("units", ordinary().scaled(2.0**-50)) == "violated"


def at_unit(power: int) -> Any:
    """The other unit of `units` is this power of two."""
    return patch("tests.torture.units._away", lambda *_: power)


@pytest.mark.parametrize("power", [9, -9, 40])
@pytest.mark.parametrize("method", ["lagrange", "stiefel"])
def test_components_of_norm_one_start_in_no_unit(method: str, power: int) -> None:
    problem = ordinary(name="ONMF", weighting="none", options={"method": method, "of": "components"})
    with by_reference(), at_unit(power):
        assert verdict("units", problem) == "held"
        with other_answer("units", "components", 1e-10):
            assert verdict("units", problem) == "violated"


def moved_by_floors() -> Problem:
    """The last attribute was seen in a point whose codes are at their floor, and in one where it has no more weight."""
    problem = ordinary(name="NMF", weighting="fixed", loss="kullback-leibler", init="random")
    weights = np.ones(problem.X.shape)
    problem.X[0], weights[1:, -1], weights[1, -1] = 0, 0, 1e-61
    return replace(problem, weights=weights)


def test_what_floors_decide_is_left_out_and_nothing_else() -> None:
    problem, whole = moved_by_floors(), ewnmf.NMF.fit

    def meddling(self: Any, X: Any, **asked: Any) -> Any:
        """In the other unit another attribute is off."""
        fitted = whole(self, X, **asked)
        if np.max(X) > 10:
            fitted.components_[:, 2] *= 1 + 1e-9
        return fitted

    with by_reference(), at_unit(12):
        assert verdict("units", problem, "estimator") == "held"
        with patch("tests.torture.units._without_floors", lambda trial, answer, c: answer):
            assert verdict("units", problem, "estimator") == "violated"
        with patch("ewnmf.NMF.fit", meddling):
            assert verdict("units", problem, "estimator") == "violated"


@pytest.mark.parametrize(("gamma", "found"), [(1e-51, "undecided"), (1e-15, "violated")])
def test_only_where_gamma_tells_floors_from_nothing_may_sparse_data_differ(gamma: float, found: str) -> None:
    problem = ordinary(gamma=gamma, loss="kullback-leibler")
    problem.X[:, 2] = 0
    single: Any = {name: getattr(problem, name).astype(np.float32) for name in ("X", "codes", "components")}
    problem = replace(problem, **single)
    with by_reference(), other_answer("sparse", "codes", 1e-2):
        assert verdict("sparse", problem) == found


PENALISED: list[dict[str, Any]] = [
    {"options": {"alpha_W": 0.01, "alpha_H": "same", "l1_ratio": 1.0}},
    {"options": {"alpha_W": 0.01, "alpha_H": 0.1, "l1_ratio": 0.0}, "loss": "kullback-leibler"},
    {"name": "ONMF", "options": {"method": "soft", "of": "codes", "mu": 0.1, "lam": 0.01}},
    {"name": "ONMF", "options": {"method": "soft", "of": "components", "mu": 0.1, "lam": 0.01}},
]


@pytest.mark.parametrize("changes", PENALISED, ids=str)
def test_penalties_follow_the_unit_and_are_found_where_they_do_not(changes: dict[str, Any]) -> None:
    far = ordinary(**changes).scaled(2.0**40)
    with by_reference():
        assert verdict("units", far) == "held"
        with patch("ewnmf.models.base.Facts.penalty_units", lambda self, loss: (1.0, 1.0, 1.0, 1.0)):
            assert verdict("units", far) == "violated"


def other_answer(name: str, part: str, share: float) -> Any:
    """`factorize` with a part of the second of two answers that are compared off by that share; it may come first."""
    whole, calls, at = ewnmf.factorize, [0], 1 if name in ("repetition", "units") else 2

    def meddling(**asked: Any) -> Any:
        calls[0] += 1
        answer = whole(**asked)
        return replace(answer, **{part: getattr(answer, part) * (1 + share * (calls[0] == at))})

    return patch("ewnmf.factorize", meddling)


@pytest.mark.parametrize("name", ["sparse", "repetition", "units"])
@pytest.mark.parametrize("gamma", ["4x", "self-tuned"])
def test_a_gamma_that_differs_in_the_eleventh_digit_is_found(gamma: str, name: str) -> None:
    with by_reference(), other_answer(name, "gamma", 1e-11):
        assert verdict(name, ordinary(gamma=gamma)) == "violated"


@pytest.mark.parametrize("name", ["sparse", "repetition", "units"])
@pytest.mark.parametrize("weighting", ["entropy", "none"])
def test_a_basis_of_mixed_signs_that_differs_in_the_eleventh_digit_is_found(weighting: str, name: str) -> None:
    with by_reference(), other_answer(name, "components", 1e-11):
        assert verdict(name, ordinary(name="SemiNMF", weighting=weighting)) == "violated"


def test_constants_that_agree_tell_nothing() -> None:
    trial = Trial(ordinary(weighting="none"), "factorize")
    with pytest.raises(Undecided):
        trial.agrees_with({name: trial.answer[name] for name in ("weights", "gamma")})


def test_weights_of_points_that_are_forgotten_are_found() -> None:
    whole = ewnmf.factorize
    with patch("ewnmf.factorize", lambda sample_weight=None, **rest: whole(**rest)):
        assert verdict("repetition", ordinary()) == "violated"


@pytest.mark.parametrize("name", ["factorize", "layout"])
def test_changed_arguments_and_random_bits_are_found(name: str) -> None:
    whole, rng = ewnmf.factorize, np.random.default_rng(0)

    def meddling(X: Any, **rest: Any) -> Any:
        X *= 1 + 1e-9 * rng.random()
        return whole(X, **rest)

    with patch("ewnmf.factorize", meddling):
        assert verdict(name, ordinary()) == "violated"


def test_values_that_are_not_finite_are_found() -> None:
    whole = ewnmf.NMF.transform
    with patch("ewnmf.NMF.transform", lambda self, X, **rest: whole(self, X, **rest) * np.inf):
        assert verdict("estimator", ordinary()) == "violated"


def raised(error: Exception) -> Exception:
    """The error as it comes from the door."""
    scope: dict[str, Any] = {"error": error}
    with pytest.raises(type(error)) as caught:
        exec(compile("raise error", "/somewhere/ewnmf/checks.py", "exec"), scope)
    return caught.value


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("gamma=-1 must be a positive number.", None),
        ("gamma=-1 must be a positive number", "is no sentence"),
        ("operands could not be broadcast together.", "names no parameter"),
        ("X.", "is no sentence"),
    ],
)
def test_a_refusal_is_a_sentence(text: str, wrong: str | None) -> None:
    assert no_sentence(raised(ValueError(text))) == wrong


def test_errors_of_others_and_warnings_are_no_refusals() -> None:
    def divide() -> Any:
        return np.ones(2) / np.zeros(2)

    with pytest.raises(Violation, match="RuntimeWarning"):
        attempt(divide)
    with pytest.raises(Violation, match="raised in"):
        attempt(lambda: np.ones(2) + np.ones(3))
    with pytest.raises(Violation, match="KeyError"):
        attempt(lambda: dict[str, int]()["gamma"])
    with pytest.raises(Refused, match="gamma=-1"):
        attempt(lambda: ewnmf.factorize(np.ones((2, 2)), 1, gamma=-1))


def test_the_same_seed_and_index_are_the_same_problem(capsys: pytest.CaptureFixture[str]) -> None:
    one, again, other = draw(3, 8), draw(3, 8), draw(4, 8)
    assert str(one) == str(again) != str(other)
    np.testing.assert_array_equal(one.X, again.X)
    with by_reference():
        assert examine(one) == examine(again)
        main(["--seed", "3", "--only", "8"])
        first = capsys.readouterr().out
        main(["--seed", "3", "--only", "8"])
    assert first == capsys.readouterr().out
    assert first.startswith(str(one))


@pytest.mark.parametrize("layout", [*DENSE, *SPARSE])
@pytest.mark.parametrize("kind", KINDS)
def test_layouts_hold_the_same_matrix(kind: str, layout: str) -> None:
    X = matrix(kind, 6, 5, 2, np.random.default_rng(0))
    given = lay_out(X, layout)
    np.testing.assert_array_equal(given.toarray() if layout in SPARSE else np.asarray(given), X)


def _dies(pipe: Any, seed: int, indices: range, until: float) -> None:
    """A worker whose first problem ends its process."""
    pipe.send(running.Report(indices[0], "the first"))
    if indices[0] == 0:
        os._exit(3)
    pipe.send(running.Report(indices[0], "the second", examine(draw(0, 8))))
    pipe.send(None)


def test_a_process_that_dies_is_a_violation_and_the_next_goes_on() -> None:
    with patch("tests.torture.running._work", _dies):
        first, second = running.run(0, 2, minutes=1, jobs=1)
    assert [outcome.words for outcome in first.outcomes] == ["ended with code 3"]
    assert (first.index, second.index, second.words) == (0, 1, "the second")
