"""Every kind of file gives the same table; what cannot be read is refused with file, place and way out."""

from __future__ import annotations

import gzip
import io
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import io as scipy_io
from scipy import sparse

from ewnmf.io import Layout, read_table, source
from ewnmf.io.columns import Roles, to_table
from tests.fuzz_files import VALUES, write_valid

TEXT = "name,a,b,kind\np,1,2,x\nq,3,,y\nr,5,6,x\n"


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, Path]:
    return write_valid(tmp_path_factory.mktemp("valid"))


@pytest.fixture
def file(tmp_path):
    """Write a file and give its path."""

    def write(content: str | bytes, name: str = "t.csv", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


def texts(array) -> list[str]:
    assert array is not None
    return [str(text) for text in array]


def refused(path: Path | str, message: str, **layout) -> None:
    with pytest.raises((ValueError, OSError), match=re.escape(message)):
        read_table(path, Layout(**layout))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "npy", "npz", "mtx", "mtx.gz", "mat", "sparse"])
def test_every_kind_gives_the_same_numbers(valid, kind):
    table = read_table(valid[kind])
    assert sparse.issparse(table.values) == (kind in ("mtx", "mtx.gz", "sparse"))
    values = table.values.toarray() if sparse.issparse(table.values) else table.values
    np.testing.assert_array_equal(values, VALUES)
    assert values.dtype == np.float64
    names = kind in ("csv", "csv.gz", "tsv", "parquet")
    assert table.features == (tuple(f"x{j}" for j in range(6)) if names else None)
    assert (table.ids, table.labels, table.missing) == (None, None, 0)
    assert len(table.sha256) == 64


def test_names_labels_and_empty_cells(file):
    table = read_table(file(TEXT), Layout(id="name", label="kind"))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, np.nan], [5, 6]])
    assert (texts(table.ids), texts(table.labels), table.features) == (["p", "q", "r"], ["x", "y", "x"], ("a", "b"))
    assert table.missing == 1


def test_columns_may_be_numbered_or_dropped(file):
    table = read_table(file(TEXT), Layout(id="1", drop=("kind", "b")))
    np.testing.assert_array_equal(table.values, [[1], [3], [5]])


def test_transposed_the_names_change_places(file):
    table = read_table(file(TEXT), Layout(id="name", drop=("kind",), transpose=True))
    np.testing.assert_array_equal(table.values, [[1, 3, 5], [2, np.nan, 6]])
    assert (texts(table.ids), table.features) == (["a", "b"], ("p", "q", "r"))


@pytest.mark.parametrize(
    ("content", "layout", "expected", "features"),
    [
        ("1,2\n3,4\n", {}, [[1, 2], [3, 4]], None),
        ("2019,2020\n3,4\n", {"header": True}, [[3, 4]], ("2019", "2020")),
        ("a;b\n1,5;2\n", {"decimal": ","}, [[1.5, 2]], ("a", "b")),
        ('"a,b"|c\n1|2\n', {}, [[1, 2]], ("a,b", "c")),
        ("a b\n1 2\n", {"delimiter": " "}, [[1, 2]], ("a", "b")),
        ("a,b\r\n1,true\r\n\r\n2,NA\r\n", {}, [[1, 1], [2, np.nan]], ("a", "b")),
        ("\ufeffa,b\n0.1,1e-300\n", {}, [[0.1, 1e-300]], ("a", "b")),
    ],
)
def test_text_tables_of_all_sorts(file, content, layout, expected, features):
    table = read_table(file(content), Layout(**layout))
    np.testing.assert_array_equal(table.values, np.array(expected, dtype=float))
    assert table.features == features


def test_encodings(file):
    for encoding in ("latin-1", "utf-16"):
        table = read_table(file("größe\n1\n2\n", encoding=encoding), Layout(encoding=encoding))
        assert table.features == ("größe",)


def test_identifiers_stay_as_they_are_written(file):
    table = read_table(file("id,x\n007,1\nNA,2\n"), Layout(id="id"))
    assert texts(table.ids) == ["007", "NA"]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,x\n")))
    refused("-", "standard input: row 2, column 'b' holds 'x', which is no number")
    buffer = io.BytesIO()
    np.save(buffer, VALUES)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue())))
    np.testing.assert_array_equal(read_table("-", Layout(kind="npy")).values, VALUES)


def test_parquet_columns_of_all_sorts(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {
        "f": pa.array([0.5, None], pa.float32()),
        "i": pa.array([1, 2], pa.int8()),
        "b": pa.array([True, None]),
        "name": ["u", "v"],
    }
    parquet.write_table(pa.table(columns), path)
    table = read_table(path, Layout(id="name"))
    np.testing.assert_array_equal(table.values, [[0.5, 1, 1], [np.nan, 2, np.nan]])
    refused(path, "row 1, column 'name' holds 'u', which is no number")


def test_the_index_of_a_data_frame_names_the_points(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1.0, 2.0]}, index=["u", "v"]).to_parquet(path)
    table = read_table(path)
    assert (texts(table.ids), table.features) == (["u", "v"], ("a",))


def test_single_precision_stays_single(tmp_path):
    single = VALUES.astype(np.float32)
    np.save(tmp_path / "t.npy", single)
    parquet.write_table(pa.table({f"x{j}": column for j, column in enumerate(single.T)}), tmp_path / "t.parquet")
    for name in ("t.npy", "t.parquet"):
        assert read_table(tmp_path / name).values.dtype == np.float32


def test_variables_of_a_file(tmp_path):
    arrays: dict[str, Any] = {
        "A": VALUES,
        "B": VALUES + 1,
        "y": np.arange(12.0),
        "who": np.array([f"p{i}" for i in range(12)]),
    }
    np.savez(tmp_path / "t.npz", **arrays)
    scipy_io.savemat(
        tmp_path / "t.mat", {**arrays, "y": arrays["y"][:, None], "who": np.array(list(arrays["who"]), object)}
    )
    for name in ("t.npz", "t.mat"):
        path = tmp_path / name
        refused(path, f"{path} has several tables: A (12 x 6), B (12 x 6), y (12")
        refused(path, "has no variable 'C' of numbers; it has A (12 x 6)", variable="C")
        refused(path, "A of", variable="B", label="A")
        table = read_table(path, Layout(variable="B", label="y", id="who"))
        np.testing.assert_array_equal(table.values, VALUES + 1)
        assert texts(table.labels) == [str(i) for i in range(12)]
        assert texts(table.ids) == [f"p{i}" for i in range(12)]


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_matrix_market_as_scipy_reads_it(tmp_path, symmetry, field):
    path = tmp_path / "t.mtx"
    values = "" if field == "pattern" else " 3"
    path.write_text(f"%%MatrixMarket matrix coordinate {field} {symmetry}\n% note\n\n3 3 2\n2 1{values}\n3 2{values}\n")
    np.testing.assert_array_equal(read_table(path).values.toarray(), scipy_io.mmread(path).toarray())


def test_a_dense_matrix_market_file(tmp_path):
    scipy_io.mmwrite(tmp_path / "t.mtx", VALUES)
    np.testing.assert_array_equal(read_table(tmp_path / "t.mtx").values, VALUES)


@pytest.mark.parametrize(
    ("content", "layout", "message"),
    [
        ("a,b\n1,2\n3\n", {}, "row 3 has 1 cell where 2 are expected ('3')"),
        ("a,b\n1,2\n\n3,4,5\n", {}, "has 3 cells where 2 are expected ('3,4,5')"),
        ("a,b\n1,2\n3,x\n", {}, "row 3, column 'b' holds 'x', which is no number"),
        ("a,b\n1,2\n3,1970-01-01\n", {}, "row 3, column 'b' holds '1970-01-01', which is no number"),
        ("a,b\n1,2\nNA,oops\n", {"delimiter": ","}, "row 3, column 'b' holds 'oops'"),
        ("1,2\n3,x\n", {}, "row 2, column 2 holds 'x', which is no number"),
        ("a,b\n1,inf\n", {}, "row 2, column 'b' is infinite"),
        ("a,b\n1,1e200\n", {}, "row 2, column 'b' holds 1e+200, whose square is too large"),
        ("a,a\n1,2\n", {}, "two columns named 'a', the 1. and the 2."),
        ("a,b\n1,2\n", {"id": "c"}, "has no column 'c' (id); it has 'a', 'b'; a number from 1 to 2 names one too"),
        ("a,b\n1,2\n", {"label": "3"}, "has no column '3' (label)"),
        ("a,b\n1,2\n", {"id": "a", "label": "1"}, "id='a' and label='1' are the same column"),
        ("a,b\n1,2\n3,\n", {"label": "b"}, "row 3 has no label in column 'b'"),
        ("a,b\n", {}, "has no points: 0 x 2 numbers were found"),
        ("a\nx\n", {"id": "a"}, "has no attributes: 1 x 0 numbers were found"),
        ("", {}, "is empty"),
        ("\n\n", {}, "has no rows"),
        ("a,b\n1,2\n", {"encoding": "nonsense"}, "encoding='nonsense' is not known"),
        (b"\xff\xfe\x00", {}, "is no text in the encoding 'utf-8'"),
        (b"a,b\n1,\xe9\n", {}, "is no text in the encoding 'utf-8'"),
        (b"a,b\n" + b"1,2\n" * 5000 + b"1,\xe9\n", {}, "row 5002, column 'b' is no valid text in the given encoding"),
        (b"n,b\n\xe9,1\n", {"id": "n"}, "is no text in the encoding 'utf-8'"),
        (b"a\0b\n1\n", {}, "has NUL characters in its first row"),
    ],
)
def test_text_that_is_refused(file, content, layout, message):
    path = file(content)
    with pytest.raises(ValueError, match=re.escape(message)) as refusal:
        read_table(path, Layout(**layout))
    assert str(path) in str(refusal.value) or "encoding=" in message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.xyz", b"1", "has a suffix that is not known (.xyz); use one of .csv"),
        ("t", b"1", "has a suffix that is not known (none)"),
        ("t.npy.gz", gzip.compress(b"x", mtime=0), "is compressed, which is not read for npy"),
        ("t.csv.gz", b"plain", "cannot be read as csv: Not a gzipped file"),
        ("t.npy", b"PK\3\4", "is no .npy file: it holds several arrays; say --from npz"),
        ("t.npz", b"no zip", "is no .npz file, or a damaged one"),
        ("t.parquet", b"nothing", "is no Parquet file"),
        ("t.parquet", b"PAR1PAR1", "cannot be read as parquet"),
        ("t.parquet", b"PAR1 cut", "is a Parquet file without its end"),
        ("t.parquet", b"PARE encrypted PARE", "is an encrypted Parquet file; decrypt it first"),
        ("t.mtx", b"1 2 3", "cannot be read as mtx"),
        ("t.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1,5\n", "row 3 is '1 1 1,5'"),
        ("t.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 7\0\n", "row 3 is '1 1 7\\x00'"),
        ("t.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 7\n", "but 2 rows of 3 are announced"),
        (
            "t.mtx",
            b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 7\n",
            "stands at [3.0, 1.0], outside of 2",
        ),
        ("t.mtx", b"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 7 1\n", "holds complex numbers"),
        ("t.mat", b"no matlab" * 30, "cannot be read as a MATLAB file"),
        ("t.mat", b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM", "version 7.3 (HDF5), which is not read"),
    ],
)
def test_files_that_are_refused(file, name, content, message):
    refused(file(content, name), message)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[1, "x"]], dtype=object), "holds Python objects, which could run any program when read"),
        (np.ones(3), "has shape (3,); give a table of points x attributes"),
        (np.ones((2, 2), complex), "has type complex128; give real numbers"),
        (np.array([["a"]]), "has type <U1; give real numbers"),
        (np.ones((0, 3)), "has no points"),
    ],
)
def test_arrays_that_are_refused(tmp_path, array, message):
    np.save(tmp_path / "t.npy", array, allow_pickle=True)
    np.savez(tmp_path / "t.npz", allow_pickle=True, X=array)
    refused(tmp_path / "t.npy", message)
    refused(tmp_path / "t.npz", message, variable="X")


def test_a_pickle_is_never_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return Path.touch, (tmp_path / "sprung",)

    (tmp_path / "t.npy").write_bytes(pickle.dumps(Trap()))
    refused(tmp_path / "t.npy", "is no .npy file")
    np.save(tmp_path / "u.npy", np.array([[Trap()]]), allow_pickle=True)
    refused(tmp_path / "u.npy", "holds Python objects")
    assert not (tmp_path / "sprung").exists()


def test_options_that_do_not_fit_the_file(valid, tmp_path):
    refused(valid["npy"], "id='a' cannot be had from", id="a")
    refused(valid["mtx"], "drop=('a',) names columns", drop=("a",))
    refused(valid["npz"], "drop=('a',) names columns", drop=("a",))
    refused(valid["images"], "label='x' is nothing that images have; use 'folder'", label="x")
    refused(valid["images"], "id='x' does not fit", id="x")
    refused(valid["images"], "drop and transpose do not fit", transpose=True)
    refused(valid["images"], "is a folder, which is read as images only", kind="csv")
    refused(valid["csv"], "is a file, and images are read from a folder", kind="images")
    refused(valid["csv"], "kind='cvs' is not known", kind="cvs")
    refused(tmp_path / "none.csv", "none.csv does not exist")
    refused(tmp_path, "is a folder without images (.bmp")


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"delimiter": "::"}, "delimiter='::' must be one character"),
        ({"decimal": ""}, "decimal='' must be one character"),
        ({"delimiter": ",", "decimal": ","}, "delimiter and decimal are both ','"),
        ({"label": "y", "transpose": True}, "label='y' cannot be combined with transpose"),
        ({"id": "a", "label": "a"}, "id and label are both 'a'"),
        ({"size": (0, 3)}, "size=(0, 3) must be a width and a height of at least 1"),
    ],
)
def test_layouts_that_are_refused(layout, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Layout(**layout)


def test_a_negative_value_is_named(file):
    table = read_table(file("a,b\n1,2\n3,-1\n-4,-5\n"))
    message = "row 3, column 'b' holds -1, the first of 2 negative values in that column and 3 in the table"
    with pytest.raises(ValueError, match=message):
        table.refuse_negative("EWNMF")
    flat = read_table(file("a,b\n1,2\n3,-1\n-4,-5\n"), Layout(transpose=True))
    with pytest.raises(ValueError, match=message):
        flat.refuse_negative("EWNMF")
    read_table(file("a,b\n1,2\n")).refuse_negative("EWNMF")


def test_a_negative_value_of_a_sparse_table_is_named(tmp_path):
    matrix = sparse.csr_matrix([[0.0, 1.0], [-2.0, 0.0], [-3.0, 0.0]])
    sparse.save_npz(tmp_path / "t.npz", matrix)
    with pytest.raises(ValueError, match="row 2, column 1 holds -2, the first of 2 negative values in that column"):
        read_table(tmp_path / "t.npz").refuse_negative("EWNMF")


def test_a_sparse_matlab_variable_stays_sparse(tmp_path):
    scipy_io.savemat(tmp_path / "t.mat", {"X": sparse.csc_matrix(VALUES)})
    values = read_table(tmp_path / "t.mat").values
    assert sparse.issparse(values)
    np.testing.assert_array_equal(values.toarray(), VALUES)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no program 'false'")
def test_a_matlab_file_that_crashes_its_reader(valid, monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    refused(valid["mat"], "brings the reader of MATLAB files down: it is damaged")


def test_a_symmetric_matrix_is_square(file):
    head = b"%%MatrixMarket matrix coordinate real symmetric\n3 2 1\n2 1 1\n"
    refused(file(head, "t.mtx"), "is symmetric and 3 x 2, coordinate; write it as a general matrix")


class Counted:
    """An Arrow table, and how often it was asked for the names of its columns."""

    def __init__(self, table: Any) -> None:
        self._table, self.asked = table, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    @property
    def column_names(self) -> list[str]:
        self.asked += 1
        return list(self._table.column_names)


@pytest.mark.parametrize("width", [3, 3000])
@pytest.mark.parametrize("labelled", [False, True])
def test_a_wide_table_is_asked_for_its_names_once(file, width, labelled):
    names = [f"x{j}" for j in range(width)]
    table = Counted(pa.table({name: [1.0, 2.0] for name in names}))
    roles = Roles("t.csv", names, Layout(label="x1" if labelled else None))
    found = to_table(table, roles, source.Source(file("x"), "t.csv"), "csv", named=True, first_row=2)
    assert found.features == tuple(name for name in names if not (labelled and name == "x1"))
    assert table.asked <= 1


def test_dropping_many_columns_looks_each_one_up_once():
    class Name(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            Name.compared += 1
            return str.__eq__(self, other)

    names = [Name(f"x{j}") for j in range(2000)]
    roles = Roles("t.csv", names, Layout(drop=tuple(f"x{j}" for j in range(0, 2000, 2))))
    assert roles.numbers == list(range(1, 2000, 2))
    assert Name.compared < 10 * len(names)


def test_an_encrypted_column_is_named_as_such(valid, monkeypatch):
    def locked(*arguments, **options):
        raise OSError("Cannot decrypt ColumnMetadata")

    monkeypatch.setattr(parquet, "ParquetFile", locked)
    refused(valid["parquet"], "is an encrypted Parquet file; decrypt it first")
