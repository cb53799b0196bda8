"""The random numbers of a point: made of its observed content alone, uniform, and fast."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

from ewnmf.fitting import starts
from ewnmf.fitting.starts import point_numbers

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 17)) * (RNG.random((300, 17)) < 0.5)
X[7] = 0
P = (RNG.random(X.shape) < 0.8) * RNG.uniform(0.1, 3, X.shape)


def _numbers(data: Any, P: Any = None, count: int = 6, key: bytes = b"key") -> np.ndarray:
    return point_numbers(data, P, count, key)


@pytest.mark.parametrize("prior", [None, P], ids=["whole", "hidden"])
class TestWhatTheyDependOn:
    def test_order_and_repetition(self, prior: Any) -> None:
        rows = RNG.integers(300, size=900)
        numbers = _numbers(X[rows], None if prior is None else prior[rows])
        np.testing.assert_array_equal(numbers, _numbers(X, prior)[rows])

    def test_neighbours(self, prior: Any) -> None:
        one = [_numbers(X[i : i + 1], None if prior is None else prior[i : i + 1]) for i in range(20)]
        np.testing.assert_array_equal(np.vstack(one), _numbers(X, prior)[:20])

    @pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
    def test_storage(self, kind: Any, prior: Any) -> None:
        stored = kind(X)
        stored.data[3] = 0
        dense = stored.toarray()
        np.testing.assert_array_equal(_numbers(stored, prior), _numbers(dense, prior))
        np.testing.assert_array_equal(_numbers(np.asfortranarray(dense), prior), _numbers(dense, prior))
        empty = kind((4, 17))
        np.testing.assert_array_equal(_numbers(empty), _numbers(empty.toarray()))

    @pytest.mark.parametrize("unit", [3.0, 1e-200, 0.1, 7e90])
    def test_unit(self, unit: float, prior: Any) -> None:
        np.testing.assert_array_equal(_numbers(X * unit, prior), _numbers(X, prior))

    def test_precision(self, prior: Any) -> None:
        counts = RNG.integers(0, 250, size=X.shape)
        whole = _numbers(counts.astype(np.float64), prior)
        np.testing.assert_array_equal(_numbers(counts.astype(np.float32), prior), whole)
        np.testing.assert_array_equal(_numbers(counts / 255, prior), whole)

    def test_blocks(self, monkeypatch: pytest.MonkeyPatch, prior: Any) -> None:
        whole = _numbers(X, prior)
        for entries in (1, 100):
            monkeypatch.setattr(starts, "_BLOCK_ENTRIES", entries)
            np.testing.assert_array_equal(_numbers(X, prior), whole)
            np.testing.assert_array_equal(_numbers(sparse.csr_array(X), prior), whole)


def test_hidden_entries_do_not_count() -> None:
    other = np.where(P > 0, X, 1e6 * RNG.normal(size=X.shape))
    np.testing.assert_array_equal(_numbers(other, P), _numbers(X, P))
    np.testing.assert_array_equal(_numbers(X, P), _numbers(np.where(P > 0, X, 0)))
    np.testing.assert_array_equal(_numbers(X, np.ones(X.shape)), _numbers(X))


def test_every_entry_counts() -> None:
    point = RNG.uniform(1, 2, size=17)
    changed = np.tile(point, (18, 1))
    changed[np.arange(17), np.arange(17)] *= 0.9999
    negative, swapped = point.copy(), point[[1, 0, *range(2, 17)]]
    negative[3] *= -1
    numbers = _numbers(np.vstack([changed, negative, swapped]))
    assert len(np.unique(numbers)) == numbers.size


def test_keys_and_counts() -> None:
    assert not np.intersect1d(_numbers(X, key=b"one"), _numbers(X, key=b"other")).size
    np.testing.assert_array_equal(_numbers(X, count=3), _numbers(X, count=9)[:, :3])


def _few_values() -> np.ndarray:
    """All points of seven attributes with values 0 to 4: they differ by little."""
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 6), axis=-1).reshape(-1, 6)
    return np.hstack([grid, np.full((len(grid), 1), 4.0)])


@pytest.mark.parametrize("data", [_few_values(), RNG.random((15625, 3)), np.eye(2000)], ids=["grid", "random", "eye"])
def test_uniform_and_independent(data: np.ndarray) -> None:
    numbers = _numbers(data, count=8)
    n = len(numbers)
    assert ((numbers >= 0) & (numbers < 1)).all()
    assert len(np.unique(numbers)) == numbers.size
    flat = [stats.kstest(part, "uniform").pvalue for part in (*numbers.T, numbers.ravel())]
    assert min(flat) > 1e-4
    # Pairs of numbers of a point, and the same number of points that follow each other, on a grid of 8 x 8.
    pairs = [numbers[:, [k, k + 1]] for k in range(7)] + [
        np.column_stack([numbers[:-1, k], numbers[1:, k]]) for k in range(8)
    ]
    for pair in pairs:
        counts = np.histogram2d(pair[:, 0], pair[:, 1], bins=8, range=[(0, 1), (0, 1)])[0]
        assert stats.chisquare(counts.ravel()).pvalue > 1e-5
    # Every bit of the first 50 is set in half of the numbers.
    bits = (numbers.ravel()[:, None] * 2.0 ** np.arange(1, 51)).astype(np.int64) & 1
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(8 * n)


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_array])
def test_no_work_in_python_for_a_point(of: Any) -> None:
    data = RNG.random((20_000, 5))
    calls = [0, 0]

    for at, size in enumerate((10_000, 20_000)):

        def count(frame: Any, event: str, argument: Any, at: int = at) -> None:
            calls[at] += event in ("call", "c_call")

        some = of(data[:size])
        sys.setprofile(count)
        try:
            _numbers(some, count=10)
        finally:
            sys.setprofile(None)
    assert calls[1] - calls[0] < 1000
