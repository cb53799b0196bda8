"""False alarms on undamaged points that fit has not seen, measured as ``python -m benchmarks.calibration`` does."""

from __future__ import annotations

import pytest

from benchmarks.calibration import shares, targets

MADE = ("digits", "spectra", "sensors-low-rank", "sensors-periodic", "sensors-autoregressive", "sensors-set-points")


def test_false_alarms_are_as_many_as_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    found = shares(MADE, 1, [0.01])
    capsys.readouterr()
    mean, largest = targets(found, [0.01])
    assert mean.verdict == "pass", f"{mean.measured:.2f} of what was asked for, {found}"
    assert largest.verdict == "pass", f"{largest.measured:.2f} of what was asked for, {found}"


def test_shares_are_judged_by_their_mean_and_their_largest() -> None:
    mean, largest = targets({"a": [0.005], "b": [0.021]}, [0.01])
    assert mean.measured == pytest.approx(1.3)
    assert largest.measured == pytest.approx(2.1)
    assert (mean.verdict, largest.verdict, largest.beside) == ("miss", "miss", "b")
