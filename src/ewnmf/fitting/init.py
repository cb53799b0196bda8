"""Where the factors start: random, nndsvd and its relatives."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ewnmf._types import Array
from ewnmf.fitting.points import Points
from ewnmf.storage.matrix import by_form, contiguous, dense, row_blocks, scaled

__all__ = ["INITS", "nndsvd", "point_numbers", "uniform"]

Bits = NDArray[np.uint64]

INITS = ("random", "nndsvd", "nndsvda", "nndsvdar")


def uniform(shape: tuple[int, int], rng: np.random.Generator, dtype: Any) -> Array:
    """Uniform on [0.1, 1.1], as in the paper."""
    return (rng.random(shape) + 0.1).astype(dtype, copy=False)


_GOLDEN = 0.3819660112501051
_STEP = np.uint64(0x9E3779B97F4A7C15)
_BLOCK_ENTRIES = 1 << 15


def point_numbers(X: Any, P: Array | None, count: int, key: bytes) -> NDArray[np.float64]:
    """Random numbers in [0, 1) for every point (n x count), made of `key` and of what was observed of the point alone.

    Equal points get equal numbers, wherever they stand and however they are stored, and in whatever unit: they are made
    of the values as shares of the point's largest one, to six digits. Every share but zero gives two numbers of 64
    bits, mixed of it and of its attribute; their sums over the attributes are the state that `count` are drawn from.
    """
    seeds = np.frombuffer(hashlib.blake2b(key, digest_size=32).digest(), "<u8").astype(np.uint64)
    columns = _mix(np.arange(1, X.shape[1] + 1, dtype=np.uint64) * _STEP + seeds[0])
    steps = np.arange(1, count + 1, dtype=np.uint64) * _STEP
    numbers = np.empty((X.shape[0], count))
    for rows in row_blocks(X, _BLOCK_ENTRIES, count):
        hidden = None if P is None else ~(P[rows] > 0)
        sums = by_form(X, whole=_sums, stored=_sums_of_stored)(X[rows], hidden, columns, seeds[1])
        first, second = (_mix(lane + seed) for lane, seed in zip(sums, seeds[2:], strict=True))
        stream = _mix(first[:, None] + steps) ^ second[:, None]
        np.multiply(stream >> np.uint64(11), 2.0**-53, out=numbers[rows])
    return numbers


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


def nndsvd(
    points: Points,
    n_components: int,
    variant: str,
    rng: np.random.Generator,
    numbers: Array,
) -> tuple[Array, Array]:
    """Nonnegative double SVD (Boutsidis and Gallopoulos, 2008): the dominant signs of each singular pair.

    Points count by the weights ``s``, attributes by their mean prior, and hidden entries take the mean of what was
    observed of their attribute. Zeros would lock multiplicative updates, so they are filled. With
    ``f = sqrt(mean(X) / K)``, the size at which codes and components multiply to the data's mean: ``1e-6 f``
    (``"nndsvd"``), ``f`` (``"nndsvda"``), or random values of up to ``f / 100`` (``"nndsvdar"``; those of a point are
    the `numbers` (n x K)).
    """
    X, P, s = points.X, points.P, points.s
    if n_components > min(X.shape):
        raise ValueError(
            f"init={variant!r} needs n_components={n_components} to be at most min(n_samples, n_features)="
            f"{min(X.shape)}; use init='random'."
        )
    if points.extremes[0] < 0:
        raise ValueError(f"init={variant!r} needs nonnegative data; use init='random'.")
    rows = np.ones(X.shape[0]) if s is None else np.sqrt(s, dtype=np.float64)
    X, columns = _completed(contiguous(X), P, rows)
    left, values, right = _singular_pairs(X, rows, columns, n_components, rng)
    codes, components = np.abs(left), np.abs(right)
    for k in range(1, n_components):
        codes[:, k], components[k] = _dominant_signs(left[:, k], right[k])
    size = np.sqrt(values)
    codes = codes * size / rows[:, None]
    components = np.divide(components * size[:, None], columns, out=np.zeros(components.shape), where=columns > 0)
    mean = float(np.average(np.asarray(X.mean(axis=1, dtype=np.float64)).ravel(), weights=rows**2))
    fill = float(np.sqrt(mean / n_components)) or 1.0
    _fill_zeros(codes, variant, fill, numbers)
    _fill_zeros(components, variant, fill, rng.random(components.shape))
    return codes.astype(X.dtype, copy=False), np.ascontiguousarray(components, dtype=X.dtype)


def _completed(X: Any, P: Array | None, rows: Array) -> tuple[Any, Array]:
    """``X`` with attribute means where it is hidden, and the roots of the attributes' mean priors."""
    if P is None:
        return X, np.ones(X.shape[1])
    weights = rows[:, None] ** 2 * P
    values, total = dense(X), weights.sum(axis=0)
    means = np.divide(np.sum(weights * values, axis=0), total, out=np.zeros(X.shape[1]), where=total > 0)
    return np.where(P > 0, values, means.astype(X.dtype)), np.sqrt(total / np.sum(rows**2))


def _singular_pairs(
    X: Any, rows: Array, columns: Array, n_components: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """The leading singular pairs of ``X``, its rows and columns scaled.

    The random test vectors belong to attributes, so that order and repetition of points change nothing.
    """
    from sklearn.utils.extmath import randomized_svd

    seed = int(rng.integers(2**31))
    if (rows != 1).any() or (columns != 1).any():
        X = scaled(X, rows, columns)
    answer: tuple[Array, Array, Array] = randomized_svd(X, n_components, transpose=False, random_state=seed)
    return answer


def _dominant_signs(u: Array, v: Array) -> tuple[Array, Array]:
    """Of the pair's positive and negative parts the larger one, scaled to share its singular value's root."""
    parts = [(np.maximum(sign * u, 0), np.maximum(sign * v, 0)) for sign in (1, -1)]
    mass = [np.linalg.norm(a) * np.linalg.norm(b) for a, b in parts]
    (a, b), size = max(zip(parts, mass, strict=True), key=lambda pair: pair[1])
    if size == 0:
        return np.zeros_like(u), np.zeros_like(v)
    root = np.sqrt(size)
    return a / np.linalg.norm(a) * root, b / np.linalg.norm(b) * root


def _fill_zeros(factor: Array, variant: str, fill: float, numbers: Array) -> None:
    zeros = factor < 1e-6 * fill
    if variant == "nndsvdar":
        factor[zeros] = fill / 100 * (1 - numbers[zeros])
    else:
        factor[zeros] = fill if variant == "nndsvda" else 1e-6 * fill
