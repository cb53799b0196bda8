"""Where a table comes from: a file, a folder or standard input; what kind it is, and whether memory can hold it."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

__all__ = ["Source", "Unreadable", "available_memory", "check_memory", "import_extra", "opened"]

_BYTES_IN_GB = 1e9


class Unreadable(ValueError):
    """A file that cannot be read as asked; the message says why, and the way out."""


@dataclass(frozen=True)
class Source:
    """A file or folder on the disk, and what the user calls it."""

    path: Path
    name: str

    @property
    def suffix(self) -> str:
        """The last part of the name, ``.gz`` left aside: ``.csv`` of ``a.csv.gz``."""
        path = Path(self.path.stem) if self.path.suffix.lower() == ".gz" else self.path
        return path.suffix.lower()

    @property
    def zipped(self) -> bool:
        """Whether it is a ``.gz`` file."""
        return self.path.suffix.lower() == ".gz"

    def sha256(self) -> str:
        """Of the bytes."""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def opened(name: str | os.PathLike[str]) -> Iterator[Source]:
    """The file or folder of that name; ``-`` is standard input, kept in a temporary file while it is read."""
    text = os.fspath(name)
    if text != "-":
        path = Path(text)
        if not path.exists():
            raise FileNotFoundError(f"{text} does not exist.")
        if path.is_file() and path.stat().st_size == 0:
            raise Unreadable(f"{text} is empty; give a file with a table of numbers.")
        yield Source(path, text)
        return
    with tempfile.TemporaryDirectory(prefix="ewnmf-stdin-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        if path.stat().st_size == 0:
            raise Unreadable("standard input is empty; give a table of numbers.")
        yield Source(path, "standard input")


def available_memory() -> int | None:
    """Bytes that can still be had, as far as the system tells: the least of the machine's and the container's."""
    known = [value for value in (_meminfo(), _cgroup()) if value is not None]
    return min(known) if known else None


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return None


def _cgroup() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        return None if limit == "max" else max(int(limit) - used, 0)
    except (OSError, ValueError):
        return None


def check_memory(name: str, needed: float, remedy: str) -> None:
    """Refuse what would need more bytes than there are, before anything is read."""
    there = available_memory()
    if there is not None and needed > there:
        raise Unreadable(
            f"{name} needs about {needed / _BYTES_IN_GB:.3g} GB of memory, and {there / _BYTES_IN_GB:.3g} GB are free; "
            f"{remedy}."
        )


def import_extra(module: str, package: str, purpose: str, extra: str = "files") -> None:
    """Refuse, with what to install, where an optional library is missing."""
    if find_spec(module) is None:
        raise ModuleNotFoundError(
            f"{purpose} needs {package}, which is not installed; run: pip install 'ewnmf[{extra}]'"
        )
