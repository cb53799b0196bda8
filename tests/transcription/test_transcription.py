"""The package against the loop-by-loop transcription, for every defined model x loss x weighting x order."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf import losses, models
from ewnmf.models.base import Factors
from ewnmf.problem import Problem
from ewnmf.solvers.loop import solve
from ewnmf.storage.dense import Dense
from tests.transcription import run

M, N, K = 7, 6, 3
GAMMA = 0.3
ALPHAS = (-1.5, 0.0, 1e-7, 0.3, 0.5, 1 - 1e-7, 1.0, 2.0)
WEIGHTINGS = ("none", "fixed", "entropy")
ORDERS = ("components-first", "codes-first")

LOSSES: list[tuple[str, float | None]] = [
    ("euclidean", None),
    ("kullback-leibler", None),
    *(("alpha", alpha) for alpha in ALPHAS),
]


def _cases() -> list[Any]:
    rows: list[tuple[str, str, float | None, str, dict[str, Any], str, int]] = []
    for weighting in WEIGHTINGS:
        for loss, alpha in LOSSES:
            rows.append(("nmf", loss, alpha, weighting, {}, "nonnegative", N))
            rows.append(("convex-nmf", loss, alpha, weighting, {}, "nonnegative", N))
            for of in ("codes", "components"):
                rows.append(("onmf", loss, alpha, weighting, {"method": "hard", "of": of}, "nonnegative", N))
        for loss, of in product(("euclidean", "kullback-leibler"), ("codes", "components")):
            soft = {"method": "soft", "of": of, "mu": 0.7, "lam": 0.2}
            rows.append(("onmf", loss, None, weighting, soft, "nonnegative", N))
        for signs in ("nonnegative", "mixed"):
            rows.append(("semi-nmf", "euclidean", None, weighting, {}, signs, N))
        for n in (N, M + 2):
            rows.append(("convex-nmf", "euclidean", None, weighting, {}, "mixed", n))
    for method, of in product(("lagrange", "stiefel"), ("codes", "components")):
        rows.append(("onmf", "euclidean", None, "none", {"method": method, "of": of}, "nonnegative", N))
    return [
        pytest.param(*row, order, id="-".join(map(str, (*row[:4], *row[4].values(), *row[5:], order))))
        for row, order in product(rows, ORDERS)
    ]


def _data(signs: str, n: int, positive: bool) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    X = rng.random((M, 2)) @ rng.random((2, n)) + 0.1 * rng.random((M, n))
    X[1, 2] = 3.0
    if not positive:
        X[0, 1] = 0.0
    if signs == "mixed":
        X -= 0.6
    return {
        "X": X,
        "W": rng.random((M, K)) + 0.1,
        "H": rng.random((K, n)) + 0.1,
        "U": rng.random((n, K)) + 0.1,
        "P": np.where(rng.random((M, n)) < 0.15, 0.0, rng.random((M, n)) + 0.2),
    }


def _near(mine: Any, theirs: Any) -> None:
    theirs = np.asarray(theirs, dtype=float)
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * max(1e-300, np.abs(theirs).max()))


@pytest.mark.parametrize(("model", "loss", "alpha", "weighting", "options", "signs", "n", "order"), _cases())
def test_agrees_with_transcription(
    model: str,
    loss: str,
    alpha: float | None,
    weighting: str,
    options: dict[str, Any],
    signs: str,
    n: int,
    order: str,
) -> None:
    data = _data(signs, n, positive=alpha is not None and alpha <= 0)
    X, W, H, U, P = (data[name] for name in "XWHUP")
    if model == "semi-nmf":
        W = W - 0.6
    convex, fixed, entropy = model == "convex-nmf", weighting == "fixed", weighting == "entropy"
    slow = run(
        X,
        None if convex else W,
        H,
        loss=loss,
        model=model,
        weighting=weighting,
        alpha=alpha,
        gamma=GAMMA if entropy else None,
        P=P if fixed else None,
        U=U if convex else None,
        order=order,
        n_iter=6,
        **options,
    )
    problem = Problem.of(
        losses.Alpha(alpha) if alpha is not None else loss,
        models.Orthogonal(**options) if options else model,
        weighting,
        gamma=GAMMA,
    )
    start = Factors((), H, U) if convex else Factors((W,), H)
    fast = solve(problem, Dense(X, P if fixed else None), start, order=order, max_iter=6)
    np.testing.assert_allclose(fast.history, slow.history, rtol=1e-10)
    product_of_mine = fast.factors.W @ fast.factors.H
    _near(product_of_mine, np.asarray(slow.W) @ np.asarray(slow.H))
    if options.get("method") != "hard":
        _near(fast.factors.W, slow.W)
        _near(fast.factors.H, slow.H)
    if convex:
        _near(fast.factors.U, slow.U)


@pytest.mark.parametrize("index", range(3))
def test_golden_small(index: int) -> None:
    golden = np.load(Path(__file__).parents[1] / "data" / "golden_small.npz")
    answer = ewnmf.factorize(
        golden["X"].T,
        golden["W0"].shape[1],
        gamma=float(golden["gammas"][index]),
        codes=golden["H0"].T,
        components=golden["W0"].T,
        max_iter=100,
    )
    _follows(answer, golden, f"_{index}")


def test_golden_yale(data: Path) -> None:
    golden = np.load(data / "golden_yale.npz")
    answer = ewnmf.factorize(
        golden["X"].T,
        golden["W0"].shape[1],
        gamma=float(golden["gamma"]),
        codes=golden["H0"].T,
        components=golden["W0"].T,
        max_iter=300,
    )
    _follows(answer, golden, "")


def _follows(answer: ewnmf.Factorization, golden: Any, suffix: str) -> None:
    np.testing.assert_allclose(answer.history, golden[f"history{suffix}"], rtol=1e-9)
    pairs = {"W": answer.components.T, "H": answer.codes.T, "T": answer.weights().T}
    for name, mine in pairs.items():
        theirs = golden[f"{name}{suffix}"]
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())
