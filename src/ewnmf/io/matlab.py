"""MATLAB files up to version 7, read by SciPy in a process of its own: a damaged file can crash SciPy's reader."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf.io.arrays import read_sparse, real_numbers
from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable, available_memory, check_memory
from ewnmf.io.sparse_parts import check_sparse_memory
from ewnmf.io.table import Table
from ewnmf.io.variables import choose, one_per_point

__all__ = ["read_mat"]

_NUMBERS = {"double", "single", "logical", "sparse"} | {f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)}
"""MATLAB's classes of numbers."""


def read_mat(source: Source, layout: Layout) -> Table:
    """One of the variables."""
    child = Path(__file__).with_name("matlab_child.py")
    with tempfile.TemporaryDirectory(prefix="ewnmf-mat-") as folder:
        command = [sys.executable, "-P", str(child), str(source.path.absolute()), folder]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as reader:
            try:
                return _dialogue(reader, Path(folder), source, layout)
            finally:
                reader.kill()


def _dialogue(reader: subprocess.Popen[bytes], folder: Path, source: Source, layout: Layout) -> Table:
    known = {name: (tuple(shape), kind) for name, shape, kind in _answer(reader, source)["variables"]}
    wanted = (layout.id, layout.label)
    shapes = {name: shape for name, (shape, kind) in known.items() if kind in _NUMBERS or name in wanted}
    variable = choose(source, layout, shapes)
    if known[variable][1] == "sparse":
        check_sparse_memory(source.name, shapes[variable], 0)
    else:
        check_memory(source.name, 16.0 * math.prod(shapes[variable]), "take a part of its rows")
    names = [variable, *(name for name in wanted if name is not None)]
    assert reader.stdin is not None
    request = {"names": names, "memory": available_memory()}
    reader.stdin.write(json.dumps(request).encode() + b"\n")
    reader.stdin.flush()
    _answer(reader, source)

    def read(name: str) -> Any:
        path = folder / f"{names.index(name)}.npy"
        return (
            np.load(path, allow_pickle=False)
            if path.exists()
            else read_sparse(path.with_suffix(".npz"), f"{name} of {source.name}")
        )

    values = real_numbers(read(variable), f"{variable} of {source.name}")
    ids, labels = (one_per_point(read, name, values.shape[0], source) for name in wanted)
    return Table(values, source.name, "mat", ids=ids, labels=labels)


def _answer(reader: subprocess.Popen[bytes], source: Source) -> dict[str, Any]:
    assert reader.stdout is not None
    line = reader.stdout.readline()
    if not line:
        raise Unreadable(f"{source.name} brings the reader of MATLAB files down: it is damaged; copy or save it anew.")
    answer: dict[str, Any] = json.loads(line)
    if answer.get("error") == "hdf5":
        raise Unreadable(
            f"{source.name} is a MATLAB file of version 7.3 (HDF5), which is not read; in MATLAB, save it with '-v7'."
        )
    if answer.get("error") == "memory":
        raise Unreadable(f"{source.name} needs more memory than is free; take a part of its rows.")
    if "error" in answer:
        raise Unreadable(
            f"{source.name} cannot be read as a MATLAB file ({answer['error'][:200]}); copy or save it anew."
        )
    return answer
