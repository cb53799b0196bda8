"""The solvers by their names: how sweeps follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from ewnmf.kernels.reference import Measure
from ewnmf.solvers.accelerated import PATIENCE, accelerated, along, beyond
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
    patience: int = 1
    """Iterations over which the fall of the objective is judged: extrapolated ones may stand still for a while."""

    @property
    def extrapolates(self) -> bool:
        """Whether steps go on from beyond the last ones."""
        return self.patience > 1


SOLVERS: dict[str, Solver] = {
    "mu": Solver(plain),
    "accelerated": Solver(partial(accelerated, onwards=beyond), patience=PATIENCE),
    "cd": Solver(plain, coordinates=True),
    "accelerated-cd": Solver(partial(accelerated, onwards=along), coordinates=True, patience=PATIENCE),
}
