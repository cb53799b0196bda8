"""The file of a model: a zip of arrays (as in ``.npz``), one JSON document, and the sha256 of each of them.

``numpy.load`` reads the arrays of such a file too. Nothing in it is ever unpickled or run.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.io.atomic import atomic_file
from ewnmf.io.npy import read_array
from ewnmf.io.source import Unreadable, check_memory

__all__ = ["FORMAT", "VERSION", "read_archive", "write_archive"]

FORMAT, VERSION = "ewnmf model", 2
"""Format 1 named objects by modules, format 2 by `ewnmf.estimators.registry`; both are read."""
_DOCUMENT, _HASHES = "model.json", "sha256.txt"


def write_archive(path: str | os.PathLike[str], document: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a document and arrays as one file, which appears only when it is complete.

    Parameters
    ----------
    path : path-like
        The file; an older one is replaced.
    document : mapping
        Anything that JSON can hold.
    arrays : mapping of str to ndarray
        Arrays of numbers, booleans or text.
    """
    head = {"format": FORMAT, "version": VERSION, **document}
    members = {_DOCUMENT: json.dumps(head, allow_nan=False, indent=1, ensure_ascii=False).encode()}
    for name, array in arrays.items():
        members[f"{name}.npy"] = _npy(array)
    hashes = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in members.items())
    members[_HASHES] = hashes.encode()
    with atomic_file(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            # Without a date: the same model gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name), content)


def _npy(array: Array) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """The document and the arrays of a file, refused unless every part is there and unchanged.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    document, arrays : dict
        As they were written.
    """
    file = Path(path)
    if not file.is_file():
        kind = "is a folder, and no model file" if file.is_dir() else "does not exist"
        raise (IsADirectoryError if file.is_dir() else FileNotFoundError)(f"{file} {kind}.")
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            _check_sizes(file, infos)
            members = {info.filename: archive.read(info) for info in infos}
            twins = len(members) != len(infos)
    except zipfile.BadZipFile as error:
        raise ValueError(
            f"{file} is refused: it is no model file of ewnmf, or a damaged one ({error}); copy or save it anew."
        ) from error
    except (PermissionError, Unreadable, Damaged):
        raise
    except Exception as error:  # a damaged file can make its reader raise anything
        raise _damaged(file, f"{type(error).__name__}: {error}") from error
    return _parts(file, members, twins)


def _check_sizes(file: Path, infos: list[zipfile.ZipInfo]) -> None:
    """Refuse members that claim to be larger than the file; none that was written here is compressed."""
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise _damaged(file, f"{info.filename} is compressed, or its size is not the one that it says")
    size, there = sum(info.file_size for info in infos), file.stat().st_size
    if size > there:
        raise _damaged(file, f"its parts say that they have {size} bytes, and the file has {there}")
    check_memory(str(file), 2 * size, "load it on a larger machine")


def _parts(file: Path, members: dict[str, bytes], twins: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    if _DOCUMENT not in members:
        raise ValueError(f"{file} is refused: it is no model file of ewnmf ({_DOCUMENT} is missing).")
    document = _document(file, members[_DOCUMENT])
    hashes = members.pop(_HASHES, b"").decode("ascii", errors="replace").splitlines()
    found = {f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in members.items()}
    if twins or sorted(hashes) != sorted(found):
        names = {line.partition("  ")[2] for line in found.symmetric_difference(hashes)}
        raise _damaged(file, f"the sha256 of {', '.join(sorted(names)) or 'a part'} is not the one that was written")
    arrays = {}
    for name, content in members.items():
        if name != _DOCUMENT:
            try:
                arrays[name.removesuffix(".npy")] = read_array(io.BytesIO(content), len(content), name)
            except Exception as error:
                raise _damaged(file, f"{name} is no array: {str(error).rstrip('.')}") from error
    return document, arrays


def _document(file: Path, content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content, parse_constant=_refused_constant)
    except (ValueError, RecursionError) as error:
        raise _damaged(file, f"{_DOCUMENT} is no JSON") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{file} is refused: it is no model file of ewnmf ({_DOCUMENT} does not say {FORMAT!r}).")
    version = document.get("version")
    if not isinstance(version, int) or version < 1:
        raise _damaged(file, f"its version is {version!r}")
    if version > VERSION:
        raise ValueError(
            f"{file} is refused: its format is version {version}, and this ewnmf reads versions up to {VERSION}; "
            "update ewnmf."
        )
    return document


def _refused_constant(word: str) -> float:
    raise ValueError(f"{word} is no number in JSON")


class Damaged(ValueError):
    """A file that is not as it was written."""


def _damaged(file: Path, why: str) -> Damaged:
    return Damaged(f"{file} is refused: it was changed or damaged after it was saved ({why}); copy or save it anew.")
