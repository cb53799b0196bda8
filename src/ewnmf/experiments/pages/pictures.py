"""Figures of single runs: signals and weights (Fig. 2), cost curves (Fig. 10), bases (Fig. 11), occluded faces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf._types import Array
from ewnmf.experiments.pages.figures import LOOKS, panels
from ewnmf.experiments.pages.markup import counted
from ewnmf.plots import display
from ewnmf.plots import figures as plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Descent", "bases", "cost_curves", "occluded_faces", "signal_weights"]

STABLE = 200
RISE = 1e-12


def signal_weights(
    data: Array, sources: Array, damaged: Array, weights: Mapping[str, Array], n_shown: int = 3
) -> Figure:
    """Sources (2 x m), the first mixtures (n x m) and the weights learned for them, times m: 1 is equal weights."""
    figure = display.new_figure(9.0, 1.0 + 1.55 * n_shown, of_pyplot=False)
    grid = figure.add_gridspec(n_shown * len(sources), 2 + len(weights))
    for k, source in enumerate(sources):
        ax = figure.add_subplot(grid[k * n_shown : (k + 1) * n_shown, 0])
        ax.plot(source, color="black", lw=1)
        plots._label_signal(ax, "Sources", k, len(sources), f"source {k + 1}, amplitude")
    top = 1.1 * max(learned[:n_shown].max() for learned in weights.values()) * data.shape[1]
    for j in range(n_shown):
        for column, title in enumerate(["Mixtures", *weights], start=1):
            ax = figure.add_subplot(grid[j * len(sources) : (j + 1) * len(sources), column])
            if column == 1:
                ax.plot(data[j], color="black", lw=1)
            else:
                ax.plot(weights[title][j] * data.shape[1], color=display.BLUE, lw=1.2)
                ax.set_ylim(-0.05 * top, top)
            plots._shade(ax, damaged[j].astype(bool))
            name = f"mixture {j + 1}" if column == 1 else "weight x m" if column == 2 else ""
            plots._label_signal(ax, title if column == 1 else f"Weights,\n{title}", j, n_shown, name)
    for ax in figure.axes:
        if ax.get_xlabel():
            ax.set_xlabel("time in samples")
    figure.align_ylabels()
    return figure


@dataclass(frozen=True)
class Descent:
    """The objective after every iteration but the `first` ones, which tuned gamma, and its lower bound."""

    label: str
    history: Array
    bound: float = 0.0
    first: int = 0

    @property
    def cost(self) -> Array:
        """The objective above its bound."""
        return self.history - self.bound

    @property
    def late_fall(self) -> float:
        """The share of its cost that the run lost after the 200th iteration; NaN where it has no later ones."""
        at = STABLE - 1 - self.first
        return float(1 - self.cost[-1] / self.cost[at]) if 0 <= at < self.cost.size - 1 else np.nan

    @property
    def rises(self) -> Array:
        """Iterations (from 1) at which the objective rose by more than 1e-12 of itself."""
        return np.flatnonzero(np.diff(self.history) > RISE * np.abs(self.history[:-1])) + 2 + self.first


def cost_curves(runs: Mapping[str, Descent], n_columns: int = 3) -> Figure:
    """Cost against iterations, a panel for each method; rises are marked."""
    figure, axes = panels(ceil(len(runs) / n_columns), n_columns, 9.0, 2.9 * ceil(len(runs) / n_columns), sharex=True)
    for ax in axes.ravel()[len(runs) :]:
        ax.set_axis_off()
    for at, (ax, (name, run)) in enumerate(zip(axes.ravel(), runs.items(), strict=False)):
        _cost_panel(ax, run, LOOKS[name].colour)
        if at % n_columns == 0:
            ax.set_ylabel("cost above its bound")
        if at + n_columns >= len(runs):
            ax.set_xlabel("iteration")
            ax.tick_params(labelbottom=True)
    handles: dict[str, Any] = {}
    for ax in axes.ravel()[: len(runs)]:
        handles |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _cost_panel(ax: Axes, run: Descent, colour: str) -> None:
    iterations = np.arange(run.cost.size) + 1 + run.first
    ax.plot(iterations, run.cost, color=colour, lw=1.6)
    later = run.cost[min(4, run.cost.size - 1) :]
    margin = 0.05 * (later.max() - later.min())
    ax.set_ylim(later.min() - margin, later.max() + 4 * margin)
    ax.axvline(STABLE, color=display.GREY, lw=1, ls=":", label=f"{STABLE} iterations")
    rises = run.rises
    if rises.size:
        ax.plot(
            rises, run.cost[rises - 1 - run.first], ls="", marker="|", ms=9, color=display.VERMILION, label="cost rose"
        )
    lost = (
        "" if np.isnan(run.late_fall) else f"\n{run.late_fall:.1%} lost after {STABLE}; {counted(rises.size, 'rise')}"
    )
    ax.set_title(f"{run.label}{lost}", fontsize=10)


def bases(found: Mapping[str, tuple[str, Array]], n_columns: int = 5) -> Figure:
    """Basis images of each method (label, K x pixels), each with pixels (or their absolute values) that sum to one."""
    figure = display.new_figure(9.0, 2.2 * ceil(len(found) / 3), of_pyplot=False)
    blocks = figure.subfigures(ceil(len(found) / 3), min(3, len(found)), squeeze=False, wspace=0.03)
    for block, (title, components) in zip(blocks.ravel(), found.values(), strict=False):
        totals = np.abs(components).sum(axis=1, keepdims=True)
        images = components / np.where(totals == 0, 1, totals)
        signed = bool((images < 0).any())
        side = round(images.shape[1] ** 0.5)
        axes = block.subplots(ceil(len(images) / n_columns), n_columns, squeeze=False)
        scale = np.quantile(np.abs(images), 0.98)
        for ax in axes.ravel():
            ax.set_axis_off()
        for ax, image in zip(axes.ravel(), images, strict=False):
            ax.imshow(
                image.reshape(side, side),
                cmap="PuOr" if signed else "gray",
                vmin=-scale if signed else 0,
                vmax=scale,
                interpolation="none",
            )
        block.suptitle(title, fontsize=10)
    return figure


def occluded_faces(images: Array, weights: Mapping[str, Array], damaged: Array) -> Figure:
    """Occluded faces (n x pixels) above the weights that were learned for them, times pixels: 1 is equal weights."""
    n, pixels = images.shape
    side = round(pixels**0.5)
    figure, axes = plots._grid_of_axes(1 + len(weights), n, of_pyplot=False)
    plots._show_row(axes[0], images.reshape(n, side, side), "gray", (0.0, 1.0), "occluded")
    relative = {label: learned * pixels for label, learned in weights.items()}
    top = max(float(np.quantile(learned, 0.999)) for learned in relative.values())
    for line, (label, learned) in zip(axes[1:], relative.items(), strict=True):
        shown = plots._show_row(line, learned.reshape(n, side, side), "cividis", (0.0, top), label)
    for line in axes:
        for ax, mask in zip(line, damaged.reshape(n, side, side), strict=True):
            plots._outline(ax, mask)
    label = "weight (1 = equal)" if len(weights) > 1 else "weight"
    figure.colorbar(shown, ax=axes[1:], label=label, aspect=8 * len(weights), extend="max")
    return figure
