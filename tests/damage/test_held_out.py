"""False alarms on undamaged points that fit has not seen, measured as ``python -m benchmarks.calibration`` does."""

from __future__ import annotations

import pytest

from benchmarks.calibration import targets


def test_shares_are_judged_by_their_mean_and_their_largest() -> None:
    mean, largest = targets({"a": [0.005], "b": [0.021]}, [0.01])
    assert mean.measured == pytest.approx(1.3)
    assert largest.measured == pytest.approx(2.1)
    assert (mean.verdict, largest.verdict, largest.beside) == ("miss", "miss", "b")
