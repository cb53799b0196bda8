"""What stands in the way of the targets that may be missed; printed beside the misses, after a look at the profile."""

from __future__ import annotations

__all__ = ["why"]

REASONS = {
    "EWNMF.transform": (
        "scikit-learn solves one system for all points; here every point has another one in every round of weights. "
        "The first multiplicative steps, which choose the solution that a point goes to, take about a fifth of the "
        "time, the rounds (weights, sums of the systems, sets of free components) most of the rest."
    ),
    "gamma chosen": (
        "the trials are fits: one of plain NMF, one for every gamma until the trimmed loss rises, and the fit that is "
        "kept; each goes to a coarser end, and costs about what scikit-learn's fit does, or more."
    ),
    "plain NumPy's": (
        "a third of the time is arithmetic; a third is Numba's unpacking of the arguments of a compiled call, the rest "
        "is Python between two iterations (stopping, measures), which larger data does not notice."
    ),
    "scikit-learn mu's": (
        "more than half of the time are passes over the stored entries in machine code, which find the objective, too; "
        "scikit-learn does not look at it without a tol. Most of the rest is Python and NumPy around them."
    ),
    "transcription / EWNMF": (
        "with 50 components the six products are nearly all of an iteration, in the transcription too, and both call "
        "the same BLAS: the table below has their time alone."
    ),
    "peak": (
        "products with 20 components read and write nearly as much as they compute; six of them through NumPy stand "
        "beside it, and the square product that is the peak has no such shape."
    ),
    "time to the same": (
        "the first iterations are plain, so that weights find what to distrust, and the end is that of 300 iterations "
        "of the transcription, which a large gamma and few points reach soon."
    ),
    "first fit of a fresh install": "machine code is compiled once, by Numba's and LLVM's passes over one function.",
}
"""By a part of the target's name."""


def why(what: str) -> str:
    """The reason, or nothing."""
    return next((reason for part, reason in REASONS.items() if part in what.replace("`", "")), "")
