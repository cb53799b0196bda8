"""What each table and figure needs: targets, and the specs of their runs.

A short run is a part of the long one: ``quick`` and `Limits` leave out seeds, draws, cluster numbers and gammas, and
never change a run. Specs stand in an order that makes a run cut short most useful: seed by seed and draw by draw, and
within these the plain methods, gamma without labels, the gammas from the middle outwards, NMF's further tries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from ewnmf.experiments.protocol.cases import CASES, nth_draw
from ewnmf.experiments.protocol.spec import METHODS, RULES, STATISTICS, Spec
from ewnmf.naming import unknown_name

__all__ = ["ALL", "GAMMAS", "KINDS", "TARGETS", "Limits", "Target", "planned"]

ALL = "all"
GAMMAS = tuple(10.0**power for power in (-2, -1, 0, -3, 8, -8, -4, 1, 4, -6, 2, -5, 6, 3, -7, 5, 7))
"""The paper's 17 gammas, the most telling ones first."""
FACES_GAMMA = 0.02
"""EWNMF's gamma where one is to be shown on Yale (Figs. 10, 11)."""
SIGNALS_GAMMA = 0.1
CARTOONS_GAMMA, CARTOONS_PARTS = 0.1, 12
OCCLUSION_GAMMAS = (FACES_GAMMA, 0.05, 0.1, 0.01)
OCCLUDED_SHARES = (0.0, 0.3, 0.5, 0.1, 0.2, 0.4)
PLAIN = tuple(method for method in METHODS if method != "ewnmf")
CLASSES = {"yale": 15, "umist": 20, "gtfd": 50, "caltech101": 102, "tdt2": 30}
"""Labels of the whole data set; Caltech101's background folder is one of them."""
KINDS = (*METHODS, *RULES)
"""What runs can be named by: ``"ewnmf"`` is that at given gammas, a rule that with gamma chosen by it."""
PAPER_SEEDS = PAPER_DRAWS = 10
PAPER_CLUSTERS = tuple(range(2, 11))


@dataclass(frozen=True)
class Limits:
    """How much of the protocol: the first so many seeds, draws and gammas (None: all), the largest number of clusters.

    More than the paper's 10 seeds or draws may be asked for. Runs on the data sets `without` are left out, those whose
    gamma is chosen where `without_rules`, and where there are `methods`, all other ones.
    """

    seeds: int | None = None
    draws: int | None = None
    clusters: int | None = None
    tries: int | None = None
    without: tuple[str, ...] = ()
    without_rules: bool = False
    methods: tuple[str, ...] = ()
    """Some of `KINDS`; none means all."""

    def gammas(self) -> tuple[float, ...]:
        """The gammas to try; NMF has as many tries."""
        return GAMMAS[: self.tries]

    def allow(self, spec: Spec) -> bool:
        """Whether a run is not left out for its data set, method or gamma."""
        if spec.dataset in self.without or (self.without_rules and spec.chooses):
            return False
        return not self.methods or (spec.gamma if spec.chooses else spec.method) in self.methods


QUICK = Limits(seeds=2, draws=2, tries=5)
QUICK_CLUSTERS = (2, 5, 10)
QUICK_SHARES, QUICK_OCCLUSION_GAMMAS = 3, 2
QUICK_TDT2, QUICK_TDT2_TRIES = ((2, 3), (2, 2), (3, 1)), 3
"""(clusters, draw): small ones among TDT2's first draws, whose sizes differ by a factor of 20."""


@dataclass(frozen=True)
class Target:
    """A table or figure: what it shows, and the runs it is made of."""

    name: str
    description: str
    _specs: Callable[[bool, Limits], Iterator[Spec]]

    def specs(self, quick: bool = False, limits: Limits | None = None) -> list[Spec]:
        """The runs, in the order in which they are best made; `limits` go before those of `quick`."""
        given = limits or Limits()
        if quick:
            few = {name: getattr(given, name) or getattr(QUICK, name) for name in ("seeds", "draws", "tries")}
            given = replace(given, **few)
        return list(_specs(self, quick, given))


@cache
def _specs(target: Target, quick: bool, limits: Limits) -> tuple[Spec, ...]:
    """Made once: a target can have thousands."""
    return tuple(replace(spec, keep=_kept(spec)) for spec in target._specs(quick, limits) if limits.allow(spec))


def planned(names: Iterable[str], quick: bool = False, limits: Limits | None = None) -> list[Spec]:
    """The runs of several targets, each one once: cheap data sets before dear ones, TDT2 last."""
    wanted = resolve(names)
    return list(dict.fromkeys(spec for name in wanted for spec in TARGETS[name].specs(quick, limits)))


def resolve(names: Iterable[str]) -> list[str]:
    """The targets of these names in the order of `TARGETS`; ``"all"`` means all of them."""
    given = list(names)
    for name in given:
        if name not in (*TARGETS, ALL):
            raise unknown_name("target", name, (*TARGETS, ALL))
    return [name for name in TARGETS if name in given or ALL in given]


def _kept(spec: Spec) -> tuple[str, ...]:
    """Arrays to keep: a function of the run, not of the target, so that targets share runs."""
    if spec.dataset == "signals":
        arrays = ("history", "components", "codes", "data", "clean", "damaged", "sources")
        return (*arrays, "weights") if spec.method == "ewnmf" else arrays
    if spec.dataset == "cartoons":
        return ("components", "codes", "data", "clean", "damaged", *(("weights",) if spec.method == "ewnmf" else ()))
    shown = spec.dataset == "yale" and spec.draw is None and spec.seed == spec.attempt == 0
    if not shown or spec.method == STATISTICS:
        return ()
    if spec.gamma not in (FACES_GAMMA, *RULES):
        return ("history", "components")
    damage = ("damaged", "clean") if spec.occluded else ()
    return ("history", "components", "data", "weights", *damage)


def _protocol(spec: Spec, gammas: Sequence[float]) -> Iterator[Spec]:
    """All methods from one start: the plain ones, EWNMF without labels, at every gamma, NMF with as many tries."""
    for method in PLAIN:
        yield replace(spec, method=method)
    yield from _weighted(spec, (*RULES, *gammas))
    for attempt in range(1, len(gammas)):
        yield replace(spec, attempt=attempt)


def _weighted(spec: Spec, gammas: Sequence[float | str]) -> Iterator[Spec]:
    return (replace(spec, method="ewnmf", gamma=gamma) for gamma in gammas)


def _statistics(quick: bool, limits: Limits) -> Iterator[Spec]:
    for dataset, k in CLASSES.items():
        yield Spec(dataset, STATISTICS, k, 0)


def _diagram(quick: bool, limits: Limits) -> Iterator[Spec]:
    """NMF and EWNMF on cartoon faces, the first of which wears a hat."""
    spec = Spec("cartoons", "nmf", CARTOONS_PARTS, 0)
    yield spec
    yield from _weighted(spec, (CARTOONS_GAMMA,))


def _signals(quick: bool, limits: Limits) -> Iterator[Spec]:
    for seed in range(limits.seeds or PAPER_SEEDS):
        spec = Spec("signals", "nmf", 2, seed)
        yield from _weighted(spec, (SIGNALS_GAMMA, *RULES))
        yield spec


def _whole(dataset: str, *, others: bool) -> Callable[[bool, Limits], Iterator[Spec]]:
    """A table of all methods (`others`), or a figure of EWNMF and NMF alone, on all points of a data set."""

    def specs(quick: bool, limits: Limits) -> Iterator[Spec]:
        for seed in range(limits.seeds or PAPER_SEEDS):
            for spec in _protocol(Spec(dataset, "nmf", CLASSES[dataset], seed), limits.gammas()):
                if others or (spec.method in ("nmf", "ewnmf") and spec.attempt == 0):
                    yield spec

    return specs


def _subsets(dataset: str) -> Callable[[bool, Limits], Iterator[Spec]]:
    """All methods on random categories, 2 to 10 of them; of texts small draws first."""

    def specs(quick: bool, limits: Limits) -> Iterator[Spec]:
        most = limits.clusters or PAPER_CLUSTERS[-1]
        numbers = [k for k in (QUICK_CLUSTERS if quick else PAPER_CLUSTERS) if k <= most]
        for at, k in product(range(limits.draws or PAPER_DRAWS), numbers):
            draw = nth_draw(dataset, k, at)
            yield from _protocol(Spec(dataset, "nmf", k, draw, draw=draw), limits.gammas())

    return specs


def _texts(quick: bool, limits: Limits) -> Iterator[Spec]:
    """As `_subsets`, with TDT2's own short run."""
    if not quick:
        yield from _subsets("tdt2")(quick, limits)
        return
    for k, draw in QUICK_TDT2:
        yield from _protocol(Spec("tdt2", "nmf", k, draw, draw=draw), limits.gammas()[:QUICK_TDT2_TRIES])


def _shown(quick: bool, limits: Limits) -> Iterator[Spec]:
    """One run of every method on Yale."""
    spec = Spec("yale", "nmf", CLASSES["yale"], 0)
    for method in PLAIN:
        yield replace(spec, method=method)
    yield from _weighted(spec, (FACES_GAMMA, *RULES))


def _occlusion(quick: bool, limits: Limits) -> Iterator[Spec]:
    shares = OCCLUDED_SHARES[: QUICK_SHARES if quick else None]
    gammas = OCCLUSION_GAMMAS[: QUICK_OCCLUSION_GAMMAS if quick else None]
    for seed in range(limits.seeds or PAPER_SEEDS):
        for share in shares:
            spec = Spec("yale", "nmf", CLASSES["yale"], seed, occluded=share)
            yield spec
            yield from _weighted(spec, (*RULES, *gammas))


def _choice(quick: bool, limits: Limits) -> Iterator[Spec]:
    """NMF, EWNMF without labels and at a grid of gammas: all data sets of a seed, then the next seed."""
    cases = [case for case in CASES if case.quick or not quick]
    for at in range(limits.seeds or max(case.seeds for case in cases)):
        for case in cases:
            if at < (limits.seeds or case.seeds):
                yield from case.runs(case.seed(at), limits.tries)


_ALL_TARGETS = (
    Target("table1", "the data sets: points, attributes, classes", _statistics),
    Target("fig1", "the method in one picture, on made faces: a hat, its weights, the features", _diagram),
    Target("fig2", "mixed signals, one of them destroyed, and the learned weights", _signals),
    Target("fig10", "the objective of every method on Yale, iteration by iteration", _shown),
    Target("fig11", "the basis images of every method on Yale", _shown),
    Target("table2", "Yale: ACC and NMI of all methods, all ways to choose gamma", _whole("yale", others=True)),
    Target("fig3", "Yale: ACC and NMI against gamma", _whole("yale", others=False)),
    Target("occlusion", "Yale with occluded images: ACC against their share (not in the paper)", _occlusion),
    Target("fig5", "Yale: ACC and NMI against the number of clusters", _subsets("yale")),
    Target("fig8", "GTFD: ACC and NMI against the number of clusters", _subsets("gtfd")),
    Target("table3", "UMIST: ACC and NMI of all methods, all ways to choose gamma", _whole("umist", others=True)),
    Target("fig4", "UMIST: ACC and NMI against gamma", _whole("umist", others=False)),
    Target("fig6", "UMIST: ACC and NMI against the number of clusters", _subsets("umist")),
    Target("fig7", "Caltech101: ACC and NMI against the number of clusters", _subsets("caltech101")),
    Target("auto-gamma", "gamma without labels against the best gamma by label (not in the paper)", _choice),
    Target("fig9", "TDT2: ACC and NMI against the number of clusters", _texts),
)
TARGETS: dict[str, Target] = {target.name: target for target in _ALL_TARGETS}
"""Every table and figure, cheap ones first; the paper's TDT2 last."""
