"""Accuracy against gamma on each data set, with NMF and the choices of the rules."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages.choice import Comparison, Study, chosen_gammas
from ewnmf.experiments.pages.figures import LOOKS, _band, _flat, _legend, panels
from ewnmf.experiments.pages.statistics import Experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["accuracy_against_gamma"]

COLUMNS = 3
BEYOND = 10**0.6
"""Where an infinite gamma is drawn: so much beyond the largest of the grid."""


def accuracy_against_gamma(found: Study, view: str) -> Figure:
    """A panel for each data set: EWNMF at each gamma, NMF flat, a rule as a mean and a mark for each run."""
    compared = found.compared[view]
    lines = ceil(len(compared) / COLUMNS)
    figure, axes = panels(lines, COLUMNS, 9.0, 0.6 + 2.3 * lines)
    for ax in axes.ravel()[len(compared) :]:
        ax.set_axis_off()
    for at, (ax, (name, each)) in enumerate(zip(axes.ravel(), compared.items(), strict=False)):
        _panel(ax, found.experiments[name], each, view)
        if at % COLUMNS == 0:
            ax.set_ylabel("ACC in %")
        if at + COLUMNS >= len(compared):
            ax.set_xlabel(r"$\gamma$")
    _legend(figure, axes.ravel(), columns=4)
    return figure


def _panel(ax: Axes, runs: Experiment, each: Comparison, view: str) -> None:
    ax.set_xscale("log")
    _flat(ax, each.nmf.values("ACC"), "nmf", "-")
    for rule, result in each.rules.items():
        _flat(ax, result.values("ACC"), f"ewnmf-{rule}", LOOKS[f"ewnmf-{rule}"].dash)
    scores = {gamma: runs.scores("ewnmf", gamma, view) for gamma in each.gammas}
    values = [[scores[gamma][run][0] for run in each.nmf.scores] for gamma in each.gammas]
    _band(ax, each.gammas, values, "ewnmf-one", "EWNMF at each gamma")
    infinite = max(each.gammas) * BEYOND
    for rule, result in each.rules.items():
        chosen, look = np.array(chosen_gammas(runs, each, rule)), LOOKS[f"ewnmf-{rule}"]
        ax.plot(
            np.where(np.isinf(chosen), infinite, chosen),
            [100 * acc for acc in result.values("ACC")],
            look.marker,
            color=look.colour,
            alpha=0.6,
            ms=5,
            mew=0.0,
            label=f'gamma="{rule}", each run',
        )
    powers = [power for power in range(-8, 9) if min(each.gammas) <= 10.0**power <= max(each.gammas)]
    ax.set_xticks(
        [*(10.0**power for power in powers), infinite], [*(f"$10^{{{power}}}$" for power in powers), r"$\infty$"]
    )
    ax.minorticks_off()
    ax.set_title(each.case.title, fontsize=10)
