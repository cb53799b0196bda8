"""``ewnmf plot``: a picture of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ewnmf.cli.apply import load_model, read_points
from ewnmf.cli.file_options import EXIT_CODES, layout_options, output_options
from ewnmf.cli.outcome import Report, described, plain
from ewnmf.cli.showing import about, quiet_names, save
from ewnmf.estimators.saving import library_versions
from ewnmf.io import atomic_file, check_free
from ewnmf.plots.kinds import KINDS

__all__ = ["plot"]

_DISPLAYS = {
    "components": "ComponentsDisplay",
    "trust": "TrustDisplay",
    "repair": "RepairDisplay",
    "clusters": "ClusterDisplay",
    "gamma": "GammaPathDisplay",
    "rank": "RankPathDisplay",
    "objective": "ObjectiveDisplay",
}
_OF_DATA = ("trust", "repair", "clusters")
_FORMATS = ("png", "svg", "pdf", "jpg", "webp")


@click.command(
    short_help="Draw components, trust, repaired points or the choice of gamma of a saved model.",
    epilog=f"""\b
Examples:
  ewnmf plot faces/ -o components.png                           faces/ is a folder that ewnmf fit wrote
  ewnmf plot sensors/ sensors.csv --what repair -o repair.png
  ewnmf plot sensors/ sensors.csv --what trust --top 20 -o trust.svg
  ewnmf plot sensors/ --what gamma -o gamma.pdf

{EXIT_CODES}""",
)
@click.argument("model", type=click.Path(allow_dash=False))
@click.argument("file", required=False, type=click.Path(allow_dash=True), metavar="[DATA]")
@click.option("--what", type=click.Choice(list(_DISPLAYS)), default="components", show_default=True)
@click.option("-o", "--output", required=True, type=click.Path(), help=f"The picture: .{', .'.join(_FORMATS)}.")
@click.option("--kind", "shown_as", type=click.Choice(["auto", *KINDS]), default="auto", help="What attributes are.")
@click.option("--points", type=click.IntRange(1), metavar="N", help="How many points are shown, one by one.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="How many attributes are listed.")
@click.option("--scale/--no-scale", default=None, help="Scale every point.  [default: as for the fit]")
@layout_options
@output_options
def plot(model: str, file: str | None, what: str, output: str, **options: Any) -> None:
    """Draw what MODEL, a file model.ewnmf or the folder it is in, has learned, or what it makes of DATA.

    DATA is anything that ewnmf fit reads; trust, repair and clusters need it.
    """
    suffix = Path(output).suffix.lower().lstrip(".")
    if suffix not in _FORMATS:
        raise click.UsageError(f"-o {output}: the name of a picture ends with .{', .'.join(_FORMATS)}.")
    if file is None and what in _OF_DATA:
        raise click.UsageError(f"--what {what} shows what the model makes of data; name a file: ewnmf plot MODEL DATA.")
    check_free(output, options["force"], folder=False)
    report = Report(options["quiet"], options["as_json"])
    estimator, note = load_model(model)
    table, X, known = None, None, _of_model(note)
    if file is not None:
        table, X, _ = read_points(model, file, options, estimator, note, report)
        known |= {name: value for name, value in about(table).items() if value is not None}
    with report.step("draw", f"drawing {what}"), atomic_file(output) as stream, quiet_names():
        save(_drawn(what, estimator, X, table, known, options), stream, suffix)
    summary = {
        "command": "plot",
        "model": model,
        "what": what,
        "input": None if table is None else described(table),
        "output": output,
        "seconds": report.seconds,
        "warnings": report.warnings,
        "versions": library_versions(),
    }
    report.close(plain(summary), [f"{output}: {what}"])


def _of_model(note: dict[str, Any]) -> dict[str, Any]:
    """What is known of the attributes without data."""
    size = note.get("image_size")
    return {} if size is None else {"image_shape": (int(size[1]), int(size[0]))}


def _drawn(what: str, estimator: Any, X: Any, table: Any, known: dict[str, Any], options: dict[str, Any]) -> Any:
    from ewnmf import plots

    display = getattr(plots, _DISPLAYS[what])
    if what in ("gamma", "rank", "objective"):
        return display.from_estimator(estimator)
    if what == "clusters":
        return display.from_estimator(estimator, X, labels=table.labels)
    known = known | {"kind": options["shown_as"]}
    if options["top"] is not None:
        known["top"] = options["top"]
    if what == "components":
        known.pop("point_names", None)
    elif options["points"] is not None:
        known["n_points"] = options["points"]
    return display.from_estimator(estimator, X, **known)
