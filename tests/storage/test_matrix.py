"""Questions to a matrix have the same answers for every way to store it, and are asked where they belong."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf.storage import matrix
from ewnmf.storage.matrix import storage

RNG = np.random.default_rng(0)
X = np.where(RNG.random((9, 6)) < 0.4, RNG.normal(size=(9, 6)), 0)
X[3], X[:, 2] = 0, 0
P = np.where(RNG.random((9, 6)) < 0.3, 0, RNG.random((9, 6)))
FORMS = {"dense": np.asarray, "csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}


@pytest.mark.parametrize("form", FORMS)
class TestEveryForm:
    def test_rows_and_attributes(self, form: str) -> None:
        given = FORMS[form](X)
        np.testing.assert_array_equal(matrix.dense(given), X)
        np.testing.assert_array_equal(matrix.dense(matrix.contiguous(given)), X)
        np.testing.assert_array_equal(matrix.least_of_rows(given), X.min(axis=1))
        np.testing.assert_array_equal(matrix.largest_of_rows(given), np.abs(X).max(axis=1))
        np.testing.assert_array_equal(matrix.nonzero_counts(given), (X != 0).sum(axis=0))
        np.testing.assert_allclose(matrix.weighted_sums(given, P), (P * X).sum(axis=0), rtol=1e-14, atol=1e-16)

    def test_scaled(self, form: str) -> None:
        rows, columns = RNG.random(9), RNG.random(6)
        scaled = matrix.dense(matrix.scaled(FORMS[form](X), rows, columns))
        np.testing.assert_allclose(scaled, rows[:, None] * X * columns, rtol=1e-15)

    def test_largest_seen(self, form: str) -> None:
        for sign in (1, -1):
            given = FORMS[form](sign * X)
            assert matrix.largest_seen(given, P > 0) == np.abs(X[P > 0]).max()
            assert matrix.largest_seen(given, np.zeros(X.shape, dtype=bool)) == 1

    @pytest.mark.parametrize("positive", [False, True])
    def test_filled(self, form: str, positive: bool) -> None:
        hidden = P == 0
        full = matrix.dense(matrix.filled(FORMS[form](X), hidden, positive))
        np.testing.assert_array_equal(full[~hidden], X[~hidden])
        assert (full[hidden] == (X[~hidden].min() if positive else 0)).all()

    def test_by_form(self, form: str) -> None:
        assert matrix.by_form(FORMS[form](X), whole=1, stored=2) == (1 if form == "dense" else 2)

    def test_storage_says_whether_zeros_are_stored(self, form: str) -> None:
        assert storage(FORMS[form](X).T).stores_zeros == (form == "dense")

    @pytest.mark.parametrize("n_entries", [1, 7, 1000])
    def test_row_blocks_are_all_points_in_order_and_small(self, form: str, n_entries: int) -> None:
        given = FORMS[form](X)
        blocks = list(matrix.row_blocks(given, n_entries, 3))
        assert [row for block in blocks for row in range(9)[block]] == list(range(9))
        for block in blocks:
            held = X[block].size if form == "dense" else given[block].nnz
            assert block.stop - block.start == 1 or max(held, 3 * (block.stop - block.start)) <= n_entries


DOORS = {
    "fitting/checks.py": None,
    "fitting/points.py": {"read_points", "_hidden"},
    "estimators/judging.py": {"repair", "suspects", "_repaired"},
    "cli/repair.py": {"_read"},
    "plots/judged.py": {"judge"},
    "plots/kinds.py": {"_sample"},
    "plots/parts.py": {"_checked", "from_estimator"},
    "report/content.py": {"_kind"},
}
"""Where a user's matrix comes in, besides files and data sets; in these functions alone, where some are named."""


def _asks(tree: ast.AST) -> bool:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return "issparse" in names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _askers(path: Path) -> set[str]:
    """The functions and classes of a file that ask whether something is sparse, and the file itself."""
    body: list[Any] = ast.parse(path.read_text()).body
    parts = [part for node in body for part in (node.body if isinstance(node, ast.ClassDef) else [node])]
    return {getattr(part, "name", str(path)) for part in parts if _asks(part)}


def test_whether_a_matrix_is_sparse_is_asked_by_storages_and_at_the_door() -> None:
    root = Path(ewnmf.__file__).parent
    found = {path.relative_to(root).as_posix(): _askers(path) for path in sorted(root.rglob("*.py"))}
    others = {
        name: askers - (DOORS.get(name) or askers if name in DOORS else set())
        for name, askers in found.items()
        if name.split("/")[0] not in ("storage", "io", "datasets")
    }
    assert {name: askers for name, askers in others.items() if askers} == {}
    assert found["storage/matrix.py"]  # the search finds what there is
