"""Which gamma mends damage best, and which one ``gamma="auto"`` chooses.

``python -m benchmarks.gamma_damage [--seeds 2] [--sets digits ...] [--verdict]`` prints a table (of Markdown, which
docs/choosing-gamma-damage.md keeps); faces and tables are found by `EWNMF_DATA` or beside the repository. A point of
the data is repaired softly, ``t x + (1 - t) y`` with ``t = exp(-d / gamma)``, so that the choice of gamma is judged and
no verdict; with ``--verdict`` as `repair` does it, and what the choice keeps of what the best gamma mends stands below.
All columns are scaled to [0, 1].
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import ewnmf
from benchmarks.report import Table
from benchmarks.stored import stored_set
from ewnmf import GammaPath
from ewnmf.datasets import make_damage, make_sensors, make_spectra

Array = NDArray[Any]
Mend = Callable[[Array, int, Any, int], tuple[Array, GammaPath | None]]

TIMES = (math.inf, 16.0, 8.0, 4.0, 2.0, 1.0)
FACES = {"yale": (32, 32), "umist": (32, 32), "gtfd": (32, 32)}
RANKS = {"digits": 10, "isolet": 26, "tep": 8, "sensors": 4, "spectra": 4}
SETS = (*FACES, *RANKS)
MOST = 500
"""Points that are drawn of a larger set."""


def load(name: str, seed: int) -> tuple[Array, int, tuple[int, int] | None]:
    """The data in [0, 1], the number of components, and what an image looks like."""
    if name == "digits":
        return _some(load_digits().data / 16, seed), RANKS[name], (8, 8)
    if name == "sensors":
        return _scaled(make_sensors(400, 40, n_sources=4, random_state=seed)), RANKS[name], None
    if name == "spectra":
        return make_spectra(300, 150, random_state=seed), RANKS[name], None
    X, labels = stored_set(name)
    if name in FACES:
        return _some(X / 255, seed), len(np.unique(labels)), FACES[name]
    return _scaled(_some(X, seed)), RANKS[name], None


def _some(X: Array, seed: int) -> Array:
    return X[np.random.default_rng(seed).permutation(len(X))[:MOST]]


def _scaled(X: Array) -> Array:
    low, high = X.min(axis=0), X.max(axis=0)
    scaled: Array = (X - low) / np.where(high > low, high - low, 1)
    return scaled


def kinds(shape: tuple[int, int] | None) -> tuple[str, ...]:
    """What is done to a data set."""
    return ("none", "salt-and-pepper", "blocks" if shape else "faults")


def repaired(X: Array, K: int, gamma: Any, seed: int) -> tuple[Array, GammaPath | None]:
    """The data under the weights of a fit, and how its gamma was chosen."""
    fit = ewnmf.factorize(X, K, gamma=gamma, order="codes-first", rng=seed)
    y = fit.codes @ fit.components
    t = np.exp(-np.square(X - y) / fit.gamma) if fit.gamma is not None and fit.gamma < math.inf else 1.0
    return t * X + (1 - t) * y, fit.gamma_path


def judged(X: Array, K: int, gamma: Any, seed: int) -> tuple[Array, GammaPath | None]:
    """The data as `repair` returns it, and the same."""
    model = ewnmf.EWNMF(K, gamma=gamma, random_state=seed).fit(X)
    return model.repair(X), model.gamma_path_ if gamma == "auto" else None


def error(found: Array, clean: Array, mask: Array) -> float:
    """Root mean square over the points that are damaged, or over all where none is."""
    rows = mask.any(axis=1) if mask.any() else slice(None)
    return float(np.sqrt(np.mean(np.square(found[rows] - clean[rows]))))


def rows(names: Sequence[str], seeds: int, mend: Mend) -> Iterator[tuple[str, str, str, Array]]:
    """Data, damage, what was chosen, and errors: with nothing done, by the choice, and by every gamma."""
    for name in names:
        for kind in kinds(load(name, 0)[2]):
            errors, chosen = [], []
            for seed in range(seeds):
                clean, K, shape = load(name, seed)
                X, mask = clean, np.zeros(clean.shape, dtype=bool)
                if kind != "none":
                    X, mask = make_damage(clean, kind, image_shape=shape, random_state=seed)
                found, path = mend(X, K, "auto", seed)
                assert path is not None
                chosen.append("plain" if path.gamma == math.inf else f"{path.gamma / path.scale:.2g}x")
                fixed = [mend(X, K, f"{times:g}x" if times < math.inf else times, seed)[0] for times in TIMES]
                errors.append([error(each, clean, mask) for each in (X, found, *fixed)])
            print(f"{name}, {kind}", file=sys.stderr, flush=True)
            yield name, kind, ", ".join(chosen), np.mean(errors, axis=0)


def kept(errors: Array) -> float:
    """What the choice mends, as a share of what the best gamma mends; 1 where none does."""
    nothing, chosen, best = errors[0], errors[1], errors[1:].min()
    return float((nothing - chosen) / (nothing - best)) if best < nothing else 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.gamma_damage", description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    options.add_argument("--verdict", action="store_true", help="repair as the estimators do")
    asked = options.parse_args(arguments)
    header = ["data", "damage", "chosen", "auto", "plain", *(f"{times:g}x" for times in TIMES[1:])]
    if not asked.verdict:
        lines = [[*names, *_digits(errors[1:])] for *names, errors in rows(asked.sets, asked.seeds, repaired)]
        print(Table(header, lines).markdown())
        return 0
    found = list(rows(asked.sets, asked.seeds, judged))
    header.insert(3, "nothing")
    print(Table(header, [[*names, *_digits(errors)] for *names, errors in found]).markdown())
    shares = [kept(errors) for _, kind, _, errors in found if kind != "none"]
    print(f'\nOf what the best gamma mends `gamma="auto"` keeps {100 * np.mean(shares):.0f} % on average.')
    return 0


def _digits(errors: Array) -> list[str]:
    return [f"{value:.3f}" for value in errors]


if __name__ == "__main__":
    sys.exit(main())
