"""What a model says of all points, block by block: counts of suspects, and the most suspicious entries."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ewnmf._types import Array
from ewnmf.damage.repair import most_suspicious
from ewnmf.plots.judged import MOST_ENTRIES

__all__ = ["MOST_ENTRIES", "Survey", "survey"]


@dataclass(frozen=True, eq=False)
class Survey:
    """Of the points that were looked at.

    Attributes
    ----------
    rows : ndarray of shape (k,)
        Their numbers, from 0.
    total : int
        How many points there are.
    observed, suspect : ndarray of shape (m,)
        Entries that are there, and of these the suspect ones, of every attribute.
    largest : ndarray of shape (m,)
        The largest absolute value that is there or expected.
    observed_of_points, suspect_of_points : ndarray of shape (k,)
        The same counts of every point.
    doubt_of_points : ndarray of shape (k,)
        What its suspect entries lack of full trust, in sum.
    worst : dict of str to ndarray
        The most suspicious of the suspects: ``point`` (number from 0), ``attribute`` (number), ``value``, ``expected``,
        ``trust``, ``score``, worst first.
    lost : int
        Points without an entry that is both there and trusted.
    """

    rows: Array
    total: int
    observed: Array
    suspect: Array
    largest: Array
    observed_of_points: Array
    suspect_of_points: Array
    doubt_of_points: Array
    worst: dict[str, Array]
    lost: int

    @property
    def share(self) -> float:
        """The share of observed entries that are suspect."""
        return float(self.suspect.sum() / max(1, self.observed.sum()))

    @property
    def share_of_attributes(self) -> Array:
        """The same of every attribute."""
        share: Array = self.suspect / np.maximum(1, self.observed)
        return share

    @property
    def share_of_points(self) -> Array:
        """The same of every point."""
        share: Array = self.suspect_of_points / np.maximum(1, self.observed_of_points)
        return share

    @property
    def worst_points(self) -> Array:
        """Places of all points, by their shares of suspects and, where these are equal, by doubt; worst first."""
        return np.lexsort((-self.doubt_of_points, -self.share_of_points))


def survey(estimator: Any, X: Any, false_alarms: float, *, top: int, most: int = MOST_ENTRIES) -> Survey:
    """Ask the estimator about the rows of ``X``, or points in equal distances where it has more than `most` entries."""
    n, m = X.shape
    rows = np.arange(0, n, max(1, -(-n * m // most)))
    some = X if len(rows) == n else _safe_indexing(X, rows)
    observed, suspect, largest = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64), np.zeros(m)
    of_points: list[tuple[Array, Array, Array]] = []
    worst: dict[str, Array] = {}
    first, lost_points = 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for x, verdict, suspects, lost in estimator._decided(some, false_alarms, None):
            observed += verdict.seen.sum(axis=0)
            suspect += suspects.sum(axis=0)
            seen = np.where(verdict.seen, np.abs(x), 0)
            largest = np.maximum(largest, np.maximum(seen, np.abs(verdict.expected)).max(axis=0))
            doubt = np.where(suspects, 1 - verdict.trust, 0).sum(axis=1)
            of_points.append((verdict.seen.sum(axis=1), suspects.sum(axis=1), doubt))
            found = most_suspicious(x, verdict, min(top, int(suspects.sum())))
            found["point"] = rows[found["point"] + first]
            worst = _merged(worst, found, top)
            first, lost_points = first + len(x), lost_points + lost
    there, doubted, doubt = (np.concatenate(column) for column in zip(*of_points, strict=True))
    return Survey(rows, n, observed, suspect, largest, there, doubted, doubt, worst, lost_points)


def _merged(known: dict[str, Array], found: dict[str, Array], top: int) -> dict[str, Array]:
    """The worst of both."""
    if not known:
        return found
    columns = {name: np.concatenate([known[name], found[name]]) for name in found}
    order = np.argsort(-columns["score"], kind="stable")[:top]
    return {name: column[order] for name, column in columns.items()}
