"""Names that parameters can have: in docstrings, and in sentences where one is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TypeVar

__all__ = ["listed", "unknown_name", "with_names"]

Documented = TypeVar("Documented", bound=Callable[..., object])


def unknown_name(parameter: str, value: object, valid: Iterable[str]) -> ValueError:
    """The error for ``parameter=value`` where only the names in `valid` are known, with the nearest one."""
    names = sorted(valid)
    near = get_close_matches(value.lower(), names, n=1, cutoff=0.5) if isinstance(value, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ValueError(f"{parameter}={value!r} is not known; use one of {', '.join(map(repr, names))}.{hint}")


def listed(names: Iterable[str]) -> str:
    """The names as docstrings have them: ``{"this", "that"}``."""
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


def with_names(**names: Iterable[str]) -> Callable[[Documented], Documented]:
    """Put the names into a docstring, for every ``$parameter``."""

    def fill(function: Documented) -> Documented:
        for parameter, valid in names.items():
            function.__doc__ = (function.__doc__ or "").replace(f"${parameter}", listed(valid))
        return function

    return fill
