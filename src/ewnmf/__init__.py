"""Entropy weighted nonnegative matrix factorization and its relatives."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ewnmf import datasets, losses, metrics, models, plots, weights
    from ewnmf.choosing import GammaPath
    from ewnmf.estimators import EWNMF, NMF, ONMF, ConvexNMF, SemiNMF
    from ewnmf.factorization import Factorization, factorize
    from ewnmf.loading import load
    from ewnmf.paths import gamma_path
    from ewnmf.ranks import RankPath
    from ewnmf.selection import select_rank

__version__ = "0.1.0.dev0"

__all__ = [
    "EWNMF",
    "NMF",
    "ONMF",
    "ConvexNMF",
    "Factorization",
    "GammaPath",
    "RankPath",
    "SemiNMF",
    "__version__",
    "datasets",
    "factorize",
    "gamma_path",
    "load",
    "losses",
    "metrics",
    "models",
    "plots",
    "select_rank",
    "weights",
]

_HOMES = {
    "EWNMF": "estimators",
    "NMF": "estimators",
    "ONMF": "estimators",
    "ConvexNMF": "estimators",
    "SemiNMF": "estimators",
    "Factorization": "factorization",
    "GammaPath": "choosing",
    "factorize": "factorization",
    "gamma_path": "paths",
    "load": "loading",
    "RankPath": "ranks",
    "select_rank": "selection",
}
_MODULES = ("datasets", "losses", "metrics", "models", "plots", "weights")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"ewnmf.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"ewnmf.{name}")
    raise AttributeError(f"module 'ewnmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
