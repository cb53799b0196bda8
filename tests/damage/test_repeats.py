"""Values that repeat: found within points and attributes, and told from those that belong there."""

from __future__ import annotations

import numpy as np

from ewnmf.damage.repeats import (
    common_values,
    ends_of_scale,
    explained_by_scale,
    in_runs,
    level_of_groups,
    often,
    often_in_points,
    repeats,
    standing_out,
    stuck_values,
    unexplained,
    usual_values,
)


def continuous(n: int = 200, m: int = 100) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, m))


def test_equal_values_of_a_row_are_a_group():
    X = np.array([[1.0, 2, 1, 1, np.nan], [1, 3, 3, 4, 5]])
    found = repeats(X, ~np.isnan(X))
    np.testing.assert_array_equal(found.counts, [[3, 1, 3, 3, 0], [1, 2, 2, 1, 1]])
    assert found.groups[0, 0] == found.groups[0, 2] != found.groups[1, 0]


def test_the_order_of_attributes_does_not_matter():
    X = np.round(continuous(20, 30), 1)
    order = np.random.default_rng(1).permutation(30)
    seen = np.ones(X.shape, dtype=bool)
    np.testing.assert_array_equal(repeats(X[:, order], seen).counts, repeats(X, seen).counts[:, order])


def test_usual_and_common_values():
    X = continuous()
    X[:120, 3] = 7
    X[:90, 4] = 7
    X[:150, 50:70] = 0
    seen = np.ones(X.shape, dtype=bool)
    usual = usual_values(X, repeats(X.T, seen.T))
    assert usual[3] == 7
    assert np.isnan(usual[4])
    across = repeats(X, seen)
    np.testing.assert_array_equal(common_values(X, across, often(across.counts, 100)), [0])


def test_a_run_of_a_value_is_told_from_a_background():
    """Both have a value that most points have somewhere; a background is scattered over the points."""
    X, seen = continuous(), np.ones((200, 100), dtype=bool)
    X[60:150, 3] = 0
    X[np.random.default_rng(1).permutation(200)[:90], 4] = 0
    along = repeats(X.T, seen.T)
    found = in_runs(X, along, X.T == 0, seen)
    np.testing.assert_array_equal(found[3], X[:, 3] == 0)
    assert not found[4].any()
    walks = np.cumsum(X, axis=0) / 10
    walks[60:150, :60] = -9
    assert not in_runs(walks, repeats(walks.T, seen.T), walks.T == -9, seen).any()
    for j in range(60):
        walks[:, j] = np.roll(walks[:, j], 3 * j)
    assert in_runs(walks, repeats(walks.T, seen.T), walks.T == -9, seen)[:60].any(axis=1).all()


def test_a_group_is_judged_by_all_its_scores():
    X = continuous(3)
    X[1, :20] = 5
    across = repeats(X, np.ones(X.shape, dtype=bool))
    asked = often(across.counts, 100)
    assert not unexplained(across.groups, asked, np.ones(X.shape), 1.0).any()
    np.testing.assert_array_equal(unexplained(across.groups, asked, np.full(X.shape, 3.0), 1.0), X == 5)


def test_a_stuck_sensor_and_one_at_its_limit():
    """Both repeat a value in a fifth of their points; where it belongs, expectations lie towards it."""
    X, seen = continuous(), np.ones((200, 100), dtype=bool)
    expected = 0.9 * X
    high = np.quantile(X[:, 1], 0.8)
    X[:, 1] = np.minimum(X[:, 1], high)
    X[60:100, 2] = X[60, 2]
    within = repeats(X.T, seen.T)
    asked = standing_out(within)
    np.testing.assert_array_equal(np.flatnonzero(asked.any(axis=1)), [1, 2])
    attributes, values = stuck_values(X, within, asked, expected, seen)
    np.testing.assert_array_equal(attributes, [2])
    np.testing.assert_array_equal(values, X[60, 2])


def test_values_that_come_together_are_judged_together():
    """Expectations of one attribute say little of it; of thirty that repeat in the same points they say enough."""
    rng = np.random.default_rng(0)
    X, seen = continuous(300, 30), np.ones((300, 30), dtype=bool)
    expected = 0.1 * X + 0.3 * rng.normal(size=X.shape)
    X[rng.permutation(300)[:6]] = X.min(axis=0)
    within = repeats(X.T, seen.T)
    asked = standing_out(within)
    alone = [stuck_values(X, within, asked & (np.arange(30) == j)[:, None], expected, seen)[0].size for j in range(30)]
    assert sum(alone) < 30
    assert stuck_values(X, within, asked, expected, seen)[0].size == 30


def test_coarse_values_do_not_stand_out():
    X = np.round(continuous(500, 5), 1)
    assert not standing_out(repeats(X.T, np.ones(X.T.shape, dtype=bool))).any()


def test_ends_of_a_scale_are_no_repetition():
    """Columns that were brought to [0, 1] by their ends have these ends, in one point as in many."""
    X = np.random.default_rng(0).uniform(size=(50, 12))
    X[7] = 9
    X[9, :3] = 9
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    ends = ends_of_scale(scaled, repeats(scaled.T, np.ones((12, 50), dtype=bool)))
    np.testing.assert_array_equal(ends[0], np.zeros(12))
    np.testing.assert_array_equal(ends[1], [np.nan] * 3 + [1.0] * 9)
    assert np.isnan(ends_of_scale(X, repeats(X.T, np.ones((12, 50), dtype=bool)))).all()


def test_a_block_is_no_end_of_a_scale_where_a_few_of_its_entries_are():
    X = np.random.default_rng(0).random((6, 10))
    X[0, :8] = 1.0
    X[1, 8:] = 1.0
    ends = np.stack([np.full(10, np.nan), np.where(np.isin(np.arange(10), [0, 1, 2, 8, 9]), 1.0, np.nan)])
    explained = explained_by_scale(X, repeats(X, np.ones(X.shape, dtype=bool)), ends)
    assert not explained[0].any()
    np.testing.assert_array_equal(explained[1], np.arange(10) >= 8)


def test_steps_of_a_coarse_scale_are_no_repetition():
    """Of 100 values in ten steps each is there ten times; thirty of one are a repetition, as are ten among others."""
    X = continuous()
    X[0] = np.arange(100) % 10
    X[1] = np.where(np.arange(100) < 30, 3, X[0])
    X[2, 50:60] = 5
    found = often_in_points(repeats(X, np.ones(X.shape, dtype=bool)))
    assert not found[0].any()
    np.testing.assert_array_equal(found[1], X[1] == 3)
    np.testing.assert_array_equal(found[2], X[2] == 5)


def test_what_every_point_has_may_be_damage():
    """Salt and pepper are in all points, and repeat more than the grey levels of these."""
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(40, 200, size=(50, 1000)))
    salt = rng.random(X.shape) < 0.05
    X[salt] = 255
    np.testing.assert_array_equal(often_in_points(repeats(X, salt | True)), salt)


def test_a_limit_that_is_reached_early_is_not_stuck():
    """Loud sounds are cut off, and what the others expect there is more than elsewhere, though by far not the limit."""
    rng = np.random.default_rng(3)
    level = rng.normal(size=300)
    x = np.where(level > 1.2, 9.0, 0.5 * level + 0.1 * rng.normal(size=300))
    expected = np.minimum(0.5 * level, 0.8) + 0.1 * rng.normal(size=300)
    X, seen = x[:, None], np.ones((300, 1), dtype=bool)
    along = repeats(X.T, seen.T)
    assert stuck_values(X, along, X.T == 9, expected[:, None], seen)[0].size == 0
    # The same values at points of which something else is expected.
    expected[x == 9] = rng.permutation(expected[x != 9])[: np.sum(x == 9)]
    assert stuck_values(X, along, X.T == 9, expected[:, None], seen)[0].size == 1


class TestLevelOfGroups:
    """Where nearly all of many repetitions are explained, the last ones take twice as much."""

    def scores(self, far: int) -> np.ndarray:
        """Of points each of which has one value in a fifth of its attributes; that of some is farther off."""
        scores = np.ones((100, 20))
        scores[:far] = 3.0
        return scores

    def level(self, n: int, far: int) -> float:
        groups = np.tile(np.arange(n)[:, None], 20)
        asked = np.broadcast_to(np.arange(20) < 4, (n, 20))
        return level_of_groups(groups, asked, self.scores(far)[:n], 1.0)

    def test_next_to_none_of_many(self):
        assert self.level(100, 2) == 2.0

    def test_many_of_many(self):
        assert self.level(100, 3) == 1.0

    def test_few(self):
        assert self.level(40, 0) == 1.0
