"""Sentences for names that are not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["unknown_name"]


def unknown_name(parameter: str, value: object, valid: Iterable[str]) -> ValueError:
    """The error for ``parameter=value`` where only the names in `valid` are known, with the nearest one."""
    names = sorted(valid)
    near = get_close_matches(value.lower(), names, n=1, cutoff=0.5) if isinstance(value, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ValueError(f"{parameter}={value!r} is not known; use one of {', '.join(map(repr, names))}.{hint}")
