"""From files as published to the arrays that are kept: rows are points, pixels row by row, labels from 0."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from inspect import signature
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
from scipy import io as matlab
from scipy import sparse

from ewnmf._types import Array

__all__ = [
    "convert_caltech101",
    "convert_gtfd",
    "convert_tdt2",
    "convert_umist",
    "convert_yale",
    "import_pillow",
]

Arrays = dict[str, Array]

SIDE = 32
CALTECH_FOLDER = "101_ObjectCategories"
CALTECH_TAR = f"{CALTECH_FOLDER}.tar.gz"


def convert_yale(path: Path) -> dict[str, Arrays]:
    """``fea`` (165 x 1024, pixels column by column) and ``gnd`` of Yale_32x32.mat."""
    raw = _variables(path)
    return {"yale.npz": _image_arrays(_row_major(raw["fea"]), raw["gnd"])}


def convert_umist(path: Path) -> dict[str, Arrays]:
    """``A`` (1024 x 1012, pixels column by column) and ``labels`` of UMIST.mat."""
    raw = _variables(path)
    return {"umist.npz": _image_arrays(_row_major(raw["A"].T), raw["labels"])}


def convert_gtfd(path: Path) -> dict[str, Arrays]:
    """``x`` (40 x 30 x 750, resized to 32 x 32) and ``label`` of GT.mat."""
    pil = import_pillow(path.name)
    raw = _variables(path)
    faces = (pil.fromarray(np.ascontiguousarray(face)) for face in np.moveaxis(raw["x"], 2, 0))
    return {"gtfd.npz": _image_arrays(np.stack([_resized(pil, face) for face in faces]), raw["label"])}


def convert_tdt2(path: Path) -> dict[str, Arrays]:
    """``fea`` (9394 x 36771, counts of terms) and ``gnd`` of TDT2.mat; the counts fit into one byte."""
    raw = _variables(path)
    raw["fea"].check_format(full_check=True)
    counts = sparse.csr_matrix(raw["fea"])
    counts.sort_indices()
    stored = {
        "data": counts.data.astype(np.uint8),
        "indices": counts.indices.astype(np.int32),
        "indptr": counts.indptr.astype(np.int32),
        "shape": np.array(counts.shape, dtype=np.int64),
        "format": np.array(b"csr"),
    }
    return {"tdt2_X.npz": stored, "tdt2_y.npy": {"y": _labels(raw["gnd"])}}


def convert_caltech101(path: Path) -> dict[str, Arrays]:
    """The JPGs of ``101_ObjectCategories``, grey and 32 x 32, by folder and then file name.

    `path` is that folder, ``101_ObjectCategories.tar.gz``, or the zip file that has it inside. Archives are
    read as streams: nothing of them is ever unpacked to the disk.
    """
    pil = import_pillow(path.name)
    found = sorted(
        ((folder, file, _grey(pil, content, f"{folder}/{file} of {path}")) for folder, file, content in _jpgs(path)),
        key=itemgetter(0, 1),
    )
    if not found:
        raise OSError(f"{path} has no JPG files in folders below {CALTECH_FOLDER}; put the data set's own there.")
    names, labels = np.unique([folder for folder, _, _ in found], return_inverse=True)
    arrays = _image_arrays(np.stack([image for _, _, image in found]), labels + 1)
    return {"caltech101.npz": arrays | {"names": names}}


def _variables(path: Path) -> dict[str, Any]:
    """The variables of a MATLAB file, sparse ones in whichever of scipy's two kinds this version has to offer."""
    kind = {"spmatrix": False} if "spmatrix" in signature(matlab.loadmat).parameters else {}
    variables: dict[str, Any] = matlab.loadmat(path, **kind)
    return variables


def _jpgs(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """Folder, file name and content of every JPG."""
    if path.is_dir():
        for file in path.glob("*/*"):
            if _is_jpg(file.name):
                yield file.parent.name, file.name, file.read_bytes()
        return
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as outer, outer.open(_tar_inside(outer)) as stream:
                yield from _jpgs_of_tar(stream, path)
        else:
            with path.open("rb") as stream:
                yield from _jpgs_of_tar(stream, path)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise OSError(f"{path} is not a readable archive ({error}); delete it and get it anew.") from error


def _tar_inside(outer: zipfile.ZipFile) -> str:
    for name in outer.namelist():
        if PurePosixPath(name).name == CALTECH_TAR:
            return name
    raise tarfile.ReadError(f"no {CALTECH_TAR} inside")


def _jpgs_of_tar(stream: IO[bytes], path: Path) -> Iterator[tuple[str, str, bytes]]:
    with tarfile.open(fileobj=stream, mode="r|gz") as archive:
        for member in archive:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise OSError(f"{path} has a member that points outside of it, {member.name!r}; delete the archive.")
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None and name.parts[-3:-2] == (CALTECH_FOLDER,) and _is_jpg(name.name):
                yield name.parts[-2], name.name, content.read()


def _is_jpg(name: str) -> bool:
    return name.lower().endswith(".jpg") and not name.startswith(".")


def _grey(pil: Any, content: bytes, label: str) -> Array:
    try:
        with pil.open(io.BytesIO(content), formats=("JPEG",)) as image:
            return _resized(pil, image.convert("L"))
    except (OSError, SyntaxError, ValueError, pil.DecompressionBombError) as error:
        raise OSError(f"{label} is not a readable image ({error}); get the data set anew.") from error


def _resized(pil: Any, image: Any) -> Array:
    """SIDE x SIDE by Pillow's bicubic filter, which widens with the reduction and so does not alias.

    Every pass rounds to whole grey values, so the order of the two directions shows in the result, and Pillow
    before 13 has another one. Naming the size in between fixes the order: that of Pillow 13.
    """
    width, height = image.size
    vertical_first = height - SIDE > max(0, 2 * (width - SIDE))
    between = (width, SIDE) if vertical_first else (SIDE, height)
    bicubic = pil.Resampling.BICUBIC
    return np.asarray(image.resize(between, bicubic).resize((SIDE, SIDE), bicubic))


def import_pillow(what: str) -> Any:
    """Pillow's ``Image``, which only conversions that resize need."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(f'Converting {what} needs Pillow; install it with: pip install "ewnmf[data]".') from error
    return Image


def _row_major(columns_first: Array) -> Array:
    """Images (n x SIDE x SIDE) from rows of pixels stored column by column."""
    return columns_first.reshape(-1, SIDE, SIDE).transpose(0, 2, 1)


def _image_arrays(images: Array, labels_from_1: Array) -> Arrays:
    pixels = np.ascontiguousarray(images, dtype=np.uint8).reshape(len(images), -1)
    return {"X": pixels, "y": _labels(labels_from_1), "shape": np.array(images.shape[1:], dtype=np.int64)}


def _labels(labels_from_1: Array) -> Array:
    return labels_from_1.ravel().astype(np.int16) - np.int16(1)
