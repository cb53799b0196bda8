"""What is refused at the door, and in which words; and what is asked of gamma. Rows are points, as users have them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from ewnmf._types import Array
from ewnmf.fitting.frames import plain_array
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem
from ewnmf.storage.matrix import is_lazy, place_of
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.registry import WEIGHTINGS, with_gamma

__all__ = [
    "FLOATS",
    "LARGEST",
    "RELATIVE",
    "GammaRequest",
    "check_count",
    "check_finite",
    "check_fixed",
    "check_gamma",
    "check_grid",
    "check_heaviest",
    "check_mask",
    "check_matrix",
    "check_n_components",
    "check_products",
    "check_reach",
    "check_share",
    "check_strength",
    "check_tol",
    "check_values",
    "check_vector",
    "check_weights",
    "read_array",
]


def read_array(name: str, value: object, **how: Any) -> Any:
    """An array of numbers, whatever form it came in; what is not finite is for others to see."""
    return check_array(plain_array(name, value), ensure_all_finite=False, input_name=name, **how)


FLOATS = [np.float64, np.float32]


def check_matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """``X`` (n x m) as an array or CSR matrix of floats, its attributes learned by `reset`, else those of `fit`."""
    return validate_data(estimator, X, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False, reset=reset)


def check_count(parameter: str, value: object, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{parameter}={value!r} must be an integer of at least {least}.")
    return int(value)


def check_tol(tol: object) -> float:
    """A finite number of at least 0."""
    if isinstance(tol, bool) or not isinstance(tol, Real) or not 0 <= float(tol) < math.inf:
        raise ValueError(f"tol={tol!r} must be a finite number of at least 0; 0 means: run all max_iter iterations.")
    return float(tol)


def check_strength(parameter: str, value: object, largest: float | None = None) -> float:
    """A finite number of at least 0 and, where that is given, at most `largest`."""
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not 0 <= number < math.inf or (largest is not None and number > largest):
        range_ = "a finite number of at least 0" if largest is None else f"a number from 0 to {largest:g}"
        same = " or 'same'" if parameter == "alpha_H" else ""
        raise ValueError(f"{parameter}={value!r} must be {range_}{same}.")
    return number


def check_share(share: object) -> float:
    """A number between 0 and 1."""
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        raise ValueError(f"share={share!r} must be a number above 0 and below 1, such as 0.1.")
    return float(share)


def check_n_components(n_components: object, n_features: int, *starts: Array | None) -> int:
    """An integer of at least 1; ``"auto"`` takes it from a given start, else all features, as None does."""
    if isinstance(n_components, str) and n_components == "cv":
        raise ValueError(
            "n_components='cv' is for the estimators; give the number that ewnmf.select_rank(X).chosen finds."
        )
    if isinstance(n_components, str) and n_components != "auto":
        raise unknown_name("n_components", n_components, ["auto", "cv"])
    if n_components is None:
        return n_features
    if isinstance(n_components, str):
        sizes = [start.shape[1] for start in starts if start is not None]
        return sizes[0] if sizes else n_features
    return check_count("n_components", n_components)


LARGEST = 0.33
"""Three values up to this power of the largest number can be multiplied, and the products summed."""
_REACH = {64: 2.0**430, 32: 2.0**100}
"""Up to these, and down to their inverses, data can be brought to about one, and results back: squares in double
precision, factors in that of the data."""


_HEAVIEST = {64: 2.0**256, 32: 2.0**50}
"""Weights up to these can be summed times products of values, and in Convex-NMF times combinations, which have them."""


def _limit(X: Array, problem: Problem, unit: float | None) -> float:
    """The largest value that is taken by a fit, or by a model fitted on data that was multiplied by `unit`."""
    limits = np.finfo(X.dtype)
    if unit is None and problem.has_unit:
        return _REACH[limits.bits]
    taken: float = float(limits.max) ** LARGEST / (unit or 1.0)
    return taken


def check_reach(scale: float, dtype: Any, degree: float) -> None:
    """Refuse data of that largest value whose results, or whose losses, of that degree, would leave all numbers."""
    largest = min(_REACH[np.finfo(dtype).bits], 2.0 ** (900 / max(abs(degree), 2.0)))
    if scale < 1 / largest:
        raise ValueError(
            f"X has values of at most {scale:.3g}, whose products vanish in {dtype}; multiply X by a constant so that "
            f"the largest is above {1 / largest:.1g}."
        )
    if scale > largest:
        raise ValueError(
            f"X has values up to {scale:.3g}, whose losses overflow {dtype}; divide X by a constant so that the "
            f"largest is below {largest:.1g}."
        )


def check_heaviest(most: float, scale: float, dtype: Any) -> None:
    """Refuse data of that largest value where weights of up to `most` would leave the numbers of `dtype`."""
    if most > float(np.finfo(dtype).max) ** 0.75:
        raise ValueError(
            f"X has values of at most {scale:.3g}, whose weights of up to {most:.3g} overflow {dtype}; multiply X by a "
            "constant so that values are near one, or give it as float64."
        )


def check_finite(X: Any, extremes: tuple[float, float]) -> None:
    """Data without infinite values."""
    if any(map(math.isinf, extremes)):
        count = "" if is_lazy(X) else f" in {int(np.isinf(X.data if issparse(X) else X).sum())} entries"
        raise ValueError(
            f"X contains infinity (inf){count}{place_of(X, np.isinf)}; replace them by finite values, or by NaN where "
            "they are missing."
        )


def check_values(
    X: Array, extremes: tuple[float, float], problem: Problem, whom: str, unit: float | None = None
) -> None:
    """Finite data, of the signs that the problem can take, not too large; `unit` is that of a fitted model.

    `extremes` are the least and the largest value.
    """
    check_finite(X, extremes)
    lowest, highest = extremes
    largest, limit = max(-lowest, highest), _limit(X, problem, unit)
    if largest > limit:
        raise ValueError(
            f"X has values up to {largest:.3g}, whose products overflow {X.dtype}; divide X by a constant so that they "
            f"stay below {limit:.1g}."
        )
    if lowest < 0 and not problem.takes_negative:
        raise ValueError(
            f"Negative values in data passed to {whom}{place_of(X, _negative)}: the smallest is {lowest:.6g}, and "
            f"{_parts(problem)} needs X >= 0. Shift or clip X, or use SemiNMF (model='semi-nmf') with loss='euclidean'."
        )
    if problem.loss.needs_double and X.dtype == np.float32:
        raise ValueError(
            f"X is in single precision, whose numbers the powers of loss={problem.loss!r} leave; give X as float64."
        )
    if lowest <= 0 and problem.loss.needs_positive:
        raise ValueError(
            f"X has zeros{place_of(X, _zero)}, but loss={problem.loss!r} is infinite there; use a loss that takes "
            "zeros (alpha or beta above 0), or add a small positive number to X."
        )


def _negative(X: Array) -> Array:
    below: Array = X < 0
    return below


def _zero(X: Array) -> Array:
    zero: Array = X <= 0
    return zero


def _parts(problem: Problem) -> str:
    return f"model={problem.model.name!r} with loss={problem.loss.name!r}"


def check_weights(weights: object, X: Array, problem: Problem) -> Array | None:
    """Fixed weights (n x m): nonnegative, finite, not all zero for any point; None where the problem takes none."""
    if weights is None:
        return None
    if not problem.weighting.takes_weights:
        raise ValueError(
            f"weights= was given, but weighting={problem.weighting.name!r} does not use it; use weighting='fixed'."
        )
    A: Array = read_array("weights", weights, dtype=X.dtype)
    if A.shape != X.shape:
        raise ValueError(f"weights has shape {A.shape}, but X has shape {X.shape}; give one weight for every entry.")
    if not np.isfinite(A).all():
        raise ValueError("weights has values that are NaN or infinite; give finite weights of at least 0.")
    if A.min() < 0:
        raise ValueError(f"weights has negative values, the smallest {A.min():.6g}; give weights of at least 0.")
    empty = np.flatnonzero(~A.any(axis=1))
    if empty.size:
        raise ValueError(
            f"weights are all zero for {empty.size} point(s), the first at row {empty[0]}; drop those points or give "
            "them a positive weight."
        )
    return A


def check_mask(mask: object, shape: tuple[int, int]) -> Array | None:
    """True (or 1) where an entry was observed; None where all were."""
    if mask is None:
        return None
    found: Array = read_array("mask", mask, dtype=None)
    if found.shape != shape:
        raise ValueError(f"mask has shape {found.shape}, but X has shape {shape}; give one value for every entry.")
    if found.dtype != bool and not np.isin(found, (0, 1)).all():
        raise ValueError("mask has values other than True and False (1 and 0); give True where an entry was observed.")
    found = found.astype(bool, copy=False)
    return None if found.all() else found


def check_vector(name: str, value: object, length: int, dtype: Any) -> Array | None:
    """Weights of points or attributes: finite, of at least 0, not all 0; None where all are 1."""
    if value is None:
        return None
    if isinstance(value, Real):
        value = np.full(length, value)
    found: Array = read_array(name, value, dtype=dtype, ensure_2d=False)
    if found.shape != (length,):
        what = "point" if name == "sample_weight" else "attribute"
        raise ValueError(
            f"{name} has shape {found.shape}, but ({length},) is needed; give one weight (1D) for every {what}."
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has values that are NaN or infinite; give finite weights of at least 0.")
    if found.min() < 0:
        raise ValueError(f"{name} has negative values, the smallest {found.min():.6g}; give weights of at least 0.")
    if not found.any():
        raise ValueError(f"{name} is all zero, so that nothing can be learned; give a positive weight somewhere.")
    return None if (found == 1).all() else found


def check_products(dtype: Any, **weights: Array | None) -> None:
    """Refuse weights, by the parameters that they come from, whose products would leave the numbers of `dtype`."""
    most = {name: float(given.max()) for name, given in weights.items() if given is not None}
    heaviest, limit = math.prod(most.values()), _HEAVIEST[np.finfo(dtype).bits]
    if heaviest > limit:
        names = " times ".join(name for name, value in most.items() if value > 1)
        raise ValueError(
            f"{names} is up to {heaviest:.3g}, whose sums overflow {dtype}; divide by a constant, so that it is below "
            f"{limit:.1g}."
        )


def check_fixed(fixed: object, n_components: int, X: Array, problem: Problem) -> Array:
    """Components that stay as they are (k x m), at most `n_components` of them."""
    if fixed is None:
        return np.empty((0, X.shape[1]), X.dtype)
    why = problem.model.refuses_fixed()
    if why is not None:
        raise ValueError(f"fixed_components was given, but {why}.")
    F: Array = read_array("fixed_components", fixed, dtype=X.dtype, ensure_min_samples=0, copy=True)
    if F.shape[1] != X.shape[1]:
        raise ValueError(
            f"fixed_components has {F.shape[1]} columns, but X has {X.shape[1]} features; give one for each."
        )
    if len(F) > n_components:
        raise ValueError(
            f"fixed_components has {len(F)} rows, but n_components={n_components}, which counts them too; raise it to "
            f"{len(F)} or more."
        )
    if not np.isfinite(F).all():
        raise ValueError("fixed_components has values that are NaN or infinite; give finite values.")
    if F.size and F.min() < 0 and not problem.model.signed_basis:
        raise ValueError(
            f"fixed_components has negative values, the smallest {F.min():.6g}; give values of at least 0, or use "
            "SemiNMF."
        )
    return F


RELATIVE = (16.0, 8.0, 4.0, 2.0, 1.0, 0.5)
"""The gammas that are tried, in units of the mean loss of plain NMF. Above them weights hardly differ from equal ones,
below them most attributes of a point are lost."""

RULES = ("auto", "groups")
"""What gamma can be chosen for, by a path of fits: damage, or groups of points."""


_MULTIPLE = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?) ?x")


@dataclass(frozen=True)
class GammaRequest:
    """What the user asks of gamma: a value, a multiple of plain NMF's mean loss, or a rule and what it may try."""

    value: float | None = None
    times: float | None = None
    rule: str | None = None
    relative: tuple[float, ...] = RELATIVE
    gammas: tuple[float, ...] | None = None

    @classmethod
    def named(cls, text: str) -> GammaRequest | None:
        """``"auto"``, ``"groups"``, ``"self-tuned"``, or a multiple such as ``"4x"``; None for any other text."""
        if text in (*RULES, "self-tuned"):
            return cls(rule=text)
        found = _MULTIPLE.fullmatch(text.strip())
        try:
            times = float(found[1]) if found else math.nan
        except ValueError:
            return None
        return cls(times=times) if 0 < times < math.inf else None


_GAMMA = "a positive number, 'auto', 'groups', 'self-tuned', or a multiple of plain NMF's mean loss such as '4x'"


def check_gamma(gamma: object, weighting: object) -> GammaRequest:
    """What is asked of gamma; a weighting that brings its own gamma decides."""
    own = weighting.strength if isinstance(weighting, Weighting) else None
    _refuse_gamma(gamma, weighting)
    if isinstance(gamma, str):
        request = GammaRequest.named(gamma)
        if request is None:
            raise ValueError(f"gamma={gamma!r} must be {_GAMMA}.")
        if own is None:
            return request
        if gamma != "auto":
            raise ValueError(f"gamma={gamma!r} contradicts weighting={weighting!r}; give one of them.")
        gamma = own
    if isinstance(gamma, bool) or not isinstance(gamma, Real):
        raise TypeError(f"gamma={gamma!r} must be {_GAMMA}.")
    if gamma == 0:
        raise ValueError(
            "gamma=0 puts all the weight of a point on its best fitted attribute, from which nothing can be learned; "
            "give a positive gamma or 'auto'."
        )
    if not float(gamma) > 0:
        raise ValueError(f"gamma={gamma!r} must be {_GAMMA}.")
    if own is not None and own != gamma:
        raise ValueError(f"gamma={gamma!r} contradicts weighting={weighting!r}; give one of them.")
    return GammaRequest(float(gamma))


def _refuse_gamma(gamma: object, weighting: object) -> None:
    """A sentence where a gamma was given to a weighting that must not have one."""
    kind = WEIGHTINGS.get(weighting) if isinstance(weighting, str) else type(weighting)
    asked = not (isinstance(gamma, str) and gamma == "auto")
    if asked and kind is not None and issubclass(kind, Weighting) and kind.refuses_gamma:
        names = " or ".join(f"weighting={name!r}" for name in with_gamma())
        raise ValueError(
            f"gamma={gamma!r} was given, but weighting={weighting!r} has no gamma; leave it out, or use {names}."
        )


def check_grid(relative: Any, gammas: Any, rule: Any) -> GammaRequest:
    """The gammas to try: multiples of plain NMF's mean loss, or absolute values; the usual multiples by default."""
    if rule not in RULES:
        raise unknown_name("rule", rule, RULES)
    if relative is not None and gammas is not None:
        raise ValueError("relative and gammas were both given; give one of them.")
    name, grid = ("gammas", gammas) if gammas is not None else ("relative", relative)
    if grid is None:
        return GammaRequest(rule=rule)
    try:
        values = np.atleast_1d(np.asarray(grid, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise ValueError(f"{name}={grid!r} must be a list of positive numbers.") from None
    bad = values[~((values > 0) & np.isfinite(values))]
    if values.size == 0 or bad.size:
        found = f"has {bad[0]:g}" if bad.size else "is empty"
        raise ValueError(f"{name} {found}; give positive, finite numbers (plain NMF is always tried too).")
    ordered = tuple(float(value) for value in np.unique(values)[::-1])
    return GammaRequest(rule=rule, gammas=ordered) if name == "gammas" else GammaRequest(rule=rule, relative=ordered)
