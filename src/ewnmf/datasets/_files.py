"""Files of the data folder: where it is, what makes a file right, and how one is kept whole or not at all."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf._types import Array

__all__ = [
    "arrays_sha256",
    "data_folder",
    "file_sha256",
    "import_pooch",
    "keep",
    "read_arrays",
    "scratch_folder",
]

ENVIRONMENT_VARIABLE = "EWNMF_DATA"


def arrays_sha256(arrays: Mapping[str, Array], names: Iterable[str]) -> str:
    """sha256 over name, type, shape and bytes (little-endian, C order) of the arrays, sorted by name.

    Unlike the bytes of an npz file, it does not depend on the version of the library that compressed them.
    """
    digest = hashlib.sha256()
    for name in sorted(names):
        array = np.asarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes(order="C"))
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """sha256 of the bytes of the file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_arrays(path: Path, names: tuple[str, ...], sha256: str) -> dict[str, Array]:
    """The named arrays of a converted file, refused unless their `arrays_sha256` is that one."""
    try:
        arrays = _load(path, names)
    except Exception as error:  # a damaged file can make its reader raise anything
        raise OSError(
            f"{path} is refused: it cannot be read ({type(error).__name__}: {error}), expected arrays with "
            f"sha256 {sha256}; delete it to have it made anew, or put the right file there."
        ) from error
    found = arrays_sha256(arrays, names)
    if found != sha256:
        raise OSError(
            f"{path} is refused: its arrays have sha256 {found}, expected {sha256}; "
            "delete it to have it made anew, or put the right file there."
        )
    return arrays


def _load(path: Path, names: tuple[str, ...]) -> dict[str, Array]:
    with path.open("rb") as stream:
        loaded = np.load(stream, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            loaded = {"y": loaded}
        return {name: loaded[name] for name in names}


def keep(files: Mapping[str, Mapping[str, Array]], folder: Path) -> None:
    """Write arrays under those file names into `folder`, each one appearing only when it is complete.

    Where that cannot be (a read-only folder, a full disk), warn: the arrays are at hand all the same.
    """
    try:
        with scratch_folder(folder) as scratch:
            for name, arrays in files.items():
                partial = Path(scratch) / name
                _save(partial, dict(arrays))
                os.replace(partial, folder / name)
    except OSError as error:
        warnings.warn(
            f"{' and '.join(files)} could not be kept in {folder} ({error}) and will be made anew next time.",
            UserWarning,
            stacklevel=4,
        )


def _save(path: Path, arrays: dict[str, Any]) -> None:
    if path.suffix == ".npy":
        np.save(path, arrays["y"])
    else:
        np.savez_compressed(path, **arrays)


def scratch_folder(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A hidden folder inside `folder`, on the same disk, that goes away with all it holds."""
    return tempfile.TemporaryDirectory(prefix=".ewnmf-", dir=folder, ignore_cleanup_errors=True)


def data_folder(data_home: str | os.PathLike[str] | None) -> Path:
    """`data_home`, else the environment variable ``EWNMF_DATA``, else the user's cache folder."""
    if data_home is None:
        data_home = os.environ.get(ENVIRONMENT_VARIABLE) or None
    if data_home is None:
        pooch = import_pooch(f"find a data folder where neither data_home nor {ENVIRONMENT_VARIABLE} names one")
        return Path(pooch.os_cache("ewnmf"))
    if not isinstance(data_home, (str, os.PathLike)):
        raise TypeError(f"data_home={data_home!r} must be the path of a folder.")
    return Path(data_home).expanduser()


def import_pooch(purpose: str) -> Any:
    """pooch, which only downloads and the default folder need."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(f'pooch is needed to {purpose}; install it with: pip install "ewnmf[data]".') from error
    return pooch
