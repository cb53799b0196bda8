"""The study of mending damage: robust PCA against a known answer, its figures exactly, its rows, and a tiny run."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.repair import __main__ as command
from benchmarks.repair import panel
from benchmarks.repair import rows as stored
from benchmarks.repair.data import KINDS, NONE, SETS, damaged, load
from benchmarks.repair.methods import (
    DEFAULT,
    KNOWN,
    METHODS,
    NOTHING,
    ORACLES,
    OURS,
    ROBUST_PCA,
    TAUGHT,
    Mended,
    Task,
    mend,
)
from benchmarks.repair.pursuit import pursue, shrunk_spectrum
from benchmarks.repair.rows import Row, Setting
from benchmarks.repair.study import measure, settings
from benchmarks.repair.tables import Study, report, targets


def row(setting: Setting, method: str, error: float, **figures: float) -> Row:
    usual = dict.fromkeys(("change", "auc", "precision", "recall", "false_alarms", "fit"), math.nan)
    return Row(*setting, method=method, error=error, seconds=1.0, **{**usual, **figures})  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
def test_singular_values_are_shrunk(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).normal(size=shape)
    U, values, V = np.linalg.svd(X, full_matrices=False)
    by = float(values[2])
    low, rank = shrunk_spectrum(X, by * 1.0001)
    assert rank == 2
    np.testing.assert_allclose(low, (U * np.maximum(values - by * 1.0001, 0)) @ V, atol=1e-9)


def test_pursuit_parts_low_rank_and_sparse() -> None:
    rng = np.random.default_rng(0)
    L = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 80))
    S = np.where(rng.random(L.shape) < 0.05, 10.0, 0.0)
    low, sparse = pursue(L + S)
    np.testing.assert_allclose(low, L, atol=1e-3)
    np.testing.assert_allclose(low + sparse, L + S, atol=1e-12)
    assert not pursue(np.zeros((3, 4)))[0].any()


def test_figures_of_a_hand_made_repair() -> None:
    clean = np.array([[0.0, 2.0], [4.0, 2.0]])
    before = np.array([[1.0, 2.0], [4.0, 2.0]])
    mask = before != clean
    suspects = np.array([[True, True], [False, False]])
    mended = Mended(clean + np.array([[0.0, 1.0], [5.0, 5.0]]), np.array([[3.0, 1.0], [0.0, 0.0]]), suspects)
    found = measure(clean, mask, mended, before)
    assert found["error"] == pytest.approx(math.sqrt(0.5))
    assert (found["auc"], found["precision"], found["recall"]) == (1.0, 0.5, 1.0)
    assert found["false_alarms"] == pytest.approx(1 / 3)
    nothing = measure(clean, np.zeros_like(mask), Mended(before, None, suspects), clean)
    assert nothing["error"] == pytest.approx(0.5)
    assert nothing["change"] == pytest.approx(0.5 / clean.std())
    assert math.isnan(nothing["auc"])
    assert nothing["false_alarms"] == 0.5


def test_made_sets_are_drawn_by_the_seed_and_lie_in_the_unit_interval() -> None:
    for name in ("digits", "spectra", "sensors-periodic"):
        table, again, other = load(name, 0, 60), load(name, 0, 60), load(name, 1, 60)
        np.testing.assert_array_equal(table.X, again.X)
        assert (table.X != other.X).any()
        assert len(table.X) == 60
        assert table.X.min() >= 0
    X, mask = damaged(table, NONE, NONE, 0)
    assert X is table.X
    assert not mask.any()
    assert set(SETS) > {"yale", "tep"}


@pytest.mark.parametrize("name", ["medians", "PCA", "NMF", ROBUST_PCA, "z-score + KNN", "forest + KNN", *ORACLES])
def test_every_method_mends_salt(name: str) -> None:
    table = load("spectra", 0, 60)
    clean = table.X[:, :40]
    X, mask = damaged(table._replace(X=clean), "salt-and-pepper", "mild", 0)
    mended = mend(name, Task(X, table.K, False, 0, mask, clean))
    assert mended is not None
    assert mended.X.shape == X.shape
    assert np.isfinite(mended.X).all()
    if name in (ROBUST_PCA, *ORACLES):
        assert np.mean((mended.X - clean) ** 2) < 0.2 * np.mean((X - clean) ** 2)


def test_nobody_is_taught_by_a_table_that_is_not_there_or_not_damaged() -> None:
    X = np.ones((5, 3))
    assert mend(TAUGHT, Task(X, 2, False, 0, X > 0)) is None
    assert mend(TAUGHT, Task(X, 2, False, 0, X < 0, X)) is None


def test_oracles_are_no_rivals_and_stand_beside_the_target() -> None:
    setting = Setting("tep", "dead", "mild", 0, 300)
    rows = [row(setting, NOTHING, 0.2), row(setting, DEFAULT, 0.1, auc=0.8), row(setting, KNOWN, 0.01)]
    rows.append(row(setting, TAUGHT, 0.01, auc=0.85))
    found = {(target.what, target.where): target for target in targets(Study.of(rows))}
    assert found["best or within 10 %", "all damaged settings"].measured == 1
    assert found["mean AUC", "tep, column faults"].measured == 0.8
    assert found["mean AUC", "tep, column faults"].beside == f"{TAUGHT} 0.85"
    harm = found["largest error / doing nothing", "all damaged settings"]
    assert harm.measured == 0.5
    assert harm.beside == f"0 of 1 above 1.02; {TAUGHT} 0.05, 0 of 1 above 1.02"


def test_weightings_are_compared_where_all_were_run() -> None:
    mild, medium = (Setting("tep", "dead", strength, 0, 300) for strength in ("mild", "medium"))
    rows = [row(setting, method, 0.2) for setting in (mild, medium) for method in (NOTHING, DEFAULT)]
    assert "weightings" not in report(rows)
    rows += [row(medium, method, 0.1) for method in OURS if method != DEFAULT]
    text = report(rows)
    assert "in the 1 settings where all were run (medium):" in text
    assert "| tep |   0.50 |  0.50 | 0.50 |  1.00 |" in text
    assert "| tep |    1.00 |  1.00 |" in text


def test_a_forest_is_for_narrow_tables() -> None:
    wide = np.zeros((5, 65))
    assert mend("forest + KNN", Task(wide, 2, False, 0, wide > 0)) is None


def test_no_damage_has_one_strength() -> None:
    found = settings(["tep"], [NONE, "dead"], ["mild", "strong"], [0], 9)
    assert [(each.damage, each.strength) for each in found] == [(NONE, NONE), ("dead", "mild"), ("dead", "strong")]


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    working, kept = tmp_path / "new" / "rows.csv", tmp_path / "kept" / "rows.csv.gz"
    one = row(Setting("tep", "dead", "mild", 0, 9), DEFAULT, 0.25, auc=0.5)
    stored.add(one, working)
    with working.open("a") as file:
        file.write("tep,dead,mi")
    found = stored.read(working, kept)
    assert list(found) == [(one.setting, DEFAULT)]
    read = found[one.setting, DEFAULT]
    assert (read.error, read.auc, read.seed) == (0.25, 0.5, 0)
    assert math.isnan(read.fit)
    stored.export(found.values(), kept)
    before = kept.read_bytes()
    stored.export(stored.read(tmp_path / "none", kept).values(), kept)
    assert kept.read_bytes() == before


def test_targets_are_ratios_of_mean_errors_and_worst_cases() -> None:
    yale, gtfd = (Setting(name, "blocks", "medium", 0, 300) for name in ("yale", "gtfd"))
    clean = Setting("tep", NONE, NONE, 0, 300)
    rows = [
        *(row(yale, method, error) for method, error in ((NOTHING, 0.2), (ROBUST_PCA, 0.1), (DEFAULT, 0.05))),
        *(row(gtfd, method, error) for method, error in ((NOTHING, 0.2), (ROBUST_PCA, 0.1), (DEFAULT, 0.25))),
        row(clean, NOTHING, 0.0),
        row(clean, DEFAULT, 0.0, change=0.07, fit=1.01),
        row(Setting("umist", "blocks", "medium", 0, 300), NOTHING, 0.9),
    ]
    found = {(target.what, target.where): target for target in targets(Study.of(rows))}
    assert found["error / robust PCA", "faces, blocks"].measured == pytest.approx(1.5)
    assert found["error / doing nothing", "faces, blocks"].measured == pytest.approx(0.75)
    assert found["best or within 10 %", "all damaged settings"].measured == 0.5
    assert found["largest error / doing nothing", "all damaged settings"].measured == pytest.approx(1.25)
    assert found["largest change / spread", "undamaged"].verdict == "pass"
    assert found["mean AUC", "tep, column faults"].verdict == "not measured"
    assert "3 damaged settings, 1 clean ones; 1 seed(s)" in report(rows)
    assert "was run on 2 and 1 of them" in report(rows)
    assert "There is no setting yet" in report([])


def test_a_run_keeps_its_rows_and_computes_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    working, kept = tmp_path / "rows.csv", tmp_path / "rows.csv.gz"
    for name, call in (("read", stored.read), ("add", stored.add), ("export", stored.export)):
        paths = {"read": {"working": working, "kept": kept}, "add": {"working": working}, "export": {"kept": kept}}[
            name
        ]
        monkeypatch.setattr(command, name, lambda *given, call=call, paths=paths: call(*given, **paths))
    asked = ["--sets", "sensors-low-rank", "--damage", "none", "dead", "--strengths", "mild", "--points", "40"]
    methods = ["--methods", NOTHING, "medians", DEFAULT]
    assert command.main([*asked, *methods, "--export"]) == 0
    printed, progress = capsys.readouterr()
    assert "1 damaged settings, 1 clean ones" in printed
    assert "6 of 6" in progress
    assert len(stored.read(working, kept)) == 6
    assert command.main([*asked, *methods]) == 0
    again, progress = capsys.readouterr()
    assert (again, progress) == (printed, "") or progress == ""
    assert kept.exists()
    assert set(METHODS) > {NOTHING, DEFAULT}
    assert KINDS[0] == NONE


def test_the_panel_has_a_line_for_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    panel.main(["--sets", "sensors-low-rank", "--damage", NONE, "faults", "--points", "60"])
    clean, faults = capsys.readouterr().out.splitlines()
    assert clean.startswith("sensors-low-rank")
    assert "unseen" in clean
    assert "AUC" in faults
