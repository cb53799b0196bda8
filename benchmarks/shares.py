"""Where the time goes: the profile of what people wait for, by the rooms of the package."""

from __future__ import annotations

import cProfile
import pstats
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import random_array

import ewnmf
from benchmarks.contenders import ours
from benchmarks.defaults import quietly
from benchmarks.plan import Plan
from benchmarks.problems import data_problem, random_problem, size
from benchmarks.report import Section, Table
from ewnmf import EWNMF, NMF
from ewnmf.storage.threads import single_threaded_blas

__all__ = ["ROOMS", "section", "shares"]

SOURCE = Path(ewnmf.__file__).parent
COMPILED, OTHERS, REST = "machine code", "NumPy, SciPy", "rest"
ENTRIES = ("batch", "coordinates", "least_squares", "passes", "rounds", "stored", "sweeps")
"""The modules of compiled functions; a call of one counts with the unpacking of its arguments."""
ROOMS = {
    "kernels": "around it",
    "losses": "around it",
    "weightings": "around it",
    "models": "models",
    "solvers": "solvers",
    "storage": "storage",
    "fitting": "checks, starts",
    "estimators": "checks, starts",
    "choosing": "choosing",
}
COLUMNS = (COMPILED, OTHERS, *dict.fromkeys(ROOMS.values()), REST)
WORDS = """\
Shares of the time of one thread, by a profile that makes calls of Python dearer than they are. *Machine code* are calls
of compiled functions with the unpacking of their arguments, *around it* what prepares them; products with BLAS that
Python calls are in *NumPy, SciPy*."""


def shares(work: Callable[[], object]) -> dict[str, float]:
    """The share of every room in the time of one call, the second: the first may compile."""
    with quietly(), single_threaded_blas():
        work()
        profile = cProfile.Profile()
        profile.runcall(work)
    spent: Counter[str] = Counter()
    for (path, _, name), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        spent[_room(path, name)] += own
    total = sum(spent.values())
    return {room: spent[room] / total for room in COLUMNS}


def _room(path: str, name: str) -> str:
    file = Path(path)
    if not file.is_relative_to(SOURCE):
        foreign = path == "~" or any(part in file.parts for part in ("numpy", "scipy", "sklearn"))
        return OTHERS if foreign else REST
    parts = file.relative_to(SOURCE).with_suffix("").parts
    if parts[:2] == ("kernels", "compiled") and parts[-1] in ENTRIES and not name.startswith("<"):
        return COMPILED
    return ROOMS.get(parts[0], REST)


def _works(plan: Plan) -> Mapping[str, Callable[[], object]]:
    """What is profiled, by name."""
    works: dict[str, Callable[[], object]] = {}
    for name, title, K in plan.defaults:
        try:
            X = data_problem(name, K, download=plan.download, limit=100 if plan.quick else None).X
        except (OSError, ImportError):
            continue
        gamma = 4 * float(np.mean((X - X.mean(axis=0)) ** 2)) / K
        fixed, chosen = (EWNMF(K, gamma=g, n_jobs=1, random_state=0) for g in (gamma, "auto"))
        works[f"{title}: `EWNMF(gamma=g).fit`"] = partial(fixed.fit, X)
        works[f"{title}: `EWNMF.transform`"] = partial(fixed.transform, X)
        works[f"{title}: `EWNMF.fit`, gamma chosen"] = partial(chosen.fit, X)
    problem = random_problem(*plan.small)
    works[f"{size(plan.small)}: iterations"] = lambda: ours(problem, n_jobs=1)(plan.counts_small[1])
    n, m, K = plan.sparse
    thin: Any = random_array((n, m), density=0.01, format="csr", random_state=np.random.default_rng(0))
    plain = NMF(K, solver="mu", tol=0, max_iter=plan.counts_sparse[1], n_jobs=1, random_state=0)
    works[f"sparse, {size(plan.sparse)}: `NMF.fit`, mu"] = lambda: plain.fit(thin)
    return works


def section(plan: Plan) -> Section:
    """The profile of every one, in percent."""
    rows = []
    for name, work in _works(plan).items():
        found = shares(work)
        rows.append([name, *(f"{100 * found[room]:.0f}" for room in COLUMNS)])
    return Section("Where the time goes", (), [WORDS, Table(["percent of", *COLUMNS], rows)])
