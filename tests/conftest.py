"""The command as a fixture; hypothesis profiles: ``ci`` draws the same problems each time, ``thorough`` many new ones.

``HYPOTHESIS_PROFILE=thorough pytest tests/test_properties.py`` looks further than the test command does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "ci", max_examples=12, derandomize=True, database=None, deadline=None, suppress_health_check=_SLOW
)
settings.register_profile("thorough", max_examples=300, deadline=None, print_blob=True, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


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
