"""Figures that show a claim on all its data sets at once: against gamma, method by method, against clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages.figures import (
    AS_PRINTED,
    LOOKS,
    _gamma_panel,
    _legend,
    _printed_values,
    panels,
    with_gammas,
)
from ewnmf.experiments.pages.statistics import MAIN, MEASURES, PROTOCOLS, Experiment, Result, spread
from ewnmf.experiments.pages.tables import printed
from ewnmf.experiments.protocol.paper import DATASETS, PRINTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["all_clusters", "all_gammas", "all_methods"]

Scores = Mapping[str, Mapping[str, Result]]
"""Data set -> protocol -> result."""


def all_gammas(found: Mapping[str, Experiment]) -> Figure:
    """ACC (left) and NMI (right) against gamma, a line of panels for each table's data set."""
    figure, axes = panels(len(found), 2, 9.0, 0.9 + 2.7 * len(found), sharex=True)
    for line, (table, runs) in zip(axes, found.items(), strict=True):
        for ax, measure in zip(line, MEASURES, strict=True):
            _gamma_panel(ax, runs, MAIN, measure)
            _printed_values(ax, table, measure)
            ax.set_ylabel(f"{measure} in %")
            ax.set_title(f"{DATASETS[runs.dataset]}, {measure}", fontsize=10)
    return with_gammas(figure, axes)


def all_methods(found: Scores) -> Figure:
    """Mean and standard deviation of every method beside the paper's figure, a line of panels for each table."""
    names = list(next(iter(found.values())))
    figure, axes = panels(len(found), 2, 9.0, 0.7 + 2.7 * len(found), sharey=True)
    for line, (table, results) in zip(axes, found.items(), strict=True):
        for ax, measure in zip(line, MEASURES, strict=True):
            for at, name in enumerate(names):
                if name in results:
                    _method(ax, at, results[name], table, measure)
            ax.set_title(f"{DATASETS[PRINTED[table].dataset]}, {measure} in %", fontsize=10)
            ax.set_yticks(range(len(names)), [PROTOCOLS[name].label for name in names])
    axes[0, 0].invert_yaxis()
    _legend(figure, axes.ravel(), columns=2)
    return figure


def _method(ax: Axes, at: int, result: Result, table: str, measure: str) -> None:
    ours, theirs = spread(result.values(measure)), printed(table, result.protocol, measure)
    deviation = 0.0 if np.isnan(ours.deviation) else 100 * ours.deviation
    look = LOOKS[result.protocol]
    ax.errorbar(100 * ours.mean, at, xerr=deviation, fmt=look.marker, color=look.colour, ms=8, capsize=3, lw=1.4)
    if theirs is not None:
        ax.plot(theirs, at, "d", mfc="white", mec="#555555", ms=7, label="the paper's figure")
    ax.plot([], [], "o-", color="#555555", ms=6, label="ours: mean and standard deviation over the runs")


def all_clusters(found: Scores) -> Figure:
    """ACC (above) and NMI (below) against the number of clusters, a column for each data set."""
    figure, axes = panels(2, len(found), 9.0, 5.2, sharex=True)
    for column, (dataset, results) in zip(axes.T, found.items(), strict=True):
        for ax, measure in zip(column, MEASURES, strict=True):
            for name in (name for name in AS_PRINTED if name in results):
                result, look = results[name], LOOKS[name]
                means = [100 * float(np.mean(result.values(measure, k))) for k in result.clusters]
                ours = name.startswith("ewnmf")
                ax.plot(
                    result.clusters,
                    means,
                    color=look.colour,
                    marker=look.marker,
                    ms=6 if ours else 3.5,
                    lw=2.0 if ours else 1.1,
                    zorder=3 if ours else 2,
                    label=PROTOCOLS[name].label,
                )
        column[0].set_title(DATASETS[dataset], fontsize=10)
        column[-1].set_xticks([2, 4, 6, 8, 10])
        column[-1].set_xlabel("clusters")
    for ax, measure in zip(axes[:, 0], MEASURES, strict=True):
        ax.set_ylabel(f"{measure} in %")
    _legend(figure, axes.ravel(), columns=3)
    return figure
