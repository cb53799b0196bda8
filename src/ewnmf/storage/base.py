"""What a storage is: points, the codes of a run beside them, and the pieces of work that both are given.

A solver hands over a piece of work: a kernel's function with a basis and a weighting, which is called with a block of
points and the codes of that block. Sums come back, added in the order of the blocks, and the new codes stay. A member
of this folder says where that happens: points and codes in memory, in a file, or in the memory of other machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.reference import Measure, Swept
from ewnmf.models.base import Basis, Block, Facts, Rule, Stats
from ewnmf.problem import Problem
from ewnmf.storage.threads import Workers

__all__ = ["Answer", "Codes", "Storage"]

Answer = TypeVar("Answer")


class Codes(ABC):
    """The codes ``H`` (K x N) of all points at one moment of a run, and in Convex-NMF the combinations ``U`` (N x K).

    They never change. Work that moves them makes other ones, and a run goes back by going on with those it had; what
    nobody refers to any more is free to be used again. Several runs may hold codes of the same points.
    """

    @property
    def losses(self) -> int:
        """How often codes of the run were lost so far and made anew; from then on they are others than they were."""
        return 0

    @abstractmethod
    def sweep(self, work: Callable[..., Swept], *, keep: bool = False) -> tuple[Codes, Stats, Measure]:
        """``work(block, H)`` on every block: the codes that it made, its summed statistics and its summed measure.

        With `keep`, and where there is room, it is ``work(block, H, kept=kept)``: it finds the weights that the sweep
        before this one left and leaves its own (`Kept`). They are a cache that goes from these codes to the new ones.
        """

    @abstractmethod
    def combine(self, work: Callable[[Block, Array], tuple[Array, Basis]]) -> tuple[Codes, Basis]:
        """``work(block, U)`` on every block and its combinations (b x K): those that it made, and the summed basis."""

    @abstractmethod
    def blend(self, before: Codes, function: Callable[[Array, Array], Array]) -> Codes:
        """``function(H, H_before)``, entry by entry, of these codes and earlier ones of the same run."""

    @abstractmethod
    def fold(self, work: Callable[[Block, Array], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """The answers of ``work(block, H)``, added in the order of the blocks; the codes stay as they are."""

    @abstractmethod
    def tabulate(self, work: Callable[[Block, Array], Array], n_rows: int) -> Array:
        """The columns (`n_rows` x b) that ``work(block, H)`` makes of its points, side by side (`n_rows` x N)."""

    @abstractmethod
    def read(self) -> tuple[Array, Array | None]:
        """All of ``H`` and ``U``, to be handed out."""


class Storage(ABC):
    """Points, as columns of ``X`` (M x N), with priors ``P`` (M x N) and point weights ``s`` (N).

    They do not change, and runs share them. Where they are cut into blocks depends on their shape and dtype alone. Only
    work gets to see ``X`` and ``P``, in blocks.
    """

    s: Array | None

    @property
    @abstractmethod
    def n_points(self) -> int:
        """N."""

    @property
    @abstractmethod
    def mass(self) -> float:
        """The prior weight of all entries, ``sum s P``."""

    @property
    @abstractmethod
    def tiny(self) -> float:
        """Reconstructions below this count as this where a loss divides by them."""

    @property
    @abstractmethod
    def sparse(self) -> bool:
        """Whether zeros are not stored and have no priors of their own."""

    @abstractmethod
    def facts(self, problem: Problem) -> Facts:
        """What the update rules may know of the data."""

    def part(self, cut: slice) -> Storage:
        """Some consecutive points, with what is known of all, where they can be had."""
        raise ValueError("X cannot be taken in batches where it is; fit it with EWNMF or NMF instead.")

    @abstractmethod
    def thin(self, problem: Problem, rule: Rule) -> Storage:
        """The same data in blocks that stay sparse, where the problem and its rule allow it."""

    def of_each_point(self, function: Callable[[Array], Array], H: Any) -> Any:
        """``function(H)`` of the codes that a run starts from (K x N), which works on every point alone."""
        return function(H)

    def norms(self, H: Any) -> Array:
        """The Euclidean norms of the rows of codes ``H`` (K x N), points by their weights, in double precision."""
        H = H.astype(np.float64, copy=False)
        return np.asarray(np.linalg.norm(H if self.s is None else H * np.sqrt(self.s), axis=1))

    @abstractmethod
    def hold(self, H: Array, U: Array | None = None, *, workers: Workers, whole: bool = False) -> Codes:
        """Codes of a run that starts from ``H`` (K x N) and ``U`` (N x K); `whole` where all points are one block.

        `workers` are the threads of this process, for members that compute in it.
        """

    @abstractmethod
    def tabulate(
        self, work: Callable[[Block], Array], n_rows: int, dtype: Any, *, workers: Workers, width: int
    ) -> Array:
        """The columns (`n_rows` x b) that ``work(block)`` makes of `width` points at a time, side by side."""
