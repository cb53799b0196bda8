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
from ewnmf.experiments import plan
from ewnmf.experiments.cost import Estimator
from ewnmf.experiments.data import check_available
from ewnmf.experiments.plan import Limits, planned
from ewnmf.experiments.runner import Outcome, missing, run
from ewnmf.experiments.spec import DATASETS, Spec
from ewnmf.experiments.store import Store

__all__ = ["reproduce"]

STORE_NAME = "results.sqlite"
_AT_LEAST_1 = click.IntRange(min=1)
_FAILED, _INTERRUPTED = 2, 130


@click.command(context_settings={"show_default": True})
@click.argument("targets", nargs=-1)
@click.option("--quick", is_flag=True, help="A small part of the protocol: minutes instead of hours.")
@click.option("--jobs", type=_AT_LEAST_1, default=None, help="Processes.  [default: one for each core]")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("reproduction"), help="Folder of store and results."
)
@click.option("--data", type=click.Path(), default=None, help="Folder of the data.  [default: EWNMF_DATA]")
@click.option("--download", is_flag=True, help="Download data sets that are missing.")
@click.option(
    "--seeds", type=_AT_LEAST_1, help="The first so many seeds (Tables 2, 3, Figs. 2-4, occlusion, auto-gamma)."
)
@click.option("--draws", type=_AT_LEAST_1, help="The first so many draws of categories (Figs. 5-9).")
@click.option("--clusters", type=click.IntRange(min=2), help="The largest number of clusters (Figs. 5-9).")
@click.option("--tries", type=click.IntRange(1, len(plan.GAMMAS)), help="So many gammas, and tries of NMF.")
@click.option("--without", type=click.Choice(DATASETS), multiple=True, help="A data set to leave out.")
@click.option("--render", "draw_only", is_flag=True, help="Draw from the store, run nothing.")
@click.option("--no-render", is_flag=True, help="Run only, draw nothing.")
@click.option("--list", "list_only", is_flag=True, help="Show the targets, what is stored, and the time it takes.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def reproduce(targets: tuple[str, ...], quick: bool, **options: Any) -> int:
    """Make the tables and figures of the paper from the real data.

    TARGETS are table1 to table3, fig2 to fig11, occlusion, auto-gamma, or all. Every run is stored as soon as it is
    finished, so the same command goes on after an interruption; at the end the tables and figures are drawn from the
    store.
    """
    limits = Limits(**{name: options[name] for name in ("seeds", "draws", "clusters", "tries", "without")})
    out, home = options["out"], options["data"]
    named = plan.resolve(targets)
    if options["draw_only"] and options["no_render"]:
        raise click.UsageError("--render and --no-render cannot both be given.")
    if options["list_only"]:
        return _list(named or plan.resolve(["all"]), quick, limits, out, home)
    if options["draw_only"]:
        return _render(named or plan.resolve(["all"]), out)
    if not named:
        raise click.UsageError(f"name what to reproduce: all, or some of {', '.join(plan.TARGETS)}.")
    specs = planned(named, quick, limits)
    _check(specs, out, home, download=options["download"], drawn=not options["no_render"])
    jobs = options["jobs"] or cpu_count()
    code = _run(specs, out, home, jobs, quiet=options["quiet"])
    return code if options["no_render"] or code == _INTERRUPTED else max(code, _render(named, out))


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


def _run(specs: Sequence[Spec], out: Path, home: str | None, jobs: int, *, quiet: bool) -> int:
    """Make what is missing; the exit code."""
    with Store.open(out / STORE_NAME) as store:
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


def _render(targets: Sequence[str], out: Path) -> int:
    """Draw the targets from the store."""
    _check_drawing()
    from ewnmf.experiments.render import render

    with Store.open(out / STORE_NAME, create=False) as store:
        written = render(store, targets, out)
    for path in written:
        click.echo(str(path))
    return 0


def _list(targets: Sequence[str], quick: bool, limits: Limits, out: Path, home: str | None) -> int:
    """Targets with their runs, how many are stored, and the time that the others take on one core."""
    path = out / STORE_NAME
    keys: set[str] = set()
    if path.exists():
        with Store.open(path, create=False) as store:
            keys = store.keys()
    estimator = Estimator(home)
    click.echo(f"{'target':10} {'runs':>6} {'stored':>6} {'left, one core':>15}  what it shows")
    rows = [(name, plan.TARGETS[name].description, [name]) for name in targets]
    for name, description, names in [*rows, ("together", "runs that targets share are made once", list(targets))]:
        specs = planned(names, quick, limits)
        left = [spec for spec in specs if spec.key not in keys]
        time = duration(sum(map(estimator.seconds, left)))
        click.echo(f"{name:10} {len(specs):6} {len(specs) - len(left):6} {time:>15}  {description}")
    return 0
