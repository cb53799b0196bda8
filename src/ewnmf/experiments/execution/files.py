"""Files that are replaced as a whole: a reader never sees half of one."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

__all__ = ["replace_file"]


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and move it into place; its folder is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(content)
            file.close()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            file.close()
            os.unlink(file.name)
            raise
