"""Which rule should choose gamma without labels: rules on the same fits, judged by clustering accuracy.

``python -m benchmarks.gamma_rules [--seeds 4] [--first 0] [--sets yale ...] [--hidden yale ...]`` prints two tables;
faces are found by `EWNMF_DATA` or beside the repository. For every seed plain NMF and EWNMF at 16 to 0.5 times its mean
loss are fitted from one start, every rule takes one of these fits, and labels are looked at only for the report.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.csgraph import laplacian
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from benchmarks.report import Table
from benchmarks.solvers import clustering
from benchmarks.stored import data_home
from ewnmf import datasets
from ewnmf.choosing.gamma import HALVINGS, _Hidden, _Judge, _Neighbours, _Trials, _walk
from ewnmf.choosing.neighbours import FAR, NEIGHBOURS, STARTS, Neighbourhoods, _apart, partitions, unlikeness
from ewnmf.fitting.checks import RELATIVE, GammaRequest
from ewnmf.fitting.pipeline import Job, Settings
from ewnmf.fitting.points import Points
from ewnmf.fitting.starts import Starts, draw_start
from ewnmf.problem import Problem
from ewnmf.solvers.loop import Solution

Array = NDArray[Any]

IMAGES = {"yale": ("Yale", 12), "umist": ("UMIST", 12), "digits": ("digits", 3), "gtfd": ("GTFD", 12)}
"""Title, and rows and columns of the blocks that occlude some of the images."""
SETS = tuple(f"{name}{damage}" for name in IMAGES for damage in ("", "-occluded"))
OCCLUDED = 0.3
WORTHWHILE = 0.03
"""Gains by label from here on count in the share that a rule keeps."""
NMF, BEST = "NMF", "best gamma by label"
TRIED = (NMF, *(f"{times:g}x" for times in RELATIVE))


class Accuracy(NamedTuple):
    """Of k-means with 10 starts."""

    unit: float
    raw: float


@dataclass(frozen=True, eq=False)
class Fits(_Trials):
    """Fits of one start that are kept for all rules."""

    kept: dict[float, Solution] = field(default_factory=dict, init=False)

    @classmethod
    def drawn(cls, X: Array, K: int, seed: int, max_iter: int) -> Fits:
        """From the start that `factorize` draws for the seed."""
        problem, settings = Problem.of(weighting="entropy"), Settings("codes-first", max_iter=max_iter, n_jobs=1)
        start = draw_start(problem, X, K, Starts(), np.random.default_rng(seed))
        job = Job.of(problem, Points(X), settings, np.empty((0, X.shape[1])), GammaRequest(rule="groups"))
        return cls(job, start, True)

    def at(self, gamma: float) -> Solution:
        """The fit at `gamma`, made once."""
        if gamma not in self.kept:
            self.kept[gamma] = super().at(gamma)
        return self.kept[gamma]

    def self_tuned(self) -> Solution:
        """The fit that tunes gamma on its way."""
        return self.job.run(self.start, tune=True)


@dataclass(frozen=True, eq=False)
class Rise:
    """Takes the fit of the highest score, if that is above `least` times the score of plain NMF."""

    trials: _Trials
    measure: Callable[[Solution], float]
    least: float
    rule: ClassVar[str] = "rise"

    def score(self, fit: Solution) -> float:
        return self.measure(fit)

    def clear(self, score: float, plain: float) -> bool:
        return score > self.least * plain

    def keeps(self, fit: Solution, plain: Solution) -> bool:
        return True

    def lost(self, score: float, best: float) -> bool:
        return False


def unit_codes(fit: Solution) -> Array:
    """Codes of components of norm 1, every point's codes scaled to norm 1."""
    return np.asarray(normalize(fit.factors.H.T * np.linalg.norm(fit.factors.W, axis=0)))


def links(D: Array) -> Any:
    """The graph (sparse, n x n) with a link from every point to its nearest ones."""
    return kneighbors_graph(D, NEIGHBOURS, metric="precomputed")


def in_local_units(D: Array) -> Array:
    """Distances in units of each point's own neighbourhood."""
    unit = np.sort(D, axis=1)[:, FAR]
    return D / np.sqrt(np.outer(unit, unit))


def neighbourhoods(graph: Any, count: int) -> Neighbourhoods:
    """The smoothest functions on a graph."""
    L, roots = laplacian(graph.maximum(graph.T).toarray(), normed=True, return_diag=True)
    return Neighbourhoods(eigh(L, subset_by_index=(0, count - 1))[1], roots)


def pairs_together(graph: Any, labels: Array) -> float:
    """The share of links inside a group, above what groups of these sizes have by chance."""
    points, ends = np.repeat(labels, np.diff(graph.indptr)), labels[graph.indices]
    chance = np.bincount(labels) / labels.size @ (np.bincount(ends, minlength=labels.max() + 1) / ends.size)
    return float(np.mean(points == ends) - chance)


def neighbours_kept(graph: Any, rows: Array, fit: Solution) -> float:
    """The share of links whose end is among the 10 points with the nearest unit codes."""
    near = kneighbors_graph(unit_codes(fit)[rows], 2 * NEIGHBOURS)
    return float(graph.multiply(near).sum() / graph.sum())


def prediction(judge: _Hidden, kept: float, fit: Solution) -> float:
    """Minus the mean loss of the entries that were hidden, without the largest losses."""
    X, Y = judge.X[judge.hidden], (fit.factors.H.T @ fit.factors.W.T)[judge.hidden]
    losses = judge.trials.job.problem.loss.divergence(X, Y)
    return -float(np.mean(np.sort(losses)[: math.ceil(kept * losses.size)]))


def rules(fits: Fits, scale: float, hide: bool) -> dict[str, _Judge]:
    """The rules that choose among the fits, by the words of their row."""
    built = _Neighbours.of(fits, scale)
    assert built is not None
    rows, count, loss, some = built.rows, built.graphs[0].count, fits.job.problem.loss, fits.job.points.take(built.rows)
    plain = [links(each) for each in _apart(some.X, np.ones((1, some.X.shape[1])), loss, scale, HALVINGS)]
    smooth = tuple(neighbourhoods(graph, count) for graph in plain)
    kmeans = KMeans(count, n_init=10, random_state=0)
    spectral = [kmeans.fit_predict(graph.functions / graph.roots[:, None]) for graph in built.graphs]
    near = links(in_local_units(unlikeness(some, loss, scale)))

    def by_groups(score: Callable[[Array], float], fit: Solution, most: int = STARTS) -> float:
        groups = partitions(fit.factors.H.T[rows], fit.factors.W.T, count)
        return float(np.mean([score(labels) for at, labels in enumerate(groups) if at % STARTS < most]))

    def smoothness(labels: Array) -> float:
        return float(np.mean([graph.smooth_share(labels) for graph in built.graphs]))

    def agreement(labels: Array) -> float:
        return float(np.mean([normalized_mutual_info_score(each, labels) for each in spectral]))

    judges: dict[str, _Judge] = {
        "smooth groups (`groups`)": built,
        "smooth groups, unguarded": replace(built, within=()),
        "smooth groups, few partitions": Rise(fits, partial(by_groups, smoothness, most=3), 1.03),
        "smooth groups, one scale": replace(built, graphs=built.graphs[:1], within=()),
        "smooth groups, plain distance": replace(built, graphs=smooth, within=()),
        "smooth groups, plain distance, one scale": replace(built, graphs=smooth[:1], within=()),
        "neighbour pairs": Rise(fits, partial(by_groups, partial(pairs_together, plain[0])), 1.10),
        "spectral labels": Rise(fits, partial(by_groups, agreement), 1.03),
        "kept neighbours": Rise(fits, partial(neighbours_kept, near, rows), 1.05),
    }
    hidden = _Hidden.of(fits) if hide else None
    if hidden is not None:
        judges["hidden entries, 90 %"] = Rise(hidden.trials, partial(prediction, hidden, 0.9), 1)
        judges["hidden entries, 80 %"] = Rise(hidden.trials, partial(prediction, hidden, 0.8), 1)
        judges["hidden entries (`groups` for few points)"] = hidden
    return judges


def contest(X: Array, target: Array, seed: int, *, hide: bool = False, max_iter: int = 300) -> dict[str, Accuracy]:
    """The accuracy of every fit and of every rule's choice, by the words of its row."""

    def accuracy(fit: Solution) -> Accuracy:
        return Accuracy(clustering(unit_codes(fit), target, seed), clustering(fit.factors.H.T, target, seed))

    with threadpool_limits(1):
        fits = Fits.drawn(X, len(np.unique(target)), seed, max_iter)
        scale = fits.at(math.inf).loss / X.size
        found = {gamma: accuracy(fits.at(gamma)) for gamma in (math.inf, *(times * scale for times in RELATIVE))}
        rows = dict(zip(TRIED, found.values(), strict=True))
        for words, judge in rules(fits, scale, hide).items():
            path, _ = _walk(judge, judge.trials.at(math.inf), scale, GammaRequest(rule="groups"))
            rows[words] = found[path.gamma]
        return rows | {"self-tuned": accuracy(fits.self_tuned())}


def load(name: str, seed: int) -> tuple[Array, Array]:
    """Images and classes of a set, every image scaled to [0, 1]; the seed draws the occlusions."""
    images, _, damage = name.partition("-")
    fetch = load_digits if images == "digits" else partial(getattr(datasets, f"fetch_{images}"), data_home=data_home())
    X, target = fetch(return_X_y=True)
    X = datasets.scale_points(X)
    if damage:
        X, _ = datasets.occlude(X, block=IMAGES[images][1], fraction=OCCLUDED, random_state=seed)
    return X, target


def table(means: Mapping[str, Mapping[str, float]]) -> Table:
    """A line for every rule; `means` has the accuracy by set and row."""
    full = {name: {BEST: max(rows[word] for word in TRIED), **rows} for name, rows in means.items()}
    words = dict.fromkeys([NMF, *(word for rows in full.values() for word in rows if word not in TRIED)])
    lines = []
    for word in words:
        gains = [(rows[word] - rows[NMF], rows[BEST] - rows[NMF]) for rows in full.values() if word in rows]
        kept, possible = (sum(gain[at] for gain in gains if gain[1] >= WORTHWHILE) for at in (0, 1))
        cells = [f"{rows[word]:.3f}" if word in rows else "" for rows in full.values()]
        worst = 100 * max(0.0, *(-gain for gain, _ in gains))
        lines.append([word, *cells, f"{kept / possible:.0%}" if possible else "", f"{worst:.1f}"])
    titles = [IMAGES[name.partition("-")[0]][0] + (" occl." if "-" in name else "") for name in full]
    return Table(["", *titles, "gain kept", "worst loss"], lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS[:6], metavar="SET", help=", ".join(SETS))
    parser.add_argument("--hidden", nargs="+", choices=SETS, default=(), metavar="SET", help="sets to hide entries of")
    asked = parser.parse_args(arguments)
    found: dict[str, list[dict[str, Accuracy]]] = {name: [] for name in asked.sets}
    seeds = range(asked.first, asked.first + asked.seeds)
    for seed, name in product(seeds, asked.sets):
        found[name].append(contest(*load(name, seed), seed, hide=name in asked.hidden))
        print(f"seed {seed}, {name}: done", file=sys.stderr, flush=True)
    for at, kind in enumerate(Accuracy._fields):
        means: dict[str, dict[str, float]] = {}
        for name, runs in found.items():
            means[name] = {word: float(np.mean([rows[word][at] for rows in runs])) for word in runs[0]}
        print(f"Mean accuracy on {kind} codes, seeds {seeds[0]} to {seeds[-1]}:\n\n{table(means).markdown()}\n")


if __name__ == "__main__":
    main()
