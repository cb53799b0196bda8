"""The solvers by their names: how sweeps follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from ewnmf.kernels.reference import Measure
from ewnmf.solvers.accelerated import PACE, PATIENCE, accelerated, along, beyond
from ewnmf.solvers.orders import Run, State, plain

__all__ = ["AUTO", "SOLVERS", "Solver"]

AUTO = "auto"
"""The solver that is chosen for a problem, by the driver."""


@dataclass(frozen=True)
class Solver:
    """How sweeps follow each other, and by which steps."""

    iterate: Callable[[Run, int, str], Iterator[tuple[State, Measure]]]
    """From a run, the number of iterations and the order of the first one: after each, the state and its measure."""
    coordinates: bool = False
    """Whether the steps are those of coordinate descent."""
    pace: float = 1.0
    """Iterations of the plain steps that one is worth: it is asked for as many times the fall of the objective."""
    patience: int = 1
    """Iterations over which the fall of the objective is judged: extrapolated ones may stand still for a while."""
    extrapolates: bool = False
    """Whether steps go on from beyond the last ones."""


SOLVERS: dict[str, Solver] = {
    "mu": Solver(plain),
    "accelerated": Solver(partial(accelerated, onwards=beyond), pace=PACE, patience=PATIENCE, extrapolates=True),
    "cd": Solver(plain, coordinates=True),
    "accelerated-cd": Solver(
        partial(accelerated, onwards=along), coordinates=True, patience=PATIENCE, extrapolates=True
    ),
}
