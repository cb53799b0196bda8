"""The names that objects have in model files. They stay as they are, wherever the classes move."""

from __future__ import annotations

from typing import Any

from ewnmf import models, weightings
from ewnmf.choosing.gamma import GammaPath
from ewnmf.choosing.rank import RankPath
from ewnmf.damage.calibration import Calibration
from ewnmf.losses.registry import LOSSES
from ewnmf.models.base import Facts
from ewnmf.problem import Problem
from ewnmf.weightings.registry import WEIGHTINGS

__all__ = ["class_of", "name_of"]

_CLASSES: dict[str, type[Any]] = {
    "model:nmf": models.NMF,
    "model:semi-nmf": models.Semi,
    "model:convex-nmf": models.Convex,
    "model:orthogonal-nmf": models.Orthogonal,
    "weighting:constant": weightings.Weighting,
    "problem": Problem,
    "facts": Facts,
    "gamma path": GammaPath,
    "rank path": RankPath,
    "calibration": Calibration,
}
"""Dataclasses whose fields say everything. A class may be replaced by another that takes the same fields."""


def _classes() -> dict[str, type[Any]]:
    """Those, and all losses and weightings under the names that users ask for them by."""
    named = {f"loss:{name}": cls for name, cls in LOSSES.items()}
    return _CLASSES | named | {f"weighting:{name}": cls for name, cls in WEIGHTINGS.items()}


_FORMAT_1 = {
    "losses.Euclidean": "loss:euclidean",
    "models.Euclidean": "loss:euclidean",
    "losses.KullbackLeibler": "loss:kullback-leibler",
    "losses.Alpha": "loss:alpha",
    "models.NMF": "model:nmf",
    "ranks.NMF": "model:nmf",
    "models.Semi": "model:semi-nmf",
    "models.Convex": "model:convex-nmf",
    "models.Orthogonal": "model:orthogonal-nmf",
    "models.Weighting": "weighting:constant",
    "weights.Weighting": "weighting:constant",
    "weights.Uniform": "weighting:none",
    "weights.Fixed": "weighting:fixed",
    "choosing.Entropy": "weighting:entropy",
    "ranks.Entropy": "weighting:entropy",
    "weights.Entropy": "weighting:entropy",
    "choosing.Problem": "problem",
    "problem.Problem": "problem",
    "ranks.Problem": "problem",
    "models.Facts": "facts",
    "problem.Facts": "facts",
    "rule.Facts": "facts",
    "choosing.GammaPath": "gamma path",
    "ranks.RankPath": "rank path",
}
"""What files of format 1 have: a module that happened to know the class, and the class."""


def name_of(value: Any) -> str | None:
    """The name of the object's class, None where such objects stand in no file."""
    return next((name for name, cls in _classes().items() if cls is type(value)), None)


def class_of(name: Any) -> type[Any]:
    """The class of that name."""
    known = _classes().get(_FORMAT_1.get(name, name)) if isinstance(name, str) else None
    if known is None:
        raise ValueError(f"an object of the class {name!r} is not known")
    return known
