"""Runs in processes: the same rows however many there are and whoever is killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys

import pytest

from ewnmf.experiments.execution import workers
from ewnmf.experiments.execution.runner import missing, run
from ewnmf.experiments.execution.store import Store
from ewnmf.experiments.protocol.spec import METHODS, Row, Spec

KEPT = ("history", "components", "codes", "data")
SPECS = [
    Spec("signals", method, 2, seed, gamma=0.1 if method == "ewnmf" else None, max_iter=400, keep=KEPT)
    for seed in range(2)
    for method in METHODS
]
pytestmark = pytest.mark.usefixtures("ready_workers")
needs_sigkill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")


class Diary:
    """Writes down what happens, and does `then` when a run begins."""

    def __init__(self, then=lambda spec: None):
        self.entries: list[tuple[str, Spec]] = []
        self.reasons: list[str] = []
        self._then = then

    def started(self, spec):
        self.entries.append(("started", spec))
        self._then(spec)

    def finished(self, spec, seconds):
        assert seconds > 0
        self.entries.append(("finished", spec))

    def lost(self, spec):
        self.entries.append(("lost", spec))

    def failed(self, spec, reason):
        self.entries.append(("failed", spec))
        self.reasons.append(reason)

    def tick(self):
        pass

    def of(self, kind):
        return [spec for entry, spec in self.entries if entry == kind]


def contents(path):
    """All that must not depend on how the rows were made: specs, figures, versions, arrays."""
    with Store.open(path, create=False) as store:
        arrays = {row.key: [store.array(row.key, name).tobytes() for name in row.spec.keep] for row in store.rows()}
        return {row.key: (row.spec, row.figures, row.versions, arrays[row.key]) for row in store.rows()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What spawned workers make."""
    path = tmp_path_factory.mktemp("undisturbed") / "results.sqlite"
    diary = Diary()
    with Store.open(path) as store:
        assert run(SPECS, store, diary, jobs=1).stored == len(SPECS)
        assert missing(SPECS, store) == []
        assert run(SPECS, store, Diary(), jobs=1).stored == 0
    assert diary.of("started") == diary.of("finished") == SPECS
    return contents(path)


def test_two_processes_make_the_same_rows(undisturbed, tmp_path):
    diary = Diary()
    with Store.open(tmp_path / "results.sqlite") as store:
        outcome = run(SPECS, store, diary, jobs=2)
    assert (outcome.stored, outcome.failures) == (len(SPECS), {})
    assert diary.of("started") == SPECS
    assert contents(tmp_path / "results.sqlite") == undisturbed
    assert multiprocessing.active_children() == []


DOOMED = """
import os, signal, sys, threading
from ewnmf.experiments.execution.runner import run
from ewnmf.experiments.execution.store import Store
from tests.experiments.test_runner import SPECS, Diary

path, jobs, rows, delay = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])

class Doomed(Diary):
    def finished(self, spec, seconds):
        super().finished(spec, seconds)
        if len(self.of("finished")) == rows:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()

with Store.open(path) as store:
    run(SPECS, store, Doomed(), jobs=jobs)
"""


@needs_sigkill
def test_killed_at_random_and_resumed_makes_the_same_rows(undisturbed, tmp_path):
    path, chance = tmp_path / "results.sqlite", random.Random()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    for jobs in ("2", "1"):
        moment = (str(chance.randint(1, 4)), str(0.05 * chance.random()))
        done = subprocess.run([sys.executable, "-c", DOOMED, path, jobs, *moment], env=environment, check=False)
        assert done.returncode == -signal.SIGKILL
    with Store.open(path) as store:
        assert 2 <= len(store.keys()) < len(SPECS)
        run(SPECS, store, Diary(), jobs=1)
    assert contents(path) == undisturbed


@needs_sigkill
def test_a_killed_worker_is_replaced_and_its_run_made_again(undisturbed, tmp_path):
    victims = {SPECS[4]}

    def kill(spec):
        if spec in victims:
            victims.remove(spec)
            for child in multiprocessing.active_children():
                child.kill()

    diary = Diary(kill)
    with Store.open(tmp_path / "results.sqlite") as store:
        outcome = run(SPECS, store, diary, jobs=1)
    assert diary.of("lost") == [SPECS[4]]
    assert diary.of("started")[3:6] == [SPECS[3], SPECS[4], SPECS[4]]
    assert outcome.failures == {}
    assert contents(tmp_path / "results.sqlite") == undisturbed


@needs_sigkill
def test_runs_that_fail_or_always_kill_their_worker_are_told_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "MOST_TRIES", 2)
    bad, deadly, good = Spec("signals", "nmf", 2, 0, max_iter=2, keep=("weights",)), SPECS[1], SPECS[2]

    def kill(spec):
        if spec == deadly:
            for child in multiprocessing.active_children():
                child.kill()

    diary = Diary(kill)
    with Store.open(tmp_path / "results.sqlite") as store:
        outcome = run([bad, deadly, good], store, diary, jobs=1)
        assert store.keys() == {good.key}
    assert outcome.failures == {
        bad: f"ValueError: keep='weights' cannot be kept of the run {bad}, which has none.",
        deadly: "its process was killed 2 times: is there enough memory? Fewer --jobs need less",
    }
    assert diary.reasons == list(outcome.failures.values())


@needs_sigkill
def test_a_machine_that_kills_everything_is_not_worked_on_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "MOST_LOSSES", 2)

    def kill(spec):
        for child in multiprocessing.active_children():
            child.kill()

    with (
        Store.open(tmp_path / "results.sqlite") as store,
        pytest.raises(OSError, match=f"2 worker processes were killed one after the other, .* the run {SPECS[0]}"),
    ):
        run(SPECS, store, Diary(kill), jobs=1)


def test_data_that_vanishes_ends_all_runs(tmp_path):
    spec = Spec("yale", "nmf", 15, 0)
    with (
        Store.open(tmp_path / "results.sqlite") as store,
        pytest.raises(OSError, match=r"yale\.npz not found"),
    ):
        run([spec], store, Diary(), jobs=1, home=str(tmp_path / "none"))
    assert multiprocessing.active_children() == []


def test_what_another_process_has_stored_meanwhile_is_skipped(tmp_path):
    path = tmp_path / "results.sqlite"
    with Store.open(path) as store, Store.open(path) as other:

        def overtake(spec):
            for overtaken in SPECS[1:3]:
                other.add(Row(overtaken.key, overtaken, {}, 0.0, {}, "elsewhere", "just now"), {})

        diary = Diary(overtake)
        assert run(SPECS[:4], store, diary, jobs=1).stored == 2
        assert diary.of("finished") == [SPECS[0], SPECS[3]]
        assert [row.host for row in store.rows(seed=0)].count("elsewhere") == 2
