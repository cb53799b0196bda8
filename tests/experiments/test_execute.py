"""A run: the start that methods share, what is measured, what is kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from ewnmf import factorization, factorize
from ewnmf.experiments.execution import execute
from ewnmf.experiments.protocol import data
from ewnmf.experiments.protocol.spec import METHODS, RULES, Spec
from ewnmf.fitting import starts as starts_module
from ewnmf.solvers.loop import solve

SIGNALS = Spec("signals", "ewnmf", 2, 0, gamma=0.1)
FACES = Spec("yale", "nmf", 3, 0, max_iter=20)
CLUSTERING = {f"{m}_{c}_{s}" for m in ("acc", "nmi") for c in ("raw", "unit") for s in (1, 10)}
COURSE = {"objective", "excess", "n_iter", "rises", "stable_at", "level_at"}
ALWAYS = {"n_points", "n_attributes", "sparseness"} | COURSE


@pytest.fixture
def faces(monkeypatch):
    """Small "faces" of 16 x 16 pixels, 5 of each of 15 people, in place of the data folder."""
    random = np.random.default_rng(0)
    people = random.random((15, 256))
    pixels = np.repeat(people, 5, axis=0) + 0.1 * random.random((75, 256))
    classes = np.repeat(np.arange(15), 5)
    monkeypatch.setattr(data, "_fetched", lambda dataset, home: ((255 * pixels / 2).astype(np.uint8), classes))
    return classes


def ended(history, excess=0.0, n_iter=None) -> Any:
    history = np.array(history, dtype=float)
    n_iter = history.size if n_iter is None else n_iter
    return SimpleNamespace(history=history, objective=history[-1], excess=excess, n_iter=n_iter)


def test_all_methods_of_a_seed_start_from_the_same_factors(monkeypatch):
    starts: dict[str, list[Any]] = {}
    draw = starts_module.draw_start

    def seen(problem, *arguments, **options):
        start = draw(problem, *arguments, **options)
        starts.setdefault(problem.model.name, []).append(start)
        return start

    monkeypatch.setattr(factorization, "draw_start", seen)
    X = np.random.default_rng(0).random((8, 6))
    X /= X.max()  # points are scaled to [0, 1] in every run, and Semi-NMF's start has the size of the data
    for method in METHODS:
        execute.fitted(Spec("yale", method, 2, 7, gamma=0.1 if method == "ewnmf" else None, max_iter=1), X)
    assert {name: len(found) for name, found in starts.items()} == {
        "nmf": 2,
        "onmf": 2,
        "semi-nmf": 1,
        "convex-nmf": 1,
    }
    first = starts["nmf"][0]
    assert 0.1 <= first.H.min() < first.H.max() <= 1.1
    for start in (each for found in starts.values() for each in found):
        assert np.array_equal(start.H, first.H)
        # Convex-NMF has combinations in place of a basis.
        assert start.basis == () or np.array_equal(start.W, first.W)


def test_the_first_attempt_starts_where_factorize_does_and_others_elsewhere():
    X = np.random.default_rng(0).random((8, 6))
    first, second = (execute.fitted(Spec("yale", "nmf", 2, 7, attempt=attempt, max_iter=5), X) for attempt in (0, 1))
    plain = factorize(X, 2, weighting="none", rng=7, max_iter=5)
    assert np.array_equal(first.codes, plain.codes)
    assert not np.allclose(second.codes, plain.codes)


def test_every_method_gives_the_figures_that_were_agreed(faces):
    for method in METHODS:
        gamma = "auto" if method == "ewnmf" else None
        spec = Spec("yale", method, 3, 0, gamma=gamma, draw=0, max_iter=20)
        figures, arrays = execute.execute(spec)
        assert set(figures) == ALWAYS | CLUSTERING | ({"gamma"} if gamma else set())
        assert figures["n_points"] == 15
        assert figures["n_attributes"] == 256
        assert figures["n_iter"] == 20
        assert arrays == {}
        assert all(type(value) is float for value in figures.values())


@pytest.mark.parametrize("rule", RULES)
def test_trials_of_a_rule_and_the_run_that_counts_are_made_by_the_papers_updates(monkeypatch, faces, rule):
    solvers = []

    def seen(*arguments, **options):
        solvers.append(options["solver"])
        return solve(*arguments, **options)

    monkeypatch.setattr("ewnmf.fitting.pipeline.solve", seen)
    figures, _ = execute.execute(Spec("yale", "ewnmf", 15, 0, gamma=rule, max_iter=10))
    assert figures["n_iter"] == 10
    assert len(solvers) > 1
    assert set(solvers) == {"mu"}


def test_a_run_is_the_same_to_the_bit_whatever_ran_before(faces):
    spec = Spec("yale", "ewnmf", 3, 1, gamma=0.05, draw=1, max_iter=30, keep=("codes", "components", "history"))
    first = execute.execute(spec)
    execute.execute(FACES)
    second = execute.execute(spec)
    assert first[0] == second[0]
    assert all(first[1][name].tobytes() == second[1][name].tobytes() for name in spec.keep)


def test_blas_and_openmp_have_one_thread(monkeypatch):
    seen: list[int] = []
    fitted = execute.fitted

    def watched(spec, X):
        pools = [library for library in threadpool_info() if library["user_api"] in ("blas", "openmp")]
        seen.extend(library["num_threads"] for library in pools)  # SciPy's reader of Matrix Market has a pool, too
        return fitted(spec, X)

    monkeypatch.setattr(execute, "fitted", watched)
    execute.execute(Spec("signals", "nmf", 2, 0, max_iter=2))
    assert seen
    assert set(seen) == {1}


def test_the_destroyed_part_loses_its_weight_in_all_ten_seeds():
    for seed in range(10):
        figures, _ = execute.execute(Spec("signals", "ewnmf", 2, seed, gamma=0.1))
        assert figures["weight_destroyed"] < 0.1 * figures["weight_rest"]


def test_kept_arrays_are_those_asked_for():
    names = ("history", "components", "weights", "codes", "data", "damaged", "clean", "sources")
    figures, arrays = execute.execute(Spec("signals", "ewnmf", 2, 0, gamma=0.1, max_iter=5, keep=names))
    assert set(arrays) == set(names)
    assert arrays["history"][-1] == figures["objective"]
    assert np.allclose(arrays["weights"].sum(axis=1), 1)
    assert np.array_equal(arrays["data"] != arrays["clean"], arrays["damaged"])
    assert arrays["sources"].shape == (2, 200)
    assert arrays["codes"].shape == (10, 2)


@pytest.mark.parametrize(
    "spec",
    [
        Spec("signals", "nmf", 2, 0, max_iter=2, keep=("weights",)),
        Spec("yale", "nmf", 3, 0, max_iter=2, keep=("damaged",)),
    ],
)
def test_what_a_run_does_not_have_cannot_be_kept(faces, spec):
    with pytest.raises(ValueError, match=f"keep='{spec.keep[0]}' cannot be kept of the run {spec}, which has none"):
        execute.execute(spec)


def test_the_course_of_a_run():
    rising = execute.course(ended([10, 5, 6, 2, 2, 2 + 1e-13]))
    assert rising["rises"] == 1
    assert rising["objective"] == 2 + 1e-13
    assert rising["stable_at"] == 4
    steady = execute.course(ended([3.0, 3.0, 3.0], excess=1.0))
    assert (steady["rises"], steady["stable_at"], steady["level_at"]) == (0, 1, 1)


def test_stable_is_of_the_fall_and_level_of_the_excess():
    # Falls from 1000 to 100; the last value is its own excess.
    J = [1000, 200, 108, 104, 100.5, 100]
    found = execute.course(ended(J, excess=100))
    assert found["stable_at"] == 3
    assert found["level_at"] == 5
    # The same under an entropy whose bound lies 100 lower, after 150 iterations that tuned gamma.
    found = execute.course(ended(np.array(J) - 100, excess=100, n_iter=156))
    assert found["stable_at"] == 153
    assert found["level_at"] == 155


def test_sparseness_is_hoyers():
    one, flat, signed = [0.0, 0, 5, 0], [3.0, 3, 3, 3], [-2.0, 2, 0, 0]
    assert execute.sparseness(np.array([one])) == 1
    assert execute.sparseness(np.array([flat])) == 0
    assert execute.sparseness(np.array([signed])) == pytest.approx(2 - np.sqrt(2), abs=1e-15)
    assert execute.sparseness(np.array([one, flat, [0.0] * 4])) == 0.5
    assert execute.sparseness(np.array([one]) * 1e-200) == 1


def test_unit_codes_do_not_depend_on_the_scale_of_components_or_points():
    random = np.random.default_rng(0)
    codes, components = random.random((5, 2)), random.random((2, 4))
    scale, size = np.array([3.0, 0.2]), np.array([[1.0], [2], [5], [0.1], [7]])
    fit: Any = SimpleNamespace(codes=codes, components=components)
    other: Any = SimpleNamespace(codes=size * codes / scale, components=components * scale[:, None])
    assert np.allclose(execute.unit_codes(fit), execute.unit_codes(other), rtol=1e-14)
    assert np.allclose(np.linalg.norm(execute.unit_codes(fit), axis=1), 1)


def test_clustering_of_points_that_lie_apart_is_perfect():
    classes = np.repeat([0, 1, 2], 4)
    fit: Any = SimpleNamespace(codes=np.eye(3)[classes], components=np.eye(3))
    assert execute.clustering(fit, classes, 3, seed=0) == dict.fromkeys(CLUSTERING, 1.0)


def test_clustering_takes_fewer_points_than_clusters_as_they_are():
    fit: Any = SimpleNamespace(codes=np.ones((6, 2)), components=np.ones((2, 4)))
    found = execute.clustering(fit, np.repeat([0, 1], 3), 2, seed=0)
    assert found == {name: 0.5 if name.startswith("acc") else 0.0 for name in CLUSTERING}


def test_weights_of_damage_are_of_the_points_that_have_some():
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.25] * 4])
    damaged = np.array([[True, False, False, False], [False] * 4])
    found = execute.weights_of_damage(weights, damaged)
    assert found == {"weight_destroyed": pytest.approx(0.4), "weight_rest": pytest.approx(1.2)}


def test_statistics_of_sparse_and_dense_data_agree():
    X = np.array([[0.0, 0, 1], [0, 1, 0.5], [0, 0, 1], [0, 1, 1]])
    classes = np.array([0, 1, 1, 1])
    dense, thin = (execute.statistics(data.Sample(each, classes)) for each in (X, sparse.csr_matrix(X)))
    assert dense == thin
    assert dense == {
        "n_points": 4.0,
        "n_attributes": 3.0,
        "silent_attributes": 1.0,
        "share_of_zeros": 0.5,
        "n_classes": 2.0,
        "smallest_class": 1.0,
        "largest_class": 3.0,
        "first_class": 1.0,
    }


def test_a_draw_takes_all_points_of_its_categories_scaled(faces):
    made = data.sample(Spec("yale", "nmf", 4, 2, draw=2))
    assert made.classes is not None
    assert np.unique(made.classes).tolist() == data.drawn_categories("yale", 4, 2).tolist()
    assert made.X.shape == (20, 256)
    assert (made.X.min(axis=1).tolist(), made.X.max(axis=1).tolist()) == ([0.0] * 20, [1.0] * 20)
    assert made.damaged is None


def test_draws_are_pinned_and_leave_out_caltechs_background():
    assert data.drawn_categories("yale", 3, 0).tolist() == [2, 6, 11]
    draws = [data.drawn_categories("caltech101", 10, draw) for draw in range(100)]
    assert all(len(set(drawn)) == 10 for drawn in draws)
    assert {int(label) for drawn in draws for label in drawn} == set(range(1, 102))


def test_occlusion_is_the_same_for_all_methods_of_a_seed(faces):
    one, other = (data.sample(Spec("yale", method, 15, 3, occluded=0.2)) for method in ("nmf", "semi-nmf"))
    assert np.array_equal(one.X, other.X)
    assert one.damaged is not None
    assert one.clean is not None
    assert one.damaged.sum() == 15 * 12 * 12
    assert set(np.unique(one.X[one.damaged])) == {0.0, 1.0}
    assert np.array_equal(one.X[~one.damaged], one.clean[~one.damaged])
    assert not np.array_equal(one.X, data.sample(Spec("yale", "nmf", 15, 4, occluded=0.2)).X)


def test_missing_data_is_named_with_the_folders_looked_at(tmp_path, monkeypatch):
    monkeypatch.setenv("EWNMF_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"the data set 'umist' is neither in .* nor in .*raw; set EWNMF_DATA"):
        data.check_available("umist")
    data.check_available("signals")


def test_digits_are_scikit_learns_scaled_by_point_and_occluded_by_small_blocks():
    spec = Spec("digits", "nmf", 10, 4, occluded=0.3, block=3)
    made: Any = data.sample(spec)
    assert made.clean.shape == (1797, 64)
    assert np.array_equal(made.clean.min(axis=1), np.zeros(1797))
    assert np.array_equal(made.clean.max(axis=1), np.ones(1797))
    assert sorted(set(made.damaged.sum(axis=1))) == [0, 9]
    assert made.damaged.any(axis=1).sum() == round(0.3 * 1797)
    assert np.array_equal(np.bincount(made.classes), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180])
    data.check_available("digits", home="nowhere")


def test_the_loss_of_a_run_is_that_of_its_spec():
    X = np.random.default_rng(0).random((8, 6))
    for loss in ("euclidean", "kullback-leibler"):
        for method, gamma in (("nmf", None), ("ewnmf", 0.1)):
            ours = execute.fitted(Spec("yale", method, 2, 7, gamma=gamma, loss=loss, max_iter=5), X)
            weighting = {"weighting": "none"} if gamma is None else {"gamma": gamma}
            plain = factorize(X, 2, loss=loss, rng=7, max_iter=5, **weighting)
            assert np.array_equal(ours.codes, plain.codes)
