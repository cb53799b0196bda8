"""Programs that run for a given number of iterations from a problem's start: ours, scikit-learn's, plain NumPy."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import non_negative_factorization

from benchmarks import transcription
from benchmarks.problems import Problem
from benchmarks.timing import Work
from ewnmf import factorize
from ewnmf.storage.matrix import storage
from ewnmf.storage.threads import Workers, count_workers, single_threaded_blas

__all__ = ["ORDER", "OTHER_ORDER", "matrix_product", "ours", "plain_numpy", "products_alone", "scikit_learn"]

Array = NDArray[Any]
ORDER, OTHER_ORDER = "codes-first", "components-first"
"""The estimators' order of the updates, and the authors'."""
GAMMA = 0.1


def ours(problem: Problem, *, order: str = ORDER, gamma: float = GAMMA, **settings: Any) -> Work:
    """`ewnmf.factorize` with entropy weights."""

    def work(n_iter: int) -> object:
        return factorize(
            problem.X,
            problem.K,
            codes=problem.codes,
            components=problem.components,
            order=order,
            gamma=gamma,
            max_iter=n_iter,
            **settings,
        )

    return work


def plain_numpy(problem: Problem, gamma: float = GAMMA) -> Work:
    """The transcription of the paper, with BLAS threads as NumPy has them by default."""
    X, W, H = paper_orientation(problem)
    return lambda n_iter: transcription.run(X, W, H, gamma, n_iter)


def paper_orientation(problem: Problem) -> tuple[Array, Array, Array]:
    """``X`` (M x N), ``W`` (M x K) and ``H`` (K x N), rows contiguous."""
    return (
        np.ascontiguousarray(problem.X.T),
        np.ascontiguousarray(problem.components.T),
        np.ascontiguousarray(problem.codes.T),
    )


def scikit_learn(problem: Problem, solver: str = "mu", beta_loss: str = "frobenius") -> Work:
    """scikit-learn's unweighted NMF."""

    def work(n_iter: int) -> object:
        return non_negative_factorization(
            problem.X,
            W=problem.codes.copy(),
            H=problem.components.copy(),
            n_components=problem.K,
            init="custom",
            solver=solver,
            beta_loss=beta_loss,
            tol=0,
            max_iter=n_iter,
        )

    return work


def matrix_product(side: int) -> Work:
    """A square float64 product with the threads BLAS has by default: ``2 side^3`` operations an iteration."""
    A, B = np.random.default_rng(0).random((2, side, side))
    C = np.empty_like(A)

    def work(n_iter: int) -> object:
        for _ in range(n_iter):
            np.dot(A, B, out=C)
        return C

    return work


def products_alone(problem: Problem) -> Work:
    """The six matrix products of a codes-first iteration in our blocks and threads, and nothing else."""
    cuts, buffers = storage(problem.X.T).cuts(), threading.local()
    X, codes, W = problem.X, problem.codes, problem.components

    def on_block(cut: slice) -> None:
        H = codes[cut]
        if getattr(buffers, "Y", np.empty(0)).size < H.shape[0] * X.shape[1]:
            buffers.Y = np.empty((H.shape[0], X.shape[1]))
        Y = buffers.Y[: H.shape[0]]
        for _ in range(2):
            np.dot(H, W, out=Y)
        for terms in (X[cut], Y):
            np.dot(terms, W.T)
            np.dot(H.T, terms)

    def work(n_iter: int) -> object:
        with Workers(count_workers(None)) as workers:
            for _ in range(n_iter):
                with single_threaded_blas():
                    list(workers.map(on_block, cuts))
        return None

    return work
