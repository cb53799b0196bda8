"""``ewnmf repair``: a table in, the same table without its damage out."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy.sparse import issparse

from ewnmf._types import Array
from ewnmf.cli.estimator_options import NumberOr, components_option
from ewnmf.cli.file_options import EXIT_CODES, layout_options, output_options, to_layout
from ewnmf.cli.large import is_large, read_any
from ewnmf.cli.outcome import Report, described, plain
from ewnmf.cli.patches import Patches
from ewnmf.cli.repair_blocks import Tally, check_suffix, write_mended
from ewnmf.damage.calibration import FEWEST
from ewnmf.damage.repair import repaired
from ewnmf.estimators.repairer import Repairer
from ewnmf.estimators.saving import library_versions
from ewnmf.io import (
    Layout,
    Result,
    Table,
    atomic_file,
    atomic_folder,
    check_free,
    result_kind,
    write_result,
)
from ewnmf.io.atomic import SUMMARY
from ewnmf.io.images import SUFFIXES, read_image
from ewnmf.io.rewriting import Depth, table_kind, write_images, write_pixels, write_table
from ewnmf.io.rows import SUFFIXES as SUFFIXES_OF_BLOCKS
from ewnmf.io.source import check_memory
from ewnmf.losses.registry import LOSSES
from ewnmf.weightings.registry import WEIGHTINGS

__all__ = ["repair"]

_COPIES = 6


@dataclass(frozen=True)
class _Request:
    """Where results go."""

    output: str
    suspects: str | None
    force: bool


class _Mended(NamedTuple):
    """The table without damage (n x m), and of every suspect entry its place, value, expected value and trust.

    Of a table that was read by blocks, and is written, there are the worst of them, with a tally of all.
    """

    values: Array | None
    rows: Array
    columns: Array
    numbers: Array
    lost: int
    tally: Tally | None = None

    def counts(self, m: int) -> Array:
        """How many there are of every attribute (m)."""
        return np.bincount(self.columns, minlength=m) if self.tally is None else self.tally.counts

    @property
    def n_points(self) -> int:
        """In how many points."""
        return int(np.unique(self.rows).size) if self.tally is None else self.tally.n_points

    def where(self, kept: Array) -> _Mended:
        """The same with some of the suspects alone."""
        return self._replace(rows=self.rows[kept], columns=self.columns[kept], numbers=self.numbers[kept])


@click.command(
    short_help="Find what is damaged in a table, and mend it.",
    epilog=f"""\b
Examples:
  ewnmf repair plant.csv -k 8 -o clean.csv --suspects suspects.csv
  ewnmf repair plant.csv -k 8 --id time --false-alarms 0.001 -o clean.csv
  ewnmf repair faces/ -k 20 -o clean/                a folder of images in, one out
  ewnmf repair scan.png -k 12 -o clean.png           one image, by its patches of 8 x 8 pixels

{EXIT_CODES}""",
)
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("-o", "--output", required=True, type=click.Path(), help="File (or folder of images) for the result.")
@click.option("--suspects", type=click.Path(), metavar="FILE", help="Table of what was found, worst first.")
@components_option
@click.option(
    "--false-alarms",
    type=NumberOr(["auto"], False),
    default="auto",
    show_default=True,
    help="Share of undamaged entries that may be replaced; auto: by how many suspects there are.",
)
@click.option("--soft", is_flag=True, help="Blend values with what is expected, by their trust.")
@click.option("--weighting", type=click.Choice(list(WEIGHTINGS)), default="entropy", show_default=True)
@click.option(
    "--gamma",
    type=NumberOr(["auto", "self-tuned", "4x"], True),
    default="auto",
    show_default=True,
    help="Strength of the weighting; see ewnmf fit.",
)
@click.option("--loss", type=click.Choice(list(LOSSES)), default="euclidean", show_default=True)
@click.option("--n-init", type=click.INT, default=1, show_default=True, help="Number of starts.")
@click.option("--tol", type=click.FLOAT, default=1e-4, show_default=True, help="When a fit ends.")
@click.option("--max-iter", type=click.INT, default=300, show_default=True, help="Iterations at the most.")
@click.option("--seed", "--random-state", "random_state", type=click.INT, default=0, show_default=True)
@layout_options
@output_options
def repair(file: str, quiet: bool, as_json: bool, **options: Any) -> None:
    """Replace what is damaged or missing in FILE by what the rest of it says, and write it in the same form.

    FILE is anything that ewnmf fit reads, or one image; columns may have any unit and sign. Values that are not suspect
    stay as they are. Images are grey.
    """
    layout = to_layout(options)
    request = _Request(**{name: options.pop(name) for name in _Request.__dataclass_fields__})
    report = Report(quiet, as_json)
    _check_places(file, request)
    with report.step("read", f"reading {file}"):
        table, patches = _read(file, layout)
        if patches is not None:
            _check_depth(file, request, Depth.of(table))
        if is_large(table):
            check_suffix(request.output)
        elif patches is None and table.kind != "images":
            table_kind(request.output)
    model = Repairer(**options)
    n, m = table.values.shape
    with report.step("repair", f"{n} points x {m} attributes, {options['n_components']} components"):
        model.set_params(verbose=int(report.watched)).fit(table.values)
        if not is_large(table):
            mended = _mend(model, table.values)
        if patches is not None:
            mended = mended.where(patches.holds(mended.rows, mended.columns))
    with report.step("write", f"writing {request.output}"):
        if is_large(table):
            mended = _write_large(model, table, request)
        summary = plain(_summary(model, table, request, mended, report))
        if not is_large(table):
            _write(table, patches, mended, request, layout, summary)
    report.close(summary, _lines(summary, request))


def _is_image(path: str) -> bool:
    return Path(path).suffix.lower() in SUFFIXES


def _check_places(file: str, request: _Request) -> None:
    """Refuse, before anything is read, what could not be written."""
    blocks = Path(request.output.rstrip("/")).suffix.lower() in SUFFIXES_OF_BLOCKS
    folder = Path(file).is_dir() and not blocks
    check_free(request.output, request.force, folder=folder or request.output.rstrip("/").endswith(".zarr"))
    if _is_image(file) and not folder:
        _check_depth(file, request, Depth.BYTE)
    elif not (folder or blocks):
        table_kind(request.output)
    if request.suspects is not None:
        result_kind(request.suspects)
        check_free(request.suspects, request.force, folder=False)
        if Path(request.suspects).absolute() == Path(request.output).absolute():
            raise click.UsageError("-o and --suspects name the same file; name two.")


def _check_depth(file: str, request: _Request, depth: Depth) -> None:
    """Refuse a name for one image whose format would lose something."""
    if not depth.holds(Path(request.output).suffix):
        names = {Depth.BYTE: ".png, .tif, .bmp or .pgm", Depth.WORD: ".png or .tif", Depth.FRACTION: ".tif"}[depth]
        raise click.UsageError(
            f"{file} is an image, and {request.output} has a suffix that does not keep all values of one like it; name "
            f"the result {names}."
        )


def _read(file: str, layout: Layout) -> tuple[Table, Patches | None]:
    """The table with all its cells; of one image its patches, and how they were cut."""
    if _is_image(file) and not Path(file).is_dir():
        image = read_image(file, layout)
        assert image.image_size is not None
        width, height = image.image_size
        patches = Patches(height, width)
        points = patches.cut(image.values.reshape(height, width))
        if len(points) < FEWEST:
            raise ValueError(
                f"{file} has {width} x {height} pixels, {len(points)} patches of 8 x 8, and at least {FEWEST} are "
                "needed to learn from; give a larger image, or a folder of images."
            )
        return replace(image, values=points), patches
    table = read_any(file, layout)
    if is_large(table):
        return table, None
    n, m = table.values.shape
    check_memory(f"Repairing {table.source}", _COPIES * 8.0 * n * m, "take a part of its rows")
    return replace(table, values=table.values.toarray()) if issparse(table.values) else table, None


def _mend(model: Repairer, X: Array) -> _Mended:
    """All that is known of the damage, the worst first."""
    parts, found, first, lost = [], [], 0, 0
    share = model._replaced(model.false_alarms)
    model._warn_of_few(share)
    for x, verdict, suspects, count in model._decided(X, share, None):
        parts.append(repaired(x, verdict, suspects, soft=model.soft))
        at = rows, columns = np.nonzero(suspects)
        found.append([rows + first, columns, x[at], verdict.expected[at], verdict.trust[at], verdict.scores[at]])
        first, lost = first + len(x), lost + count
    rows, columns, *numbers, scores = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(-scores, kind="stable")
    return _Mended(np.concatenate(parts), rows[order], columns[order], np.stack(numbers, axis=1)[order], lost)


def _names(table: Table, patches: Patches | None, mended: _Mended) -> dict[str, Array]:
    """What points and attributes of the suspects are called."""
    rows, columns = mended.rows, mended.columns
    if patches is not None:
        return {
            "point": np.full(rows.size, table.source, dtype=object),
            "attribute": _pixels(*patches.place(rows, columns)),
        }
    points = (rows + table.first_row).astype(str) if table.ids is None else table.ids[rows]
    if table.image_size is not None:
        return {"point": points, "attribute": _pixels(*np.divmod(columns, table.image_size[0]))}
    names = table.features or tuple(f"x{j}" for j in range(table.values.shape[1]))
    return {"point": points, "attribute": np.array(names, dtype=object)[columns]}


def _pixels(rows: Array, columns: Array) -> Array:
    return np.array([f"row {r + 1}, column {c + 1}" for r, c in zip(rows, columns, strict=True)], dtype=object)


def _write(
    table: Table, patches: Patches | None, mended: _Mended, request: _Request, layout: Layout, summary: dict[str, Any]
) -> None:
    """Both results; neither appears before both are complete."""
    assert mended.values is not None
    clean = replace(table, values=mended.values)
    beside = nullcontext() if request.suspects is None else atomic_file(request.suspects)
    with beside as stream:
        if stream is not None:
            _write_suspects(stream, table, patches, mended, request)
        if patches is not None:
            with atomic_file(request.output) as target:
                write_pixels(target, patches.join(mended.values), Path(request.output).suffix, Depth.of(table))
        elif table.kind == "images":
            with atomic_folder(request.output, request.force) as folder:
                summary["files"] = write_images(folder, clean, Depth.of(table))
                text = json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False)
                (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")
        else:
            kind, zipped = table_kind(request.output)
            with atomic_file(request.output) as target:
                write_table(target, clean, kind, zipped, layout)


def _write_large(model: Repairer, table: Table, request: _Request) -> _Mended:
    """The same of a table that is read by blocks, each of which is written when it is mended."""
    found: list[_Mended] = []
    beside = nullcontext() if request.suspects is None else atomic_file(request.suspects)
    with beside as stream:

        def finish(tally: Tally) -> None:
            rows, columns, numbers, _ = tally.listed
            found.append(_Mended(None, rows, columns, numbers, tally.lost, tally))
            if stream is not None:
                _write_suspects(stream, table, None, found[0], request)

        write_mended(model, table.values, request.output, request.force, finish)
    return found[0]


def _write_suspects(stream: Any, table: Table, patches: Patches | None, mended: _Mended, request: _Request) -> None:
    names = _names(table, patches, mended)
    kind, zipped = result_kind(request.suspects or "")
    write_result(stream, Result(mended.numbers, ("value", "expected", "trust"), names), kind, zipped)


def _summary(model: Repairer, table: Table, request: _Request, mended: _Mended, report: Report) -> dict[str, Any]:
    names = table.features or tuple(f"x{j}" for j in range(table.values.shape[1]))
    counts = mended.counts(len(names))
    worst = [j for j in np.argsort(-counts, kind="stable")[:5] if counts[j]]
    return {
        "command": "repair",
        "input": described(table),
        "parameters": model.get_params(),
        "n_components": model.model_.n_components_,
        "gamma": model.model_.gamma_,
        "suspects": int(counts.sum()),
        "points_with_suspects": mended.n_points,
        "attributes_with_suspects": int((counts > 0).sum()),
        "most_suspects": {names[j]: int(counts[j]) for j in worst},
        "points_from_the_mean": mended.lost,
        "missing_filled": table.missing,
        "output": request.output,
        "suspects_file": request.suspects,
        "seconds": report.seconds,
        "warnings": report.warnings,
        "versions": library_versions(),
    }


def _lines(summary: dict[str, Any], request: _Request) -> list[str]:
    given = summary["input"]
    n, m, suspects = given["points"], given["attributes"], summary["suspects"]
    count = given["missing"]
    missing = f", {count} missing value{'s' * (count > 1)} filled" if count else ""
    lines = [
        f"{given['file']}: {n} points x {m} attributes{missing}",
        f"suspects: {suspects} entries ({100 * suspects / (n * m):.2g} %), in {summary['points_with_suspects']} points "
        f"and {summary['attributes_with_suspects']} attributes",
    ]
    if summary["most_suspects"] and given["image_size"] is None:
        lines.append("most in " + ", ".join(f"{name} ({count})" for name, count in summary["most_suspects"].items()))
    if summary["points_from_the_mean"]:
        lines.append(
            f"repaired from the mean point, since nothing of them can be trusted: {summary['points_from_the_mean']}"
        )
    return [*lines, f"written: {request.output}{'' if request.suspects is None else f', {request.suspects}'}"]
