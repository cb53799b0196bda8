"""Docstrings of the estimators."""

from __future__ import annotations

from typing import Any, TypeVar

from ewnmf.estimators import parameters
from ewnmf.estimators.base import Factorizer

__all__ = ["documented"]

Estimator = TypeVar("Estimator", bound=type[Factorizer])


def documented(weighting: str) -> Any:
    """Fill the sections that all estimators have in common."""

    def fill(cls: Estimator) -> Estimator:
        text = cls.__doc__ or ""
        for mark, words in {**parameters.SECTIONS, "attributes": parameters.ATTRIBUTES}.items():
            text = text.replace(f"${mark}", words)
        cls.__doc__ = text.replace("$weighting", f'"{weighting}"')
        return cls

    return fill
