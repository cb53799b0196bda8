"""What is distrusted of the attributes: pixels as a picture, columns of a table over its points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.plots.judged import judge
from ewnmf.plots.kinds import Kind
from ewnmf.report.charts import Chart, line_chart
from ewnmf.report.png import TRUST, data_uri
from ewnmf.report.survey import Survey

__all__ = ["attribute_lines", "pixel_map"]

_DRAWN = 6
_POINTS, _ENTRIES = 600, 1 << 20
_FEWEST = 8
_LONGEST_SIDE = 160


def pixel_map(seen: Survey, kind: Kind) -> dict[str, Any] | None:
    """How often each pixel is suspect, as an image, with the largest share; None where points are no images."""
    if kind.shape is None:
        return None
    shares = seen.share_of_attributes
    step = max(1, -(-max(kind.shape) // _LONGEST_SIDE))
    image = (1 - shares / (shares.max() or 1.0)).reshape(kind.shape)[::step, ::step]
    return {"image": data_uri(image, 0.0, 1.0, TRUST), "largest": float(shares.max())}


def attribute_lines(
    estimator: Any, X: Any, seen: Survey, kind: Kind, names: Array, false_alarms: float
) -> list[Chart] | None:
    """The most distrusted columns of a table over its points; None where there is no table, or too little of one."""
    shares = seen.share_of_attributes
    worst = [j for j in np.argsort(-shares, kind="stable")[:_DRAWN].tolist() if seen.suspect[j]]
    if kind.name != "table" or len(seen.rows) < _FEWEST or not worst:
        return None
    count = max(_FEWEST, min(_POINTS, _ENTRIES // X.shape[1]))
    rows = seen.rows[:: max(1, -(-len(seen.rows) // count))]
    judged = judge(estimator, X, false_alarms=false_alarms, points=rows, kind=kind, point_names=names)
    at = rows.astype(float)
    places = np.unique(np.linspace(0, len(rows) - 1, 4).round().astype(int))
    ticks = [(at[place], _short(str(names[rows[place]]))) for place in places]
    charts = []
    for j in worst:
        said = f"{100 * shares[j]:.2g} % of its entries are suspect; they are shaded, and repaired in the second line."
        lines = [("data", "red", at, judged.values[:, j]), ("repaired", "blue", at, judged.repaired[:, j])]
        title = f"\u2068{kind.names[j]}\u2069 ({100 * shares[j]:.2g} % suspect)"
        shaded = judged.suspects[:, j]
        charts.append(line_chart(title, said, ("", ""), lines, x_ticks=ticks, shaded=(at, shaded)))
    return charts


def _short(name: str) -> str:
    return name if len(name) <= 12 else f"{name[:11]}…"
