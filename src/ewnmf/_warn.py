"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

_BETWEEN = {"ewnmf", "sklearn", "contextlib", "functools"}
"""Packages whose lines are nobody's own."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line that belongs neither to this package nor to what it is called through."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
