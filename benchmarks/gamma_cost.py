"""What ``gamma="auto"`` costs, in fits at the gamma that it chose: ``python -m benchmarks.gamma_cost [--rounds 2]``.

Small data: Yale, UMIST and digits, as in the study of rules. Large data: mixtures of random parts with 2 % of the
entries tripled, at 100 and at 300 iterations. Where plain NMF is chosen, the fit is one at 8 times its mean loss.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gamma_rules import load
from benchmarks.report import Table
from benchmarks.timing import best_times
from ewnmf import factorize

SMALL = ("yale", "umist", "digits")
LARGE = ((12_000, 300, 10, 100), (12_000, 300, 10, 300), (20_000, 784, 20, 100))
"""Points, attributes, components, iterations."""
ITERATIONS = 300


def damaged(n: int, m: int, K: int) -> NDArray[np.float64]:
    """Nonnegative mixtures with noise, 2 % of the entries tripled."""
    rng = np.random.default_rng(0)
    X = rng.random((n, K)) ** 3 @ rng.random((K, m)) + 0.05 * rng.random((n, m))
    return np.where(rng.random((n, m)) < 0.02, 3 * X, X)


def problems() -> Iterator[tuple[str, Any, int, int]]:
    """Name, data, components and iterations."""
    for name in SMALL:
        X, target = load(name, 0)
        yield name, X, len(np.unique(target)), ITERATIONS
    for n, m, K, iterations in LARGE:
        yield f"{n} x {m}", damaged(n, m, K), K, iterations


def cost(X: Any, K: int, iterations: int, rounds: int) -> tuple[float, int, int]:
    """Fits that ``"auto"`` costs, the fits on its path, and the points that were fitted."""
    fit = partial(factorize, X, K, rng=0, tol=0, max_iter=iterations)
    path = fit(gamma="auto").gamma_path
    assert path is not None
    gamma = path.gamma if math.isfinite(path.gamma) else 8 * path.scale
    times = best_times({"one": partial(fit, gamma=gamma), "auto": partial(fit, gamma="auto")}, rounds)
    return times["auto"] / times["one"], len(path.scores), path.n_points


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="the best time of so many counts")
    rounds = parser.parse_args(arguments).rounds
    lines = []
    for name, X, K, iterations in problems():
        fits, tried, points = cost(X, K, iterations, rounds)
        lines.append([name, str(K), str(iterations), str(points), str(tried), f"{fits:.1f}"])
    print(Table(["", "K", "iterations", "points on the path", "fits on the path", "cost in fits"], lines).markdown())


if __name__ == "__main__":
    main()
