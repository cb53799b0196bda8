"""The sweep with its elementwise work compiled: picked by loss and weighting, never the owner of a definition."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.compiled.records import Before, Bounds, Given, How, Left, PenalisedBounds, Room, Work
from ewnmf.kernels.reference import Kept, Kernel, Measure, Seen, Swept
from ewnmf.kernels.stored import Look, StoredKernel
from ewnmf.losses.elementary import largest_power, numbers
from ewnmf.models.base import Basis, Block, Terms, largest_factor
from ewnmf.models.nmf import Multiplicative, Penalised
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy

__all__ = ["FusedKernel", "FusedStoredKernel"]


class _Scratch(threading.local):
    """Buffers of one thread, by name; what is written stays until the name is asked for again."""

    def __init__(self) -> None:
        self._buffers: dict[str, Array] = {}
        self._room: tuple[Any, Room | None] = (None, None)

    def __reduce__(self) -> tuple[type[_Scratch], tuple[()]]:
        return _Scratch, ()  # a copy elsewhere has buffers of its own

    def take(self, name: str, shape: tuple[int, int], dtype: Any) -> Array:
        size = shape[0] * shape[1]
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)

    def room(self, K: int, m: int, dtype: Any) -> Room:
        """The buffers of a sweep; those of the last one where it was alike."""
        kind = K, m, dtype
        known, room = self._room
        if room is None or known != kind:
            group, take = _sweeps().GROUP, self.take
            room = Room(
                A=take("group A", (group, m), dtype),
                Y=take("group Y", (group, m), dtype),
                NP=take("NP", (group, 2 * m), dtype),
                O=take("O", (2 * group, K), dtype),
                scaled=take("scaled", (group, K), dtype),
                rows=take("rows", (2, m), dtype),
                factors=take("factors", (1, group), dtype)[0],
            )
            self._room = kind, room
        return room


@dataclass(frozen=True, eq=False)
class FusedKernel(Kernel):
    """The reference's sweep, with ``Y``, weights and pulls in buffers that every block uses again."""

    scratch: _Scratch = field(default_factory=_Scratch)
    known: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What was found of a problem and a weighting, which every block asks for again."""

    def __post_init__(self) -> None:
        if not self.problem.is_known:
            raise TypeError(f"{self.problem!r} has no compiled form; `kernel_for` takes the reference.")

    def reconstruct(self, basis: Basis, H: Array) -> Array:
        """``Y = W H`` (M x b), in a buffer."""
        codes, components = np.ascontiguousarray(H.T), np.ascontiguousarray(basis[0].T)
        Y = self.scratch.take("Y", (codes.shape[0], components.shape[1]), codes.dtype)
        # BLAS may raise the flag by what it does not use; a product that is no number shows, as NaN in Y.
        with np.errstate(invalid="ignore"):
            return np.dot(codes, components, out=Y).T

    def evaluate(self, block: Block, Y: Array, weighting: Weighting) -> Seen:
        """Weights, pulls and objective in one pass over the rows."""
        X, n = block.X.T, block.X.shape[1]
        J, E, loss = np.empty(n), np.empty(n), np.empty(n)
        if weighting.adaptive:
            if weighting.scalar(X.dtype) is None:
                return super().evaluate(block, Y, weighting)
            A = self.scratch.take("A", X.shape, X.dtype)
            pulled = self.scratch.take("neg", X.shape, X.dtype) if self.rule.needs_pulls else A[:0]
            how = self._how(weighting, X.dtype)
            _passes().weigh_rows(self._given(block, weighting), Y.T, how, A, pulled, J, E, loss)
            return Seen(self._terms(A, Y, pulled), J, E, loss)
        A = self._rows(weighting.constant(block.X, block.P, block.s, block.silent))
        _passes().measure_rows(X, Y.T, A, self._loss(X.dtype), E)
        return Seen(self.pulls(block, Y, A.T), E, E, _plain_loss(E, block, weighting))

    def pulls(self, block: Block, Y: Array, A: Array, before: Terms | None = None) -> Terms:
        """``A * neg`` and ``A * pos``; the former is kept where it does not depend on ``Y``."""
        if not self.rule.needs_pulls:
            return super().pulls(block, Y, A)
        X, weights = block.X.T, self._rows(A)
        loss = self._loss(X.dtype)
        keep = before is not None and hasattr(loss, "neg_of_data")
        pulled = weights[:0] if keep else self.scratch.take("neg", X.shape, X.dtype)
        _passes().pull_rows(X, Y.T, weights, loss, pulled)
        return self._terms(weights, Y, before.neg.T if keep and before is not None else pulled)

    def sweep_codes_first(self, block: Block, H: Array, basis: Basis, shared: Any, weighting: Weighting) -> Swept:
        """T, H and the sums under that T, wholly compiled for the multiplicative rule."""
        if not self._compiles(weighting):
            return super().sweep_codes_first(block, H, basis, shared, weighting)
        left, given, how = _left(block, H), self._given(block, weighting), self._how(weighting, H.dtype)
        _sweeps().sweep_codes_first(given, how, self._work(H, basis), self._room(block, H), left)
        return _swept(left, block, weighting)

    def measure(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Measure:
        """The objective of a block: where a sweep is compiled it is measured by one, to compile nothing else for it."""
        if not self._compiles(weighting):
            return super().measure(block, H, basis, weighting)
        return self.sweep_codes_first(block, H, basis, None, weighting).measure

    @property
    def keeps_weights(self) -> bool:
        """Weights that depend on losses; a penalty on codes needs the factor that is not kept."""
        weighting = self.problem.weighting
        return self._compiles(weighting) and weighting.adaptive and not any(self._penalty)

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
        left, given, how = _left(block, H), self._given(block, weighting), self._how(weighting, H.dtype)
        given_before = self._given(block, before[1])
        room = block.X.T[:0] if kept is None else kept.weights.T
        if kept is not None and kept.there:
            given_before = given_before._replace(constant=room)
        last = Before(given_before, self._how(before[1], H.dtype), _writable_rows(before[0][0]))
        _sweeps().sweep_components_first(last, given, how, self._work(H, basis), self._room(block, H), left, room)
        return _swept(left, block, weighting)

    @property
    def encodes_at_once(self) -> int:
        """Points that `encode` takes together."""
        return int(_sweeps().STEP) if self._compiles(self.problem.weighting) else super().encodes_at_once

    def encode(self, block: Block, H: Array, basis: Basis, max_iter: int, tol: float) -> Array:
        """Codes for a fixed basis, wholly compiled for the multiplicative rule."""
        weighting = self.problem.weighting
        if not self._compiles(weighting):
            return super().encode(block, H, basis, max_iter, tol)
        work, how = self._work(H, basis), self._how(weighting, H.dtype)
        first, given = self._given(block, weighting.start()), self._given(block, weighting)
        _sweeps().encode(first, given, how, work, self._room(block, H), _left(block, H), float(tol), max_iter)
        return work.codes.T

    def _once(self, name: Any, weighting: Weighting, find: Callable[[Weighting], Any]) -> Any:
        """What `find` says of the weighting, under the problem that there is."""
        key = name, id(self.problem), id(weighting)
        found, *about = self.known.get(key, (None, None, None))
        if about[0] is not self.problem or about[1] is not weighting:
            found = find(weighting)
            self.known[key] = found, self.problem, weighting
        return found

    def _compiles(self, weighting: Weighting) -> bool:
        """Whether whole sweeps are compiled: multiplicative steps, under weights that have a form."""
        return bool(self._once("compiles", weighting, self._may_compile))

    def _may_compile(self, weighting: Weighting) -> bool:
        if type(self.rule) not in (Multiplicative, Penalised):
            return False
        if any(self._penalty) and not hasattr(self._loss(np.float64), "penalised_factor"):
            return False
        return not weighting.adaptive or weighting.scalar(np.float64) is not None

    def _given(self, block: Block, weighting: Weighting) -> Given:
        """The block for compiled code, with its weights where they do not depend on the losses."""
        X, nothing = block.X.T, block.X.T[:0]
        constant = nothing
        if not weighting.adaptive:
            constant = self._rows(weighting.constant(block.X, block.P, block.s, block.silent))
        # Constant weights have their priors in them, and can do with the machine code of data without any.
        P = block.P.T if block.P is not None and self.problem.weighting.adaptive else None
        return Given(X, P, nothing[:, 0] if block.s is None else block.s, block.silent, constant)

    def _how(self, weighting: Weighting, dtype: Any) -> How:
        """The forms of the loss and of a weighting; constant weights stand in the machine code of the problem's."""
        how: How = self._once(dtype, weighting, partial(self._forms, dtype))
        return how

    def _forms(self, dtype: Any, weighting: Weighting) -> How:
        form = weighting.scalar(dtype)
        if form is None:
            form = self.problem.weighting.scalar(dtype)
        return How(self._loss(dtype), _no_weights(dtype) if form is None else form)

    def _loss(self, dtype: Any) -> Any:
        return self.problem.loss.scalar(numbers(dtype, self.tiny))

    def _work(self, H: Array, basis: Basis) -> Work:
        return Work(_gemm(H.dtype), _writable_rows(H), _writable_rows(basis[0]), self._bounds(H.dtype))

    def _room(self, block: Block, H: Array) -> Room:
        return self.scratch.room(H.shape[0], block.X.shape[0], H.dtype)

    def _bounds(self, dtype: Any) -> Bounds | PenalisedBounds:
        """The least code, the largest factor, the largest code and, where there is one, the penalty on the codes."""
        bounds = self.rule.floor, largest_power(dtype), largest_factor(dtype)
        return PenalisedBounds(*bounds, *self._penalty) if any(self._penalty) else Bounds(*bounds)

    @property
    def _penalty(self) -> tuple[float, ...]:
        return self.rule.on_codes if isinstance(self.rule, Penalised) else ()

    def _terms(self, A: Array, Y: Array, neg: Array) -> Terms:
        return Terms(A.T, neg.T, Y if hasattr(self._loss(A.dtype), "pos") else A.T)

    def _rows(self, A: Array) -> Array:
        """Weights with their rows contiguous; constant ones are written out."""
        if A.T.flags.c_contiguous and A.flags.writeable:
            return A.T
        rows = self.scratch.take("A", (A.shape[1], A.shape[0]), A.dtype)
        rows[...] = A.T
        return rows


@dataclass(frozen=True, eq=False)
class FusedStoredKernel(StoredKernel):
    """The stored entries of a block in one compiled pass."""

    def look(self, X: Any, Y: Any, judge: bool = True) -> Look:
        """The stored entries of a block under ``Y``; without their losses, unless they are to `judge` it."""
        codes = np.ascontiguousarray(Y.right.T, dtype=np.float64)
        costs, near = self.against_zeros(Y) if judge else (np.empty(0), np.empty(0))
        neg = np.empty(X.data.size if self.rule.needs_pulls else 0, X.dtype)
        form = self.problem.loss.scalar(numbers(X.dtype, self.tiny, np.float64))
        stored, rows = (X.data, X.indices, X.indptr), self.prepared(Y.left).rows
        _passes().look_at_stored(stored, codes, rows, near, form, neg, costs)
        return Look(neg, costs)


def _writable_rows(F: Array) -> Array:
    """``F'`` with its rows contiguous; what cannot be written would have machine code of its own."""
    rows = np.ascontiguousarray(F.T)
    return rows if rows.flags.writeable else rows.copy()


def _left(block: Block, H: Array) -> Left:
    """Where a sweep leaves its answers."""
    n, K = H.shape[1], H.shape[0]
    sums = np.zeros((K, 2 * block.X.shape[0]), H.dtype)
    return Left(np.empty((n, K), H.dtype), sums, np.empty(n), np.empty(n), np.empty(n))


def _swept(left: Left, block: Block, weighting: Weighting) -> Swept:
    """What a sweep has left."""
    m, loss = block.X.shape[0], left.L
    if not weighting.adaptive:
        loss = _plain_loss(loss, block, weighting)
    stats = left.S[:, :m].T, left.S[:, m:].T
    return Swept(left.new.T, stats, Measure(float(left.J.sum()), float(left.E.sum()), float(loss.sum())))


def _plain_loss(E: Array, block: Block, weighting: Weighting) -> Array:
    """The prior-weighted sum of losses from ``sum A d`` under constant weights."""
    if not weighting.shared:
        return E
    return E * (block.silent + (block.X.shape[0] if block.P is None else np.sum(block.P, axis=0, dtype=np.float64)))


@cache
def _no_weights(dtype: Any) -> Any:
    """A form that no sweep asks: all its weights are constant."""
    return Entropy(1.0).scalar(dtype)


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
