"""The points that a reader can pick: what is embedded of them, within a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.plots.judged import Judged
from ewnmf.plots.points import limits
from ewnmf.report.png import GREYS, TRUST, data_uri

__all__ = ["chosen_points", "embedded", "number"]

MOST_POINTS = 400
_ENTRIES = {"images": 250_000, "series": 60_000, "table": 1_000_000, "words": 1_000_000}
"""Entries of all points that are embedded, at the most."""
_FEWEST = 8
NEGLIGIBLE = 1e-6
"""What is less than this share of an attribute's largest value is shown as 0."""
MOST_ATTRIBUTES = 60
"""Of a point of a table, the least trusted ones are shown where it has more."""
_LONGEST_SIDE, _MOST_SAMPLES = 160, 2000


def chosen_points(worst: Array, rows: Array, m: int, kind: str) -> Array:
    """Numbers of the points to embed: half of them the `worst` (places), half in equal distances; all where few."""
    count = max(_FEWEST, min(MOST_POINTS, _ENTRIES[kind] // m))
    if len(rows) <= count:
        return rows
    even = np.linspace(0, len(rows) - 1, count - count // 2).round().astype(int)
    chosen: Array = rows[np.union1d(worst[: count // 2], even)]
    return chosen


def embedded(judged: Judged) -> list[dict[str, Any]]:
    """What the page knows of each point: its number, name, share of suspects, and what is drawn."""
    kind = judged.kind.name
    scale = limits(judged.values)
    largest = np.fmax(np.abs(judged.values), np.abs(judged.expected)).max(axis=0)
    expected, repaired = (_without_dust(table, largest) for table in (judged.expected, judged.repaired))
    judged = replace(judged, expected=expected, repaired=repaired)
    share = judged.distrust
    points = []
    for place, row in enumerate(judged.rows.tolist()):
        point: dict[str, Any] = {"row": row, "name": str(judged.labels[place]), "share": number(share[place])}
        point["missing"] = int(np.isnan(judged.values[place]).sum())
        if kind == "images":
            point["images"] = _images(judged, place, scale)
        elif kind == "series":
            point["series"] = _series(judged, place)
        point["entries"] = _entries(judged, place, MOST_ATTRIBUTES if kind in ("table", "words") else 12)
        points.append(point)
    return points


def number(value: Any) -> float | None:
    """Four digits of it; None where there is none, as JSON has it."""
    return float(f"{float(value):.4g}") if np.isfinite(value) else None


def _without_dust(table: Array, largest: Array) -> Array:
    """The table with 0 for what is nothing against the largest value of its column."""
    return np.where(np.abs(table) > NEGLIGIBLE * largest, table, 0)


def _images(judged: Judged, place: int, scale: tuple[float, float]) -> dict[str, str]:
    assert judged.kind.shape is not None
    step = max(1, -(-max(judged.kind.shape) // _LONGEST_SIDE))

    def drawn(table: Array, low: float, high: float, palette: bytes) -> str:
        assert judged.kind.shape is not None
        return data_uri(table[place].reshape(judged.kind.shape)[::step, ::step], low, high, palette)

    return {
        "value": drawn(judged.values, *scale, GREYS),
        "expected": drawn(judged.expected, *scale, GREYS),
        "trust": drawn(judged.trust, 0.0, 1.0, TRUST),
        "repaired": drawn(judged.repaired, *scale, GREYS),
    }


def _series(judged: Judged, place: int) -> dict[str, list[Any]]:
    step = max(1, -(-judged.values.shape[1] // _MOST_SAMPLES))
    tables = {"value": judged.values, "expected": judged.expected, "repaired": judged.repaired}
    lines: dict[str, list[Any]] = {
        name: [number(value) for value in table[place, ::step]] for name, table in tables.items()
    }
    edges = np.flatnonzero(np.diff(np.concatenate([[0], judged.suspects[place, ::step].astype(int), [0]])))
    lines["suspect"] = [[int(a), int(b) - 1] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return lines


def _entries(judged: Judged, place: int, count: int) -> list[list[Any]]:
    """The least trusted attributes: number, value, expected, trust, repaired, whether suspect."""
    trust = np.where(np.isnan(judged.trust[place]), -1, judged.trust[place])
    distance = np.abs(np.nan_to_num(judged.values[place]) - judged.expected[place])
    order = np.lexsort((-distance, trust))[:count]
    tables = (judged.values, judged.expected, judged.trust, judged.repaired)
    return [
        [int(j), *(number(table[place, j]) for table in tables), int(judged.suspects[place, j])] for j in order.tolist()
    ]
