"""The pictures of the documentation that today's code draws, and the numbers behind them.

``python -m benchmarks.illustrations [NAME ...] [--folder docs/images]`` draws them (those named, or all) and writes
their numbers beside them (``pictures.json``), which ``tests/plots/test_pictures.py`` compares with ours.
Yale is found by `EWNMF_DATA` or beside the repository.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import rank
from benchmarks.stored import data_home
from ewnmf import EWNMF, NMF, RankPath, select_rank
from ewnmf.demo import comparison as demo
from ewnmf.demo import repair
from ewnmf.demo.pictures import heat_maps, mended_faces
from ewnmf.plots import figures as plots

Array = NDArray[Any]
Numbers = dict[str, Any]

NUMBERS = "pictures.json"
DEMO = ("demo-signals.png", "demo-digits.png")
MENDED = ("demo-sensors.png", "demo-faces.png")
RANKS = {"rank-digits.png": "digits", "rank-yale.png": "Yale"}
ELSEWHERE = {
    "bench-": "make bench, which measures times",
    "gallery/": "make gallery, then docs/pictures.py",
    "choosing-gamma/": "ewnmf reproduce auto-gamma --render, from stored results",
    "reproduction/": "ewnmf reproduce --render, from stored results",
}
"""How the names of the other pictures begin, and the command that draws those."""
WAVES = 4
"""Sums of an array with this many cosines are kept, so that no entry can change much unseen."""


def summary(values: Any) -> dict[str, Any]:
    """An array as a few numbers: shape, extremes, mean, root mean square, products with cosines."""
    flat = np.asarray(values, dtype=float).ravel()
    at = np.arange(flat.size)
    waves = [flat @ np.cos(at * frequency) / np.sqrt(flat.size) for frequency in range(1, WAVES + 1)]
    found = {"least": flat.min(), "largest": flat.max(), "mean": flat.mean(), "rms": np.sqrt(np.mean(flat**2))}
    rounded = {name: _rounded(value) for name, value in found.items()}
    return {"shape": list(np.shape(values)), **rounded, "waves": [_rounded(wave) for wave in waves]}


def _rounded(value: Any) -> float:
    return float(f"{float(value):.6g}")


def summaries(what: dict[str, Any]) -> Numbers:
    """The summaries of all arrays, those of a method under its name."""
    arrays = {name: value for name, value in what.items() if not isinstance(value, dict)}
    methods = {name: value for group in what.values() if isinstance(group, dict) for name, value in group.items()}
    return {name: summary(value) for name, value in (arrays | methods).items()}


def demonstrations() -> dict[str, dict[str, Any]]:
    """What the pictures of the demonstration show."""
    plan = demo.Plan(seeds=1)
    signals = demo.compare(demo.signals_of, (demo.NMF, demo.STRONG), 2, plan, clustered=False)
    digits = demo.compare(
        lambda seed: demo.digits_of(seed, plan.digits), (demo.NMF, demo.MILD), demo.N_CLASSES, plan, clustered=False
    )
    return demo.shown(signals, digits)


def mended(*, faces: bool = True) -> dict[str, dict[str, Any]]:
    """What the pictures of mended damage show; faces where they are asked for and there."""
    return repair.shown(repair.sensors_of(0), repair.faces_of(0, data_home()) if faces else None)


def rank_path(data: str, model: Any, candidates: Sequence[int] | None = None) -> RankPath:
    """The path that a picture of ranks shows, or the part of it that belongs to these candidates."""
    return select_rank(rank.real_set(data)[0], estimator=model, candidates=candidates, random_state=0)


def rank_numbers(path: RankPath) -> Numbers:
    """What a picture of ranks shows of a path."""
    losses = [_rounded(loss) for loss in -path.means]
    return {"chosen": int(path.chosen), "candidates": [int(k) for k in path.candidates], "losses": losses}


def redraw(folder: Path, names: Sequence[str]) -> None:
    """Draw the pictures of these names into the folder, and write their numbers."""
    file = folder / NUMBERS
    kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if set(names) & set(DEMO):
        for name, what in demonstrations().items():
            figure = (plots.signals if name == "demo-signals.png" else plots.weight_maps)(**what)
            figure.savefig(folder / name, dpi=110)
            kept[name] = _entry(folder / name, summaries(what))
    if set(names) & set(MENDED):
        for name, what in mended().items():
            figure = (heat_maps if name == "demo-sensors.png" else mended_faces)(**what)
            figure.savefig(folder / name, dpi=110)
            kept[name] = _entry(folder / name, summaries(what))
    for name in (name for name in RANKS if name in names):
        paths = {type(model).__name__: rank_path(RANKS[name], model) for model in (EWNMF(), NMF())}
        rank.draw(paths, RANKS[name], folder / name)
        kept[name] = _entry(folder / name, {method: rank_numbers(path) for method, path in paths.items()})
    file.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")


def _entry(file: Path, numbers: Numbers) -> Numbers:
    return {"sha256": fingerprint(file), "numbers": numbers}


def fingerprint(file: Path) -> str:
    """The hash of a picture, which ties it to its numbers."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw what is asked for."""
    every = [*DEMO, *MENDED, *RANKS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.illustrations", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(every)} (default: all)")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(every))
    if unknown:
        parser.error(f"{unknown[0]!r} is no picture that is drawn here; give some of {', '.join(every)}.")
    redraw(given.folder, given.names or every)


if __name__ == "__main__":
    main()
