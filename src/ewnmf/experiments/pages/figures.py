"""Figures of clustering results: against gamma (Figs. 3, 4), clusters (Figs. 5 to 9) and occlusion.

Colour tells the method and the dash tells the protocol; bands are the mean and its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ewnmf.experiments.pages.statistics import MEASURES, PROTOCOLS, VIEWS, Experiment, Result, results, spread
from ewnmf.experiments.protocol.paper import GAMMAS, PRINTED
from ewnmf.experiments.protocol.spec import RULES
from ewnmf.plots import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LOOKS", "against_clusters", "against_gamma", "against_occlusion", "panels"]


@dataclass(frozen=True)
class Look:
    """How a line is drawn."""

    colour: str
    marker: str
    dash: str = "-"
    filled: bool = True


BLACK, ORANGE, SKY, BROWN = "#000000", "#E69F00", "#56B4E9", "#8B5A2B"
LOOKS: dict[str, Look] = {
    "nmf": Look(BLACK, "o"),
    "nmf-best": Look(BLACK, "o", "--", filled=False),
    "onmf-codes": Look(display.GREEN, "^"),
    "onmf-components": Look(SKY, "v"),
    "semi-nmf": Look(ORANGE, "s"),
    "convex-nmf": Look(display.PURPLE, "D"),
    "ewnmf-best": Look(display.VERMILION, "P", "--", filled=False),
    "ewnmf-one": Look(display.VERMILION, "P"),
    "ewnmf-auto": Look(display.BLUE, "X", "-."),
    "ewnmf-groups": Look(BROWN, "*", ":"),
}
LOOKS["ewnmf"] = LOOKS["ewnmf-one"]
AS_PRINTED = ("nmf", "onmf-codes", "onmf-components", "semi-nmf", "convex-nmf", "ewnmf-best")
FAIR = ("nmf", "nmf-best", "ewnmf-best", "ewnmf-one", "ewnmf-auto", "ewnmf-groups")


def panels(n_rows: int, n_columns: int, width: float, height: float, **sharing: Any) -> tuple[Figure, Any]:
    """A figure with a grid of axes without frames."""
    figure = display.new_figure(width, height, of_pyplot=False)
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **sharing)
    for ax in axes.ravel():
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(visible=True, color="#E8E8E8", lw=0.8)
        ax.set_axisbelow(True)
    return figure, axes


def against_gamma(found: Experiment, table: str) -> Figure:
    """ACC and NMI against gamma, a line of panels per view; NMF is flat, rules are marked at their choices."""
    figure, axes = panels(len(VIEWS), 2, 9.0, 8.6, sharex=True)
    for line, (view, title) in zip(axes, VIEWS.items(), strict=True):
        for ax, measure in zip(line, MEASURES, strict=True):
            _gamma_panel(ax, found, view, measure)
            _printed_values(ax, table, measure)
            ax.set_ylabel(f"{measure} in %")
            ax.set_title(f"{measure}, k-means on {title}", fontsize=10)
    return with_gammas(figure, axes)


def with_gammas(figure: Figure, axes: Any) -> Figure:
    """The figure with gammas named below its last line of panels, and one legend."""
    for ax in axes[-1]:
        ax.set_xlabel(r"$\gamma$ (no unit: pixels are scaled to [0, 1])")
        shown = [gamma for gamma in GAMMAS if round(np.log10(gamma)) % 2 == 0]
        ax.set_xticks(shown, [_power(gamma) for gamma in shown])
        ax.minorticks_off()
    _legend(figure, axes.ravel(), columns=3)
    return figure


def _gamma_panel(ax: Axes, found: Experiment, view: str, measure: str) -> None:
    at = MEASURES.index(measure)
    ax.set_xscale("log")
    protocols = results(found, view)
    for name, look in (("nmf", "-"), ("nmf-best", "--"), ("ewnmf-best", "--")):
        if name in protocols:
            _flat(ax, protocols[name].values(measure), name, look)
    values = {gamma: [score[at] for score in found.scores("ewnmf", gamma, view).values()] for gamma in found.gammas}
    _band(ax, list(values), list(values.values()), "ewnmf-one", "EWNMF at each gamma")
    for rule in RULES:
        _choices(ax, found, rule, view, at)


def _choices(ax: Axes, found: Experiment, rule: str, view: str, at: int) -> None:
    """What a rule chose in each run and how well that did, by the measure `at` this place; their middle."""
    chosen, scores = found.rows.get("ewnmf", {}).get(rule, {}), found.scores("ewnmf", rule, view)
    if not scores:
        return
    look, label = LOOKS[f"ewnmf-{rule}"], f'EWNMF, gamma="{rule}"'
    gammas = [min(chosen[run].figures["gamma"], GAMMAS[-1]) for run in scores]
    runs = [100 * score[at] for score in scores.values()]
    ax.plot(gammas, runs, ".", color=look.colour, alpha=0.5, ms=5, label=f"{label}, each run")
    middle = np.median(gammas), np.mean(runs)
    ax.plot(*middle, look.marker, color=look.colour, ms=10, mec="white", label=f"{label}, mean")


def _flat(ax: Axes, values: Sequence[float], name: str, dash: str) -> None:
    """A mean that does not depend on gamma."""
    ours, colour = spread(values), LOOKS[name].colour
    ax.axhline(100 * ours.mean, color=colour, ls=dash, lw=1.4, label=PROTOCOLS[name].label)
    if dash == "-":
        ax.axhspan(100 * (ours.mean - ours.error), 100 * (ours.mean + ours.error), color=colour, alpha=0.12, lw=0)


def _printed_values(ax: Axes, table: str, measure: str) -> None:
    """The paper's figures as marks on the right edge."""
    for method, look in (("nmf", "nmf"), ("ewnmf", "ewnmf-one")):
        value = PRINTED[table].values[method][MEASURES.index(measure)]
        ax.plot(
            1.0,
            value,
            marker="<",
            ms=8,
            color=LOOKS[look].colour,
            mec="white",
            ls="",
            clip_on=False,
            transform=ax.get_yaxis_transform(),
            label=f"{method.upper()}, paper",
        )


def against_clusters(found: Mapping[str, Result]) -> Figure:
    """ACC and NMI against the number of clusters: the paper's comparison above, the protocols below."""
    figure, axes = panels(2, 2, 9.0, 8.0, sharex=True, sharey="col")
    for line, names, title in zip(axes, (AS_PRINTED, FAIR), ("methods", "protocols"), strict=True):
        shown = [name for name in names if name in found]
        for ax, measure in zip(line, MEASURES, strict=True):
            for name in shown:
                result = found[name]
                values = [result.values(measure, k) for k in result.clusters]
                _band(ax, result.clusters, values, name, PROTOCOLS[name].label)
            ax.set_ylabel(f"{measure} in %")
            ax.set_title(f"{measure}, {title}", fontsize=10)
    clusters = next(iter(found.values())).clusters
    for ax in axes[-1]:
        ax.set_xlabel("number of clusters")
        ax.set_xticks(clusters)
    _legend(figure, axes.ravel(), columns=3)
    return figure


def against_occlusion(views: Mapping[str, Mapping[str, Mapping[float, Sequence[float]]]]) -> Figure:
    """Accuracy against the share of occluded images: a panel for each view, a line for each method."""
    figure, axes = panels(1, len(views), 9.0, 4.2, sharey=True)
    for ax, (view, curves) in zip(axes[0], views.items(), strict=True):
        others = iter(("semi-nmf", "ewnmf-one", "convex-nmf", "onmf-codes", "onmf-components"))
        known = {"NMF": "nmf"} | {f'EWNMF, gamma="{rule}"': f"ewnmf-{rule}" for rule in RULES}
        for label, curve in curves.items():
            name = known.get(label) or next(others)
            _band(ax, [100 * share for share in sorted(curve)], [curve[share] for share in sorted(curve)], name, label)
        ax.set(xlabel="occluded images in %", title=f"k-means on {VIEWS[view]}")
        ax.title.set_fontsize(10)
    axes[0, 0].set_ylabel("ACC in %")
    _legend(figure, axes.ravel(), columns=3)
    return figure


def _band(ax: Axes, places: Sequence[float], values: Sequence[Sequence[float]], name: str, label: str) -> None:
    """Means of the values at each place, and a band of one standard error."""
    look = LOOKS[name]
    means = np.array([100 * spread(each).mean for each in values])
    errors = np.array([100 * spread(each).error for each in values])
    ax.plot(
        places,
        means,
        color=look.colour,
        marker=look.marker,
        ls=look.dash,
        lw=1.5,
        ms=8 if look.marker in "PX*" else 6,
        label=label,
        mfc=look.colour if look.filled else "white",
        mec=look.colour if not look.filled else "white",
        mew=0.8 if look.filled else 1.2,
    )
    ax.fill_between(places, means - errors, means + errors, color=look.colour, alpha=0.13, lw=0)


def _legend(figure: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One legend for all panels, below them."""
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )


def _power(gamma: float) -> str:
    return rf"$10^{{{round(np.log10(gamma))}}}$"
