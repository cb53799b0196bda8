"""Other packages that factorize with or without weights, where they are installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders import OTHER_ORDER, ours, plain_numpy, scikit_learn
from benchmarks.problems import Problem
from benchmarks.timing import Work

__all__ = ["EWNMF", "PEERS", "Peer"]

Array = NDArray[Any]


class Peer(NamedTuple):
    """A contender: its name, what an iteration of it does, how it is made, and the modules it needs."""

    name: str
    does: str
    make: Callable[[Problem], Work]
    modules: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """Modules that are not installed."""
        return [module for module in self.modules if find_spec(module) is None]


def wnmf(problem: Problem) -> Work:
    """wNMF from the shared start, with random weights; its columns are points."""
    package = import_module("wNMF")
    X = problem.X.T.copy(order="C")
    A = np.random.default_rng(2).uniform(0.1, 1.0, X.shape)

    class FromStart(package.wNMF):  # type: ignore[misc, name-defined]
        def initialize_u_v(self, *ignored: object) -> tuple[Array, Array]:
            return problem.components.T.copy(), problem.codes.T.copy()

    return lambda n_iter: FromStart(problem.K, max_iter=n_iter, verbose=0).fit(X, A)


def torchnmf(problem: Problem) -> Work:
    """torchnmf on the processor, in float64, from the shared start."""
    torch, package = import_module("torch"), import_module("torchnmf.nmf")
    X, codes, basis = (torch.from_numpy(part.copy()) for part in (problem.X, problem.codes, problem.components.T))

    def work(n_iter: int) -> object:
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            return package.NMF(W=basis, H=codes).fit(X, beta=2, tol=-np.inf, max_iter=n_iter)
        finally:
            torch.set_default_dtype(usual)

    return work


def _other_order(problem: Problem) -> Work:
    return ours(problem, order=OTHER_ORDER)


def _coordinate_descent(problem: Problem) -> Work:
    return scikit_learn(problem, solver="cd")


EWNMF = "EWNMF"
PEERS = (
    Peer(EWNMF, "weights learned", ours),
    Peer(f"EWNMF, {OTHER_ORDER}", "weights learned", _other_order),
    Peer("NumPy transcription", "weights learned", plain_numpy),
    Peer("wNMF", "weights fixed", wnmf, ("wNMF",)),
    Peer("scikit-learn mu", "unweighted", scikit_learn),
    Peer("scikit-learn cd", "unweighted, coordinate descent", _coordinate_descent),
    Peer("torchnmf", "unweighted", torchnmf, ("torch", "torchnmf")),
)
