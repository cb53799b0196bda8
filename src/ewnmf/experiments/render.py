"""Tables, figures and the pages that show them, drawn from a store; nothing is computed anew.

The pages (``reproduction.md`` of the paper's experiments, ``choosing-gamma-results.md`` of the choice of gamma) lie in
the given folder, pictures (PNG, SVG) and sheets (CSV) in ``images`` below it: the layout of ``docs/``, so rendering
there makes the documentation's pages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from ewnmf.experiments import choice_page, tables
from ewnmf.experiments.markup import Picture, Section, Sheet, Table, bullets, wrapped
from ewnmf.experiments.material import Material
from ewnmf.experiments.paper import CLAIMS
from ewnmf.experiments.sections import SECTIONS
from ewnmf.experiments.verdicts import verdicts
from ewnmf.naming import unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ewnmf.experiments.store import Store

__all__ = ["render"]

PAGE = "reproduction.md"
DPI = 150
INTRODUCTION = """\
# The paper's experiments, again

Written by `ewnmf reproduce --render` from the results of `ewnmf reproduce`; do not edit. Every number of ours comes
from the runs counted below."""
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
9 one for the whole figure. *gamma="auto"* uses no labels.

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


def render(store: Store, targets: Sequence[str], out: Path) -> list[Path]:
    """Write the pages, pictures and sheets of the targets, whatever part of them the store has.

    Parameters
    ----------
    store : Store
        Results.
    targets : sequence of str
        Names of tables and figures, or ``"all"``.
    out : Path
        Folder of the pages; made if it does not exist.

    Returns
    -------
    list of Path
        The files, each page before what belongs to it. Each is replaced as a whole, so a reader never sees half of one.
    """
    if find_spec("matplotlib") is None:
        raise ModuleNotFoundError('drawing the figures needs matplotlib: pip install "ewnmf[plots]".')
    chosen = _known(targets)
    material = Material.of(store)
    files: dict[Path, bytes] = {}
    shown = [target for target in SECTIONS if target in chosen]
    if shown or not chosen:
        of_the_paper = material.of_the_paper()
        sections = {target: SECTIONS[target](of_the_paper) for target in shown}
        files[out / PAGE] = page(of_the_paper, sections).encode()
        files |= _beside(out, sections.values())
    if choice_page.TARGET in chosen:
        choice = choice_page.sections(material)
        files[out / choice_page.PAGE] = choice_page.page(choice).encode()
        files |= _beside(out, choice)
    for path, content in files.items():
        _replace(path, content)
    return list(files)


def _known(targets: Sequence[str]) -> list[str]:
    known = (*SECTIONS, choice_page.TARGET)
    for target in targets:
        if target != "all" and target not in known:
            raise unknown_name("target", target, (*known, "all"))
    return [target for target in known if target in targets or "all" in targets]


def _beside(out: Path, sections: Iterable[Section]) -> dict[Path, bytes]:
    """The sheets and pictures of sections."""
    files = {}
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, Sheet):
            files[out / part.folder / f"{part.name}.csv"] = part.csv().encode()
        if isinstance(part, Picture):
            for kind in ("png", "svg"):
                files[out / part.folder / f"{part.name}.{kind}"] = _drawn(part.figure, kind)
    return files


def page(material: Material, sections: dict[str, Section]) -> str:
    """The whole page as Markdown."""
    found = verdicts(material.rows, material.seen())
    judged = [[CLAIMS[verdict.claim].says, CLAIMS[verdict.claim].where, f"**{verdict.outcome}**"] for verdict in found]
    reasons = [f"**{CLAIMS[verdict.claim].says}** ({verdict.outcome}): {verdict.why}" for verdict in found]
    parts = [
        INTRODUCTION,
        Section("What was run", _what_was_run(material)).markdown(),
        Section("Verdicts", [Table(["the paper's claim", "where", ""], judged, left=3), bullets(reasons)]).markdown(),
        Section("Choices that the paper leaves open", [bullets(CHOICES.split("\n\n"))]).markdown(),
        *(section.markdown() for section in sections.values()),
    ]
    left = [f"`{target}`" for target in SECTIONS if target not in sections]
    if left:
        parts.append(Section("Not on this page", [wrapped(f"{', '.join(left)}: not asked for.")]).markdown())
    return "\n\n".join(parts) + "\n"


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


def _replace(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and move it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(content)
            file.close()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            file.close()
            os.unlink(file.name)
            raise
