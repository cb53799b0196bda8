"""Text that a spreadsheet would run is guarded in tables of text, and comes back as it was."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from ewnmf.cli import main
from ewnmf.io import Layout, Result, read_table, write_result
from ewnmf.io.formulas import guarded, unguarded

FORMULAS = [
    "=1+1",
    "+A1",
    "-A1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "=cmd|' /C calc'!A0",
    "-1+2",
    "-inf",
    "-",
    "\uff1d1",
]
HARMLESS = ["", "a", "a=1", "'", "'quoted'", "-1.5", "+3", "-.5e-3", "1e5", "-7.", "x-1", " =1", "007"]
TRIGGERS = "=+-@\t\r\n"


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_guarded(text):
    assert guarded(text) == f"'{text}"
    assert unguarded(f"'{text}") == text


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_formula_stays(text):
    assert guarded(text) == text
    assert unguarded(text) == text
    assert unguarded(f"'{text}") == f"'{text}"


@given(st.text(alphabet="=+-@'\t\r\n1.e a", max_size=6))
def test_whatever_is_written_comes_back(text):
    cell = guarded(text)
    assert unguarded(cell) == text
    assert cell[:1] not in TRIGGERS or not cell or (cell == text and set(cell) <= set("+-.e1"))


def written(kind: str, zipped: bool = False, **texts: Any) -> bytes:
    stream = io.BytesIO()
    values = np.array([[-1.5], [2.0]])
    write_result(
        stream, Result(values, ("=col",), {name: np.array(text) for name, text in texts.items()}), kind, zipped
    )
    return stream.getvalue()


@pytest.mark.parametrize(("kind", "delimiter"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("zipped", [False, True])
def test_names_are_guarded_and_numbers_are_not(kind, delimiter, zipped):
    content = written(kind, zipped, **{"@id": ["=1+1", "-3"]})
    text = (gzip.decompress(content) if zipped else content).decode()
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    assert rows == [["'@id", "'=col"], ["'=1+1", "-1.5"], ["-3", "2"]]


def test_parquet_has_nothing_to_guard():
    table = parquet.read_table(io.BytesIO(written("parquet", id=["=1+1", "-3"])))
    assert (table.column_names, table.column(0).to_pylist()) == (["id", "=col"], ["=1+1", "-3"])


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_a_table_comes_back(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    texts: dict[str, Any] = {"-id": ["=1+1", "'-3"], "@class": ["+a", "\t-b"]}
    path.write_bytes(written(kind, **texts))
    table = read_table(path, Layout(id="-id", label="@class"))
    assert table.ids is not None
    assert table.labels is not None
    assert (list(table.ids), list(table.labels), table.features) == (["=1+1", "'-3"], ["+a", "\t-b"], ("=col",))
    np.testing.assert_array_equal(table.values, [[-1.5], [2.0]])


def test_the_files_of_the_command(tmp_path):
    source = tmp_path / "in.csv"
    rows = "".join(
        f"{name},{i + 1},{i + 2},{label}\n" for i, (name, label) in enumerate([("=1", "@x"), ("-2", "y"), ("+z", "@x")])
    )
    source.write_text(f"who,=a,b,class\n{rows}")
    arguments = ["fit", str(source), "-k", "1", "--id", "who", "--label", "class", "--clusters", "2", "--max-iter", "2"]
    assert main([*arguments, "--tol", "0", "--gamma", "1", "-q", "-o", str(tmp_path / "out")]) == 0

    def cells(name: str) -> list[list[str]]:
        return list(csv.reader((tmp_path / "out" / name).read_text().splitlines()))

    assert [row[0] for row in cells("codes.csv")] == ["id", "'=1", "-2", "'+z"]
    assert [row[1] for row in cells("labels.csv")] == ["label", "'@x", "y", "'@x"]
    assert cells("components.csv")[0] == ["component", "'=a", "b"]
    back = read_table(Path(tmp_path / "out" / "codes.csv"), Layout(id="id"))
    assert back.ids is not None
    assert list(back.ids) == ["=1", "-2", "+z"]
