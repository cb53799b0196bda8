"""The demonstration: its measures against hand-made cases, its verdicts, its files and its refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ewnmf.demo import comparison as demo
from ewnmf.demo import main, repair

FILES = {
    "demo-sensors.png",
    "demo-signals.png",
    "demo-digits.png",
    "demo-components.png",
    "demo-objective.png",
    "demo-report.html",
    "demo.json",
}
SMALL = ["--digits", "80", "--iterations", "12"]
SHARES = {"accuracy", "nmi", "auc", "auc_residual"}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small run of everything: exit code, output folder, numbers."""
    output = tmp_path_factory.mktemp("demo") / "new" / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EWNMF_DATA", str(tmp_path_factory.mktemp("data")))
        code = main(["--output", str(output), "--seeds", "2", *SMALL])
    return SimpleNamespace(code=code, output=output, numbers=json.loads((output / "demo.json").read_text("utf-8")))


def fake_fit(codes, components, weights=None, gamma=None) -> Any:
    return SimpleNamespace(codes=codes, components=components, gamma=gamma, weights=lambda: np.array(weights))


def runs_of(**measures):
    return {name: list(values) for name, values in measures.items()}


def gap(mean, half):
    return {"mean": mean, "low": mean - half, "high": mean + half}


def test_small_run_writes_its_files_and_nothing_else(small):
    assert small.code == 0
    assert {path.name for path in small.output.iterdir()} == FILES
    for name in FILES - {"demo.json", "demo-report.html"}:
        assert (small.output / name).read_bytes().startswith(b"\x89PNG")
    page = (small.output / "demo-report.html").read_text("utf-8")
    assert "Sensors, some of them damaged" in page
    assert "look damaged" in page


def test_small_run_keeps_every_number(small):
    assert set(small.numbers) == {"version", "plan", "sensors", "signals", "digits", "seconds"}
    assert small.numbers["plan"] == {"seeds": 2, "digits": 80, "iterations": 12}
    signals, digits = small.numbers["signals"]["runs"], small.numbers["digits"]["runs"]
    assert list(signals) == ["NMF", "EWNMF gamma=0.1", "EWNMF gamma=auto"]
    assert list(digits) == ["NMF", "EWNMF gamma=auto", "EWNMF gamma=1", "EWNMF gamma=0.1"]
    clusters, weights = {"accuracy", "nmi"}, {"gamma", "weight_damaged", "weight_elsewhere", "auc"}
    for runs, extra in ((signals, set()), (digits, clusters)):
        every = extra | {"distance", "distance_damaged", "distance_elsewhere", "auc_residual"}
        assert set(runs["NMF"]) == every
        assert all(set(runs[method]) == every | weights for method in list(runs)[1:])
        for key, values in (pair for found in runs.values() for pair in found.items()):
            assert len(values) == 2
            finite = [value for value in values if (key, value) != ("gamma", "inf")]
            # The smallest weights are set to zero, and so is their median where gamma is chosen small.
            assert all(0 < value or (key, value) == ("weight_damaged", 0) for value in finite), key
            assert all(value <= (1 if key in SHARES else 10) for value in finite), key
    assert digits["EWNMF gamma=1"]["gamma"] == [1, 1]


def test_small_run_compares_with_nmf(small):
    gaps = small.numbers["digits"]["against_nmf"]
    assert set(gaps) == set(small.numbers["digits"]["runs"]) - {"NMF"}
    runs = small.numbers["digits"]["runs"]
    ours, theirs = runs["EWNMF gamma=auto"], runs["NMF"]
    assert gaps["EWNMF gamma=auto"]["nmi"]["mean"] == pytest.approx(np.mean(ours["nmi"]) - np.mean(theirs["nmi"]))
    expected = np.mean(ours["auc"]) - np.mean(theirs["auc_residual"])
    assert gaps["EWNMF gamma=auto"]["auc"]["mean"] == pytest.approx(expected)
    assert small.numbers["digits"]["verdict"] == demo.digits_verdict(gaps)


def test_a_second_run_prints_a_report_overwrites_its_files_and_repeats_the_numbers(
    small, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("EWNMF_DATA", str(tmp_path / "none"))
    (tmp_path / "demo.json").write_text("old")
    assert main(["--output", str(tmp_path), "--seeds", "1", *SMALL]) == 0
    printed, progress = capsys.readouterr()
    numbers = json.loads((tmp_path / "demo.json").read_text("utf-8"))
    for section in ("signals", "digits"):
        for method, found in numbers[section]["runs"].items():
            assert found == {k: v[:1] for k, v in small.numbers[section]["runs"][method].items()}
    assert numbers["digits"]["against_nmf"] == {}
    words = " ".join(printed.split())
    for sentence in numbers["signals"]["verdict"] + numbers["digits"]["verdict"]:
        assert sentence in words
    assert "One run has no spread, so nothing is concluded" in words
    assert f"NMI of k-means {numbers['digits']['runs']['NMF']['nmi'][0]:.3f}" in words
    assert progress == "table 1 of 1 ...\n" + "run 1 of 1 ...\n" * 2
    assert numbers["sensors"] == {name: values[:1] for name, values in small.numbers["sensors"].items()}
    assert f"error, mended {numbers['sensors']['after'][0]:.3f}" in words


def test_mending_is_measured_over_the_points_with_damage():
    clean = np.array([[0.0, 0.0], [2.0, 4.0], [0.0, 0.0], [2.0, 4.0]])
    data, mended = clean.copy(), clean.copy()
    data[0] = [3.0, 0.0]
    mended[0] = [1.0, 2.0]
    mended[2] = [9.0, 9.0]  # no damage there: of no account
    bad = data != clean
    suspects = np.zeros((4, 2), dtype=bool)
    suspects[0] = True
    made = repair.Mended(clean, data, mended, bad, suspects, np.where(bad, 0.1, 0.9), [])
    figures = made.figures()
    assert figures["before"] == pytest.approx(3 / np.sqrt(2))
    assert figures["after"] == pytest.approx(1.0)
    assert (figures["auc"], figures["recall"], figures["precision"]) == (1.0, 1.0, 0.5)


def test_far_values_become_the_median():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [50.0]])
    np.testing.assert_array_equal(repair.outliers_to_medians(X), [[1.0], [2.0], [3.0], [4.0], [3.0]])


def test_sensors_are_mended():
    figures = repair.sensors_of(0).figures()
    assert figures["after"] < 0.6 * figures["before"]
    assert figures["auc"] > 0.8


def test_faces_are_shown_where_they_are(tmp_path):
    assert repair.faces_of(0, tmp_path) is None


def test_weights_find_the_destroyed_part_of_the_signals():
    found = demo.compare(demo.signals_of, (demo.NMF, demo.STRONG), 2, demo.Plan(seeds=3), clustered=False)
    assert min(found.runs[demo.STRONG]["auc"]) == 1.0
    assert max(found.runs[demo.STRONG]["weight_damaged"]) < 1e-6
    assert max(found.runs[demo.STRONG]["distance_damaged"]) < 0.01
    assert min(found.runs[demo.NMF]["distance_damaged"]) > 1


def test_measures_of_a_hand_made_fit():
    clean = np.array([[1.0, 1, 1, 1], [2, 2, 2, 2]])
    damaged = np.array([[True, True, False, False], [False] * 4])
    made = demo.Damaged(np.where(damaged, 9.0, clean), clean, damaged, np.arange(2))
    weights = [[0.1, 0.3, 0.2, 0.4], [0.25] * 4]
    fit = fake_fit(np.eye(2), np.array([[4.0, 1, 1, 3], [2, 2, 2, 0]]), weights, 0.5)
    found = demo.measure(fit, made)
    assert found.pop("distance") == pytest.approx(np.sqrt((9 + 4 + 4) / 8), rel=1e-15)
    assert found.pop("distance_damaged") == pytest.approx(np.sqrt(9 / 2), rel=1e-15)
    assert found.pop("distance_elsewhere") == pytest.approx(np.sqrt(8 / 6), rel=1e-15)
    assert found.pop("weight_damaged") == pytest.approx(0.8, rel=1e-15)
    assert found.pop("weight_elsewhere") == pytest.approx(1.2, rel=1e-15)
    assert found == {"gamma": 0.5, "auc": 0.75, "auc_residual": 1.0}


def test_measures_of_unweighted_fits_have_no_weights():
    made = demo.signals_of(0)
    found = demo.measure(fake_fit(np.eye(10), made.clean), made)
    distances = dict.fromkeys(["distance", "distance_damaged", "distance_elsewhere"], 0.0)
    assert found == distances | {"auc_residual": 1.0}


def test_clusters_come_from_directions_with_components_of_norm_one():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(10), 4)
    scale = np.logspace(-3, 3, 10)
    codes = np.eye(10)[classes] * rng.uniform(0.01, 100, size=(40, 1)) / scale
    fit = fake_fit(codes, np.eye(10) * scale[:, None])
    assert demo.cluster(fit, classes, 0) == {"accuracy": 1.0, "nmi": 1.0}


def test_digits_have_squares_on_three_in_ten():
    made = demo.digits_of(3, 200)
    hit = made.damaged.any(axis=1)
    assert (hit.sum(), set(made.damaged[hit].sum(axis=1))) == (60, {9})
    assert set(np.unique(made.data[made.damaged])) == {0.0, 1.0}
    assert np.array_equal(made.data[~made.damaged], made.clean[~made.damaged])
    assert (made.clean.min(), made.clean.max()) == (0.0, 1.0)


def test_examples_are_the_first_visibly_damaged_of_each_class():
    clean = np.zeros((5, 6))
    data = clean.copy()
    for row, changed in enumerate([3, 4, 6, 5, 4]):
        data[row, :changed] = 1
    made = demo.Damaged(data, clean, data != clean, np.array([0, 1, 0, 0, 1]))
    assert demo.visible_examples(made).tolist() == [2, 1]
    assert demo.visible_examples(made, most=1).tolist() == [2]


def test_differences_are_those_of_the_paired_t_test():
    values, baseline = np.random.default_rng(0).normal(size=(2, 7))
    expected = stats.ttest_rel(values, baseline).confidence_interval(0.95)
    found = demo.difference(values, baseline)
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert found["mean"] == pytest.approx(np.mean(values - baseline), rel=1e-12)


def test_verdict_on_digits_follows_the_intervals():
    aspects = {
        "accuracy": gap(0.2, 0.1),
        "nmi": gap(-0.2, 0.1),
        "distance_damaged": gap(-0.2, 0.1),
        "distance_elsewhere": gap(0.2, 0.1),
        "auc": gap(0.0, 0.1),
    }
    other = aspects | {"accuracy": gap(0.05, 0.1)}
    first, _, last = demo.digits_verdict({"A": aspects, "B": other})
    assert first == (
        "A against NMF. Better: accuracy (+0.200; +0.100 to +0.300), distance in the squares (-0.200; -0.300 to "
        "-0.100). Worse: NMI (-0.200; -0.300 to -0.100), distance elsewhere (+0.200; +0.100 to +0.300). No clear "
        "difference: finding the squares, its low weights against NMF's large residuals (+0.000; -0.100 to +0.100)."
    )
    assert last == "In short: by accuracy, these cluster clearly better than NMF: A."
    assert demo.digits_verdict({"B": other})[-1] == "In short: by accuracy, none clusters clearly better than NMF."


def test_verdict_on_signals_counts_the_runs():
    runs = {
        demo.NMF: runs_of(distance_damaged=[2, 2, 2]),
        demo.STRONG: runs_of(distance_damaged=[1, 1, 3], auc=[1, 0.995, 0.99]),
        demo.AUTO: runs_of(distance_damaged=[2, 2, 2], auc=[0.5, 0.5, 0.5]),
    }
    assert demo.signals_verdict(runs) == [
        "EWNMF gamma=0.1: the weights find the destroyed part (AUC above 0.99) in 2 of 3 runs; there the "
        "reconstruction is closer to the clean signal than NMF's in 2 of 3 (median distance 1 against 2).",
        "EWNMF gamma=auto: the weights find the destroyed part (AUC above 0.99) in 0 of 3 runs; there the "
        "reconstruction is closer to the clean signal than NMF's in 0 of 3 (median distance 2 against 2).",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seeds", "0"], "argument --seeds: '0' must be a whole number of at least 1."),
        (["--seeds", "-3"], "argument --seeds: '-3' must be a whole number of at least 1."),
        (["--seeds", "two"], "argument --seeds: 'two' must be a whole number of at least 1."),
        (["--digits", "49"], "argument --digits: '49' must be a whole number from 50 to 1797."),
        (["--digits", "1798"], "argument --digits: '1798' must be a whole number from 50 to 1797."),
        (["--iterations", "1"], "argument --iterations: '1' must be a whole number of at least 2."),
    ],
)
def test_sizes_out_of_bounds_are_refused(arguments, sentence, tmp_path, capsys):
    with pytest.raises(SystemExit) as refusal:
        main(["--output", str(tmp_path / "new"), *arguments])
    assert refusal.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"error: {sentence}")
    assert not (tmp_path / "new").exists()


def test_module_can_be_run():
    ran = subprocess.run([sys.executable, "-m", "ewnmf.demo", "--seeds", "0"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("usage: python -m ewnmf.demo ")


@pytest.mark.parametrize("below", ["", "folder"])
def test_folder_that_cannot_be_made_is_refused_before_any_work(below, tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("mine")
    output = file / below if below else file
    assert main(["--output", str(output)]) == 2
    printed, complaint = capsys.readouterr()
    assert printed == ""
    assert complaint.startswith(f"--output {output} cannot be written (")
    assert complaint.endswith("); name another folder.\n")
    assert complaint.count("\n") == 1
    assert file.read_text() == "mine"


def test_file_that_cannot_be_written_is_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("ewnmf.demo.command.run", lambda plan: ({"seconds": 1.0}, {}))
    (tmp_path / "demo.json").mkdir()
    assert main(["--output", str(tmp_path), "--seeds", "1", "--digits", "50", "--iterations", "2"]) == 2
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith(f"--output {tmp_path} cannot be written (")


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["--output", str(tmp_path / "new")]) == 2
    expected = 'The demo draws figures, but ewnmf.plots needs matplotlib: pip install "ewnmf[plots]".\n'
    assert capsys.readouterr() == ("", expected)
    assert not (tmp_path / "new").exists()


def test_without_jinja_a_sentence_says_what_to_install(monkeypatch, tmp_path, capsys):
    from ewnmf.report.writing import _template

    _template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["--output", str(tmp_path / "new")]) == 2
    expected = 'The demo writes a report, but ewnmf.report needs Jinja2: pip install "ewnmf[report]".\n'
    assert capsys.readouterr() == ("", expected)
    assert not (tmp_path / "new").exists()
