"""Where our figures and Tables 2 and 3 are more than two points apart, and what the rows say about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ewnmf.experiments.pages.markup import counted
from ewnmf.experiments.pages.statistics import MAIN, MEASURES, PROTOCOLS, VIEWS, Experiment, Result, gap_of
from ewnmf.experiments.pages.tables import printed
from ewnmf.experiments.protocol.paper import DATASETS, PRINTED
from ewnmf.experiments.protocol.spec import RULES

__all__ = ["POINTS", "explanations", "off"]

POINTS = 2.0

ByView = Mapping[str, Mapping[str, Result]]
Explained = Callable[[str, ByView, Experiment], str]


def off(table: str, result: Result, measure: str) -> float:
    """Ours minus the paper's, in points of percent; NaN where the paper prints nothing."""
    theirs = printed(table, result.protocol, measure)
    return np.nan if theirs is None else 100 * float(np.mean(result.values(measure))) - theirs


def explanations(table: str, views: ByView, found: Experiment) -> list[str]:
    """A sentence or more for every method of the table, by the protocol nearest to the paper's."""
    if not views[MAIN]:
        return []
    dataset = DATASETS[PRINTED[table].dataset]
    texts = []
    for name, explain in _EXPLAIN.items():
        if name in views[MAIN]:
            gaps = _gaps(table, views[MAIN][name])
            head = f"{dataset}, {PROTOCOLS[name].label} ({_points(gaps)})"
            if max(map(abs, gaps)) <= POINTS:
                texts.append(f"{head}: within {POINTS:g} points.")
            else:
                chance = _within_chance(table, views[MAIN][name])
                texts.append(f"{head}: {explain(table, views, found)}{chance}")
    return texts


def _within_chance(table: str, result: Result) -> str:
    """Which of the paper's values lie in the 95 % interval of our mean, as a sentence."""
    inside = []
    for measure in MEASURES:
        theirs = printed(table, result.protocol, measure) or 0.0
        gap = gap_of([100 * value - theirs for value in result.values(measure)])
        inside += [measure] if gap.low <= 0 <= gap.high else []
    if not inside:
        return ""
    verb = "lies" if len(inside) == 1 else "lie"
    return f" The paper's {' and '.join(inside)} {verb} in the 95 % interval of our mean."


def _gaps(table: str, result: Result) -> tuple[float, ...]:
    return tuple(off(table, result, measure) for measure in MEASURES)


def _points(gaps: tuple[float, ...]) -> str:
    return ", ".join(f"{measure} {gap:+.1f}" for measure, gap in zip(MEASURES, gaps, strict=True))


def _other_views(table: str, views: ByView, name: str) -> str:
    texts = [f"{VIEWS[view]} {_points(_gaps(table, found[name]))}" for view, found in views.items() if view != MAIN]
    return f"In the other views: {'; '.join(texts)}."


def _nmf(table: str, views: ByView, found: Experiment) -> str:
    fits = [
        VIEWS[view]
        for view, results in views.items()
        if "nmf" in results and max(map(abs, _gaps(table, results["nmf"]))) <= POINTS
    ]
    cause = (
        f"the paper does not say how k-means was started; {' and '.join(fits)} lie within {POINTS:g} points."
        if fits
        else f"no view lies within {POINTS:g} points, so something differs that the paper does not tell."
    )
    return f"{cause} {_other_views(table, views, 'nmf')}"


def _onmf(name: str) -> Explained:
    other = "onmf-components" if name == "onmf-codes" else "onmf-codes"

    def explain(table: str, views: ByView, found: Experiment) -> str:
        words = "the paper does not say which factor was orthogonal, nor its multiplier's form."
        if other in views[MAIN]:
            gaps = _gaps(table, views[MAIN][other])
            words += f" {PROTOCOLS[other].label} differs by {_points(gaps)}."
            local = {each: _mean_sparseness(found, each) for each in (name, other)}
            more = max(local, key=local.__getitem__)
            words += (
                f" The paper calls ONMF's bases local, which speaks for {PROTOCOLS[more].label} (sparseness "
                f"{local[more]:.2f} against {min(local.values()):.2f})."
            )
        return f"{words} {_other_views(table, views, name)}"

    return explain


def _mean_sparseness(found: Experiment, method: str) -> float:
    return float(np.mean([row.figures["sparseness"] for row in found.rows[method][0].values()]))


def _semi(table: str, views: ByView, found: Experiment) -> str:
    return (
        "Semi-NMF's published start is a k-means clustering; the paper starts all methods at random, as we do, and "
        f"does not say how far its own follows that. {_other_views(table, views, 'semi-nmf')}"
    )


def _convex(table: str, views: ByView, found: Experiment) -> str:
    local = _mean_sparseness(found, "convex-nmf")
    return (
        "Convex-NMF's published start is a k-means clustering; from a uniform random start all its components begin "
        "near the mean image and part slowly, so that the figures after a fixed number of iterations hang on the scale "
        f"of the start, which the paper does not tell. Sparseness of the bases here: {local:.2f}. "
        f"{_other_views(table, views, 'convex-nmf')}"
    )


def _ewnmf(table: str, views: ByView, found: Experiment) -> str:
    results, n = views[MAIN], len(found.gammas)
    sides = [
        f"{'above' if gap > POINTS else 'below' if gap < -POINTS else 'near'} the paper by {measure}"
        for measure, gap in zip(MEASURES, _gaps(table, results["ewnmf-best"]), strict=True)
    ]
    words = f"the best of {counted(n, 'gamma')} for every run, by label, is {' and '.join(sides)}."
    scores = found.complete("ewnmf", MAIN)
    most = 100 * float(np.mean([max(nmi for _, nmi in scores[run].values()) for run in results["ewnmf-best"].scores]))
    theirs = printed(table, "ewnmf-best", "NMI")
    words += f" Picked by NMI itself instead of ACC, NMI is {most:.1f} ({most - (theirs or 0.0):+.1f})."
    for name in ("ewnmf-one", *(f"ewnmf-{rule}" for rule in RULES)):
        if name in results:
            words += f" {PROTOCOLS[name].label}: {_points(_gaps(table, results[name]))}."
    if "nmf-best" in results:
        tries = [100 * float(np.mean(results["nmf-best"].values(measure))) for measure in MEASURES]
        words += f" NMF given as many tries reaches {tries[0]:.1f} and {tries[1]:.1f}."
    return f"{words} {_other_views(table, views, 'ewnmf-best')}"


_EXPLAIN: dict[str, Explained] = {
    "nmf": _nmf,
    "onmf-codes": _onmf("onmf-codes"),
    "onmf-components": _onmf("onmf-components"),
    "semi-nmf": _semi,
    "convex-nmf": _convex,
    "ewnmf-best": _ewnmf,
}
