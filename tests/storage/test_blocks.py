"""Points in files: the fits of memory to the bit, whatever the file, and a sentence for what cannot be read."""

from __future__ import annotations

import errno
import gc
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.io.rows import rows_of
from ewnmf.io.source import Unreadable
from ewnmf.storage import blocks as blocks_module
from ewnmf.storage import files
from ewnmf.storage.blocks import Blocks

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")

SUFFIXES = (".npy", ".h5", ".zarr", ".parquet")
QUICK: dict[str, Any] = {"max_iter": 6, "tol": 0, "random_state": 0}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of few points, and codes in files."""
    monkeypatch.setattr("ewnmf.storage.dense._BLOCK_ENTRIES", 16 * 16)
    monkeypatch.setattr("ewnmf.storage.dense._HIGH_ENTRIES", 64 * 12)
    monkeypatch.setattr(files, "_IN_MEMORY", 0)


@pytest.fixture(scope="module")
def X() -> Any:
    rng = np.random.default_rng(0)
    X = rng.random((400, 3)) @ rng.random((3, 12))
    X[rng.random(X.shape) < 0.02] = 3
    return X


@pytest.fixture
def path(X: Any, tmp_path: Path) -> Path:
    np.save(tmp_path / "X.npy", X)
    return tmp_path / "X.npy"


def _same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_array_equal(one.loss_curve_, other.loss_curve_)
    assert (one.gamma_, one.n_iter_, one.stop_reason_) == (other.gamma_, other.n_iter_, other.stop_reason_)


class TestBlocks:
    def test_rows_are_those_of_the_array(self, X: Any, path: Path) -> None:
        blocks = ewnmf.open_blocks(path)
        assert (blocks.shape, len(blocks), blocks.ndim) == (X.shape, 400, 2)
        assert (blocks.dtype, blocks.nbytes) == (X.dtype, X.nbytes)
        assert len(list(blocks)) == blocks.n_blocks == 7
        for rows in (
            slice(3, 150),
            slice(None),
            slice(390, 999),
            slice(0, 50, 7),
            slice(5, 2),
            np.array([399, 0, 7, 7]),
        ):
            np.testing.assert_array_equal(blocks[rows], X[rows])
        np.testing.assert_array_equal(blocks, X)
        np.testing.assert_array_equal(blocks[X[:, 0] > 1], X[X[:, 0] > 1])
        assert blocks[np.ones(400, dtype=bool)] is blocks
        assert (blocks.min(), blocks.max()) == (X.min(), X.max())
        np.testing.assert_array_equal(blocks * 3, X * 3)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(blocks)), X)
        assert repr(blocks).startswith("Blocks(400 x 12, float64, 7 of them, of ")

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_what_is_saved_is_read_again(self, suffix: str, dtype: Any, X: Any, tmp_path: Path) -> None:
        np.save(tmp_path / "X.npy", X.astype(dtype))
        ewnmf.open_blocks(tmp_path / "X.npy").save(tmp_path / f"Y{suffix}")
        again = ewnmf.open_blocks(tmp_path / f"Y{suffix}")
        assert again.dtype == dtype
        np.testing.assert_array_equal(again, X.astype(dtype))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(again))[60:70], X.astype(dtype)[60:70])
        assert not [name for name in os.listdir(tmp_path) if "unfinished" in name]

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_other_numbers_become_double(self, order: Any, tmp_path: Path) -> None:
        X = np.asarray(np.arange(60).reshape(20, 3), order=order)
        np.save(tmp_path / "X.npy", X)
        blocks = ewnmf.open_blocks(tmp_path / "X.npy")
        assert blocks.dtype == np.float64
        np.testing.assert_array_equal(blocks, X)


class TestFit:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_a_fit_of_a_file_has_the_bits_of_memory(self, suffix: str, X: Any, path: Path, tmp_path: Path) -> None:
        ewnmf.open_blocks(path).save(tmp_path / f"Y{suffix}")
        model, blocks = ewnmf.EWNMF(3, gamma=0.1, **QUICK), ewnmf.open_blocks(tmp_path / f"Y{suffix}")
        memory = model.fit(X)
        _same(ewnmf.EWNMF(3, gamma=0.1, n_jobs=2, **QUICK).fit(blocks), memory)
        _same(ewnmf.EWNMF(3, gamma=0.1, n_jobs=1, **QUICK).fit(blocks), memory)

    @pytest.mark.parametrize(
        "model",
        [
            ewnmf.NMF(3, **QUICK),
            ewnmf.NMF(3, loss="kullback-leibler", **QUICK),
            ewnmf.EWNMF(3, gamma="auto", **QUICK),
            ewnmf.EWNMF(3, gamma="self-tuned", n_init=2, **QUICK),
            ewnmf.EWNMF(3, gamma=0.1, solver="accelerated", **QUICK),
            ewnmf.EWNMF(3, gamma=0.1, feature_weight=np.arange(1.0, 13), **QUICK),
            ewnmf.SemiNMF(3, weighting="entropy", gamma=0.1, **QUICK),
            ewnmf.ConvexNMF(3, weighting="entropy", gamma=0.1, **QUICK),
            ewnmf.ONMF(3, **QUICK),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_every_estimator(self, model: Any, X: Any, path: Path) -> None:
        other = ewnmf.open_blocks(path)
        s = np.linspace(0, 2, 400)
        _same(type(model)(**model.get_params()).fit(X), type(model)(**model.get_params()).fit(other))
        _same(
            type(model)(**model.get_params()).fit(X, sample_weight=s),
            type(model)(**model.get_params()).fit(other, sample_weight=s),
        )

    def test_another_unit_is_multiplied_by_blocks(self, X: Any, tmp_path: Path) -> None:
        np.save(tmp_path / "X.npy", X * 2.0**60)
        one = ewnmf.EWNMF(3, gamma="2x", **QUICK).fit(X * 2.0**60)
        _same(one, ewnmf.EWNMF(3, gamma="2x", **QUICK).fit(ewnmf.open_blocks(tmp_path / "X.npy")))

    def test_what_is_said_of_new_points(self, X: Any, path: Path, tmp_path: Path) -> None:
        blocks = ewnmf.open_blocks(path)
        model = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(blocks)
        for method in ("transform", "weights", "trust", "repair"):
            found = getattr(model, method)(blocks)
            assert isinstance(found, Blocks)
            np.testing.assert_array_equal(found, getattr(model, method)(X), err_msg=method)
        model.weights(blocks).save(tmp_path / "W.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "W.npy"), model.weights(X))
        assert model.score(blocks) == pytest.approx(model.score(X), rel=1e-12)
        np.testing.assert_array_equal(ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit_transform(blocks), model.transform(X))
        codes = model.transform(blocks)
        model.fit(X[:, :5])
        np.testing.assert_array_equal(codes[:9], codes[:9])  # by the model as it was when it was asked

    def test_fixed_weights_may_lie_beside_a_file(self, X: Any, path: Path) -> None:
        A = np.random.default_rng(1).random(X.shape)
        one, other = (ewnmf.NMF(3, weighting="fixed", **QUICK).fit(x, weights=A) for x in (X, ewnmf.open_blocks(path)))
        _same(one, other)

    def test_arrays_of_other_libraries(self, X: Any, path: Path, tmp_path: Path) -> None:
        memory = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(X)
        _same(memory, ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(zarr.array(X, chunks=(70, 5))))
        with h5py.File(tmp_path / "X.h5", "w") as file:
            _same(memory, ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(file.create_dataset("a/b", data=X)))


class TestMapped:
    def test_a_large_one_is_never_copied(self, X: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blocks_module, "_MAPPED", 0)
        mapped = np.load(path, mmap_mode="r")
        _same(ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(X), ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(mapped))
        longest: list[int] = []
        read = Blocks._read

        def counting(self: Blocks, start: int, stop: int) -> Any:
            longest.append(stop - start)
            return read(self, start, stop)

        monkeypatch.setattr(Blocks, "_read", counting)
        ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(mapped)
        assert max(longest) == 64

    def test_gaps_and_masks(self, X: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blocks_module, "_MAPPED", 0)
        gaps = np.where(X > 2.9, np.nan, X)
        np.save(tmp_path / "X.npy", gaps)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        _same(ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(gaps), ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(mapped))
        np.save(tmp_path / "Y.npy", X)
        whole, mask = np.load(tmp_path / "Y.npy", mmap_mode="r"), X < 2.9
        model = ewnmf.EWNMF(3, gamma=0.1, **QUICK)
        np.testing.assert_array_equal(model.fit(whole, mask=mask).components_, model.fit(X, mask=mask).components_)
        np.testing.assert_array_equal(model.weights(whole, mask=mask)[:64], model.weights(X[:64], mask=mask[:64]))

    def test_a_small_one_is_as_good_as_in_memory(self, path: Path) -> None:
        assert blocks_module.blocks_of(np.load(path, mmap_mode="r")) is None
        assert rows_of([1, 2]) is None


class TestCodes:
    def test_large_ones_are_in_files_that_go(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        H = files.room((3, 50), np.float32, "F")
        assert isinstance(H, np.memmap)
        assert H.flags.f_contiguous
        assert os.listdir(tmp_path) == []
        H[:] = 7
        assert H.sum() == 1050
        del H
        gc.collect()

    def test_a_full_disk(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*args: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match=r"Codes of 400 x 3 numbers need .* GB in .* GB are free; set TMPDIR"):
            ewnmf.NMF(3, **QUICK).fit(ewnmf.open_blocks(path))


class TestRefusals:
    @pytest.mark.parametrize(
        ("value", "words"),
        [(np.inf, r"X contains infinity \(inf\)"), (-1.0, "Negative values in data")],
    )
    def test_bad_values_are_named_by_their_place(self, value: float, words: str, X: Any, tmp_path: Path) -> None:
        bad = X.copy()
        bad[389, 7] = value
        np.save(tmp_path / "X.npy", bad)
        with pytest.raises(ValueError, match=rf"{words}.*\(the first in block 6, row 389, column 7 of .*X\.npy\)"):
            ewnmf.EWNMF(3, gamma=0.1).fit(ewnmf.open_blocks(tmp_path / "X.npy"))

    def test_zeros_where_a_loss_takes_none(self, X: Any, tmp_path: Path) -> None:
        bad = X.copy()
        bad[70, 0] = 0
        np.save(tmp_path / "X.npy", bad)
        with pytest.raises(ValueError, match=r"X has zeros \(the first in block 1, row 70, column 0"):
            ewnmf.NMF(3, loss="alpha", alpha=-0.5).fit(ewnmf.open_blocks(tmp_path / "X.npy"))

    def test_a_file_that_shrinks(self, path: Path) -> None:
        blocks = ewnmf.open_blocks(path)
        os.truncate(path, os.path.getsize(path) // 2)
        with pytest.raises(Unreadable, match=r"X\.npy could not be read at rows .*it ends before row .*still there"):
            ewnmf.NMF(3).fit(blocks)
        with pytest.raises(Unreadable, match=r"announces 400 x 12 numbers, 38400 bytes, but has 1\d+; it is damaged"):
            ewnmf.open_blocks(path)

    @pytest.mark.parametrize("suffix", [".zarr", ".parquet"])
    def test_a_file_that_disappears(self, suffix: str, path: Path, tmp_path: Path) -> None:
        file = tmp_path / f"Y{suffix}"
        ewnmf.open_blocks(path).save(file)
        blocks, moved = ewnmf.open_blocks(file), tmp_path / f"Z{suffix}"
        assert blocks.max() == 3
        file.rename(moved)
        with pytest.raises(ValueError, match=rf"Y\{suffix} could not be read at rows 0 to \d+.*still there and whole"):
            ewnmf.NMF(3).fit(blocks)

    @pytest.mark.parametrize("layout", [{"zarr_format": 2}, {}, {"shards": (80, 12)}], ids=str)
    def test_chunks_of_zarr_that_are_not_there(self, layout: Any, X: Any, tmp_path: Path) -> None:
        file = tmp_path / "Y.zarr"
        array = zarr.create_array(str(file), shape=X.shape, dtype=X.dtype, chunks=(40, 6), **layout)
        array[:160] = X[:160]
        array[240:] = X[240:]
        with pytest.raises(Unreadable, match=r"at rows \d+ to \d+: its chunk \S+ was never written, or is gone"):
            ewnmf.NMF(3).fit(ewnmf.open_blocks(file))
        with pytest.raises(Unreadable, match="was never written"):
            ewnmf.NMF(3).fit(array)
        filled = np.asarray(ewnmf.open_blocks(file, fill_chunks=True))
        np.testing.assert_array_equal(filled, np.concatenate([X[:160], np.zeros((80, 12)), X[240:]]))
        array[160:240] = X[160:240]
        blocks = ewnmf.open_blocks(file)
        np.testing.assert_array_equal(blocks, X)

    def test_an_address_of_an_object_storage(self, X: Any) -> None:
        fsspec = pytest.importorskip("fsspec")
        address = "memory://bucket/X.zarr"
        zarr.create_array(address, shape=X.shape, dtype=X.dtype, chunks=(80, 12), overwrite=True)[:] = X
        np.testing.assert_array_equal(ewnmf.open_blocks(address), X)
        fsspec.filesystem("memory").rm("/bucket/X.zarr/c/2/0")
        with pytest.raises(
            Unreadable, match=r"memory://bucket/X\.zarr could not be read at rows .* chunk c/2/0 was never"
        ):
            np.asarray(ewnmf.open_blocks(address))

    def test_zeros_are_written_as_chunks(self, tmp_path: Path) -> None:
        np.save(tmp_path / "X.npy", np.zeros((200, 12)))
        ewnmf.open_blocks(tmp_path / "X.npy").save(tmp_path / "X.zarr")
        assert ewnmf.open_blocks(tmp_path / "X.zarr").max() == 0

    def test_what_cannot_be_opened(self, X: Any, path: Path, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"none\.npy does not exist"):
            ewnmf.open_blocks(tmp_path / "none.npy")
        with pytest.raises(Unreadable, match=r"use one of \.npy, \.h5"):
            ewnmf.open_blocks(tmp_path / "X.csv")
        with pytest.raises(Unreadable, match="columns was given"):
            ewnmf.open_blocks(path, columns=["a"])
        with pytest.raises(Unreadable, match="holds one matrix"):
            ewnmf.open_blocks(path, name="a")
        for name, value, words in (
            ("one", np.ones(3), "has 1 dimension"),
            ("text", np.array([["a"]]), "of type <U1, and numbers are needed"),
            ("none", np.ones((0, 3)), "is empty: it has 0 rows"),
        ):
            np.save(tmp_path / f"{name}.npy", value)
            with pytest.raises(Unreadable, match=words):
                ewnmf.open_blocks(tmp_path / f"{name}.npy")
        (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
        (tmp_path / "bad.h5").write_bytes(b"nothing")
        for name in ("bad.parquet", "bad.h5"):
            with pytest.raises(Unreadable, match="cannot be read as"):
                ewnmf.open_blocks(tmp_path / name)
        with pytest.raises(ValueError, match="suffix that is not written"):
            ewnmf.open_blocks(path).save(tmp_path / "X.csv")

    def test_which_of_several_matrices(self, X: Any, tmp_path: Path) -> None:
        with h5py.File(tmp_path / "X.h5", "w") as file:
            file["a"], file["deep/b"], file["v"] = X, X + 1, X[0]
        with pytest.raises(Unreadable, match=r"holds 2 matrices \(a, deep/b\); say which with name="):
            ewnmf.open_blocks(tmp_path / "X.h5")
        with pytest.raises(Unreadable, match=r"no matrix named 'c'; it has a, deep/b"):
            ewnmf.open_blocks(tmp_path / "X.h5", name="c")
        np.testing.assert_array_equal(ewnmf.open_blocks(tmp_path / "X.h5", name="deep/b"), X + 1)
        group = zarr.open_group(tmp_path / "X.zarr", mode="w")
        with pytest.raises(Unreadable, match="holds no matrix"):
            ewnmf.open_blocks(tmp_path / "X.zarr")
        group.create_array("a", shape=X.shape, dtype=X.dtype)[:] = X
        np.testing.assert_array_equal(ewnmf.open_blocks(tmp_path / "X.zarr"), X)

    def test_columns_of_parquet(self, X: Any, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        table = pa.table({"a": X[:, 0], "b": X[:, 1].astype(np.float32), "c": ["x"] * 400, "d": [1, None] * 200})
        parquet.write_table(table, tmp_path / "X.parquet", row_group_size=90)
        with pytest.raises(Unreadable, match=r"the column 'c' of type string.*columns=\[\.\.\.\]"):
            ewnmf.open_blocks(tmp_path / "X.parquet")
        with pytest.raises(Unreadable, match="no column 'z'; it has a, b, c, d"):
            ewnmf.open_blocks(tmp_path / "X.parquet", columns=["z"])
        blocks = ewnmf.open_blocks(tmp_path / "X.parquet", columns=["d", "a"])
        assert blocks.features == ("d", "a")
        assert np.isnan(blocks[:][1::2, 0]).all()
        np.testing.assert_array_equal(np.asarray(blocks)[:, 1], X[:, 0])

    def test_a_missing_library(self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "X.h5").write_bytes(b"")
        monkeypatch.setattr("ewnmf.io.source.find_spec", lambda name: None)
        with pytest.raises(ModuleNotFoundError, match=r"needs h5py, which is not installed.*'ewnmf\[scale"):
            ewnmf.open_blocks(tmp_path / "X.h5")

    def test_what_needs_all_points(self, X: Any, path: Path) -> None:
        blocks = ewnmf.open_blocks(path)
        with pytest.raises(ValueError, match=r"init='nndsvd' needs all of X in memory"):
            ewnmf.NMF(3, init="nndsvd").fit(blocks)
        with pytest.raises(ValueError, match=r"n_components='cv' hides entries.*select_rank\(X\[:10000\]\)"):
            ewnmf.NMF("cv").fit(blocks)
        model = ewnmf.NMF(3, **QUICK).fit(X)
        with pytest.raises(ValueError, match=r"Negative values in .* \(Among rows 0 to 63 of .*X\.npy\.\)"):
            np.asarray(model.transform(blocks.map(lambda rows: np.where(rows > 2.9, -1, rows), 12, X.dtype, "X.npy")))
        with pytest.raises(ValueError, match=r"weights was given, but .* is read by blocks"):
            model.transform(blocks, weights=X)
        with pytest.raises(TypeError, match=r"X is read by blocks .*give some of it: X\[:1000\]"):
            model.suspects(blocks)
        with pytest.raises(ValueError, match="X has 5 features, but NMF is expecting 12"):
            model.transform(blocks.map(lambda rows: rows[:, :5], 5, X.dtype, "part"))
