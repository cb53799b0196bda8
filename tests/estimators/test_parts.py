"""Losses, models and weightings as objects: equal, hashable, copied, pickled, printed, and parameters of estimators."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from ewnmf import EWNMF, NMF, ONMF, ConvexNMF, SemiNMF, losses, models, weightings
from ewnmf.problem import Problem

PARTS: list[Any] = [
    losses.Euclidean(),
    losses.KullbackLeibler(),
    *(losses.Alpha(a) for a in (-1.0, 0.0, 1e-9, 0.5, 1.0, 2.0)),
    models.NMF(),
    models.Semi(),
    models.Semi(ridge=1e-3),
    models.Convex(),
    *(
        models.Orthogonal(method, of)
        for method in ("hard", "soft", "lagrange", "stiefel")
        for of in ("codes", "components")
    ),
    models.Orthogonal("soft", mu=0.2, lam=3.0),
    weightings.Uniform(),
    weightings.Fixed(),
    *(weightings.Entropy(gamma) for gamma in (0.0, 0.1, 1e8)),
]
every_part = pytest.mark.parametrize("part", PARTS, ids=repr)
NAMES = {
    cls.__name__: cls
    for module in (losses, models, weightings)
    for cls in vars(module).values()
    if isinstance(cls, type)
}


@every_part
def test_copies_are_equal_and_of_one_hash(part: Any) -> None:
    copies = [pickle.loads(pickle.dumps(part)), copy.deepcopy(part), clone(part, safe=False), dataclasses.replace(part)]
    for other in copies:
        assert other == part
        assert hash(other) == hash(part)
        assert repr(other) == repr(part)


@every_part
def test_repr_is_the_call_that_makes_it(part: Any) -> None:
    assert eval(repr(part), dict(NAMES)) == part


def test_different_parts_differ() -> None:
    assert len(set(PARTS)) == len(PARTS)
    for i, part in enumerate(PARTS):
        assert [j for j, other in enumerate(PARTS) if other == part] == [i]


@every_part
def test_parts_cannot_be_changed(part: Any) -> None:
    for name in [field.name for field in dataclasses.fields(part)] or ["name"]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, name, 1.0)


def test_infinite_gamma_survives_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(weightings.Entropy(math.inf))) == weightings.Entropy(math.inf)


@pytest.mark.parametrize("module", [losses, models, weightings])
def test_names_lead_to_objects_of_that_name(module: Any) -> None:
    known = [part for part in PARTS if type(part).__module__.startswith(module.__name__)]
    for part in known:
        found = module.resolve(part.name)
        assert type(found) is type(part)
        assert found.name == part.name
        assert module.resolve(part) is part


def test_a_problem_is_equal_by_its_parts() -> None:
    one = Problem.of("alpha", "onmf", "entropy", alpha=0.3, gamma=0.2)
    other = Problem(losses.Alpha(0.3), models.Orthogonal(), weightings.Entropy(0.2))
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.at(weightings.Uniform()) != one


ESTIMATORS = [
    EWNMF(3, loss=losses.Alpha(0.3), weighting=weightings.Entropy(0.2), max_iter=5, tol=0, random_state=0),
    NMF(3, loss=losses.KullbackLeibler(), weighting=weightings.Fixed(), max_iter=5, tol=0, random_state=0),
    SemiNMF(3, loss=losses.Euclidean(), weighting=weightings.Uniform(), max_iter=5, tol=0, random_state=0),
    ConvexNMF(3, loss=losses.Alpha(2.0), weighting=weightings.Entropy(5.0), max_iter=5, tol=0, random_state=0),
    ONMF(
        3,
        method="soft",
        loss=losses.KullbackLeibler(),
        weighting=weightings.Entropy(1.0),
        max_iter=5,
        tol=0,
        random_state=0,
    ),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_estimators_with_objects_as_parameters(estimator: Any) -> None:
    twin = clone(estimator)
    assert twin is not estimator
    assert twin.get_params() == estimator.get_params()
    X = np.random.default_rng(0).uniform(0.1, 1, (12, 8))
    fitted, again = twin.fit(X), clone(twin).fit(X)
    np.testing.assert_array_equal(fitted.components_, again.components_)
    back = pickle.loads(pickle.dumps(fitted))
    assert back.get_params() == fitted.get_params()
    np.testing.assert_array_equal(back.transform(X), fitted.transform(X))
    assert repr(estimator.loss) in repr(estimator)
