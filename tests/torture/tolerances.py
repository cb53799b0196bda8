"""How far rounding may carry each property: by rounding, or by a floor or bound that docs/about/design.md states.

With ``eps`` the spacing of the dtype, ``n x m`` the shape of the data and ``K`` components, sums of products have a
relative error of about ``sqrt(n + m + K) eps``, and ``u = 16 sqrt(n + m + K) eps`` is the unit below. ``S`` is the
total of ``v^degree`` under the weights (of a loss the prior ones, of ``E`` those that are learned, which sum to one),
``v`` being the larger of ``|x|`` and of ``|codes| |components|``, whose terms may cancel. Alpha divergences below 1
take powers ``1 / alpha``, or logarithms in their place: ``L``, the smaller of ``1 / alpha`` and of the data's largest
``|ln x|``, enlarges ``u``. Factors do not fall below floors (docs/about/design.md), so that nothing is said of
values below `floor` of the data's scale; ``F`` is what reconstructions of that height cost.

=================  ====================================================================================================
property           what is allowed
=================  ====================================================================================================
descent            ``E`` may rise by 1e-12 of its first value, plus ``u^2 S``, what rounding leaves of an exact fit.
                   In single precision by ``u E + 2 u sqrt(E S) + u^2 S``: what a relative error ``u`` of every
                   reconstructed value does to ``E``. Both plus ``F``. Coordinate descent measures ``E`` by products
                   of the size of ``S``: ``16 eps S`` more.
finite             nothing
nonnegative        nothing
weights            rows sum to one within ``u``; exactly 0 where nothing was observed
unchanged          nothing: all arguments keep their bytes
threads            nothing: the same bits for 1 and 2 threads, in blocks of 16 points
layout             nothing: the same bits for every order in memory of dense data
file               nothing: the same bits from a model that was saved and loaded
fit_transform      nothing: the same bits as `fit` and `transform`
compiled, sparse,  after 1 to 5 iterations each array may differ by ``u`` of its largest entry (factors, times what they
units, repetition  are multiplied with, and reconstructions by ``u`` of the data's largest too), plus `AMPLIFIED` times
                   what it changes by when every number that goes in moves by up to `SHAKE` units in its last place
                   (the larger of two such trials): no way of computing can be closer than the data is. ``E`` and
                   losses also by ``u E + 2 u sqrt(E S) + u^2 S + F``, a gamma that is a multiple of a mean loss by
                   as many times that. Where that is more than `UNDECIDED` of reconstruction, ``E``, loss and score,
                   nothing is said, nor of losses that powers were held back for.
=================  ====================================================================================================

Where two answers differ by more, `MORE_SHAKES` trials are made instead of `SHAKES`: a tie (equal losses under a gamma
below their rounding, a step that is taken or not) comes out one way or the other by chance, and of two trials both do
as the first in one case of four. Where the answer depends on no tie, the largest of many moves is hardly larger than
that of two. Attributes of no weight (sums that components are divided by are below the normal numbers) are then left
out, and with them sums over all attributes: what components are divided by has no digits there. So are weights of
entries of which data and reconstruction are at the floor, where gamma times ``u`` is below what that costs; of entropy
weights those of the whole point.

Codes by least squares solve systems ``W' diag(c) W``, of a condition that is the square of the data's: where answers
differ, `AMPLIFIED` times what the reference's changes by is allowed, too, when these systems move by `SHAKE` units in
their last place (the largest of `SYSTEM_SHAKES` trials). Where a fit is exact but for ``u^2 S``, and gamma is no more
than ``u^2`` of the data's scale, weights are made of rounding, and nothing is said.

Weighted Semi-NMF corrects its basis: the error is that of the old one, larger than the new by up to ``1 / ridge``, the
most that a step can shrink it by. ``u`` is multiplied by what the basis has shrunk by since the start, up to that.

L1 sums roots of losses, which a relative error ``u`` of all values moves by ``u E + 2 u S`` at most, ``S`` being the
total of ``v^(degree / 2)``; in double precision ``E`` may rise by 1e-12 of its first value plus ``32 eps L S``.
Semi-NMF's basis solves systems with a ridge ``r``: along a direction of their eigenvalue ``v`` what it reconstructs has
the error ``eps sqrt(v) / (v + r)``, at most ``eps / (2 sqrt(r))``, so that it is ``32 eps L S / (2 sqrt(r))`` there.
Beta divergences take powers of values, as exponentials of logarithms: ``L`` is the largest ``|ln x|`` times the larger
of ``|b|`` and ``|b - 2|``, and ``v^degree`` is ``y^b + x y^(b-1)``.

Sparse: an attribute that is 0 everywhere costs nothing in sparse data, and what floors cost in dense data. Where gamma
is below ``f^degree / u``, ``f`` being ``K`` times `floor` of the data's scale, entropy weights tell the two apart.

Units: floors of codes have none, nor have any in single precision. Where there is a difference, and the fit is made in
the unit of the data (2^-20 to 2^20; beyond, it is brought to one, floors and all), floors are moved by up to that unit:
nothing is said of entries and sums that show it. Nor, where there is one, of components that have grown to where
Semi-NMF ends them (`models.semi.within_reach`), which has no unit either, nor of anything where an attribute has weight
(as above) in one of the units alone. Where the fit is brought to one, components that are no normal numbers in the
other unit are given as few digits in this one. Lagrange's and Stiefel's components are of norm one, and their start
does not follow the data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["AMPLIFIED", "SHAKE", "UNDECIDED", "floor", "held", "rounding", "slack", "unit"]

AMPLIFIED = 100.0
SHAKE = 4.0
SHAKES, MORE_SHAKES, SYSTEM_SHAKES = 2, 24, 8
UNDECIDED = 0.1


def unit(dtype: Any, *sizes: int) -> float:
    """``u``, the relative error that is allowed for sums of products of these sizes."""
    return 16 * math.sqrt(sum(sizes)) * float(np.finfo(dtype).eps)


def floor(dtype: Any) -> float:
    """Values below this share of the data's scale are as good as 0."""
    return 1e-50 if np.finfo(dtype).bits == 64 else 1e-28


def held(dtype: Any) -> float:
    """Losses above this, in the unit of the data, had powers held back for them (docs/about/design.md)."""
    return 1e-4 * math.sqrt(float(np.finfo(dtype).max))


def slack(E: Any, S: float, u: float) -> Any:
    """What a relative error `u` of all reconstructed values does to ``E`` at most."""
    return u * E + 2 * u * np.sqrt(np.maximum(E, 0)) * math.sqrt(S) + u * u * S


def rounding(E: Any, S: float, dtype: Any, u: float) -> Any:
    """By how much each of the falling values `E` may lie above the one before it."""
    return 1e-12 * E[0] + u * u * S if np.finfo(dtype).bits == 64 else slack(E[:-1], S, u)
