"""The sweep with its elementwise work compiled: picked by loss and weighting, never the owner of a definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.compiled import loaded
from ewnmf.kernels.compiled.records import (
    Before,
    Bounds,
    Given,
    How,
    Left,
    Room,
    StoredEntries,
    Systems,
    Tiles,
    Work,
)
from ewnmf.kernels.compiled.scratch import Scratch
from ewnmf.kernels.least_squares import flat, largest_code, opened, supported
from ewnmf.kernels.reference import Kept, Kernel, Measure, Seen, Swept
from ewnmf.kernels.stored import NEARLY_FITTED
from ewnmf.losses.elementary import largest_power, numbers
from ewnmf.models.base import Basis, Block, Stats, Terms, largest_factor
from ewnmf.models.coordinate import furthest
from ewnmf.models.nmf import Multiplicative, Penalised
from ewnmf.models.penalty import Penalty
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.entropy import Entropy

__all__ = ["FusedKernel"]

_MANY = 8192
"""Attributes from which on a sweep takes tiles of them."""
_FEW = 0.05
"""Up to this share of stored entries those are multiplied one by one."""


class _Latest:
    """The basis whose codes were asked for last, what its systems are made of, and ``W'W``."""

    held: tuple[Array, Systems, Array] | None = None


@dataclass(frozen=True, eq=False)
class FusedKernel(Kernel):
    """The reference's sweep, with ``Y``, weights and pulls in buffers that every block uses again."""

    scratch: Scratch = field(default_factory=Scratch)
    known: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What was found of a problem and a weighting, which every block asks for again."""
    latest: _Latest = field(default_factory=_Latest)

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
            loaded.passes().weigh_rows(self._given(block, weighting), Y.T, how, A, pulled, J, E, loss)
            return Seen(self._terms(A, Y, pulled), J, E, loss)
        A = self._rows(weighting.constant(block.X, block.P, block.s, block.silent))
        loaded.passes().measure_rows(X, Y.T, A, self._loss(X.dtype), E)
        return Seen(self.pulls(block, Y, A.T), E, E, _plain_loss(E, block, weighting))

    def pulls(self, block: Block, Y: Array, A: Array, before: Terms | None = None) -> Terms:
        """``A * neg`` and ``A * pos``; the former is kept where it does not depend on ``Y``."""
        if not self.rule.needs_pulls:
            return super().pulls(block, Y, A)
        X, weights = block.X.T, self._rows(A)
        loss = self._loss(X.dtype)
        keep = before is not None and hasattr(loss, "neg_of_data")
        pulled = weights[:0] if keep else self.scratch.take("neg", X.shape, X.dtype)
        loaded.passes().pull_rows(X, Y.T, weights, loss, pulled)
        return self._terms(weights, Y, before.neg.T if keep and before is not None else pulled)

    def sweep_codes_first(self, block: Block, H: Array, basis: Basis, shared: Any, weighting: Weighting) -> Swept:
        """T, H and the sums under that T, wholly compiled for the multiplicative rule."""
        if self.rule.moves_coordinates:
            return self._sweep_coordinates(block, H, basis[0], shared)
        if not self._compiles(weighting):
            return super().sweep_codes_first(block, H, basis, shared, weighting)
        return self._sweep_codes(block, H, basis, weighting, _no_rows(block, H.dtype))

    def _sweep_codes(self, block: Block, H: Array, basis: Basis, weighting: Weighting, kept: Array) -> Swept:
        left, how = _left(block, H), self._how(weighting, H.dtype)
        given = self._given(block, weighting, self._stored(block, weighting))
        sweeps, room = self._sweeps(block, H, weighting)
        sweeps.sweep_codes_first(given, how, self._work(H, basis), room, left, kept)
        return _swept(left, block, weighting)

    def weigh(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Array:
        """The effective weights of a block: where a sweep is compiled one leaves them, to compile nothing else."""
        rule: Any = self.rule
        opened = replace(self, rule=rule.opening) if rule.solves_codes else self
        if not weighting.adaptive or not opened._compiles(weighting):
            return super().weigh(block, H, basis, weighting)
        kept = np.empty(block.shape[::-1], H.dtype)
        opened._sweep_codes(block, H, basis, weighting, kept)
        return kept.T

    def measure(self, block: Block, H: Array, basis: Basis, weighting: Weighting) -> Measure:
        """The objective of a block: where a sweep is compiled it is measured by one, to compile nothing else for it."""
        if self.rule.moves_coordinates:
            return self._sweep_coordinates(block, H, basis[0], self.rule.shared(basis, ())).measure
        if not self._compiles(weighting):
            return super().measure(block, H, basis, weighting)
        return self.sweep_codes_first(block, H, basis, None, weighting).measure

    def _sweep_coordinates(self, block: Block, H: Array, W: Array, G: Array) -> Swept:
        """Coordinate descent: products with the data by BLAS, the rest compiled."""
        X, Wt, codes = block.X.T, np.ascontiguousarray(W.T), np.ascontiguousarray(H.T)
        rule: Any = self.rule
        with np.errstate(invalid="ignore"):  # as in `reconstruct`
            B = np.dot(X, W).astype(np.float64, copy=False)
            slopes = B - codes.astype(np.float64, copy=False) @ G
        near, losses = NEARLY_FITTED if X.dtype == np.float64 else 1.0, np.empty(X.shape[0])
        loaded.coordinates().measure_rows(X, B, slopes, Wt, codes, near, losses)
        new = _moved_rows(G, slopes, rule.on_codes, rule.sweeps(len(H)), codes)
        loss = losses if block.s is None else losses * block.s
        E = float((loss + self.rule.penalty_codes(block, H)).sum())
        return Swept(new.T, self.rule.stats(block, new.T, (W,), _NO_TERMS), Measure(E, E, float(loss.sum())))

    def move_basis(self, basis: Basis, stats: Stats) -> Basis:
        """The new basis; coordinate descent is compiled."""
        if not self.rule.moves_coordinates:
            return super().move_basis(basis, stats)
        rule: Any = self.rule
        num, G = (part.astype(np.float64, copy=False) for part in stats)
        W = np.ascontiguousarray(basis[0])
        slopes = num - W.astype(np.float64, copy=False) @ G
        new = _moved_rows(G, slopes, rule.on_basis, rule.sweeps(len(G), basis=True), W, rule.facts.fixed)
        return (np.asfortranarray(new),)

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
        left, how, stored = _left(block, H), self._how(weighting, H.dtype), self._stored(block, weighting)
        given, given_before = (self._given(block, each, stored) for each in (weighting, before[1]))
        room = _no_rows(block, H.dtype) if kept is None else kept.weights.T
        if kept is not None and kept.there:
            given_before = given_before._replace(constant=room)
        last = Before(given_before, self._how(before[1], H.dtype), _writable_rows(before[0][0]))
        sweeps, desk = self._sweeps(block, H, weighting)
        sweeps.sweep_components_first(last, given, how, self._work(H, basis), desk, left, room)
        return _swept(left, block, weighting)

    @property
    def encodes_at_once(self) -> int:
        """Points that `encode` takes together."""
        rule: Any = self.rule
        if rule.solves_codes and self._has_form:
            return replace(self, rule=rule.opening).encodes_at_once if self.problem.weighting.adaptive else 1
        return int(loaded.sweeps().STEP) if self._compiles(self.problem.weighting) else super().encodes_at_once

    @property
    def encodes_alike(self) -> bool:
        """Compiled code takes rows by as many as BLAS treats alike."""
        return (self.rule.solves_codes and self._has_form) or self._compiles(self.problem.weighting)

    def encode(self, block: Block, H: Array, basis: Basis, max_iter: int, tol: float) -> Array:
        """Codes for a fixed basis, wholly compiled for the multiplicative rule and least squares."""
        if not self.encodes_alike:
            return super().encode(block, H, basis, max_iter, tol)
        if self.rule.solves_codes:
            return self._solve_codes(block._replace(s=None), H, basis[0], max_iter, tol)
        weighting = self.problem.weighting
        work, how = self._work(H, basis), self._how(weighting, H.dtype)
        first, given = self._given(block, weighting.start()), self._given(block, weighting)
        loaded.sweeps().encode(first, given, how, work, self._room(block, H), _left(block, H), float(tol), max_iter)
        return work.codes.T

    def _once(self, name: Any, weighting: Weighting, find: Callable[[Weighting], Any]) -> Any:
        """What `find` says of the weighting, under the problem that there is."""
        key = name, id(self.problem), id(weighting)
        found, *about = self.known.get(key, (None, None, None))
        if about[0] is not self.problem or about[1] is not weighting:
            found = find(weighting)
            self.known[key] = found, self.problem, weighting
        return found

    def _solve_codes(self, block: Block, H: Array, W: Array, max_iter: int, tol: float) -> Array:
        """Codes by least squares: solved, or where weights adapt, found in rounds."""
        weighting = self.problem.weighting
        systems, gram = self._systems(W, weighting.adaptive or block.P is not None)
        room, X = self.scratch.slots(W.shape, H.dtype), block.X.T
        if weighting.adaptive:
            codes = np.ascontiguousarray(opened(self, block, H, systems.Wt.T).T)
            how, given = self._how(weighting, H.dtype), self._given(block, weighting)
            rounds = loaded.rounds()
            desks = rounds.desks(W.shape[1], H.dtype)
            rounds.descend(given, how, systems, room, desks, flat(H.dtype), tol, max_iter, codes)
            return codes.T
        codes, scale, constant = np.empty(H.shape[::-1], H.dtype), 1.0, X[:0]
        if block.P is None:
            scale = float(weighting.constant(block.X[:, :1], silent=block.silent)[0, 0])
        else:
            constant = self._rows(weighting.constant(block.X, block.P, None, block.silent))
        gram = scale * gram
        gram[np.diag_indices_from(gram)] += systems.ridge
        loaded.least_squares().solve(X, constant, gram, scale, systems, room, codes)
        return codes.T

    @property
    def _has_form(self) -> bool:
        """Whether weights have a compiled form, or need none."""
        weighting = self.problem.weighting
        return not weighting.adaptive or weighting.scalar(np.float64) is not None

    def _systems(self, W: Array, own: bool) -> tuple[Systems, Array]:
        """What all systems are made of, and ``W'W``: made once for a basis; `own` where every point has one."""
        held = self.latest.held
        if held is None or held[0] is not W:
            rows = np.ascontiguousarray(supported(W, self.rule.basis_floor))
            linear, ridge = self.rule.on_codes  # type: ignore[attr-defined]
            double, Wt = rows.astype(np.float64, copy=False), np.ascontiguousarray(rows.T)
            made = loaded.gemm(np.float64), Wt.astype(np.float64, copy=False), double, self._pairs(double, own)
            systems = Systems(loaded.gemm(W.dtype), Wt, *made, linear / 2, ridge / 2, largest_code(W))
            held = self.latest.held = (W, systems, double.T @ double)
        return held[1], held[2]

    def _pairs(self, rows: Array, own: bool) -> Array:
        """The products of pairs of components at every attribute, where they are needed and not too large."""
        shape = rows.shape[0], rows.shape[1] * (rows.shape[1] + 1) // 2
        keep = own and shape[0] * shape[1] * rows.itemsize <= _PAIR_BYTES
        pairs = np.empty((shape[0] if keep else 0, shape[1]), rows.dtype)
        if pairs.size > 0:
            loaded.least_squares().pair_rows(rows, pairs)
        return pairs

    def _compiles(self, weighting: Weighting) -> bool:
        """Whether whole sweeps are compiled: multiplicative steps, under weights that have a form."""
        return bool(self._once("compiles", weighting, self._may_compile))

    def _may_compile(self, weighting: Weighting) -> bool:
        if type(self.rule) not in (Multiplicative, Penalised):
            return False
        if any(self._penalty) and not hasattr(self._loss(np.float64), "penalised_factor"):
            return False
        return not weighting.adaptive or weighting.scalar(np.float64) is not None

    def _given(self, block: Block, weighting: Weighting, stored: StoredEntries | None = None) -> Given:
        """The block for compiled code, with its weights where they do not depend on the losses."""
        X = block.X.T if stored is None else np.broadcast_to(np.zeros(1, stored.data.dtype), block.shape[::-1])
        constant = nothing = _no_rows(block, X.dtype)
        if not weighting.adaptive:
            constant = self._rows(weighting.constant(block.X, block.P, block.s, block.silent))
        # Constant weights have their priors in them, and can do with the machine code of data without any.
        P = block.P.T if block.P is not None and self.problem.weighting.adaptive else None
        return Given(X, P, nothing[:, 0] if block.s is None else block.s, block.silent, constant, stored)

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
        return Work(loaded.gemm(H.dtype), _writable_rows(H), _writable_rows(basis[0]), self._bounds(H.dtype))

    def _sweeps(self, block: Block, H: Array, weighting: Weighting) -> tuple[Any, Room | Tiles]:
        """The compiled sweeps of a block and their buffers."""
        if not _by_tiles(block, weighting):
            return loaded.sweeps(), self._room(block, H)
        return loaded.wide(), self.scratch.tiles(H.shape[0], block.shape[0], H.dtype)

    def _stored(self, block: Block, weighting: Weighting) -> StoredEntries | None:
        """The stored entries of a block, where it is swept by tiles and so few that these do with them."""
        X = block.stored
        if X is None or self.problem.loss.zero_cost is None or not _by_tiles(block, weighting):
            return None
        few = X.nnz <= _FEW * X.shape[0] * X.shape[1]
        return StoredEntries(X.data, X.indices, X.indptr) if few else None

    def _room(self, block: Block, H: Array) -> Room:
        return self.scratch.room(H.shape[0], block.shape[0], H.dtype)

    def _bounds(self, dtype: Any) -> Bounds:
        """The least code, the largest factor, the largest code and, where there is one, the penalty on the codes."""
        found: Bounds | None = self.known.get(dtype)
        if found is None:
            found = Bounds(self.rule.floor, largest_power(dtype), largest_factor(dtype), *self._penalty)
            self.known[dtype] = found
        return found

    @property
    def _penalty(self) -> tuple[float, float]:
        return self.rule.on_codes if isinstance(self.rule, Penalised) else (0.0, 0.0)

    def _terms(self, A: Array, Y: Array, neg: Array) -> Terms:
        return Terms(A.T, neg.T, Y if hasattr(self._loss(A.dtype), "pos") else A.T)

    def _rows(self, A: Array) -> Array:
        """Weights with their rows contiguous; constant ones are written out."""
        if A.T.flags.c_contiguous and A.flags.writeable:
            return A.T
        rows = self.scratch.take("A", (A.shape[1], A.shape[0]), A.dtype)
        rows[...] = A.T
        return rows


def _by_tiles(block: Block, weighting: Weighting) -> bool:
    """Whether a block is swept by tiles of its attributes, of which it has many."""
    return block.shape[0] >= _MANY and weighting.adaptive and block.P is None


def _writable_rows(F: Array) -> Array:
    """``F'`` with its rows contiguous; what cannot be written would have machine code of its own."""
    rows = np.ascontiguousarray(F.T)
    return rows if rows.flags.writeable else rows.copy()


_PAIR_BYTES = 1 << 26
"""Products of pairs of components are kept up to this size, and else made anew where they are needed."""
_NO_TERMS = Terms(np.empty(0), np.empty(0), np.empty(0))


def _moved_rows(G: Array, slopes: Array, penalty: Penalty, sweeps: int, factor: Array, first: int = 0) -> Array:
    """The rows of a factor (n x K) after some sweeps of coordinate descent."""
    new, G = np.empty_like(factor), np.ascontiguousarray(G)
    linear, ridge, most = penalty.linear / 2, penalty.ridge / 2, furthest(factor.dtype)
    loaded.coordinates().move_rows(G, np.ascontiguousarray(slopes), linear, ridge, most, sweeps, first, factor, new)
    return new


def _no_rows(block: Block, dtype: Any) -> Array:
    """What stands for an array that has as many columns as the block has attributes, where there is none."""
    return np.empty((0, block.shape[0]), dtype)


def _left(block: Block, H: Array) -> Left:
    """Where a sweep leaves its answers."""
    n, K = H.shape[1], H.shape[0]
    sums = np.zeros((K, 2 * block.shape[0]), H.dtype)
    return Left(np.empty((n, K), H.dtype), sums, np.empty((3, n)))


def _swept(left: Left, block: Block, weighting: Weighting) -> Swept:
    """What a sweep has left."""
    m, measure = block.shape[0], Measure(*left.seen.sum(axis=1).tolist())
    if not weighting.adaptive:
        measure = measure._replace(loss=float(_plain_loss(left.seen[2], block, weighting).sum()))
    return Swept(left.new.T, (left.S[:, :m].T, left.S[:, m:].T), measure)


def _plain_loss(E: Array, block: Block, weighting: Weighting) -> Array:
    """The prior-weighted sum of losses from ``sum A d`` under constant weights."""
    if not weighting.shared:
        return E
    return E * (block.silent + (block.X.shape[0] if block.P is None else np.sum(block.P, axis=0, dtype=np.float64)))


@cache
def _no_weights(dtype: Any) -> Any:
    """A form that no sweep asks: all its weights are constant."""
    return Entropy(1.0).scalar(dtype)
