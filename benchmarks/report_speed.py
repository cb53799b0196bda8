"""``python -m benchmarks.report_speed``: how long a report of large data takes beyond its codes, and its size."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ewnmf import EWNMF, report


def main() -> None:
    """Fit to some of the points, and time `transform` of all of them and the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report_speed", description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--attributes", type=int, default=1000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    n, m, K = asked.points, asked.attributes, 10
    X = rng.random((n, K), dtype=np.float32) @ rng.random((K, m), dtype=np.float32)
    X[: n // 50, : m // 20] = 9
    model = EWNMF(K, gamma="4x", max_iter=30, random_state=0).fit(X[:: max(1, n // 2000)])
    names = [f"attribute {j}" for j in range(m)]
    model.transform(X[:1000])
    begin = time.perf_counter()
    model.transform(X)
    encoded, worked = time.perf_counter(), time.process_time()
    with TemporaryDirectory() as folder:
        size = report.write(model, X, Path(folder) / "report.html", feature_names=names).stat().st_size
    ended, spent = time.perf_counter(), time.process_time() - worked
    print(f"{n:,} x {m:,}: codes of all points {encoded - begin:.1f} s")
    print(f"report: {ended - encoded:.1f} s ({spent:.1f} s of processors), {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
