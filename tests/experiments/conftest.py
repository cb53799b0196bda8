"""Worker processes that need not import everything anew."""

from __future__ import annotations

import multiprocessing
from types import SimpleNamespace

import pytest

from ewnmf.experiments.execution import workers


@pytest.fixture
def ready_workers(monkeypatch):
    """Workers are forked from a server that has imported what they run; those of commands are spawned as ever."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["ewnmf.experiments.execution.execute"])
    monkeypatch.setattr(workers, "multiprocessing", SimpleNamespace(get_context=lambda method: server))
