"""Workers in processes whose ewnmf is another one, or none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ewnmf

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.fixture
def worker_with(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Starts a worker that finds what is in `tmp_path` first."""
    started: list[Any] = []
    with (
        distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):

        def start() -> None:
            command = [sys.executable, "-m", "distributed.cli.dask_worker", local.scheduler_address, "--no-nanny"]
            quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            where = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
            started.append(
                subprocess.Popen([*command, "--no-dashboard"], env={**os.environ, "PYTHONPATH": where}, **quiet)
            )
            client.wait_for_workers(1, timeout=60)

        yield start
        for worker in started:
            worker.kill()
            worker.wait()


def test_another_version(worker_with: Callable[[], None], tmp_path: Path) -> None:
    source = Path(ewnmf.__file__).parent
    shutil.copytree(source, tmp_path / "ewnmf", ignore=shutil.ignore_patterns("__pycache__"))
    init = tmp_path / "ewnmf" / "__init__.py"
    text = init.read_text()
    assert f'"{ewnmf.__version__}"' in text
    init.write_text(text.replace(f'"{ewnmf.__version__}"', '"0.0.1"'))
    worker_with()
    with pytest.raises(RuntimeError, match=r"The worker tcp://\S+ has ewnmf 0\.0\.1, and here is .*the same version"):
        ewnmf.NMF(2).fit(da.ones((20, 4), chunks=(10, 4)))


def test_none_at_all(worker_with: Callable[[], None], tmp_path: Path) -> None:
    (tmp_path / "ewnmf.py").write_text("raise ModuleNotFoundError(\"No module named 'ewnmf'\")\n")
    worker_with()
    with pytest.raises(RuntimeError, match=r"A worker of the Dask cluster cannot import ewnmf .*install it there"):
        ewnmf.NMF(2).fit(da.ones((20, 4), chunks=(10, 4)))
