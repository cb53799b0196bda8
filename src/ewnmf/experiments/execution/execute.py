"""One run: data, factorization, k-means, figures. Everything that decides a bit of the result is in the spec."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from ewnmf._types import Array
from ewnmf.experiments.protocol.data import Sample, sample
from ewnmf.experiments.protocol.spec import STATISTICS, Spec
from ewnmf.factorization import Factorization, factorize
from ewnmf.metrics import clustering_accuracy, normalized_mutual_information
from ewnmf.models.base import Model
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.storage.matrix import by_form, nonzero_counts
from ewnmf.storage.threads import single_threaded_blas

__all__ = ["clustering", "course", "execute", "statistics", "unit_codes", "weights_of_damage"]

Figures = dict[str, float]

MODELS: dict[str, str | Model] = {
    "nmf": "nmf",
    "onmf-codes": Orthogonal("lagrange", of="codes"),
    "onmf-components": Orthogonal("lagrange", of="components"),
    "semi-nmf": "semi-nmf",
    "convex-nmf": "convex-nmf",
    "ewnmf": "nmf",
}
RISE = 1e-12
STABLE = 0.01
KMEANS_STARTS = (1, 10)


def execute(spec: Spec, home: str | None = None) -> tuple[Figures, dict[str, Array]]:
    """The figures of a run, and the arrays that it keeps.

    BLAS and OpenMP have one thread: sums are then added in one order, and the figures are the same in every process.
    """
    with single_threaded_blas(openmp=True):
        given = sample(spec, home)
        if spec.method == STATISTICS:
            return statistics(given), {}
        fit = fitted(spec, given.X)
        figures = {"n_points": given.X.shape[0], "n_attributes": given.X.shape[1]} | course(fit)
        figures["sparseness"] = sparseness(fit.components)
        if given.classes is not None:
            figures |= clustering(fit, given.classes, spec.k, spec.seed)
        arrays = _arrays(given, fit)
        if fit.gamma is not None:
            figures["gamma"] = fit.gamma
            if given.damaged is not None or "weights" in spec.keep:
                arrays["weights"] = fit.weights()
            if given.damaged is not None:
                figures |= weights_of_damage(arrays["weights"], given.damaged)
        return {name: float(value) for name, value in figures.items()}, _kept(spec, arrays)


def fitted(spec: Spec, X: Any) -> Factorization:
    """The factorization from the start of this seed and attempt, which all methods share."""
    weighting = {"gamma": spec.gamma} if spec.gamma is not None else {"weighting": "none"}
    # A trailing 0 changes nothing: the first attempt starts where factorize(..., rng=seed) does.
    rng = np.random.default_rng([spec.seed, spec.attempt])
    given: dict[str, Any] = {"loss": spec.loss, "model": MODELS[spec.method], **weighting}
    return factorize(X, spec.k, solver="mu", max_iter=spec.max_iter, n_jobs=1, rng=rng, **given)


def statistics(given: Sample) -> Figures:
    """What Table 1 says of a data set, and what it leaves out."""
    n, m = given.X.shape
    figures = {"n_points": n, "n_attributes": m}
    seen = nonzero_counts(given.X)
    figures |= {"silent_attributes": np.sum(seen == 0), "share_of_zeros": 1 - np.sum(seen) / (n * m)}
    if given.classes is not None:
        sizes = np.bincount(given.classes)
        figures |= {"n_classes": sizes.size, "smallest_class": sizes.min(), "largest_class": sizes.max()}
        figures["first_class"] = sizes[0]
    return {name: float(value) for name, value in figures.items()}


def course(fit: Factorization) -> Figures:
    """How the run went, of the iterations after gamma was tuned, numbered from the start of the run.

    ``rises``: iterations at which the objective rose by more than 1e-12 of itself. ``stable_at``: the iteration from
    which on the objective stays within 1 % of its fall (largest minus last value) of its last value. ``level_at``: the
    one from which on the excess stays within 1 % of its own last value, however far it fell before.
    """
    J = fit.history
    E = fit.excess + (J - J[-1])
    rises = np.sum(np.diff(J) > RISE * np.abs(J[:-1]))
    before = fit.n_iter - J.size
    return {
        "objective": fit.objective,
        "excess": fit.excess,
        "n_iter": fit.n_iter,
        "rises": float(rises),
        "stable_at": before + _stable_from(J, STABLE * (J.max() - J[-1])),
        "level_at": before + _stable_from(E, STABLE * abs(E[-1])),
    }


def _stable_from(values: Array, distance: float) -> int:
    """The first position (from 1) from which on all values are within `distance` of the last one."""
    far = np.flatnonzero(np.abs(values - values[-1]) > distance)
    return int(far[-1]) + 2 if far.size else 1


def sparseness(components: Array) -> float:
    """Hoyer's ``(sqrt(m) - |w|_1 / |w|_2) / (sqrt(m) - 1)``, the mean over components that are not zero."""
    root = np.sqrt(components.shape[1])
    largest = np.abs(components).max(axis=1, keepdims=True)
    w = components[largest[:, 0] > 0] / largest[largest[:, 0] > 0]
    ratio = np.abs(w).sum(axis=1) / np.linalg.norm(w, axis=1)
    return float(np.mean((root - ratio) / (root - 1)))


def unit_codes(fit: Factorization) -> Array:
    """Components scaled to norm 1 into the codes, then every point's codes to norm 1."""
    unit: Array = normalize(fit.codes * np.linalg.norm(fit.components, axis=1))
    return unit


def clustering(fit: Factorization, classes: Array, k: int, seed: int) -> Figures:
    """ACC and NMI of k-means with 1 and with 10 starts, on the run's own codes and on unit codes."""
    found = {}
    for name, codes in (("raw", fit.codes), ("unit", unit_codes(fit))):
        for starts in KMEANS_STARTS:
            with warnings.catch_warnings():
                # Fewer distinct points than clusters: a result like any other.
                warnings.simplefilter("ignore", ConvergenceWarning)
                labels = KMeans(k, n_init=starts, random_state=seed).fit_predict(codes)
            found[f"acc_{name}_{starts}"] = clustering_accuracy(classes, labels)
            found[f"nmi_{name}_{starts}"] = normalized_mutual_information(classes, labels)
    return found


def weights_of_damage(weights: Array, damaged: Array) -> Figures:
    """Medians of the weights (times m: 1 means equal) of the points that have damage, inside and outside of it."""
    hit = damaged.any(axis=1)
    T, bad = weights[hit] * weights.shape[1], damaged[hit]
    return {"weight_destroyed": float(np.median(T[bad])), "weight_rest": float(np.median(T[~bad]))}


def _arrays(given: Sample, fit: Factorization) -> dict[str, Array]:
    """All that can be kept of a run, but for its weights."""
    arrays = {"history": fit.history, "components": fit.components, "codes": fit.codes}
    known = {
        "data": by_form(given.X, whole=given.X, stored=None),
        "damaged": given.damaged,
        "clean": given.clean,
        "sources": given.sources,
    }
    return arrays | {name: array for name, array in known.items() if array is not None}


def _kept(spec: Spec, arrays: dict[str, Array]) -> dict[str, Array]:
    missing = [name for name in spec.keep if name not in arrays]
    if missing:
        raise ValueError(f"keep={missing[0]!r} cannot be kept of the run {spec}, which has none.")
    return {name: arrays[name] for name in spec.keep}
