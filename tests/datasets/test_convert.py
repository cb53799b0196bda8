"""From published files to arrays, on the real files where they are present and on small ones made here."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from ewnmf.datasets._convert import _resized
from ewnmf.datasets._files import arrays_sha256
from ewnmf.datasets._sources import CALTECH101, GTFD, TDT2, UMIST, YALE

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

FOLDER_NAMES = ["BACKGROUND_Google", "Faces", "accordion", "yin_yang"]


@pytest.mark.parametrize("source", [YALE, UMIST, GTFD, TDT2], ids=lambda source: next(iter(source.raw)))
def test_the_published_file_gives_exactly_the_arrays_beside_it(data, source):
    made = source.convert(data / "raw" / next(iter(source.raw)))
    assert list(made) == [file.name for file in source.converted]
    for file in source.converted:
        kept = np.load(data / file.name, allow_pickle=False)
        kept = {"y": kept} if isinstance(kept, np.ndarray) else dict(kept)
        assert made[file.name].keys() == kept.keys()
        for name, array in kept.items():
            assert made[file.name][name].dtype == array.dtype
            np.testing.assert_array_equal(made[file.name][name], array)
        assert arrays_sha256(made[file.name], file.arrays) == file.sha256


@pytest.mark.parametrize("name", ["yale.npz", "gtfd.npz"])
def test_the_faces_are_upright(data, name):
    """The mean face is far more like its left-right mirror image than like the one upside down."""
    face = np.load(data / name)["X"].reshape(-1, 32, 32).mean(axis=0)
    left_right, upside_down = (np.abs(face - np.flip(face, axis)).mean() for axis in (1, 0))
    assert 2 * left_right < upside_down


def picture(seed: int, size: tuple[int, int] = (60, 45), mode: str = "RGB") -> bytes:
    """A JPG of smooth noise, as bytes."""
    rng = np.random.default_rng(seed)
    shape = (6, 8, 3) if mode == "RGB" else (6, 8)
    image = Image.fromarray(rng.integers(0, 256, size=shape, dtype=np.uint8)).resize(size)
    stream = io.BytesIO()
    image.save(stream, format="JPEG")
    return stream.getvalue()


@pytest.fixture(scope="module")
def pictures() -> dict[str, bytes]:
    """Path below 101_ObjectCategories and content, in no particular order, one of them grey."""
    contents = {
        f"{folder}/image_{i:04d}.jpg": picture(10 * f + i, mode="L" if f == i == 1 else "RGB")
        for f, folder in enumerate(FOLDER_NAMES)
        for i in (2, 1)
    }
    return dict(reversed(contents.items()))


def expected(pictures: dict[str, bytes]) -> dict[str, np.ndarray]:
    names = sorted(pictures)
    grey = [Image.open(io.BytesIO(pictures[name])).convert("L") for name in names]
    pixels = [np.asarray(image.resize((32, 32), Image.Resampling.BICUBIC)).ravel() for image in grey]
    return {
        "X": np.array(pixels),
        "y": np.array([FOLDER_NAMES.index(name.split("/")[0]) for name in names], dtype=np.int16),
        "shape": np.array([32, 32]),
        "names": np.array(FOLDER_NAMES),
    }


def as_folder(pictures: dict[str, bytes], parent: Path) -> Path:
    root = parent / "101_ObjectCategories"
    for name, content in pictures.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def as_tar(pictures: dict[str, bytes], parent: Path, prefix: str = "101_ObjectCategories/") -> Path:
    path = parent / "101_ObjectCategories.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in pictures.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def as_zip(pictures: dict[str, bytes], parent: Path) -> Path:
    path = parent / "caltech-101.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("caltech-101/show_annotation.m", "not needed")
        archive.write(as_tar(pictures, parent), "caltech-101/101_ObjectCategories.tar.gz")
    return path


@pytest.mark.parametrize("form", [as_folder, as_tar, as_zip])
def test_pictures_become_sorted_grey_points(pictures, tmp_path, form):
    made = CALTECH101.convert(form(pictures, tmp_path))
    assert list(made) == ["caltech101.npz"]
    for name, array in expected(pictures).items():
        assert made["caltech101.npz"][name].dtype == array.dtype
        np.testing.assert_array_equal(made["caltech101.npz"][name], array)
    assert set(CALTECH101.converted[0].arrays) == set(made["caltech101.npz"])


@pytest.mark.parametrize("size", [(30, 40), (40, 49), (80, 300), (20, 33)])
def test_tall_pictures_shrink_vertically_first_whatever_the_version_of_pillow(size):
    """Every version starts with the width of a wide picture, so turning it tells what a tall one must become."""
    image = Image.open(io.BytesIO(picture(0, size, mode="L")))
    turned = image.transpose(Image.Transpose.TRANSPOSE).resize((32, 32), Image.Resampling.BICUBIC)
    np.testing.assert_array_equal(_resized(Image, image), np.asarray(turned).T)


@pytest.mark.parametrize("size", [(40, 30), (40, 48), (300, 200), (200, 300), (20, 32), (32, 32)])
def test_other_pictures_shrink_as_pillow_does(size):
    image = Image.open(io.BytesIO(picture(0, size, mode="L")))
    np.testing.assert_array_equal(_resized(Image, image), np.asarray(image.resize((32, 32), Image.Resampling.BICUBIC)))


@pytest.mark.parametrize("form", [as_folder, as_tar, as_zip])
def test_what_is_not_a_picture_is_left_out(pictures, tmp_path, form):
    others = {
        "BACKGROUND_Google/tmp": b"text",
        "Faces/._image_0001.jpg": b"resource fork",
        "notes/a.txt": b"",
    }
    made = CALTECH101.convert(form(others | pictures, tmp_path))["caltech101.npz"]
    np.testing.assert_array_equal(made["X"], expected(pictures)["X"])
    assert made["names"].tolist() == FOLDER_NAMES


@pytest.mark.parametrize("form", ["EPS", "PNG", "GIF"])
def test_a_picture_of_another_format_is_refused(pictures, tmp_path, form):
    """Pillow looks at the content, and would hand PostScript to Ghostscript."""
    stream = io.BytesIO()
    Image.new("L", (40, 40)).save(stream, format=form)
    disguised = pictures | {"Faces/image_0002.jpg": stream.getvalue()}
    with pytest.raises(OSError, match=r"Faces/image_0002\.jpg of .* is not a readable image \(cannot identify"):
        CALTECH101.convert(as_folder(disguised, tmp_path))


@pytest.mark.parametrize("form", [as_folder, as_tar, as_zip])
@pytest.mark.parametrize("damage", [lambda jpg: jpg[: len(jpg) // 2], lambda jpg: b"no picture at all"])
def test_a_corrupt_picture_is_named(pictures, tmp_path, form, damage):
    damaged = pictures | {"Faces/image_0002.jpg": damage(pictures["Faces/image_0002.jpg"])}
    with pytest.raises(OSError, match=r"Faces/image_0002\.jpg of .* is not a readable image"):
        CALTECH101.convert(form(damaged, tmp_path))


@pytest.mark.parametrize("name", ["101_ObjectCategories.tar.gz", "caltech-101.zip"])
@pytest.mark.parametrize("content", [b"", b"<html>not found</html>" * 100])
def test_an_archive_that_is_none_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(OSError, match=rf"{name} is not a readable archive"):
        CALTECH101.convert(tmp_path / name)


@pytest.mark.parametrize("form", [as_tar, as_zip])
def test_a_truncated_archive_is_refused(pictures, tmp_path, form):
    path = form(pictures, tmp_path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(OSError, match="is not a readable archive"):
        CALTECH101.convert(path)


def test_a_zip_without_the_archive_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "caltech-101.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(OSError, match=r"no 101_ObjectCategories\.tar\.gz inside"):
        CALTECH101.convert(tmp_path / "caltech-101.zip")


@pytest.mark.parametrize("form", [as_folder, as_tar])
def test_no_pictures_at_all_is_refused(tmp_path, form):
    path = form({"Faces/readme.txt": b"none"}, tmp_path)
    with pytest.raises(OSError, match="has no JPG files in folders below 101_ObjectCategories"):
        CALTECH101.convert(path)


@pytest.mark.parametrize("prefix", ["../", "/101_ObjectCategories/", "101_ObjectCategories/../../"])
def test_an_archive_that_points_outside_is_refused_and_writes_nothing(pictures, tmp_path, prefix):
    inside = tmp_path / "inside"
    inside.mkdir()
    path = as_tar(pictures, inside, prefix)
    with pytest.raises(OSError, match="has a member that points outside of it"):
        CALTECH101.convert(path)
    assert [item.relative_to(tmp_path).as_posix() for item in tmp_path.rglob("*")] == [
        "inside",
        "inside/101_ObjectCategories.tar.gz",
    ]


def test_links_in_an_archive_are_not_followed(pictures, tmp_path):
    path = tmp_path / "101_ObjectCategories.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo("101_ObjectCategories/Faces/image_0001.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "../../../secret.jpg"
        archive.addfile(link)
    with pytest.raises(OSError, match="has no JPG files"):
        CALTECH101.convert(path)


@pytest.mark.parametrize("source", [GTFD, CALTECH101], ids=["gtfd", "caltech101"])
def test_without_pillow_it_says_how_to_install_it(monkeypatch, tmp_path, source):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'Converting .* needs Pillow; .* pip install "ewnmf\[data\]"'):
        source.convert(tmp_path / "file")


def test_the_hash_is_of_values_and_not_of_layout():
    arrays = {"b": np.arange(6, dtype="<i4").reshape(2, 3), "a": np.array(["x", "yz"])}
    same = {
        "a": arrays["a"].astype(">U2"),
        "b": np.asfortranarray(arrays["b"]).astype(">i4"),
        "c": np.ones(1),
    }
    wanted = arrays_sha256(arrays, ("a", "b"))
    assert arrays_sha256(same, ("b", "a")) == wanted
    for other in (arrays["b"].ravel(), arrays["b"].astype("<i8"), arrays["b"] + 1, arrays["b"].T):
        assert arrays_sha256(arrays | {"b": other}, ("a", "b")) != wanted
    assert arrays_sha256(arrays, ("a",)) != wanted


def test_the_kept_counts_are_a_scipy_file(data, tmp_path):
    made: dict[str, Any] = TDT2.convert(data / "raw" / "TDT2.mat")["tdt2_X.npz"]
    np.savez(tmp_path / "counts.npz", **made)
    counts = sparse.load_npz(tmp_path / "counts.npz")
    assert counts.shape == (9394, 36771)
    assert counts.nnz == 1_224_135
    assert np.count_nonzero(counts.sum(axis=0) == 0) == 678
