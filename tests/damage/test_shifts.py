"""Attributes that are off in a segment, by their own values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ewnmf.damage.shifts import shifted

n, m = 200, 30


@pytest.fixture
def table() -> NDArray[np.float64]:
    """Points without an order."""
    return np.random.default_rng(0).normal(size=(n, m))


@pytest.fixture
def slow(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points in order, each attribute a series that lasts."""
    for i in range(1, n):
        table[i] = 0.95 * table[i - 1] + 0.3 * table[i]
    return table / table.std(axis=0)


def everywhere(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.ones(x.shape, dtype=bool)


class TestNothing:
    def test_without_order(self, table):
        assert not shifted(table, everywhere(table)).off.any()

    def test_in_order(self, slow):
        assert not shifted(slow, everywhere(slow)).off.any()

    def test_of_few_points(self, table):
        table[10:20, 0] += 20
        assert not shifted(table[:39], everywhere(table[:39])).off.any()

    def test_one_value_and_a_few_others(self, table):
        """Three of five rare values next to each other are no segment."""
        table[:] = 0
        table[[50, 53, 55, 120, 180]] = 1
        assert not shifted(table, everywhere(table)).off.any()

    def test_constant_and_unknown(self, table):
        table[:, 0], known = 1, everywhere(table)
        known[:, 1] = False
        assert not shifted(table, known).off.any()


class TestSegment:
    def test_level(self, table):
        for j in range(10):
            table[10 * j : 10 * j + 60, j] += 2
        off = shifted(table, everywhere(table)).off
        assert not off[:, 10:].any()
        for j in range(10):
            found = np.flatnonzero(off[:, j])
            assert abs(found[0] - 10 * j) <= 4
            assert abs(found[-1] - (10 * j + 59)) <= 4

    def test_in_other_units(self, table):
        """What counts are ranks: a few far values change nothing."""
        table[60:120, 0] += 2
        wild = table.copy()
        wild[5, 0], wild[130, 0] = 1e6, -1e6
        was, now = shifted(table, everywhere(table)).off[:, 0], shifted(wild, everywhere(wild)).off[:, 0]
        assert (was != now).sum() <= 4

    def test_beyond_all_numbers(self, table):
        table[60:120, 0] += 2
        table[[5, 6, 130], [0, 0, 1]] = np.inf, -np.inf, 1e300
        assert shifted(table, everywhere(table)).off[64:116, 0].all()

    def test_shaken(self, table):
        """The values that are rough, and not those between them."""
        hit = np.zeros((n, m), dtype=bool)
        hit[40:100:2, 0] = True
        slow = np.linspace(-3, 3, n)
        table = 0.05 * table + slow[:, None]
        table[hit] += 8 * np.random.default_rng(1).normal(size=hit.sum())
        off = shifted(table, everywhere(table)).off
        assert off[hit].mean() > 0.6
        assert not off[:, 1:].any()
        assert not off[:38].any()
        assert not off[102:].any()

    def test_twice(self, table):
        table[20:60, 3] += 4
        table[120:160, 3] -= 4
        off = shifted(table, everywhere(table)).off[:, 3]
        assert off[20:60].mean() > 0.9
        assert off[120:160].mean() > 0.9
        assert off.sum() <= 100

    def test_never_most_of_an_attribute(self, table):
        table[:120, 3] += 4
        off = shifted(table, everywhere(table)).off[:, 3]
        assert not off[:120].any()
        assert off[120:].mean() > 0.9

    def test_what_is_not_known(self, table):
        known = everywhere(table)
        table[60:120, 0] += 3
        known[80:100, 0] = False
        table[~known] = np.nan
        off = shifted(np.where(known, table, 0), known).off
        assert off[62:80, 0].all()
        assert not off[~known].any()

    def test_in_order(self, slow):
        """An attribute that does not last may be off, one that does may go anywhere."""
        slow[:, 0] = np.random.default_rng(1).normal(size=n)
        slow[60:120, :2] += 2
        off = shifted(slow, everywhere(slow)).off
        assert off[62:118, 0].all()
        assert not off[:, 1:].any()


class TestEvents:
    def test_seen_by_many(self, table):
        """Classes in order: a third of the attributes changes where a class ends."""
        table[70:140, :10] += 3
        assert not shifted(table, everywhere(table)).off.any()

    def test_seen_by_most_wherever(self, table):
        """As the patches of an image, in which the sky ends somewhere."""
        for j in range(20):
            table[40 + 4 * j : 120 + 4 * j, j] += 3
        found = shifted(table, everywhere(table))
        assert found.most
        assert not found.off.any()

    def test_seen_by_two(self, table):
        table[70:140, :2] += 3
        assert shifted(table, everywhere(table)).off[72:138, :2].all()
