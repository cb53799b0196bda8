"""What ``ewnmf transform`` and ``ewnmf weights`` share: a saved model, new points, a result as file or text."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ewnmf._types import Array
from ewnmf.cli.file_options import layout_options, output_options, to_layout
from ewnmf.cli.large import check_kind, is_large, read_any, scaled
from ewnmf.cli.outcome import Report, described, plain
from ewnmf.datasets import unscale_points
from ewnmf.estimators.loading import load_with_note
from ewnmf.estimators.saving import library_versions
from ewnmf.io import Result, Table, atomic_file, check_free, result_kind, write_result
from ewnmf.io.source import check_memory
from ewnmf.storage.blocks import Blocks

__all__ = ["apply_model", "apply_options", "attribute_names", "filled_points", "load_model", "read_points"]

MODEL_FILE = "model.ewnmf"
Apply = Callable[[Any, "Given"], Any]
Columns = Callable[[Any, Table], tuple[str, ...]]


class Given(NamedTuple):
    """Points for the model (`X`), the same as they are in the file (`values`), and whether that differs by scaling."""

    X: Any
    values: Any
    scaled: bool


def apply_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Arguments and options of a command that applies a model."""
    scale = click.option("--scale/--no-scale", default=None, help="Scale every point.  [default: as for the fit]")
    where = click.option(
        "-o",
        "--output",
        type=click.Path(allow_dash=True),
        help="File for the result: .csv, .tsv (also .gz), .parquet or .npy.  [default: CSV on standard output]",
    )
    for option in (output_options, layout_options, scale, where):
        command = option(command)
    command = click.argument("file", type=click.Path(allow_dash=True))(command)
    return click.argument("model", type=click.Path(allow_dash=False))(command)


def apply_model(
    command: str, model: str, file: str, options: dict[str, Any], apply: Apply, columns: Columns, words: str
) -> None:
    """Read the model and the points, and write ``apply(estimator, given)``, which is called `words`.

    `columns` gives a name for every column.
    """
    output = None if options["output"] in (None, "-") else options["output"]
    if output is None and options["as_json"]:
        raise click.UsageError("--json and the result cannot both go to standard output; name a file with -o.")
    kind, zipped = ("csv", False) if output is None else result_kind(output)
    if output is not None:
        check_free(output, options["force"], folder=False)
    report = Report(options["quiet"], options["as_json"])
    estimator, note = load_model(model)
    table, X, scale = read_points(model, file, options, estimator, note, report)
    n, m = X.shape
    names = columns(estimator, table)
    if is_large(table):
        check_kind(kind)
    else:
        needed = 2.0 * n * len(names) * X.dtype.itemsize
        check_memory(f"The result for {n} points of {table.source}", needed, "take a part of its rows")
    with report.step(command, f"{n} points x {m} attributes"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        values = apply(estimator, Given(X, table.values, scale))
    texts = {} if table.ids is None else {"id": table.ids}
    result = Result(values, names, texts)
    if output is None:
        write_result(sys.stdout.buffer, result, "csv")
        sys.stdout.flush()
        return
    with report.step("write", f"writing {output}"):
        if isinstance(values, Blocks):
            values.save(output)
        else:
            with atomic_file(output) as stream:
                write_result(stream, result, kind, zipped)
    summary = {
        "command": command,
        "model": model,
        "input": described(table),
        "scale": scale,
        "output": output,
        "shape": list(values.shape),
        "seconds": report.seconds,
        "warnings": report.warnings,
        "versions": library_versions(),
    }
    report.close(plain(summary), [f"{output}: {values.shape[0]} x {values.shape[1]} {words}"])


def read_points(
    model: str, file: str, options: dict[str, Any], estimator: Any, note: dict[str, Any], report: Report
) -> tuple[Table, Any, bool]:
    """The points of a file as they are there, as the model takes them, and whether that differs by scaling."""
    layout = to_layout(options)
    size = note.get("image_size")
    if layout.size is None and size is not None and Path(file).is_dir():
        layout = replace(layout, size=(int(size[0]), int(size[1])))
    with report.step("read", f"reading {file}"):
        table = read_any(file, layout)
    scale = bool(note.get("scale")) if options["scale"] is None else options["scale"]
    return table, _prepared(table, estimator, model, scale), scale


def attribute_names(estimator: Any, table: Table) -> tuple[str, ...]:
    """The names of the attributes, as the file or the model knows them."""
    known = table.features if table.features is not None else getattr(estimator, "feature_names_in_", None)
    return tuple(f"x{j}" for j in range(estimator.n_features_in_)) if known is None else tuple(map(str, known))


def filled_points(estimator: Any, given: Given) -> Array:
    """The file's values, with the model's where they are missing, in the file's unit."""
    if not isinstance(given.values, np.ndarray):
        raise ValueError(
            "--fill needs a table in memory with a cell for every entry, and this one is sparse or read by blocks; "
            "leave --fill out."
        )
    guess = estimator.inverse_transform(estimator.transform(given.X))
    if given.scaled:
        guess = unscale_points(guess, given.values)
    return np.where(np.isnan(given.values), guess, given.values)


def load_model(model: str) -> tuple[Any, dict[str, Any]]:
    """The estimator in a model file, or in the folder that ``ewnmf fit`` wrote."""
    path = Path(model) / MODEL_FILE if Path(model).is_dir() else Path(model)
    if path.parent == Path(model) and not path.exists():
        raise FileNotFoundError(
            f"{model} is a folder without {MODEL_FILE}; name a result of ewnmf fit, or a model file."
        )
    estimator, note = load_with_note(path)
    if not hasattr(estimator, "components_") and not hasattr(estimator, "model_"):
        raise ValueError(f"{path} holds a model that was saved before it was fitted; fit it first.")
    return estimator, note


def _prepared(table: Table, estimator: Any, model: str, scale: bool) -> Any:
    """The points, refused unless their attributes are the model's."""
    m, expected = table.values.shape[1], estimator.n_features_in_
    if m != expected:
        raise ValueError(
            f"{table.source} has {m} attributes, but {model} was fitted on {expected}; give the same columns "
            "(--id, --label and --drop leave some out)."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and table.features is not None and list(known) != list(table.features):
        j = next(j for j in range(m) if known[j] != table.features[j])
        raise ValueError(
            f"{table.source} has {table.features[j]!r} as its {j + 1}. attribute, but {model} was fitted with "
            f"{str(known[j])!r} there; give the same columns in the same order."
        )
    if scale:
        return scaled(table.values)
    if estimator.__sklearn_tags__().input_tags.positive_only:
        table.refuse_negative(type(estimator).__name__)
    return table.values.astype(np.float64) if table.values.dtype.kind != "f" else table.values
