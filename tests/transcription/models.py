"""The two steps of every model: which rule moves W (or U) and which moves H."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .convex import (
    mixed_convex_combinations,
    plain_convex_codes,
    plain_convex_combinations,
    weighted_convex_combinations,
)
from .losses import Euclidean, Loss
from .nmf import nmf_codes, nmf_components
from .orthogonal import (
    hard_codes,
    hard_components,
    lagrange_codes,
    ridge_components,
    soft_codes,
    soft_penalty,
    stiefel_codes,
)
from .semi import plain_semi_codes, plain_semi_components, weighted_semi_codes, weighted_semi_components
from .tables import Table, product, size, transpose


@dataclass
class State:
    """What moves: ``W``, ``H``, Convex-NMF's ``U`` and the effective weights ``A``."""

    X: Table
    A: Table
    W: Table
    H: Table
    U: Table


def no_penalty(s: State) -> float:
    """0."""
    return 0.0


@dataclass(frozen=True)
class Model:
    """The two steps of a model, and what it adds to the objective."""

    move_components: Callable[[State], None]
    move_codes: Callable[[State], None]
    penalty: Callable[[State], float] = no_penalty


def nmf(loss: Loss) -> Model:
    """Eq. (7), (8), (20), (21) and their forms for KL and alpha."""

    def move_components(s: State) -> None:
        s.W = nmf_components(s.X, s.A, s.W, s.H, loss)

    def move_codes(s: State) -> None:
        s.H = nmf_codes(s.X, s.A, s.W, s.H, loss)

    return Model(move_components, move_codes)


def semi_nmf(loss: Loss, weighting: str) -> Model:
    """Ding's plain rules without weights, the row systems and the weighted H rule with them."""
    if not isinstance(loss, Euclidean):
        raise ValueError("Semi-NMF is defined for the Euclidean loss alone.")

    def move_components(s: State) -> None:
        if weighting == "none":
            s.W = plain_semi_components(s.X, s.H)
        else:
            s.W = weighted_semi_components(s.X, s.A, s.W, s.H)

    def move_codes(s: State) -> None:
        if weighting == "none":
            s.H = plain_semi_codes(s.X, s.W, s.H)
        else:
            s.H = weighted_semi_codes(s.X, s.A, s.W, s.H)

    return Model(move_components, move_codes)


def convex_nmf(loss: Loss, weighting: str, X: Table) -> Model:
    """Ding's plain rules without weights; else the weighted rule of the loss; Xp/Xn on mixed signs.

    Without weights, mixed signs with more points than attributes take the Xp/Xn rule at A = 1.
    """
    M, N = size(X)
    mixed = any(x < 0.0 for row in X for x in row)
    if mixed and not isinstance(loss, Euclidean):
        raise ValueError("Convex-NMF of mixed signs is defined for the Euclidean loss alone.")
    plain = weighting == "none" and isinstance(loss, Euclidean) and (not mixed or N <= M)

    def move_components(s: State) -> None:
        if plain:
            s.U = plain_convex_combinations(s.X, s.U, s.H)
        elif mixed:
            s.U = mixed_convex_combinations(s.X, s.A, s.U, s.H)
        else:
            s.U = weighted_convex_combinations(s.X, s.A, s.U, s.H, loss)
        s.W = product(s.X, s.U)

    def move_codes(s: State) -> None:
        if plain:
            s.H = plain_convex_codes(s.X, s.U, s.H)
        elif mixed:
            s.H = weighted_semi_codes(s.X, s.A, s.W, s.H)
        else:
            s.H = nmf_codes(s.X, s.A, s.W, s.H, loss)

    return Model(move_components, move_codes)


Rule = Callable[[Table, Table, Table, Table], Table]


def onmf(loss: Loss, weighting: str, method: str | None, of: str, strengths: tuple[float, float]) -> Model:
    """The orthogonal factor by its method, the other factor by the rule that goes with it.

    ``strengths`` are the effective ``mu`` and ``lam`` of the soft method.
    """
    if method in ("lagrange", "stiefel") and not (weighting == "none" and isinstance(loss, Euclidean)):
        raise ValueError(f"ONMF by method={method!r} is defined for the Euclidean loss without weights alone.")
    if of not in ("codes", "components"):
        raise ValueError(f"of={of!r} is neither 'codes' nor 'components'.")
    mu, lam = strengths
    if method == "hard":
        return _facing(of, partial(hard_codes, loss=loss), partial(hard_components, loss=loss))
    if method == "soft":
        soft, ridge = partial(soft_codes, loss=loss, mu=mu), partial(ridge_components, loss=loss, lam=lam)
        return _facing(of, soft, ridge, partial(soft_penalty, mu=mu, lam=lam))
    if method == "lagrange":
        return _facing(of, lagrange_codes, partial(nmf_components, loss=loss))
    if method == "stiefel":
        return _facing(of, stiefel_codes, partial(nmf_components, loss=loss))
    raise ValueError(f"method={method!r} is not one of 'hard', 'soft', 'lagrange', 'stiefel'.")


def _facing(
    of: str, orthogonal: Rule, other: Rule, penalty: Callable[[Table, Table], float] = lambda W, H: 0.0
) -> Model:
    """The rules as written for orthogonal H, or mirrored on ``X' ~ H' W'`` for orthogonal W."""

    def mirrored(rule: Rule, s: State) -> Table:
        return transpose(rule(transpose(s.X), transpose(s.A), transpose(s.H), transpose(s.W)))

    def move_components(s: State) -> None:
        s.W = other(s.X, s.A, s.W, s.H) if of == "codes" else mirrored(orthogonal, s)

    def move_codes(s: State) -> None:
        s.H = orthogonal(s.X, s.A, s.W, s.H) if of == "codes" else mirrored(other, s)

    def added(s: State) -> float:
        return penalty(s.W, s.H) if of == "codes" else penalty(transpose(s.H), transpose(s.W))

    return Model(move_components, move_codes, added)
