"""``ewnmf fit``: a file in, a folder of results out."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from ewnmf._types import Array
from ewnmf.cli.estimator_options import build_estimator, estimator_options
from ewnmf.cli.file_options import EXIT_CODES, layout_options, output_options, to_layout
from ewnmf.cli.large import check_kind, is_large, read_any, scaled
from ewnmf.cli.outcome import Report, described, plain
from ewnmf.cli.showing import check_report, draw_pictures, write_report
from ewnmf.estimators.saving import library_versions, write_estimator
from ewnmf.io import RESULT_KINDS, Layout, Result, Table, atomic_folder, check_free, read_table, write_result
from ewnmf.io.atomic import SUMMARY
from ewnmf.io.source import check_memory
from ewnmf.metrics import clustering_accuracy, normalized_mutual_information
from ewnmf.storage.blocks import Blocks
from ewnmf.weightings.registry import resolve

__all__ = ["fit"]

_LARGEST_SEED = 2**31
_COPIES, _POINTS_AT_A_TIME, _BYTES_OF_A_NAME = 6, 32, 100


@dataclass(frozen=True)
class _Request:
    """What is asked for beside the model."""

    output: str
    to: str | None
    scale: bool
    clusters: str | None
    weights: bool | None
    entry_weights: str | None
    pictures: bool | None
    report: bool
    force: bool


@click.command(
    short_help="Factorize a table from a file.",
    epilog=f"""\b
Examples:
  ewnmf fit faces.npy -k 15 -o faces                      an array, points in rows
  ewnmf fit genes.csv -k 8 --id gene --transpose -o out   samples in columns
  ewnmf fit iris.csv -k 3 --label species --clusters --scale -o iris
  ewnmf fit photos/ -k 20 --size 32x32 -o photos-k20      a folder of images, with pictures of what was found
  ewnmf fit sensors.csv -k 8 --report -o sensors          and report.html to look at
  ewnmf fit spectra.zarr -k 20 --gamma 4x -o spectra      larger than memory: read by blocks
  ewnmf fit counts.mtx.gz -k 10 --loss kullback-leibler --gamma inf -o counts
  zcat big.csv.gz | ewnmf fit - -k 10 -o big --json

{EXIT_CODES}""",
)
@click.argument("file", type=click.Path(allow_dash=True))
@estimator_options
@click.option("-o", "--output", required=True, type=click.Path(), help="Folder for the results; it must not exist.")
@click.option("--scale", is_flag=True, help="Bring every point to [0, 1] first, as the paper does.")
@click.option(
    "--clusters",
    is_flag=False,
    flag_value="auto",
    metavar="[N]",
    help="Cluster the codes (k-means); N defaults to the number of classes, else to K.",
)
@click.option("--weights/--no-weights", default=None, help="Write a weight for every entry.  [default: where learned]")
@click.option(
    "--entry-weights", type=click.Path(), metavar="FILE", help="The weights of --weighting fixed, a like table."
)
@click.option(
    "--pictures/--no-pictures", default=None, help="Draw components and repaired points.  [default: of images]"
)
@click.option("--report", is_flag=True, help="Write report.html, which shows what was found, into the folder.")
@click.option("--to", type=click.Choice(RESULT_KINDS), help="How tables are written.  [default: CSV in CSV, else npy]")
@layout_options
@output_options
def fit(file: str, model: str, quiet: bool, as_json: bool, **options: Any) -> None:
    """Factorize the table in FILE and write the results into a new folder.

    FILE is CSV or TSV (also .gz), Parquet, .npy, .npz (arrays or a SciPy sparse matrix), Matrix Market (.mtx,
    .mtx.gz), MATLAB (.mat), HDF5 (.h5), Zarr, a folder of images, or - for standard input. One row is one point; empty
    cells are missing values. HDF5, Zarr, and .npy and Parquet files that memory would hardly hold, are read by blocks.

    The folder gets codes, components, weights, labels (with --clusters), the model (model.ewnmf) and
    summary.json; of images, pictures of the components and of what was repaired. It appears only when everything is
    in it.
    """
    layout = to_layout(options)
    request = _Request(**{name: options.pop(name) for name in _Request.__dataclass_fields__})
    check_free(request.output, request.force, folder=True)
    if options["random_state"] is None:
        options["random_state"] = secrets.randbelow(_LARGEST_SEED)
    report = Report(quiet, as_json)
    if request.report:
        check_report()
    estimator = build_estimator(model, options)
    with report.step("read", f"reading {file}"):
        table = read_any(file, layout)
        kind = _kind(table, request)
        entry_weights = _entry_weights(request, layout, estimator)
    X = _prepared(table, estimator, request)
    n, m = X.shape
    K = "a number of" if estimator.n_components == "cv" else estimator.n_components
    with report.step("fit", f"{n} points x {m} attributes, {K} components"):
        estimator.set_params(verbose=int(report.watched))
        estimator.fit(X, weights=entry_weights)
        estimator.set_params(verbose=0)
    with report.step("results", "codes, weights and clusters"):
        results = _results(estimator, X, table, request, entry_weights)
        measures = _clusters(results["codes"].values, table, request, estimator, results)
    summary = _summary(estimator, model, table, request, report, measures)
    with report.step("write", f"writing {request.output}"):
        _write(estimator, results, table, request, kind, summary, X)
    report.close(summary, _lines(summary, request.output))


def _entry_weights(request: _Request, layout: Layout, estimator: Any) -> Any:
    if request.entry_weights is None:
        return None
    if estimator.weighting != "fixed":
        raise click.UsageError(
            f"--entry-weights belongs to --weighting fixed, and the weighting is {estimator.weighting!r}."
        )
    values = read_table(request.entry_weights, layout).values
    if isinstance(values, np.ndarray):
        return values
    needed = float(values.shape[0]) * values.shape[1] * values.dtype.itemsize
    check_memory(f"A number for every entry of {request.entry_weights}", needed, "take a part of its rows")
    return values.toarray()


def _prepared(table: Table, estimator: Any, request: _Request) -> Any:
    """The numbers to fit, refused where the model cannot take them or the results would not fit into memory."""
    n, m = table.values.shape
    if is_large(table):
        return scaled(table.values) if request.scale else table.values
    _check_memory(table, estimator)
    if _wants_weights(request, estimator):
        remedy = "leave them out with --no-weights"
        check_memory(f"A weight for every entry of {table.source}", 2.0 * n * m * table.values.dtype.itemsize, remedy)
    if request.scale:
        return scaled(table.values)
    if estimator.__sklearn_tags__().input_tags.positive_only:
        table.refuse_negative(type(estimator).__name__)
    return table.values


def _check_memory(table: Table, estimator: Any) -> None:
    """Refuse factors that would not fit into memory, each of them in the copies that a step needs."""
    n, m = table.values.shape
    K = estimator.n_components if isinstance(estimator.n_components, int) else 1
    numbers = _COPIES * (float(K) * (n + m) + min(n, _POINTS_AT_A_TIME) * float(m))
    needed = numbers * table.values.dtype.itemsize + float(_BYTES_OF_A_NAME) * m
    what = f"A fit of {K} component{'s' * (K > 1)} to {n} points x {m} attributes of {table.source}"
    check_memory(what, needed, "choose fewer components, or take a part of its rows and columns")


def _wants_weights(request: _Request, estimator: Any) -> bool:
    learned = resolve(estimator.weighting, gamma=1.0).adaptive
    return learned if request.weights is None else request.weights


def _equal_weights(request: _Request, estimator: Any) -> bool:
    """Whether weights were learned that are all alike, and nobody has asked to see them."""
    return request.weights is None and estimator.gamma_ == np.inf


def _results(estimator: Any, X: Any, table: Table, request: _Request, entry_weights: Any) -> dict[str, Result]:
    texts = {} if table.ids is None else {"id": table.ids}
    features = table.features or tuple(f"x{j}" for j in range(X.shape[1]))
    names = tuple(map(str, estimator.get_feature_names_out()))
    codes = estimator.transform(X, weights=entry_weights)
    results = {
        "codes": Result(codes, names, texts),
        "components": Result(estimator.components_, features, {"component": np.array(names, dtype=object)}),
    }
    if _wants_weights(request, estimator) and not _equal_weights(request, estimator):
        large = is_large(table)
        found = estimator.weights(X) if large else estimator._weights_under(codes, X, weights=entry_weights)
        results["weights"] = Result(found, features, texts)
    if table.features is not None:
        estimator.feature_names_in_ = np.array(table.features, dtype=object)
    return results


def _clusters(
    codes: Array, table: Table, request: _Request, estimator: Any, results: dict[str, Result]
) -> dict[str, Any] | None:
    """k-means on the codes, and its agreement with the known classes."""
    if request.clusters is None:
        return None
    from sklearn.cluster import KMeans

    classes = None if table.labels is None else len(set(table.labels))
    count = (classes or estimator.n_components_) if request.clusters == "auto" else _count(request.clusters)
    found = KMeans(count, n_init=10, random_state=estimator.random_state).fit_predict(np.asarray(codes))
    texts = {"id": table.ids, "label": table.labels}
    known = {name: values for name, values in texts.items() if values is not None}
    results["labels"] = Result(found.astype(np.int64)[:, None], ("cluster",), known)
    measures: dict[str, Any] = {"clusters": count}
    if table.labels is not None:
        measures["accuracy"] = clustering_accuracy(table.labels, found)
        measures["normalized_mutual_information"] = normalized_mutual_information(table.labels, found)
    return measures


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise click.BadParameter(
            f"{text!r} is no number of clusters; give a whole number of at least 1, or none.", param_hint="--clusters"
        )
    return int(text)


def _summary(
    estimator: Any, model: str, table: Table, request: _Request, report: Report, measures: dict[str, Any] | None
) -> dict[str, Any]:
    summary = {
        "command": "fit",
        "input": described(table),
        "scale": request.scale,
        "model": model,
        "parameters": estimator.get_params(),
        "n_components": estimator.n_components_,
        "objective": estimator.objective_,
        "reconstruction_err": estimator.reconstruction_err_,
        "gamma": estimator.gamma_,
        "gamma_path": _path(estimator.gamma_path_),
        "iterations": estimator.n_iter_,
        "stop_reason": estimator.stop_reason_,
        "clustering": measures,
        "weights": "equal, not written: gamma is infinite" if _equal_weights(request, estimator) else None,
        "seconds": report.seconds,
        "warnings": report.warnings,
        "versions": library_versions(),
    }
    answer: dict[str, Any] = plain(summary)
    return answer


def _path(path: Any) -> dict[str, Any] | None:
    """What was tried to choose gamma."""
    if path is None:
        return None
    return {"rule": path.rule, "verdict": path.verdict, "gammas": path.gammas.tolist(), "scores": path.scores.tolist()}


def _kind(table: Table, request: _Request) -> str:
    """How results are written; refused where that, or what else is asked for, cannot be done by blocks."""
    kind = request.to or (table.kind if table.kind in ("csv", "tsv", "parquet") else "npy")
    if is_large(table):
        check_kind(kind)
        for option in ("report", "pictures", "entry_weights"):
            if getattr(request, option):
                raise click.UsageError(
                    f"--{option.replace('_', '-')} needs a table in memory, and {table.source} is read by blocks."
                )
    return kind


def _write(
    estimator: Any,
    results: dict[str, Result],
    table: Table,
    request: _Request,
    kind: str,
    summary: dict[str, Any],
    X: Any,
) -> None:
    """Fill the folder; `summary` learns the names of the files."""
    with atomic_folder(request.output, request.force) as folder:
        for name, result in results.items():
            if isinstance(result.values, Blocks):
                result.values.save(folder / f"{name}.{kind}")
                continue
            with (folder / f"{name}.{kind}").open("wb") as stream:
                write_result(stream, result, kind)
        if kind == "npy" and (table.ids is not None or table.features is not None):
            names = {"ids": None if table.ids is None else list(table.ids), "features": table.features}
            _write_json(folder / "names.json", names)
        note = {"scale": request.scale, "image_size": table.image_size}
        write_estimator(estimator, folder / "model.ewnmf", note)
        if table.image_size is not None if request.pictures is None else request.pictures:
            summary["pictures"] = draw_pictures(estimator, X, table, folder, asked=request.pictures is not None)
        if request.report:
            write_report(estimator, X, table, folder / "report.html")
        summary["files"] = sorted(path.name for path in folder.iterdir())
        _write_json(folder / SUMMARY, summary)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")


def _lines(summary: dict[str, Any], output: str) -> list[str]:
    given, gamma = summary["input"], summary["gamma"]
    tuned = "" if gamma is None else f", gamma {float(gamma):.4g}"
    tuned = ", equal weights (gamma infinite)" if gamma == "inf" else tuned
    lines = [
        f"{given['file']}: {given['points']} points x {given['attributes']} attributes",
        f"{summary['model']}: {summary['n_components']} components, J* {float(summary['objective']):.8g}{tuned}, "
        f"{summary['iterations']} iterations ({summary['stop_reason']})",
    ]
    if summary["gamma_path"] is not None:
        lines.append(summary["gamma_path"]["verdict"])
    measures = summary["clustering"]
    if measures is not None:
        known = {"accuracy": "accuracy", "normalized_mutual_information": "NMI"}
        scores = "".join(f", {words} {measures[name]:.4f}" for name, words in known.items() if name in measures)
        lines.append(f"clusters: {measures['clusters']}{scores}")
    if summary.get("pictures"):
        lines.append(summary["pictures"])
    return [*lines, f"{output}: {', '.join([*summary['files'], SUMMARY])}"]
