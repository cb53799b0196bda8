"""The solvers by their names: how sweeps follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ewnmf.kernels.reference import Measure
from ewnmf.solvers.accelerated import accelerated
from ewnmf.solvers.orders import Run, State, plain

__all__ = ["SOLVERS", "Solver"]

Solver = Callable[[Run, int, str], Iterator[tuple[State, Measure]]]
"""From a run, the number of iterations and the order of the first one: after each, where the run is and its measure."""

SOLVERS: dict[str, Solver] = {"mu": plain, "accelerated": accelerated}
