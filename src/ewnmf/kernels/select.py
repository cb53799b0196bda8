"""Which kernel works on a problem."""

from __future__ import annotations

from functools import cache

from ewnmf._warn import warn
from ewnmf.kernels.compiled.fused import FusedKernel
from ewnmf.kernels.compiled.fused_stored import FusedStoredKernel
from ewnmf.kernels.reference import Kernel
from ewnmf.kernels.stored import StoredKernel
from ewnmf.models.base import Rule
from ewnmf.problem import Problem

__all__ = ["kernel_for"]


@cache
def _numba_works() -> bool:
    """Whether compiled passes can be had; warns once where they cannot."""
    try:
        from numba import config
    except ImportError as error:  # not there, or not made for the NumPy that is
        missing = isinstance(error, ModuleNotFoundError) and error.name == "numba"
        why = "is not installed" if missing else f"cannot be imported ({error})"
        way = "install numba" if missing else "install versions of numba and NumPy that go together"
        warn(f"numba {why}, so ewnmf runs its NumPy reference, which is several times slower; {way}.", RuntimeWarning)
        return False
    return not config.DISABLE_JIT


_warned: set[type] = set()
"""The classes of losses and weightings that were warned of."""


def _warn_of_own(problem: Problem) -> None:
    """One warning for every class that only the reference can run."""
    for name, part in problem.foreign.items():
        if type(part) in _warned:
            continue
        _warned.add(type(part))
        warn(
            f"{name}={part!r} brings no scalar form of its own, so that ewnmf runs its NumPy reference, which is "
            "several times slower than its compiled code.",
            RuntimeWarning,
        )


def kernel_for(problem: Problem, rule: Rule, tiny: float) -> Kernel:
    """The fastest kernel for a problem: compiled where loss and weighting have scalar forms, else the reference."""
    compiled = _numba_works() and problem.is_known
    if _numba_works():
        _warn_of_own(problem)
    if problem.looks_at_stored(rule):
        return (FusedStoredKernel if compiled else StoredKernel)(problem, rule, tiny)
    return (FusedKernel if compiled else Kernel)(problem, rule, tiny)
