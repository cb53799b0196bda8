"""A cluster of processes of which one dies, or is cut off, in the middle of a fit."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.io import read_archive
from ewnmf.storage.fleet import Fleet

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

OPTIONS: dict[str, Any] = {"gamma": 0.1, "max_iter": 40, "tol": 0, "random_state": 0}


def _block(block_info: Any = None) -> Any:
    """A chunk that can be made again from its number."""
    ((start, _), _) = block_info[None]["array-location"]
    rng = np.random.default_rng(start)
    X = rng.random((1000, 3)) @ np.random.default_rng(1).random((3, 20))
    X[rng.random(X.shape) < 0.02] = 3
    return X


def _data() -> Any:
    return da.map_blocks(_block, chunks=((1000,) * 16, (20,)), dtype=np.float64, meta=np.empty((0, 0)))


@pytest.fixture(scope="module")
def memory() -> Any:
    return ewnmf.EWNMF(3, **OPTIONS).fit(_data().compute(scheduler="sync"))


@pytest.fixture
def at_visit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], None]], list[float]]:
    """Does something when a fit comes to that visit of the cluster; gives the times at which visits began."""

    def arranged(number: int, act: Callable[[], None]) -> list[float]:
        begun: list[float] = []
        visit = Fleet.visit

        def watched(self: Any, *args: Any) -> Any:
            begun.append(time.perf_counter())
            if len(begun) == number:
                threading.Timer(0.01, act).start()
            return visit(self, *args)

        monkeypatch.setattr(Fleet, "visit", watched)
        return begun

    return arranged


def _is_valid(model: Any, memory: Any, lost: bool) -> None:
    """It ended; the objective rose once at the most, and came near that of an undisturbed run."""
    curve = model.loss_curve_
    assert len(curve) == 40
    assert (np.diff(curve) > 1e-9 * np.abs(curve[:-1])).sum() <= (1 if lost else 0)
    assert curve[-1] <= memory.loss_curve_[-1] + 0.05 * np.ptp(memory.loss_curve_)
    assert (model.n_lost_blocks_ > 0) == lost


def test_a_worker_that_is_killed(memory: Any, at_visit: Any) -> None:
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=":0") as local,
        distributed.Client(local) as client,
    ):
        calm = ewnmf.EWNMF(3, **OPTIONS).fit(_data())
        np.testing.assert_allclose(calm.loss_curve_, memory.loss_curve_, rtol=1e-9)
        assert calm.n_lost_blocks_ == 0
        victim = next(iter(client.run(os.getpid).values()))
        at_visit(20, lambda: os.kill(victim, signal.SIGKILL))
        model = ewnmf.EWNMF(3, **OPTIONS).fit(_data())
        _is_valid(model, memory, lost=True)
        assert model.n_lost_blocks_ <= 8


class Proxy:
    """Passes bytes on to a port, until it is cut."""

    def __init__(self, port: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port, self._to, self._pairs = self._server.getsockname()[1], port, list[socket.socket]()
        self._is_cut = False
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            self._pairs.append(near)
            far = socket.create_connection(("127.0.0.1", self._to))
            self._pairs.append(far)
            if self._is_cut:
                self._close()
                return
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
        except OSError:
            pass

    def cut(self) -> None:
        """End all connections, and take no more; one that is just being taken ends, too."""
        self._is_cut = True
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # or who waits for one would take it
        self._server.close()
        self._close()

    def _close(self) -> None:
        for end in self._pairs:
            end.close()


@pytest.fixture
def cut_off() -> Iterator[tuple[Any, Proxy]]:
    """A cluster whose second worker reaches the scheduler through a proxy."""
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as local:
        proxy = Proxy(int(local.scheduler_address.rsplit(":", 1)[1]))
        command = [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://127.0.0.1:{proxy.port}"]
        worker = subprocess.Popen(
            [*command, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "5"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with distributed.Client(local) as client:
                client.wait_for_workers(2, timeout=60)
                yield client, proxy
        finally:
            worker.kill()
            worker.wait()
            proxy.cut()


def test_a_worker_that_is_cut_off(memory: Any, at_visit: Any, cut_off: Any) -> None:
    _, proxy = cut_off
    at_visit(15, proxy.cut)
    model = ewnmf.EWNMF(3, **OPTIONS).fit(_data())
    _is_valid(model, memory, lost=True)


DRIVER = """
import sys
sys.path.insert(0, {root!r})
from distributed import Client
import ewnmf
from tests.cluster.test_killing import OPTIONS, _data
client = Client({address!r})
ewnmf.EWNMF(3, **{{**OPTIONS, "max_iter": 100_000}}).fit(_data(), checkpoint={path!r})
"""


def test_a_driver_that_is_killed(memory: Any, tmp_path: Path) -> None:
    path, root = tmp_path / "run", str(Path(__file__).parents[2])
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local:
        script = DRIVER.format(root=root, address=local.scheduler_address, path=str(path))
        driver = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while not path.exists() and time.monotonic() < deadline and driver.poll() is None:
            time.sleep(0.005)
        driver.kill()
        driver.wait()
        assert path.exists()
        with distributed.Client(local):
            done = read_archive(path)[0]["number"]
            model = ewnmf.EWNMF(3, **{**OPTIONS, "max_iter": done + 40}).fit(_data(), checkpoint=path)
    assert model.n_iter_ == len(model.loss_curve_) == done + 40
    np.testing.assert_allclose(model.loss_curve_[:5], memory.loss_curve_[:5], rtol=1e-9)
    assert model.objective_ <= memory.objective_
    assert not path.exists()
