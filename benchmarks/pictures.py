"""The pictures of the page; without matplotlib there are none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from benchmarks.report import Picture, milliseconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bars", "descent", "growth"]

BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#B8B8B8"
LINES = ((GREY, "-"), (BLUE, "-"), (VERMILION, "--"))
Points = Sequence[tuple[float, float]]


def _panels(count: int, width: float, height: float, **sharing: Any) -> tuple[Figure, list[Any]]:
    """A figure with `count` panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    panels = list(figure.subplots(1, count, squeeze=False, **sharing)[0])
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, panels


def growth(curves: Mapping[str, Points]) -> list[Picture]:
    """Milliseconds per iteration against n, m and K, with a line of slope one."""
    if find_spec("matplotlib") is None:
        return []
    from matplotlib.ticker import LogLocator

    figure, panels = _panels(len(curves), 9.5, 3.2, sharey=True)
    for panel, (axis, points) in zip(panels, curves.items(), strict=True):
        values, times = zip(*((value, 1e3 * seconds) for value, seconds in points), strict=True)
        last = len(values) - 1
        panel.loglog(values, [times[last] * value / values[last] for value in values], color=GREY, label="proportional")
        panel.loglog(values, times, "o-", color=BLUE, label="EWNMF")
        panel.set_xticks(values, [f"{value:g}" for value in values])
        panel.minorticks_off()
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_xlabel(axis)
    panels[0].set_ylabel("ms per iteration")
    panels[0].legend(frameon=False)
    return [Picture("bench-growth.png", "Milliseconds per iteration against n, m and K, on logarithmic scales", figure)]


def descent(curves: Mapping[float, Mapping[str, Points]], title: str) -> list[Picture]:
    """``E`` against seconds, a panel per gamma."""
    if find_spec("matplotlib") is None:
        return []
    figure, panels = _panels(len(curves), 9.5, 3.6)
    for panel, (gamma, lines) in zip(panels, curves.items(), strict=True):
        for (color, dash), (name, points) in zip(LINES, lines.items(), strict=True):
            seconds, excess = zip(*points, strict=True)
            panel.semilogx(seconds, excess, dash, color=color, linewidth=2, label=name)
        panel.set_title(f"gamma = {gamma:g}", fontsize="medium")
        panel.set_xlabel("seconds")
        panel.xaxis.set_major_formatter("{x:g}")
    panels[0].set_ylabel("E")
    panels[0].legend(frameon=False, loc="lower left")
    figure.suptitle(title, fontsize="medium")
    return [Picture("bench-descent.png", f"Objective E against seconds on {title}", figure)]


def bars(times: Mapping[str, Mapping[str, float]], weighted: Collection[str]) -> list[Picture]:
    """Milliseconds per iteration of every package, a panel per size; ours stands out, unweighted ones are pale."""
    if find_spec("matplotlib") is None:
        return []
    figure, panels = _panels(len(times), 9.5, 3.4, sharey=True)
    for panel, (shape, seconds) in zip(panels, times.items(), strict=True):
        names = list(seconds)[::-1]
        colors = [BLUE if name.startswith("EWNMF") else GREEN if name in weighted else GREY for name in names]
        drawn = panel.barh(names, [1e3 * seconds[name] for name in names], color=colors)
        panel.bar_label(drawn, [milliseconds(seconds[name]) for name in names], padding=3, fontsize="small")
        panel.margins(x=0.15)
        panel.set_title(shape, fontsize="medium")
        panel.set_xlabel("ms per iteration")
    figure.suptitle("blue: EWNMF; green: other weighted; grey: unweighted", fontsize="small")
    return [Picture("bench-iterations.png", "Milliseconds per iteration of every package at two sizes", figure)]
