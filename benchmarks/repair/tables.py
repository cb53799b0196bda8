"""What the rows say: tables of Markdown, and the figures to reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from benchmarks.repair.data import COLUMN_KINDS, FACES, KINDS, MADE, MIXED, NONE, SETS
from benchmarks.repair.methods import DEFAULT, KNOWN, METHODS, NOTHING, ORACLES, OURS, ROBUST_PCA, TAUGHT
from benchmarks.repair.rows import Row, Setting
from benchmarks.report import Section, Table, Target, target_table

__all__ = ["Study", "report", "targets"]

CLOSE = 1.1
"""Within so many times the best error a method is as good as the best."""
HARMLESS = 1.02
"""Up to so many times the error of doing nothing, no harm is done."""
FOUND = 0.9
"""The AUC from which on damage counts as found."""

SHOWN = [method for method in METHODS if method == DEFAULT or method not in (*OURS, TAUGHT)]
"""Methods of the large tables: the others were run in some settings alone, and would be compared across them."""

Rows = Mapping[str, Row]


@dataclass(frozen=True)
class Study:
    """The rows of every setting by method; only settings where doing nothing was run."""

    found: Mapping[Setting, Rows]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Study:
        """The rows in order."""
        ordered = sorted(rows, key=lambda row: row.setting)
        found = {setting: {row.method: row for row in group} for setting, group in groupby(ordered, _setting)}
        return cls({setting: each for setting, each in found.items() if NOTHING in each})

    @property
    def judged(self) -> Study:
        """The settings where our default was run."""
        return Study({setting: each for setting, each in self.found.items() if DEFAULT in each})

    def where(self, data: Sequence[str] = SETS, damage: Sequence[str] = KINDS[1:]) -> list[Rows]:
        """The settings of these sets and kinds."""
        return [rows for setting, rows in self.found.items() if setting.data in data and setting.damage in damage]

    @property
    def clean(self) -> list[Rows]:
        """The settings without damage."""
        return self.where(damage=(NONE,))


def _setting(row: Row) -> Setting:
    return row.setting


def ratio(settings: Sequence[Rows], method: str, to: str = NOTHING) -> float | None:
    """The mean error of a method over that of another, where both were run."""
    pairs = [(rows[method].error, rows[to].error) for rows in settings if method in rows and to in rows]
    return float(np.mean([own for own, _ in pairs]) / np.mean([other for _, other in pairs])) if pairs else None


def mean(settings: Sequence[Rows], method: str, figure: Callable[[Row], float]) -> float | None:
    """The mean of a figure over the settings that have it."""
    values = [figure(rows[method]) for rows in settings if method in rows]
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else None


def _rivals(rows: Rows) -> list[float]:
    return [row.error for method, row in rows.items() if method not in ORACLES]


def targets(study: Study) -> list[Target]:
    """The figures to reach, with what was measured."""
    study = study.judged
    blocks, bands = (study.where(FACES, (kind,)) for kind in ("blocks", "bands"))
    spectra, salt = study.where(("spectra",), COLUMN_KINDS), study.where(damage=("salt-and-pepper",))
    sensors, every = study.where(MADE, COLUMN_KINDS), study.where()
    found = [rows[DEFAULT].auc >= FOUND for rows in sensors]
    taught = _share([rows[TAUGHT].auc >= FOUND for rows in sensors if TAUGHT in rows])
    also = "" if taught is None else f"; {TAUGHT} {taught:.2f}"
    best = [rows[DEFAULT].error <= CLOSE * min(_rivals(rows)) for rows in every]
    worst, at_best = _harm(every, DEFAULT), _harm(every, TAUGHT)
    nothing, pursuit = "error / doing nothing", "error / robust PCA"
    answers = [
        *(
            Target(words, f"faces, {kind}", ratio(where, DEFAULT, to), "at most", bound, beside=_beside(where))
            for kind, where in (("blocks", blocks), ("bands", bands))
            for words, to, bound in ((pursuit, ROBUST_PCA, 0.75), (nothing, NOTHING, 0.5))
        ),
        Target(nothing, "spectra, bad bands", ratio(spectra, DEFAULT), "at most", 0.15, beside=_beside(spectra)),
        Target(pursuit, "all sets, salt", ratio(salt, DEFAULT, ROBUST_PCA), "at most", CLOSE, beside=_beside(salt)),
        Target(
            "tables with AUC 0.9", "made sensors", _share(found), "at least", 0.9, beside=f"{len(found)} tables{also}"
        ),
        Target(
            nothing, "made sensors, column faults", ratio(sensors, DEFAULT), "at most", 0.5, beside=_beside(sensors)
        ),
    ]
    for name in MIXED:
        where = study.where((name,), COLUMN_KINDS)
        answers += [
            Target("mean AUC", f"{name}, column faults", _auc(where), "at least", FOUND, beside=_taught(where)),
            Target(nothing, f"{name}, column faults", ratio(where, DEFAULT), "at most", 0.7, beside=_beside(where)),
        ]
    change = max((rows[DEFAULT].change for rows in study.clean), default=None)
    fit = max((rows[DEFAULT].fit for rows in study.clean if not math.isnan(rows[DEFAULT].fit)), default=None)
    return [
        *answers,
        Target("best or within 10 %", "all damaged settings", _share(best), "at least", 0.75, beside=f"{len(best)}"),
        Target(
            "largest error / doing nothing",
            "all damaged settings",
            max(worst, default=None),
            "at most",
            HARMLESS,
            beside=_above(worst) + (f"; {TAUGHT} {max(at_best):.2f}, {_above(at_best)}" if at_best else ""),
        ),
        Target("largest change / spread", "undamaged", change, "at most", 0.1, beside=f"{len(study.clean)} tables"),
        Target("largest fit error / NMF's", "undamaged", fit, "at most", 1.02),
    ]


def _harm(settings: Sequence[Rows], method: str) -> list[float]:
    """The errors of a method in units of doing nothing, where it was run."""
    there = [rows for rows in settings if method in rows and rows[NOTHING].error > 0]
    return [rows[method].error / rows[NOTHING].error for rows in there]


def _above(errors: Sequence[float]) -> str:
    return f"{sum(error > HARMLESS for error in errors)} of {len(errors)} above {HARMLESS}"


def _share(answers: Sequence[bool]) -> float | None:
    return float(np.mean(answers)) if answers else None


def _auc(settings: Sequence[Rows], method: str = DEFAULT) -> float | None:
    return mean(settings, method, lambda row: row.auc)


def _taught(settings: Sequence[Rows]) -> str:
    auc = _auc(settings, TAUGHT)
    return "" if auc is None else f"{TAUGHT} {auc:.2f}"


def _beside(settings: Sequence[Rows]) -> str:
    known = ratio(settings, KNOWN)
    words = f"{len(settings)} settings"
    return words if known is None else f"{words}; mask known {known:.2f} of nothing"


def _grid(
    lines: Mapping[str, Sequence[Rows]],
    first: str,
    figure: Callable[[Sequence[Rows], str], float | None],
    asked: Sequence[str] = SHOWN,
) -> Table:
    """A line for every key, a column for every method that is asked for and has the figure somewhere."""
    cells = {key: {method: figure(settings, method) for method in asked} for key, settings in lines.items()}
    methods = [method for method in asked if any(line[method] is not None for line in cells.values())]
    rows = [
        [key, *("" if line[method] is None else f"{line[method]:.2f}" for method in methods)]
        for key, line in cells.items()
    ]
    return Table([first, *methods], rows)


def _verdicts(study: Study) -> Table:
    """Precision, recall and false alarms of our suspects."""
    rows = []
    study = study.judged
    for name in SETS:
        hit, clean = study.where((name,)), study.where((name,), (NONE,))
        figures = [
            mean(hit, DEFAULT, lambda row: row.precision),
            mean(hit, DEFAULT, lambda row: row.recall),
            mean(hit, DEFAULT, lambda row: row.false_alarms),
            mean(clean, DEFAULT, lambda row: row.false_alarms),
            mean(clean, DEFAULT, lambda row: row.change),
            mean(clean, DEFAULT, lambda row: row.fit),
        ]
        if any(figure is not None for figure in figures):
            rows.append([name, *("" if figure is None else f"{figure:.3f}" for figure in figures)])
    head = ["", "precision", "recall", "false alarms, damaged", "false alarms, clean", "change, clean", "fit / NMF's"]
    return Table(head, rows)


def _wins(study: Study) -> Table:
    """How often every method is best or within 10 % of the best, over the settings where it was run."""
    rows = []
    for method in METHODS:
        where = [each for each in study.where() if method in each]
        if not where or method in ORACLES:
            continue
        close = np.mean([each[method].error <= CLOSE * min(_rivals(each)) for each in where])
        worst = max(each[method].error / each[NOTHING].error for each in where)
        seconds = np.median([each[method].seconds for each in where])
        rows.append([method, f"{close:.0%}", f"{worst:.2f}", f"{seconds:.2g}"])
    return Table(["", "best or within 10 %", "largest error / nothing", "seconds of CPU, median"], rows)


def _weightings(study: Study) -> list[str]:
    """Our weightings by set, in the settings where all of them were run; nothing where there is none."""
    together = Study({at: rows for at, rows in study.found.items() if all(method in rows for method in OURS)})
    lines = {name: where for name in SETS if (where := together.where((name,)))}
    if not lines:
        return []
    words = (
        f"Error of our weightings, in units of doing nothing, in the {len(together.where())} settings where all were"
    )
    return [f"{words} run ({', '.join(_strengths(together))}):", _grid(lines, "", ratio, OURS).markdown()]


def _strengths(study: Study) -> list[str]:
    return sorted({setting.strength for setting in study.found} - {NONE})


def report(rows: Iterable[Row]) -> str:
    """All tables."""
    study = Study.of(rows)
    if not study.found:
        return f"There is no setting yet for which {NOTHING!r} was run."
    compared = study.judged if study.judged.found else study
    by_set = {name: where for name in SETS if (where := compared.where((name,)))}
    by_kind = {kind: where for kind in KINDS[1:] if (where := compared.where(damage=(kind,)))}
    seeds = sorted({setting.seed for setting in study.found})
    parts = [
        f"{len(study.where())} damaged settings, {len(study.clean)} clean ones; {len(seeds)} seed(s), strengths: "
        f"{', '.join(_strengths(study))}. `{DEFAULT}`, our default, was run on {len(study.judged.where())} and "
        f"{len(study.judged.clean)} of them; where it was run anywhere, the tables are of these alone.",
        "Figures to reach:",
        target_table([Section("", targets(study))]).markdown(),
        "Error after repair, in units of doing nothing, by set (all kinds of damage):",
        _grid(by_set, "", ratio).markdown(),
        "The same by kind of damage (all sets):",
        _grid(by_kind, "", ratio).markdown(),
        *_weightings(compared),
        "AUC of finding the damaged entries among those of their points:",
        _grid(by_set, "", _auc).markdown(),
        f"`suspects` of `{DEFAULT}` at false_alarms=0.01, and undamaged tables:",
        _verdicts(study).markdown(),
        "All methods:",
        _wins(compared).markdown(),
    ]
    return "\n\n".join(parts)
