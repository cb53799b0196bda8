"""The data of a run: the paper's sets scaled point by point to [0, 1], subsets of categories, damage."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from ewnmf import datasets
from ewnmf._types import Array
from ewnmf.datasets._files import data_folder
from ewnmf.experiments.protocol.cartoons import cartoon_faces
from ewnmf.experiments.protocol.spec import Spec

__all__ = ["CATEGORIES", "Sample", "check_available", "class_sizes", "drawn_categories", "sample"]


CATEGORIES = {"yale": 15, "umist": 20, "gtfd": 50, "caltech101": 101, "tdt2": 30, "digits": 10}
"""Categories that subsets are drawn from; Caltech101's without its background folder."""
_BACKGROUND = {"caltech101": 1}
"""Classes before the first category."""
_BUILT_IN = ("signals", "digits", "cartoons")
"""Data sets that need no file: made from the seed, or part of scikit-learn."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Points (n x m, dense or CSR, in [0, 1]), their classes where there are any, and what is known of their damage."""

    X: Any
    classes: Array | None
    damaged: Array | None = None
    clean: Array | None = None
    sources: Array | None = None


def sample(spec: Spec, home: str | None = None) -> Sample:
    """What the spec's run works on; `home` is the data folder, else ``EWNMF_DATA`` and the usual places."""
    if spec.dataset == "signals":
        return _signals(spec.seed)
    if spec.dataset == "cartoons":
        faces = cartoon_faces(spec.seed)
        return Sample(faces.data, None, faces.damaged, faces.clean)
    points, classes = _fetched(spec.dataset, home)
    if spec.draw is not None:
        chosen = np.isin(classes, drawn_categories(spec.dataset, spec.k, spec.draw))
        points, classes = points[chosen], classes[chosen]
    made = Sample(datasets.scale_points(points), classes)
    if not spec.occluded:
        return made
    X, blocks = datasets.occlude(made.X, block=spec.block, fraction=spec.occluded, random_state=spec.seed)
    return replace(made, X=X, damaged=blocks, clean=made.X)


def drawn_categories(dataset: str, k: int, draw: int) -> Array:
    """The `k` categories of a draw, as labels of the data set; they depend on nothing else."""
    random = np.random.default_rng([zlib.crc32(dataset.encode()), k, draw])
    chosen = random.choice(CATEGORIES[dataset], size=k, replace=False)
    return np.sort(chosen) + _BACKGROUND.get(dataset, 0)


def class_sizes(dataset: str, home: str | None = None) -> Array:
    """The number of points of every class."""
    return np.bincount(_fetched(dataset, home)[1])


def check_available(dataset: str, home: str | None = None, *, download: bool = False) -> None:
    """Refuse with a sentence where the data is not there, unless it may be downloaded and that works."""
    if dataset in _BUILT_IN:
        return
    fetch = getattr(datasets, f"fetch_{dataset}")
    try:
        fetch(data_home=home, download_if_missing=download)
    except FileNotFoundError as error:
        folder = data_folder(home)
        raise FileNotFoundError(
            f"the data set {dataset!r} is neither in {folder} nor in {folder / 'raw'}; set EWNMF_DATA (or --data) to "
            "the folder that has it, or add --download."
        ) from error
    except ImportError as error:
        raise OSError(f"the data set {dataset!r} is not at hand: {error}") from error


@lru_cache(maxsize=2)
def _fetched(dataset: str, home: str | None) -> tuple[Any, Array]:
    if dataset == "digits":
        points, classes = load_digits(return_X_y=True)
        return points, classes
    points, classes = getattr(datasets, f"fetch_{dataset}")(data_home=home, download_if_missing=False, return_X_y=True)
    return points, classes


def _signals(seed: int) -> Sample:
    """The signals of Fig. 2 as they are: their loudness matters, so they are not scaled."""
    made = datasets.make_mixed_signals(random_state=seed)
    return Sample(made.data, None, made.damaged, made.clean, made.sources)
