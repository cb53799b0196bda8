"""Neighbours by what is left of points without their leading directions, and the fits that must keep them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from ewnmf.choosing import gamma
from ewnmf.choosing.neighbours import Neighbourhoods, apart_from, unlike_within
from ewnmf.fitting.points import Points
from ewnmf.losses.euclidean import Euclidean


def lit(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four groups under a light that differs more from point to point than the groups do."""
    rng = np.random.default_rng(seed)
    labels = np.arange(60) % 4
    light = rng.random((60, 1)) * 8 * rng.random(30)
    return rng.random((4, 30))[labels] + light + 0.05 * rng.random((60, 30)), labels


def left(points: Points, count: int) -> np.ndarray:
    found = unlike_within(points, count)
    assert found is not None
    return found


def test_what_is_left_tells_groups_apart_that_light_hides() -> None:
    X, labels = lit()
    apart = left(Points(X), 1)
    together = labels[:, None] == labels
    assert apart[together].max() < apart[~together].min()
    assert (apart >= 0).all()
    np.testing.assert_array_equal(np.diag(apart), 0)


def test_it_is_the_angle_of_centred_points_without_leading_directions() -> None:
    X = lit(1)[0]
    C = X - X.mean(axis=0)
    U, values, V = np.linalg.svd(C, full_matrices=False)
    R = C - (U[:, :3] * values[:3]) @ V[:3]
    R /= np.linalg.norm(R, axis=1, keepdims=True)
    np.testing.assert_allclose(left(Points(X), 3), np.maximum(1 - R @ R.T, 0), atol=1e-6)


def test_sparse_points_are_like_dense_ones_and_the_unit_says_nothing() -> None:
    X = lit(2)[0] * (np.random.default_rng(0).random((60, 30)) < 0.3)
    expected = left(Points(X), 2)
    np.testing.assert_allclose(left(Points(sparse.csr_array(X)), 2), expected, atol=1e-7)
    np.testing.assert_allclose(left(Points(1024.0 * X), 2), expected, atol=1e-7)


def test_missing_values_are_at_the_mean() -> None:
    X, _ = lit(3)
    P = (np.random.default_rng(1).random(X.shape) > 0.1).astype(float)
    filled = np.where(P > 0, X, np.average(X, axis=0, weights=P))
    found = left(Points(np.where(P > 0, X, 0), P), 2)
    np.testing.assert_allclose(found, left(Points(filled), 2), atol=1e-6)


def test_nothing_is_left_of_points_of_low_rank() -> None:
    rng = np.random.default_rng(0)
    assert unlike_within(Points(rng.random((30, 2)) @ rng.random((2, 9))), 3) is None


@pytest.mark.parametrize(("share", "kept"), [(0.94, True), (0.92, False)])
def test_a_fit_that_loses_what_is_within_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, share: float, kept: bool
) -> None:
    plain: Any = SimpleNamespace(name="plain")
    fit: Any = SimpleNamespace(name="fit")
    within: Any = (object(),)
    scores = {"plain": 0.5, "fit": 0.5 * share}
    monkeypatch.setattr(gamma._Neighbours, "_smooth", lambda self, fit, graphs: scores[fit.name])
    judge = gamma._Neighbours(None, np.arange(3), (), within)  # type: ignore[arg-type]
    assert judge.keeps(fit, plain) is kept
    assert gamma._Neighbours(None, np.arange(3), ()).keeps(fit, plain)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shares", "kept"), [((1.03, 1.03), True), ((1.2, 1.0), False), ((1.0, 1.2), False)])
def test_what_is_a_structure_of_its_own_must_be_known_better_by_each_graph(
    monkeypatch: pytest.MonkeyPatch, shares: tuple[float, float], kept: bool
) -> None:
    plain: Any = SimpleNamespace(name="plain")
    fit: Any = SimpleNamespace(name="fit")
    scores: dict[str, Any] = {"plain": (0.5, 0.5), "fit": tuple(0.5 * share for share in shares)}
    within: Any = (0, 1)
    monkeypatch.setattr(
        gamma._Neighbours, "_smooth", lambda self, fit, graphs: np.mean([scores[fit.name][at] for at in graphs])
    )
    judge = gamma._Neighbours(None, np.arange(3), (), within, own=True)  # type: ignore[arg-type]
    assert judge.keeps(fit, plain) is kept
    assert gamma._Neighbours(None, np.arange(3), (), within).keeps(fit, plain)  # type: ignore[arg-type]


def by_groups(labels: Any) -> Neighbourhoods:
    """The graph of points that are alike within their groups, and otherwise by chance."""
    n = len(labels)
    noise = np.random.default_rng(0).random((n, n))
    D = np.where(np.equal.outer(labels, labels), 0.5, 1.0) + 0.2 * (noise + noise.T)
    np.fill_diagonal(D, 0)
    return Neighbourhoods.joining(D, int(max(labels)) + 1)


def test_graphs_of_people_are_apart_from_graphs_of_light() -> None:
    people, light = np.repeat(np.arange(5), 10), np.tile(np.repeat(np.arange(5), 2), 5)
    some, others = [by_groups(people)] * 2, [by_groups(light)] * 2
    assert some[0].in_common(some[1]) == pytest.approx(1)
    assert abs(some[0].in_common(others[0])) < 0.1
    assert apart_from(some, others)
    assert not apart_from(some, some)
    assert not apart_from([some[0], others[0]], others)
    assert not apart_from(some[:1], others)


def test_points_with_nothing_in_common_are_equally_far_however_stored() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((24, 18)) * (rng.random((24, 18)) < 0.15)
    whole, thin = (Neighbourhoods.of(Points(data), Euclidean(), 0.01, 4, (0, 2)) for data in (X, sparse.csr_array(X)))
    for one, other in zip(whole, thin, strict=True):
        np.testing.assert_array_equal(one.roots, other.roots)
