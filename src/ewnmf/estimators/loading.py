"""Fitted models from files."""

from __future__ import annotations

import os
from typing import Any

from ewnmf.estimators.convex import ConvexNMF
from ewnmf.estimators.minibatch import MiniBatchEWNMF
from ewnmf.estimators.nmf import EWNMF, NMF
from ewnmf.estimators.orthogonal import ONMF
from ewnmf.estimators.repairer import Repairer
from ewnmf.estimators.saving import read_estimator
from ewnmf.estimators.semi import SemiNMF

__all__ = ["load", "load_with_note"]

_CLASSES = {
    "EWNMF": EWNMF,
    "NMF": NMF,
    "ONMF": ONMF,
    "ConvexNMF": ConvexNMF,
    "MiniBatchEWNMF": MiniBatchEWNMF,
    "SemiNMF": SemiNMF,
    "Repairer": Repairer,
}
"""The names that estimators have in model files; they stay, as those of `ewnmf.estimators.registry` do."""


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that `save` wrote.

    Nothing in the file is run, so that a file from a stranger can be loaded. Every part is compared with the sha256
    that was written with it: a file that is cut short, damaged, changed or of a newer format is refused.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator
        Of the same class, with the same parameters and fitted attributes; `transform` gives the same bits.
    """
    return load_with_note(path)[0]


def load_with_note(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The estimator, and the note that the command wrote with it: how its data was prepared."""
    return read_estimator(path, _CLASSES)
