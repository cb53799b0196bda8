"""Reads a MATLAB file in a process of its own, which a damaged file may bring down without harm.

``python matlab_child.py FILE FOLDER`` writes a line of JSON with names, shapes and classes of the variables, reads a
line of JSON with names and the memory that it may take, and writes those variables into FOLDER. It needs NumPy and
SciPy alone.
"""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

__all__ = ["serve"]


def serve(file: str, folder: Path) -> None:
    """Answer one request."""
    _answer({"variables": io.whosmat(file)})
    request = json.loads(sys.stdin.readline())
    names = request["names"]
    _limit(request["memory"])
    variables = io.loadmat(file, variable_names=names)
    for number, name in enumerate(names):
        value = variables[name]
        if sparse.issparse(value):
            # As it is: whoever reads it looks at every index before it is made into anything else.
            sparse.save_npz(folder / f"{number}.npz", value, compressed=False)
        else:
            np.save(folder / f"{number}.npy", _without_cells(value), allow_pickle=False)
    _answer({"done": True})


def _limit(memory: int | None) -> None:
    """Let this process take so many bytes more at the most, where the system can see to that."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (used + memory, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _without_cells(value: Any) -> Any:
    """A cell array of texts as an array of text."""
    if value.dtype.kind != "O":
        return value
    return np.array([str(cell.item(0)) if getattr(cell, "size", 0) == 1 else str(cell) for cell in value.ravel()])


def _answer(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    try:
        serve(sys.argv[1], Path(sys.argv[2]))
    except MemoryError:
        _answer({"error": "memory"})
    except NotImplementedError:
        _answer({"error": "hdf5"})
    except Exception as error:  # a damaged file can make its reader raise anything
        _answer({"error": f"{type(error).__name__}: {error}"})
