"""Docstrings of the estimators."""

from __future__ import annotations

from typing import TypeVar

from ewnmf.estimators import parameters
from ewnmf.estimators.base import Factorizer

__all__ = ["documented"]

Estimator = TypeVar("Estimator", bound=type[Factorizer])


def documented(cls: Estimator) -> Estimator:
    """Fill the sections that all estimators have in common."""
    text = cls.__doc__ or ""
    for name in parameters.SECTIONS:
        entries = [known.entry for known in parameters.section(name, cls)]
        text = text.replace(f"${name}", "\n    ".join(entries))
    cls.__doc__ = text.replace("$attributes", parameters.ATTRIBUTES)
    return cls
