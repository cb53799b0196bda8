"""What is factorized: random data of a given size, and the paper's images, each with the start all contenders share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.stored import data_home
from ewnmf import datasets

__all__ = ["Problem", "data_problem", "random_problem", "size"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """``X`` (n x m) with the start ``codes`` (n x K) and ``components`` (K x m) that all contenders share."""

    X: Array
    codes: Array
    components: Array

    @property
    def K(self) -> int:
        """Number of components."""
        return int(self.codes.shape[1])

    @property
    def flops(self) -> int:
        """``12 n m K``: the arithmetic of the six matrix products of a weighted iteration."""
        return 12 * self.X.size * self.K

    def astype(self, dtype: Any) -> Problem:
        """The same problem in another precision."""
        return Problem(self.X.astype(dtype), self.codes.astype(dtype), self.components.astype(dtype))


def size(shape: tuple[int, int, int]) -> str:
    """``n x m, K`` in words."""
    n, m, K = shape
    return f"{n} x {m}, K {K}"


def started(X: Array, K: int, seed: int = 0) -> Problem:
    """`X` with a start uniform on [0.1, 1.1], as in the paper."""
    rng = np.random.default_rng(seed)
    return Problem(X, rng.uniform(0.1, 1.1, (X.shape[0], K)), rng.uniform(0.1, 1.1, (K, X.shape[1])))


def random_problem(n: int, m: int, K: int, seed: int = 0) -> Problem:
    """``X`` (n x m) uniform on [0, 1), in float64."""
    return started(np.random.default_rng(seed + 1).random((n, m)), K, seed)


def data_problem(name: str, K: int, *, download: bool = False, limit: int | None = None) -> Problem:
    """A data set with every point scaled to [0, 1], or an OSError or ImportError that says what is missing.

    Parameters
    ----------
    name : {"yale", "umist", "gtfd", "caltech101", "digits"}
        ``"digits"`` are scikit-learn's own.
    K : int
        Number of components of the start.
    download : bool
        Whether to download a data set that is not there.
    limit : int, optional
        The first points alone.

    Returns
    -------
    Problem
        Data and start.
    """
    if name == "digits":
        X = load_digits().data
    else:
        X = getattr(datasets, f"fetch_{name}")(data_home=data_home(), download_if_missing=download).data
    return started(np.ascontiguousarray(datasets.scale_points(X[:limit])), K)
