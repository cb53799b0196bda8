"""Beyond one matrix in memory: ``make bench-scale``, or ``python -m benchmarks.scale [--parts file dask ...]``.

Every part runs in a process of its own, so that its peak of resident memory is its own. ``--gigabytes`` is the size of
the file, ``--folder`` where it is made (it is kept, and made once). Iterations are timed from sweep to sweep.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.children import run_child
from benchmarks.machine import describe
from benchmarks.stored import data_home

warnings.simplefilter("ignore")

M, K = 1000, 50
POINTS, WIDE, FEW = 50_000, 1024, 20
"""The problem of the cluster."""


def made(n: int, m: int, seed: int = 0) -> Any:
    """Nonnegative mixtures of ten parts in single precision, 2 % of the entries replaced."""
    rng, parts = np.random.default_rng(seed), np.random.default_rng(0).random((10, m), dtype=np.float32)
    X = rng.random((n, 10), dtype=np.float32) @ parts / 10 + 0.05 * rng.random((n, m), dtype=np.float32)
    X[rng.random((n, m), dtype=np.float32) < 0.02] = 1
    return X


def peak() -> float:
    """GB of resident memory at the most, of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def timed_sweeps(*kinds: Any) -> list[float]:
    """When sweeps of these codes begin, from now on."""
    begun: list[float] = []
    for kind in kinds:
        sweep = kind.sweep

        def watched(self: Any, *args: Any, sweep: Any = sweep, **options: Any) -> Any:
            begun.append(time.perf_counter())
            return sweep(self, *args, **options)

        kind.sweep = watched
    return begun


def intervals(begun: Sequence[float]) -> list[float]:
    """Seconds from sweep to sweep."""
    return [b - a for a, b in pairwise(begun)]


def text(options: argparse.Namespace) -> dict[str, Any]:
    """Extra memory for TDT2 as a whole, or made data of its shape where it is not here."""
    from scipy import sparse

    import ewnmf

    path = (data_home() or Path()) / "tdt2_X.npz"
    if path.is_file():
        X = sparse.csr_array(sparse.load_npz(path)).astype(np.float64)
    else:
        X = sparse.random_array((9394, 36771), density=0.0035, format="csr", random_state=0)
    answer: dict[str, Any] = {"shape": list(X.shape), "real": path.is_file()}
    ewnmf.EWNMF(2, gamma=0.1, max_iter=2, tol=0).fit(X[:200])
    before = peak()
    for loss in ("euclidean", "kullback-leibler"):
        ewnmf.EWNMF(30, loss=loss, gamma=0.1, max_iter=2, tol=0, random_state=0).fit(X)
        answer[loss] = peak() - before
    return answer


def make_file(path: Path, gigabytes: float) -> int:
    """The file of the benchmark, made where it is not there; how many points it has."""
    n = int(gigabytes * 1e9 / 4 / M)
    if not path.exists():
        from ewnmf.io.row_writers import write_rows

        cuts = [(at, min(20_000, n - at)) for at in range(0, n, 20_000)]
        write_rows(path, (n, M), np.dtype(np.float32), (made(b, M, at) for at, b in cuts), (), 20_000)
    return n


def read_rate(path: Path) -> float:
    """Bytes a second of reading the file from its beginning, with none of it cached."""
    size = min(path.stat().st_size, 2_000_000_000)
    buffer = bytearray(1 << 24)
    with path.open("rb", buffering=0) as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begin, done = time.perf_counter(), 0
        while done < size and (count := stream.readinto(buffer)):
            done += count
        return done / (time.perf_counter() - begin)


def file(options: argparse.Namespace) -> dict[str, Any]:
    """A file larger than what memory it may have, to the end."""
    import ewnmf
    from ewnmf.storage.files import CodesInFile

    path = Path(options.folder) / f"scale-{options.gigabytes:g}.npy"
    n = make_file(path, options.gigabytes)
    os.environ.setdefault("TMPDIR", options.folder)
    tempfile.tempdir = options.folder
    begun, begin = timed_sweeps(CodesInFile), time.perf_counter()
    model = ewnmf.EWNMF(K, gamma=0.05, max_iter=options.iterations, tol=0, random_state=0)
    model.fit(ewnmf.open_blocks(path))
    whole = time.perf_counter() - begin
    return {"points": n, "peak": peak(), "seconds": whole, "sweep": statistics.median(intervals(begun)),
            "iterations": model.n_iter_, "bytes": n * M * 4, "read": read_rate(path)}  # fmt: skip


def fitting(options: argparse.Namespace) -> dict[str, Any]:
    """The same problem of half a gigabyte, in memory and from a file: seconds a sweep."""
    import ewnmf
    from ewnmf.storage.files import CodesInFile
    from ewnmf.storage.memory import CodesInMemory

    path = Path(options.folder) / "scale-0.5.npy"
    n = make_file(path, 0.5)
    X = np.load(path)
    found: dict[str, Any] = {"points": n}
    begun = timed_sweeps(CodesInMemory)
    how: dict[str, Any] = {"gamma": 0.05, "max_iter": 6, "tol": 0, "random_state": 0}
    ewnmf.EWNMF(K, **how).fit(X[:5000])
    for name, data in (
        ("memory", X),
        ("file", ewnmf.open_blocks(path)),
        ("memory", X),
        ("file", ewnmf.open_blocks(path)),
    ):
        del begun[:]
        ewnmf.EWNMF(K, **how).fit(data)
        found[name] = min(found.get(name, np.inf), statistics.median(intervals(begun)))
    assert issubclass(CodesInFile, CodesInMemory)
    return found


def cluster(n_workers: int, processes: bool = True) -> Any:
    """A local cluster of workers of one thread, and its client."""
    import logging

    from distributed import Client, LocalCluster

    options = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "processes": processes}
    return Client(LocalCluster(n_workers=n_workers, threads_per_worker=1, **options))


def iterations_on(
    n_workers: int, shape: tuple[int, int], n_blocks: int, n_components: int, max_iter: int
) -> list[float]:
    """Seconds from sweep to sweep on so many workers."""
    import dask.array as da

    import ewnmf
    from ewnmf.storage.cluster import CodesInCluster

    begun = timed_sweeps(CodesInCluster)
    with cluster(n_workers) as client:
        X = da.map_blocks(_chunk, chunks=((shape[0] // n_blocks,) * n_blocks, (shape[1],)), dtype=np.float64,
                          meta=np.empty((0, 0)))  # fmt: skip
        for rounds in (3, max_iter):
            del begun[:]
            ewnmf.EWNMF(n_components, gamma=0.05, max_iter=rounds, tol=0, random_state=0).fit(X)
        client.cluster.close()
    return intervals(begun)


def _chunk(block_info: Any = None) -> Any:
    ((start, end), (_, m)) = block_info[None]["array-location"]
    return made(end - start, m, start).astype(np.float64)


def dask(options: argparse.Namespace) -> dict[str, Any]:
    """Two workers against one, and one against memory; also what two processes without any cluster gain here.

    They take turns, so that a machine whose speed changes is the same for all; the best of three rounds counts.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    import dask.array as da

    import ewnmf
    from ewnmf.storage.cluster import CodesInCluster
    from ewnmf.storage.memory import CodesInMemory

    begun, n_blocks, rounds = timed_sweeps(CodesInCluster, CodesInMemory), 8, options.iterations + 4
    X = np.concatenate([made(POINTS // n_blocks, WIDE, at) for at in range(0, POINTS, POINTS // n_blocks)])
    X = X.astype(np.float64)
    clients, chunks = [cluster(1), cluster(2)], ((POINTS // n_blocks,) * n_blocks, (WIDE,))

    def fitted(data: Any, threads: int = 1, max_iter: int = rounds) -> float:
        del begun[:]
        ewnmf.EWNMF(FEW, gamma=0.05, max_iter=max_iter, tol=0, random_state=0, n_jobs=threads).fit(data)
        return statistics.median(intervals(begun))

    found: dict[str, Any] = {}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:

        def in_turn(max_iter: int) -> dict[str, float]:
            times = {"memory 1": fitted(X, 1, max_iter), "memory 2": fitted(X, 2, max_iter)}
            for client in clients:
                with client.as_current():
                    D = da.map_blocks(_chunk, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))
                    times[f"workers {len(client.nthreads())}"] = fitted(D, 1, max_iter)
            times["processes 2"] = max(processes.map(_half, range(2), (max_iter,) * 2))
            return times

        in_turn(3)
        for _ in range(3):
            for name, seconds in in_turn(rounds).items():
                found[name] = min(found.get(name, math.inf), seconds)
    for client in clients:
        client.cluster.close()
        client.close()
    return found


def _half(number: int, max_iter: int) -> float:
    """Seconds from sweep to sweep of one half of the points in memory, by one thread."""
    import ewnmf
    from ewnmf.storage.memory import CodesInMemory

    if "X" not in _HALF:
        cuts = range(number * POINTS // 2, (number + 1) * POINTS // 2, POINTS // 8)
        _HALF["X"] = np.concatenate([made(POINTS // 8, WIDE, at) for at in cuts]).astype(np.float64)
        _HALF["begun"] = timed_sweeps(CodesInMemory)
    del _HALF["begun"][:]
    ewnmf.EWNMF(FEW, gamma=0.05, max_iter=max_iter, tol=0, random_state=0, n_jobs=1).fit(_HALF["X"])
    return statistics.median(intervals(_HALF["begun"]))


_HALF: dict[str, Any] = {}


def scheduler(options: argparse.Namespace) -> dict[str, Any]:
    """What an iteration costs on next to no data: 32 blocks, 4 workers; the first tens against the last."""
    times = iterations_on(4, (32 * 32, 16), 32, 2, 120)
    return {"median": statistics.median(times), "early": statistics.median(times[5:35]),
            "late": statistics.median(times[-30:])}  # fmt: skip


def kill(options: argparse.Namespace) -> dict[str, Any]:
    """One of four workers is killed in mid-run: seconds beyond those of its iterations, and in iterations."""
    import threading

    import dask.array as da

    import ewnmf
    from ewnmf.storage.cluster import CodesInCluster

    begun = timed_sweeps(CodesInCluster)
    with cluster(4) as client:
        X = da.map_blocks(_chunk, chunks=((POINTS // 32,) * 32, (WIDE,)), dtype=np.float64, meta=np.empty((0, 0)))
        ewnmf.EWNMF(FEW, gamma=0.05, max_iter=3, tol=0, random_state=0).fit(X)
        victim = next(iter(client.run(os.getpid).values()))
        del begun[:]
        model = ewnmf.EWNMF(FEW, gamma=0.05, max_iter=24, tol=0, random_state=0)
        killer = threading.Thread(target=_kill_at, args=(begun, 8, victim), daemon=True)
        killer.start()
        model.fit(X)
        client.cluster.close()
    times = intervals(begun)
    usual = statistics.median(times)
    return {"usual": usual, "worst": max(times), "lost": sum(max(0.0, t - usual) for t in times[6:14]) / usual,
            "blocks": model.n_lost_blocks_, "iterations": model.n_iter_}  # fmt: skip


def _kill_at(begun: list[float], number: int, pid: int) -> None:
    while len(begun) < number:
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)


def batches(options: argparse.Namespace) -> dict[str, Any]:
    """Squared error of scikit-learn's MiniBatchNMF after 5 passes, and how long ours needs for it."""
    from sklearn.decomposition import MiniBatchNMF

    import ewnmf

    X = made(40_000, 200).astype(np.float64)
    theirs = MiniBatchNMF(
        FEW, init="random", batch_size=1024, max_iter=5, tol=0, max_no_improvement=None, random_state=0
    )
    begin = time.process_time()
    theirs.fit(X)
    found = {"scikit-learn": time.process_time() - begin, "their error": _error(theirs, X)}
    ewnmf.MiniBatchEWNMF(FEW, weighting="none", max_iter=2, tol=0, random_state=0, n_jobs=1).fit(X[:3000])
    for passes in (1, 2, 3, 5, 10, 20):
        mine = ewnmf.MiniBatchEWNMF(FEW, weighting="none", max_iter=passes, tol=0, random_state=0, n_jobs=1)
        begin = time.process_time()
        mine.fit(X)
        found |= {"ewnmf": time.process_time() - begin, "our error": _error(mine, X), "passes": passes}
        if found["our error"] <= found["their error"]:
            break
    return found


def _error(model: Any, X: Any) -> float:
    return float(np.mean((X - model.transform(X) @ model.components_) ** 2))


def plan(found: dict[str, dict[str, Any]]) -> list[str]:
    """An iteration on 1e9 points x 1,000 attributes, K 50, on 100 workers, from what was measured."""
    n, m, k, workers, chunks = 10**9, 1000, 50, 100, 8
    one = found["fitting"]["memory"] / (found["fitting"]["points"] * M * K)
    compute = one * n * m * k / workers
    sums = 2 * m * k * 4
    up = workers * 2 * np.log2(chunks * workers) * sums
    down = workers * 3 * m * k * 4
    task = found["scheduler"]["median"] / 4
    return [
        f"points and codes in the memory of a worker: {n * m * 4 / workers / 1e9:.0f} GB and "
        f"{3 * n * k * 4 / workers / 1e9:.1f} GB (float32, three versions of codes)",
        f"computing: {compute:.0f} s an iteration, at {1e12 * one:.3g} ps for an entry and component on two cores",
        f"moved: at most {up / 1e6:.0f} MB of sums to the driver, {down / 1e6:.0f} MB of components to the workers",
        f"time for that: {(up + down) / 1.25e9:.2f} s over 10 Gbit/s",
        f"tasks: {workers} an iteration, {workers * task:.2f} s at {1000 * task:.1f} ms each (measured with 4)",
    ]


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "text": text,
    "fitting": fitting,
    "file": file,
    "dask": dask,
    "scheduler": scheduler,
    "kill": kill,
    "batches": batches,
}


def rows(found: dict[str, dict[str, Any]]) -> list[tuple[str, str, str]]:
    """What was asked for, and what was found."""
    table: list[tuple[str, str, str]] = []
    if one := found.get("text"):
        what = "TDT2" if one["real"] else "made data of TDT2's shape"
        worst = max(one["euclidean"], one["kullback-leibler"])
        table.append((f"extra memory, {what}, K 30, both losses", "under 1 GB", f"{worst:.2f} GB"))
    if one := found.get("fitting"):
        table.append(("file that fits in memory, K 50", "0.7 of memory's speed", f"{one['memory'] / one['file']:.2f}"))
    if one := found.get("file"):
        size, known = one["bytes"], found.get("fitting")
        table.append((f"peak of resident memory, file of {size / 1e9:.3g} GB", "under 2 GB", f"{one['peak']:.2f} GB"))
        if known:
            bound = max(size / one["read"], known["memory"] / (known["points"] * M * 4) * size)
            speed = f"{bound / one['sweep']:.2f} ({one['sweep']:.1f} s a sweep, read at {one['read'] / 1e9:.2f} GB/s)"
            table.append(("its speed, of the slower of computing and reading", "0.9", speed))
    if one := found.get("dask"):
        table.append(("two Dask workers against one", "at least 1.8", f"{one['workers 1'] / one['workers 2']:.2f}"))
        table.append(("two processes in memory, half each, against one", "(machine)",
                      f"{one['memory 1'] / one['processes 2']:.2f}"))  # fmt: skip
        table.append(("two threads in memory against one", "(machine)", f"{one['memory 1'] / one['memory 2']:.2f}"))
        table.append(("one Dask worker against memory", "at most 1.2", f"{one['workers 1'] / one['memory 1']:.2f}"))
    if one := found.get("scheduler"):
        table.append(
            ("iteration of 32 next to empty blocks on 4 workers", "under 50 ms", f"{1000 * one['median']:.0f} ms")
        )
        table.append(
            ("the same, last 30 of 120 against early ones", "does not grow", f"{one['late'] / one['early']:.2f}")
        )
    if one := found.get("kill"):
        table.append(("SIGKILL of one of 4 workers: time lost", "at most 2 iterations", f"{one['lost']:.1f} iterations "
                      f"({one['blocks']} blocks made anew)"))  # fmt: skip
    if one := found.get("batches"):
        table.append(("MiniBatchNMF's error: our time of its", "at most 1", f"{one['ewnmf'] / one['scikit-learn']:.2f} "
                      f"(error {one['our error'] / one['their error']:.2f} of its)"))  # fmt: skip
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--known", type=Path, help="JSON file that results are added to, and read from")
    parser.add_argument("--child", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print("result:" + json.dumps(PARTS[options.child](options)))
        return
    found = json.loads(options.known.read_text()) if options.known and options.known.exists() else {}
    given = ["--gigabytes", str(options.gigabytes), "--iterations", str(options.iterations), "--folder", options.folder]
    for part in options.parts:
        lines = run_child("-m", "benchmarks.scale", "--child", part, *given).splitlines()
        found[part] = json.loads(next(line for line in lines if line.startswith("result:")).removeprefix("result:"))
        if options.known:
            options.known.write_text(json.dumps(found, indent=1))
    print(describe())
    print("\n| | target | measured |\n|---|---|---|")
    for row in rows(found):
        print(f"| {' | '.join(row)} |")
    if {"fitting", "scheduler"} <= found.keys():
        print("\n1e9 points x 1,000 attributes, K 50, 100 workers:\n")
        for line in plan(found):
            print(f"* {line}")


if __name__ == "__main__":
    main()
