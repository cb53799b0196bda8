"""The paper's data sets: found in the data folder, made from the published file there, or downloaded."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from ewnmf._types import Array
from ewnmf.datasets._convert import import_pillow
from ewnmf.datasets._files import (
    arrays_sha256,
    data_folder,
    file_sha256,
    import_pooch,
    keep,
    read_arrays,
    scratch_folder,
)
from ewnmf.datasets._sources import CALTECH101, GTFD, TDT2, UMIST, YALE, DataSource

__all__ = ["fetch_caltech101", "fetch_gtfd", "fetch_tdt2", "fetch_umist", "fetch_yale"]

DataHome = str | os.PathLike[str] | None

_LOGGER = logging.getLogger("ewnmf.datasets")
_TIMEOUT_SECONDS = 60


def fetch_yale(*, data_home: DataHome = None, download_if_missing: bool = True, return_X_y: bool = False) -> Any:
    """Yale faces: ``data`` (165 x 1024 uint8), ``target`` (classes 0 to 14), ``images`` (165 x 32 x 32).

    Parameters
    ----------
    data_home : path-like, optional
        Folder with ``yale.npz`` or ``Yale_32x32.mat``, or where to put the former; by default the environment
        variable ``EWNMF_DATA``, else the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download the file (0.2 MB) where it is missing.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` alone.

    Returns
    -------
    Bunch or (data, target)
        With ``data``, ``target``, ``images`` and ``DESCR``, which says source, terms and the paper's numbers.
    """
    return _images(YALE, _obtain(YALE, data_home, download_if_missing), return_X_y)


def fetch_umist(*, data_home: DataHome = None, download_if_missing: bool = True, return_X_y: bool = False) -> Any:
    """UMIST faces: ``data`` (1012 x 1024 uint8), ``target`` (classes 0 to 19), ``images`` (1012 x 32 x 32).

    Parameters
    ----------
    data_home : path-like, optional
        Folder with ``umist.npz`` or ``UMIST.mat``, or where to put the former; by default the environment
        variable ``EWNMF_DATA``, else the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download the file (0.9 MB) where it is missing.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` alone.

    Returns
    -------
    Bunch or (data, target)
        With ``data``, ``target``, ``images`` and ``DESCR``, which says source, terms and the paper's numbers.
    """
    return _images(UMIST, _obtain(UMIST, data_home, download_if_missing), return_X_y)


def fetch_gtfd(*, data_home: DataHome = None, download_if_missing: bool = True, return_X_y: bool = False) -> Any:
    """GTFD faces: ``data`` (750 x 1024 uint8), ``target`` (classes 0 to 49), ``images`` (750 x 32 x 32).

    Parameters
    ----------
    data_home : path-like, optional
        Folder with ``gtfd.npz`` or ``GT.mat``, or where to put the former; by default the environment
        variable ``EWNMF_DATA``, else the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download the file (0.8 MB) where it is missing.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` alone.

    Returns
    -------
    Bunch or (data, target)
        With ``data``, ``target``, ``images`` and ``DESCR``, which says source, terms and the paper's numbers.
    """
    return _images(GTFD, _obtain(GTFD, data_home, download_if_missing), return_X_y)


def fetch_caltech101(*, data_home: DataHome = None, download_if_missing: bool = True, return_X_y: bool = False) -> Any:
    """Caltech101: ``data`` (9144 x 1024 uint8), ``target`` (classes 0 to 101), ``images`` (9144 x 32 x 32).

    Parameters
    ----------
    data_home : path-like, optional
        Folder with ``caltech101.npz``, ``caltech-101.zip``, ``101_ObjectCategories.tar.gz`` or the folder
        ``101_ObjectCategories``, or where to put the first; by default the environment variable
        ``EWNMF_DATA``, else the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download the archive (137 MB) where it is missing; the file made from it has 8 MB.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` alone.

    Returns
    -------
    Bunch or (data, target)
        With ``data``, ``target``, ``target_names`` (the folders; class 0 is the background), ``images`` and
        ``DESCR``, which says source, terms and the paper's numbers.
    """
    return _images(CALTECH101, _obtain(CALTECH101, data_home, download_if_missing), return_X_y)


def fetch_tdt2(*, data_home: DataHome = None, download_if_missing: bool = True, return_X_y: bool = False) -> Any:
    """TDT2 news texts: ``data`` (9394 x 36771 counts, CSR uint8), ``target`` (classes 0 to 29).

    Parameters
    ----------
    data_home : path-like, optional
        Folder with ``tdt2_X.npz`` and ``tdt2_y.npy``, or ``TDT2.mat``, or where to put the former; by
        default the environment variable ``EWNMF_DATA``, else the user's cache folder.
    download_if_missing : bool, default=True
        Whether to download the file (2.7 MB) where it is missing.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` alone.

    Returns
    -------
    Bunch or (data, target)
        With ``data``, ``target``, ``vocabulary_size`` and ``DESCR``, which says source, terms and the
        paper's numbers.
    """
    arrays = _obtain(TDT2, data_home, download_if_missing)
    n, vocabulary_size = (int(size) for size in arrays["shape"])
    counts = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, vocabulary_size))
    target = arrays["y"].astype(np.int64)
    if return_X_y:
        return counts, target
    return Bunch(data=counts, target=target, vocabulary_size=vocabulary_size, DESCR=TDT2.descr)


def _images(source: DataSource, arrays: dict[str, Array], return_X_y: bool) -> Any:
    pixels, target = arrays["X"], arrays["y"].astype(np.int64)
    if return_X_y:
        return pixels, target
    bunch = Bunch(data=pixels, target=target, images=pixels.reshape(-1, *arrays["shape"]), DESCR=source.descr)
    if "names" in arrays:
        bunch.target_names = arrays["names"]
    return bunch


def _obtain(source: DataSource, data_home: DataHome, download_if_missing: bool) -> dict[str, Array]:
    """The arrays of all files of the data set, each checked against its sha256."""
    folder = data_folder(data_home)
    missing = [file.name for file in source.converted if not (folder / file.name).exists()]
    files = {
        file.name: read_arrays(folder / file.name, file.arrays, file.sha256)
        for file in source.converted
        if file.name not in missing
    }
    if missing:
        raw = _published_file(source, folder)
        if raw is not None:
            made = _converted(source, raw, str(raw))
        elif download_if_missing:
            made = _downloaded(source, folder)
        else:
            raise FileNotFoundError(
                f"{' and '.join(missing)} not found and download_if_missing is False; {_remedy(source, folder)}."
            )
        keep({name: made[name] for name in missing}, folder)
        files |= made
    return {name: array for arrays in files.values() for name, array in arrays.items()}


def _published_file(source: DataSource, folder: Path) -> Path | None:
    """The file as published, in the folder or in ``raw`` below it, checked where its sha256 is known."""
    for name, sha256 in source.raw.items():
        for path in (folder / name, folder / "raw" / name):
            if path.exists():
                _check(path, sha256, str(path), "delete it, or put the right file there")
                return path
    return None


def _check(path: Path, sha256: str | None, label: str, remedy: str) -> None:
    found = None if sha256 is None else file_sha256(path)
    if found != sha256:
        raise OSError(f"{label} is refused: its sha256 is {found}, expected {sha256}; {remedy}.")


def _converted(source: DataSource, raw: Path, label: str) -> dict[str, dict[str, Array]]:
    made = source.convert(raw)
    for file in source.converted:
        found = arrays_sha256(made[file.name], file.arrays)
        if found != file.sha256:
            raise OSError(
                f"{label} is refused: converted to {file.name} its arrays have sha256 {found}, expected "
                f"{file.sha256}; it is another file, or this version of Pillow reads images differently: "
                "get it anew, try another version of Pillow, or put the right "
                f"{file.name} into the data folder."
            )
    return made


def _downloaded(source: DataSource, folder: Path) -> dict[str, dict[str, Array]]:
    """Download into a folder that goes away, check, convert."""
    name, sha256 = next(iter(source.raw.items()))
    pooch = import_pooch(f"download {name}")
    if source.needs_pillow:
        import_pillow(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = scratch_folder(folder)
    except OSError as error:
        raise OSError(f"{folder} cannot be written to ({error}); name another data_home.") from error
    with scratch as place:
        path = Path(place) / name
        _LOGGER.info("Downloading %s", source.url)
        try:
            pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS)(source.url, str(path), None)
        except OSError as error:
            raise OSError(
                f"{source.url} could not be downloaded ({_reason(error)}); {_remedy(source, folder)}."
            ) from error
        _check(path, sha256, f"The download of {source.url}", f"try again, or {_remedy(source, folder)}")
        return _converted(source, path, source.url)


def _reason(error: OSError) -> str:
    response = getattr(error, "response", None)
    return error.strerror or type(error).__name__ if response is None else f"HTTP {response.status_code}"


def _remedy(source: DataSource, folder: Path) -> str:
    converted = " and ".join(file.name for file in source.converted)
    return f"put {converted} into {folder}, or {' or '.join(source.raw)} as published at {source.url}"
