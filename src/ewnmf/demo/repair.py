"""Damage found and mended: tables of sensors, and faces where their file is there."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from ewnmf._types import Array
from ewnmf.datasets import fetch_yale, make_damage, make_sensors
from ewnmf.demo.pictures import heat_maps, mended_faces
from ewnmf.estimators.nmf import EWNMF
from ewnmf.estimators.repairer import Repairer

__all__ = ["Mended", "faces_of", "repaired", "sensors_of", "shown"]

NATURES = ("autoregressive", "low-rank", "periodic", "set-points")
TIMES, SENSORS, SOURCES = 300, 24, 4
FACES, PEOPLE, SIDE = 5, 15, 32
FAR, NORMAL = 3.5, 1.4826
MEASURES = {
    "before": "error, nothing done",
    "medians": "error, outliers to the median",
    "after": "error, mended",
    "auc": "AUC of low trust",
    "recall": "damaged entries found",
    "precision": "suspects that are damaged",
}
ABOUT_SENSORS = """\
{times} readings of {sensors} sensors, a quarter of which are dead, stuck, saturated, drifting, shaken or wrongly
scaled for a while; each has its own unit and noise. Repairer({sources}) is shown the damaged table and nothing else.
{seeds} table(s) ({natures}). Error: root mean square over the times with damage, in units of
every sensor's own spread. "Outliers to the median": what is more than {far} robust standard deviations
away becomes its sensor's median."""
ABOUT_FACES = """\
Yale's faces, a black or white block on 30 % of them. EWNMF({people}) is shown the damaged faces and nothing else."""
NO_FACES = (
    "Faces are left out: yale.npz is not there (EWNMF_DATA names its folder; datasets.fetch_yale() downloads it)."
)


@dataclass(frozen=True)
class Mended:
    """A table (n x m) before and after: what was there, what was given, what came out, where damage was and was found.

    `trust` is in [0, 1], `worst` the table of the most suspicious entries.
    """

    clean: Array
    data: Array
    mended: Array
    damaged: Array
    suspects: Array
    trust: Array
    worst: Any

    @property
    def spread(self) -> Array:
        """The standard deviation of every attribute, without damage."""
        spread: Array = np.maximum(self.clean.std(axis=0), np.finfo(float).tiny)
        return spread

    def error(self, table: Array) -> float:
        """How far a table is from what was there, over the points that have damage."""
        hit = self.damaged.any(axis=1)
        return float(np.sqrt(np.mean((((table - self.clean) / self.spread)[hit]) ** 2)))

    def figures(self) -> dict[str, float]:
        """The measures of a run."""
        hit = self.damaged.any(axis=1)
        caught = int((self.suspects & self.damaged).sum())
        return {
            "before": self.error(self.data),
            "medians": self.error(outliers_to_medians(self.data)),
            "after": self.error(self.mended),
            "auc": float(roc_auc_score(self.damaged[hit].ravel(), 1 - self.trust[hit].ravel())),
            "recall": caught / int(self.damaged.sum()),
            "precision": caught / max(1, int(self.suspects.sum())),
        }


def outliers_to_medians(X: Array) -> Array:
    """What a spreadsheet would do: values far from their column's median are replaced by it."""
    middle = np.median(X, axis=0)
    off = np.abs(X - middle)
    return np.where(off > FAR * NORMAL * np.median(off, axis=0), middle, X)


def _mended(model: Any, clean: Array, data: Array, damaged: Array) -> Mended:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data)
    suspects, trust = np.asarray(model.suspects(data)), np.asarray(model.trust(data))
    return Mended(clean, data, np.asarray(model.repair(data)), damaged, suspects, trust, model.explain(data, top=5))


def sensors_of(seed: int) -> Mended:
    """A table of sensors, damaged and mended."""
    clean = make_sensors(TIMES, SENSORS, kind=NATURES[seed % len(NATURES)], n_sources=SOURCES, random_state=seed)
    data, damaged = make_damage(clean, "faults", random_state=seed)
    return _mended(Repairer(SOURCES, random_state=seed), clean, data, damaged)


def faces_of(seed: int, data_home: Any = None) -> Mended | None:
    """Yale's faces, damaged and mended; None where their file is not there."""
    try:
        images = fetch_yale(data_home=data_home, download_if_missing=False).data
    except (OSError, ImportError):
        return None
    clean = images / 255
    data, damaged = make_damage(clean, "blocks", image_shape=(SIDE, SIDE), random_state=seed)
    return _mended(EWNMF(PEOPLE, random_state=seed), clean, data, damaged)


def shown(sensors: Mended | None, faces: Mended | None) -> dict[str, dict[str, Any]]:
    """What the figures show."""
    what = {}
    if sensors is not None:
        low, high = sensors.clean.min(axis=0), sensors.clean.max(axis=0)
        parts = {"before": sensors.data, "after": sensors.mended, "clean": sensors.clean}
        scaled = {name: (table - low) / np.where(high > low, high - low, 1) for name, table in parts.items()}
        what["demo-sensors.png"] = {**scaled, "damaged": sensors.damaged, "suspects": sensors.suspects}
    if faces is not None:
        at = np.flatnonzero(faces.damaged.any(axis=1))[:FACES]
        parts = {"clean": faces.clean, "data": faces.data, "trust": faces.trust, "mended": faces.mended}
        what["demo-faces.png"] = {name: table[at].reshape(-1, SIDE, SIDE) for name, table in parts.items()}
    return what


def repaired(seeds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Mend tables of sensors, and faces; print what came out; all numbers, and the figures by file name."""
    runs: dict[str, list[float]] = {name: [] for name in MEASURES}
    first = None
    for seed in range(seeds):
        print(f"table {seed + 1} of {seeds} ...", file=sys.stderr)
        made = sensors_of(seed)
        first = first or made
        for name, value in made.figures().items():
            runs[name].append(value)
    natures = ", ".join(NATURES[: min(seeds, len(NATURES))])
    sizes = {"times": TIMES, "sensors": SENSORS, "sources": SOURCES, "seeds": seeds, "natures": natures, "far": FAR}
    _print("Sensors, some of them damaged", ABOUT_SENSORS.format(**sizes), runs)
    assert first is not None
    _print_worst(first)
    numbers: dict[str, Any] = {"sensors": runs}
    faces = faces_of(0)
    if faces is None:
        print(f"\n{NO_FACES}")
    else:
        found = {name: [value] for name, value in faces.figures().items()}
        _print("Faces, 30 % with a block", ABOUT_FACES.format(people=PEOPLE), found)
        numbers["faces"] = found
    what = shown(first, faces)
    figures = {"demo-sensors.png": heat_maps(**what["demo-sensors.png"])}
    if faces is not None:
        figures["demo-faces.png"] = mended_faces(**what["demo-faces.png"])
    return numbers, figures


def _print(title: str, about: str, runs: dict[str, list[float]]) -> None:
    print(f"\n{title}\n{'-' * len(title)}\n{about}\n")
    for name, label in MEASURES.items():
        spread = f" +- {np.std(runs[name], ddof=1):.3f}" if len(runs[name]) > 1 else ""
        print(f"{label:32}{np.mean(runs[name]):.3f}{spread}")
    shares = [after / before for after, before in zip(runs["after"], runs["before"], strict=True)]
    mean = f"{np.mean(runs['after']) / np.mean(runs['before']):.0%}"
    better = sum(share < 1 for share in shares)
    sentence = f"In short: mending leaves {mean} of the error; it is smaller in {better} of {len(shares)}."
    print(f"\n{fill(sentence, 112, initial_indent='* ', subsequent_indent='  ')}")


def _print_worst(made: Mended) -> None:
    print("\nThe most suspicious readings of the first table (Repairer.explain), and what was there:\n")
    print(f"{'time':>6} {'sensor':>8} {'value':>12} {'expected':>12} {'was':>12} {'trust':>8}")
    for row in made.worst:
        point, name, value, expected, trust = (row[key] for key in ("point", "attribute", "value", "expected", "trust"))
        was = made.clean[int(point), int(str(name).removeprefix("x"))]
        print(f"{point:>6} {name!s:>8} {value:>12.4g} {expected:>12.4g} {was:>12.4g} {trust:>8.1g}")
