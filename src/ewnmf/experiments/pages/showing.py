"""The arrays that pictures show, and how exactly: what ``results/`` keeps of all that runs leave.

Basis images, faces and weights are shown in 256 steps of grey or colour, so half precision (11 bits) loses nothing
that can be seen. The signals' weights, of which percentiles are taken, have single precision. Histories are whole:
their rises are counted, and those can be as small as 1e-12 of the objective.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf._types import Array
from ewnmf.experiments.protocol.plan import FACES_GAMMA
from ewnmf.experiments.protocol.spec import RULES, Spec

if TYPE_CHECKING:
    from ewnmf.experiments.execution.archive import Source

__all__ = ["SHOWN_SHARE", "shown_arrays", "shown_points"]


SHOWN_SHARE = 0.3
"""The share of occluded images whose weights are shown."""
N_FACES = 8


def shown_points(damaged: Array) -> Array:
    """Some points with damage, evenly picked from all; of those that were picked, all."""
    rows: Array = np.flatnonzero(damaged.any(axis=1))
    return np.asarray(rows[np.linspace(0, rows.size - 1, min(N_FACES, rows.size)).astype(int)])


def shown_arrays(spec: Spec, source: Source) -> dict[str, Array]:
    """The arrays of a run that a picture or a verdict needs, as far as `source` has them."""
    wanted = {name: kind for name, kind in _wanted(spec).items() if source.has(spec.key, name)}
    found = {name: source.array(spec.key, name) for name in wanted}
    if spec.dataset == "yale" and "damaged" in found:
        rows = shown_points(found["damaged"].astype(bool))
        found = {name: array[rows] for name, array in found.items()}
    return {name: _compact(array, wanted[name]) for name, array in found.items()}


def _wanted(spec: Spec) -> dict[str, Any]:
    """Names of arrays and their types."""
    if spec.dataset == "cartoons":
        drawn = ("data", "weights") if spec.method == "ewnmf" else ()
        return {"damaged": bool, **dict.fromkeys((*drawn, "components", "codes"), np.float16)}
    if spec.dataset == "signals" and spec.method == "ewnmf":
        seen = {"data": np.float32, "sources": np.float32} if spec.seed == 0 else {}
        return {"damaged": bool, "weights": np.float32, **seen}
    if spec.dataset != "yale" or spec.draw is not None or spec.seed or spec.attempt:
        return {}
    if spec.occluded == 0 and spec.gamma in (None, FACES_GAMMA):
        return {"history": np.float64, "components": np.float16}
    if spec.occluded == SHOWN_SHARE and spec.gamma in (FACES_GAMMA, *RULES):
        return {"damaged": bool, "data": np.float16, "weights": np.float16}
    return {}


def _compact(array: Array, kind: Any) -> Array:
    """The array in that type, or in single precision where its values are too large for half."""
    large = kind is np.float16 and np.abs(array).max() > np.finfo(np.float16).max
    return np.ascontiguousarray(array, dtype=np.float32 if large else kind)
