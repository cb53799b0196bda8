"""The data folder, the addresses, and what is said where something is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import pytest

from ewnmf.datasets import _files, fetch_caltech101, fetch_gtfd, fetch_tdt2, fetch_yale
from ewnmf.datasets._sources import CALTECH101, GTFD, TDT2, UMIST, YALE


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("fetch", "files"),
    [
        (fetch_yale, "yale.npz into {}, or Yale_32x32.mat as"),
        (fetch_tdt2, "tdt2_X.npz and tdt2_y.npy into {}, or TDT2.mat as"),
        (
            fetch_caltech101,
            "caltech101.npz into {}, or caltech-101.zip or 101_ObjectCategories.tar.gz or 101_ObjectCategories as",
        ),
    ],
)
def test_missing_and_not_to_be_downloaded(tmp_path, fetch, files):
    with pytest.raises(FileNotFoundError, match="not found and download_if_missing is False") as refusal:
        fetch(data_home=tmp_path / "none", download_if_missing=False)
    assert f"put {files.format(tmp_path / 'none')} published at https://" in str(refusal.value)
    assert names(tmp_path) == []


def test_the_folder_is_the_argument_then_the_environment_then_the_cache(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setenv("EWNMF_DATA", str(tmp_path / "environment"))
    assert _files.data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert _files.data_folder(None) == tmp_path / "environment"
    monkeypatch.setenv("EWNMF_DATA", "")
    assert _files.data_folder(None) == tmp_path / "cache" / "ewnmf"
    assert _files.data_folder("~/here") == Path.home() / "here"


def test_a_folder_that_is_no_path_is_refused():
    with pytest.raises(TypeError, match="data_home=3 must be the path of a folder"):
        _files.data_folder(cast(Any, 3))


def test_a_foreign_picture_folder_is_refused(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "101_ObjectCategories" / "Faces").mkdir(parents=True)
    image.new("RGB", (40, 40)).save(tmp_path / "101_ObjectCategories" / "Faces" / "image_0001.jpg")
    with pytest.raises(OSError, match=r"101_ObjectCategories is refused: converted to caltech101\.npz"):
        fetch_caltech101(data_home=tmp_path)
    assert not (tmp_path / "caltech101.npz").exists()


def test_without_pillow_nothing_is_downloaded_for_it(monkeypatch, tmp_path):
    pytest.importorskip("pooch")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"Converting GT\.mat needs Pillow"):
        fetch_gtfd(data_home=tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("source", [YALE, UMIST, GTFD, TDT2], ids=lambda source: next(iter(source.raw)))
def test_addresses_are_pinned_to_a_commit(source):
    name, sha256 = next(iter(source.raw.items()))
    owner, repository, commit, *path = source.url.removeprefix("https://raw.githubusercontent.com/").split("/")
    assert len(commit) == 40
    assert int(commit, 16) > 0
    assert path[-1] == name
    assert len(sha256) == 64
    assert f"{owner}/{repository}" in source.descr
    assert commit[:12] in source.descr


def test_the_archive_is_the_first_of_caltech101s_files():
    assert CALTECH101.url.endswith("/" + next(iter(CALTECH101.raw)))
