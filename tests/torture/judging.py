"""What counts as a refusal, what as a fault, and how two answers are compared."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Refused", "Undecided", "Violation", "attempt", "demand", "no_sentence"]

Answer = TypeVar("Answer")


class Violation(Exception):
    """The library did what it must not do."""


class Refused(Exception):
    """The library refused the problem with a sentence."""


class Undecided(Exception):
    """Rounding decides the answer, or the property says nothing of this problem."""


_NAMED = re.compile(
    r"\b(X|codes|components|combinations|weights|mask|sample_weight|feature_weight|fixed_components|gamma|loss|alpha|"
    r"model|method|of|mu|lam|weighting|solver|order|init|n_components|alpha_W|alpha_H|l1_ratio|max_iter|tol|n_jobs)\b"
)
_DOORS = re.compile(r"[/\\](ewnmf|sklearn[/\\]utils)[/\\]")


def no_sentence(error: Exception) -> str | None:
    """Why an error is no refusal: not from the door, without a parameter's name, no sentence. None where it is one."""
    text = str(error)
    raised = traceback.extract_tb(error.__traceback__)[-1].filename
    if not _DOORS.search(raised):
        return f"raised in {raised}"
    if not _NAMED.search(text):
        return "names no parameter"
    if not text.endswith(".") or " " not in text:
        return "is no sentence"
    return None


def attempt(call: Callable[[], Answer]) -> Answer:
    """The answer of `call`; `Refused` with a sentence, `Violation` on any other error and on NumPy's warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            answer = call()
        except (Violation, Refused, Undecided):
            raise
        except Exception as error:
            why = no_sentence(error) if isinstance(error, ValueError | TypeError) else "is no refusal"
            if why is None:
                raise Refused(str(error)) from error
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.filename.rsplit('/', 1)[-1]}:{where.lineno}"
            raise Violation(f"{type(error).__name__} at {place} {why}: {error}") from error
    for warning in seen:
        if not issubclass(warning.category, UserWarning):
            place = f"{warning.filename.rsplit('/', 1)[-1]}:{warning.lineno}"
            raise Violation(f"{warning.category.__name__} at {place}: {warning.message}")
    return answer


def demand(call: Callable[[], Answer]) -> Answer:
    """The answer of a call that must not be refused any more."""
    try:
        return attempt(call)
    except Refused as refusal:
        raise Violation(f"refused after fit: {refusal}") from refusal
