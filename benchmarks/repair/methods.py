"""What can be done about damage: every method takes a table and gives back a mended one, scores and suspects."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import decomposition
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer

import ewnmf
from benchmarks.repair.pursuit import pursue

__all__ = ["DEFAULT", "KNOWN", "METHODS", "NOTHING", "ORACLES", "OURS", "ROBUST_PCA", "TAUGHT", "Mended", "mend"]

Array = NDArray[Any]

NOTHING, ROBUST_PCA, DEFAULT, KNOWN, TAUGHT = "nothing", "robust PCA", "ewnmf", "mask known", "taught undamaged"
ORACLES = (KNOWN, TAUGHT)
"""Methods that know what nobody has: where the damage is, or the table without it."""
NORMAL = 1.4826
FAR = 3.5
"""A value, or residual, is taken for damaged that is so many robust standard deviations away."""
NARROW = 64
"""A forest for every column is grown where there are at most so many."""
OUTLYING = 0.05
"""The share of a column, with the highest scores of its forest, that is taken for damaged."""


class Task(NamedTuple):
    """A damaged table (n x m), the number of components, whether units are mixed, a seed, the damage, and the truth."""

    X: Array
    K: int
    mixed: bool
    seed: int
    mask: Array
    clean: Array | None = None


class Mended(NamedTuple):
    """The mended table, how suspicious every entry is, which are suspects (n x m each; None: no such thing).

    `fit` is the error of the fit in units of plain NMF's, `note` the gamma that was chosen.
    """

    X: Array
    scores: Array | None = None
    suspects: Array | None = None
    fit: float | None = None
    note: str = ""


def _spread(values: Array) -> Array:
    """The robust standard deviation of every column, that of all columns where one has none."""
    own = NORMAL * np.median(np.abs(values), axis=0)
    usual = np.median(own[own > 0]) if own.any() else 1.0
    return np.where(own > 0, own, usual)


def _by_residuals(X: Array, Y: Array) -> Mended:
    """Entries far from what is expected, in units of their column's residuals, are replaced by it."""
    scores = np.abs(X - Y) / _spread(X - Y)
    suspects = scores > FAR
    return Mended(np.where(suspects, Y, X), scores, suspects)


def _nothing(task: Task) -> Mended:
    return Mended(task.X)


def _medians(task: Task) -> Mended:
    return _by_residuals(task.X, np.broadcast_to(np.median(task.X, axis=0), task.X.shape))


def _pca(task: Task) -> Mended:
    model = decomposition.PCA(task.K, random_state=task.seed)
    return _by_residuals(task.X, model.inverse_transform(model.fit_transform(task.X)))


def _nmf(task: Task) -> Mended:
    model = decomposition.NMF(task.K, init="nndsvda", max_iter=300, random_state=task.seed)
    X = np.maximum(task.X, 0)
    return _by_residuals(task.X, model.fit_transform(X) @ model.components_)


def _robust_pca(task: Task) -> Mended:
    L, S = pursue(task.X)
    return Mended(L, np.abs(S))


def _imputed(X: Array, scores: Array, suspects: Array) -> Mended:
    """Suspects replaced by what the five nearest points have; a column of nothing else keeps its values."""
    hidden = suspects & ~suspects.all(axis=0)
    filled = KNNImputer(n_neighbors=5, keep_empty_features=True).fit_transform(np.where(hidden, np.nan, X))
    return Mended(filled, scores, suspects)


def _knn(task: Task) -> Mended:
    found = _medians(task)
    assert found.scores is not None
    assert found.suspects is not None
    return _imputed(task.X, found.scores, found.suspects)


def _forest(task: Task) -> Mended | None:
    if task.X.shape[1] > NARROW:
        return None
    forest = IsolationForest(n_estimators=10, max_samples=min(128, len(task.X)), random_state=task.seed)
    columns = [column[:, None] for column in task.X.T]
    scores = np.stack([-forest.fit(column).score_samples(column) for column in columns], axis=1)
    return _imputed(task.X, scores, scores > np.quantile(scores, 1 - OUTLYING, axis=0))


def _estimator(task: Task, **options: Any) -> Any:
    kind = ewnmf.Repairer if task.mixed else ewnmf.EWNMF
    return kind(task.K, random_state=task.seed, n_jobs=1, **options).fit(task.X)


def _ours(**options: Any) -> Callable[[Task], Mended]:
    def method(task: Task) -> Mended:
        model = _estimator(task, **options)
        scores, suspects = 1 - model.trust(task.X), model.suspects(task.X)
        return Mended(model.repair(task.X), scores, suspects)

    return method


def _default(task: Task) -> Mended:
    """Nothing chosen by hand but the number of components; of clean data also how well it is fitted."""
    model = _estimator(task)
    scores, suspects = 1 - model.trust(task.X), model.suspects(task.X)
    inner, fit = model.model_ if task.mixed else model, None
    if not task.mask.any():
        plain = _estimator(task, weighting="none")
        plain = plain.model_ if task.mixed else plain
        fit = inner.reconstruction_err_ / (plain.reconstruction_err_ or 1.0)
    path = getattr(inner, "gamma_path_", None)
    note = "" if path is None else "plain" if np.isinf(path.gamma) else f"{path.relative[path.chosen]:.3g}x"
    return Mended(model.repair(task.X), scores, suspects, fit, note)


def _known(task: Task) -> Mended:
    """What plain NMF expects where damage is, which it is told."""
    X = np.maximum(np.where(task.mask, np.nan, task.X), 0)
    model = ewnmf.NMF(task.K, random_state=task.seed, n_jobs=1).fit(X)
    expected = model.inverse_transform(model.transform(X))
    return Mended(np.where(task.mask, expected, task.X))


def _taught(task: Task) -> Mended | None:
    """Our default with what it expects learned from the undamaged table: how well its verdicts could do at best."""
    if task.clean is None or not task.mask.any():
        return None
    model = _estimator(task._replace(X=task.clean))
    return Mended(model.repair(task.X), 1 - model.trust(task.X), model.suspects(task.X))


METHODS: dict[str, Callable[[Task], Mended | None]] = {
    NOTHING: _nothing,
    "medians": _medians,
    "PCA": _pca,
    "NMF": _nmf,
    ROBUST_PCA: _robust_pca,
    "z-score + KNN": _knn,
    "forest + KNN": _forest,
    "welsch": _ours(weighting="welsch", gamma="4x"),
    "huber": _ours(weighting="huber", gamma="4x"),
    "l1": _ours(weighting="l1"),
    DEFAULT: _default,
    KNOWN: _known,
    TAUGHT: _taught,
}
OURS = ("welsch", "huber", "l1", DEFAULT)


def mend(method: str, task: Task) -> Mended | None:
    """What a method makes of a table; None where it does not apply."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return METHODS[method](task)
