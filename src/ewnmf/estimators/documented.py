"""Docstrings of the estimators."""

from __future__ import annotations

import inspect
from typing import TypeVar

from ewnmf.estimators import parameters
from ewnmf.estimators.base import Factorizer

__all__ = ["RELATED", "documented"]

Estimator = TypeVar("Estimator", bound=type[Factorizer])

RELATED = {
    "EWNMF": "Weights of entries are learned; the paper's method.",
    "MiniBatchEWNMF": "The same from batches of points, or from a stream of them.",
    "NMF": "Unweighted by default, with every weighting and solver.",
    "ONMF": "Orthogonal codes or components.",
    "SemiNMF": "Data and components of any sign.",
    "ConvexNMF": "Components that are combinations of points.",
    "Repairer": "Damaged and missing entries replaced, columns of any unit.",
}
"""What *See Also* says of each estimator."""


def documented(cls: Estimator) -> Estimator:
    """Fill the sections that all estimators have in common."""
    order = list(inspect.signature(cls).parameters)
    entries = sorted(parameters.described(cls), key=lambda known: order.index(known.name))
    text = (cls.__doc__ or "").replace("$parameters", "\n    ".join(known.entry for known in entries))
    text = text.replace("$attributes", parameters.ATTRIBUTES)
    related = [f"{name} : {what}" for name, what in RELATED.items() if name != cls.__name__]
    cls.__doc__ = text.replace("$related", "\n    ".join(related))
    return cls
