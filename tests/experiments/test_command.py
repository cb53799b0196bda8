"""``ewnmf reproduce``: what it says, what it refuses, how it is interrupted, when it draws."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("click")

from ewnmf.cli import main
from ewnmf.cli import progress as shown
from ewnmf.cli import reproduce as command
from ewnmf.experiments.execution.archive import export, read
from ewnmf.experiments.execution.checking import chosen, compared
from ewnmf.experiments.execution.execute import execute
from ewnmf.experiments.execution.runner import Outcome
from ewnmf.experiments.execution.store import Store
from ewnmf.experiments.protocol.plan import TARGETS, planned
from ewnmf.experiments.protocol.spec import Row, Spec

SIGNALS = TARGETS["fig2"].specs()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "reproduction"


@pytest.fixture(autouse=True)
def without_a_clone(monkeypatch):
    """As a package that was installed without the repository: there are no finished rows."""
    monkeypatch.setattr(command, "committed", lambda: None)


@pytest.fixture
def rendered(monkeypatch):
    """A stand-in for the drawing, and what it was asked for."""
    asked = []

    def render(store, targets, folder):
        asked.append((len(store.rows()), list(targets), folder))
        return [folder / "page.md"]

    stub = ModuleType("ewnmf.experiments.pages.render")
    stub.render = render  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ewnmf.experiments.pages.render", stub)
    return asked


@pytest.fixture
def runs(monkeypatch):
    """A stand-in for the runs: all but those in `fails` are stored at once."""
    fails: dict[Spec, str] = {}

    def run(specs, store, watcher, *, jobs, home):
        for spec in specs:
            watcher.started(spec)
            if spec in fails:
                watcher.failed(spec, fails[spec])
            else:
                store.add(Row(spec.key, spec, {}, 1.0, {}, "here", "now"), {})
                watcher.finished(spec, 1.0)
        return Outcome(len(specs) - len(fails), fails)

    monkeypatch.setattr(command, "run", run)
    return fails


def said(capsys, *arguments):
    """Exit code, standard output, standard error."""
    code = main(["reproduce", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table2", "fig12"], "target='fig12' is not known; use one of 'all', 'auto-gamma', 'fig1', "),
        ([], "name what to reproduce: all, or some of table1, fig1, fig2, "),
        (["fig2", "--jobs", "0"], "Invalid value for '--jobs': 0 is not in the range x>=1."),
        (["fig5", "--clusters", "1"], "Invalid value for '--clusters': 1 is not in the range x>=2."),
        (["fig2", "--without", "faces"], "Invalid value for '--without': 'faces' is not one of 'yale', 'umist', "),
        (["fig2", "--render", "--no-render"], "--render and --no-render cannot both be given."),
        (["--render"], "there is no store at "),
        (["--export", "somewhere"], "there is no store at "),
        (["--check", "3"], "--check has no finished rows to compare with; name their folder with --results."),
    ],
)
def test_refusals_are_one_sentence_and_touch_nothing(capsys, out, arguments, sentence):
    code, output, error = said(capsys, *arguments, "--out", out)
    assert code == 2
    assert output == ""
    assert error.startswith(f"ewnmf: {sentence}")
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_results_folder_that_is_not_there_is_refused(capsys, out, tmp_path, rendered):
    code, _, errors = said(capsys, "--render", "--results", str(tmp_path / "none"), "--out", str(out))
    assert code == 2
    assert "is no folder; name the one that holds the finished rows." in errors
    assert not out.exists()


def test_missing_data_is_refused_before_anything_runs(capsys, out, tmp_path):
    code, _, error = said(capsys, "fig2", "fig6", "--out", out, "--data", tmp_path)
    assert code == 2
    assert error == (
        f"ewnmf: the data set 'umist' is neither in {tmp_path} nor in {tmp_path / 'raw'}; set EWNMF_DATA (or --data) "
        "to the folder that has it, or add --download.\n"
    )
    assert not out.exists()


def test_a_folder_that_cannot_be_written_is_refused(capsys, tmp_path):
    (tmp_path / "file").touch()
    code, _, error = said(capsys, "fig2", "--out", tmp_path / "file")
    assert code == 2
    assert error == f"ewnmf: --out {tmp_path / 'file'} cannot be written (File exists); name another folder.\n"


def test_without_matplotlib_runs_are_made_only_where_nothing_is_drawn(capsys, out, runs, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    code, _, error = said(capsys, "fig2", "--out", out)
    assert code == 2
    assert "pip install 'ewnmf[plots]', or add --no-render" in error
    assert said(capsys, "fig2", "--out", out, "--no-render", "--quiet") == (0, "", "")


def test_a_foreign_store_is_refused(capsys, out):
    out.mkdir()
    (out / "results.sqlite").write_text("something else" * 100)
    code, _, error = said(capsys, "fig2", "--out", out, "--no-render")
    assert code == 2
    assert (
        error == f"ewnmf: {out / 'results.sqlite'} is no store of ewnmf; name another folder, or move the file away.\n"
    )


def test_runs_then_draws_from_the_store(capsys, out, runs, rendered):
    code, output, error = said(capsys, "fig2", "--out", out)
    assert (code, output) == (0, f"{out / 'page.md'}\n")
    assert error.splitlines()[0] == f"40 runs, 0 of them in {out / 'results.sqlite'}."
    assert rendered == [(40, ["fig2"], out)]
    code, _, error = said(capsys, "fig2", "--out", out)
    assert (code, error) == (0, f"40 runs, 40 of them in {out / 'results.sqlite'}.\n")
    assert said(capsys, "--render", "--out", out)[0] == 0
    assert rendered[1:] == [(40, ["fig2"], out), (40, list(TARGETS), out)]


def test_failed_runs_are_counted_and_the_rest_is_drawn(capsys, out, runs, rendered):
    runs |= {SIGNALS[3]: "a reason", SIGNALS[5]: "another"}
    code, _, error = said(capsys, "fig2", "--out", out, "--quiet")
    assert code == 2
    assert error.splitlines() == [
        f"ewnmf: the run {SIGNALS[3]} failed: a reason.",
        f"ewnmf: the run {SIGNALS[5]} failed: another.",
        f"ewnmf: 2 runs failed and are not stored, the first of them {SIGNALS[3]} (a reason); "
        "the same command tries them again.",
    ]
    assert rendered == [(38, ["fig2"], out)]


def test_a_disk_that_fills_up_is_a_sentence_that_says_what_is_stored(capsys, out, monkeypatch):
    def run(specs, store, watcher, *, jobs, home):
        store.add(Row(specs[0].key, specs[0], {}, 1.0, {}, "here", "now"), {})
        raise OSError("the store is full.")

    monkeypatch.setattr(command, "run", run)
    code, _, error = said(capsys, "fig2", "--out", out, "--quiet", "--no-render")
    place = out / "results.sqlite"
    assert code == 2
    assert (
        error == f"ewnmf: the store is full. (1 of 40 runs are in {place}, and the same command goes on from there.)\n"
    )


def test_the_list_counts_runs_and_what_is_stored(capsys, out, runs):
    said(capsys, "fig2", "--out", out, "--no-render", "--seeds", "4")
    code, output, error = said(capsys, "--list", "--out", out)
    assert (code, error) == (0, "")
    head, *lines, last = output.splitlines()
    assert head.split() == ["target", "runs", "stored", "left,", "one", "core", "what", "it", "shows"]
    assert [line.split()[0] for line in lines] == list(TARGETS)
    counts = {line.split()[0]: tuple(map(int, line.split()[1:3])) for line in (*lines, last)}
    assert counts["fig2"] == (40, 16)
    assert counts["table2"] == (400, 0)
    assert counts["together"] == (len(planned(["all"])), 16)
    assert said(capsys, "--list", "fig2", "--quick", "--out", out / "none")[1].splitlines()[1].split()[:3] == [
        "fig2",
        "8",
        "0",
    ]
    assert not (out / "none").exists()


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """A folder of finished rows: four of NMF in Fig. 2."""
    folder = tmp_path_factory.mktemp("computed") / "results"
    with Store.open(":memory:") as store:
        for spec in [spec for spec in SIGNALS if spec.method == "nmf"][:4]:
            figures, arrays = execute(spec)
            store.add(Row(spec.key, spec, figures, 1.0, {}, "here", "now"), arrays)
        export(store, folder)
    return folder


@pytest.fixture
def finished(computed, tmp_path):
    """A copy of the finished rows."""
    return Path(shutil.copytree(computed, tmp_path / "results"))


def test_finished_rows_are_where_it_starts(capsys, out, finished, runs, rendered):
    line = ("fig2", "--out", out, "--results", finished)
    assert said(capsys, "--list", *line)[1].splitlines()[1].split()[:3] == ["fig2", "40", "4"]
    code, _, error = said(capsys, *line)
    assert (code, error.splitlines()[0]) == (0, f"40 runs, 4 of them in {out / 'results.sqlite'}.")
    assert rendered == [(40, ["fig2"], out)]
    code, _, error = said(capsys, "fig2", "--out", out / "fresh", "--results", finished, "--fresh")
    assert error.splitlines()[0] == f"40 runs, 0 of them in {out / 'fresh' / 'results.sqlite'}."


def test_a_clone_is_drawn_from_its_rows_without_a_store(capsys, out, finished, rendered, monkeypatch):
    monkeypatch.setattr(command, "committed", lambda: finished)
    assert said(capsys, "--render", "--out", out)[0] == 0
    assert rendered == [(4, list(TARGETS), out)]
    assert not (out / "results.sqlite").exists()


@pytest.mark.parametrize("options", ["--without-rules", "--without-auto", "--method=auto --method=groups"])
def test_methods_can_be_named_and_rules_left_out(capsys, out, runs, options):
    assert said(capsys, "fig2", "--out", out, *options.split(), "--no-render")[2].startswith("20 runs, ")


def test_rows_are_exported_and_told(capsys, out, finished, runs):
    said(capsys, "fig2", "--out", out, "--no-render", "--quiet")
    code, output, error = said(capsys, "--export", finished, "--out", out)
    assert (code, output) == (0, f"40 rows are in {finished}, 36 of them new.\n")
    assert error == (
        f"ewnmf: 4 rows were in {finished} with other figures and stay as they were there; remove its files to write "
        "them anew.\n"
    )
    assert said(capsys, "--export", finished, "--out", out)[1] == f"40 rows are in {finished}, 0 of them new.\n"


@pytest.mark.usefixtures("ready_workers")
def test_a_check_computes_rows_again_and_tells_which(capsys, out, finished):
    code, output, error = said(capsys, "--check", 2, "--results", finished, "--quiet", "--jobs", 1, "--check-seed", 5)
    assert (code, error) == (0, "")
    drawn = chosen(read(finished).rows(), 2, seed=5)
    assert output == "".join(f"{row.spec}: the same to the bit\n" for row in drawn)


def test_rows_to_check_are_drawn_by_the_seed_alone():
    rows = [Row(spec.key, spec, {}, 1.0, {}, "", "now") for spec in SIGNALS]
    first = chosen(rows, 5, seed=0)
    assert chosen(rows[::-1], 5, seed=0) == first
    assert chosen(rows, 5, seed=1) != first
    assert len(chosen(rows, 100, seed=0)) == 40


def test_figures_are_compared_to_the_bit_and_then_to_a_millionth():
    row = Row("key", SIGNALS[0], {"a": 1.0, "b": 0.1, "c": float("inf")}, 1.0, {}, "", "now")
    same = compared(row, dict(row.figures))
    near = compared(row, row.figures | {"a": 1 + 1e-7})
    far = compared(row, {"a": 1 + 1e-5, "b": 0.1, "d": 2.0})
    assert (same.exact, near.exact, far.exact) == (True, False, False)
    assert (same.differing, near.differing) == ({}, {})
    assert far.differing == {"a": (1.0, 1 + 1e-5), "c": (float("inf"), None), "d": (None, 2.0)}
    assert str(near) == f"{SIGNALS[0]}: the same within 1e-06"


@pytest.mark.usefixtures("ready_workers")
def test_a_check_that_finds_a_difference_fails_with_a_sentence(capsys, out, finished):
    path = finished / "fig2.csv.gz"
    head, first, *others = gzip.decompress(path.read_bytes()).decode().splitlines()
    objective = float(first.split(",")[head.split(",").index("objective")])
    changed = first.replace(repr(objective), repr(objective * (1 + 1e-5)))
    assert changed != first
    path.write_bytes(gzip.compress("\n".join([head, changed, *others, ""]).encode()))
    code, output, error = said(capsys, "fig2", "--check", 9, "--results", finished, "--quiet", "--jobs", 1)
    assert code == 1
    assert f", objective {objective * (1 + 1e-5)!r} is now {objective!r}\n" in output
    assert output.count("the same to the bit") == 3
    assert error == f"ewnmf: 1 of 4 rows differ from those in {finished}.\n"


INTERRUPTED = """
import os, sys, threading, time
from pathlib import Path
from ewnmf.cli import main
from ewnmf.experiments.execution.store import Store

number, out = int(sys.argv[1]), Path(sys.argv[2])

def interrupt():
    while True:
        if (out / "results.sqlite").exists():
            with Store.open(out / "results.sqlite") as store:
                if store.keys():
                    return os.kill(os.getpid(), number)
        time.sleep(0.002)

threading.Thread(target=interrupt, daemon=True).start()
sys.exit(main(["reproduce", "fig2", "--out", str(out), "--no-render", "--jobs", "1", "--fresh"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to processes here")
def test_an_interruption_is_a_sentence_and_says_what_is_stored(out):
    """By the signal that ends a process, which is answered as Ctrl-C is."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-c", INTERRUPTED, str(int(signal.SIGTERM)), str(out)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    with Store.open(out / "results.sqlite") as store:
        count = len(store.keys())
    assert 0 < count < 40
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1] == (
        f"ewnmf: interrupted; {count} of 40 runs are in {out / 'results.sqlite'}, "
        "and the same command goes on from there."
    )
    assert "Traceback" not in done.stderr


def test_durations_are_words():
    assert [shown.duration(s) for s in (0.4, 89, 90, 5399, 5400, 172799, 172800)] == [
        "0 s",
        "89 s",
        "2 min",
        "90 min",
        "1.5 h",
        "48.0 h",
        "2 days",
    ]


def test_the_forecast_goes_by_cost_at_the_speed_seen():
    now = 0.0
    short, long = SIGNALS[:2]
    forecast = shown.Forecast({short: 10.0, long: 30.0}, 8, clock=lambda: now)
    assert forecast.seconds_left() == 20  # two processes are all that two runs can use
    forecast.begin(short)
    forecast.begin(long)
    now = 5.0
    assert forecast.advanced() == 10
    now = 20.0
    forecast.end(short)
    assert (forecast.done, forecast.running) == (1, [long])
    assert forecast.advanced() == 30
    assert forecast.seconds_left() == pytest.approx(10 / (30 / 20))
    now = 60.0
    assert forecast.advanced() == 10 + 27
    forecast.end(long, over=False)
    assert (forecast.done, forecast.advanced()) == (1, 10)


def test_lines_come_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    costs = dict.fromkeys(SIGNALS[:3], 100.0)
    with shown.watching(costs, 1, quiet=False) as watcher:
        watcher.started(SIGNALS[0])
        watcher.tick()
        now = 1040.0
        watcher.lost(SIGNALS[0])
        watcher.started(SIGNALS[0])
        watcher.finished(SIGNALS[0], 40.0)
        now = 1080.0
        watcher.started(SIGNALS[1])
    first, lost, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith("0 of 3 runs, about 5 min left, until ")
    assert first.endswith(f": {SIGNALS[0]}")
    assert lost == f"ewnmf: the process of the run {SIGNALS[0]} was killed; the run is made again."
    assert second.startswith("0 of 3 runs, ")
    assert third.startswith("1 of 3 runs, about 3 min left, until ")


def test_the_bar_is_one_line_on_a_terminal(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with shown.watching(dict.fromkeys(SIGNALS[:2], 100.0), 1, quiet=False) as watcher:
        watcher.started(SIGNALS[0])
        watcher.failed(SIGNALS[0], "a [bold] reason")
        watcher.started(SIGNALS[1])
        watcher.tick()
    output = capsys.readouterr().err
    assert f"ewnmf: the run {SIGNALS[0]} failed: a [bold] reason." in output
    assert "1 of 2 runs, about 2 min left, until " in output
    assert str(SIGNALS[1]) in output
