"""Scalar forms, in plain Python, against the array forms beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ewnmf.losses.base import Loss
from ewnmf.losses.elementary import largest_power, numbers
from tests.problems import LOSSES

NUMBERS = numbers(np.float64, 1e-90)
CAP = largest_power(np.float64)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
positive = st.floats(1e-6, 1e6)


def form(loss: Loss) -> Any:
    return loss.scalar(NUMBERS)


def of_arrays(function: Any, *values: float) -> float:
    return float(function(*(np.array([value]) for value in values))[0])


@every_loss
@given(x=positive | st.just(0.0), y=positive)
def test_losses_and_pulls(loss: Loss, x: float, y: float) -> None:
    assume(x > 0 or not loss.needs_positive)
    c = form(loss)
    tolerance = {"rel": 1e-9, "abs": 1e-13 * max(x, y) ** abs(loss.degree or 0)}
    assert c.divergence(c, x, y) == pytest.approx(of_arrays(loss.divergence, x, y), **tolerance)
    neg = c.neg_of_data(c, x) if hasattr(c, "neg_of_data") else c.neg(c, x, y)
    assert neg == pytest.approx(of_arrays(loss.neg, x, y), rel=1e-9)
    pos = c.pos(c, x, y) if hasattr(c, "pos") else 1.0
    assert pos == pytest.approx(of_arrays(loss.pos, x, y), rel=1e-9)


@every_loss
@given(num=positive, den=positive | st.just(0.0))
def test_factors(loss: Loss, num: float, den: float) -> None:
    c = form(loss)
    with np.errstate(all="ignore"):
        got = c.factor(c, np.float64(num), np.float64(den), CAP)
    assert got == pytest.approx(of_arrays(loss.factor, num, den), rel=1e-9)


@every_loss
@given(num=positive, den=positive, h=positive, linear=st.floats(0, 10), ridge=st.floats(0, 10) | st.just(0.0))
def test_penalised_factors(loss: Any, num: float, den: float, h: float, linear: float, ridge: float) -> None:
    c = form(loss)
    whole = np.array([num]), np.array([den])
    moved = loss.with_slope(*whole, linear)
    if not hasattr(loss, "penalised_factor"):
        ridge = 0.0
    expected = loss.factor(*moved) if ridge == 0 else loss.penalised_factor(*moved, np.array([ridge / 2 * h]))
    with np.errstate(all="ignore"):
        got = c.penalised_factor(c, np.float64(num), np.float64(den), h, linear, ridge, CAP)
    assert min(got, CAP) == pytest.approx(min(float(expected[0]), CAP), rel=1e-8)
