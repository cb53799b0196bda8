"""What the targets ask for: the paper's protocol, a quick part of it, runs shared between targets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from ewnmf.experiments.execution import cost
from ewnmf.experiments.execution.cost import Estimator
from ewnmf.experiments.protocol.cases import CASES, TEXTS_BY_SIZE, gamma_grid
from ewnmf.experiments.protocol.data import class_sizes, drawn_categories
from ewnmf.experiments.protocol.plan import GAMMAS, TARGETS, Limits, planned
from ewnmf.experiments.protocol.spec import METHODS

EVERYTHING = planned(["all"])
SUBSETS = {"fig5": "yale", "fig6": "umist", "fig7": "caltech101", "fig8": "gtfd", "fig9": "tdt2"}


def test_the_gammas_are_the_papers():
    assert sorted(GAMMAS) == [10.0**power for power in range(-8, 9)]


@pytest.mark.parametrize(("target", "dataset", "k"), [("table2", "yale", 15), ("table3", "umist", 20)])
def test_tables_have_ten_seeds_of_every_method_gamma_and_try(target, dataset, k):
    specs = TARGETS[target].specs()
    assert {(spec.dataset, spec.k, spec.draw, spec.max_iter) for spec in specs} == {(dataset, k, None, 300)}
    for seed in range(10):
        mine = [spec for spec in specs if spec.seed == seed]
        tries = Counter(spec.method for spec in mine)
        assert tries == dict.fromkeys(METHODS, 1) | {"nmf": 17, "ewnmf": 19}
        assert {spec.gamma for spec in mine if spec.method == "ewnmf"} == {"auto", "groups", *GAMMAS}
        assert {spec.attempt for spec in mine if spec.method == "nmf"} == set(range(17))
    assert len(specs) == 400


@pytest.mark.parametrize(("target", "dataset"), SUBSETS.items())
def test_figures_have_ten_draws_of_two_to_ten_clusters(target, dataset):
    specs = TARGETS[target].specs()
    cells = Counter((spec.k, spec.draw) for spec in specs)
    assert cells == {(k, draw): 40 for k in range(2, 11) for draw in range(10)}
    assert all(spec.dataset == dataset and spec.seed == spec.draw for spec in specs)
    if dataset != "tdt2":
        assert [spec.draw for spec in specs] == sorted(spec.draw for spec in specs if spec.draw is not None)


def test_a_run_is_planned_once_whatever_it_keeps():
    assert len({spec.key for spec in EVERYTHING}) == len(EVERYTHING)
    assert len({replace(spec, keep=()) for spec in EVERYTHING}) == len(EVERYTHING)


def test_figures_of_gamma_need_no_run_of_their_own():
    assert set(TARGETS["fig3"].specs()) < set(TARGETS["table2"].specs())
    assert set(TARGETS["fig4"].specs()) < set(TARGETS["table3"].specs())
    assert TARGETS["fig10"].specs() == TARGETS["fig11"].specs()


def test_what_is_drawn_is_kept():
    for spec in TARGETS["fig10"].specs():
        assert {"history", "components"} <= set(spec.keep)
    for spec in TARGETS["fig2"].specs():
        assert {"data", "damaged", "sources"} <= set(spec.keep)
        assert ("weights" in spec.keep) == (spec.method == "ewnmf")
    for share in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        shown = [spec for spec in TARGETS["occlusion"].specs() if spec.occluded == share and "weights" in spec.keep]
        assert {(spec.seed, spec.gamma) for spec in shown} == {(0, 0.02), (0, "auto"), (0, "groups")}
        assert all("data" in spec.keep and ("damaged" in spec.keep) == (share > 0) for spec in shown)


@pytest.mark.parametrize("name", TARGETS)
def test_quick_is_a_part_of_the_whole(name):
    quick, whole = TARGETS[name].specs(quick=True), TARGETS[name].specs()
    assert quick
    assert set(quick) <= set(whole)


def test_quick_is_estimated_at_under_twenty_minutes_of_one_core(monkeypatch, tmp_path):
    monkeypatch.setenv("EWNMF_DATA", str(tmp_path))
    quick = planned(["all"], quick=True, limits=Limits(without=("tdt2",)))
    assert 300 < sum(map(Estimator().seconds, quick)) < 1200
    assert 60 < sum(map(Estimator().seconds, TARGETS["auto-gamma"].specs(quick=True))) < 150


def test_texts_are_last_and_statistics_first():
    shared = set(TARGETS["auto-gamma"].specs())
    texts = [spec for spec in TARGETS["fig9"].specs() if spec not in shared]
    assert EVERYTHING[-len(texts) :] == texts
    assert [spec.method for spec in EVERYTHING[:5]] == ["none"] * 5


def test_limits_take_the_first_ones():
    few = Limits(seeds=2, draws=3, clusters=4, tries=5)
    table, figure, texts = (TARGETS[name].specs(limits=few) for name in ("table2", "fig8", "fig9"))
    assert {spec.seed for spec in table} == {0, 1}
    assert {spec.gamma for spec in table} == {None, "auto", "groups", 0.01, 0.1, 1.0, 0.001, 1e8}
    assert {spec.attempt for spec in table} == set(range(5))
    assert {(spec.k, spec.draw) for spec in figure} == {(k, draw) for k in (2, 3, 4) for draw in range(3)}
    assert set(table) < set(TARGETS["table2"].specs())
    assert {(spec.k, spec.draw) for spec in texts} == {(k, d) for k in (2, 3, 4) for d in TEXTS_BY_SIZE[k][:3]}
    assert set(figure) < set(TARGETS["fig8"].specs())
    assert set(texts) < set(TARGETS["fig9"].specs())


def test_texts_come_by_size(data):
    sizes = class_sizes("tdt2", str(data))
    assert set(TEXTS_BY_SIZE) == set(range(2, 11))
    for k, order in TEXTS_BY_SIZE.items():
        texts = [sizes[drawn_categories("tdt2", k, draw)].sum() for draw in order]
        assert texts == sorted(texts)
        assert sorted(order) == list(range(10))


def test_data_sets_can_be_left_out():
    specs = planned(["table2", "fig9", "auto-gamma"], limits=Limits(without=("tdt2", "digits")))
    assert {spec.dataset for spec in specs} == {"yale", "umist", "gtfd", "caltech101"}
    assert set(specs) < set(EVERYTHING)


def test_limits_go_before_quick():
    specs = TARGETS["table2"].specs(quick=True, limits=Limits(seeds=1))
    assert {spec.seed for spec in specs} == {0}
    assert {spec.seed for spec in TARGETS["table2"].specs(limits=Limits(seeds=12))} == set(range(12))


def test_runs_that_choose_gamma_can_be_left_out():
    fixed = planned(["all"], limits=Limits(without_rules=True))
    assert fixed == [spec for spec in EVERYTHING if spec.gamma not in ("auto", "groups")]
    assert len(fixed) < len(EVERYTHING)
    assert planned(["fig2"], quick=True, limits=Limits(without_rules=True)) == [
        spec for spec in planned(["fig2"], quick=True) if spec.gamma in (None, 0.1)
    ]


def test_every_rule_stands_wherever_one_does():
    places = Counter(replace(spec, gamma=1.0, keep=()) for spec in EVERYTHING if spec.chooses)
    assert set(places.values()) == {2}


@pytest.mark.parametrize(
    ("methods", "found"),
    [
        (("nmf", "semi-nmf"), {"nmf": 170, "semi-nmf": 10}),
        (("ewnmf",), {"ewnmf": 170}),
        (("auto", "groups"), {"auto": 10, "groups": 10}),
        (("groups", "convex-nmf"), {"groups": 10, "convex-nmf": 10}),
    ],
)
def test_methods_can_be_named(methods, found):
    specs = planned(["table2"], limits=Limits(methods=methods))
    assert Counter(spec.gamma if spec.chooses else spec.method for spec in specs) == found
    assert set(specs) < set(EVERYTHING)


def test_what_texts_lack_can_be_named():
    others = Limits(tries=1, methods=tuple(METHODS[:-1]))
    texts = TARGETS["fig9"].specs(limits=others)
    assert Counter((spec.method, spec.attempt) for spec in texts) == {(method, 0): 90 for method in METHODS[:-1]}
    study = Limits(tries=5, without=("yale", "digits", "gtfd", "caltech101", "umist"))
    gammas = Counter(spec.gamma for spec in TARGETS["auto-gamma"].specs(limits=study) if spec.loss == "euclidean")
    assert set(gammas.values()) == {10}
    assert len(gammas) == 1 + 2 + 5


def test_the_diagram_is_two_runs_on_made_faces():
    weighted, plain = sorted(TARGETS["fig1"].specs(), key=lambda spec: spec.method)
    assert (plain.dataset, plain.method, weighted.method) == ("cartoons", "nmf", "ewnmf")
    assert {"data", "damaged", "components", "codes"} <= set(plain.keep) < set(weighted.keep)


def test_the_choice_of_gamma_goes_seed_by_seed_with_texts_at_the_end_of_a_seed():
    specs = TARGETS["auto-gamma"].specs()
    images_only = [spec.seed for spec in specs if spec.dataset != "tdt2"]
    assert images_only == sorted(images_only)
    per_seed = Counter((spec.dataset, spec.loss, spec.occluded, spec.seed) for spec in specs)
    images = {"yale", "umist", "gtfd", "caltech101", "digits"}
    faces = [(name, "euclidean", share, seed) for name in images for share in (0, 0.3) for seed in range(20)]
    texts = [("tdt2", loss, 0.0, seed) for loss in ("euclidean", "kullback-leibler") for seed in range(10)]
    assert per_seed == dict.fromkeys([*faces, *texts], 16)
    rounds = [spec.dataset for spec in specs[: 10 * 12 * 16]]
    for at in range(10):
        order = rounds[at * 192 : (at + 1) * 192]
        assert order[0] == "yale"
        assert set(order[order.index("tdt2") :]) == {"tdt2"}
    assert [spec.seed for spec in specs if spec.dataset == "tdt2"][::32] == list(TEXTS_BY_SIZE[5])
    for spec in specs:
        drawn = spec.dataset in ("caltech101", "tdt2")
        assert spec.draw == (spec.seed % 10 if drawn else None)
        assert spec.block == (3 if spec.dataset == "digits" and spec.occluded else 12)
        assert spec.max_iter == 300


def test_a_case_knows_its_runs_and_no_others():
    specs = [replace(spec, max_iter=7) for spec in EVERYTHING]
    asked = {replace(spec, max_iter=7) for spec in TARGETS["auto-gamma"].specs()}
    found = [[spec for spec in specs if case.has(spec)] for case in CASES]
    assert set().union(*found) == asked
    assert sum(map(len, found)) == len(asked)


def test_runs_that_other_targets_have_are_shared():
    asked = set(TARGETS["auto-gamma"].specs())
    assert len(asked & set(TARGETS["table2"].specs())) == 10 * (1 + 2 + 3)
    assert len(asked & set(TARGETS["fig7"].specs())) == 10 * (1 + 2 + 3)
    assert len(asked & set(TARGETS["fig9"].specs())) == 10 * (1 + 2 + 4)
    occluded = [spec for spec in asked & set(TARGETS["occlusion"].specs()) if spec.occluded]
    assert Counter(spec.gamma for spec in occluded) == {None: 10, "auto": 10, "groups": 10, 0.1: 10, 0.01: 10}


def test_gammas_are_four_per_decade_and_the_coarse_ones_come_first():
    grid = gamma_grid(-2.5, 0.5)
    assert np.allclose(np.diff(np.log10(sorted(grid))), 0.25)
    assert (min(grid), max(grid)) == (10.0**-2.5, 10.0**0.5)
    assert set(grid[:3]) == {0.01, 0.1, 1.0}
    assert np.allclose(np.diff(np.log10(sorted(grid[:7]))), 0.5)


def test_an_unknown_target_is_refused_with_a_list():
    with pytest.raises(
        ValueError, match=r"target='fig12' is not known; use one of 'all', 'auto-gamma', 'fig1', 'fig10', .*'table3'"
    ):
        planned(["table2", "fig12"])


def test_targets_are_run_in_one_order():
    assert planned(["fig3", "table2"]) == planned(["table2", "fig3"])
    assert planned([]) == []


def test_drawn_categories_cost_what_their_points_cost(monkeypatch):
    sizes = {"yale": [11] * 15, "umist": [*[1] * 10, *[500] * 10]}
    monkeypatch.setattr(cost, "class_sizes", lambda dataset, home: np.array(sizes[dataset]))
    estimate = Estimator("anywhere").seconds
    costs = {estimate(spec) for spec in TARGETS["fig6"].specs() if spec.method == "nmf" and spec.k == 2}
    assert sorted(costs) == [pytest.approx(0.1 + n * 1024 * 300 * 1.1e-8) for n in (2, 501, 1000)]
    (seconds,) = {estimate(spec) for spec in TARGETS["fig5"].specs() if spec.method == "nmf" and spec.k == 3}
    assert seconds == pytest.approx(0.1 + 33 * 1024 * 300 * 1.1e-8)


@pytest.mark.parametrize(
    ("method", "gamma", "seconds"), [("ewnmf", 0.01, 45), ("nmf", None, 3.6), ("semi-nmf", None, 4.3)]
)
def test_texts_cost_about_what_they_were_seen_to(monkeypatch, method, gamma, seconds):
    """981 texts in 10 categories, 300 iterations on one core: 45, 3.6 and 4.3 seconds."""
    monkeypatch.setattr(cost, "class_sizes", lambda dataset, home: np.array([*[98] * 29, 99]))
    (spec, *_) = (each for each in TARGETS["fig9"].specs() if (each.method, each.gamma, each.k) == (method, gamma, 10))
    assert Estimator("anywhere").seconds(spec) == pytest.approx(seconds, rel=0.25)


def test_texts_to_choose_gamma_by_are_few(monkeypatch):
    monkeypatch.setattr(cost, "class_sizes", lambda dataset, home: np.array([400] * 30))
    estimate = Estimator("anywhere").seconds
    runs = {spec.gamma: estimate(spec) for spec in TARGETS["fig9"].specs() if spec.k == 10 and spec.method == "ewnmf"}
    assert runs[0.01] < runs["auto"] < runs["groups"] < 1.25 * runs[0.01]
