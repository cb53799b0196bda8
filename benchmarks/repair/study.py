"""One setting of the study after the other, every method on each, and what is measured."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.repair.data import NONE, damaged, load
from benchmarks.repair.methods import Mended, Task, mend
from benchmarks.repair.rows import Row, Setting

__all__ = ["measure", "run", "run_all", "settings"]

Array = NDArray[Any]


def settings(
    data: Sequence[str], damage: Sequence[str], strengths: Sequence[str], seeds: Sequence[int], points: int
) -> list[Setting]:
    """All of them, seed by seed; no damage has one strength."""
    found = []
    for seed, strength, name, kind in product(seeds, strengths, data, damage):
        setting = Setting(name, kind, NONE if kind == NONE else strength, seed, points)
        if setting not in found:
            found.append(setting)
    return found


def measure(clean: Array, mask: Array, mended: Mended, before: Array) -> dict[str, Any]:
    """The figures of a row; AUC is over the entries of the points that have damage."""
    hit = mask.any(axis=1) if mask.any() else np.ones(len(mask), dtype=bool)
    error = float(np.sqrt(np.mean((mended.X[hit] - clean[hit]) ** 2)))
    change = float(np.sqrt(np.mean((mended.X - before) ** 2)) / clean.std())
    found: dict[str, Any] = {"error": error, "change": change}
    found |= dict.fromkeys(("auc", "precision", "recall", "false_alarms"), math.nan)
    if mended.scores is not None and mask.any():
        found["auc"] = float(roc_auc_score(mask[hit].ravel(), mended.scores[hit].ravel()))
    if mended.suspects is not None:
        caught = int((mended.suspects & mask).sum())
        found["precision"] = caught / max(1, int(mended.suspects.sum())) if mask.any() else math.nan
        found["recall"] = caught / int(mask.sum()) if mask.any() else math.nan
        found["false_alarms"] = float(mended.suspects[~mask].mean())
    return found


def run(setting: Setting, method: str) -> Row | None:
    """The row of a method; None where it does not apply."""
    table = load(setting.data, setting.seed, setting.points)
    X, mask = damaged(table, setting.damage, setting.strength, setting.seed)
    with threadpool_limits(1):
        started = time.process_time()
        mended = mend(method, Task(X, table.K, table.mixed, setting.seed, mask, table.X))
        seconds = time.process_time() - started
    if mended is None:
        return None
    fit = math.nan if mended.fit is None else mended.fit
    found = measure(table.X, mask, mended, X)
    return Row(*setting, method=method, **found, fit=fit, seconds=seconds, note=mended.note)


def run_all(jobs: Sequence[tuple[Setting, str]], n_jobs: int) -> Iterator[Row | None]:
    """The rows in the order of the jobs, as they are finished."""
    if n_jobs == 1:
        yield from (run(*job) for job in jobs)
        return
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(delayed(run)(*job) for job in jobs)
