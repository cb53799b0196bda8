"""``ewnmf report``: one HTML file of what a saved model makes of data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ewnmf.cli.apply import load_model, read_points
from ewnmf.cli.file_options import EXIT_CODES, layout_options, output_options
from ewnmf.cli.outcome import Report, described, plain
from ewnmf.cli.showing import check_report, write_report
from ewnmf.estimators.judging import FALSE_ALARMS
from ewnmf.estimators.saving import library_versions
from ewnmf.io import check_free
from ewnmf.plots.judged import MOST_ENTRIES
from ewnmf.plots.kinds import KINDS

__all__ = ["report"]


@click.command(
    short_help="Write one HTML file that shows what a saved model makes of data.",
    epilog=f"""\b
Examples:
  ewnmf report sensors/ sensors.csv -o report.html      sensors/ is a folder that ewnmf fit wrote
  ewnmf report faces/ photos/ --label folder -o faces.html

{EXIT_CODES}""",
)
@click.argument("model", type=click.Path(allow_dash=False))
@click.argument("file", type=click.Path(allow_dash=True), metavar="DATA")
@click.option("-o", "--output", required=True, type=click.Path(), help="The report, an .html file.")
@click.option("--title", help="Heading of the page.  [default: the name of DATA]")
@click.option("--kind", "shown_as", type=click.Choice(["auto", *KINDS]), default="auto", help="What attributes are.")
@click.option(
    "--false-alarms",
    type=float,
    default=FALSE_ALARMS,
    show_default=True,
    help="The share of undamaged entries that may be suspected.",
)
@click.option(
    "--max-entries",
    type=click.IntRange(1),
    default=MOST_ENTRIES,
    show_default=True,
    metavar="N",
    help="Entries to look at; of larger data, points in equal distances.",
)
@click.option("--scale/--no-scale", default=None, help="Scale every point.  [default: as for the fit]")
@layout_options
@output_options
def report(model: str, file: str, output: str, **options: Any) -> None:
    """Write what MODEL, a file model.ewnmf or the folder it is in, makes of DATA into one HTML file.

    The file needs nothing else, and no network. DATA is anything that ewnmf fit reads; of very large data, points in
    equal distances are looked at, and the page says so.
    """
    check_report()
    check_free(output, options["force"], folder=False)
    outcome = Report(options["quiet"], options["as_json"])
    estimator, note = load_model(model)
    table, X, _ = read_points(model, file, options, estimator, note, outcome)
    asked = {"kind": options["shown_as"]} | {name: options[name] for name in ("false_alarms", "max_entries")}
    if options["title"] is not None:
        asked["title"] = options["title"]
    with outcome.step("report", f"writing {output}"):
        size = write_report(estimator, X, table, Path(output), **asked).stat().st_size
    summary = {
        "command": "report",
        "model": model,
        "input": described(table),
        "output": output,
        "bytes": size,
        "seconds": outcome.seconds,
        "warnings": outcome.warnings,
        "versions": library_versions(),
    }
    outcome.close(plain(summary), [f"{output}: open it in a browser ({size / 1e6:.1f} MB)"])
