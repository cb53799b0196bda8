"""Sweeps by tiles of attributes against the NumPy reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ewnmf import losses, weightings
from ewnmf.kernels.reference import Kept
from tests.kernels.test_sweeps import Form, Made, _same_sweep

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="compilation is switched off")

ENTROPY = tuple(weightings.Entropy(g) for g in (1e-3, 0.1, 10.0, 1e8, 1e290))
FORMS = [
    Form(losses.Euclidean(), False, False, ENTROPY),
    Form(losses.KullbackLeibler(), False, False, ENTROPY),
    Form(losses.Euclidean(), False, False, (weightings.Welsch(0.1), weightings.Welsch(10.0))),
]
SHAPES = [(1, 511, 3), (33, 512, 1), (32, 513, 4), (70, 1100, 7)]
forms = pytest.mark.parametrize("form", FORMS, ids=str)


@pytest.fixture(autouse=True)
def _tiles_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ewnmf.kernels.compiled.fused._MANY", 1)


def _all(form: Form) -> list[Made]:
    """Problems of every shape under every weighting, with and without silent attributes and weights of points."""
    kinds = product(SHAPES, range(len(form.weightings)), (0, 5))
    return [
        Made(form, shape=shape, weighting=w, silent=silent, points=silent > 0, single=False, prior=False, seed=at)
        for at, (shape, w, silent) in enumerate(kinds)
    ]


@forms
def test_codes_first(form: Form) -> None:
    for made in _all(form):
        weighting = made.reference.problem.weighting
        mine, theirs = (
            kernel.sweep_codes_first(made.block, made.H, (made.W,), None, weighting)
            for kernel in (made.fused, made.reference)
        )
        _same_sweep(mine, theirs, made.tolerance)
        T = made.fused.weigh(made.block, made.H, (made.W,), weighting)
        expected = made.reference.weigh(made.block, made.H, (made.W,), weighting)
        np.testing.assert_allclose(T, expected, rtol=1e-7, atol=1e-12)


@forms
def test_components_first(form: Form) -> None:
    for made in _all(form):
        weighting = made.reference.problem.weighting
        for before in (((made.before,), weighting), ((made.before,), weighting.start())):
            mine, theirs = (
                kernel.sweep_components_first(made.block, made.H, (made.W,), None, before)
                for kernel in (made.fused, made.reference)
            )
            _same_sweep(mine, theirs, made.tolerance)


@forms
def test_weights_that_are_kept_are_those_made_anew(form: Form) -> None:
    for made in _all(form):
        weighting, room = made.reference.problem.weighting, np.empty_like(made.block.X)
        first = made.fused.sweep_components_first(
            made.block, made.H, (made.W,), None, ((made.before,), weighting), Kept(room, False)
        )
        before, basis = ((made.W,), weighting), (made.before,)
        kept = made.fused.sweep_components_first(made.block, first.H, basis, None, before, Kept(room, True))
        anew = made.fused.sweep_components_first(made.block, first.H, basis, None, before)
        assert np.array_equal(kept.H, anew.H)
        assert all(map(np.array_equal, kept.stats, anew.stats))
        assert kept.measure == anew.measure
