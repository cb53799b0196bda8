"""The sweep with its elementwise work compiled: picked by loss and weighting, never the owner of a definition."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ewnmf import losses
from ewnmf.kernels import Kernel, Seen
from ewnmf.problem import Problem
from ewnmf.updates.rule import Array, Basis, Block, Rule, Terms
from ewnmf.weights import Entropy, Weighting

__all__ = ["FusedKernel", "kernel_for"]


class _Scratch(threading.local):
    """Buffers of one thread, by name; what is written stays until the name is asked for again."""

    def __init__(self) -> None:
        self._buffers: dict[str, Array] = {}

    def take(self, name: str, shape: tuple[int, int], dtype: Any) -> Array:
        size = shape[0] * shape[1]
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)


@dataclass(frozen=True, eq=False)
class FusedKernel(Kernel):
    """The reference's sweep, with ``Y``, weights and pulls in buffers that every block uses again."""

    scratch: _Scratch = field(default_factory=_Scratch)

    def reconstruct(self, basis: Basis, H: Array) -> Array:
        """``Y = W H`` (M x b), in a buffer."""
        codes, components = np.ascontiguousarray(H.T), np.ascontiguousarray(basis[0].T)
        Y = self.scratch.take("Y", (codes.shape[0], components.shape[1]), codes.dtype)
        return np.dot(codes, components, out=Y).T

    def evaluate(self, block: Block, Y: Array, weighting: Weighting) -> Seen:
        """Weights, pulls and objective in one pass over the rows."""
        X, n = block.X.T, block.X.shape[1]
        J, E, loss = np.empty(n), np.empty(n), np.empty(n)
        passes, compiled, limits = _passes(), _compiled(self.problem.loss), self._limits(X.dtype)
        if isinstance(weighting, Entropy) and weighting.adaptive and weighting.gamma > 0:
            A = self.scratch.take("A", X.shape, X.dtype)
            pulled = self.scratch.take("neg", X.shape, X.dtype) if self.rule.needs_pulls else A[:0]
            P, s = A[:0] if block.P is None else block.P.T, A[0, :0] if block.s is None else block.s
            passes.weigh_rows(X, Y.T, P, s, block.silent, compiled, weighting.gamma, limits, A, pulled, J, E, loss)
            return Seen(self._terms(A, Y, pulled), J, E, loss)
        A = self._rows(weighting.constant(block.X, block.P, block.s, block.silent))
        passes.measure_rows(X, Y.T, A, compiled, limits, E)
        if isinstance(weighting, Entropy):
            loss = E * (block.silent + (X.shape[1] if block.P is None else np.sum(block.P, axis=0, dtype=np.float64)))
        else:
            loss = E
        return Seen(self.pulls(block, Y, A.T), E, E, loss)

    def pulls(self, block: Block, Y: Array, A: Array, before: Terms | None = None) -> Terms:
        """``A * neg`` and ``A * pos``; the former is kept where it does not depend on ``Y``."""
        if not self.rule.needs_pulls:
            return super().pulls(block, Y, A)
        X, weights, loss = block.X.T, self._rows(A), self.problem.loss
        keep = before is not None and isinstance(loss, losses.Euclidean)
        pulled = weights[:0] if keep else self.scratch.take("neg", X.shape, X.dtype)
        _passes().pull_rows(X, Y.T, weights, _compiled(loss), self._limits(X.dtype), pulled)
        return self._terms(weights, Y, before.neg.T if keep and before is not None else pulled)

    def _terms(self, A: Array, Y: Array, neg: Array) -> Terms:
        return Terms(A.T, neg.T, Y if isinstance(self.problem.loss, losses.Euclidean) else A.T)

    def _rows(self, A: Array) -> Array:
        """Weights with their rows contiguous; constant ones are written out."""
        if A.T.flags.c_contiguous and A.flags.writeable:
            return A.T
        rows = self.scratch.take("A", (A.shape[1], A.shape[0]), A.dtype)
        rows[...] = A.T
        return rows

    def _limits(self, dtype: Any) -> tuple[float, float, float, float]:
        """Smallest ratio, largest exponent, smallest ``Y``, and the weight below which there is none."""
        single = dtype == np.float32
        return (1e-37, 44.0, self.tiny, 1e-30) if single else (1e-300, 354.0, self.tiny, 1e-150)


@cache
def _passes() -> Any:
    from ewnmf import _passes as passes

    return passes


@cache
def _compiled(loss: losses.Loss) -> Any:
    """The compiled form of a loss."""
    passes = _passes()
    if isinstance(loss, losses.Alpha):
        alpha = float(loss.alpha)
        kind = passes.NearZeroAlpha if abs(alpha) < 0.05 else passes.LowAlpha if alpha < 0.5 else passes.Alpha
        return kind(alpha)
    return passes.Euclidean(0.0) if isinstance(loss, losses.Euclidean) else passes.KullbackLeibler(0.0)


@cache
def _numba_works() -> bool:
    """Whether compiled passes can be had; warns once where they cannot."""
    if find_spec("numba") is not None:
        from numba import config

        return not config.DISABLE_JIT
    warnings.warn(
        "numba is not installed, so ewnmf runs its NumPy reference, which is several times slower; install numba.",
        RuntimeWarning,
        stacklevel=2,
    )
    return False


def kernel_for(problem: Problem, rule: Rule, tiny: float) -> Kernel:
    """The fastest kernel for a problem: compiled for the losses of this package, else the reference."""
    known = type(problem.loss) in (losses.Euclidean, losses.KullbackLeibler, losses.Alpha)
    return (FusedKernel if known and _numba_works() else Kernel)(problem, rule, tiny)
