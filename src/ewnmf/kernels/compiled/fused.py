"""The sweep with its elementwise work compiled: picked by loss and weighting, never the owner of a definition."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from ewnmf import losses
from ewnmf._types import Array
from ewnmf.kernels.reference import Kept, Kernel, Measure, Seen, Swept
from ewnmf.kernels.stored import Look, StoredKernel
from ewnmf.losses.elementary import largest_exponent, largest_power
from ewnmf.models.nmf import Multiplicative, Penalised
from ewnmf.models.rule import Basis, Block, Terms
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy, even_below, held

__all__ = ["FusedKernel", "FusedStoredKernel"]


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


class _Call(NamedTuple):
    """What a compiled sweep gets besides the data, and where it leaves its answers."""

    gemm: int
    codes: Array
    Wt: Array
    bounds: tuple[float, ...]
    buffers: tuple[Array, ...]
    new: Array
    S: Array
    seen: tuple[Array, Array, Array]

    def swept(self, block: Block, weighting: Weighting) -> Swept:
        m, (J, E, loss) = self.Wt.shape[1], self.seen
        if not _softens(weighting):
            loss = _plain_loss(loss, block, weighting)
        stats = self.S[:, :m].T, self.S[:, m:].T
        return Swept(self.new.T, stats, Measure(float(J.sum()), float(E.sum()), float(loss.sum())))


@dataclass(frozen=True, eq=False)
class FusedKernel(Kernel):
    """The reference's sweep, with ``Y``, weights and pulls in buffers that every block uses again."""

    scratch: _Scratch = field(default_factory=_Scratch)

    def __post_init__(self) -> None:
        if not self.problem.is_known:
            raise TypeError(f"{self.problem!r} has no compiled form; `kernel_for` takes the reference.")

    def reconstruct(self, basis: Basis, H: Array) -> Array:
        """``Y = W H`` (M x b), in a buffer."""
        codes, components = np.ascontiguousarray(H.T), np.ascontiguousarray(basis[0].T)
        Y = self.scratch.take("Y", (codes.shape[0], components.shape[1]), codes.dtype)
        with np.errstate(invalid="ignore"):  # BLAS may look beyond the ends of its operands
            return np.dot(codes, components, out=Y).T

    def evaluate(self, block: Block, Y: Array, weighting: Weighting) -> Seen:
        """Weights, pulls and objective in one pass over the rows."""
        X, n = block.X.T, block.X.shape[1]
        J, E, loss = np.empty(n), np.empty(n), np.empty(n)
        passes, compiled, limits = _passes(), _compiled(self.problem.loss), self._limits(X.dtype)
        if _softens(weighting):
            A = self.scratch.take("A", X.shape, X.dtype)
            pulled = self.scratch.take("neg", X.shape, X.dtype) if self.rule.needs_pulls else A[:0]
            P, s = _prior(block), A[0, :0] if block.s is None else block.s
            gammas = _gammas(weighting, X.dtype)
            passes.weigh_rows(X, Y.T, P, s, block.silent, compiled, gammas, limits, A, pulled, J, E, loss)
            return Seen(self._terms(A, Y, pulled), J, E, loss)
        A = self._rows(weighting.constant(block.X, block.P, block.s, block.silent))
        passes.measure_rows(X, Y.T, A, compiled, limits, E)
        return Seen(self.pulls(block, Y, A.T), E, E, _plain_loss(E, block, weighting))

    def pulls(self, block: Block, Y: Array, A: Array, before: Terms | None = None) -> Terms:
        """``A * neg`` and ``A * pos``; the former is kept where it does not depend on ``Y``."""
        if not self.rule.needs_pulls:
            return super().pulls(block, Y, A)
        X, weights, loss = block.X.T, self._rows(A), self.problem.loss
        keep = before is not None and type(loss) is losses.Euclidean
        pulled = weights[:0] if keep else self.scratch.take("neg", X.shape, X.dtype)
        _passes().pull_rows(X, Y.T, weights, _compiled(loss), self._limits(X.dtype), pulled)
        return self._terms(weights, Y, before.neg.T if keep and before is not None else pulled)

    def sweep_codes_first(self, block: Block, H: Array, basis: Basis, shared: Any, weighting: Weighting) -> Swept:
        """T, H and the sums under that T, wholly compiled for the multiplicative rule."""
        if not self._compiles(weighting):
            return super().sweep_codes_first(block, H, basis, shared, weighting)
        call = self._call(block, H, basis)
        given, how = self._given(block, weighting), self._how(weighting, H.dtype)
        _sweeps().sweep_codes_first(
            call.gemm,
            given,
            _prior(block),
            how,
            call.codes,
            call.Wt,
            call.bounds,
            call.buffers,
            call.new,
            call.S,
            call.seen,
        )
        return call.swept(block, weighting)

    def measure(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Measure:
        """The objective of a block: where a sweep is compiled it is measured by one, to compile nothing else for it."""
        if not self._compiles(weighting):
            return super().measure(block, H, basis, weighting)
        return self.sweep_codes_first(block, H, basis, None, weighting).measure

    @property
    def keeps_weights(self) -> bool:
        """Entropy weights of the multiplicative rule; a penalty on codes needs the factor that is not kept."""
        weighting = self.problem.weighting
        return self._compiles(weighting) and type(weighting) is Entropy and not any(self._penalty)

    def sweep_components_first(
        self,
        block: Block,
        H: Array,
        basis: Basis,
        shared: Any,
        before: tuple[Basis, Weighting],
        kept: Kept | None = None,
    ) -> Swept:
        """H under the weights before, then T, then the sums, wholly compiled for the multiplicative rule."""
        weighting = self.problem.weighting
        if not (self._compiles(weighting) and self._compiles(before[1])):
            return super().sweep_components_first(block, H, basis, shared, before)
        call = self._call(block, H, basis)
        given, how = self._given(block, weighting), self._how(weighting, H.dtype)
        given_before, how_before = self._given(block, before[1]), self._how(before[1], H.dtype)
        room = block.X.T[:0] if kept is None else kept.weights.T
        if kept is not None and kept.there:
            given_before = (*given_before[:3], room)
        Wt_before = np.ascontiguousarray(before[0][0].T)
        _sweeps().sweep_components_first(
            call.gemm, given_before, given, _prior(block), how_before, how, call.codes, Wt_before, call.Wt,
            call.bounds, call.buffers, call.new, call.S, call.seen, room,
        )  # fmt: skip
        return call.swept(block, weighting)

    @property
    def encodes_at_once(self) -> int:
        """Points that `encode` takes together."""
        return int(_sweeps().STEP) if self._compiles(self.problem.weighting) else super().encodes_at_once

    def encode(self, block: Block, H: Array, basis: Basis, max_iter: int, tol: float) -> Array:
        """Codes for a fixed basis, wholly compiled for the multiplicative rule."""
        weighting = self.problem.weighting
        if not self._compiles(weighting):
            return super().encode(block, H, basis, max_iter, tol)
        call = self._call(block, H, basis)
        given, how = self._given(block, weighting), self._how(weighting, H.dtype)
        first = self._given(block, weighting.start())
        _sweeps().encode(
            call.gemm, first, given, _prior(block), how, call.Wt, call.bounds, call.buffers, (tol, max_iter),
            call.codes, call.seen,
        )  # fmt: skip
        return call.codes.T

    def _compiles(self, weighting: Weighting) -> bool:
        constant = type(weighting) is Entropy and weighting.gamma == 0
        return type(self.rule) in (Multiplicative, Penalised) and not constant

    def _given(self, block: Block, weighting: Weighting) -> tuple[Any, ...]:
        """The block for compiled code, with its weights where they do not depend on the losses."""
        X, nothing = block.X.T, block.X.T[:0]
        s = nothing[:, 0] if block.s is None else block.s
        constant = nothing
        if not _softens(weighting):
            constant = self._rows(weighting.constant(block.X, block.P, block.s, block.silent))
        return X, s, block.silent, constant

    def _how(self, weighting: Weighting, dtype: Any) -> tuple[Any, ...]:
        gammas = _gammas(weighting, dtype) if _softens(weighting) else (1.0, 1.0)
        return _compiled(self.problem.loss), gammas, self._limits(dtype)

    def _call(self, block: Block, H: Array, basis: Basis) -> _Call:
        n, K, m, dtype, take = H.shape[1], H.shape[0], block.X.shape[0], H.dtype, self.scratch.take
        group = _sweeps().GROUP
        buffers = (
            take("group A", (group, m), dtype),
            take("group Y", (group, m), dtype),
            take("NP", (group, 2 * m), dtype),
            take("O", (2 * group, K), dtype),
            take("scaled", (group, K), dtype),
            take("rows", (2, m), dtype),
            take("factors", (1, group), dtype)[0],
        )
        return _Call(
            _gemm(dtype),
            np.ascontiguousarray(H.T),
            np.ascontiguousarray(basis[0].T),
            self._bounds(dtype),
            buffers,
            np.empty((n, K), dtype),
            np.zeros((K, 2 * m), dtype),
            (np.empty(n), np.empty(n), np.empty(n)),
        )

    def _bounds(self, dtype: Any) -> tuple[float, ...]:
        """The least code, the largest factor and, where there is one, the penalty on the codes."""
        bounds = self.rule.floor, largest_power(dtype)
        return (*bounds, *self._penalty) if any(self._penalty) else bounds

    @property
    def _penalty(self) -> tuple[float, ...]:
        return self.rule.on_codes if isinstance(self.rule, Penalised) else ()

    def _terms(self, A: Array, Y: Array, neg: Array) -> Terms:
        return Terms(A.T, neg.T, Y if type(self.problem.loss) is losses.Euclidean else A.T)

    def _rows(self, A: Array) -> Array:
        """Weights with their rows contiguous; constant ones are written out."""
        if A.T.flags.c_contiguous and A.flags.writeable:
            return A.T
        rows = self.scratch.take("A", (A.shape[1], A.shape[0]), A.dtype)
        rows[...] = A.T
        return rows

    def _limits(self, dtype: Any) -> tuple[float, ...]:
        return _limits(dtype, self.tiny)


@dataclass(frozen=True, eq=False)
class FusedStoredKernel(StoredKernel):
    """The stored entries of a block in one compiled pass."""

    def look(self, X: Any, Y: Any, judge: bool = True) -> Look:
        """The stored entries of a block under ``Y``; without their losses, unless they are to `judge` it."""
        codes = np.ascontiguousarray(Y.right.T, dtype=np.float64)
        costs, near = self.against_zeros(Y) if judge else (np.empty(0), np.empty(0))
        neg = np.empty(X.data.size if self.rule.needs_pulls else 0, X.dtype)
        _passes().look_at_stored(
            (X.data, X.indices, X.indptr), codes, self.prepared(Y.left).rows, near,
            _compiled(self.problem.loss), _limits(X.dtype, self.tiny), neg, costs,
        )  # fmt: skip
        return Look(neg, costs)


def _limits(dtype: Any, tiny: float) -> tuple[float, ...]:
    """Smallest ratio, largest exponent, smallest ``Y``, least weight, mean weight that is nearly 1, `even_below`."""
    small, flush, nearly = (1e-37, 1e-30, 0.9) if dtype == np.float32 else (1e-300, 1e-150, 0.99)
    return small, largest_exponent(dtype), tiny, flush, nearly, even_below(dtype)


def _gammas(weighting: Entropy, dtype: Any) -> tuple[float, float]:
    """Gamma as it is, and within the numbers of `dtype`."""
    return float(weighting.gamma), held(float(weighting.gamma), dtype)


def _softens(weighting: Weighting) -> TypeGuard[Entropy]:
    """Whether the weights are the exponentials of Eq. (18)."""
    return type(weighting) is Entropy and weighting.adaptive and weighting.gamma > 0


def _prior(block: Block) -> Array | None:
    return None if block.P is None else block.P.T


def _plain_loss(E: Array, block: Block, weighting: Weighting) -> Array:
    """The prior-weighted sum of losses from ``sum A d`` under constant weights."""
    if type(weighting) is not Entropy:
        return E
    return E * (block.silent + (block.X.shape[0] if block.P is None else np.sum(block.P, axis=0, dtype=np.float64)))


@cache
def _sweeps() -> Any:
    from ewnmf.kernels.compiled import sweeps

    return sweeps


@cache
def _gemm(dtype: Any) -> int:
    from ewnmf.kernels.compiled.blas import gemm_address

    return gemm_address(dtype)


@cache
def _passes() -> Any:
    from ewnmf.kernels.compiled import passes

    return passes


@cache
def _compiled(loss: losses.Loss) -> Any:
    """The compiled form of a loss."""
    from ewnmf.kernels.compiled import rows

    if type(loss) is losses.Alpha:
        alpha = float(loss.alpha)
        kind = rows.NearZeroAlpha if abs(alpha) < 0.05 else rows.LowAlpha if alpha < 0.5 else rows.Alpha
        return kind(alpha)
    if type(loss) is losses.Euclidean:
        return rows.Euclidean(0.0)
    if type(loss) is losses.KullbackLeibler:
        return rows.KullbackLeibler(0.0)
    raise TypeError(f"loss={loss!r} has no compiled form; `kernel_for` takes the reference.")
