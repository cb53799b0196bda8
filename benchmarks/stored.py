"""Where the data sets lie: the folder that `EWNMF_DATA` names, or the one that is shared beside the repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROOT", "data_home", "stored_set"]

ROOT = Path(__file__).resolve().parents[1]


def data_home() -> Path | None:
    """The folder of the data sets; None, for the user's own, where there is neither."""
    shared = ROOT.parent / "shared" / "data"
    if named := os.environ.get("EWNMF_DATA"):
        return Path(named).expanduser()
    return shared if shared.is_dir() else None


def stored_set(name: str) -> tuple[NDArray[Any], Any]:
    """Points and classes (None where it has none) of a set that is stored as ``NAME.npz``."""
    folder = data_home()
    if folder is None or not (folder / f"{name}.npz").is_file():
        where = "" if folder is None else f" in {folder}"
        raise SystemExit(
            f"{name}.npz is not there{where}: set EWNMF_DATA to the folder that has it, or leave the set out."
        )
    with np.load(folder / f"{name}.npz") as file:
        return file["X"].astype(np.float64), file.get("y")
