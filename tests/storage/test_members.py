"""A storage is a member of a folder: solvers run on one that they do not know, to the bits of memory."""

from __future__ import annotations

import pickle
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse

from ewnmf.kernels.reference import Kept, Measure, Swept, add_arrays
from ewnmf.losses.euclidean import Euclidean
from ewnmf.models.base import Block, Factors, Facts, Rule
from ewnmf.models.nmf import NMF
from ewnmf.problem import Problem
from ewnmf.solvers.encode import encode, weights_of
from ewnmf.solvers.loop import Iteration, Solution, solve
from ewnmf.solvers.tuning import SelfTuning
from ewnmf.storage.base import Codes, Storage
from ewnmf.storage.dense import Dense
from ewnmf.storage.memory import CodesInMemory
from ewnmf.storage.sparse import Sparse
from ewnmf.storage.threads import Workers
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.uniform import Uniform
from tests.problems import DEFINED, OTHERS, PAIRED, Case, Instance, Recipe, kernels

Array = Any

CALLS: Counter[str] = Counter()


def _sent(thing: Any) -> Any:
    """As it arrives in another process."""
    return pickle.loads(pickle.dumps(thing))


class Machine:
    """Some points, and the codes that were made of them, by version; work and answers travel as bytes."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.H: dict[int, Array] = {}
        self.U: dict[int, Array] = {}
        self.weights: dict[int, Array] = {}

    def sweep(self, work: bytes, old: int, new: int, keep: bool) -> Any:
        options = {}
        if keep:
            there = old in self.weights
            room = self.weights.pop(old) if there else np.empty_like(self.block.X, order="F")
            options = {"kept": Kept(room, there)}
            self.weights = {new: room}
        answer: Swept = pickle.loads(work)(self.block, self.H[old], **options)
        self.H[new] = np.asfortranarray(answer.H)
        CALLS["most"] = max(CALLS["most"], len(self.H))
        return _sent((answer.stats, answer.measure))

    def combine(self, work: bytes, old: int, new: int) -> Any:
        self.U[new], share = pickle.loads(work)(self.block, self.U[old])
        return _sent(share)

    def blend(self, function: bytes, now: int, before: int, new: int) -> None:
        self.H[new] = pickle.loads(function)(self.H[now], self.H[before])

    def ask(self, work: bytes, version: int) -> Any:
        return _sent(pickle.loads(work)(self.block, self.H[version]))


def _drop(machines: list[Machine], number: int) -> None:
    for machine in machines:
        machine.H.pop(number, None)
        machine.U.pop(number, None)


class Version:
    """The codes or combinations of that number, which go when nobody refers to it."""

    _numbers = count()

    def __init__(self, machines: list[Machine]) -> None:
        self.number = next(self._numbers)
        weakref.finalize(self, _drop, machines, self.number)


class CodesElsewhere(Codes):
    """Nothing but two versions."""

    def __init__(self, machines: list[Machine], H: Version, U: Version) -> None:
        self.machines, self.H, self.U = machines, H, U

    def sweep(self, work: Callable[..., Swept], *, keep: bool = False) -> tuple[Codes, Any, Measure]:
        CALLS["sweep"] += 1
        new, stats, measure = Version(self.machines), None, Measure()
        for machine in self.machines:
            share, part = machine.sweep(pickle.dumps(work), self.H.number, new.number, keep)
            stats, measure = add_arrays(stats, share), measure.plus(part)
        return CodesElsewhere(self.machines, new, self.U), stats, measure

    def combine(self, work: Callable[[Block, Array], tuple[Array, Any]]) -> tuple[Codes, Any]:
        new, basis = Version(self.machines), None
        for machine in self.machines:
            basis = add_arrays(basis, machine.combine(pickle.dumps(work), self.U.number, new.number))
        return CodesElsewhere(self.machines, self.H, new), basis

    def blend(self, before: Codes, function: Callable[[Array, Array], Array]) -> Codes:
        assert isinstance(before, CodesElsewhere)
        new = Version(self.machines)
        for machine in self.machines:
            machine.blend(pickle.dumps(function), self.H.number, before.H.number, new.number)
        return CodesElsewhere(self.machines, new, self.U)

    def fold(self, work: Callable[[Block, Array], Any], add: Callable[[Any, Any], Any]) -> Any:
        first, *others = [machine.ask(pickle.dumps(work), self.H.number) for machine in self.machines]
        for answer in others:
            first = add(first, answer)
        return first

    def tabulate(self, work: Callable[[Block, Array], Array], n_rows: int) -> Array:
        return np.hstack([machine.ask(pickle.dumps(work), self.H.number) for machine in self.machines])

    def read(self) -> tuple[Array, Array | None]:
        CALLS["read"] += 1
        H = np.hstack([machine.H[self.H.number] for machine in self.machines])
        return H, np.vstack([machine.U[self.U.number] for machine in self.machines]) if self.machines[0].U else None


@dataclass(frozen=True)
class Elsewhere(Storage):
    """Points that are not here: what is asked of them is known from `there`, which stands for other machines."""

    there: Dense

    @property
    def X(self) -> Any:
        raise AssertionError("a solver looked at the points")

    @property
    def P(self) -> Array | None:
        raise AssertionError("a solver looked at the priors")

    @property
    def s(self) -> Array | None:  # type: ignore[override]
        return self.there.s

    @property
    def n_points(self) -> int:
        return self.there.n_points

    @property
    def mass(self) -> float:
        return self.there.mass

    @property
    def tiny(self) -> float:
        return self.there.tiny

    @property
    def sparse(self) -> bool:
        return self.there.sparse

    def facts(self, problem: Problem) -> Facts:
        return replace(self.there.facts(problem), gram=None)

    def thin(self, problem: Problem, rule: Rule) -> Storage:
        return Elsewhere(self.there.thin(problem, rule))

    def hold(self, H: Array, U: Array | None = None, *, workers: Workers, whole: bool = False) -> Codes:
        machines: list[Machine] = []
        codes, combinations = Version(machines), Version(machines)
        for cut in self.there.cuts(whole):
            machine = Machine(self.there.block(cut))
            machine.H[codes.number] = H[:, cut]
            if U is not None:
                machine.U[combinations.number] = U[cut]
            machines.append(machine)
        return CodesElsewhere(machines, codes, combinations)

    def tabulate(
        self, work: Callable[[Block], Array], n_rows: int, dtype: Any, *, workers: Workers, width: int
    ) -> Array:
        cuts = replace(self.there, width=width).cuts()
        return np.hstack([_sent(_sent(work)(self.there.block(cut))) for cut in cuts])


class CodesInFile(CodesInMemory):
    """New codes go to a file."""

    folder: Path
    _names = count()

    def _room(self, like: Array, order: str = "K") -> Array:
        fortran = order == "F" or like.flags.f_contiguous
        path = self.folder / f"{next(self._names)}"
        return np.memmap(path, like.dtype, "w+", shape=like.shape, order="F" if fortran else "C")


def _same(one: Solution, other: Solution) -> None:
    np.testing.assert_array_equal(one.factors.H, other.factors.H)
    np.testing.assert_array_equal(one.factors.W, other.factors.W)
    assert (one.factors.U is None) == (other.factors.U is None)
    if one.factors.U is not None and other.factors.U is not None:
        np.testing.assert_array_equal(one.factors.U, other.factors.U)
    assert (one.history, one.excess, one.n_iter) == (other.history, other.excess, other.n_iter)


RECIPE = Recipe(3, 11, 7, 3, 0.1, True, False, False, False, 0, False)


def _ways(case: Case) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = [{"order": "components-first"}, {"order": "codes-first"}]
    return [*plain, *({**way, "solver": "accelerated"} for way in plain if case.model == NMF())]


@pytest.mark.parametrize("case", [*PAIRED, *OTHERS], ids=str)
def test_a_run_on_points_that_are_elsewhere_has_the_bits_of_memory(case: Case) -> None:
    instance = Instance.of(case, RECIPE)
    data = instance.data(case, width=4, s=np.linspace(0.5, 2, 11))
    without_gram = patch.object(Dense, "gram", None)  # `Elsewhere` has none, and another rule is taken
    for way in _ways(case):
        way["max_iter"] = 7 if "solver" in way else 4  # extrapolation begins later
        with without_gram:
            mine = solve(instance.problem(case), data, instance.start(case), n_jobs=1, **way)
        theirs = solve(instance.problem(case), Elsewhere(data), instance.start(case), **way)
        _same(mine, theirs)


@pytest.mark.parametrize("solver", ["mu", "accelerated"])
@pytest.mark.parametrize("order", ["components-first", "codes-first"])
def test_tuning_callbacks_and_stored_entries_elsewhere(order: str, solver: str) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 40)) < 0.15, rng.random((30, 40)), 0)
    start = Factors((rng.uniform(0.1, 1, (30, 3)),), rng.uniform(0.1, 1, (3, 40)))
    for weighting, tuner in ((Entropy(np.inf), SelfTuning(12, every=2)), (Uniform(), None)):
        seen: list[Iteration] = []
        data = Sparse(sparse.csc_array(X), width=16)
        one, other = (
            solve(
                Problem(Euclidean(), NMF(), weighting), storage, start,
                order=order, solver=solver, max_iter=30, tuner=tuner, callbacks=[seen.append], n_jobs=1,
            )
            for storage in (data, Elsewhere(data))
        )  # fmt: skip
        _same(one, other)
        half = len(seen) // 2
        for mine, theirs in zip(seen[:half], seen[half:], strict=True):
            np.testing.assert_array_equal(mine.codes, theirs.codes)
            np.testing.assert_array_equal(mine.components, theirs.components)


def test_codes_are_read_once_where_nobody_watches() -> None:
    case = DEFINED[0]
    instance = Instance.of(case, RECIPE)
    CALLS.clear()
    data, start = Elsewhere(instance.data(case, width=4)), instance.start(case)
    solve(instance.problem(case), data, start, order="components-first", max_iter=7)
    assert CALLS == {"sweep": 7, "read": 1, "most": 2}


def test_codes_do_not_gather() -> None:
    (case,) = [c for c in DEFINED if c.model == NMF() and c.weighting == "entropy" and c.loss == Euclidean()]
    instance = Instance.of(case, RECIPE)
    data, start = Elsewhere(instance.data(case, width=4)), instance.start(case)
    for way in _ways(case):
        CALLS.clear()
        solve(instance.problem(case), data, start, max_iter=60, **way)
        most = 4 if "solver" in way else 3 if way["order"] == "codes-first" else 2
        assert (CALLS["sweep"], CALLS["most"]) == (60, most), way


def test_codes_of_new_points_and_their_weights_elsewhere() -> None:
    rng = np.random.default_rng(0)
    W, data = rng.random((9, 3)), Dense(rng.random((9, 70)), rng.uniform(0.1, 1, (9, 70)), width=16)
    problem = Problem(Euclidean(), NMF(), Entropy(0.1))
    known: dict[str, Any] = {"facts": data.facts(problem), "tiny": data.tiny}
    mine, theirs = (encode(problem, W, at, max_iter=9, tol=1e-3, **known) for at in (data, Elsewhere(data)))
    np.testing.assert_array_equal(mine, theirs)
    mine, theirs = (weights_of(problem, W, mine, at, **known) for at in (data, Elsewhere(data)))
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_codes_in_a_file_have_the_bits_of_memory(n_jobs: int, tmp_path: Path) -> None:
    for case in DEFINED[::5]:
        instance = Instance.of(case, RECIPE)
        data = instance.data(case, width=4)
        for way in _ways(case):
            with kernels(case.common):
                mine, theirs = (
                    _solved_with(kind, instance.problem(case), data, instance.start(case), n_jobs=n_jobs, **way)
                    for kind in (CodesInMemory, type("_InFile", (CodesInFile,), {"folder": tmp_path}))
                )
            _same(mine, theirs)


def _solved_with(kind: type[Codes], problem: Problem, data: Dense, start: Factors, **options: Any) -> Solution:
    with patch("ewnmf.storage.dense.CodesInMemory", kind):
        return solve(problem, data, start, max_iter=5, **options)


class TestCodesInMemory:
    def _codes(self) -> CodesInMemory:
        data, H = Dense(np.ones((5, 40)), width=16), np.arange(80.0).reshape(2, 40)
        return CodesInMemory(data, Workers(1), data.cuts(), H)

    def test_a_sweep_leaves_the_old_codes(self) -> None:
        codes = self._codes()
        before = codes.read()[0].copy()
        moved, stats, measure = codes.sweep(lambda block, H: Swept(H + 1, (H.sum(axis=1),), Measure(1, 2, 3)))
        np.testing.assert_array_equal(codes.read()[0], before)
        np.testing.assert_array_equal(moved.read()[0], before + 1)
        np.testing.assert_array_equal(stats[0], before.sum(axis=1))
        assert measure == Measure(3, 6, 9)
        np.testing.assert_array_equal(moved.blend(codes, np.subtract).read()[0], np.ones((2, 40)))

    def test_weights_go_from_sweep_to_sweep(self) -> None:
        found: list[float | None] = []

        def work(block: Block, H: Array, kept: Kept) -> Swept:
            found.append(float(kept.weights[0, 0]) if kept.there else None)
            kept.weights[:] = H[0, 0]
            return Swept(H + 100, (), Measure())

        first = self._codes()
        second = first.sweep(work, keep=True)[0]
        assert found == [None] * 3
        second.sweep(work, keep=True)
        assert found[3:] == [0, 16, 32]
        second.sweep(work, keep=True)  # what was left there is with the codes of the sweep before
        assert found[6:] == [None] * 3

    def test_weights_that_are_too_large_are_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ewnmf.storage.memory._KEPT_BYTES", 5 * 40 * 8 - 1)
        self._codes().sweep(lambda block, H: Swept(H, (), Measure()), keep=True)
