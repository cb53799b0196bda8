"""Codes for a fixed basis by least squares, every point on its own: the NumPy reference.

Under weights that stay the codes of a point solve ``min h'Gh - 2 b'h`` over ``h >= 0`` with ``G = W' diag(A) W`` and
``b = W'(A x)``, and half the penalty in both. Weights that depend on the losses make rounds of such problems. With
``r`` the residuals at the present codes, a round minimises the model ``E + z'Gz - 2 (W'(A r))'z`` of a step ``z``, with
``G = W' diag(A c) W`` and ``c = 1 - 2 decline`` the curvature that ``E`` has there: Newton's step, but for a part of
rank one, and with ``c`` held positive. The codes go there, or a shorter way, if ``E`` is no higher (but for rounding,
which would choose at random where ``E`` is flat); else they go where ``c = 1``, which is the majoriser, has its least
value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf._types import Array, Float64
from ewnmf.models.base import Basis, Block, product

if TYPE_CHECKING:
    from ewnmf.kernels.reference import Kernel

__all__ = [
    "CURVED",
    "DEPENDENT",
    "ROUNDS",
    "SETTLED",
    "SHARES",
    "SOON",
    "SWEEPS",
    "encode",
    "flat",
    "largest_code",
    "nonnegative",
    "opened",
    "supported",
]

SWEEPS = 2
"""Passes of coordinate descent between two looks at the face that they lead to."""
SETTLED = 1e-24
"""What a coordinate may still gain, as a share of what all have gained together."""
DEPENDENT = 1e-12
"""A coordinate of which less than this share is its own depends on the others of its face."""
CURVED = 0.1
"""The least share of a weight that counts as curvature."""
SHARES = (0.25, 0.0625, 0.015625)
"""Of a step that was too long."""
FLAT = 64
"""Spacings of the dtype within which two values of ``E`` are equal."""
SOON = 0.1
"""The least share of what a round has gained that the next one is expected to."""
OPENING = 5
"""Steps before the first round, where weights depend on the losses."""
ROUNDS = 200
"""Rounds that one system has at the most."""
_LARGEST = 0.4


def largest_code(W: Array) -> float:
    """The largest code: squares of what it reconstructs can still be summed."""
    limit: float = float(np.finfo(W.dtype).max) ** _LARGEST
    return limit / max(1.0, float(np.abs(W).max()))


def supported(W: Array, basis_floor: float) -> Array:
    """The basis with zeros for components that are nothing but floor: they would ask for endless codes."""
    dead = np.sqrt(np.sum(np.square(W, dtype=np.float64), axis=0)) <= 1e10 * basis_floor
    return np.where(dead, W.dtype.type(0), W) if dead.any() else W


def nonnegative(G: Float64, b: Float64, h: Float64, most: float) -> Float64:
    """``min h'Gh - 2 b'h`` over ``0 <= h <= most``, from `h` (K): the best of its face, then coordinate descent.

    Every part of it only descends. It ends where no coordinate has more to gain than rounding.
    """
    h = np.where(np.diag(G) > 0, h, 0.0)
    for _ in range(ROUNDS):
        _fit_face(G, b, h, most)
        if _settled(G, b, h, most):
            break
        for _ in range(SWEEPS):
            _sweep(G, b, h, most)
    return h


def _sweep(G: Float64, b: Float64, h: Float64, most: float) -> None:
    """One coordinate after the other at its best value, the others fixed."""
    g = b - G @ h
    for k in np.flatnonzero(np.diag(G) > 0):
        best = min(max(h[k] + g[k] / G[k, k], 0.0), most)
        g -= (best - h[k]) * G[k]
        h[k] = best


def _fit_face(G: Float64, b: Float64, h: Float64, most: float) -> None:
    """Go to the best point of the face that `h` lies in, or as far as its border, and on along that.

    A coordinate that depends on others is given to them first, as far as they stay within their ends: nothing but the
    face changes.
    """
    for _ in range(2 * h.size):
        free = np.flatnonzero((h > 0) & (h < most))
        if free.size == 0:
            return
        U, held = _factorize(G[np.ix_(free, free)])
        if held < free.size:
            free, limit = free[: held + 1], np.inf
            step = np.append(np.linalg.solve(U[:held, :held], U[:held, held]), -1.0)
        else:
            limit = 1.0
            step = np.linalg.solve(U, np.linalg.solve(U.T, (b - G @ h)[free]))
        ends = np.where(step < 0, 0.0, most)
        with np.errstate(over="ignore"):  # next to no step, and as many of them as one likes
            shares = np.divide(ends - h[free], step, out=np.full(free.size, np.inf), where=step != 0)
        first = int(np.argmin(shares))
        h[free] = np.clip(h[free] + min(limit, shares[first]) * step, 0.0, most)
        if shares[first] >= limit:
            return
        h[free[first]] = ends[first]


def _factorize(G: Float64) -> tuple[Float64, int]:
    """``U'U = G`` as far as coordinates do not depend on those before them, and how many that are."""
    U, n = G.copy(), len(G)
    for k in range(n):
        if not U[k, k] > DEPENDENT * G[k, k]:
            return np.triu(U), k
        U[k, k:] /= np.sqrt(U[k, k])
        U[k + 1 :, k + 1 :] -= np.outer(U[k, k + 1 :], U[k, k + 1 :])
    return np.triu(U), n


def _settled(G: Float64, b: Float64, h: Float64, most: float) -> bool:
    """Whether no coordinate has more to gain than rounding."""
    g, curves = b - G @ h, np.diag(G)
    stuck = ((h <= 0) & (g <= 0)) | ((h >= most) & (g >= 0)) | (curves <= 0)
    least = np.sqrt(np.maximum(SETTLED * (b @ h), 0.0))
    return bool(np.all(stuck | (np.abs(g) <= least * np.sqrt(np.maximum(curves, 0)))))


class _Systems:
    """The systems of the points of a block, in double precision."""

    def __init__(self, kernel: Kernel, W: Array) -> None:
        self.W = W.astype(np.float64)
        linear, ridge = kernel.rule.on_codes  # type: ignore[attr-defined]
        self.linear, self.ridge = linear / 2, ridge / 2 * np.eye(W.shape[1])
        self.most = largest_code(W)

    def solve(self, c: Array, pulled: Array, h: Float64) -> Float64:
        """The least of ``z'Gz - 2 (W'pulled)'z`` and the penalty for steps ``z`` from `h`, as the codes it leads to."""
        G = (self.W * c[:, None]).T @ self.W
        b = self.W.T @ pulled + G @ h - self.linear
        return nonnegative(G + self.ridge, b, h, self.most)


def encode(kernel: Kernel, block: Block, H: Array, basis: Basis, max_iter: int, tol: float) -> Array:
    """Codes (K x b) for a fixed basis; where weights depend on losses, from `H`."""
    W, block, weighting = supported(basis[0], kernel.rule.basis_floor), block._replace(s=None), kernel.problem.weighting
    systems = _Systems(kernel, W)
    if weighting.adaptive:
        return _descend(kernel, systems, block, opened(kernel, block, H, W), W, max_iter, tol)
    A, X, nothing = kernel.weigh(block, H, (W,), weighting), block.X, np.zeros(W.shape[1])
    found = [systems.solve(A[:, j], A[:, j] * X[:, j], nothing) for j in range(X.shape[1])]
    return np.asfortranarray(np.stack(found, axis=1), dtype=H.dtype)


def opened(kernel: Kernel, block: Block, H: Array, W: Array) -> Array:
    """The codes after some steps of the rule's opening, and 0 for components that are not `supported`."""
    rule: Any = kernel.rule
    codes = replace(kernel, rule=rule.opening).encode(block, H, (W,), OPENING, 0.0)
    there = np.any(W != 0, axis=0, keepdims=True).T
    return np.asfortranarray(np.where(there, codes, 0), dtype=H.dtype)


def _descend(kernel: Kernel, systems: _Systems, block: Block, H: Array, W: Array, max_iter: int, tol: float) -> Array:
    """Rounds from the codes `H`, each point until its ``E`` is expected to fall by at most `tol` of itself.

    What a round gains is expected to be less than what the one before did by the same share again; a fall by rounding
    alone is none.
    """
    tol = max(tol, flat(H.dtype) - 1)
    A, E = _look(kernel, block, H, W)
    fell = np.zeros(E.size)
    going, curved = np.ones(E.size, dtype=bool), np.ones(E.size, dtype=bool)
    for _ in range(max_iter):
        Y = product(W, H)
        decline = kernel.problem.weighting.decline(kernel.problem.loss.divergence(block.X, Y))
        left = 2 * np.maximum(0.5 - decline, CURVED / 2)
        C, pulled, aim = A * np.where(curved, left, 1), A * (block.X - Y), H.copy()
        for j in np.flatnonzero(going):
            aim[:, j] = systems.solve(C[:, j], pulled[:, j], H[:, j].astype(np.float64))
        before, (lower, whole) = E.copy(), _go(kernel, block, W, (H, A, E), aim, going)
        fall = before - E
        slowing = whole & (0 < fall) & (fall < fell)
        ahead = np.where(slowing, np.maximum(fall * (fall / np.where(slowing, fell, 1)), SOON * fall), fall)
        going &= np.where(lower, ahead > tol * before, curved)
        curved, fell = lower | ~curved, np.where(lower, fall, fell)
        if not going.any():
            break
    return H


def _look(kernel: Kernel, block: Block, H: Array, W: Array) -> tuple[Array, Float64]:
    """Weights and ``E`` at these codes."""
    seen = kernel.see(block, H, (W,), kernel.problem.weighting)
    return np.array(seen.terms.A), np.array(seen.E)


def flat(dtype: Any) -> float:
    """Up to this multiple of ``E`` a step is taken: where that is flat, rounding alone would decide."""
    return 1 + FLAT * float(np.finfo(dtype).eps)


def _go(kernel: Kernel, block: Block, W: Array, at: tuple[Any, ...], aim: Array, going: Array) -> tuple[Array, Array]:
    """Move codes, weights and ``E`` towards `aim`, in place, where `going`.

    Which points have found a lower ``E``, and which of them by the whole step.
    """
    H, A, E = at
    left, start, whole = going.copy(), H.copy(), np.zeros(E.size, dtype=bool)
    for share in (1.0, *SHARES):
        trial = np.where(left, start + H.dtype.type(share) * (aim - start), H)
        weights, value = _look(kernel, block, np.asfortranarray(trial), W)
        lower = left & (value <= E * flat(H.dtype))
        H[:, lower], A[:, lower], E[lower] = trial[:, lower], weights[:, lower], value[lower]
        left &= ~lower
        whole |= lower & (share == 1.0)
        if not left.any():
            break
    return going & ~left, whole
