"""Tables, figures and the pages that show them, drawn from stored rows; nothing is computed anew.

The pages (``reproduction.md`` with verdicts and figures, ``reproduction-tables.md`` with everything else,
``choosing-gamma-results.md`` of the choice of gamma) lie in the given folder, pictures (PNG, SVG) and sheets (CSV) in
``images`` below it: the layout of ``docs/``, so rendering there makes the documentation's pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ewnmf.experiments.execution.files import replace_file
from ewnmf.experiments.pages import choice_page, tables
from ewnmf.experiments.pages.coverage import ENOUGH, coverage_table, hours_left, overall, standing
from ewnmf.experiments.pages.front import CHAPTERS, chapter
from ewnmf.experiments.pages.markup import Picture, Section, Sheet, Table, bullets, wrapped
from ewnmf.experiments.pages.material import Material
from ewnmf.experiments.pages.sections import SECTIONS
from ewnmf.experiments.pages.verdicts import Verdict, verdicts
from ewnmf.experiments.protocol.paper import CLAIMS
from ewnmf.experiments.protocol.plan import TARGETS
from ewnmf.naming import unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ewnmf.experiments.execution.archive import Source

__all__ = ["Report", "render", "report"]

PAGE, TABLES_PAGE = "reproduction.md", "reproduction-tables.md"
DPI = 150
INTRODUCTION = """\
# The paper's experiments, again

What holds of the paper's claims, each with a figure and a table. Every number of ours comes from the runs counted
below. All tables, the reasons of the verdicts and the choices that the paper leaves open are on
[a page of their own](reproduction-tables.md).

Written by `ewnmf reproduce --render` from stored rows (in a clone: those in the folder `results`); do not edit."""
TABLES_INTRODUCTION = """\
# All tables of the paper's experiments

The numbers behind [the verdicts](reproduction.md). Written by `ewnmf reproduce --render`; do not edit."""
AT = "#what-it-stands-on"
STANDS_ON = (
    "Runs that are there, of the full protocol (10 starts or draws, 17 gammas and as many tries of NMF, 300 "
    "iterations). A start or draw is whole if all its runs but those that choose gamma are there. A claim is judged "
    f"where each of its tables and figures has at least {ENOUGH:.0%} of these runs."
)
CHOICES = """\
Every point is scaled to [0, 1]; `W` and `H` start uniform on [0.1, 1.1], and all methods share the start of a run; K is
the number of clusters; the order of the updates is the authors'. As many iterations as the sections say (the paper:
300).

k-means sees the run's own codes, raw as in the paper, with 1 and with 10 starts (the paper does not say how many), and,
as a variant of ours, *unit* codes: components scaled to norm 1 into the codes, then every code to norm 1. Figures and
verdicts use raw codes and 1 start, MATLAB's default; tables have all three.

*Best gamma per run*: for every start the gamma with the highest ACC, seen by label. This is presumably what the paper
did; it reports a mean of maxima. *NMF, best of as many tries* gives NMF the same advantage: as many starts as EWNMF had
gammas, the best by label. *One gamma for all*: the gamma with the highest mean ACC, still seen by label; in Figs. 5 to
9 one for the whole figure. *gamma="auto"*, which is made for damage, and *gamma="groups"*, for clusters, use no
labels; their trials and the run that counts are made by the same updates as all others.

A pick by label goes by ACC of the same view of the codes; the NMI is that of the same pick, not a maximum of its own.
The paper does not say by which measure it picked.

Differences are paired: the same data and starts. Intervals (95 %) and p-values are those of the paired t test, because
the claims are about means and a signed-rank test cannot reach p < 0.05 with five runs or fewer. Behind them: in how
many runs EWNMF was ahead. No p-value is corrected for the number of tests.

ONMF is the multiplicative rule with Lagrange multipliers, once with orthogonal codes and once with orthogonal
components, because the paper does not say which.

Rules of the verdicts are ours. Most were fixed before any result was seen. Two were not: *stable* was first to go by
the iteration from which the cost stays within 1 % of its whole fall, which called Convex-NMF stable almost at once, and
was replaced by the cost lost after the 200th iteration, with a limit of 5 % set after a look at those curves; and *best
ACC and NMI* got the comparison with single runs of the other methods after a look at Yale.

A mean is over the runs that all methods and protocols of the table share; ± is the standard deviation over runs. Bold:
the highest of a column."""


@dataclass(frozen=True)
class Report:
    """Pages and sheets as text, by their paths in the folder of the pages, and the pictures still to be drawn."""

    texts: Mapping[str, str]
    pictures: Sequence[Picture]


def render(source: Source, targets: Sequence[str], out: Path) -> list[Path]:
    """Write the pages, pictures and sheets of the targets, whatever part of them the source has.

    Parameters
    ----------
    source : Source
        Stored rows: a store, or an archive of results.
    targets : sequence of str
        Names of tables and figures, or ``"all"``.
    out : Path
        Folder of the pages; made if it does not exist.

    Returns
    -------
    list of Path
        The files, pages first. Each is replaced as a whole, so a reader never sees half of one.
    """
    if find_spec("matplotlib") is None:
        raise ModuleNotFoundError('drawing the figures needs matplotlib: pip install "ewnmf[plots]".')
    made = report(source, targets)
    files = {out / path: text.encode() for path, text in made.texts.items()}
    for picture in made.pictures:
        figure = picture.draw()
        for kind in ("png", "svg"):
            files[out / picture.folder / f"{picture.name}.{kind}"] = _drawn(figure, kind)
    for path, content in files.items():
        replace_file(path, content)
    return list(files)


def report(source: Source, targets: Sequence[str]) -> Report:
    """The pages of the targets without drawing a picture."""
    chosen = _known(targets)
    material = Material.of(source)
    pages: dict[str, str] = {}
    shown: list[Section] = []
    if chosen != [choice_page.TARGET]:
        judged = _judged(material.of_the_paper())
        chapters = _chapters(material, judged, chosen)
        sections = [SECTIONS[target](material.of_the_paper()) for target in SECTIONS if target in chosen]
        pages |= {PAGE: _page(material, judged, chapters), TABLES_PAGE: _tables_page(material, judged, sections)}
        shown += [*chapters, *sections]
    if choice_page.TARGET in chosen:
        choice = choice_page.sections(material)
        pages[choice_page.PAGE] = choice_page.page(choice)
        shown += choice
    return Report(pages | _sheets(shown), [part for part in _parts(shown) if isinstance(part, Picture)])


def _known(targets: Sequence[str]) -> list[str]:
    for target in targets:
        if target not in (*TARGETS, "all"):
            raise unknown_name("target", target, (*TARGETS, "all"))
    return [target for target in TARGETS if target in targets or "all" in targets]


def _parts(sections: Iterable[Section]) -> Iterator[str | Table | Sheet | Picture]:
    return (part for section in sections for part in section.parts)


def _sheets(sections: Iterable[Section]) -> dict[str, str]:
    return {f"{part.folder}/{part.name}.csv": part.csv() for part in _parts(sections) if isinstance(part, Sheet)}


def _judged(material: Material) -> list[Verdict]:
    """The verdicts, as far as the rows are enough."""
    return standing(verdicts(material.rows, material.seen()), material.rows)


def _chapters(material: Material, judged: Sequence[Verdict], chosen: Sequence[str]) -> list[Section]:
    """The chapters of the first page that have to do with the targets."""
    of_the_paper = material.of_the_paper()
    return [
        chapter(name, material if name == "idea" else of_the_paper, judged)
        for name, each in CHAPTERS.items()
        if set(each.targets) & set(chosen)
    ]


def _page(material: Material, judged: Sequence[Verdict], chapters: Sequence[Section]) -> str:
    """The first page as Markdown."""
    lines = [
        [CLAIMS[each.claim].says, CLAIMS[each.claim].where, f"**{each.outcome}**", each.brief or "-"] for each in judged
    ]
    claims = Table(["the paper's claim", "where", "verdict", "in numbers"], lines, left=4)
    runs = overall(material.rows)
    part = "All" if runs.present == runs.planned else f"{runs.present} of the"
    summary = f"{part} {runs.planned} runs of the full protocol are there: [what each figure stands on]({AT})."
    table = coverage_table(material.rows)
    parts = [
        Section("What holds", [claims, wrapped(summary)]),
        *chapters,
        Section("What it stands on", [wrapped(f"{STANDS_ON} {hours_left(material.rows)}".strip()), table]),
    ]
    return "\n\n".join([INTRODUCTION, *(part.markdown() for part in parts)]) + "\n"


def _tables_page(material: Material, judged: Sequence[Verdict], sections: Sequence[Section]) -> str:
    """The page of tables as Markdown."""
    reasons = [f"**{CLAIMS[each.claim].says}** ({each.outcome}): {each.why}" for each in judged]
    parts = [
        Section("What was run", _what_was_run(material.of_the_paper())),
        Section("Reasons of the verdicts", [bullets(reasons)]),
        Section("Choices that the paper leaves open", [bullets(CHOICES.split("\n\n"))]),
        *sections,
    ]
    return "\n\n".join([TABLES_INTRODUCTION, *(part.markdown() for part in parts)]) + "\n"


def _what_was_run(material: Material) -> list[str | Table]:
    left = material.left_out()
    if not material.rows:
        return [wrapped(f"Nothing yet: the store is empty.{left}")]
    return [wrapped(tables.provenance(material.rows) + left), tables.what_was_run(material.rows)]


def _drawn(figure: Figure, kind: str) -> bytes:
    """The figure as a file, the same bytes every time."""
    import matplotlib as mpl

    stream = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "ewnmf"}):
        figure.savefig(stream, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return stream.getvalue()
