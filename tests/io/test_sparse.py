"""Sparse matrices in files: read as SciPy reads them, and refused before SciPy sees an index that is wrong."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from ewnmf.io import Layout, matlab, matlab_child, read_table, source, sparse_parts

RNG = np.random.default_rng(0)
MATRIX = sparse.random(6, 8, 0.4, format="csr", random_state=0, dtype=np.float64)
FORMATS = ("csr", "csc", "bsr", "coo", "dia")
BIG = np.iinfo(np.int64).max


def parts(kind: str) -> dict[str, Any]:
    """The arrays of a sound matrix (6 x 8)."""
    matrix = sparse.bsr_matrix(MATRIX, blocksize=(3, 2)) if kind == "bsr" else MATRIX.asformat(kind)
    keys = {"coo": ("row", "col"), "dia": ("offsets",)}.get(kind, ("indices", "indptr"))
    head = {"format": np.array(kind.encode()), "shape": np.array(matrix.shape), "data": matrix.data}
    return head | {key: np.array(getattr(matrix, key)) for key in keys}


def changed(array: Any, place: int, value: int) -> Any:
    answer = np.array(array, dtype=np.int64)
    answer[place] = value
    return answer


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("type_", ["matrix", "array"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool])
def test_every_form_is_read(tmp_path, kind, type_, dtype):
    matrix = (MATRIX * 10).astype(dtype)
    matrix = sparse.bsr_matrix(matrix, blocksize=(3, 2)) if kind == "bsr" else matrix.asformat(kind)
    sparse.save_npz(tmp_path / "t.npz", getattr(sparse, f"{kind}_{type_}")(matrix))
    values = read_table(tmp_path / "t.npz").values
    assert values.has_canonical_format
    assert values.dtype == (np.float32 if dtype is np.float32 else np.float64)
    np.testing.assert_array_equal(values.toarray(), matrix.toarray().astype(values.dtype))


def test_entries_stored_twice_are_added(tmp_path):
    np.savez(tmp_path / "t.npz", **parts("coo") | {"row": np.zeros(19, int), "col": np.ones(19, int)})
    assert read_table(tmp_path / "t.npz").values[0, 1] == pytest.approx(MATRIX.sum())


def test_diagonals_beyond_the_corners_are_empty(tmp_path):
    offsets = np.array([-BIG - 1, -6, -5, 0, 7, 8, 2**32, BIG])
    data = RNG.random((8, 11))
    np.savez(tmp_path / "t.npz", format=b"dia", shape=(6, 8), data=data, offsets=offsets)
    expected = sparse.dia_matrix((data[2:5], offsets[2:5]), shape=(6, 8)).toarray()
    np.testing.assert_array_equal(read_table(tmp_path / "t.npz").values.toarray(), expected)


BAD: list[tuple[str, dict[str, Any], str]] = [
    (kind, {"indices": changed(parts(kind)["indices"], -1, value)}, "indices has entries from")
    for kind in ("csr", "csc", "bsr")
    for value in (-1, 8, 5000, 2**32, BIG)
]
for kind in ("csr", "csc", "bsr"):
    pointers, indices = parts(kind)["indptr"], parts(kind)["indices"]
    BAD += [
        (kind, {"indptr": changed(pointers, 1, 10**6)}, "indptr has entries from"),
        (kind, {"indptr": changed(pointers, 1, -3)}, "indptr has entries from"),
        (kind, {"indptr": changed(pointers, -1, 0)}, "indptr does not rise from 0"),
        (kind, {"indptr": changed(pointers, 0, 1)}, "indptr does not rise from 0"),
        (kind, {"indptr": pointers[:-1]}, "indptr has"),
        (kind, {"indptr": pointers.astype(float)}, "indptr is no row of whole numbers"),
        (kind, {"indptr": pointers[:, None]}, "indptr is no row of whole numbers"),
        (kind, {"indices": indices[:-1]}, "indices has"),
        (kind, {"indices": indices.astype(np.uint64) - np.uint64(9)}, "indices has entries from"),
    ]
BAD += [
    ("csr", {"data": MATRIX.data[:, None]}, "data has 2 dimensions where 1 are needed"),
    ("csr", {"data": MATRIX.data.astype(complex)}, "its numbers have type complex128"),
    ("csr", {"shape": np.array([-6, 8])}, "its shape is [-6, 8]"),
    ("csr", {"shape": np.array([6.0, 8.0])}, "its shape is [6.0, 8.0]"),
    ("csr", {"shape": np.array([6, 8, 1])}, "its shape is [6, 8, 1]"),
    ("csr", {"shape": np.array(48)}, "its shape is 48"),
    ("bsr", {"data": np.ones((3, 4, 2))}, "blocks of 4 x 2 do not fill 6 x 8"),
    ("bsr", {"data": np.ones((3, 0, 2))}, "blocks of 0 x 2 do not fill 6 x 8"),
    ("bsr", {"data": np.ones(3)}, "data has 1 dimensions where 3 are needed"),
    ("coo", {"row": changed(parts("coo")["row"], 2, 6)}, "row has entries from 0 to 6, outside of 0 to 5"),
    ("coo", {"row": changed(parts("coo")["row"], 2, -1)}, "row has entries from -1 to 5, outside of 0 to 5"),
    ("coo", {"col": changed(parts("coo")["col"], 2, 2**32)}, "col has entries from 0 to 4294967296"),
    ("coo", {"col": parts("coo")["col"][1:]}, "col has 18 entries where 19 are needed"),
    ("dia", {"offsets": np.zeros(len(parts("dia")["offsets"]), int)}, "offsets names a diagonal twice"),
    ("dia", {"offsets": parts("dia")["offsets"][1:]}, "offsets is no row of whole numbers, one for every diagonal"),
    ("csr", {"indices": None}, "it has no array 'indices'"),
    ("csr", {"format": np.array(b"lil")}, "is a sparse matrix of the form 'lil'; use one of csr"),
    ("csr", {"format": np.array([b"csr", b"csr"])}, "is a sparse matrix of the form ''"),
    ("csr", {"indices": np.array([None] * 19)}, "indices of"),
]


@pytest.mark.parametrize(("kind", "changes", "message"), BAD)
def test_what_is_not_sound_is_refused(tmp_path, monkeypatch, kind, changes, message):
    arrays = {key: value for key, value in (parts(kind) | changes).items() if value is not None}
    np.savez(tmp_path / "t.npz", **arrays)
    for name in ("csr_matrix", "csc_matrix", "bsr_matrix", "coo_matrix", "dia_matrix"):
        monkeypatch.setattr(sparse, name, lambda *_, **__: pytest.fail("it reached SciPy"))
    with pytest.raises(ValueError, match=f"t.npz.*{re.escape(message)}|{re.escape(message)}.*t.npz"):
        read_table(tmp_path / "t.npz")


def test_the_command_survives(tmp_path):
    """This file made 3 of 5 runs end with a segmentation fault."""
    arrays: dict[str, Any] = {"format": np.array(b"csc"), "shape": np.array([2, 2]), "data": np.ones(2)}
    np.savez(tmp_path / "t.npz", **arrays, indptr=np.array([0, 1, 2]), indices=np.array([0, 5000], dtype=np.int32))
    command = [sys.executable, "-m", "ewnmf", "fit", str(tmp_path / "t.npz"), "-k", "2", "-o", str(tmp_path / "o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "indices has entries from 0 to 5000, outside of 0 to 1" in done.stderr
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("shape", [(1, BIG), (BIG, 1), (10**12, 10**12)])
@pytest.mark.parametrize("kind", ["coo", "dia"])
def test_a_shape_that_fits_into_no_memory(tmp_path, monkeypatch, shape, kind):
    monkeypatch.setattr(source, "available_memory", lambda: 8 * 10**9)
    places: dict[str, Any] = {"offsets": [0]} if kind == "dia" else {"row": [0], "col": [0]}
    data = np.ones((1, 1)) if kind == "dia" else np.ones(1)
    np.savez(tmp_path / "t.npz", format=kind.encode(), shape=shape, data=data, **places)
    with pytest.raises(ValueError, match="GB of memory, and 8 GB are free"):
        read_table(tmp_path / "t.npz")


def matlab_file(path: Any, place: int, value: int) -> None:
    """A MATLAB file of a sparse matrix (6 x 8) with one other row index."""
    scipy_io.savemat(path, {"X": MATRIX.tocsc()}, do_compression=False)
    content = path.read_bytes()
    indices = MATRIX.tocsc().indices.astype("<i4")
    at = content.index(indices.tobytes()) + 4 * place
    path.write_bytes(content[:at] + np.array(value, "<i4").tobytes() + content[at + 4 :])


@pytest.mark.parametrize("value", [-1, 6, 5000, 2**31 - 1])
def test_a_matlab_file_with_a_wrong_index(tmp_path, value):
    matlab_file(tmp_path / "t.mat", 3, value)
    with pytest.raises(
        ValueError, match=r"X of .*t.mat is no sound sparse matrix|brings the reader of MATLAB files down"
    ):
        read_table(tmp_path / "t.mat")


def test_a_matlab_file_that_needs_more_memory_than_is_free(tmp_path, monkeypatch):
    """The id variable, whose size nothing but its content tells, is larger than what the reader may take."""
    scipy_io.savemat(
        tmp_path / "t.mat", {"X": np.ones((3, 2)), "huge": np.zeros((1, 10**8), np.uint8)}, do_compression=True
    )
    monkeypatch.setattr(matlab, "available_memory", lambda: 30 * 10**6)
    with pytest.raises(ValueError, match=r"t.mat needs more memory than is free"):
        read_table(tmp_path / "t.mat", Layout(variable="X", id="huge"))


@pytest.mark.parametrize("sizes", ["2 1000000000 1", "1000000000 2 1", "2 2 1000000000"])
def test_a_short_file_of_a_large_matrix(tmp_path, monkeypatch, sizes):
    monkeypatch.setattr(source, "available_memory", lambda: 7 * 10**9)
    path = tmp_path / "t.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{sizes}\n1 1 1\n")
    with pytest.raises(ValueError, match=r"t.mtx needs about .* GB of memory, and 7 GB are free"):
        read_table(path)


def test_rows_that_are_not_announced_are_not_read(tmp_path, monkeypatch):
    rows = []
    real = np.loadtxt

    def noted(lines: Any) -> Any:
        for line in lines:
            rows.append(line)
            yield line

    def counted(lines: Any, **options: Any) -> Any:
        return real(noted(lines), **options)

    monkeypatch.setattr(np, "loadtxt", counted)
    content = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n" + b"1 1 1\n" * 10**5
    (tmp_path / "t.mtx.gz").write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match="has more than 1 rows of 3 numbers, but 1 rows of 3 are announced"):
        read_table(tmp_path / "t.mtx.gz")
    assert len(rows) < 10


@pytest.mark.parametrize("head", [b"", b"2 2 1\n"])
def test_a_row_without_end_is_refused(tmp_path, head):
    content = b"%%MatrixMarket matrix coordinate real general\n" + head + b"1" * (1 << 21)
    (tmp_path / "t.mtx.gz").write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match="has a row of more than 1048576 characters; it is damaged"):
        read_table(tmp_path / "t.mtx.gz")


def test_the_limit_of_the_matlab_reader_may_be_unknown():
    matlab_child._limit(None)


@pytest.mark.parametrize("shape", [(4 * 10**6, 2), (2, 4 * 10**6)])
def test_rows_without_entries_take_the_memory_that_is_stated(tmp_path, monkeypatch, shape):
    """What reading allocates for them is below what is stated for them."""
    np.savez(tmp_path / "t.npz", format=b"coo", shape=shape, data=[1.0], row=[0], col=[0])
    stated: list[float] = []
    monkeypatch.setattr(sparse_parts, "check_memory", lambda name, needed, remedy: stated.append(needed))
    tracemalloc.start()
    try:
        read_table(tmp_path / "t.npz", Layout(transpose=shape[0] == 2))
        assert tracemalloc.get_traced_memory()[1] < stated[0] < 50 * 10**6 * 4
    finally:
        tracemalloc.stop()
