"""The components, as the page shows them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ewnmf.plots.kinds import Kind
from ewnmf.plots.parts import ComponentsDisplay
from ewnmf.report.charts import path_of
from ewnmf.report.png import GREYS, SIGNED, data_uri

__all__ = ["MOST_PARTS", "parts_of"]

MOST_PARTS = 60
_TOP = 10
_WIDTH, _HEIGHT = 260, 70
_LONGEST_SIDE, _MOST_SAMPLES = 160, 400


def parts_of(components: Any, kind: Kind) -> list[dict[str, Any]]:
    """Of each component: its largest attributes with their shares of the largest, and an image or a line."""
    display = ComponentsDisplay(components, kind=kind, top=_TOP)
    patterns = display.patterns[:MOST_PARTS]
    signed = bool((patterns < 0).any())
    parts = []
    for k, pattern in enumerate(patterns):
        largest = display.largest(k)
        part: dict[str, Any] = {
            "number": k + 1,
            "top": [(kind.names[j], round(float(pattern[j]), 3)) for j in largest if pattern[j] != 0],
        }
        if kind.name == "images":
            assert kind.shape is not None
            step = max(1, -(-max(kind.shape) // _LONGEST_SIDE))
            image = pattern.reshape(kind.shape)[::step, ::step]
            part["image"] = data_uri(image, -1.0 if signed else 0.0, 1.0, SIGNED if signed else GREYS)
        elif kind.name == "series":
            step = max(1, -(-len(pattern) // _MOST_SAMPLES))
            y = pattern[::step]
            low = -1.0 if signed else 0.0
            part["path"] = path_of(np.linspace(0, _WIDTH, len(y)), _HEIGHT - (y - low) / (1 - low) * _HEIGHT)
        parts.append(part)
    return parts
