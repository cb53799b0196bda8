"""Clustering accuracy and mutual information, against their definitions written out."""

from __future__ import annotations

from itertools import permutations
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from ewnmf.metrics import clustering_accuracy, normalized_mutual_information

MEASURES = [clustering_accuracy, normalized_mutual_information]

label_pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


def accuracy_of_the_best_map(y_true, y_pred):
    """Eq. (26), over every one-to-one map of up to five clusters to up to five classes (or to nothing)."""
    clusters = sorted(set(y_pred))
    targets = sorted(set(y_true)) + [None] * len(clusters)
    hits = []
    for chosen in set(permutations(targets, len(clusters))):
        to_class = dict(zip(clusters, chosen, strict=True))
        hits.append(sum(to_class[cluster] == label for label, cluster in zip(y_true, y_pred, strict=True)))
    return max(hits) / len(y_true)


def information(y_true, y_pred):
    """Eq. (27), (28), sum by sum."""
    n = len(y_true)
    pairs = list(zip(y_true, y_pred, strict=True))
    p, q = ({a: labels.count(a) / n for a in set(labels)} for labels in (y_true, y_pred))
    mutual = sum(pairs.count(ab) / n * log(pairs.count(ab) / n / p[ab[0]] / q[ab[1]]) for ab in set(pairs))
    return mutual / max(-sum(v * log(v) for v in part.values()) for part in (p, q))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25))
def test_accuracy_is_that_of_the_best_map(pairs):
    y_true, y_pred = map(list, zip(*pairs, strict=True))
    assert clustering_accuracy(y_true, y_pred) == accuracy_of_the_best_map(y_true, y_pred)


@pytest.mark.parametrize("seed", range(3))
def test_accuracy_is_that_of_the_best_map_for_five_classes(seed):
    y_true, y_pred = np.random.default_rng(seed).integers(0, 5, size=(2, 30)).tolist()
    assert clustering_accuracy(y_true, y_pred) == accuracy_of_the_best_map(y_true, y_pred)


@given(label_pairs)
def test_information_is_that_of_the_equations(pairs):
    y_true, y_pred = map(list, zip(*pairs, strict=True))
    if len(set(y_true)) > 1 or len(set(y_pred)) > 1:
        assert normalized_mutual_information(y_true, y_pred) == pytest.approx(information(y_true, y_pred), abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@given(pairs=label_pairs, names=st.permutations(range(5)), order=st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(measure, pairs, names, order):
    y_true, y_pred = map(list, zip(*pairs, strict=True))
    value = measure(y_true, y_pred)
    renamed = [names[label] for label in y_pred]
    shuffled = list(zip(y_true, renamed, strict=True))
    order.shuffle(shuffled)
    assert measure(y_true, renamed) == pytest.approx(value, abs=1e-12)
    assert measure(*map(list, zip(*shuffled, strict=True))) == pytest.approx(value, abs=1e-12)
    assert measure(y_pred, y_true) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@given(pairs=label_pairs)
def test_bounds_and_perfect_agreement(measure, pairs):
    y_true, y_pred = map(list, zip(*pairs, strict=True))
    assert 0 <= measure(y_true, y_pred) <= 1
    assert measure(y_true, [f"cluster {label}" for label in y_true]) == pytest.approx(1, abs=1e-12)


@given(label_pairs)
def test_accuracy_is_at_least_the_largest_shared_group(pairs):
    y_true, y_pred = map(list, zip(*pairs, strict=True))
    assert clustering_accuracy(y_true, y_pred) >= max(map(pairs.count, pairs)) / len(pairs)


def test_accuracy_by_hand():
    assert clustering_accuracy([0, 0, 0, 1, 1, 1], [2, 2, 5, 5, 5, 5]) == 5 / 6


def test_more_clusters_than_classes_leave_some_wrong():
    assert clustering_accuracy([0, 0, 0, 0], [0, 0, 0, 1]) == 3 / 4


def test_fewer_clusters_than_classes_leave_some_unfound():
    assert clustering_accuracy([0, 0, 1, 2], ["a", "a", "a", "a"]) == 2 / 4


def test_the_map_is_the_best_and_not_the_greedy_one():
    """Taking the largest count (4) first leaves 0 for the other pair; the best map has 3 + 3."""
    y_true = [0] * 7 + [1] * 3
    y_pred = [0] * 4 + [1] * 3 + [0] * 3
    assert clustering_accuracy(y_true, y_pred) == 6 / 10


def test_the_larger_entropy_normalises():
    y_true, y_pred = [0, 0, 1, 1], [0, 1, 2, 3]
    assert normalized_mutual_information(y_true, y_pred) == pytest.approx(0.5, abs=1e-15)
    assert normalized_mutual_info_score(y_true, y_pred) == pytest.approx(2 / 3, abs=1e-15)


def test_one_group_on_one_side_tells_nothing():
    assert normalized_mutual_information([0, 0, 1, 1], [7, 7, 7, 7]) == 0
    assert normalized_mutual_information([7, 7, 7, 7], [0, 0, 1, 1]) == 0


def test_one_group_on_both_sides_is_agreement():
    assert normalized_mutual_information([3, 3], ["x", "x"]) == 1
    assert normalized_mutual_information([3], ["x"]) == 1


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "kind",
    [
        tuple,
        np.array,
        pd.Series,
        iter,
        lambda labels: np.array(labels, dtype=np.uint8),
        lambda labels: np.array(labels, dtype=float),
        lambda labels: np.array(labels, dtype=bool),
        lambda labels: np.array(labels, dtype=object),
        lambda labels: pd.Series(labels, dtype="category"),
        lambda labels: [str(label) for label in labels],
        lambda labels: np.array([str(label) for label in labels]),
        lambda labels: [("a pair", label) for label in labels],
        lambda labels: [None if label else "one" for label in labels],
    ],
)
def test_labels_of_any_kind(measure, kind):
    y_true, y_pred = [0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0]
    assert measure(kind(y_true), y_pred) == measure(y_true, y_pred)
    assert measure(y_true, kind(y_pred)) == measure(y_true, y_pred)


def test_mixed_types_in_a_list_are_not_made_strings():
    assert clustering_accuracy([1, "1", 1, "1"], [0, 1, 0, 1]) == 1


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "error", "message"),
    [
        ([0, 1], [0, 1, 2], ValueError, r"y_true has 2 labels and y_pred has 3"),
        ([], [], ValueError, r"y_true is empty"),
        ([0], np.array([]), ValueError, r"y_pred is empty"),
        (np.zeros((2, 2)), [0, 0], ValueError, r"y_true has shape \(2, 2\)"),
        (np.array(3), [0], ValueError, r"y_true has shape \(\)"),
        ([0, 1], {0, 1}, TypeError, r"y_pred=\{0, 1\} must be a one-dimensional sequence"),
        ([0, 0], [[0], [1]], TypeError, r"y_pred must be one-dimensional with hashable labels"),
        ("ab", [0, 1], TypeError, r"y_true='ab' must be a one-dimensional sequence"),
        ([0, 1], None, TypeError, r"y_pred=None must be a one-dimensional sequence"),
        ([0, 1], 5, TypeError, r"y_pred=5 must be a one-dimensional sequence"),
        ([0.0, float("nan")], [0, 1], ValueError, r"y_true contains NaN"),
        ([0, 1], np.array([np.nan, 1]), ValueError, r"y_pred contains NaN"),
    ],
)
def test_bad_labels_are_refused(measure, y_true, y_pred, error, message):
    with pytest.raises(error, match=message):
        measure(y_true, y_pred)
