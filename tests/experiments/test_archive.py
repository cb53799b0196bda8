"""Folders of results: rows come back as they went in, the same rows give the same bytes, and little is kept."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from ewnmf.experiments.execution import archive
from ewnmf.experiments.execution.archive import Export, committed, export, read
from ewnmf.experiments.execution.store import Store
from ewnmf.experiments.protocol.plan import TARGETS, planned
from ewnmf.experiments.protocol.spec import Row

SPECS = [
    *TARGETS["fig10"].specs(),
    *TARGETS["table2"].specs()[40:60],
    *TARGETS["fig7"].specs()[:3],
    *TARGETS["occlusion"].specs()[6:10],
    TARGETS["table1"].specs()[0],
]
SPECS = list(dict.fromkeys(SPECS))


def row_of(spec, **figures):
    found = {"acc_raw_1": 0.1 + 0.2, "objective": -1e-300, "n_points": 165.0, "gamma": np.inf} | figures
    return Row(spec.key, spec, found, 1.25, {"numpy": "2", "ewnmf": "1"}, "a machine", "2026-01-02T03:04:05+00:00")


def arrays_of(spec):
    """Arrays of 20 points, every second one damaged."""
    shapes = {"history": (300,), "components": (15, 16), "codes": (20, 15)}
    random = np.random.default_rng(spec.seed)
    found = {name: random.uniform(size=shapes.get(name, (20, 16))) for name in spec.keep}
    if "damaged" in found:
        found["damaged"] = np.repeat(np.arange(20) % 2 == 1, 16).reshape(20, 16)
    return found


@pytest.fixture
def store():
    with Store.open(":memory:") as made:
        made.add_all((row_of(spec), arrays_of(spec)) for spec in SPECS)
        yield made


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_rows_come_back_with_every_digit_and_no_machine(store, tmp_path):
    assert export(store, tmp_path) == Export(len(SPECS), len(SPECS), 0, 0)
    found = read(tmp_path).rows()
    assert [row.spec for row in found] == sorted(SPECS, key=lambda spec: spec.order)
    for row in found:
        assert row == replace(row_of(row.spec), host="", finished="2026-01-02")
    assert "a machine" not in "".join(map(str, contents(tmp_path).values()))


def test_the_same_rows_give_the_same_bytes_whatever_their_order(store, tmp_path):
    export(store, tmp_path / "one")
    with Store.open(":memory:") as first, Store.open(":memory:") as second:
        for made, specs in ((first, SPECS[::2]), (second, SPECS[::-1])):
            made.add_all((row_of(spec), arrays_of(spec)) for spec in specs)
            done = export(made, tmp_path / "two")
    assert done.rows == len(SPECS)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_row_is_in_the_file_of_the_first_target_that_needs_it(store, tmp_path):
    export(store, tmp_path)
    names = {name.removesuffix(".csv.gz") for name in contents(tmp_path) if name.endswith(".gz")}
    assert names == {"table1", "fig10", "table2", "occlusion", "fig7"}
    lines = [gzip.decompress(path.read_bytes()).decode().splitlines()[1:] for path in tmp_path.glob("*.gz")]
    assert sum(map(len, lines)) == len(SPECS)
    assert json.loads((tmp_path / "versions.json").read_text()) == {
        archive._name({"ewnmf": "1", "numpy": "2"}): {"ewnmf": "1", "numpy": "2"}
    }


def test_rows_that_are_there_stay_and_others_are_added(store, tmp_path):
    export(store, tmp_path)
    before = contents(tmp_path)
    new = TARGETS["table2"].specs()[70]
    with Store.open(":memory:") as other:
        other.add_all((row_of(spec, objective=2.0), {}) for spec in SPECS[:2])
        other.add(row_of(new), {})
        other.add(row_of(replace(new, max_iter=7)), {})
        assert export(other, tmp_path) == Export(len(SPECS) + 1, 1, 2, 1)
    after = contents(tmp_path)
    assert {name for name in after if after[name] != before[name]} == {"table2.csv.gz"}
    assert row_of(SPECS[0]).figures == next(row for row in read(tmp_path).rows() if row.spec == SPECS[0]).figures


def test_only_arrays_that_pictures_show_are_kept_and_in_short(store, tmp_path):
    export(store, tmp_path)
    kept = read(tmp_path)
    by_row = {row.spec: set(arrays) for row, arrays in kept.items()}
    for spec, names in by_row.items():
        shown = spec.dataset == "yale" and spec.seed == spec.attempt == 0 and spec.keep
        if shown and not spec.occluded and spec.gamma in (None, 0.02):
            assert names == {"history", "components"}
            assert kept.array(spec.key, "history").tobytes() == arrays_of(spec)["history"].tobytes()
            assert kept.array(spec.key, "components").dtype == np.float16
        elif shown and spec.occluded == 0.3 and spec.gamma in (0.02, "auto", "groups"):
            assert names == {"damaged", "data", "weights"}
            assert kept.array(spec.key, "damaged").all()
            picked = arrays_of(spec)["data"][1::2][[0, 1, 2, 3, 5, 6, 7, 9]]
            assert np.array_equal(kept.array(spec.key, "data"), picked.astype(np.float16))
        else:
            assert names == set()
    assert sum(map(bool, by_row.values())) == 8


def test_an_archive_fills_a_store(store, tmp_path):
    export(store, tmp_path)
    with Store.open(":memory:") as made:
        made.add_all(read(tmp_path).items())
        assert made.keys() == store.keys()
        key = SPECS[0].key
        assert made.has(key, "history")
        assert not made.has(key, "codes")
        assert np.array_equal(made.array(key, "history"), store.array(key, "history"))


def test_a_missing_folder_is_empty_and_a_damaged_one_a_sentence(store, tmp_path):
    assert read(tmp_path / "none").rows() == []
    export(store, tmp_path)
    (tmp_path / "fig10.csv.gz").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"has results that cannot be read .*; restore its files\."):
        read(tmp_path)
    (tmp_path / "fig10.csv.gz").write_bytes(gzip.compress(b"other,columns\n1,2\n"))
    with pytest.raises(ValueError, match="columns of another version"):
        read(tmp_path)


def test_a_package_without_a_clone_has_no_results(monkeypatch, tmp_path):
    place = tmp_path / "site-packages" / "ewnmf" / "experiments" / "execution" / "archive.py"
    monkeypatch.setattr(archive, "__file__", str(place))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "versions.json").write_text("{}")
    assert committed() is None
    monkeypatch.setattr(
        archive, "__file__", str(tmp_path / "src" / "ewnmf" / "experiments" / "execution" / "archive.py")
    )
    assert committed() == tmp_path / "results"


def test_every_planned_run_can_be_written_and_read():
    specs = planned(["all"])[::50]
    text = archive._text([row_of(spec) for spec in specs])
    versions = {archive._name({"numpy": "2", "ewnmf": "1"}): {"numpy": "2", "ewnmf": "1"}}
    assert [row.spec for row in archive._rows(text, versions)] == specs
