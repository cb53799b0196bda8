"""How well held-out entries find the number of components, and which of their losses should count.

``python -m benchmarks.rank [--draws 10] [--pictures docs/images]`` prints three tables: data of known rank, real data,
and the gamma that hidden entries prefer under several ways to trim. Yale and TDT2 are found by `EWNMF_DATA` or beside
the repository.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from benchmarks.stored import data_home
from ewnmf import EWNMF, NMF, RankPath, datasets, select_rank
from ewnmf.choosing.holdout import held_out_losses, trimmed_mean
from ewnmf.fitting.points import Points
from ewnmf.losses.euclidean import Euclidean
from ewnmf.plots import figures as plots

Array = NDArray[Any]

REAL = ("digits", "digits, 3 x 3 on 30 %", "Yale", "Yale, 12 x 12 on 30 %", "TDT2, 5 topics")
KINDS = ("clean", "outliers", "zeros")
RANKS = (3, 8)
MULTIPLES = (64, 16, 8, 4, 2, 1, 0.5)
TRIMS = {
    "nothing": (0.0, True),
    "10 % of the nonzero": (0.1, True),
    "20 % of the nonzero": (0.2, True),
    "10 % of all": (0.1, False),
    "20 % of all": (0.2, False),
}
"""The share that is trimmed, and whether it is one of the entries that are not 0."""


def known(kind: str, rank: int, seed: int, n: int = 200, m: int = 60) -> Array:
    """Sparse parts and codes with noise of 0.05; with 5 % of the entries replaced by 3; or with 5 of 6 entries 0."""
    rng = np.random.default_rng(seed)
    codes = rng.random((n, rank)) * (rng.random((n, rank)) < min(0.5, 4 / rank))
    parts = rng.random((rank, m)) * (rng.random((rank, m)) < (0.6 / rank if kind == "zeros" else 0.4))
    Y = codes @ parts
    X = np.maximum(Y + 0.05 * rng.standard_normal(Y.shape), 0)
    if kind == "zeros":
        X[Y == 0] = 0
    if kind == "outliers":
        X[rng.random(X.shape) < 0.05] = 3
    return X


def judge_known(model: Any, kind: str, rank: int, draws: int) -> str:
    """How often the rank is found: a row of the first table."""
    paths = [select_rank(known(kind, rank, seed), estimator=model, random_state=seed) for seed in range(draws)]
    chosen = np.array([path.chosen for path in paths])
    best = np.array([path.best for path in paths])
    exact, near = np.sum(chosen == rank), np.sum(np.abs(chosen - rank) <= 1)
    name = type(model).__name__
    return (
        f"| {kind} | {rank} | {name} | {exact} of {draws} | {near} of {draws} | {np.median(chosen):g} "
        f"({chosen.min()} to {chosen.max()}) | {np.median(best):g} ({best.min()} to {best.max()}) |"
    )


def real_set(name: str) -> tuple[Array, int]:
    """Digits, faces or news by their names in `REAL`, with the number of classes."""
    kind, _, damage = name.partition(", ")
    if kind == "digits":
        X, classes, block = load_digits().data[:600] / 16, 10, 3
    elif kind == "Yale":
        faces, _ = datasets.fetch_yale(data_home=data_home(), return_X_y=True)
        X, classes, block = datasets.scale_points(faces), 15, 12
    else:
        return _news(), 5
    return (datasets.occlude(X, block=block, random_state=0)[0] if damage else X), classes


def _news() -> Array:
    texts, topics = datasets.fetch_tdt2(data_home=data_home(), return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.flatnonzero(np.isin(topics, range(5, 10))))[:300]
    words = texts[rows].astype(float)
    words = normalize(words[:, np.asarray((words > 0).sum(axis=0)).ravel() >= 3])
    dense: Array = words.toarray()
    return dense


def judge_real(name: str, X: Array, classes: int, model: Any) -> tuple[str, RankPath]:
    """The numbers found, and how long it took: a row of the second table."""
    start = time.perf_counter()
    path = select_rank(X, estimator=model, random_state=0)
    took = time.perf_counter() - start
    n, m = X.shape
    row = f"| {name} | {n} x {m} | {classes} | {type(model).__name__} | {path.best} | {path.chosen} | {took:.0f} s |"
    return row, path


def preferred(X: Array, n_components: int, multiples: Sequence[float] = MULTIPLES) -> dict[str, str]:
    """The gamma, as a multiple of NMF's mean loss, of the largest score under every way to trim."""
    options: dict[str, Any] = {"solver": "accelerated", "max_iter": 100, "tol": 0, "random_state": 0}
    plain = NMF(n_components, **options).fit(X)
    mean = np.mean((X - plain.inverse_transform(plain.transform(X))) ** 2)
    models = {"NMF": plain} | {f"{c:g}": EWNMF(n_components, gamma=c * mean, **options).fit(X) for c in multiples}
    judged = {
        name: held_out_losses(Points(X), model._codes, model.components_, Euclidean(), 0.0)
        for name, model in models.items()
    }
    answers = {}
    for rule, (trim, of_nonzero) in TRIMS.items():
        losses = {
            name: trimmed_mean(each, nonzero if of_nonzero else np.ones_like(nonzero), trim=trim)
            for name, (each, nonzero, _) in judged.items()
        }
        answers[rule] = min(losses, key=lambda name, losses=losses: losses[name])  # type: ignore[misc]
    return answers


def draw(paths: dict[str, RankPath], title: str, file: Path) -> None:
    """The paths of one data set as a picture."""
    figure = Figure(figsize=(6, 3.6), dpi=100, layout="constrained")
    ax = figure.add_subplot()
    for name, path in paths.items():
        plots.rank_path(path, ax=ax, label=name)
    ax.set_title(title, fontsize=11)
    figure.savefig(file)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and draw the paths where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args(arguments)
    print("| data | rank | model | chosen = rank | within 1 | chosen: median (range) | best: median (range) |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        for rank in RANKS:
            for model in (EWNMF(), NMF()):
                print(judge_known(model, kind, rank, given.draws), flush=True)
    print("\n| data | points x attributes | classes | model | best | chosen | time |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    sets = {name: real_set(name) for name in REAL}
    for name, (X, classes) in sets.items():
        rows = {type(model).__name__: judge_real(name, X, classes, model) for model in (EWNMF(), NMF())}
        print(*(row for row, _ in rows.values()), sep="\n", flush=True)
        if given.pictures:
            file = given.pictures / f"rank-{name.split(',')[0].lower()}{'-occluded' if ' on ' in name else ''}.png"
            draw({kind: path for kind, (_, path) in rows.items()}, name, file)
    print(f"\n| data | zeros | {' | '.join(TRIMS)} |")
    print("| --- | --- |" + " --- |" * len(TRIMS))
    for name, (X, classes) in sets.items():
        found = preferred(X, classes)
        print(f"| {name} | {np.mean(X == 0):.0%} | {' | '.join(found.values())} |", flush=True)


if __name__ == "__main__":
    main()
