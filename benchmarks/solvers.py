"""Which order and solver should be the default: objective and clustering reached, on the paper's faces.

``python -m benchmarks.solvers [--seeds 3]`` prints a table; the data is found by `EWNMF_DATA` or beside the repository.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from benchmarks.stored import data_home
from ewnmf import datasets, factorize
from ewnmf.metrics import clustering_accuracy

DATA = {"Yale": (datasets.fetch_yale, 15), "UMIST": (datasets.fetch_umist, 20), "GTFD": (datasets.fetch_gtfd, 50)}
GAMMAS: tuple[Any, ...] = (0.01, 0.03, 0.1, "self-tuned")
RUNS: dict[str, dict[str, Any]] = {
    "mu, components-first": {"order": "components-first", "max_iter": 300},
    "mu, codes-first": {"order": "codes-first", "max_iter": 300},
    "accelerated, 100": {"order": "codes-first", "solver": "accelerated", "max_iter": 100},
    "accelerated, 300": {"order": "codes-first", "solver": "accelerated", "max_iter": 300},
}


def clustering(codes: Any, target: Any, seed: int) -> float:
    """Accuracy of k-means with 10 starts."""
    labels = KMeans(len(np.unique(target)), n_init=10, random_state=seed).fit_predict(codes)
    return clustering_accuracy(target, labels)


def figures(X: Any, target: Any, K: int, gamma: Any, options: dict[str, Any], seeds: int) -> Any:
    """Mean ``E``, accuracy on raw codes, accuracy on unit codes."""
    rows = []
    for seed in range(seeds):
        run = factorize(X, K, gamma=gamma, rng=seed, **options)
        unit = normalize(run.codes * np.linalg.norm(run.components, axis=1))
        rows.append((run.excess, clustering(run.codes, target, seed), clustering(unit, target, seed)))
    return np.mean(rows, axis=0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    print(f"| data | gamma | run | E | accuracy, raw codes | accuracy, unit codes |  (means of {seeds} seeds)")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (fetch, K) in DATA.items():
        X, target = fetch(data_home=data_home(), return_X_y=True)
        X = datasets.scale_points(X)
        for gamma in GAMMAS:
            for label, options in RUNS.items():
                E, raw, unit = figures(X, target, K, gamma, options, seeds)
                print(f"| {name} | {gamma} | {label} | {E:.4g} | {raw:.3f} | {unit:.3f} |", flush=True)


if __name__ == "__main__":
    main()
