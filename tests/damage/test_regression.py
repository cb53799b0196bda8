"""Attributes that are off for a while: loadings by most points do not follow them."""

from __future__ import annotations

import numpy as np
import pytest

from ewnmf.damage.expectation import Expectation
from ewnmf.damage.regression import Regressions, relearned


def problem() -> tuple[Expectation, np.ndarray]:
    """A distribution of 12 attributes with 2 factors, and 200 points of it."""
    rng = np.random.default_rng(0)
    model = Expectation(rng.normal(size=12), rng.normal(size=(2, 12)), np.full(12, 0.04))
    return model, model.mean + rng.normal(size=(200, 2)) @ model.loadings + 0.2 * rng.normal(size=(200, 12))


def test_loadings_that_followed_a_drift_are_found_again():
    model, x = problem()
    factors = (x - model.mean) @ model._gain()[0]
    x[60:120, 3] += np.linspace(0, 6, 60)
    pulled = np.linalg.lstsq(np.column_stack([np.ones(200), factors]), x[:, 3], rcond=None)[0]
    mean, loadings = model.mean.copy(), model.loadings.copy()
    mean[3], loadings[:, 3] = pulled[0], pulled[1:]
    followed = Expectation(mean, loadings, model.noise)
    found = relearned(followed, x, np.ones(x.shape, dtype=bool), x - mean)
    assert abs(mean[3] - model.mean[3]) > 0.5
    assert abs(found.mean[3] - model.mean[3]) < 0.15
    np.testing.assert_allclose(found.loadings[:, 3], model.loadings[:, 3], atol=0.15)


def bent(model: Expectation, x: np.ndarray, points: np.ndarray) -> Expectation:
    """The same, where attribute 3 is off at some points, and mean and loadings follow it."""
    factors = (x - model.mean) @ model._gain()[0]
    x[points, 3] += 4
    pulled = np.linalg.lstsq(np.column_stack([np.ones(len(x)), factors]), x[:, 3], rcond=None)[0]
    mean, loadings = model.mean.copy(), model.loadings.copy()
    mean[3], loadings[:, 3] = pulled[0], pulled[1:]
    return Expectation(mean, loadings, model.noise)


@pytest.mark.parametrize(
    ("points", "changed"),
    [
        pytest.param(np.arange(70, 110), True, id="a fault"),
        pytest.param(np.r_[10:25, 80:110:2, 150:165], False, id="points of a kind"),
    ],
)
def test_what_is_left_out_is_a_run(points, changed):
    model, x = problem()
    followed = bent(model, x, points)
    found = relearned(followed, x, np.ones(x.shape, dtype=bool), x - followed.mean)
    assert bool((found.mean != followed.mean)[3]) is changed


def test_what_is_in_order_stays_to_the_bit():
    model, x = problem()
    found = relearned(model, x, np.ones(x.shape, dtype=bool), x - model.mean)
    np.testing.assert_array_equal(found.mean, model.mean)
    np.testing.assert_array_equal(found.loadings, model.loadings)


def test_factors_without_an_attribute_know_nothing_of_it():
    """Regressions on them are those on factors by the other attributes, which are solved for one by one."""
    model, x = problem()
    x[60:120, 5] += 3
    deviations, at = x - model.mean, np.ones((200, 1), dtype=bool)
    factors, gain, own = model.factors(deviations)
    alone = ((deviations - factors @ model.loadings) / (1 - own))[:, [5]]
    task = Regressions(factors, alone, gain[[5]], x[:, [5]], at)
    others = np.delete(np.arange(12), 5)
    known = np.eye(2) + (model.loadings[:, others] / model.noise[others]) @ model.loadings[:, others].T
    without = np.linalg.solve(known, (model.loadings[:, others] / model.noise[others]) @ deviations[:, others].T).T
    design = np.column_stack([np.ones(200), without])
    right = design.T @ x[:, 5]
    np.testing.assert_allclose(task.solved(at)[:, 0], np.linalg.solve(design.T @ design + 0.2 * np.eye(3), right))
    coefficients = np.array([[0.3], [-1.0], [2.0]])
    np.testing.assert_allclose(task.residuals(coefficients), (x[:, [5]] - design @ coefficients) ** 2)


def test_few_points_and_unknown_columns():
    model, x = problem()
    known = np.ones(x.shape, dtype=bool)
    known[:, 2] = False
    assert np.isfinite(relearned(model, x, known, x - model.mean).loadings).all()
    assert relearned(model, x[:10], known[:10], x[:10] - model.mean) is model
