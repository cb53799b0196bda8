"""The loop: W, H, T in the authors' order or H, W, T, from uniform weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .losses import Loss, loss_named
from .models import Model, State, convex_nmf, nmf, onmf, semi_nmf
from .tables import Table, as_table, product, size, table, transpose
from .weights import best_weights, divergences, least_objective, weighted_sum


@dataclass(frozen=True)
class Run:
    """Factors, effective weights ``T`` (1 or ``P`` where they are fixed), and the objective of each round."""

    W: NDArray[np.float64]
    H: NDArray[np.float64]
    U: NDArray[np.float64] | None
    T: NDArray[np.float64]
    history: NDArray[np.float64]


def run(
    X: ArrayLike,
    W: ArrayLike | None,
    H: ArrayLike,
    *,
    loss: str,
    model: str,
    weighting: str,
    alpha: float | None = None,
    gamma: float | None = None,
    P: ArrayLike | None = None,
    U: ArrayLike | None = None,
    mu: float | None = None,
    lam: float | None = None,
    method: str | None = None,
    of: str | None = None,
    order: str = "components-first",
    n_iter: int = 5,
) -> Run:
    """``n_iter`` rounds of W, H, T (``components-first``) or H, W, T (``codes-first``) from uniform weights.

    ``history`` is ``J*`` (entropy) or ``sum A d`` (none, fixed) after a round, plus soft ONMF's penalties.
    Convex-NMF starts from ``U`` and does not read ``W``.
    """
    d = loss_named(loss, alpha)
    state = _start(as_table(X), W, H, U, _first_weights(as_table(X), weighting, P))
    if loss == "alpha" and alpha is not None and alpha <= 0.0 and any(x <= 0.0 for row in state.X for x in row):
        raise ValueError(f"alpha={alpha} needs every entry of X above zero.")
    chosen = _chosen_model(model, d, weighting, state, method, of or "codes", (mu or 0.0, lam or 0.0))
    if method == "hard":
        _harden(state, of or "codes")
    steps = {
        "components-first": (chosen.move_components, chosen.move_codes),
        "codes-first": (chosen.move_codes, chosen.move_components),
    }[order]
    history = []
    for _ in range(n_iter):
        for step in steps:
            step(state)
        D = divergences(state.X, product(state.W, state.H), d)
        if weighting == "entropy":
            assert gamma is not None, "weighting='entropy' needs gamma"
            state.A = best_weights(D, gamma)
            history.append(least_objective(D, gamma) + chosen.penalty(state))
        else:
            history.append(weighted_sum(D, state.A) + chosen.penalty(state))
    U_end = np.array(state.U) if model == "convex-nmf" else None
    return Run(np.array(state.W), np.array(state.H), U_end, np.array(state.A), np.array(history))


def _first_weights(X: Table, weighting: str, P: ArrayLike | None) -> Table:
    """``A``: 1 (none), ``P`` (fixed), ``1/M`` (entropy)."""
    if weighting == "fixed":
        assert P is not None, "weighting='fixed' needs P"
        return as_table(P)
    uniform = {"none": 1.0, "entropy": 1.0 / len(X)}[weighting]
    return table(*size(X), lambda i, j: uniform)


def _start(X: Table, W: ArrayLike | None, H: ArrayLike, U: ArrayLike | None, A: Table) -> State:
    """The state before the first round; ``W = X U`` where U is given."""
    if U is not None:
        return State(X, A, product(X, as_table(U)), as_table(H), as_table(U))
    assert W is not None, "a start of W (Convex-NMF: of U) is needed"
    return State(X, A, as_table(W), as_table(H), [])


def _harden(state: State, of: str) -> None:
    """Hard ONMF's start: every point keeps its largest code, every attribute its largest entry; the first of equals."""
    if of == "codes":
        state.H = transpose([_largest_alone(column) for column in transpose(state.H)])
    else:
        state.W = [_largest_alone(row) for row in state.W]


def _largest_alone(entries: list[float]) -> list[float]:
    best = entries.index(max(entries))
    return [entry if k == best else 0.0 for k, entry in enumerate(entries)]


def _chosen_model(
    name: str,
    loss: Loss,
    weighting: str,
    start: State,
    method: str | None,
    of: str,
    penalties: tuple[float, float],
) -> Model:
    """The model of a name; soft ONMF's ``mu`` and ``lam`` times ``mean(A)``, which is 1, mean(P) or 1/M."""
    if name == "nmf":
        return nmf(loss)
    if name == "semi-nmf":
        return semi_nmf(loss, weighting)
    if name == "convex-nmf":
        assert start.U, "model='convex-nmf' starts from U"
        return convex_nmf(loss, weighting, start.X)
    if name == "onmf":
        M, N = size(start.A)
        mean = math.fsum(a for row in start.A for a in row) / (M * N)
        return onmf(loss, weighting, method, of, (penalties[0] * mean, penalties[1] * mean))
    raise ValueError(f"model={name!r} is not one of 'nmf', 'semi-nmf', 'convex-nmf', 'onmf'.")
