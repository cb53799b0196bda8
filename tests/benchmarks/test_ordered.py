"""Undamaged tables class after class are judged beside their shuffled selves."""

from __future__ import annotations

import pytest

from benchmarks import ordered


def test_a_table_of_both_orders(capsys: pytest.CaptureFixture[str]) -> None:
    X = ordered.classes_in_order("wine", 100)
    assert X.shape == (100, 13)
    assert (X.min(), X.max()) == (0, 1)
    ordered.main(["--sets", "wine", "--components", "4"])
    line = capsys.readouterr().out.strip().splitlines()[-1]
    name, by_class, shuffled, changed, _ = (cell.strip() for cell in line.strip("|").split("|"))
    assert name == "wine"
    assert float(by_class) <= 0.02
    assert float(shuffled) <= 0.02
    assert float(changed) <= 0.1
