"""Fixtures: the command, the data sets. Hypothesis profiles: ``ci`` draws the same problems, ``thorough`` many new.

``HYPOTHESIS_PROFILE=thorough pytest tests/properties/test_properties.py`` looks further than the test command does.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.problems import Case, kernels

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "ci", max_examples=6, derandomize=True, database=None, deadline=None, suppress_health_check=_SLOW
)
settings.register_profile("thorough", max_examples=300, deadline=None, print_blob=True, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Cases run on machine code where many tests need it anyway, and on the reference elsewhere.

    Tests of the kernels tell that the two are one, for every loss and weighting.
    """
    case = item.callspec.params.get("case") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
    with kernels(not isinstance(case, Case) or case.common):
        return (yield)


def pytest_collection_finish() -> None:
    """The tests themselves are no garbage: without this they are searched for some again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder that has the data sets, converted and raw."""
    shared = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("EWNMF_DATA") or shared)
    if not (folder / "raw").is_dir():
        pytest.skip("the data sets are not here: point EWNMF_DATA at a folder that has them, with raw/ inside")
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run the command in this process; it must end with that code."""
    from ewnmf.cli import main

    def command(*arguments: Any, code: int = 0) -> Any:
        ended = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert ended == code, said.err
        return said

    return command
