"""Signals and occlusion: exactly what is asked for, from a seed, without touching the input."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ewnmf.datasets import make_mixed_signals, occlude


def random_states():
    return [7, np.random.RandomState(7), np.random.default_rng(7)]


# make_mixed_signals


def test_signals_have_the_shapes_and_the_model():
    signals = make_mixed_signals(random_state=0)
    assert signals.data.shape == signals.clean.shape == signals.damaged.shape == (10, 200)
    assert signals.sources.shape == (2, 200)
    assert signals.mixing.shape == (10, 2)
    np.testing.assert_array_equal(signals.clean, signals.mixing @ signals.sources)
    assert np.linalg.matrix_rank(signals.clean) == 2
    assert "first 20 samples" in signals.DESCR


@given(st.integers(3, 12), st.integers(16, 90), st.integers(0, 15), st.integers(0, 2**32 - 1))
def test_only_the_start_of_the_first_mixture_is_destroyed(n_mixtures, n_samples, n_damaged, seed):
    signals = make_mixed_signals(n_mixtures, n_samples=n_samples, n_damaged=n_damaged, random_state=seed)
    expected = np.zeros((n_mixtures, n_samples), dtype=bool)
    expected[0, :n_damaged] = True
    np.testing.assert_array_equal(signals.damaged, expected)
    np.testing.assert_array_equal(signals.data != signals.clean, expected)
    loudest = signals.clean.max()
    noise = signals.data[signals.damaged]
    assert np.all((noise >= 1.5 * loudest) & (noise <= 2.5 * loudest))


@given(st.integers(0, 2**32 - 1))
def test_signals_are_in_range(seed):
    signals = make_mixed_signals(random_state=seed)
    for part in (signals.data, signals.clean, signals.sources, signals.mixing):
        assert part.min() >= 0
    assert signals.sources.max() <= 1
    assert signals.mixing.max() < 1


@pytest.mark.parametrize("which", range(3))
def test_the_same_seed_gives_the_same_signals(which):
    first, second = (make_mixed_signals(random_state=random_states()[which]) for _ in range(2))
    other = make_mixed_signals(random_state=8)
    np.testing.assert_array_equal(first.data, second.data)
    assert not np.array_equal(first.mixing, other.mixing)
    np.testing.assert_array_equal(first.sources, other.sources)


@pytest.mark.parametrize("which", [1, 2])
def test_a_generator_moves_on(which):
    state = random_states()[which]
    assert not np.array_equal(
        make_mixed_signals(random_state=state).mixing, make_mixed_signals(random_state=state).mixing
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"n_mixtures": 2},
            ValueError,
            "n_mixtures=2 must be at least 3, because 2 sources fit 2 mixtures exactly",
        ),
        ({"n_mixtures": 3.0}, TypeError, "n_mixtures=3.0 must be a whole number"),
        ({"n_mixtures": True}, TypeError, "n_mixtures=True must be a whole number"),
        ({"n_samples": 15}, ValueError, "n_samples=15 must be at least 16"),
        ({"n_samples": 50, "n_damaged": 50}, ValueError, "n_damaged=50 must be from 0 to 49"),
        ({"n_damaged": -1}, ValueError, "n_damaged=-1 must be from 0 to 199"),
        ({"n_damaged": "all"}, TypeError, "n_damaged='all' must be a whole number"),
        ({"random_state": "seed"}, ValueError, "'seed' cannot be used to seed"),
    ],
)
def test_impossible_signals_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        make_mixed_signals(**arguments)


# occlude


def blocks_of(mask, shape):
    """Top, left, height and width of the marked rectangle of every image that has one."""
    for image in mask.reshape(-1, *shape):
        if image.any():
            rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
            assert image.sum() == rows.size * columns.size == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
            yield int(rows[0]), int(columns[0]), rows.size, columns.size


@given(
    n=st.integers(1, 20),
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_blocks_are_as_asked_for(n, shape, share, seed, data):
    block = data.draw(st.tuples(st.integers(1, shape[0]), st.integers(1, shape[1])))
    X = np.random.default_rng(seed).uniform(size=(n, shape[0] * shape[1]))
    before = X.copy()
    occluded, mask = occlude(X, image_shape=shape, block=block, fraction=share, random_state=seed)
    found = list(blocks_of(mask, shape))
    assert len(found) == round(share * n)
    assert all((height, width) == block for _, _, height, width in found)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(occluded[~mask], X[~mask])
    for image, marked in zip(occluded, mask, strict=True):
        assert set(image[marked]) in [set(), {X.min()}, {X.max()}]
    assert not np.shares_memory(occluded, X)


def test_every_place_and_both_colours_occur():
    X = np.tile(np.arange(12.0), (3000, 1))
    occluded, mask = occlude(X, image_shape=(3, 4), block=(2, 3), fraction=1, random_state=0)
    places, counts = np.unique([place[:2] for place in blocks_of(mask, (3, 4))], axis=0, return_counts=True)
    assert places.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert counts.min() > 650
    white = np.array([image[marked][0] for image, marked in zip(occluded, mask, strict=True)]) == 11
    assert 1350 < white.sum() < 1650


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64, ">f4", bool])
def test_the_type_stays(dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(6, 16)).astype(dtype)
    assert occlude(X, random_state=0)[0].dtype == X.dtype


@pytest.mark.parametrize(("side", "expected"), [(1, 1), (2, 1), (8, 3), (32, 12)])
def test_the_default_block_is_three_eighths_of_the_image(side, expected):
    _, mask = occlude(np.arange(4.0 * side**2).reshape(4, -1), fraction=1, random_state=0)
    assert {place[2:] for place in blocks_of(mask, (side, side))} == {(expected, expected)}


def test_a_whole_number_is_a_square_block():
    _, mask = occlude(np.zeros((5, 30)), image_shape=(5, 6), block=cast(Any, np.int64(4)), fraction=1, random_state=0)
    assert {place[2:] for place in blocks_of(mask, (5, 6))} == {(4, 4)}


@pytest.mark.parametrize(("value", "expected"), [("black", 2), ("white", 9), (5, 5)])
def test_the_value_can_be_chosen(value, expected):
    X = np.random.default_rng(0).integers(2, 10, size=(8, 25)).astype(np.uint8)
    occluded, mask = occlude(X, fraction=0.5, value=value, random_state=1)
    assert set(occluded[mask].tolist()) == {expected}


@pytest.mark.parametrize("which", range(3))
def test_the_same_seed_gives_the_same_blocks(which):
    X = np.random.default_rng(0).uniform(size=(30, 64))
    first, second = (occlude(X, random_state=random_states()[which]) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    assert not np.array_equal(first[1], occlude(X, random_state=8)[1])


def test_lists_are_images_too():
    occluded, mask = occlude([[1, 2, 3, 4]], block=2, fraction=1, value="white")
    assert occluded.tolist() == [[4, 4, 4, 4]]
    assert mask.all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": np.ones((2, 15))}, ValueError, r"X has 15 columns, which is no square; give image_shape"),
        ({"image_shape": (3, 5)}, ValueError, r"image_shape=\(3, 5\) has 15 pixels but X has 16 columns"),
        ({"image_shape": 4}, ValueError, r"image_shape=4 must be \(rows, columns\)"),
        ({"image_shape": (4.0, 4.0)}, ValueError, r"image_shape=\(4.0, 4.0\) must be"),
        ({"block": 5}, ValueError, "block=5 must fit into the image of 4 x 4 pixels"),
        ({"block": (1, 5)}, ValueError, r"block=\(1, 5\) must fit"),
        ({"block": 0}, ValueError, r"block=\(0, 0\) must be \(rows, columns\), two whole numbers"),
        ({"block": (1, 2, 3)}, ValueError, r"block=\(1, 2, 3\) must be"),
        ({"block": 1.5}, ValueError, r"block=1.5 must be"),
        ({"fraction": 1.1}, ValueError, "fraction=1.1 must be a number from 0 to 1"),
        ({"fraction": float("nan")}, ValueError, "fraction=nan must be"),
        ({"fraction": "all"}, ValueError, "fraction='all' must be"),
        ({"value": "grey"}, ValueError, "value='grey' must be one of 'black-or-white', 'black', 'white'"),
        ({"value": None}, ValueError, "value=None must be one of"),
        (
            {"value": 300, "X": np.ones((2, 16), np.uint8)},
            ValueError,
            "value=300 does not fit X of type uint8",
        ),
        (
            {"value": 0.5, "X": np.ones((2, 16), np.int64)},
            ValueError,
            "value=0.5 does not fit X of type int64",
        ),
        ({"value": float("nan")}, ValueError, "value=nan does not fit X of type float64"),
        ({"X": np.ones(16)}, ValueError, r"X has shape \(16,\)"),
        ({"X": np.ones((0, 16))}, ValueError, r"X has shape \(0, 16\)"),
        ({"X": [["a"]]}, ValueError, "X has type <U1; give real numbers"),
        ({"X": [[np.nan]]}, ValueError, "X contains NaN or infinite values"),
        ({"X": sparse.eye(4, format="csr")}, TypeError, r"X is sparse; .* X\.toarray\(\)"),
    ],
)
def test_impossible_occlusion_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        occlude(**({"X": np.ones((2, 16))} | arguments))
