"""What a report takes from a store: rows read once, and the arrays of the runs that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf._types import Array
from ewnmf.experiments.pages.markup import counted, number
from ewnmf.experiments.pages.pictures import Descent
from ewnmf.experiments.pages.statistics import METHODS, experiment
from ewnmf.experiments.pages.verdicts import Seen
from ewnmf.experiments.protocol import paper
from ewnmf.experiments.protocol.spec import RULES

if TYPE_CHECKING:
    from ewnmf.experiments.execution.archive import Source
    from ewnmf.experiments.protocol.spec import Row

__all__ = ["Material", "gamma_title", "method_title"]


@dataclass(frozen=True)
class Material:
    """What the store holds; the rows are read once. `outdated` rows are of rules that are no longer followed."""

    store: Source
    rows: Sequence[Row]
    outdated: int = 0

    @classmethod
    def of(cls, store: Source) -> Material:
        """All rows of a store that say something of this version."""
        found = store.rows()
        rows = [row for row in found if row.spec.rule is None or row.spec.rule == RULES.get(str(row.spec.gamma))]
        return cls(store, rows, len(found) - len(rows))

    def left_out(self) -> str:
        """A sentence on the rows that no longer count, behind others."""
        if not self.outdated:
            return ""
        return f" Left out: {counted(self.outdated, 'run')} of an earlier rule of choosing gamma."

    def of_the_paper(self) -> Material:
        """The rows of the paper's data sets and loss."""
        rows = [row for row in self.rows if row.spec.dataset in paper.DATASETS and row.spec.loss == "euclidean"]
        return replace(self, rows=rows)

    def kept(self, name: str, **wanted: Any) -> list[Row]:
        """Rows that kept an array and whose specs have these values; those with the paper's iterations, if any."""
        found = [
            row
            for row in self.rows
            if name in row.spec.keep
            and all(getattr(row.spec, key) == value for key, value in wanted.items())
            and self.store.has(row.key, name)
        ]
        counts = {row.spec.max_iter for row in found}
        iterations = paper.ITERATIONS if paper.ITERATIONS in counts else max(counts, default=0)
        return [row for row in found if row.spec.max_iter == iterations]

    def array(self, row: Row, name: str) -> Array:
        """An array that a row kept."""
        return self.store.array(row.key, name)

    def first_of_methods(self, array: str) -> dict[str, Row]:
        """Method -> its run of the smallest seed on whole Yale that kept the array, EWNMF's at the shown gamma."""
        runs = self.kept(array, dataset="yale", draw=None, occluded=0.0, attempt=0)
        shown = experiment(runs, "yale", draws=False).shown
        ordered = sorted(runs, key=lambda row: row.spec.seed, reverse=True)
        found = {row.spec.method: row for row in ordered if row.spec.method != "ewnmf" or row.spec.gamma == shown}
        return {method: found[method] for method in METHODS if method in found}

    def descents(self) -> dict[str, Descent]:
        """Method -> the cost of its run on Yale that Fig. 10 shows."""
        found = {}
        for method, row in self.first_of_methods("history").items():
            history = self.array(row, "history")
            bound = row.figures["objective"] - row.figures["excess"]
            first = int(row.figures["n_iter"]) - history.size
            found[method] = Descent(method_title(row), history, bound, first)
        return found

    def seen(self) -> Seen:
        """What the verdicts take from the arrays."""
        unlikeness: dict[float | str, list[float]] = {}
        for row in self.kept("weights", dataset="signals", method="ewnmf"):
            others = self.array(row, "weights").astype(float)[~self.array(row, "damaged").astype(bool)]
            low, high = np.quantile(others, [0.05, 0.95])
            assert row.spec.gamma is not None
            unlikeness.setdefault(row.spec.gamma, []).append(float(high / low) if low > 0 else np.inf)
        return Seen({method: run.late_fall for method, run in self.descents().items()}, unlikeness)


def method_title(row: Row) -> str:
    """The method, with its gamma if it has one."""
    title = METHODS[row.spec.method]
    return title if row.spec.gamma is None else f"{title}, {gamma_title(row)}"


def gamma_title(row: Row) -> str:
    """The gamma that was asked for, and what was chosen."""
    gamma = row.spec.gamma
    if isinstance(gamma, str):
        return f'gamma="{gamma}" ({number(row.figures["gamma"])})'
    return f"gamma = {gamma:g}"
