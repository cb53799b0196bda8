"""What all displays share: a figure of pyplot or given axes, colours, mosaics of images."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf._types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "LINES",
    "ORANGE",
    "PURPLE",
    "VERMILION",
    "Display",
    "bar_panel",
    "finished",
    "framed",
    "mosaic",
    "new_figure",
    "shade",
    "short",
    "titled",
]

BLUE, VERMILION, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8B8B8"
ORANGE = "#E69F00"
LINES = ((VERMILION, "--"), (BLUE, "-"), (GREEN, "-."), (PURPLE, ":"))
MISSING = "#DDDDDD"
_LONGEST_NAME = 28
_FROM_THE_LEFT = "\u200e"


class Display:
    """A picture that can be drawn again: `plot` draws what the object holds, on a figure of pyplot or on given axes.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        The figure; it belongs to pyplot where no axes were given, and is never shown by itself.
    ax_ : matplotlib.axes.Axes
        The axes that were drawn on; the first of them where there are several.
    axes_ : list of matplotlib.axes.Axes
        All of them.
    """

    figure_: Figure
    ax_: Axes
    axes_: list[Axes]

    def _panels(
        self, ax: Axes | None, n_rows: int = 1, n_columns: int = 1, *, size: tuple[float, float], **sharing: Any
    ) -> list[Axes]:
        """Axes in rows and columns, on a figure of that size or within the given axes, which then are a frame."""
        if ax is None:
            figure = new_figure(*size)
            made = list(figure.subplots(n_rows, n_columns, squeeze=False, **sharing).ravel())
        elif n_rows * n_columns == 1:
            figure, made = _figure_of(ax), [ax]
        else:
            figure, place = _figure_of(ax), ax.get_subplotspec()
            if place is None:
                raise ValueError("ax is no part of a grid, and this picture needs several panels; use plt.subplots.")
            ax.set_axis_off()
            grid = place.subgridspec(n_rows, n_columns)
            made = list(grid.subplots(squeeze=False, **sharing).ravel())
        self.figure_, self.axes_, self.ax_ = figure, made, made[0]
        return made

    def _say(self, *sentences: str) -> None:
        """Sentences below the picture: what was guessed or left out."""
        said = " ".join(sentence for sentence in sentences if sentence)
        if said:
            width = max(40, int(self.figure_.get_size_inches()[0] * 13))
            self.figure_.supxlabel(fill(said, width), fontsize=8, color="#555555", ha="center")


def new_figure(width: float, height: float, *, of_pyplot: bool = True) -> Figure:
    """A figure of pyplot, or one that nobody but its caller keeps."""
    try:
        from matplotlib import figure, pyplot
    except ImportError as error:
        raise ImportError('ewnmf.plots needs matplotlib: pip install "ewnmf[plots]".') from error
    kind = pyplot.figure if of_pyplot else figure.Figure
    return kind(figsize=(width, height), dpi=100, layout="constrained")


def _figure_of(ax: Axes) -> Figure:
    figure: Figure = ax.figure.figure
    return figure


def short(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name that fits beside an axis, with nothing in it that matplotlib would take for mathematics."""
    name = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return name.replace("$", r"\$")


def titled(*words: object) -> str:
    """Words with names among them as a title; it is read from the left whatever way its names are."""
    title = " ".join(short(str(word)) for word in words if word != "")
    turned = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in title)
    return f"{_FROM_THE_LEFT}{title}" if turned else title


def finished(ax: Axes, *, legend: bool = True, **legend_options: Any) -> Axes:
    """The axes with a light grid, open at the top and on the right."""
    ax.grid(visible=True, color="#E5E5E5")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        ax.legend(frameon=False, **legend_options)
    return ax


def framed(ax: Axes, title: str = "") -> Axes:
    """Small axes: a title, open at the top and on the right."""
    ax.set_title(title, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    return ax


def bar_panel(ax: Axes, names: Sequence[str], values: Array, title: str = "", colour: str = BLUE) -> None:
    """Named bars, the first on top."""
    places = np.arange(len(names))
    ax.barh(places, values, color=colour, height=0.7)
    ax.set_yticks(places, [short(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    if np.min(values, initial=0) < 0:
        ax.axvline(0, color="black", lw=0.8)
    framed(ax, title)


def shade(ax: Axes, at: Array, where: Array, label: str | None = None) -> None:
    """Shade the samples where something is, each as wide as its step."""
    if not where.any():
        return
    half = 0.5 * float(np.median(np.abs(np.diff(at)))) if len(at) > 1 else 0.5
    edges = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
    for start, stop in zip(edges[::2], edges[1::2] - 1, strict=True):
        low, high = sorted((at[start], at[stop]))
        ax.axvspan(low - half, high + half, color=VERMILION, alpha=0.2, lw=0, label=label)
        label = None


def mosaic(
    ax: Axes,
    images: Array,
    n_columns: int,
    *,
    colours: str,
    scale: tuple[float, float],
    titles: Sequence[str] = (),
    row_labels: Sequence[str] = (),
) -> AxesImage:
    """Images (k x height x width) side by side in one axes, `n_columns` in a line, with a title above each."""
    from matplotlib import colormaps

    k, height, width = images.shape
    gap = max(1, round(0.06 * max(height, width)))
    above = max(gap, round(0.18 * height)) if titles else gap
    n_rows = ceil(k / n_columns)
    sheet = np.full((n_rows * (height + above), n_columns * (width + gap) - gap), np.nan)
    outside = np.ones(sheet.shape, dtype=bool)
    for number, image in enumerate(images):
        row, column = divmod(number, n_columns)
        at = (
            slice(row * (height + above) + above, (row + 1) * (height + above)),
            slice(column * (width + gap), column * (width + gap) + width),
        )
        sheet[at], outside[at] = image, False
    map_ = colormaps[colours].with_extremes(bad=MISSING)
    shown: AxesImage = ax.imshow(sheet, cmap=map_, vmin=scale[0], vmax=scale[1], interpolation="nearest")
    paper = np.zeros((*sheet.shape, 4))
    paper[outside] = 1.0
    ax.imshow(paper, interpolation="nearest")
    for number, title in enumerate(titles):
        row, column = divmod(number, n_columns)
        at_x, at_y = column * (width + gap) + width / 2 - 0.5, row * (height + above) + above - 0.5
        ax.text(at_x, at_y - 0.1 * above, short(title, 14), ha="center", va="bottom", fontsize=8)
    for row, label in enumerate(row_labels):
        ax.text(-gap, row * (height + above) + above + height / 2, label, ha="right", va="center", fontsize=9)
    ax.set_axis_off()
    return shown
