"""Fig. 1, the method in one picture: NMF gives every pixel the same say and learns the hat, EWNMF does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf._types import Array
from ewnmf.plots import display
from ewnmf.plots import figures as plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Lane", "method_diagram"]


WIDTH, HEIGHT = 10.0, 4.9
FACE, SMALL, GAP = 1.3, 0.56, 0.06
LINES = {"NMF": 2.95, "EWNMF": 1.05}
"""Method -> where the lower edge of its lane lies, in inches."""
LEFT, WEIGHTS, FEATURES, AGAIN = 0.2, 2.62, 4.42, 8.5
"""Where the columns begin, in inches."""
COLUMNS, DOWN = 6, 2
OBJECTIVE = r"$\sum T\,(X - WH)^2 + \gamma \sum T \ln T$"
INK, PALE = "#333333", "#D9D9D9"
HAT_LIKE = 0.05
"""A feature with this share of its ink where no other face has any is the hat's."""


@dataclass(frozen=True)
class Lane:
    """What a method makes of the faces: weights of the first one (1 = equal), features, the first one rebuilt."""

    says: str
    weights: Array
    features: Array
    rebuilt: Array


def method_diagram(faces: Array, hat: Array, lanes: dict[str, Lane]) -> Figure:
    """From left to right: images, weights of the first one's pixels, features, the first image rebuilt; a lane each.

    Parameters
    ----------
    faces : array (n, pixels)
        The first ones are shown; the very first has the `hat`.
    hat : array (pixels,)
        Whether a pixel is the hat's.
    lanes : dict
        ``"NMF"`` and ``"EWNMF"`` -> what they make of it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="white")
    side = round(faces.shape[1] ** 0.5)
    _title(figure, LEFT + FACE * 0.69, "images  X")
    _title(figure, WEIGHTS + FACE / 2, "weights  T\nof the first image")
    _title(figure, FEATURES + (COLUMNS * (SMALL + GAP) - GAP) / 2, "features  W")
    _title(figure, AGAIN + FACE / 2, "first image again\n(WH)")
    _faces(figure, faces.reshape(-1, side, side))
    top = max(float(lane.weights.max()) for lane in lanes.values())
    for name, lane in lanes.items():
        shown = _lane(figure, name, lane, hat.reshape(side, side), hat & (faces[1:].max(axis=0) < 0.05), top)
    bar = figure.colorbar(shown, cax=_axes(figure, WEIGHTS, 0.82, FACE, 0.09), orientation="horizontal")
    bar.set_ticks([0, 1], labels=["0", "1 = equal"])
    bar.ax.tick_params(labelsize=9, length=2, colors=INK)
    bar.outline.set_visible(False)
    _words(figure, WEIGHTS, 0.24, f"EWNMF minimizes  {OBJECTIVE};  the weights of every image sum to one", "left")
    return figure


def _lane(figure: Figure, name: str, lane: Lane, hat: Array, only: Array, top: float) -> Any:
    """The panels of one method and the arrows between them."""
    low, middle = LINES[name], LINES[name] + FACE / 2
    ax = _axes(figure, WEIGHTS, low, FACE, FACE)
    shown = ax.imshow(lane.weights.reshape(hat.shape), cmap="cividis", vmin=0, vmax=top, interpolation="none")
    plots._outline(ax, hat)
    hats = [float((feature / feature.sum())[only].sum()) for feature in lane.features]
    for at, feature in enumerate(lane.features[: COLUMNS * DOWN]):
        line, column = divmod(at, COLUMNS)
        small = _axes(
            figure,
            FEATURES + column * (SMALL + GAP),
            middle + (GAP / 2 if line == 0 else -SMALL - GAP / 2),
            SMALL,
            SMALL,
        )
        _draw(small, feature.reshape(hat.shape), float(np.quantile(feature, 0.995)))
        _frame(small, PALE)
        if hats[at] > HAT_LIKE:
            _frame(small, display.VERMILION, 2.0)
    last = _axes(figure, AGAIN, low, FACE, FACE)
    _draw(last, lane.rebuilt.reshape(hat.shape))
    _frame(last, display.VERMILION if name == "NMF" else display.BLUE, 2.0)
    wide = FEATURES + COLUMNS * (SMALL + GAP) - GAP
    _arrow(figure, (LEFT + 1.93, 2.46 if name == "EWNMF" else 2.6), (WEIGHTS - 0.1, middle))
    _arrow(figure, (WEIGHTS + FACE + 0.1, middle), (FEATURES - 0.1, middle))
    _arrow(figure, (wide + 0.1, middle), (AGAIN - 0.1, middle))
    _words(figure, FEATURES, low - 0.22, f"$\\bf{{{name}}}$: {lane.says}", "left")
    return shown


def _faces(figure: Figure, faces: Array) -> None:
    """The first face large, and some others below it."""
    first = _axes(figure, LEFT + 0.15, 2.58, FACE * 1.15, FACE * 1.15)
    _draw(first, faces[0])
    _frame(first, display.VERMILION, 2.0)
    for at, face in enumerate(faces[1:7]):
        line, column = divmod(at, 3)
        ax = _axes(figure, LEFT + column * (SMALL + GAP), 1.93 - line * (SMALL + GAP), SMALL, SMALL)
        _draw(ax, face)
        _frame(ax, PALE)
    _words(figure, LEFT + FACE * 0.69, 1.04, "... and more faces", "center")


def _axes(figure: Figure, left: float, low: float, width: float, height: float) -> Axes:
    """Axes at a place in inches, without ticks."""
    ax = figure.add_axes((left / WIDTH, low / HEIGHT, width / WIDTH, height / HEIGHT))
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _draw(ax: Axes, image: Array, top: float = 1.0) -> None:
    """Ink on paper."""
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=top or 1.0, interpolation="none")


def _frame(ax: Axes, colour: str, width: float = 0.8) -> None:
    for spine in ax.spines.values():
        spine.set(visible=True, color=colour, linewidth=width)


def _title(figure: Figure, centre: float, words: str) -> None:
    figure.text(
        centre / WIDTH, (HEIGHT - 0.1) / HEIGHT, words, ha="center", va="top", fontsize=12, color=INK, linespacing=1.1
    )


def _words(figure: Figure, at: float, low: float, words: str, align: str) -> None:
    figure.text(at / WIDTH, low / HEIGHT, words, ha=align, va="center", fontsize=11, color=INK)


def _arrow(figure: Figure, start: tuple[float, float], end: tuple[float, float]) -> None:
    from matplotlib.patches import FancyArrowPatch

    scale = np.array([WIDTH, HEIGHT])
    arrow = FancyArrowPatch(
        tuple(np.array(start) / scale),
        tuple(np.array(end) / scale),
        transform=figure.transFigure,
        arrowstyle="-|>",
        mutation_scale=16,
        lw=1.6,
        color="#777777",
        shrinkA=0,
        shrinkB=0,
    )
    figure.add_artist(arrow)
