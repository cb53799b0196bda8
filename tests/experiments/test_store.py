"""The store: rows come back as they went in, whole or not at all, and foreign files are refused."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ewnmf.experiments.execution.store import _SCHEMA, SCHEMA_VERSION, Store
from ewnmf.experiments.protocol.spec import Row, Spec

SPEC = Spec("yale", "ewnmf", 15, 0, gamma=0.1, keep=("history", "damaged"))
ARRAYS = {"history": np.array([1 / 3, 1e-300, np.inf]), "damaged": np.eye(3, dtype=bool)[:, ::-1]}


def row_of(spec: Spec, **figures: float) -> Row:
    return Row(spec.key, spec, figures or {"acc_raw_1": 0.1 + 0.2, "gamma": np.inf}, 1.5, {"numpy": "2"}, "here", "now")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


def test_rows_and_arrays_come_back_to_the_bit(path):
    with Store.open(path) as store:
        store.add(row_of(SPEC), ARRAYS)
    with Store.open(path, create=False) as store:
        assert store.rows() == [row_of(SPEC)]
        assert store.keys() == {SPEC.key}
        assert SPEC.key in store
        assert "another" not in store
        for name, array in ARRAYS.items():
            found = store.array(SPEC.key, name)
            assert found.dtype == array.dtype
            assert found.tobytes() == array.tobytes()


class Interleaved:
    """A connection to a new file; another one tries to make the tables while this one looks what the file is."""

    def __init__(self, connection, path):
        self._connection, self._path = connection, path

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, sql, *values):
        if sql == "PRAGMA user_version":
            other = sqlite3.connect(self._path, timeout=0.0, isolation_level=None)
            with contextlib.suppress(sqlite3.OperationalError):
                other.executescript(_SCHEMA)
            other.close()
        return self._connection.execute(sql, *values)


def test_two_processes_may_make_the_same_store_at_once(path, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3,
        "connect",
        lambda place, timeout, **options: (
            connect(place, timeout=timeout, **options)
            if timeout == 0
            else Interleaved(connect(place, timeout=timeout, **options), place)
        ),
    )
    with Store.open(path) as store:
        store.add(row_of(SPEC), ARRAYS)
        assert store.keys() == {SPEC.key}


def test_rows_are_found_by_their_specs_and_in_order(path):
    plain = replace(SPEC, keep=())
    specs = [replace(plain, gamma=gamma, seed=seed) for seed in (2, 0, 10) for gamma in (1.0, "auto", 1e-8)]
    specs += [Spec("umist", "nmf", 3, 1, draw=1), Spec("umist", "nmf", 20, 1)]
    with Store.open(path) as store:
        for spec in specs:
            store.add(row_of(spec), {})
        assert [row.spec for row in store.rows()] == sorted(specs, key=lambda spec: spec.order)
        assert [row.spec.seed for row in store.rows(gamma="auto")] == [0, 2, 10]
        assert [row.spec.seed for row in store.rows(gamma=1, method="ewnmf")] == [0, 2, 10]
        assert [row.spec.k for row in store.rows(dataset="umist", draw=None)] == [20]
        assert len(store.rows(keep=(), occluded=0)) == 11
        assert store.rows(keep=("weights",)) == []
        with pytest.raises(TypeError, match="rows have no data; ask for dataset, method, k, seed"):
            store.rows(data="yale")
        with pytest.raises(KeyError, match="no array 'weights'"):
            store.array(specs[0].key, "weights")


def test_a_store_of_before_is_given_the_new_columns(path):
    auto = Spec("yale", "ewnmf", 15, 1, gamma="auto", rule=0)
    with Store.open(path) as store:
        for spec in (SPEC, auto):
            store.add(row_of(spec), {})
        for column in ("loss", "block", "rule"):
            store._connection.execute(f"ALTER TABLE results DROP COLUMN {column}")
    new = [
        replace(SPEC, loss="kullback-leibler"),
        replace(auto, rule=None),
        Spec("digits", "nmf", 10, 0, occluded=0.3, block=3),
    ]
    with Store.open(path) as store, Store.open(path) as second:
        assert store.rows() == [row_of(SPEC), row_of(auto)]
        assert all(row.key == row.spec.key for row in store.rows())
        for spec in new:
            second.add(row_of(spec), {})
        assert {row.spec for row in store.rows()} == {SPEC, auto, *new}
        assert store.rows(loss="kullback-leibler") == [row_of(new[0])]
        assert store.rows(gamma="auto", rule=0) == [row_of(auto)]


def test_what_is_there_already_stays(path):
    with Store.open(path) as store, Store.open(path) as second:
        store.add(row_of(SPEC, first=1.0), ARRAYS)
        second.add(row_of(SPEC, second=2.0), {"history": np.zeros(2)})
        assert second.rows() == store.rows() == [row_of(SPEC, first=1.0)]
        assert second.array(SPEC.key, "history").tobytes() == ARRAYS["history"].tobytes()


def test_a_row_without_its_arrays_is_never_kept(path):
    bad: Any = {"history": np.zeros(2), "damaged": np.array([object()])}
    with Store.open(path) as store:
        with pytest.raises(ValueError, match="Object arrays cannot be saved"):
            store.add(row_of(SPEC), bad)
        store._connection.execute("DROP TABLE arrays")
        with pytest.raises(OSError, match="cannot be used: no such table: arrays"):
            store.add(row_of(SPEC), ARRAYS)
        assert store.keys() == set()


def test_a_full_disk_is_a_sentence_and_loses_nothing(path):
    other = replace(SPEC, seed=1)
    with Store.open(path) as store:
        store.add(row_of(SPEC), ARRAYS)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(OSError, match=r"results\.sqlite cannot be used: the disk is full; free some space\."):
            store.add(row_of(other), {"history": np.random.default_rng(0).random(10_000)})
        assert store.keys() == {SPEC.key}
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.add(row_of(other), ARRAYS)
    with Store.open(path) as store:
        assert store.keys() == {SPEC.key, other.key}


def test_a_store_that_is_held_is_a_sentence(path, monkeypatch):
    monkeypatch.setattr("ewnmf.experiments.execution.store._WAIT_SECONDS", 0.0)
    with Store.open(path) as store, Store.open(path) as second:
        second._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match="another process holds it; wait for that one to end"):
            store.add(row_of(SPEC), {})
        second._connection.execute("ROLLBACK")
        store.add(row_of(SPEC), {})


@pytest.mark.parametrize(("shift", "age"), [(1, "a newer"), (-1, "an older")])
def test_a_store_of_another_version_is_refused_and_left_alone(path, shift, age):
    Store.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + shift}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"written by {age} version of ewnmf .store version {SCHEMA_VERSION + shift}"):
        Store.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("foreign", [b"not a database at all" * 100, None])
def test_a_foreign_file_is_refused_and_left_alone(path, foreign):
    if foreign is None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE results (x)")
        connection.close()
    else:
        path.write_bytes(foreign)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"results\.sqlite is no store of ewnmf; name another folder"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_missing_store_or_folder_is_a_sentence(path):
    with pytest.raises(FileNotFoundError, match=r"there is no store at .*; run some targets first"):
        Store.open(path, create=False)
    assert not path.exists()
    with pytest.raises(OSError, match="it cannot be opened; change the folder's permissions"):
        Store.open(path / "below" / "results.sqlite")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_rows_are_on_the_disk_when_add_returns(path):
    code = f"""
import os, signal
import numpy as np
from ewnmf.experiments.execution.store import Store
from tests.experiments.test_store import ARRAYS, SPEC, replace, row_of
store = Store.open({str(path)!r})
for seed in range(5):
    store.add(row_of(replace(SPEC, seed=seed)), ARRAYS)
store._connection.execute("BEGIN IMMEDIATE")
store._connection.execute("DELETE FROM results")
os.kill(os.getpid(), signal.SIGKILL)
"""
    paths = os.pathsep.join([os.getcwd(), *sys.path])
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": paths}, check=False)
    assert done.returncode == -signal.SIGKILL
    with Store.open(path) as store:
        assert [row.spec.seed for row in store.rows()] == [0, 1, 2, 3, 4]
        assert store.array(row_of(SPEC).key, "history").tobytes() == ARRAYS["history"].tobytes()
