"""Damage: where it is asked for, as much as is asked for, from a seed, without touching the input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ewnmf.datasets import DAMAGES, make_damage

COLUMNS = ("dead", "stuck", "saturated", "drifting", "bursting", "gain", "faults")
POINTS = ("blocks", "bands", "swapped")


def table(n: int = 40, m: int = 24, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.1, 2, size=(n, m))


def test_the_kinds():
    assert set(DAMAGES) == {*COLUMNS, *POINTS, "salt-and-pepper"}


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("shape", [None, (4, 6)])
@given(seed=st.integers(0, 2**31 - 1), strength=st.floats(0.01, 1))
def test_the_mask_is_where_values_differ(kind, shape, seed, strength):
    X = table(20, 24, seed)
    X[3, 5] = X[7] = np.nan
    before = X.copy()
    damaged, mask = make_damage(X, kind, strength=strength, image_shape=shape, random_state=seed)
    np.testing.assert_array_equal(X, before)
    assert not np.shares_memory(damaged, X)
    np.testing.assert_array_equal(np.isnan(damaged), np.isnan(X))
    np.testing.assert_array_equal(mask, (damaged != X) & ~np.isnan(X))
    assert mask.dtype == bool
    assert np.nanmin(damaged) >= 0
    assert np.isfinite(damaged[~np.isnan(X)]).all()


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_seed_decides_and_strength_tells(kind):
    X = table(100, 30)
    first, again, other = (make_damage(X, kind, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])
    counts = [make_damage(X, kind, strength=how, random_state=3)[1].sum() for how in ("mild", "medium", "strong")]
    assert 0 < counts[0] < counts[1] < counts[2] < X.size / 2
    numbers = [make_damage(X, kind, strength=how, random_state=3)[1].sum() for how in (0.25, 0.5, 1)]
    assert numbers == counts


@pytest.mark.parametrize("kind", POINTS)
def test_a_share_of_the_points(kind):
    X = table(50)
    mask = make_damage(X, kind, share=0.2, random_state=1)[1]
    assert mask.any(axis=1).sum() == 10
    assert not make_damage(X, kind, share=0, random_state=1)[1].any()
    assert not make_damage(X, kind, extent=0, random_state=1)[1].any()


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_share_of_the_columns_for_a_while(kind):
    X = table(50)
    mask = make_damage(X, kind, share=0.25, extent=0.2, random_state=1)[1]
    hit = np.flatnonzero(mask.any(axis=0))
    assert hit.size == 6
    for j in hit:
        rows = np.flatnonzero(mask[:, j])
        assert rows[-1] - rows[0] < 10
    assert not make_damage(X, kind, share=0, random_state=1)[1].any()
    assert not make_damage(X, kind, extent=0, random_state=1)[1].any()


def test_a_block_is_a_rectangle_of_black_or_white():
    X = np.random.default_rng(0).uniform(0.2, 0.8, size=(30, 8 * 12))
    damaged, mask = make_damage(X, "blocks", share=0.5, extent=0.25, image_shape=(8, 12), random_state=0)
    for point in np.flatnonzero(mask.any(axis=1)):
        place = mask[point].reshape(8, 12)
        rows, columns = np.flatnonzero(place.any(axis=1)), np.flatnonzero(place.any(axis=0))
        assert np.ptp(rows) == 3
        assert np.ptp(columns) == 5
        assert place.sum() == 24
        assert set(damaged[point][mask[point]]) in ({X.min()}, {X.max()})


def test_a_block_of_a_table_is_a_run_of_columns():
    X = table(30, 20)
    damaged, mask = make_damage(X, "blocks", share=0.5, extent=0.25, random_state=0)
    ends = (damaged == X.min(axis=0)) | (damaged == X.max(axis=0))
    assert ends[mask].all()
    for point in np.flatnonzero(mask.any(axis=1)):
        assert np.ptp(np.flatnonzero(mask[point])) <= 4
        assert mask[point].sum() >= 4  # a value that was an extreme stays what it is


def test_a_band_is_at_the_same_place_and_dark():
    X = np.random.default_rng(0).uniform(0.2, 0.8, size=(30, 8 * 12))
    damaged, mask = make_damage(X, "bands", share=0.4, extent=0.25, image_shape=(8, 12), random_state=0)
    hit = mask.any(axis=1)
    place = mask[hit].all(axis=0).reshape(8, 12)
    assert (mask[hit].sum(axis=1) == 24).all()
    assert place.all(axis=1).sum() == place.any(axis=1).sum() == 2
    assert (damaged[mask] == X.min()).all()


def test_what_sensors_read():
    X = table(40, 10) + np.arange(10)
    ends: dict[str, Any] = {"share": 1.0, "extent": 0.25, "random_state": 0}
    dead, mask = make_damage(X, "dead", **ends)
    assert (dead[mask] == 0).all()
    assert (mask.sum(axis=0) == 10).all()
    stuck, mask = make_damage(X, "stuck", **ends)
    assert (mask.sum(axis=0) == 9).all()
    for j in range(10):
        rows = np.flatnonzero(mask[:, j])
        assert set(stuck[rows, j]) == {X[rows[0] - 1, j]}
    saturated, mask = make_damage(X, "saturated", **ends)
    np.testing.assert_array_equal(saturated[mask], np.broadcast_to(X.max(axis=0), X.shape)[mask])
    drifting, mask = make_damage(X, "drifting", amount=2, **ends)
    assert (mask.sum(axis=0) == 10).all()
    np.testing.assert_allclose((drifting - X).max(axis=0), 2 * np.ptp(X, axis=0))
    gain, mask = make_damage(X, "gain", amount=1, **ends)
    ratio = gain[mask] / X[mask]
    assert set(ratio) == {0.5, 2.0}
    bursting, mask = make_damage(X, "bursting", amount=1, **ends)
    assert (mask.sum(axis=0) == 6).all()
    assert (bursting - X)[mask].std() > 0.5


def test_values_change_places_within_their_point():
    X = table(20, 12)
    damaged, mask = make_damage(X, "swapped", share=0.5, extent=0.5, random_state=0)
    np.testing.assert_array_equal(np.sort(damaged, axis=1), np.sort(X, axis=1))
    assert set(mask.sum(axis=1)) == {0, 6}


def test_negative_data_may_drift_down():
    X = np.random.default_rng(0).normal(size=(40, 30))
    X[:, 0] = np.abs(X[:, 0])
    damaged = make_damage(X, "drifting", share=1, random_state=0)[0]
    change = (damaged - X).sum(axis=0)
    assert (change > 0).any()
    assert (change < 0).any()
    assert damaged[:, 0].min() >= 0


def test_types():
    X = table().astype(np.float32)
    assert make_damage(X, "gain", random_state=0)[0].dtype == np.float32
    damaged, mask = make_damage((10 * table()).astype(int), "drifting", random_state=0)
    assert damaged.dtype == np.float64
    assert mask.any()
    constant, mask = make_damage(np.ones((9, 4)), "drifting", random_state=0)
    assert (constant[mask] > 1).all()
    empty = np.full((9, 4), np.nan)
    assert np.isnan(make_damage(empty, "faults", strength=1.0, random_state=0)[0]).all()


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("block", {}, "kind='block' is not known; use one of .* Did you mean 'blocks'?"),
        (3, {}, "kind=3 is not known"),
        ("dead", {"strength": "huge"}, "strength='huge' must be one of 'mild', 'medium', 'strong' or a number above 0"),
        ("dead", {"strength": 0}, "strength=0 must be"),
        ("dead", {"strength": True}, "strength=True must be"),
        ("dead", {"share": 1.5}, "share=1.5 must be a number from 0 to 1"),
        ("dead", {"extent": -1}, "extent=-1 must be a number from 0 to 1"),
        ("dead", {"amount": 1}, "amount=1 was given, but kind='dead' has none; leave it out"),
        ("gain", {"amount": 0}, "amount=0 must be a number above 0"),
        ("blocks", {"image_shape": (5, 5)}, r"image_shape=\(5, 5\) has 25 pixels but X has 24 columns"),
    ],
)
def test_refusals(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_damage(table(), kind, **arguments)


def test_other_data_is_refused():
    with pytest.raises(TypeError, match="X is sparse; make_damage needs a dense table"):
        make_damage(sparse.csr_array(table()), "dead")
    with pytest.raises(ValueError, match="infinite"):
        make_damage([[1.0, np.inf]], "dead")
