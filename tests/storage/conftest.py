"""A cluster in this process, for the tests of one file."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers, each a thread; ports of their own, since other processes test at the same time."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options)
    with local, distributed.Client(local) as client:
        yield client
