"""A folder of images: one image a point, its grey values the attributes, row by row."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from ewnmf._types import Array
from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable, check_memory, import_extra, opened
from ewnmf.io.table import Table

__all__ = ["SUFFIXES", "read_image", "read_images"]

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""What Pillow may take a file for, whatever its name: it knows others that run programs (PostScript)."""
_DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
"""Modes of more than 8 bits, whose values are taken as they are."""
_BYTES_OF_A_PIXEL = 16
"""As it is read, beside the others, and as a number of double precision."""


def read_images(source: Source, layout: Layout) -> Table:
    """The images in the folder and those below it, sorted by name; files of other kinds are passed over."""
    import_extra("PIL", "Pillow", f"reading the images of {source.name}")
    paths = sorted(path for path in source.path.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not paths:
        raise Unreadable(f"{source.name} is a folder without images ({', '.join(SUFFIXES)}); give one that has some.")
    _check_options(source, layout)
    names = [path.relative_to(source.path).as_posix() for path in paths]
    if layout.size is not None:
        _check_memory(source, len(paths), layout.size[0] * layout.size[1])
    digest = hashlib.sha256()
    pixels: list[Array] = []
    for path, name in zip(paths, names, strict=True):
        content = path.read_bytes()
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
        pixels.append(_grey(path, f"{source.name}/{name}", layout.size))
        if len(pixels) == 1:
            _check_memory(source, len(paths), pixels[0].size)
        if pixels[-1].shape != pixels[0].shape:
            raise Unreadable(
                f"{source.name} has images of different sizes: {names[0]} is {_size(pixels[0])}, {name} is "
                f"{_size(pixels[-1])}; bring them to one size with --size {_size(pixels[0])}, for example."
            )
    labels = None if layout.label is None else np.array([Path(name).parent.as_posix() for name in names], dtype=object)
    return Table(
        values=np.stack(pixels).reshape(len(pixels), -1).astype(np.float64),
        source=source.name,
        kind="images",
        ids=np.array(names, dtype=object),
        labels=labels,
        sha256=digest.hexdigest(),
        image_size=(pixels[0].shape[1], pixels[0].shape[0]),
    )


def read_image(file: str, layout: Layout) -> Table:
    """One image as one point."""
    import_extra("PIL", "Pillow", f"reading {file}")
    with opened(file) as source:
        _check_options(source, layout)
        pixels = _grey(source.path, source.name, layout.size)
        return Table(
            values=pixels.reshape(1, -1).astype(np.float64),
            source=source.name,
            kind="image",
            sha256=source.sha256(),
            image_size=(pixels.shape[1], pixels.shape[0]),
        ).check()


def _check_memory(source: Source, images: int, pixels: int) -> None:
    check_memory(source.name, float(_BYTES_OF_A_PIXEL) * images * pixels, "choose a smaller --size")


def _check_options(source: Source, layout: Layout) -> None:
    if layout.label not in (None, "folder"):
        raise Unreadable(
            f"label={layout.label!r} is nothing that images have; use 'folder' for the folder each one is in."
        )
    for parameter in ("id", "variable"):
        if getattr(layout, parameter) is not None:
            raise Unreadable(
                f"{parameter}={getattr(layout, parameter)!r} does not fit {source.name}, a folder of images."
            )
    if layout.drop or layout.transpose:
        raise Unreadable(f"drop and transpose do not fit {source.name}, a folder of images; leave them out.")


def _grey(path: Path, name: str, size: tuple[int, int] | None) -> Array:
    """Grey values (height x width), resized by the bicubic filter where a size is asked for."""
    from PIL import Image, ImageOps

    try:
        with Image.open(path, formats=FORMATS) as image:
            check_memory(name, float(_BYTES_OF_A_PIXEL) * image.width * image.height, "make it smaller")
            upright = ImageOps.exif_transpose(image)
            if upright.mode not in _DEEP:
                grey = upright.convert("L")
            else:
                grey = Image.fromarray(np.asarray(upright, dtype=np.float32))
            if size is not None and grey.size != size:
                grey = grey.resize(size, Image.Resampling.BICUBIC)
            return np.asarray(grey)
    except Unreadable:
        raise
    except Exception as error:  # a damaged image can make its reader raise anything
        unknown = "cannot identify" in str(error)
        reason = f"it is no {', '.join(FORMATS)}, or damaged" if unknown else f"{type(error).__name__}: {error}"
        raise Unreadable(f"{name} cannot be read as an image ({reason}); repair or remove it.") from error


def _size(pixels: Array) -> str:
    return f"{pixels.shape[1]}x{pixels.shape[0]}"
