"""The data sets on which the rules that choose gamma are judged: loss, damage, gammas, and how many seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ewnmf.experiments.protocol.spec import RULES, Spec

__all__ = ["CASES", "DRAWS", "OCCLUDED", "TEXTS_BY_SIZE", "Case", "gamma_grid", "nth_draw"]

DRAWS = 10
"""Random subsets of categories; the draw belongs to the seed, and after the last the first comes again."""
OCCLUDED = 0.3
PER_DECADE = 4
SEEDS, TEXT_SEEDS = 20, 10
TEXTS_BY_SIZE: dict[int, tuple[int, ...]] = {
    2: (3, 2, 7, 8, 1, 5, 9, 4, 6, 0),
    3: (1, 6, 3, 2, 5, 4, 0, 8, 9, 7),
    4: (7, 5, 1, 9, 3, 6, 0, 4, 8, 2),
    5: (7, 2, 8, 3, 1, 0, 6, 5, 9, 4),
    6: (7, 3, 9, 0, 1, 8, 6, 5, 4, 2),
    7: (9, 1, 3, 7, 2, 4, 8, 0, 5, 6),
    8: (8, 1, 2, 6, 4, 7, 9, 5, 3, 0),
    9: (9, 3, 1, 2, 5, 6, 8, 4, 7, 0),
    10: (0, 3, 5, 9, 1, 7, 4, 6, 8, 2),
}
"""Number of categories -> draws of TDT2, those with the fewest texts first: the last cost up to 100 times as much."""


def nth_draw(dataset: str, k: int, at: int) -> int:
    """The draw of `k` categories that is made at this place."""
    order = TEXTS_BY_SIZE.get(k, ()) if dataset == "tdt2" else ()
    return order[at] if at < len(order) else at


def gamma_grid(low: float, high: float) -> tuple[float, ...]:
    """4 gammas per decade from ``10**low`` to ``10**high``, coarse to fine: every whole decade, half, quarter."""
    steps = range(round(PER_DECADE * low), round(PER_DECADE * high) + 1)
    middle = (steps[0] + steps[-1]) / 2
    ordered = sorted(steps, key=lambda step: (0 if step % 4 == 0 else 1 if step % 2 == 0 else 2, abs(step - middle)))
    return tuple(10.0 ** (step / PER_DECADE) for step in ordered)


IMAGE_GAMMAS = gamma_grid(-2.5, 0.5)


@dataclass(frozen=True)
class Case:
    """A data set with or without occlusion under one loss.

    `k` categories are all of the data set, or a random subset of them where `drawn`.
    """

    name: str
    title: str
    dataset: str
    k: int
    gammas: tuple[float, ...] = IMAGE_GAMMAS
    seeds: int = SEEDS
    drawn: bool = False
    occluded: float = 0.0
    block: int = 12
    loss: str = "euclidean"
    quick: bool = False

    def seed(self, at: int) -> int:
        """The seed that comes at this place."""
        return nth_draw(self.dataset, self.k, at)

    def start(self, seed: int) -> Spec:
        """NMF's run of a seed; the others differ from it in method and gamma alone."""
        draw = seed % DRAWS if self.drawn else None
        spec = Spec(self.dataset, "nmf", self.k, seed, draw=draw, loss=self.loss)
        return replace(spec, occluded=self.occluded, block=self.block)

    def runs(self, seed: int, gammas: int | None = None) -> Iterator[Spec]:
        """NMF, EWNMF without labels, and at the first so many gammas."""
        spec = self.start(seed)
        yield spec
        tried: tuple[float | str, ...] = (*RULES, *self.gammas[:gammas])
        for gamma in tried:
            yield replace(spec, method="ewnmf", gamma=gamma)

    def has(self, spec: Spec) -> bool:
        """Whether a run belongs to this data set, and with its gamma to the comparison."""
        if spec.dataset != self.dataset or spec.method not in ("nmf", "ewnmf") or spec.attempt:
            return False
        if (spec.k, spec.loss, spec.occluded) != (self.k, self.loss, self.occluded):
            return False
        here = replace(self.start(spec.seed), max_iter=spec.max_iter)
        known = spec.gamma in (None, *RULES, *self.gammas)
        return known and replace(spec, method="nmf", gamma=None, keep=()) == here


def _images(name: str, title: str, k: int, block: int = 12, *, drawn: bool = False, quick: bool = False) -> list[Case]:
    """A set of images, clean and occluded."""
    clean = Case(name, title, name, k, drawn=drawn, block=block, quick=quick)
    hidden = f"{title}, {block} x {block} on {100 * OCCLUDED:g} %"
    return [clean, replace(clean, name=f"{name}-occluded", title=hidden, occluded=OCCLUDED)]


CASES: tuple[Case, ...] = (
    *_images("yale", "Yale", 15, quick=True),
    *_images("digits", "digits", 10, block=3, quick=True),
    *_images("gtfd", "GTFD", 50),
    *_images("caltech101", "Caltech101", 10, drawn=True),
    *_images("umist", "UMIST", 20),
    Case("tdt2", "TDT2", "tdt2", 5, gamma_grid(-2, 1), TEXT_SEEDS, drawn=True),
    Case(
        "tdt2-kl",
        "TDT2, KL",
        "tdt2",
        5,
        gamma_grid(-1, 2),
        TEXT_SEEDS,
        drawn=True,
        loss="kullback-leibler",
    ),
)
"""Cheap ones first, texts last."""
