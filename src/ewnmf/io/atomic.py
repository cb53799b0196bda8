"""Results that appear whole or not at all.

Everything is written under a name that says ``unfinished``, in the same folder, forced to the disk, and then renamed.
A killed run leaves that name behind and nothing under the final one.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["SUMMARY", "atomic_file", "atomic_folder", "check_free"]

SUMMARY = "summary.json"
"""Lists under ``files`` what else a folder of results holds."""

_SHORT = re.compile(r"^\d+ requested and \d+ written$")
"""All that NumPy says of a disk without space."""


def check_free(path: str | os.PathLike[str], force: bool, folder: bool) -> None:
    """Refuse a name that is taken; with `force` only what is no such result, and what a person may have put there."""
    target = Path(path)
    if not os.path.lexists(target):
        return
    if not (target.is_dir() if folder else target.is_file()):
        raise FileExistsError(
            f"{target} exists and is no {'folder' if folder else 'regular file'}, as the result would be; name another "
            "place."
        )
    if not force:
        raise FileExistsError(f"{target} exists already; name another place, or replace it with --force.")
    foreign = _foreign(target) if folder else []
    if foreign:
        raise FileExistsError(
            f"{target} holds something that is no result of ewnmf ({foreign[0]}), so --force does not replace it; name "
            "another folder, or clear this one yourself."
        )


def _foreign(folder: Path) -> list[str]:
    """What is in the folder beside the files of a result."""
    found = (
        entry for entry in folder.rglob("*") if entry.is_symlink() or not entry.is_dir() or not any(entry.iterdir())
    )
    names = sorted(entry.relative_to(folder).as_posix() for entry in found)
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        known = {SUMMARY, *map(str, summary["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        known = set()
    return [name for name in names if name not in known]


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream whose content replaces the file `path` once it is complete and on the disk.

    Parameters
    ----------
    path : path-like
        The final name; its folder must exist. Of a link, what it points to is replaced.
    """
    check_free(path, force=True, folder=False)
    target = _pointed_to(path)
    partial = _unfinished(target)
    with _told(Path(path)):
        try:
            with partial.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)


@contextmanager
def atomic_folder(path: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """An empty folder to fill, which becomes `path` once it is complete and on the disk.

    With `force` an older result of that name is put aside first and removed last; a run killed between the two leaves
    both, the older one under a name that says ``replaced``.

    Parameters
    ----------
    path : path-like
        The final name; folders above it are made. Of a link, what it points to is replaced.
    force : bool, default=False
        Whether to replace an older result.
    """
    check_free(path, force, folder=True)
    target = _pointed_to(path)
    with _told(Path(path)):
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = _unfinished(target)
        scratch.mkdir()
        try:
            yield scratch
            for file in (*scratch.rglob("*"), scratch):
                if file.is_dir():
                    _sync_folder(file)
                    continue
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())
            _put(scratch, target, force)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        _sync_folder(target.parent)


def _put(scratch: Path, target: Path, force: bool) -> None:
    if not (force and target.exists()):
        os.rename(scratch, target)
        return
    aside = target.with_name(f"{target.name}.replaced-{secrets.token_hex(4)}")
    os.rename(target, aside)
    try:
        os.rename(scratch, target)
    except BaseException:
        os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _pointed_to(path: str | os.PathLike[str]) -> Path:
    """Where a result of that name is kept: links are followed, so that they stay, and renaming stays on one disk."""
    target = os.path.abspath(path)
    return Path(os.path.realpath(target) if os.path.islink(target) else target)


def _unfinished(target: Path) -> Path:
    return target.with_name(f"{target.name}.unfinished-{secrets.token_hex(4)}")


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """Say which result could not be written, and why."""
    try:
        yield
    except OSError as error:
        reason = "the disk is full" if _SHORT.search(str(error)) else error.strerror
        if reason is None:
            raise
        raise type(error)(f"{target} could not be written ({reason}); nothing was left under that name.") from error


def _sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
