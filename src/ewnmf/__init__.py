"""Entropy weighted nonnegative matrix factorization and its relatives."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ewnmf import datasets, losses, metrics, models, report, weightings
    from ewnmf.choosing.gamma import GammaPath
    from ewnmf.choosing.rank import RankPath
    from ewnmf.estimators.convex import ConvexNMF
    from ewnmf.estimators.loading import load
    from ewnmf.estimators.minibatch import MiniBatchEWNMF
    from ewnmf.estimators.nmf import EWNMF, NMF
    from ewnmf.estimators.orthogonal import ONMF
    from ewnmf.estimators.repairer import Repairer
    from ewnmf.estimators.search import gamma_path, select_rank
    from ewnmf.estimators.semi import SemiNMF
    from ewnmf.factorization import Factorization, factorize
    from ewnmf.plots import figures as plots
    from ewnmf.storage.blocks import Blocks, open_blocks

__version__ = "0.1.0.dev0"

__all__ = [
    "EWNMF",
    "NMF",
    "ONMF",
    "Blocks",
    "ConvexNMF",
    "Factorization",
    "GammaPath",
    "MiniBatchEWNMF",
    "RankPath",
    "Repairer",
    "SemiNMF",
    "__version__",
    "datasets",
    "factorize",
    "gamma_path",
    "load",
    "losses",
    "metrics",
    "models",
    "open_blocks",
    "plots",
    "report",
    "select_rank",
    "weightings",
]

_HOMES = {
    "EWNMF": "estimators",
    "NMF": "estimators",
    "ONMF": "estimators",
    "ConvexNMF": "estimators",
    "MiniBatchEWNMF": "estimators",
    "Repairer": "estimators",
    "SemiNMF": "estimators",
    "Blocks": "storage.blocks",
    "Factorization": "factorization",
    "GammaPath": "choosing.gamma",
    "factorize": "factorization",
    "gamma_path": "estimators.search",
    "load": "estimators.loading",
    "open_blocks": "storage.blocks",
    "RankPath": "choosing.rank",
    "select_rank": "estimators.search",
}
_MODULES = ("datasets", "losses", "metrics", "models", "plots", "report", "weightings")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"ewnmf.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"ewnmf.{name}")
    raise AttributeError(f"module 'ewnmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
