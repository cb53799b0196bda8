"""Points with what was distrusted replaced, and a table of what is most suspicious."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.damage.verdict import Verdict

__all__ = ["AUTO", "check_false_alarms", "check_replaced", "lost_points", "most_suspicious", "repaired"]

AUTO = "auto"
FIELDS = ("point", "attribute", "value", "expected", "trust")


def check_false_alarms(false_alarms: Any) -> float:
    """The share of false alarms, refused where it is none."""
    if isinstance(false_alarms, bool) or not isinstance(false_alarms, Real) or not 0 < float(false_alarms) < 0.5:
        raise ValueError(
            f"false_alarms={false_alarms!r} must be a number between 0 and 0.5, both excluded: the share of undamaged "
            "entries that may be suspected, such as 0.01."
        )
    return float(false_alarms)


def check_replaced(false_alarms: Any) -> float | str:
    """The same for what is to be replaced, where ``"auto"`` leaves it to the calibration."""
    return AUTO if isinstance(false_alarms, str) and false_alarms == AUTO else check_false_alarms(false_alarms)


def lost_points(verdict: Verdict, suspects: Array) -> Array:
    """Which points (n) have no entry that is both observed and trusted."""
    return np.asarray((suspects | ~verdict.seen).all(axis=1))


def repaired(X: Array, verdict: Verdict, suspects: Array, *, soft: bool) -> Array:
    """``X`` (n x m) with what is expected in place of suspects and missing values, all others as they are.

    With `soft` all observed entries are ``trust * x + (1 - trust) * expected`` instead.
    """
    expected = verdict.expected
    clean = X.copy()
    replaced = suspects | ~verdict.seen
    if soft:
        t = np.where(verdict.seen, verdict.trust, 0)
        x = np.where(verdict.seen, X, 0)
        np.copyto(clean, t * x + (1 - t) * expected, casting="same_kind")
    else:
        np.copyto(clean, expected, where=replaced, casting="same_kind")
    return clean


def most_suspicious(X: Array, verdict: Verdict, top: int) -> dict[str, Array]:
    """The `top` observed entries of the largest scores, most suspicious first, as columns; points by their number."""
    scores = np.where(verdict.seen, verdict.scores, -np.inf).ravel()
    top = min(top, int(verdict.seen.sum()))
    chosen = np.argsort(-scores, kind="stable")[:top]
    rows, columns = np.unravel_index(chosen, X.shape)
    at = (rows, columns)
    values = (rows, columns, X[at], verdict.expected[at], verdict.trust[at], scores[chosen])
    return dict(zip((*FIELDS, "score"), values, strict=True))
