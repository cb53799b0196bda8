"""Which stored runs count, what a protocol picks, and how differences are measured."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ewnmf.experiments.pages.statistics import compare, experiment, gap_of, results, spread
from ewnmf.experiments.protocol.paper import GAMMAS
from ewnmf.experiments.protocol.plan import PLAIN
from tests.experiment_rows import row

VIEW = "raw_1"


def yale(method, seed, acc, nmi=0.5, **spec):
    """A row on all of Yale with this ACC and NMI in every view."""
    return row("yale", method, spec.pop("k", 15), seed, acc=acc, nmi=nmi, **spec)


def others(k, draw=0):
    """The methods other than EWNMF on a draw of categories."""
    return [yale(method, draw, 0.2, draw=draw, k=k) for method in PLAIN]


def scores(rows, protocol, **kinds):
    """Run -> (ACC, NMI) of a protocol."""
    return results(experiment(rows, "yale", draws=kinds.get("draws", False)), VIEW)[protocol].scores


def test_the_papers_iterations_win_over_more_and_the_most_over_fewer():
    rows = [yale("nmf", 0, 0.1, max_iter=20), yale("nmf", 0, 0.2, max_iter=50)]
    found = experiment(rows, "yale", draws=False)
    assert (found.iterations, scores(rows, "nmf")) == (50, {(15, None, 0): (0.2, 0.5)})
    rows += [yale("nmf", 0, 0.3, max_iter=300), yale("nmf", 0, 0.4, max_iter=900)]
    found = experiment(rows, "yale", draws=False)
    assert (found.iterations, scores(rows, "nmf")) == (300, {(15, None, 0): (0.3, 0.5)})


def test_draws_occlusion_and_other_data_sets_are_kept_apart():
    rows = [
        yale("nmf", 0, 0.1),
        *others(3),
        yale("nmf", 0, 0.3, occluded=0.5),
        row("umist", "nmf", 20, 0, acc=0.4),
        row("yale", "none", 15, 0),
    ]
    assert scores(rows, "nmf") == {(15, None, 0): (0.1, 0.5)}
    assert scores(rows, "nmf", draws=True) == {(3, 0, 0): (0.2, 0.5)}
    occluded = experiment(rows, "yale", draws=False, occluded=0.5)
    assert occluded.scores("nmf", 0, VIEW) == {(15, None, 0): (0.3, 0.5)}


def test_the_best_gamma_per_run_goes_by_acc_and_nmi_is_that_of_the_same_gamma():
    rows = [
        yale("ewnmf", 0, 0.5, nmi=0.4, gamma=0.1),
        yale("ewnmf", 0, 0.4, nmi=0.9, gamma=1.0),
        yale("ewnmf", 1, 0.2, nmi=0.1, gamma=0.1),
        yale("ewnmf", 1, 0.6, nmi=0.3, gamma=1.0),
    ]
    found = results(experiment(rows, "yale", draws=False), VIEW)
    assert found["ewnmf-best"].scores == {(15, None, 0): (0.5, 0.4), (15, None, 1): (0.6, 0.3)}
    assert found["ewnmf-best"].picks == {(15, None, 0): 0.1, (15, None, 1): 1.0}
    assert set(found["ewnmf-one"].picks.values()) == {1.0}
    assert found["ewnmf-one"].scores == {(15, None, 0): (0.4, 0.9), (15, None, 1): (0.6, 0.3)}


def test_gammas_off_the_papers_grid_are_no_candidates():
    rows = [yale("ewnmf", 0, 0.9, gamma=0.02), yale("ewnmf", 0, 0.3, gamma=0.01), yale("ewnmf", 0, 0.8, gamma="auto")]
    found = experiment(rows, "yale", draws=False)
    assert found.gammas == [0.01]
    assert scores(rows, "ewnmf-best") == {(15, None, 0): (0.3, 0.5)}
    assert scores(rows, "ewnmf-auto") == {(15, None, 0): (0.8, 0.5)}


def test_nmf_gets_as_many_tries_as_ewnmf_has_gammas():
    tries = [yale("nmf", 0, acc, attempt=attempt) for attempt, acc in enumerate([0.3, 0.4, 0.9])]
    rows = [*tries, yale("ewnmf", 0, 0.5, gamma=0.1), yale("ewnmf", 0, 0.5, gamma=1.0)]
    assert scores(rows, "nmf") == {(15, None, 0): (0.3, 0.5)}
    assert scores(rows, "nmf-best") == {(15, None, 0): (0.4, 0.5)}


def test_means_are_over_the_runs_that_all_protocols_share():
    gammas = [yale("ewnmf", seed, 0.5, gamma=gamma) for seed in (0, 1) for gamma in (0.1, 1.0)]
    rows = [*gammas[:-1], *(yale("nmf", seed, 0.1 * seed) for seed in (0, 1, 2)), yale("semi-nmf", 0, 0.7)]
    found = results(experiment(rows, "yale", draws=False), VIEW)
    assert {name: list(result.scores) for name, result in found.items()} == {
        name: [(15, None, 0)] for name in ("nmf", "semi-nmf", "ewnmf-best", "ewnmf-one")
    }


@pytest.mark.parametrize("rule", ["auto", "groups"])
@pytest.mark.parametrize(("chosen", "runs"), [(1, 4), (2, 2), (4, 4)])
def test_a_rule_counts_when_half_of_the_runs_have_it(rule, chosen, runs):
    rows = [yale("nmf", seed, 0.1) for seed in range(4)]
    rows += [yale("ewnmf", seed, 0.2, gamma=rule) for seed in range(chosen)]
    assert len(scores(rows, "nmf")) == runs
    assert (f"ewnmf-{rule}" in results(experiment(rows, "yale", draws=False), VIEW)) == (chosen > 1)


def test_a_rule_is_counted_among_the_runs_that_have_all_gammas():
    rows = [yale("nmf", seed, 0.1) for seed in range(10)]
    rows += [yale("ewnmf", seed, 0.3, gamma=gamma) for seed in range(2) for gamma in (0.1, 1.0)]
    few = [yale("ewnmf", seed, 0.2, gamma="auto") for seed in range(2, 6)]
    assert "ewnmf-auto" not in results(experiment([*rows, *few], "yale", draws=False), VIEW)
    found = results(experiment([*rows, *few, yale("ewnmf", 1, 0.2, gamma="auto")], "yale", draws=False), VIEW)
    assert set(found) == {"nmf", "ewnmf-best", "ewnmf-one", "ewnmf-auto"}
    assert all(list(result.scores) == [(15, None, 1)] for result in found.values())


def test_gammas_of_another_study_cost_the_other_methods_no_draw():
    rows = [*others(2), *others(2, draw=1), *others(5)]
    rows += [yale("ewnmf", 0, 0.5, gamma=gamma, k=2, draw=0) for gamma in (0.1, 1.0, 10.0)]
    rows += [yale("ewnmf", 0, 0.9, gamma=0.1, k=5, draw=0)]
    found = experiment(rows, "yale", draws=True)
    assert list(results(found, VIEW)["ewnmf-best"].scores) == [(2, 0, 0)]
    assert list(results(found, VIEW, PLAIN)["nmf"].scores) == [(2, 0, 0), (2, 1, 1), (5, 0, 0)]


def test_draws_made_for_something_else_are_left_out():
    rows = [*others(2), yale("ewnmf", 0, 0.5, gamma=0.1, k=2, draw=0)]
    elsewhere = [yale("nmf", 1, 0.9, k=5, draw=1), yale("ewnmf", 1, 0.9, gamma=0.1, k=5, draw=1)]
    assert scores([*rows, *elsewhere], "ewnmf-best", draws=True) == {(2, 0, 0): (0.5, 0.5)}
    assert experiment(elsewhere, "yale", draws=True).rows == {}


def test_one_gamma_serves_all_numbers_of_clusters():
    rows = [
        yale("ewnmf", 0, acc, gamma=gamma, k=k, draw=0)
        for k, gamma, acc in [(2, 0.1, 0.9), (2, 1.0, 0.8), (3, 0.1, 0.1), (3, 1.0, 0.7)]
    ]
    rows += [*others(2), *others(3)]
    one = results(experiment(rows, "yale", draws=True), VIEW)["ewnmf-one"]
    assert set(one.picks.values()) == {1.0}
    assert (one.clusters, one.values("ACC", 2), one.values("ACC", 3), one.values("ACC")) == (
        [2, 3],
        [0.8],
        [0.7],
        [0.8, 0.7],
    )


def test_the_shown_gamma_is_that_of_the_figures_or_of_a_rule():
    rows = [yale("ewnmf", 0, 0.5, gamma=0.02), yale("ewnmf", 0, 0.5, gamma="auto"), yale("ewnmf", 0, 0.5, gamma=0.1)]
    assert experiment(rows, "yale", draws=False).shown == 0.02
    assert experiment(rows[1:], "yale", draws=False).shown == "auto"
    assert experiment([yale("ewnmf", 0, 0.5, gamma="groups")], "yale", draws=False).shown == "groups"
    assert experiment(rows[2:], "yale", draws=False).shown is None


@pytest.mark.parametrize(
    ("tried", "counted"),
    [
        ({0: GAMMAS, 1: GAMMAS[:3], 2: GAMMAS[:3]}, GAMMAS),
        ({0: GAMMAS[:7], 1: GAMMAS[:3], 2: GAMMAS[:3]}, GAMMAS[:3]),
        ({0: GAMMAS[:7], 1: GAMMAS[:7], 2: GAMMAS[:3]}, GAMMAS[:7]),
        ({0: GAMMAS[:2], 1: GAMMAS[5:6]}, GAMMAS[:2]),
    ],
)
def test_gammas_that_few_runs_have_do_not_cost_the_others(tried, counted):
    rows = [yale("ewnmf", seed, 0.5, gamma=gamma) for seed, gammas in tried.items() for gamma in gammas]
    assert experiment(rows, "yale", draws=False).gammas == list(counted)


def test_no_rows_no_results():
    assert results(experiment([], "yale", draws=False), VIEW) == {}


def test_spread_of_several_values_and_of_one():
    several = spread([0.1, 0.2, 0.6])
    assert several.mean == pytest.approx(0.3)
    assert several.count == 3
    assert several.deviation == pytest.approx(np.sqrt(0.07))
    assert several.error == pytest.approx(np.sqrt(0.07 / 3))
    one = spread([0.4])
    assert (one.mean, one.count, one.error) == (0.4, 1, 0.0)
    assert np.isnan(one.deviation)


def test_the_gap_is_that_of_the_paired_t_test():
    ours, theirs = [0.5, 0.6, 0.4, 0.7], [0.4, 0.45, 0.5, 0.52]
    rows = [yale("semi-nmf", seed, acc) for seed, acc in enumerate(ours)]
    rows += [yale("nmf", seed, acc) for seed, acc in enumerate(theirs)]
    found = results(experiment(rows, "yale", draws=False), VIEW)
    gap = compare(found["semi-nmf"], found["nmf"], "ACC")
    test = stats.ttest_rel(ours, theirs)
    assert gap is not None
    assert (gap.wins, gap.losses, gap.count, gap.clear) == (3, 1, 4, 0)
    assert gap.p == pytest.approx(test.pvalue)
    assert (gap.low, gap.high) == pytest.approx(tuple(test.confidence_interval(0.95)))
    nmi = compare(found["semi-nmf"], found["nmf"], "NMI")
    assert nmi is not None
    assert (nmi.mean, nmi.low, nmi.high, nmi.p, nmi.wins) == (0.0, 0.0, 0.0, 1.0, 0)


def test_a_gap_of_one_run_has_no_interval_and_is_never_clear():
    gap = gap_of([0.3])
    assert (gap.mean, gap.wins, gap.clear) == (0.3, 1, 0)
    assert np.isnan([gap.low, gap.high, gap.p]).all()


@pytest.mark.parametrize(("differences", "clear"), [([0.1, 0.11, 0.12], 1), ([-0.1, -0.11], -1), ([0.1, -0.1], 0)])
def test_a_gap_is_clear_where_its_interval_lies_off_zero(differences, clear):
    assert gap_of(differences).clear == clear


def test_equal_differences_are_clear_without_a_spread():
    assert gap_of([0.25, 0.25]).clear == 1
    assert gap_of([-0.25, -0.25]).p == 0.0


def test_protocols_without_common_runs_are_not_compared():
    found = results(experiment([yale("nmf", 0, 0.5)], "yale", draws=False), VIEW)
    other = results(experiment([yale("nmf", 1, 0.5)], "yale", draws=False), VIEW)
    assert compare(found["nmf"], other["nmf"], "ACC") is None
