"""The paper's data sets from the real files, where they are present."""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from ewnmf import datasets
from ewnmf.datasets._sources import CALTECH101, GTFD, TDT2, UMIST, YALE

SOURCES = {"yale": YALE, "umist": UMIST, "gtfd": GTFD, "caltech101": CALTECH101, "tdt2": TDT2}
TABLE_1 = {
    "yale": (165, 1024, 15),
    "umist": (1012, 1024, 20),
    "gtfd": (750, 1024, 50),
    "caltech101": (9144, 1024, 102),
    "tdt2": (9394, 36771, 30),
}


def fetcher(name):
    return getattr(datasets, f"fetch_{name}")


def state(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*"))


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def no_pooch(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.usefixtures("no_network", "no_pooch")
def test_present_files_need_neither_network_nor_pooch_and_are_left_alone(data, name, monkeypatch):
    monkeypatch.setenv("EWNMF_DATA", str(data))
    before = state(data)
    bunch = fetcher(name)()
    n, m, classes = TABLE_1[name]
    assert bunch.data.shape == (n, m)
    assert bunch.data.dtype == np.uint8
    assert bunch.target.dtype == np.int64
    assert np.unique(bunch.target).tolist() == list(range(classes))
    assert f"{n} points, {m} dimensions" in bunch.DESCR
    assert "Source: " in bunch.DESCR
    assert "Terms: " in bunch.DESCR
    assert state(data) == before


@pytest.mark.parametrize("name", ["yale", "umist", "gtfd", "caltech101"])
def test_images_are_the_points(data, name):
    bunch = fetcher(name)(data_home=data, download_if_missing=False)
    assert bunch.images.shape == (len(bunch.data), 32, 32)
    np.testing.assert_array_equal(bunch.images.reshape(len(bunch.data), -1), bunch.data)
    assert ("target_names" in bunch) == (name == "caltech101")


def test_caltech101_starts_with_the_background(data):
    bunch = datasets.fetch_caltech101(data_home=data)
    assert len(bunch.target_names) == 102
    assert bunch.target_names[0] == "BACKGROUND_Google"
    assert np.count_nonzero(bunch.target == 0) == 467


def test_tdt2_is_sparse(data):
    bunch = datasets.fetch_tdt2(data_home=data)
    assert sparse.issparse(bunch.data)
    assert bunch.data.format == "csr"
    assert bunch.vocabulary_size == 36771
    assert (bunch.data != sparse.load_npz(data / "tdt2_X.npz")).nnz == 0


@pytest.mark.parametrize("name", SOURCES)
def test_return_x_y(data, name):
    bunch = fetcher(name)(data_home=str(data))
    points, target = fetcher(name)(data_home=str(data), return_X_y=True)
    np.testing.assert_array_equal(target, bunch.target)
    assert (points != bunch.data).sum() == 0


@pytest.mark.parametrize("name", ["yale", "umist", "gtfd", "tdt2"])
@pytest.mark.parametrize("below", ["", "raw"])
@pytest.mark.usefixtures("no_network", "no_pooch")
def test_the_published_file_is_converted_and_kept(data, tmp_path, name, below):
    source = SOURCES[name]
    raw = next(iter(source.raw))
    (tmp_path / below).mkdir(exist_ok=True)
    shutil.copy(data / "raw" / raw, tmp_path / below / raw)
    made = fetcher(name)(data_home=tmp_path)
    kept = [file.name for file in source.converted]
    assert names(tmp_path) == sorted([*kept, *filter(None, [below]), (Path(below) / raw).as_posix()])
    (tmp_path / below / raw).unlink()
    again = fetcher(name)(data_home=tmp_path, download_if_missing=False)
    original = fetcher(name)(data_home=data)
    for bunch in (made, again):
        assert (bunch.data != original.data).sum() == 0
        np.testing.assert_array_equal(bunch.target, original.target)


def test_of_two_files_only_the_missing_one_is_made(data, tmp_path):
    shutil.copy(data / "raw" / "TDT2.mat", tmp_path)
    shutil.copyfile(data / "tdt2_X.npz", tmp_path / "tdt2_X.npz")
    before = (tmp_path / "tdt2_X.npz").stat().st_mtime_ns
    datasets.fetch_tdt2(data_home=tmp_path)
    assert names(tmp_path) == ["TDT2.mat", "tdt2_X.npz", "tdt2_y.npy"]
    assert (tmp_path / "tdt2_X.npz").stat().st_mtime_ns == before
