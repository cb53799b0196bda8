"""The chunks of a Dask array on the workers of a cluster: who looks after which."""

from __future__ import annotations

import logging
import math
import pickle
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, cast

import numpy as np

from ewnmf import __version__
from ewnmf._types import Array
from ewnmf.io.source import import_extra
from ewnmf.storage import visits
from ewnmf.storage.base import Answer
from ewnmf.storage.visits import How

__all__ = ["Fleet", "Version", "check_workers", "default_client"]

_REFRESH = 1.0
"""Seconds after which it is asked again which workers there are."""
_LOG = logging.getLogger("ewnmf")


class Fleet:
    """The chunks of one data set on the workers of a cluster, and who looks after which of them.

    A chunk stays with its worker while that lives: there its codes are. Tasks may be moved nevertheless.
    """

    def __init__(self, client: Any, parts: list[Any], lengths: Sequence[int], losses: list[int] | None = None) -> None:
        self.client, self.parts, self.lengths = client, parts, list(lengths)
        self.edges = np.cumsum([0, *lengths])
        self.fit, self.losses = uuid.uuid4().hex, [] if losses is None else losses
        """How many blocks were lost each time, also of what was made of these points."""
        self.live: weakref.WeakSet[Version] = weakref.WeakSet()
        weakref.finalize(self, _forget, client, self.fit)
        self._workers: dict[str, int] = {}
        self._asked = -math.inf
        self._owner: list[str | None] = [None] * len(parts)

    def visit(self, how: How, work: Callable[[Any], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """``work(chunk)`` on every chunk, one task for each worker; the answers added in a tree."""
        live, n = frozenset(version.number for version in self.live), len(self.parts)
        tasks = []
        for worker, numbers in self._groups().items():
            parts, key = [self.parts[i] for i in numbers], f"ewnmf-{type(work).__name__.lower()}-{uuid.uuid4().hex}"
            how_to_run = {"workers": [worker], "allow_other_workers": True, "pure": False, "key": key}
            tasks.append(
                self.client.submit(visits.visit, self.fit, live, numbers, parts, how, work, add, n, **how_to_run)
            )
        tree = visits.Tree(n, add)
        lost = 0
        for packed in self.client.gather(tasks):
            nodes, missing = pickle.loads(packed)
            lost += missing
            for (level, place), (answer,) in sorted(nodes.items(), key=lambda node: node[0]):
                tree.put(level, place, answer)
        if lost:
            self.losses.append(lost)
            self._asked = -math.inf
            _LOG.warning("The codes of %d of %d blocks were lost with a worker, and made anew.", lost, n)
        return cast(Answer, tree.root)

    def _alive(self) -> dict[str, int]:
        """The threads of every worker; asked for now and then, since tasks for one that has gone are moved anyway."""
        now = time.monotonic()
        if now - self._asked > _REFRESH:
            self._workers, self._asked = dict(self.client.nthreads()), now
        return self._workers

    def _groups(self) -> dict[str, list[int]]:
        """The chunks of every worker, in order; those without one go where their points are, or where least is."""
        alive = self._alive()
        if not alive:
            raise RuntimeError("The Dask cluster has no workers; start some, then fit again.")
        orphans = [i for i, owner in enumerate(self._owner) if owner not in alive]
        if orphans:
            load = dict.fromkeys(alive, 0)
            for i, owner in enumerate(self._owner):
                if owner in load:
                    load[owner] += self.lengths[i]
            where = self.client.who_has([self.parts[i] for i in orphans])
            share = sum(self.lengths) / sum(alive.values())
            for i in orphans:
                there = [w for w in where.get(self.parts[i].key, ()) if load.get(w, math.inf) < share * alive[w]]
                owner = min(there or load, key=lambda worker: load[worker] / alive[worker])
                self._owner[i] = owner
                load[owner] += self.lengths[i]
        groups: dict[str, list[int]] = {}
        for i, owner in enumerate(self._owner):
            assert owner is not None
            groups.setdefault(owner, []).append(i)
        return groups

    def with_parts(self, parts: list[Any], lengths: Sequence[int]) -> Fleet:
        """Other chunks, made of these."""
        return Fleet(self.client, parts, lengths, self.losses)

    def by_chunk(self, rows: Array) -> dict[int, Array]:
        """Sorted rows of all points as rows of their chunks."""
        numbers = np.searchsorted(self.edges, rows, "right") - 1
        return {int(i): rows[numbers == i] - self.edges[i] for i in np.unique(numbers)}


def _forget(client: Any, fit: str) -> None:
    """Free the codes of a fit in the workers, as far as these can be reached; nobody waits for it."""
    if client.status == "running":
        client.loop.add_callback(client._run, visits.forget, fit, wait=False, on_error="ignore")


class Version:
    """Codes of that number, which workers free when nobody refers to it."""

    _numbers = count()

    def __init__(self, fleet: Fleet) -> None:
        self.number = next(self._numbers)
        fleet.live.add(self)


def default_client() -> Any:
    import_extra("distributed", "distributed", "Fitting a Dask collection", extra="cluster")
    from distributed import get_client

    try:
        return get_client()
    except ValueError as error:
        raise RuntimeError(
            "X is a Dask collection, and there is no client of a cluster; start one with "
            "client = distributed.Client(), which makes a local one."
        ) from error


def check_workers(client: Any) -> None:
    """Refuse workers without the package, or with another version of it."""
    try:
        found = client.run(visits.version)
    except Exception as error:
        raise RuntimeError(
            f"A worker of the Dask cluster cannot import ewnmf {__version__} ({error}); install it there."
        ) from error
    others = {worker: version for worker, version in found.items() if version != __version__}
    if others:
        worker, version = next(iter(others.items()))
        raise RuntimeError(
            f"The worker {worker} has ewnmf {version}, and here is {__version__}; install the same version everywhere."
        )
