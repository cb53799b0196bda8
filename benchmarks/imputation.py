"""How well hidden entries are filled: digits and faces, 10 to 50 % hidden at random, against scikit-learn's imputers.

``python -m benchmarks.imputation [--draws 2]`` prints a table; Yale is found by `EWNMF_DATA` or beside the repository.
Every method with something to choose (components and penalty here, neighbours there) chooses it on a further tenth of
the observed entries, which it hides from itself, and is then fitted to all that is observed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer

from benchmarks.stored import data_home
from ewnmf import EWNMF, NMF, datasets

Array = NDArray[Any]
Fill = Callable[[Array], Array]

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
RANKS = (10, 40, 80)
PENALTIES = (0.003, 0.01)
NEIGHBOURS = (3, 5, 10, 20)


class Filler(NamedTuple):
    """A way to fill gaps, by its description."""

    words: str
    fill: Fill


class Filled(NamedTuple):
    """The root mean squared error of the hidden entries, and the filler that was chosen."""

    error: float
    words: str


def by_imputer(imputer: Any) -> Fill:
    """Fill by a scikit-learn imputer."""
    return lambda X: imputer.fit_transform(X)


def by_model(model: Any) -> Fill:
    """Fill by the reconstruction of a factorization."""
    return lambda X: model.inverse_transform(model.fit_transform(X))


def factorizations(kind: Any, ranks: Sequence[int], **options: Any) -> list[Filler]:
    """Every number of components with every penalty on codes and components."""
    return [
        Filler(f"K={K}, alpha_W={alpha}", by_model(kind(K, alpha_W=alpha, random_state=0, **options)))
        for K in ranks
        for alpha in PENALTIES
    ]


def contenders(ranks: Sequence[int] = RANKS) -> dict[str, list[Filler]]:
    """The fillers of every row of the table; of several one is chosen."""
    knn = {k: KNNImputer(n_neighbors=k, keep_empty_features=True) for k in NEIGHBOURS}
    simple = {name: SimpleImputer(strategy=name, keep_empty_features=True) for name in ("mean", "median")}
    return {
        "SimpleImputer, mean": [Filler("", by_imputer(simple["mean"]))],
        "SimpleImputer, median": [Filler("", by_imputer(simple["median"]))],
        "KNNImputer": [Filler("", by_imputer(knn[5]))],
        "KNNImputer, neighbours chosen": [Filler(f"{k} neighbours", by_imputer(each)) for k, each in knn.items()],
        "NMF": factorizations(NMF, ranks, solver="accelerated", tol=1e-4),
        "EWNMF, self-tuned": factorizations(EWNMF, ranks, gamma="self-tuned", solver="accelerated", tol=1e-4),
    }


def error(filled: Array, truth: Array, where: Array) -> float:
    """The root of the mean squared error at some entries."""
    return float(np.sqrt(np.mean((filled - truth)[where] ** 2)))


def choose(fillers: list[Filler], gaps: Array, rng: np.random.Generator) -> Filler:
    """The filler that is best at a tenth of the observed entries."""
    if len(fillers) == 1:
        return fillers[0]
    held = ~np.isnan(gaps) & (rng.random(gaps.shape) < 0.1)
    fewer = np.where(held, np.nan, gaps)
    return min(fillers, key=lambda filler: error(filler.fill(fewer), gaps, held))


def contest(X: Array, share: float, seed: int, fillers: dict[str, list[Filler]]) -> dict[str, Filled]:
    """Hide a share of `X` and let every contender fill it."""
    hidden = np.random.default_rng(seed).random(X.shape) < share
    gaps = np.where(hidden, np.nan, X)
    answers = {}
    for name, choices in fillers.items():
        best = choose(choices, gaps, np.random.default_rng(seed + 1000))
        answers[name] = Filled(error(best.fill(gaps), X, hidden), best.words)
    return answers


def data() -> dict[str, Array]:
    """Digits and faces, every value in [0, 1]."""
    faces, _ = datasets.fetch_yale(data_home=data_home(), return_X_y=True)
    return {"digits": load_digits().data / 16, "Yale": datasets.scale_points(faces)}


def lines(name: str, X: Array, draws: int, fillers: dict[str, list[Filler]], shares: Sequence[float]) -> list[str]:
    """The rows of the table for one data set: the mean error, and what was chosen in the last draw."""
    rows: dict[str, list[str]] = {contender: [] for contender in fillers}
    for share in shares:
        runs = [contest(X, share, seed, fillers) for seed in range(draws)]
        for contender, cells in rows.items():
            words = runs[-1][contender].words
            mean = float(np.mean([run[contender].error for run in runs]))
            cells.append(f"{mean:.4f}" + (f" ({words})" if words else ""))
    return [f"| {name} | {contender} | {' | '.join(cells)} |" for contender, cells in rows.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2)
    draws = parser.parse_args(arguments).draws
    print(f"| data | filled by | {' | '.join(f'{share:.0%} hidden' for share in SHARES)} |")
    print("| --- | --- |" + " --- |" * len(SHARES))
    for name, X in data().items():
        print(*lines(name, X, draws, contenders(), SHARES), sep="\n", flush=True)


if __name__ == "__main__":
    main()
