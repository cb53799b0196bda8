"""Which problems are drawn, and how often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.torture.data import DENSE, KINDS, SPARSE, matrix
from tests.torture.problems import GAMMAS, Problem

__all__ = ["draw"]

Array = NDArray[Any]
Rng = np.random.Generator

ALPHAS = (-1.5, -1.0, 0.0, 1e-7, 0.3, 0.5, 1 - 1e-7, 1.0, 2.0, 3.0)
CLASSES = {"EWNMF": 0.35, "NMF": 0.2, "ONMF": 0.2, "SemiNMF": 0.125, "ConvexNMF": 0.125}
BETAS = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
LOSSES = {"euclidean": 0.35, "kullback-leibler": 0.2, "alpha": 0.3, "beta": 0.15}
WEIGHTINGS = {"entropy": 0.4, "none": 0.22, "fixed": 0.18, "welsch": 0.05, "cauchy": 0.05, "huber": 0.05, "l1": 0.05}


def one_of(rng: Rng, options: Any) -> Any:
    """One of the options; of a dict by their shares."""
    if isinstance(options, dict):
        return list(options)[rng.choice(len(options), p=list(options.values()))]
    return options[rng.integers(len(options))]


def chance(rng: Rng, share: float) -> bool:
    """True that often."""
    return bool(rng.random() < share)


def draw(seed: int, index: int) -> Problem:
    """The problem of this seed and index, the same on every machine and in every order."""
    rng = np.random.default_rng([seed, index])
    name = one_of(rng, CLASSES)
    loss = "euclidean" if name == "SemiNMF" and chance(rng, 0.97) else one_of(rng, LOSSES)
    alpha = one_of(rng, BETAS if loss == "beta" else ALPHAS)
    weighting = "entropy" if name == "EWNMF" and chance(rng, 0.8) else one_of(rng, WEIGHTINGS)
    dtype = np.float32 if chance(rng, 0.35) else np.float64
    kind, scale, X = _data(rng, name, loss, alpha, dtype)
    n, m = X.shape
    K = int(rng.integers(1, 2 + min(n, m))) if chance(rng, 0.8) else int(rng.integers(1, 3 + max(n, m)))
    hidden, hide_by, junk = _hidden(rng, name, n, m)
    sparse = chance(rng, 0.3) and hide_by != "nan"
    gamma = _gamma(rng, np.float64(scale) ** (2.0 if loss == "euclidean" else alpha if loss == "beta" else 1.0))
    starts = {"codes": (n, K), "components": (K, m), "combinations": (n, K)}
    components_unit = scale if chance(rng, 0.5) else 1.0
    made: dict[str, Any] = {key: (rng.random(shape) + 0.1) for key, shape in starts.items()}
    made["components"] = np.minimum(made["components"] * components_unit, float(np.finfo(dtype).max))
    problem = Problem(
        seed=seed,
        index=index,
        kind=kind,
        name=name,
        X=X,
        layout=_layout(rng, sparse, dtype),
        K=K,
        loss=loss,
        alpha=alpha,
        weighting=weighting,
        gamma=gamma if weighting in GAMMAS else "auto",
        solver="accelerated" if chance(rng, 0.3 if name in ("EWNMF", "NMF") else 0.02) else "mu",
        order=one_of(rng, ("auto", "components-first", "codes-first")),
        init=_init(rng),
        options=_options(rng, name, loss),
        hidden=hidden,
        hide_by=hide_by,
        junk=None if sparse else junk,
        weights=_weights(rng, (n, m), dtype) if weighting == "fixed" and chance(rng, 0.8) else None,
        sample_weight=_weights(rng, (n,), dtype) if chance(rng, 0.3) else None,
        feature_weight=_weights(rng, (m,), dtype) if chance(rng, 0.2) else None,
        fixed=_fixed(rng, K, m, scale, dtype) if name != "ConvexNMF" and chance(rng, 0.15) else None,
        max_iter=int(rng.integers(1, 31)),
        tol=one_of(rng, (0.0, 0.0, 1e-5)),
        **{key: value.astype(dtype) for key, value in made.items()},
    )
    return _varied(problem, np.random.default_rng([seed, index, 2]))


def _varied(problem: Problem, rng: Rng) -> Problem:
    """Now and then the rule for groups where gamma is chosen, the solver that is, and coordinate descent."""
    if chance(np.random.default_rng([problem.seed, problem.index, 3]), 0.25):
        problem = replace(problem, solver="auto")
    if problem.gamma == "auto" and problem.weighting in GAMMAS and chance(rng, 0.5):
        return replace(problem, gamma="groups")
    if problem.name == "NMF" and problem.loss == "euclidean" and chance(rng, 0.4):
        plain: dict[str, Any] = {"weighting": "none", "gamma": "auto", "weights": None}
        if chance(rng, 0.95):
            plain |= {"hidden": None, "feature_weight": None}
        return replace(problem, solver=rng.choice(["cd", "accelerated-cd"]).item(), **plain)
    return problem


def _data(rng: Rng, name: str, loss: str, alpha: float, dtype: Any) -> tuple[str, float, Array]:
    """Kind, scale and data (n x m) that the class and the loss mostly take."""
    n, m = _sizes(rng)
    kind = one_of(rng, KINDS)
    X = matrix(kind, n, m, int(rng.integers(1, 5)), rng)
    takes_negative = name in ("SemiNMF", "ConvexNMF") and loss == "euclidean"
    if chance(rng, 0.6 if takes_negative else 0.005):
        X = np.where(rng.random(X.shape) < 0.4, -X, X)
    if loss in ("alpha", "beta") and alpha <= 0 and chance(rng, 0.95):
        X = np.where(X == 0, 0.1 if chance(rng, 0.5) else 1e-6, X)
    scale = _scale(rng, dtype)
    with np.errstate(over="ignore", under="ignore"):
        return kind, scale, np.minimum(X * scale, float(np.finfo(dtype).max)).astype(dtype)


def _layout(rng: Rng, sparse: bool, dtype: Any) -> str:
    """A layout; single precision of the other byte order would be taken as double."""
    layout = str(one_of(rng, SPARSE if sparse else DENSE))
    return "F" if layout == "big-endian" and dtype == np.float32 else layout


def _sizes(rng: Rng) -> tuple[int, int]:
    """Shapes from 1 x 1 to 40 x 40, small ones more often."""
    n, m = (int(rng.integers(1, one_of(rng, (4, 10, 20, 41)))) for _ in range(2))
    return n, m


def _scale(rng: Rng, dtype: Any) -> float:
    """1, or a power of ten: mostly moderate, sometimes anywhere in the range of the dtype."""
    if chance(rng, 0.6):
        return 1.0
    far = 300 if dtype == np.float64 else 36
    return float(10 ** rng.uniform(*((-12, 12) if chance(rng, 0.5) else (-far, far / 3))))


def _gamma(rng: Rng, unit: Any) -> float | str:
    """Mostly within eight decades of the size of a loss; else anything."""
    kind = one_of(rng, {"near": 0.6, "far": 0.14, "inf": 0.05, "4x": 0.09, "self-tuned": 0.09, "auto": 0.02, "0": 0.01})
    if kind == "near":
        with np.errstate(over="ignore", under="ignore"):
            gamma = float(unit * 10 ** rng.uniform(-6, 4))
        return gamma if np.finfo(np.float64).tiny < gamma < np.inf else 1.0
    if kind == "far":
        return float(10 ** rng.uniform(-100, 100))
    return float(kind) if kind in ("inf", "0") else str(kind)


def _init(rng: Rng) -> str:
    kind = one_of(rng, {"random": 0.4, "custom": 0.45, "nndsvd": 0.15})
    return str(one_of(rng, ("nndsvd", "nndsvda", "nndsvdar")) if kind == "nndsvd" else kind)


def _options(rng: Rng, name: str, loss: str) -> dict[str, Any]:
    """The method of ONMF, the penalties of NMF."""
    if name == "ONMF":
        method = one_of(rng, {"hard": 0.45, "soft": 0.35, "lagrange": 0.1, "stiefel": 0.1})
        options = {"method": method, "of": one_of(rng, ("codes", "components"))}
        if method == "soft":
            options |= {"mu": float(10 ** rng.uniform(-3, 2)), "lam": float(one_of(rng, (0.0, 0.01, 1.0)))}
        return options
    if name not in ("NMF", "EWNMF") or chance(rng, 0.8):
        return {}
    ratio = 1.0 if loss == "alpha" and chance(rng, 0.9) else float(one_of(rng, (0.0, 0.5, 1.0)))
    on_components = "same" if chance(rng, 0.5) else float(10 ** rng.uniform(-4, 1))
    return {"alpha_W": float(one_of(rng, (0.0, 1e-3, 0.1, 3.0))), "alpha_H": on_components, "l1_ratio": ratio}


def _hidden(rng: Rng, name: str, n: int, m: int) -> tuple[Array | None, str, float | None]:
    """Which entries are missing, how that is said, and what a mask hides."""
    if chance(rng, 0.75 if name != "ConvexNMF" else 0.99):
        return None, "mask", None
    hidden = rng.random((n, m)) < rng.choice([0.05, 0.3, 0.7])
    if chance(rng, 0.2):
        hidden[rng.integers(n)] = True
    if chance(rng, 0.2):
        hidden[:, rng.integers(m)] = True
    junk = one_of(rng, (None, None, 0.0, 1e3, -1.0, np.inf, np.nan))
    hide_by = one_of(rng, ("mask", "nan"))
    return hidden, "nan" if name == "ConvexNMF" else hide_by, junk


def _weights(rng: Rng, shape: tuple[int, ...], dtype: Any) -> Array:
    """Weights: ordinary, with zeros, whole, or of huge ratios."""
    kind = one_of(rng, {"ordinary": 0.4, "zeros": 0.3, "whole": 0.15, "huge": 0.15})
    if kind == "huge":
        far = 12 if dtype == np.float64 else 6
        return np.asarray(10 ** rng.uniform(-far, far, shape)).astype(dtype)
    A = rng.integers(1, 4, shape) if kind == "whole" else rng.uniform(0.1, 2, shape)
    if kind == "zeros":
        A = np.where(rng.random(shape) < 0.3, 0, A)
        if len(shape) == 2:
            A[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] = 1
        elif not A.any():
            A[0] = 1
    return np.asarray(A).astype(dtype)


def _fixed(rng: Rng, K: int, m: int, scale: float, dtype: Any) -> Array:
    """Some components that stay, now and then with zeros."""
    F = rng.random((int(rng.integers(1, K + 1)), m)) * scale
    F = np.minimum(F, float(np.finfo(dtype).max))
    return (F * (rng.random(F.shape) < 0.7) if chance(rng, 0.3) else F).astype(dtype)
