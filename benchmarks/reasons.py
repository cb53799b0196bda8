"""What stands in the way of the targets that may be missed; printed beside the misses, after a look at the profile."""

from __future__ import annotations

__all__ = ["why"]

REASONS = {
    "EWNMF.transform": (
        "scikit-learn solves one system for all points; here every point has another one in each of about six rounds "
        "of weights. The first multiplicative steps, which choose the solution that a point goes to, take about a "
        "quarter of the time; of the rounds, exponentials, sums of the systems and sets of free components take most."
    ),
    "gamma chosen": (
        "the trials are fits: one of plain NMF, one for every gamma until the trimmed loss rises, and the fit that is "
        "kept; each goes to a coarser end, and costs about what scikit-learn's fit does, or more."
    ),
    "plain NumPy's": (
        "more than half of the time is the compiled sweep over rows that are short for vectors; a call of it costs "
        "some microseconds for its arguments, the rest is Python between two iterations (basis step, stopping, "
        "measures), which larger data does not notice."
    ),
    "scikit-learn mu's": (
        "two thirds of the time are two passes over the stored entries in machine code, about as fast as SciPy's; the "
        "rest is NumPy on codes, of which the objective is a part: scikit-learn does not look at it without a tol."
    ),
    "EWNMF / scikit-learn": (
        "without weights a step has two products of the size of the data, since a Gram matrix serves all points; with "
        "them it has six, and an exponential for every entry. Three times the time of two products is the bound where "
        "BLAS runs at the same share of its peak, and it runs at a lower one on 32 points at a time."
    ),
    "EW-KL / scikit-learn": (
        "both need WH and a quotient for every entry; weights add two products, a logarithm and an exponential, which "
        "the compiled loops make up for where their vectors are as wide as BLAS's."
    ),
    "transcription / EWNMF": (
        "with 50 components the six products are half of an iteration (Xeon) to nearly all of it (EPYC), in the "
        "transcription too, and both call the same BLAS: the table below has their time alone."
    ),
    "peak": (
        "products with 20 components read and write nearly as much as they compute; six of them through NumPy stand "
        "beside it, and the square product that is the peak has no such shape."
    ),
    "time to the same": (
        "the first iterations are plain, so that weights find what to distrust, and the end is that of 300 iterations "
        "of the transcription, which a large gamma and few points reach soon."
    ),
    "doubles": (
        "all blocks have one size and cost the same, so that time follows their number; the table of growth shows how "
        "far the ratio of two sizes moves by what else the machine does."
    ),
    "first fit of a fresh install": (
        "machine code is compiled once: about forty small functions pass through Numba's types and lowering, which is "
        "half of the time, and LLVM optimises them and what they are linked to, which is the other half."
    ),
}
"""By a part of the target's name."""


def why(what: str) -> str:
    """The reason, or nothing."""
    return next((reason for part, reason in REASONS.items() if part in what.replace("`", "")), "")
