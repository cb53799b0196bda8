"""Rules of choosing gamma on their data sets: what is compared, what is judged, what the page shows."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ewnmf.experiments.execution.store import Store
from ewnmf.experiments.pages import choice, choice_page
from ewnmf.experiments.pages import render as rendering
from ewnmf.experiments.pages.choice import chosen_gammas, judged, study
from ewnmf.experiments.pages.choice_figure import accuracy_against_gamma
from ewnmf.experiments.pages.render import render, report
from ewnmf.experiments.pages.statistics import experiment
from ewnmf.experiments.protocol.cases import CASES
from tests.experiment_rows import row

YALE = CASES[0]
BEST = 0.1
SHIFTS = (-0.01, 0.0, 0.01)


def rows_of(case, seeds=3, *, nmf=0.4, best=0.5, auto=0.49, groups=0.48, chosen=(0.2, 0.3, np.inf), gammas=None):
    """Runs of one case whose ACC rises from seed to seed, EWNMF best at one gamma, and NMI 0.1 above ACC.

    What gamma="groups" chooses is half of what gamma="auto" does.
    """
    top = sorted(case.gammas)[6]
    rows = []
    for seed in range(seeds):
        for spec in case.runs(seed, gammas):
            known = {None: nmf, "auto": auto, "groups": groups, top: best}
            acc = known.get(spec.gamma, nmf - 0.05) + SHIFTS[seed % 3]
            share = {"auto": 1.0, "groups": 0.5}.get(spec.gamma)
            figures = {"gamma": share * chosen[seed % len(chosen)]} if share else {}
            named = {name: getattr(spec, name) for name in ("gamma", "draw", "occluded", "block", "loss")}
            rows.append(row(spec.dataset, spec.method, spec.k, seed, acc=acc, nmi=acc + 0.1, figures=figures, **named))
    return rows


def everything(**values):
    return [each for case in CASES for each in rows_of(case, case.seeds, **values)]


def yale_of(rows, view="unit_10"):
    return study(rows).compared[view]["yale"]


def test_rules_are_compared_with_nmf_and_the_best_gamma_on_the_same_runs():
    found = yale_of(rows_of(YALE))
    assert (found.runs, found.best_gamma, found.at_edge) == (3, BEST, False)
    assert_allclose(found.nmf.values("ACC"), [0.39, 0.4, 0.41])
    assert_allclose(found.best.values("NMI"), [0.59, 0.6, 0.61])
    for rule, gain in (("auto", 0.09), ("groups", 0.08)):
        gap = found.gap(rule)
        assert_allclose([gap.mean, gap.low, gap.high], [gain, gain, gain])
        assert found.kept(rule) == pytest.approx(10 * gain)
    assert yale_of(rows_of(YALE, best=0.43)).kept("auto") == pytest.approx(3)
    assert yale_of(rows_of(YALE, best=0.429)).kept("auto") is None


def test_a_seed_that_was_cut_short_does_not_count():
    rows = rows_of(YALE)
    cut = [each for each in rows if each.spec.seed < 2 or each.spec.gamma in (None, "auto", "groups", BEST)]
    assert yale_of(cut).runs == 2
    assert "yale" not in study([each for each in rows if not each.spec.chooses]).compared["unit_10"]


def test_a_rule_with_few_runs_takes_none_from_the_other():
    rows = [each for each in rows_of(YALE) if each.spec.gamma != "groups" or each.spec.seed == 0]
    assert (yale_of(rows).runs, list(yale_of(rows).rules)) == (3, ["auto"])
    half = [each for each in rows_of(YALE) if each.spec.gamma != "auto" or each.spec.seed < 2]
    assert (yale_of(half).runs, list(yale_of(half).rules)) == (2, ["auto", "groups"])
    compared = study([*rows, *rows_of(CASES[1])]).compared["unit_10"]
    few, whole = choice_page.scores(compared, "ACC").rows
    assert few[4] == "-"
    assert whole[4].startswith("48.0")
    few, whole = choice_page.gains(compared, "ACC").rows
    assert few[4:] == ["-", "-"]
    assert whole[5] == "80 %"


def test_rows_of_other_runs_change_nothing():
    rows = rows_of(YALE)
    others = [
        row("yale", "nmf", 15, 0, acc=0.9, attempt=1),
        row("yale", "nmf", 14, 0, acc=0.9, draw=0),
        row("yale", "nmf", 15, 0, acc=0.9, loss="kullback-leibler"),
        row("yale", "ewnmf", 15, 0, acc=0.9, gamma=1e8),
        row("yale", "semi-nmf", 15, 0, acc=0.9),
    ]
    assert study([*rows, *others]).compared == study(rows).compared
    assert set(study(rows).compared["raw_10"]) == {"yale"}


def test_the_papers_experiments_do_not_count_runs_made_for_the_choice():
    whole = [row("yale", "nmf", 15, seed, acc=0.4) for seed in range(2)]
    whole += [
        row("yale", "ewnmf", 15, seed, acc=0.5, gamma=gamma)
        for seed in range(2)
        for gamma in (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0)
    ]
    found = experiment([*whole, *rows_of(YALE, 3), *rows_of(CASES[-1])], "yale", draws=False)
    assert found.gammas == [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0]
    assert {run for by_try in found.rows.values() for runs in by_try.values() for run in runs} == {
        (15, None, 0),
        (15, None, 1),
    }


def verdicts(rows, rule="auto"):
    return [each for each in judged(study(rows).compared) if each.rule == rule]


def test_all_three_figures_are_met():
    found = verdicts(everything(nmf=0.4, best=0.5, auto=0.49))
    assert [each.outcome for each in found] == ["met"] * 3
    assert [each.outcome for each in verdicts(everything(groups=0.47), "groups")] == ["met", "not met", "met"]
    assert "at 0 of 24 pairs" in found[0].why
    assert "24 of 24 pairs of data set and view with 3 points or more to gain keep 80 %" in found[1].why
    assert "together keep 90 %" in found[1].why
    assert found[2].why.startswith(
        "With unit codes ACC 48.95 (paper 46.06), NMI 58.95 (paper 53.27), 20 runs; with raw"
    )


def test_a_part_of_the_runs_is_said_to_be_a_part():
    few = [each for each in everything() if each.spec.dataset != "tdt2"]
    assert [each.outcome for each in verdicts(few)] == ["met so far", "met so far", "met"]
    short = [each for case in CASES for each in rows_of(case, 2)]
    assert [each.outcome for each in verdicts(short)] == ["met so far"] * 3
    assert [each.outcome for each in verdicts([])] == ["not yet run"] * 3


def test_what_is_missed_is_named():
    first = rows_of(YALE, 20, auto=0.46)
    second = rows_of(CASES[1], 20, best=0.4, auto=0.385)
    never, keeps, reaches = verdicts([*first, *second])
    assert never.outcome == "not met so far"
    assert "below -1 at 2 of 4 pairs" in never.why
    assert "Yale, 12 x 12 on 30 %, unit codes -1.5 (-1.5 to -1.5)" in never.why
    assert keeps.outcome == "not met so far"
    assert keeps.why.startswith("0 of 2 pairs")
    assert "Short of it: Yale, unit codes 60 %; Yale, raw codes 60 %." in keeps.why
    assert reaches.outcome == "not met"


def test_a_loss_within_the_noise_is_no_failure():
    rows = [
        replace(each, figures=each.figures | {"acc_unit_10": each.figures["acc_unit_10"] - 0.2 * (each.spec.seed == 1)})
        if each.spec.gamma == "auto"
        else each
        for each in rows_of(YALE, auto=0.4)
    ]
    gap = yale_of(rows).gap("auto")
    assert gap.mean < -0.06
    assert choice.never_worse(study(rows).compared, "auto")[0] == "met so far"


def test_yale_may_reach_the_paper_in_one_view():
    rows = [replace(each, figures=each.figures | {"acc_raw_10": 0.3}) for each in rows_of(YALE, 20)]
    outcome, why = choice.reaches_the_paper(study(rows).compared, "auto")
    assert outcome == "met in part"
    assert "with raw codes ACC 30.00 (paper 46.06)" in why


def test_the_figure_shows_means_and_choices():
    found = study([*rows_of(YALE), *rows_of(CASES[-1])])
    figure = accuracy_against_gamma(found, "raw_10")
    yale, texts = figure.axes[:2]
    assert (yale.get_title(), texts.get_title()) == ("Yale", "TDT2, KL")
    lines: dict[Any, Any] = {line.get_label(): line for line in yale.lines}
    assert_allclose(lines["NMF"].get_ydata(), [40, 40])
    assert_allclose(lines['EWNMF, gamma="auto"'].get_ydata(), [49, 49])
    fixed = lines["EWNMF at each gamma"].get_xydata()
    assert_allclose(fixed[:, 0], sorted(YALE.gammas))
    assert_allclose(fixed[:, 1], np.where(np.isclose(fixed[:, 0], BEST), 50, 35))
    chosen = lines['gamma="auto", each run'].get_xydata()
    assert_allclose(chosen[:, 0], [0.2, 0.3, 10**0.5 * 10**0.6])
    assert_allclose(chosen[:, 1], [48, 49, 50])
    assert yale.get_xticklabels()[-1].get_text() == r"$\infty$"
    assert_allclose(lines['EWNMF, gamma="groups"'].get_ydata(), [48, 48])
    assert_allclose(lines['gamma="groups", each run'].get_xydata()[:2], [[0.1, 47], [0.15, 48]])
    here = found.experiments["yale"], found.compared["raw_10"]["yale"]
    assert chosen_gammas(*here, "auto") == [0.2, 0.3, np.inf]
    assert chosen_gammas(*here, "groups") == [0.1, 0.15, np.inf]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The page of two data sets, one of them with plain NMF in all runs; its pictures are not drawn."""
    monkeypatch.setattr(rendering, "_drawn", lambda figure, kind: b"")
    old = row("yale", "ewnmf", 15, 0, gamma="auto", rule=0, acc=0.1)
    with Store.open(tmp_path / "results.sqlite") as store:
        for each in [*rows_of(YALE, 2), *rows_of(CASES[2], 2, chosen=(np.inf,)), old]:
            store.add(each, {})
        files = render(store, [choice_page.TARGET], tmp_path)
    return files, files[0].read_text(encoding="utf-8")


def test_the_page_stands_alone_and_has_all_its_parts(written):
    files, text = written
    names = [path.name for path in files]
    pictures = [f"accuracy-{codes}.{kind}" for codes in ("unit", "raw") for kind in ("png", "svg")]
    assert names == ["choosing-gamma-results.md", "auto-gamma.csv", *pictures]
    assert re.findall(r"^## (.*)$", text, flags=re.M) == [
        "What was run",
        "Figures to reach",
        "How to read the tables",
        "k-means on unit codes",
        "k-means on raw codes",
        "Gammas chosen without labels",
    ]
    assert not re.search(r"\bnan\b|\binf\b|None", text)


def test_the_page_says_what_was_run_and_what_was_left_out(written):
    text = " ".join(written[1].split())
    assert "64 runs, 32 minutes of one process in all, finished 2026-01-02." in text
    assert "Left out: 1 run of an earlier rule of choosing gamma." in text
    assert re.search(r"\| Yale \| \d+ of 280 \| 1 of 20 \| 1 of 20 \| 2 of 20 \| 13 of 13, 0.0032 to 3.2 \|", text)
    assert re.search(r"\| UMIST \| 0 of 280 \| 0 of 20 \| 0 of 20 \| - \| - \|", text)


def test_what_cannot_be_judged_is_counted(tmp_path):
    with Store.open(tmp_path / "results.sqlite") as store:
        for each in rows_of(CASES[2], 2):
            if not each.spec.chooses:
                store.add(each, {})
        text = report(store, [choice_page.TARGET]).texts["choosing-gamma-results.md"]
    assert text.count("| **not judged yet: 28 of 3520 runs** | **not judged yet: 28 of 3520 runs** |") == 3
    assert re.search(r"\| digits +\| +28 of 280 \| +0 of 20 \| +0 of 20 \| +- \| +- \|", text)


def test_a_few_runs_are_not_judged_but_say_what_they_say(written):
    text = " ".join(written[1].split())
    runs = re.findall(r"\*\*not judged yet: (\d+) of 3520 runs\*\*", text)
    assert (len(runs), len(set(runs))) == (6, 1)
    assert text.count("So far met. The interval is wholly below -1 at 0 of 4 pairs") == 2


def test_tables_have_means_differences_and_choices(written):
    lines = [re.sub(r" +", " ", line) for line in written[1].splitlines()]
    best, auto, groups = (f"+{gap} (+{gap} to +{gap})" for gap in ("10.0", "9.0", "8.0"))
    assert "| Yale | 39.5 ± 0.7 | 49.5 ± 0.7 (0.1) | 48.5 ± 0.7 | 47.5 ± 0.7 | 2 |" in lines
    assert f"| Yale | {best} | {auto} | 90 % | {groups} | 80 % |" in lines
    assert "| Yale | 49.5 ± 0.7 | 59.5 ± 0.7 (0.1) | 58.5 ± 0.7 | 57.5 ± 0.7 | 2 |" in lines
    assert f"| Yale | {best} | {auto} | {groups} |" in lines
    assert "| Yale | auto | 0 of 2 runs | 0.25 (0.2 to 0.3) | 0.1 | 0.1 |" in lines
    assert "| Yale | groups | 0 of 2 runs | 0.12 (0.1 to 0.15) | 0.1 | 0.1 |" in lines
    assert "| digits | auto | 2 of 2 runs | - | 0.1 | 0.1 |" in lines


def test_the_sheet_has_every_gamma(written):
    with written[0][1].open(encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file))
    assert len(records) == 2 * 2 * 2 * (1 + 2 + 13)
    mine = [each for each in records if (each["set"], each["codes"], each["measure"]) == ("yale", "raw", "ACC")]
    by_gamma = {each["gamma"]: each for each in mine}
    assert by_gamma[""]["mean"] == "39.5"
    assert (by_gamma["auto"]["mean"], by_gamma["auto"]["minus NMF"]) == ("48.5", "9.0")
    assert [by_gamma["0.1"][name] for name in ("minus NMF", "low", "high")] == ["10.0"] * 3
    assert (by_gamma["groups"]["mean"], by_gamma["groups"]["minus NMF"]) == ("47.5", "8.0")
    assert (by_gamma["0.1"]["mean"], by_gamma["0.1"]["runs"]) == ("49.5", "2")


def test_a_best_gamma_at_the_end_of_the_grid_is_marked():
    rows = [
        replace(each, figures=each.figures | {"acc_unit_10": 0.6}) if each.spec.gamma == min(YALE.gammas) else each
        for each in rows_of(YALE)
    ]
    table = choice_page.scores(study(rows).compared["unit_10"], "ACC")
    assert table.rows[0][2] == "60.0 ± 0.0 (0.0032, end)"


def test_one_seed_has_means_without_intervals():
    found = study(rows_of(YALE, 1))
    compared = found.compared["unit_10"]
    assert choice_page.scores(compared, "ACC").rows[0][1:] == ["39.0", "49.0 (0.1)", "48.0", "47.0", "1"]
    assert choice_page.gains(compared, "ACC").rows[0][1:] == ["+10.0", "+9.0", "90 %", "+8.0", "80 %"]
    assert choice.never_worse(found.compared, "auto") == ("not yet run", "No data set has two runs.")
