"""The solvers by their names: how sweeps follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ewnmf.kernels.reference import Measure
from ewnmf.solvers.accelerated import accelerated
from ewnmf.solvers.orders import Run, State, plain

__all__ = ["SOLVERS", "Solver"]


@dataclass(frozen=True)
class Solver:
    """How sweeps follow each other, and by which steps."""

    iterate: Callable[[Run, int, str], Iterator[tuple[State, Measure]]]
    """From a run, the number of iterations and the order of the first one: after each, the state and its measure."""
    coordinates: bool = False
    """Whether the steps are those of coordinate descent."""


SOLVERS: dict[str, Solver] = {
    "mu": Solver(plain),
    "accelerated": Solver(accelerated),
    "cd": Solver(plain, coordinates=True),
}
