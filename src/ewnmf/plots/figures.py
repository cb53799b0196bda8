"""Functions that draw: thin calls of the displays, and the paper's comparisons of damaged data with reconstructions.

Save a figure with ``figure.savefig("name.png")``; nothing is shown by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ewnmf._types import Array
from ewnmf.plots.display import BLUE, GREY, LINES, VERMILION, new_figure
from ewnmf.plots.gammas import GammaPathDisplay
from ewnmf.plots.objective import ObjectiveDisplay
from ewnmf.plots.parts import ComponentsDisplay
from ewnmf.plots.ranks import RankPathDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

__all__ = ["components", "gamma_path", "loss_curve", "rank_path", "signals", "weight_maps"]


def weight_maps(
    images: ArrayLike,
    occluded: ArrayLike,
    reconstructions: Mapping[str, ArrayLike],
    weights: ArrayLike,
    *,
    image_shape: tuple[int, int] | None = None,
    mask: ArrayLike | None = None,
    titles: Sequence[str] = (),
) -> Figure:
    """Original, damaged and reconstructed images and their weights (n x height*width each), one column per image.

    The images share one colour scale and the weights another. Weights are shown times height*width, so that 1 is the
    weight that every pixel would have if all were equal.

    Parameters
    ----------
    images, occluded : array-like of shape (n, height * width)
        The clean images and the ones that were factorized.
    reconstructions : mapping of str to array-like of shape (n, height * width)
        ``codes @ components`` of one or more methods, under their names.
    weights : array-like of shape (n, height * width)
        Learned weights; every row sums to one.
    image_shape : (int, int), optional
        Height and width of an image; by default it is taken to be square.
    mask : array-like of bool of shape (n, height * width), optional
        The damaged pixels, outlined in the damaged images and in the weights.
    titles : sequence of str
        Titles of the columns.

    Returns
    -------
    Figure
        One axes per image and the two colour bars.
    """
    clean = _table("images", images)
    shape = _image_shape(clean.shape[1], image_shape)
    damage = np.zeros(clean.shape) if mask is None else mask
    given = [("occluded", occluded), *reconstructions.items(), ("weights", weights), ("mask", damage)]
    original, damaged, *rebuilt, maps, outlined = (
        table.reshape(-1, *shape) for table in (clean, *_alike(clean.shape, given))
    )
    figure, axes = _grid_of_axes(len(rebuilt) + 3, len(clean))
    scale = min(original.min(), damaged.min()), max(original.max(), damaged.max())
    labels = ["original", "occluded", *(f"rebuilt by\n{name}" for name in reconstructions)]
    for line, pictures, label in zip(axes, [original, damaged, *rebuilt], labels, strict=False):
        shown = _show_row(line, pictures, "gray", scale, label)
    relative = maps * clean.shape[1]
    mapped = _show_row(axes[-1], relative, "cividis", (0.0, relative.max()), "learned\nweights")
    for ax, pixels in zip([*axes[1], *axes[-1]], [*outlined, *outlined], strict=True):
        _outline(ax, pixels.astype(bool))
    for ax, title in zip(axes[0], titles, strict=False):
        ax.set_title(title, fontsize=10)
    figure.colorbar(shown, ax=axes[:-1], label="pixel value", aspect=30)
    figure.colorbar(mapped, ax=axes[-1:], label="weight\n(1 = equal)", aspect=6)
    return figure


def components(model: Any, image_shape: tuple[int, int] | None = None, *, n_columns: int = 10) -> Figure:
    """The rows of ``components_`` (K x height*width) as images, each divided by its largest absolute value.

    The scale of a component is arbitrary (its codes can take any factor), so only the pattern is shown.

    Parameters
    ----------
    model : fitted estimator, Factorization or array-like of shape (K, height * width)
        What has the components.
    image_shape : (int, int), optional
        Height and width of an image; by default it is taken to be square.
    n_columns : int
        Images in a line at the most.

    Returns
    -------
    Figure
        One axes with all of them, each below its number, and the colour bar.
    """
    display = ComponentsDisplay.from_estimator if _has_components(model) else ComponentsDisplay.from_data
    return display(model, kind="images", image_shape=image_shape, n_columns=n_columns).figure_


def signals(
    mixtures: ArrayLike,
    reconstructions: Mapping[str, ArrayLike],
    weights: ArrayLike,
    *,
    sources: ArrayLike,
    clean: ArrayLike,
    damaged: ArrayLike,
    n_shown: int = 3,
) -> Figure:
    """Sources (K x m), and for the first mixtures (n x m): data, learned weights and reconstructions over time.

    Parameters
    ----------
    mixtures : array-like of shape (n, m)
        What was factorized.
    reconstructions : mapping of str to array-like of shape (n, m)
        ``codes @ components`` of one or more methods, under their names.
    weights : array-like of shape (n, m)
        Learned weights; shown times m, so that 1 is the weight that every sample would have if all were equal.
    sources : array-like of shape (K, m)
        The signals that were mixed.
    clean : array-like of shape (n, m)
        The mixtures without the damage.
    damaged : array-like of bool of shape (n, m)
        The destroyed samples, shaded.
    n_shown : int
        Number of mixtures shown.

    Returns
    -------
    Figure
        Columns of axes: sources, mixtures, weights, reconstructions; and a legend.
    """
    X, S = _table("mixtures", mixtures), _table("sources", sources)
    given = [("weights", weights), ("clean", clean), ("damaged", damaged), *reconstructions.items()]
    T, C, bad, *rebuilt = _alike(X.shape, given)
    curves = list(zip(["clean mixture", *reconstructions], [C, *rebuilt], strict=True))
    n_rows = min(n_shown, len(X))
    figure = new_figure(11.5, 1.2 + 1.5 * n_rows)
    grid = figure.add_gridspec(n_rows * len(S), 4)
    for k, source in enumerate(S):
        ax = figure.add_subplot(grid[k * n_rows : (k + 1) * n_rows, 0])
        ax.plot(source, color="black", lw=1)
        _label_signal(ax, "Sources", k, len(S), f"source {k + 1}")
    top = 1.1 * T[:n_rows].max() * X.shape[1]
    for j in range(n_rows):
        places = [grid[j * len(S) : (j + 1) * len(S), column] for column in (1, 2, 3)]
        data, weight, rebuild = (figure.add_subplot(place) for place in places)
        data.plot(X[j], color="black", lw=1)
        weight.plot(T[j] * X.shape[1], color=BLUE, lw=1.2)
        weight.set_ylim(-0.05 * top, top)
        for (colour, style), (name, Y) in zip(cycle([(GREY, "-"), *LINES]), curves, strict=False):
            rebuild.plot(Y[j], color=colour, ls=style, lw=4 if Y is C else 1.2, label=name)
        for ax in (data, rebuild):
            ax.set_ylim(0, 1.08 * max(X[j].max(), C[j].max()))
        for ax, title in ((data, "Mixtures"), (weight, "Learned weights (1 = equal)"), (rebuild, "Reconstructions")):
            _shade(ax, bad[j].astype(bool))
            _label_signal(ax, title, j, n_rows, f"mixture {j + 1}" if ax is data else "")
    handles, names = rebuild.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower right", ncols=len(names), frameon=False)
    figure.align_ylabels()
    return figure


def loss_curve(model: Any, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """The objective ``J*`` over the iterations at the final gamma.

    Parameters
    ----------
    model : fitted estimator, Factorization or array-like of shape (n_iter,)
        What has the history. Iterations that tuned gamma are counted but have no value.
    ax : Axes, optional
        Where to draw; by default on a figure of its own (``ax.figure``).
    label : str, optional
        Name in the legend.

    Returns
    -------
    Axes
        With the curve added.
    """
    if hasattr(model, "loss_curve_") or hasattr(model, "history") or hasattr(model, "model_"):
        return ObjectiveDisplay.from_estimator(model, name=label, ax=ax).ax_
    return ObjectiveDisplay.from_data(model, name=label, ax=ax).ax_


def gamma_path(path: Any, *, ax: Axes | None = None) -> Axes:
    """The scores of a path of gammas, with plain NMF as a flat line and the chosen gamma marked.

    Parameters
    ----------
    path : GammaPath, or an estimator fitted with ``gamma="auto"``
        What was tried.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes
        With the gammas on a logarithmic scale, in units of plain NMF's mean loss.
    """
    if hasattr(path, "gamma_path_") or hasattr(path, "model_"):
        return GammaPathDisplay.from_estimator(path, ax=ax).ax_
    return GammaPathDisplay.from_data(path, ax=ax).ax_


def rank_path(path: Any, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """The mean held-out loss of every number of components, with the chosen one marked.

    Bars are one standard error of the difference to the best candidate, which has none.

    Parameters
    ----------
    path : RankPath or fitted estimator with ``n_components="cv"``
        What has the scores.
    ax : Axes, optional
        Where to draw; by default on a figure of its own (``ax.figure``).
    label : str, optional
        Name in the legend.

    Returns
    -------
    Axes
        With the curve added.
    """
    return RankPathDisplay.from_estimator(path, name=label, ax=ax).ax_


def _grid_of_axes(n_rows: int, n_columns: int, *, of_pyplot: bool = True) -> tuple[Figure, Array]:
    figure = new_figure(1.9 + 0.95 * n_columns, 0.4 + 0.95 * n_rows, of_pyplot=of_pyplot)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _show_row(
    axes: Iterable[Any], images: Array, colours: str, scale: tuple[float, float], label: str = ""
) -> AxesImage:
    low, high = scale
    for number, (ax, image) in enumerate(zip(axes, images, strict=True)):
        shown: AxesImage = ax.imshow(image, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
        ax.set(xticks=[], yticks=[])
        if number == 0:
            ax.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=10)
    return shown


def _outline(ax: Axes, mask: Array) -> None:
    """A line along every edge between a pixel inside and one outside."""
    inside = np.pad(mask, 1).astype(int)
    for r, c in np.argwhere(np.diff(inside, axis=0)[:, 1:-1]):
        ax.plot([c - 0.5, c + 0.5], [r - 0.5, r - 0.5], color=VERMILION, lw=1.6, clip_on=False)
    for r, c in np.argwhere(np.diff(inside, axis=1)[1:-1]):
        ax.plot([c - 0.5, c - 0.5], [r - 0.5, r + 0.5], color=VERMILION, lw=1.6, clip_on=False)


def _shade(ax: Axes, damaged: Array) -> None:
    across = ax.get_xaxis_transform()
    ax.fill_between(
        range(damaged.size), 0, 1, where=damaged, transform=across, color=VERMILION, alpha=0.18, lw=0, label="destroyed"
    )


def _label_signal(ax: Axes, title: str, row: int, n_rows: int, name: str) -> None:
    ax.set_title(title if row == 0 else "", fontsize=11)
    ax.set_ylabel(name)
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.01)
    if row == n_rows - 1:
        ax.set_xlabel("time")
    else:
        ax.tick_params(labelbottom=False)


def _has_components(model: Any) -> bool:
    return any(hasattr(model, name) for name in ("components_", "components", "model_"))


def _table(name: str, values: ArrayLike) -> Array:
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"{name} has shape {table.shape}; give a table with one row for each.")
    return table


def _alike(shape: tuple[int, ...], tables: Iterable[tuple[str, ArrayLike]]) -> list[Array]:
    """All as arrays, if they have that shape."""
    arrays = [(name, np.asarray(table, dtype=float)) for name, table in tables]
    for name, array in arrays:
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape} where the data have {shape}; give the same rows of each.")
    return [array for _, array in arrays]


def _image_shape(n_pixels: int, image_shape: tuple[int, int] | None) -> tuple[int, int]:
    side = round(n_pixels**0.5)
    height, width = image_shape or (side, side)
    if height * width != n_pixels:
        raise ValueError(f"image_shape={image_shape!r} does not fit {n_pixels} pixels; give (height, width) that does.")
    return height, width
