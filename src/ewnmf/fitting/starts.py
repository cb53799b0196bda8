"""Where a run starts: factors that were given, that are drawn as in the paper, or that depend on each point alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ewnmf._types import Array
from ewnmf.fitting import checks
from ewnmf.fitting.nndsvd import nndsvd
from ewnmf.fitting.points import Points
from ewnmf.models.base import Factors
from ewnmf.naming import unknown_name
from ewnmf.problem import Problem
from ewnmf.storage.matrix import by_form, tabulated
from ewnmf.storage.priors import Priors

__all__ = ["INITS", "Starts", "draw_start", "point_numbers", "sampled_rows", "start_by_point", "uniform"]


Bits = NDArray[np.uint64]

INITS = ("random", "nndsvd", "nndsvda", "nndsvdar")

_GOLDEN = 0.3819660112501051
_STEP = np.uint64(0x9E3779B97F4A7C15)
_BLOCK_ENTRIES = 1 << 15
_FEW = 3
"""Points that a component of Convex-NMF starts from, about."""


@dataclass(frozen=True)
class Starts:
    """Start factors as the user gave them, rows as points; what is None is drawn."""

    codes: Any = None
    components: Any = None
    combinations: Any = None

    def checked(self, problem: Problem, X: Array, n_components: int) -> Starts:
        """The same as arrays of the right shape, or a sentence."""
        (n, m), K, model = X.shape, n_components, problem.model
        if model.has_combinations and self.components is not None:
            raise ValueError(
                "components cannot start model='convex-nmf', whose components are combinations of the data; "
                "give combinations (n x K) instead."
            )
        if not model.has_combinations and self.combinations is not None:
            raise ValueError(f"combinations start only model='convex-nmf', not model={model.name!r}.")
        shapes = {"codes": (n, K), "components": (K, m), "combinations": (n, K)}
        given = {name: getattr(self, name) for name in shapes}
        return Starts(
            **{
                name: None
                if start is None
                else _check_start(
                    name, start, shapes[name], X.dtype, signed=name == "components" and model.signed_basis
                )
                for name, start in given.items()
            }
        )

    def times(self, unit: float) -> Starts:
        """The same for data multiplied by `unit`, as components are."""
        if unit == 1 or self.components is None:
            return self
        _check_reach(self.components, unit)
        return replace(self, components=self.components * self.components.dtype.type(unit))

    def take(self, rows: Array) -> Starts:
        """The same for the points where `rows` is True."""
        points = {name: getattr(self, name) for name in ("codes", "combinations")}
        return replace(self, **{name: part[rows] for name, part in points.items() if part is not None})


def _check_start(name: str, start: object, shape: tuple[int, int], dtype: Any, signed: bool = False) -> Array:
    """A start factor of that shape, copied, nonnegative unless `signed`."""
    F: Array = checks.read_array(name, start, dtype=dtype, copy=True, order="C")
    if F.shape != shape:
        raise ValueError(f"{name} has shape {F.shape}, but {shape} is needed.")
    if not np.isfinite(F).all():
        raise ValueError(f"{name} has values that are NaN or infinite; give finite start values.")
    if not signed and F.min() < 0:
        raise ValueError(f"{name} has negative values, the smallest {F.min():.6g}; start values must be at least 0.")
    if not F.any():
        raise ValueError(
            f"{name} is full of zeros, from which multiplicative updates never move; give positive values."
        )
    return F


def _check_reach(components: Array, unit: float) -> None:
    """Start components whose products, and the codes that belong to them, stay in range where ``unit X`` is about 1."""
    largest = float(np.abs(components).max())
    limit = min(float(np.finfo(components.dtype).max) ** checks.LARGEST, 1e50)
    if largest * unit > limit:
        raise ValueError(
            f"components has start values up to {largest:.3g}, more than {limit:.1g} times those of X, whose products "
            f"leave the range of {components.dtype}; multiply them by a constant that brings them near X."
        )


def draw_start(
    problem: Problem,
    X: Array,
    n_components: int,
    starts: Starts,
    rng: np.random.Generator,
    P: Array | None = None,
    *,
    sized: bool = False,
) -> Factors:
    """The start in the paper's orientation: what `starts` gives, the rest uniform, as the paper draws it.

    `P` (n x m) are the prior weights of the entries. `sized` components are of the size of the data, as are those of
    problems that do not forget it.
    """
    codes, components, combinations = starts.codes, starts.components, starts.combinations
    basis_known = (combinations if problem.model.has_combinations else components) is not None
    if codes is None or not basis_known:
        drawn = uniform((n_components, X.shape[1]), rng, X.dtype)
        components = _sized(drawn, problem, Points(X, P), sized) if components is None else components
        drawn = uniform((X.shape[0], n_components), rng, X.dtype)
        codes = drawn if codes is None else codes
    if not problem.model.has_combinations:
        return Factors((components.T,), codes.T)
    if combinations is None:
        combinations = uniform(codes.shape, rng, X.dtype)
    return Factors((), codes.T, np.ascontiguousarray(combinations))


def _sized(components: Array, problem: Problem, points: Points, always: bool) -> Array:
    """Components of the size of the data's largest value, where their size matters."""
    if problem.loss.forgets_size and not problem.model.remembers_start and not always:
        return components
    sized: Array = components * components.dtype.type(points.scale)
    return sized


def start_by_point(
    problem: Problem,
    points: Points,
    n_components: int,
    init: str,
    starts: Starts,
    rng: np.random.Generator,
    *,
    sized: bool = False,
) -> Factors:
    """A start whose components are drawn first and whose codes depend on each point alone.

    So a point of weight 2 starts as the same point twice does, and the order of the points changes nothing.
    """
    if init not in (*INITS, "custom"):
        raise unknown_name("init", init, [*INITS, "custom"])
    X, K, has_combinations = points.X, n_components, problem.model.has_combinations
    if starts.codes is not None:
        return draw_start(problem, X, K, starts, rng, points.P, sized=sized)
    components = _sized(uniform((K, X.shape[1]), rng, X.dtype), problem, points, sized)
    key = rng.bytes(32)
    if init == "random" and not has_combinations:
        codes = point_numbers(X, points.P, K, key, 0.1, X.dtype, stays=True)
    elif init == "random":
        drawn = point_numbers(X, points.P, 2 * K, key, 0.1, X.dtype)
        codes = np.ascontiguousarray(drawn[:, :K])
        combinations = _of_few(drawn[:, K:], X.shape[0] if points.s is None else float(points.s.sum()))
    else:
        codes, components = nndsvd(points, K, init, rng, point_numbers(X, points.P, K, key))
        combinations = codes / codes.sum(axis=0) if points.s is None else codes / (points.s @ codes)
    if not has_combinations:
        return Factors((np.ascontiguousarray(components).T,), codes.T)
    if points.s is not None:
        combinations = combinations * points.s[:, None]
    if init != "random":
        codes = _beside(codes, components, combinations.T @ X)
    return Factors((), codes.T, np.ascontiguousarray(combinations, dtype=X.dtype))


def _beside(codes: Array, components: Array, combined: Array) -> Array:
    """The codes of components for those that are `combined` from the data in their place: products are as large."""
    sums, theirs = components.sum(axis=1), combined.sum(axis=1)
    sizes = np.divide(sums, theirs, out=np.ones_like(sums), where=theirs > 0)
    return np.asarray(codes * sizes, dtype=codes.dtype)


def _of_few(combinations: Array, count: float) -> Array:
    """Combinations of a few points each, by the largest of these numbers in [0.1, 1.1] for as many points as `count`.

    Combinations of all are the mean, each of them, and components that are alike hardly part.
    """
    with np.errstate(under="ignore"):
        shares: Array = (combinations / 1.1) ** max(1.0, count / _FEW)
    return np.maximum(shares, 1e-3 / max(1.0, count))


def uniform(shape: tuple[int, int], rng: np.random.Generator, dtype: Any) -> Array:
    """Uniform on [0.1, 1.1], as in the paper."""
    return (rng.random(shape) + 0.1).astype(dtype, copy=False)


def point_numbers(
    X: Any,
    P: Any,
    count: int,
    key: bytes,
    least: float = 0.0,
    dtype: Any = np.float64,
    *,
    stays: bool = False,
) -> Any:
    """Random numbers in [0, 1) for every point (n x count), made of `key` and of what was observed of the point alone.

    `least` is added to them; where they may stay (`stays`), they are made where the points are.

    Equal points get equal numbers, wherever they stand and however they are stored, and in whatever unit: they are made
    of the values as shares of the point's largest one, to six digits. Every share but zero gives two numbers of 64
    bits, mixed of it and of its attribute; their sums over the attributes are the state that `count` are drawn from.
    """
    seeds = np.frombuffer(hashlib.blake2b(key, digest_size=32).digest(), "<u8").astype(np.uint64)
    columns = _mix(np.arange(1, X.shape[1] + 1, dtype=np.uint64) * _STEP + seeds[0])
    steps = np.arange(1, count + 1, dtype=np.uint64) * _STEP
    marked, P = isinstance(P, Priors), P.known if isinstance(P, Priors) else P
    alike = P is not None and (P.ndim == 1 or P.strides[0] == 0)
    draw = _Draw(columns, seeds, steps, least, np.atleast_2d(P)[:1] if P is not None and alike else P, alike, marked)
    return tabulated(X, draw, count, dtype, n_entries=_BLOCK_ENTRIES, beside=count, stays=stays)


@dataclass(frozen=True, eq=False)
class _Draw:
    """Draws the numbers of some points; other processes can be sent it."""

    columns: Bits
    seeds: Bits
    steps: Bits
    least: float
    P: Array | None
    alike: bool
    """Whether all points have the same priors."""
    marked: bool = False
    """Whether entries that were not observed are NaN."""

    def __call__(self, points: Any, rows: slice) -> Array:
        hidden = np.isnan(points) if self.marked else None
        if self.P is not None:
            faint = ~(np.broadcast_to(self.P, points.shape) if self.alike else self.P[rows]).astype(bool)
            hidden = faint if hidden is None else hidden | faint
        sums_of = by_form(points, whole=_sums, stored=_sums_of_stored)
        sums = sums_of(points, hidden, self.columns, self.seeds[1])
        first, second = (_mix(lane + seed) for lane, seed in zip(sums, self.seeds[2:], strict=True))
        stream = _mix(first[:, None] + self.steps) ^ second[:, None]
        numbers: Array = np.multiply(stream >> np.uint64(11), 2.0**-53)
        if self.least:
            numbers += self.least
        return numbers


def sampled_rows(points: Points, most: int, key: bytes) -> Array:
    """Points, drawn from each alone, that have about `most` entries together: at least one."""
    n, m = points.X.shape
    lots = point_numbers(points.X, points.P, 1, key)[:, 0]
    return np.flatnonzero(lots <= max(most / (n * m), lots.min()))


def _mix(bits: Bits) -> Bits:
    """SplitMix64's finaliser, in place: every bit of the answer depends on every bit given."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, None)):
        bits ^= bits >> np.uint64(shift)
        if factor is not None:
            bits *= np.uint64(factor)
    return bits


def _sums(X: Array, hidden: Array | None, columns: Bits, seed: Any) -> tuple[Bits, Bits]:
    """The sums of the mixed shares of every point."""
    values = X.astype(np.float64)
    if hidden is not None:
        values[hidden] = 0
    largest = np.maximum(values.max(axis=1), -values.min(axis=1))
    first, second = _lanes(values, np.where(largest > 0, largest, 1)[:, None], columns, seed)
    return first.sum(axis=1), second.sum(axis=1)


def _sums_of_stored(X: Any, hidden: Array | None, columns: Bits, seed: Any) -> tuple[Bits, Bits]:
    """The same of sparse points, by the stored entries alone."""
    values, lengths = X.data.astype(np.float64), np.diff(X.indptr)
    if hidden is not None:
        values[hidden[np.repeat(np.arange(X.shape[0]), lengths), X.indices]] = 0
    filled = lengths > 0
    starts = X.indptr[:-1][filled]
    largest = np.maximum.reduceat(np.abs(values), starts) if starts.size else values
    lanes = _lanes(values, np.repeat(np.where(largest > 0, largest, 1), lengths[filled]), columns[X.indices], seed)
    sums = np.zeros((2, X.shape[0]), dtype=np.uint64)
    for total, lane in zip(sums, lanes, strict=True):
        if starts.size:
            total[filled] = np.add.reduceat(lane, starts)
    return sums[0], sums[1]


def _lanes(values: Array, largest: Array, columns: Bits, seed: Any) -> tuple[Bits, Bits]:
    """Two mixed numbers for every value and its attribute, 0 where its share is."""
    values /= largest
    values *= 2**20
    # No quotient of whole numbers lies on the border between two steps.
    values += _GOLDEN
    shares = np.floor(values, out=values).astype(np.int64).view(np.uint64)
    counts = shares != 0
    first = _mix(shares * _STEP + columns)
    first *= counts
    second = _mix(first + seed)
    second *= counts
    return first, second
