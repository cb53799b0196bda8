"""Charts as numbers that the template draws as SVG: lines, axes, marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ewnmf._types import Array

__all__ = ["Chart", "Line", "line_chart", "path_of", "ticks"]

WIDTH, HEIGHT = 640, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 16, 14, 44
_MOST_DRAWN = 1000


@dataclass(frozen=True)
class Line:
    """A line of a chart: its name, its look (a CSS class) and its path."""

    name: str
    look: str
    path: str
    dots: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Chart:
    """What a template needs to draw a chart, in the units of its box."""

    title: str
    description: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    marks: tuple[tuple[float, float, str], ...] = ()
    shades: tuple[tuple[float, float], ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    box: tuple[int, int, int, int] = field(default=(_LEFT, _TOP, WIDTH - _RIGHT, HEIGHT - _BOTTOM))


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from `low` to `high`."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [step * number for number in range(first, math.floor(high / step + 1e-9) + 1)]


def path_of(x: Array, y: Array) -> str:
    """The path through points in the units of the box, with gaps where they are not finite."""
    parts, pen = [], "M"
    for at, height in zip(x.tolist(), y.tolist(), strict=True):
        if not math.isfinite(height):
            pen = "M"
            continue
        parts.append(f"{pen}{at:.1f} {height:.1f}")
        pen = "L"
    return "".join(parts)


def line_chart(
    title: str,
    description: str,
    labels: tuple[str, str],
    lines: Sequence[tuple[str, str, Array, Array]],
    *,
    dotted: bool = False,
    x_ticks: Sequence[tuple[float, str]] | None = None,
    marks: Sequence[tuple[float, float, str]] = (),
    shaded: tuple[Array, Array] | None = None,
) -> Chart:
    """A chart of lines ``(name, look, x, y)``; `marks` are circles with a name, `shaded` is where some ``x`` are."""
    all_x = np.concatenate([x for _, _, x, _ in lines])
    all_y = np.concatenate([y for _, _, _, y in lines])
    all_y = all_y[np.isfinite(all_y)]
    left, right = float(all_x.min()), float(all_x.max())
    low, high = (float(all_y.min()), float(all_y.max())) if all_y.size else (0.0, 1.0)
    low, high = (low, high) if high > low else (low - (abs(low) or 1) * 0.05, high + (abs(high) or 1) * 0.05)
    room = 0.04 * (high - low)
    low, high = low - room, high + room
    wide = (right - left) or 1.0

    def place_x(x: Array) -> Array:
        return _LEFT + (np.asarray(x, dtype=float) - left) / wide * (WIDTH - _LEFT - _RIGHT)

    def place_y(y: Array) -> Array:
        return HEIGHT - _BOTTOM - (np.asarray(y, dtype=float) - low) / (high - low) * (HEIGHT - _TOP - _BOTTOM)

    drawn = []
    for name, look, x, y in lines:
        step = max(1, -(-len(x) // _MOST_DRAWN))
        at = np.unique(np.append(np.arange(0, len(x), step), len(x) - 1))
        px, py = place_x(x[at]), place_y(y[at])
        dots = tuple(zip(px.round(1).tolist(), py.round(1).tolist(), strict=True)) if dotted and len(at) <= 40 else ()
        drawn.append(Line(name, look, path_of(px, py), dots))
    across = [(value, _number(value)) for value in ticks(left, right)] if x_ticks is None else list(x_ticks)
    return Chart(
        title,
        description,
        *labels,
        tuple(drawn),
        tuple((round(float(place_x(np.array(value))), 1), text) for value, text in across),
        tuple((round(float(place_y(np.array(value))), 1), _number(value)) for value in ticks(low, high)),
        tuple((float(place_x(np.array(x))), float(place_y(np.array(y))), name) for x, y, name in marks),
        () if shaded is None else _shades(place_x(shaded[0]), shaded[1]),
    )


def _shades(x: Array, where: Array) -> tuple[tuple[float, float], ...]:
    """Left ends and widths of what is shaded, half a step more on either side."""
    half = 0.5 * float(np.median(np.diff(x))) if len(x) > 1 else 2.0
    edges = np.flatnonzero(np.diff(np.concatenate([[0], where.astype(int), [0]])))
    starts, ends = x[edges[::2]] - half, x[edges[1::2] - 1] + half
    return tuple(zip(starts.round(1).tolist(), (ends - starts).round(1).tolist(), strict=True))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e7 else f"{value:.4g}"
