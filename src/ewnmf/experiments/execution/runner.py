"""Make the runs that a store does not have; every row is stored before the next one is waited for."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from ewnmf import __version__
from ewnmf.experiments.execution.store import Store
from ewnmf.experiments.execution.workers import Crew, Failed, Finished, Lost, Started
from ewnmf.experiments.protocol.spec import Row, Spec

__all__ = ["Outcome", "Watcher", "missing", "run"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


class Watcher(Protocol):
    """Is called as the runs go; `tick` comes at least once a second."""

    def started(self, spec: Spec) -> None:
        """A run has begun."""

    def finished(self, spec: Spec, seconds: float) -> None:
        """A run is in the store."""

    def lost(self, spec: Spec) -> None:
        """The process of a run was killed; the run will be made again."""

    def failed(self, spec: Spec, reason: str) -> None:
        """A run cannot be made; the others go on."""

    def tick(self) -> None:
        """Time has passed."""


@dataclass(frozen=True)
class Outcome:
    """Runs that are now in the store because of this call, and those that failed, with the reason."""

    stored: int
    failures: dict[Spec, str]


def missing(specs: Sequence[Spec], store: Store) -> list[Spec]:
    """The specs without a row, in their order."""
    keys = store.keys()
    return [spec for spec in specs if spec.key not in keys]


def run(specs: Sequence[Spec], store: Store, watcher: Watcher, *, jobs: int = 1, home: str | None = None) -> Outcome:
    """Make the runs of `specs` that are missing in `store`, in `jobs` spawned processes of one thread each.

    The figures and arrays of a run do not depend on `jobs`. On Ctrl-C, as on any error, the rows that were finished
    are in the store, and a second call goes on from there. Another process may add rows meanwhile.

    Parameters
    ----------
    specs : sequence of Spec
        Begun in this order.
    store : Store
        Where the rows go.
    watcher : Watcher
        Is called as it goes.
    jobs : int, default=1
        Processes.
    home : str, optional
        Data folder; else ``EWNMF_DATA`` and the usual places.

    Returns
    -------
    Outcome
        What was done, and what failed.
    """
    versions, stored, failures = _versions(), 0, dict[Spec, str]()
    with Crew(jobs, home) as crew:
        for event in crew.run(missing(specs, store), skip=lambda spec: spec.key in store):
            if isinstance(event, Finished):
                store.add(_row(event, versions), event.arrays)
                stored += 1
                watcher.finished(event.spec, event.seconds)
            elif isinstance(event, Started):
                watcher.started(event.spec)
            elif isinstance(event, Lost):
                watcher.lost(event.spec)
            elif isinstance(event, Failed):
                failures[event.spec] = event.reason
                watcher.failed(event.spec, event.reason)
            else:
                watcher.tick()
    return Outcome(stored, failures)


def _row(event: Finished, versions: dict[str, str]) -> Row:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Row(event.spec.key, event.spec, event.figures, event.seconds, versions, platform.node(), now)


def _versions() -> dict[str, str]:
    found = {"ewnmf": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
