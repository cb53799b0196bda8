"""The occlusion experiment in numbers: accuracy against the share of occluded images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ewnmf.experiments.pages.markup import Table
from ewnmf.experiments.pages.statistics import MAIN, Experiment, Gap, experiment, gap_of, spread
from ewnmf.experiments.pages.tables import percent
from ewnmf.experiments.protocol.spec import RULES

if TYPE_CHECKING:
    from ewnmf.experiments.protocol.spec import Row

__all__ = ["by_share", "curves_by_view", "curves_of", "gap_table", "gaps_by_share", "reading"]

Curves = Mapping[str, Mapping[float, Sequence[float]]]


def curves_by_view(rows: Sequence[Row]) -> dict[str, dict[str, dict[float, list[float]]]]:
    """The curves on Yale for the main view and for unit codes; none where there is nothing to compare."""
    shares = sorted({row.spec.occluded for row in rows if row.spec.dataset == "yale"})
    found = {share: experiment(rows, "yale", draws=False, occluded=share) for share in shares}
    curves = {view: curves_of(found, view) for view in (MAIN, "unit_10")}
    short = any(len(curve) < 2 or len(curve["NMF"]) < 2 for curve in curves.values())
    return {} if short else curves


def curves_of(found: Mapping[float, Experiment], view: str) -> dict[str, dict[float, list[float]]]:
    """Label -> share of occluded images -> ACC of the runs that all labels have; EWNMF at the gammas of all shares."""
    labels: dict[str, tuple[str, float | str]] = {"NMF": ("nmf", 0)}
    gammas = set.intersection(*(set(runs.rows.get("ewnmf", {})) for runs in found.values())) if found else set()
    labels |= {f"EWNMF, gamma = {gamma:g}": ("ewnmf", gamma) for gamma in sorted(gammas - RULES.keys(), key=float)}
    labels |= {f'EWNMF, gamma="{rule}"': ("ewnmf", rule) for rule in RULES if rule in gammas}
    curves: dict[str, dict[float, list[float]]] = {label: {} for label in labels}
    for share, runs in found.items():
        scores = {label: runs.scores(method, attempt, view) for label, (method, attempt) in labels.items()}
        shared = sorted(set.intersection(*map(set, scores.values())))
        for label, curve in curves.items() if shared else ():
            curve[share] = [scores[label][run][0] for run in shared]
    return {label: curve for label, curve in curves.items() if curve}


def by_share(curves: Curves, title: str) -> Table:
    """ACC in percent for each share of occluded images."""
    shares = sorted(next(iter(curves.values())))
    lines = [[label, *(percent(spread(curve[share])) for share in shares)] for label, curve in curves.items()]
    runs = ["runs", *(str(len(next(iter(curves.values()))[share])) for share in shares)]
    return Table([f"ACC in %, {title}", *(f"{100 * share:g} %" for share in shares)], [*lines, runs])


def gaps_by_share(curves: Curves) -> dict[str, dict[float, Gap]]:
    """Label -> share of occluded images -> EWNMF's ACC minus NMF's over the same runs."""
    return {
        label: {share: gap_of(np.subtract(values, curves["NMF"][share])) for share, values in curve.items()}
        for label, curve in curves.items()
        if label != "NMF"
    }


def gap_table(gaps: Mapping[str, Mapping[float, Gap]], title: str) -> Table:
    """Differences in points for each share of occluded images, with their intervals."""
    shares = sorted(next(iter(gaps.values())))
    lines = [[label, *(_interval(gap[share]) for share in shares)] for label, gap in gaps.items()]
    return Table([f"points over NMF, {title}", *(f"{100 * share:g} %" for share in shares)], lines)


def reading(gaps: Mapping[str, Mapping[float, Gap]], title: str) -> str:
    """How often EWNMF is clearly ahead and behind where images are occluded."""
    clear = [gap.clear for by_share in gaps.values() for share, gap in by_share.items() if share > 0]
    return (
        f"With k-means on {title}, EWNMF is clearly ahead of NMF (interval above 0) at {clear.count(1)} of "
        f"{len(clear)} pairs of gamma and share above 0, and clearly behind at {clear.count(-1)}."
    )


def _interval(gap: Gap) -> str:
    if gap.count < 2:
        return f"{100 * gap.mean:+.1f}"
    return f"{100 * gap.mean:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"
