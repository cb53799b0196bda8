"""The cost of choosing gamma is measured in fits at the gamma that was chosen."""

from __future__ import annotations

import pytest

from benchmarks import gamma_cost


def test_a_table_tells_the_cost_in_fits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    X = gamma_cost.damaged(60, 12, 3)
    assert X.shape == (60, 12)
    assert X.min() > 0
    monkeypatch.setattr(gamma_cost, "problems", lambda: iter([("small", X, 3, 5)]))
    gamma_cost.main(["--rounds", "1"])
    header, _, line = capsys.readouterr().out.strip().splitlines()
    assert header.split("|")[-2].strip() == "cost in fits"
    name, K, iterations, points, tried, fits = (cell.strip() for cell in line.strip("|").split("|"))
    assert (name, K, iterations, points) == ("small", "3", "5", "60")
    assert 2 <= int(tried) <= 7
    assert float(fits) > 0
