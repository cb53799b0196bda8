"""Folders of images: grey values of the documented formats, and of no others."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from ewnmf.io import Layout, read_table, source
from ewnmf.io.images import SUFFIXES
from tests.fuzz_files import IMAGES, write_valid

DOCUMENTED = Path(__file__).parents[2] / "docs" / "guide" / "command.md"


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, Path]:
    return write_valid(tmp_path_factory.mktemp("valid"))


def refused(path: Path | str, message: str, **layout) -> None:
    with pytest.raises((ValueError, OSError), match=re.escape(message)):
        read_table(path, Layout(**layout))


def texts(array) -> list[str]:
    assert array is not None
    return [str(text) for text in array]


def test_images_are_points_of_grey_values(valid):
    table = read_table(valid["images"])
    np.testing.assert_array_equal(table.values, IMAGES.reshape(5, -1))
    assert texts(table.ids) == [f"{i}.png" for i in range(5)]
    assert table.image_size == (6, 4)


def test_images_of_all_sorts(tmp_path):
    deep = IMAGES[0].astype(np.uint16) * 200
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    Image.fromarray(deep).save(tmp_path / "one" / "deep.png")
    Image.fromarray(np.stack([IMAGES[1]] * 3, axis=2)).save(tmp_path / "two" / "colour.bmp")
    (tmp_path / "notes.txt").write_text("no image")
    table = read_table(tmp_path, Layout(label="folder"))
    np.testing.assert_array_equal(table.values, [deep.ravel(), IMAGES[1].ravel()])
    assert texts(table.ids) == ["one/deep.png", "two/colour.bmp"]
    assert texts(table.labels) == ["one", "two"]
    assert read_table(tmp_path, Layout(size=(3, 2))).values.shape == (2, 6)


def test_images_of_different_sizes(tmp_path):
    Image.fromarray(IMAGES[0]).save(tmp_path / "a.png")
    Image.fromarray(IMAGES[0].T.copy()).save(tmp_path / "b.png")
    refused(tmp_path, "images of different sizes: a.png is 6x4, b.png is 4x6; bring them to one size with --size 6x4")


def test_images_that_do_not_fit_into_memory(valid, monkeypatch):
    monkeypatch.setattr(source, "available_memory", lambda: 100)
    refused(valid["images"], "of memory, and 1e-07 GB are free; choose a smaller --size", size=(100, 100))


def test_a_program_is_no_image(tmp_path, monkeypatch):
    """Pillow looks at the content, and would hand PostScript to Ghostscript."""
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\n%%EOF\n")
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_, **__: pytest.fail("Ghostscript was asked for"))
    monkeypatch.setattr(EpsImagePlugin.EpsImageFile, "_open", lambda *_: pytest.fail("it was taken for PostScript"))
    refused(tmp_path, "a.png cannot be read as an image (it is no BMP, GIF, JPEG, PNG, PPM, TIFF, WEBP, or damaged)")


@pytest.mark.parametrize("form", ["ICO", "PCX", "TGA", "ICNS", "SGI", "PDF"])
def test_other_formats_are_refused(tmp_path, form):
    Image.fromarray(np.resize(IMAGES[0], (32, 32))).convert("RGB").save(tmp_path / "a.png", format=form)
    refused(tmp_path, "a.png cannot be read as an image (it is no BMP")


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix != ".pbm"])
def test_every_documented_format_is_read(tmp_path, suffix):
    Image.fromarray(IMAGES[0]).save(tmp_path / f"a{suffix}")
    values = read_table(tmp_path).values
    np.testing.assert_allclose(values, IMAGES[0].reshape(1, -1), atol=60)
    assert suffix in DOCUMENTED.read_text(encoding="utf-8")


def test_images_without_a_size_that_do_not_fit_into_memory(valid, monkeypatch):
    monkeypatch.setattr(source, "available_memory", lambda: 1000)
    refused(valid["images"], f"{valid['images']} needs about 1.92e-06 GB of memory, and 1e-06 GB are free")
    monkeypatch.setattr(source, "available_memory", lambda: 100)
    refused(valid["images"], "0.png needs about 3.84e-07 GB of memory")
