"""The figures of what was mended: heat maps of a table, and faces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf._types import Array
from ewnmf.plots.display import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["heat_maps", "mended_faces"]

FOUND, MISSED, ALARM = "#0072B2", "#D55E00", "#C9A227"


def heat_maps(before: Array, after: Array, clean: Array, damaged: Array, suspects: Array) -> Figure:
    """A table (n x m, columns scaled to [0, 1]) before and after, what was found between them, and what was there."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    figure = new_figure(11, 4.4, of_pyplot=False)
    axes = figure.subplots(1, 4, sharey=True)
    how: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest"}
    shown: Any = None
    for ax, (title, table) in zip(
        axes[[0, 2, 3]], (("before", before), ("mended", after), ("what was there", clean)), strict=True
    ):
        shown = ax.imshow(np.clip(table, -0.25, 1.25), cmap="viridis", vmin=-0.25, vmax=1.25, **how)
        ax.set_title(title)
    kinds = np.where(damaged & suspects, 1, np.where(damaged, 2, np.where(suspects, 3, 0)))
    colours = ListedColormap(["#F2F2F2", FOUND, MISSED, ALARM])
    axes[1].imshow(kinds, cmap=colours, norm=BoundaryNorm(np.arange(-0.5, 4), 4), **how)
    axes[1].set_title("what was found")
    legend = [
        Patch(color=FOUND, label="found"),
        Patch(color=MISSED, label="missed"),
        Patch(color=ALARM, label="false alarm"),
    ]
    axes[1].legend(
        handles=legend, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize="x-small", frameon=False
    )
    for ax in axes:
        ax.set_xlabel("sensor", labelpad=2)
        ax.set_xticks(range(0, before.shape[1], 5), [str(at + 1) for at in range(0, before.shape[1], 5)])
    axes[0].set_ylabel("time")
    figure.colorbar(shown, ax=list(axes), label="range of the sensor", shrink=0.8, ticks=[0, 0.5, 1])
    return figure


def mended_faces(clean: Array, data: Array, trust: Array, mended: Array) -> Figure:
    """Images (count x height x width) without damage, with it, how far they can be trusted, and mended."""
    lines = {"damaged": data, "trust": trust, "mended": mended, "what was there": clean}
    count = len(clean)
    figure = new_figure(1.35 * count + 1.1, 1.4 * len(lines), of_pyplot=False)
    axes = figure.subplots(len(lines), count, squeeze=False)
    for row, (title, images) in zip(axes, lines.items(), strict=True):
        for ax, image in zip(row, images, strict=True):
            ax.imshow(image, cmap="cividis" if title == "trust" else "gray", vmin=0, vmax=1, interpolation="nearest")
            ax.set_xticks([])
            ax.set_yticks([])
        row[0].set_ylabel(title, fontsize="medium")
    return figure
