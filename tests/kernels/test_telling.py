"""Who waits for compiled code is told so, once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ewnmf import EWNMF
from ewnmf.kernels.compiled.loaded import tell, telling


def test_one_line_for_everything_that_is_compiled() -> None:
    lines: list[str] = []
    with telling(lines.append), telling(None):
        tell()
        tell()
    tell()
    assert len(lines) == 1
    assert "compiling" in lines[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_verbose_fit_says_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*given: Any) -> Any:
        tell()
        return learn(*given)

    learn = EWNMF._learn
    monkeypatch.setattr(EWNMF, "_learn", drawn)
    for verbose in (0, 1):
        EWNMF(2, gamma=0.1, max_iter=2, random_state=0, verbose=verbose).fit(np.random.default_rng(0).random((9, 5)))
        assert capsys.readouterr().err.count("EWNMF: compiling") == verbose
