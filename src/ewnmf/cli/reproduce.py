"""``ewnmf reproduce``: the paper's tables and figures, from runs that are stored as they finish."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click
from joblib import cpu_count

from ewnmf.cli.progress import duration, watching
from ewnmf.experiments.execution.archive import Source, committed, export, read
from ewnmf.experiments.execution.checking import chosen, compared
from ewnmf.experiments.execution.cost import Estimator
from ewnmf.experiments.execution.runner import Outcome, missing, run
from ewnmf.experiments.execution.store import Store
from ewnmf.experiments.protocol import plan
from ewnmf.experiments.protocol.data import check_available
from ewnmf.experiments.protocol.plan import Limits, planned
from ewnmf.experiments.protocol.spec import DATASETS, Spec

__all__ = ["reproduce"]

STORE_NAME = "results.sqlite"
_AT_LEAST_1 = click.IntRange(min=1)
_FOLDER = click.Path(path_type=Path)
_DIFFERENT, _FAILED, _INTERRUPTED = 1, 2, 130
_LIMITS = ("seeds", "draws", "clusters", "tries", "without", "without_rules", "methods")


@click.command(context_settings={"show_default": True})
@click.argument("targets", nargs=-1)
@click.option("--quick", is_flag=True, help="A small part of the protocol: minutes instead of hours.")
@click.option("--jobs", type=_AT_LEAST_1, default=None, help="Processes.  [default: one for each core]")
@click.option("--out", type=_FOLDER, default=Path("reproduction"), help="Folder of the store, pages and pictures.")
@click.option("--data", type=click.Path(), default=None, help="Folder of the data.  [default: EWNMF_DATA]")
@click.option("--download", is_flag=True, help="Download data sets that are missing.")
@click.option(
    "--seeds", type=_AT_LEAST_1, help="The first so many seeds (Tables 2, 3, Figs. 2-4, occlusion, auto-gamma)."
)
@click.option("--draws", type=_AT_LEAST_1, help="The first so many draws of categories (Figs. 5-9).")
@click.option("--clusters", type=click.IntRange(min=2), help="The largest number of clusters (Figs. 5-9).")
@click.option("--tries", type=click.IntRange(1, len(plan.GAMMAS)), help="So many gammas, and tries of NMF.")
@click.option("--without", type=click.Choice(DATASETS), multiple=True, help="A data set to leave out.")
@click.option(
    "--method",
    "methods",
    type=click.Choice(plan.KINDS),
    multiple=True,
    help='A method to run, more than one by repeating it; "ewnmf" is that at given gammas.  [default: all]',
)
@click.option(
    "--without-rules",
    "--without-auto",
    "without_rules",
    is_flag=True,
    help='Leave out the runs that choose gamma: those of gamma="auto" and gamma="groups".',
)
@click.option("--results", type=_FOLDER, default=None, help="Folder of finished rows.  [default: the clone's results]")
@click.option("--fresh", is_flag=True, help="Start from nothing: use no finished rows but those of the store.")
@click.option("--render", "draw_only", is_flag=True, help="Draw from the store and the finished rows, run nothing.")
@click.option("--no-render", is_flag=True, help="Run only, draw nothing.")
@click.option("--check", type=_AT_LEAST_1, help="Compute so many finished rows again, and compare.")
@click.option("--check-seed", type=int, default=0, help="Draws the rows that --check computes.")
@click.option("--export", type=_FOLDER, default=None, help="Write the store's rows into a folder of finished rows.")
@click.option("--list", "list_only", is_flag=True, help="Show the targets, what is stored, and the time it takes.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def reproduce(targets: tuple[str, ...], quick: bool, **options: Any) -> int:
    """Make the tables and figures of the paper from the real data.

    TARGETS are table1 to table3, fig1 to fig11, occlusion, auto-gamma, or all. Every run is stored as soon as it is
    finished, so the same command goes on after an interruption; at the end the tables and figures are drawn from the
    store. In a clone of the repository the finished rows in its folder results are where it starts.
    """
    limits = Limits(**{name: options[name] for name in _LIMITS})
    out, home = options["out"], options["data"]
    named = plan.resolve(targets)
    everything = named or plan.resolve(["all"])
    if options["draw_only"] and options["no_render"]:
        raise click.UsageError("--render and --no-render cannot both be given.")
    if options["export"]:
        return _export(out, options["export"])
    folder = options["results"]
    if folder is not None and not folder.is_dir():
        raise click.UsageError(f"--results {folder} is no folder; name the one that holds the finished rows.")
    finished = None if options["fresh"] else options["results"] or committed()
    if options["list_only"]:
        return _list(everything, quick, limits, out, home, finished)
    if options["draw_only"]:
        return _render(everything, out, finished)
    if options["check"]:
        return _check_rows(planned(everything, quick, limits), finished, options)
    if not named:
        raise click.UsageError(f"name what to reproduce: all, or some of {', '.join(plan.TARGETS)}.")
    specs = planned(named, quick, limits)
    _check(specs, out, home, download=options["download"], drawn=not options["no_render"])
    jobs = options["jobs"] or cpu_count()
    code = _run(specs, out, home, jobs, finished, quiet=options["quiet"])
    return code if options["no_render"] or code == _INTERRUPTED else max(code, _render(named, out, finished))


def _check(specs: Sequence[Spec], out: Path, home: str | None, *, download: bool, drawn: bool) -> None:
    """Refuse before the first run what would fail after the last."""
    if drawn:
        _check_drawing()
    for dataset in dict.fromkeys(spec.dataset for spec in specs):
        check_available(dataset, home, download=download)
    try:
        out.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=out).close()
    except OSError as error:
        raise OSError(f"--out {out} cannot be written ({error.strerror}); name another folder.") from error


def _check_drawing() -> None:
    if find_spec("matplotlib") is None:
        raise ModuleNotFoundError(
            "figures need matplotlib, which is not installed; run: pip install 'ewnmf[plots]', or add --no-render."
        )


def _run(specs: Sequence[Spec], out: Path, home: str | None, jobs: int, finished: Path | None, *, quiet: bool) -> int:
    """Make what is missing; the exit code."""
    with Store.open(out / STORE_NAME) as store:
        _start_from(finished, store)
        todo = missing(specs, store)
        if not quiet:
            click.echo(f"{len(specs)} runs, {len(specs) - len(todo)} of them in {store.path}.", err=True)
        costs = dict(zip(todo, map(Estimator(home).seconds, todo), strict=True))
        try:
            with _terminable(), watching(costs, jobs, quiet=quiet) as watcher:
                outcome = run(todo, store, watcher, jobs=jobs, home=home)
        except KeyboardInterrupt:
            click.echo(f"ewnmf: interrupted; {_progress(specs, store)}.", err=True)
            return _INTERRUPTED
        except OSError as error:
            raise OSError(f"{error} ({_progress(specs, store)}.)") from error
    return _conclude(outcome)


def _progress(specs: Sequence[Spec], store: Store) -> str:
    done = len(specs) - len(missing(specs, store))
    return f"{done} of {len(specs)} runs are in {store.path}, and the same command goes on from there"


def _conclude(outcome: Outcome) -> int:
    if not outcome.failures:
        return 0
    first, reason = next(iter(outcome.failures.items()))
    click.echo(
        f"ewnmf: {len(outcome.failures)} runs failed and are not stored, the first of them {first} ({reason}); "
        "the same command tries them again.",
        err=True,
    )
    return _FAILED


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends the runs as Ctrl-C does."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread, which alone gets signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _start_from(finished: Path | None, store: Store) -> None:
    """Give a store the finished rows that it does not have."""
    if finished is not None:
        keys = store.keys()
        store.add_all(item for item in read(finished).items() if item[0].key not in keys)


@contextmanager
def _source(out: Path, finished: Path | None) -> Iterator[Source]:
    """The store with the finished rows; without a store these alone."""
    path = out / STORE_NAME
    if finished is not None and not path.exists():
        yield read(finished)
        return
    with Store.open(path, create=False) as store:
        _start_from(finished, store)
        yield store


def _render(targets: Sequence[str], out: Path, finished: Path | None) -> int:
    """Draw the targets from the store."""
    _check_drawing()
    from ewnmf.experiments.pages.render import render

    with _source(out, finished) as source:
        written = render(source, targets, out)
    for path in written:
        click.echo(str(path))
    return 0


def _export(out: Path, folder: Path) -> int:
    """Write the rows of the store into a folder of finished rows."""
    with Store.open(out / STORE_NAME, create=False) as store:
        done = export(store, folder)
    click.echo(f"{done.rows} rows are in {folder}, {done.added} of them new.")
    if done.differing:
        click.echo(
            f"ewnmf: {done.differing} rows were in {folder} with other figures and stay as they were there; "
            "remove its files to write them anew.",
            err=True,
        )
    if done.unplanned:
        click.echo(f"ewnmf: {done.unplanned} rows that belong to no target were left out.", err=True)
    return 0


def _check_rows(specs: Sequence[Spec], finished: Path | None, options: dict[str, Any]) -> int:
    """Compute some of the finished rows again; the exit code tells whether they came out the same."""
    wanted = set(specs)
    rows = [row for row in read(finished).rows() if row.spec in wanted] if finished is not None else []
    if not rows:
        raise FileNotFoundError("--check has no finished rows to compare with; name their folder with --results.")
    picked = chosen(rows, options["check"], options["check_seed"])
    todo = [row.spec for row in picked]
    for dataset in dict.fromkeys(spec.dataset for spec in todo):
        check_available(dataset, options["data"], download=options["download"])
    costs = dict(zip(todo, map(Estimator(options["data"]).seconds, todo), strict=True))
    jobs = min(options["jobs"] or cpu_count(), len(todo))
    with Store.open(":memory:") as store:
        with _terminable(), watching(costs, jobs, quiet=options["quiet"]) as watcher:
            outcome = run(todo, store, watcher, jobs=jobs, home=options["data"])
        again = {row.key: row.figures for row in store.rows()}
    found = [compared(row, again[row.key]) for row in picked if row.key in again]
    for each in found:
        click.echo(str(each))
    different = sum(bool(each.differing) for each in found)
    if different:
        click.echo(f"ewnmf: {different} of {len(found)} rows differ from those in {finished}.", err=True)
    return max(_DIFFERENT if different else 0, _conclude(outcome))


def _list(
    targets: Sequence[str], quick: bool, limits: Limits, out: Path, home: str | None, finished: Path | None
) -> int:
    """Targets with their runs, how many are stored or finished, and the time that the others take on one core."""
    path = out / STORE_NAME
    keys = {row.key for row in read(finished).rows()} if finished is not None else set()
    if path.exists():
        with Store.open(path, create=False) as store:
            keys |= store.keys()
    estimator = Estimator(home)
    click.echo(f"{'target':10} {'runs':>6} {'stored':>6} {'left, one core':>15}  what it shows")
    rows = [(name, plan.TARGETS[name].description, [name]) for name in targets]
    for name, description, names in [*rows, ("together", "runs that targets share are made once", list(targets))]:
        specs = planned(names, quick, limits)
        left = [spec for spec in specs if spec.key not in keys]
        time = duration(sum(map(estimator.seconds, left)))
        click.echo(f"{name:10} {len(specs):6} {len(specs) - len(left):6} {time:>15}  {description}")
    return 0
