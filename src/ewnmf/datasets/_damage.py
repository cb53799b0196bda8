"""Known damage in any table, by kind and strength, made from a seed."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ewnmf.datasets._arguments import check_share, is_a, random_of, shape_of_image
from ewnmf.datasets._scaling import as_points
from ewnmf.naming import unknown_name

__all__ = ["DAMAGES", "make_damage"]

Array = NDArray[Any]
_STRENGTHS = {"mild": 0.25, "medium": 0.5, "strong": 1.0}
_BURST = 4
"""Points that a burst lasts."""


class Reach(NamedTuple):
    """How much is damaged, and how far off it is; None where a kind has no such thing."""

    share: float
    extent: float | None = None
    amount: float | None = None


class Scene(NamedTuple):
    """The points (n x m), what an image looks like, and the values between which each attribute lies."""

    X: Array
    shape: tuple[int, int] | None
    low: Array
    high: Array
    random: Any

    @property
    def span(self) -> Array:
        """What there is between least and largest value."""
        return self.high - self.low

    def some(self, count: int, share: float) -> Array:
        """Which of `count`: a share of them, at least one if that is not 0."""
        chosen: Array = self.random.permutation(count)[: _part(count, share)]
        return chosen

    def start(self, count: int, length: int) -> int:
        """Where something of that length begins among `count`."""
        return int(self.random.uniform() * (count - length + 1))


def make_damage(
    X: Any,
    kind: str,
    *,
    strength: str | float = "medium",
    share: float | None = None,
    extent: float | None = None,
    amount: float | None = None,
    image_shape: tuple[int, int] | None = None,
    random_state: Any = None,
) -> tuple[Array, NDArray[np.bool_]]:
    """A damaged copy of X (n x m), and the mask of the values that are no longer what they were.

    Missing values (NaN) stay missing, attributes without negative values stay without, and `X` is not changed.

    ===================  ====================================================================  =====  ======  ======
    kind                 what happens                                                          share  extent  amount
    ===================  ====================================================================  =====  ======  ======
    ``blocks``           a block somewhere in a point, all least or all largest values         0.30   0.14
    ``bands``            the same place in many points at its least values: sunglasses         0.30   0.19
    ``swapped``          pairs of a point's values change places                               0.30   0.20
    ``salt-and-pepper``  single entries at their least or largest value                        0.05
    ``dead``             a column reads 0 for a while                                          0.25   0.30
    ``stuck``            a column stays at one of its values for a while                       0.25   0.30
    ``saturated``        a column stays at its largest value for a while                       0.25   0.30
    ``drifting``         a column goes astray, ever farther                                    0.25   0.30    0.60
    ``bursting``         a column is shaken, a few points at a time                            0.25   0.30    0.60
    ``gain``             a column is multiplied, or divided, by ``1 + amount`` for a while     0.25   0.30    0.50
    ``faults``           every damaged column has one of the last six kinds                    0.25   0.30    0.60
    ===================  ====================================================================  =====  ======  ======

    The numbers are those of medium strength: the share of the points (first three kinds), entries or columns that are
    hit; the extent, which is the share of such a point's or column's entries, one next to the other; and how far values
    go, in units of the column's range.

    Parameters
    ----------
    X : array-like of shape (n, m)
        Rows are points; for the kinds that happen to columns, in the order of time.
    kind : str
        One of those above (`DAMAGES` has them all).
    strength : {"mild", "medium", "strong"} or float, default="medium"
        Share, extent and amount together; as a number above 0 up to 1, where mild is 0.25 and medium 0.5.
    share, extent : float, optional
        In place of what `strength` says, from 0 to 1.
    amount : float, optional
        In place of what `strength` says, above 0.
    image_shape : (int, int), optional
        Rows and columns of an image, where points are images, pixels row by row: blocks are then rectangles, bands
        cross the image from left to right, and least and largest values are those of all pixels. By default blocks and
        bands are runs of columns, and each column has its own least and largest value.
    random_state : int, RandomState, Generator or None, default=None
        Source of places and values.

    Returns
    -------
    damaged : ndarray of shape (n, m)
        In single precision where `X` is, else double.
    mask : bool ndarray of the same shape
        True exactly where the value is another one than in `X`.

    Examples
    --------
    >>> import numpy as np
    >>> from ewnmf.datasets import make_damage
    >>> X = np.arange(1.0, 13.0).reshape(4, 3)
    >>> damaged, mask = make_damage(X, "dead", share=0.3, extent=0.5, random_state=0)
    >>> int(mask.sum()), damaged[mask].tolist()
    (2, [0.0, 0.0])
    """
    if sparse.issparse(X):
        raise TypeError("X is sparse; make_damage needs a dense table, such as X.toarray().")
    if kind not in _KINDS:
        raise unknown_name("kind", kind, _KINDS)
    given = as_points(X, missing=True)
    reach = _reach(kind, strength, share=share, extent=extent, amount=amount)
    clean = np.asarray(given, dtype=given.dtype if given.dtype == np.float32 else np.float64)
    scene = _scene(clean, image_shape, random_of(random_state))
    damaged = clean.copy()
    _KINDS[kind](scene, reach, damaged)
    np.copyto(damaged, np.abs(damaged), where=(np.fmin.reduce(clean, axis=0) >= 0)[None])
    damaged[np.isnan(clean)] = np.nan
    return damaged, (damaged != clean) & ~np.isnan(clean)


def _scene(clean: Array, image_shape: tuple[int, int] | None, random: Any) -> Scene:
    shape = None if image_shape is None else shape_of_image(clean.shape[1], image_shape)
    low, high = (np.nan_to_num(end.reduce(clean, axis=0)) for end in (np.fmin, np.fmax))
    if shape is not None:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    return Scene(clean, shape, low, high, random)


def _reach(kind: str, strength: Any, **given: Any) -> Reach:
    """What `strength` means for the kind, and what was given in place of that."""
    usual = _REACH[kind]
    level = _STRENGTHS.get(strength) if isinstance(strength, str) else strength
    if level is None or not is_a(Real, level) or not 0 < level <= 1:
        names = ", ".join(map(repr, _STRENGTHS))
        raise ValueError(f"strength={strength!r} must be one of {names} or a number above 0 up to 1.")
    known = [0.0, *_STRENGTHS.values()]
    found = {name: float(np.interp(level, known, [0, *at])) for name, at in usual.items()}
    for name, value in given.items():
        if value is None:
            continue
        if name not in usual:
            raise ValueError(f"{name}={value!r} was given, but kind={kind!r} has none; leave it out.")
        found[name] = _amount(value) if name == "amount" else check_share(name, value)
    return Reach(**found)


def _amount(amount: Any) -> float:
    if not is_a(Real, amount) or not 0 < amount < np.inf:
        raise ValueError(f"amount={amount!r} must be a number above 0, in units of a column's range.")
    return float(amount)


def _part(count: int, share: float | None) -> int:
    """How many of `count` a share is, at least one if it is not 0."""
    return 0 if not share else max(1, round(share * count))


def _blocks(scene: Scene, reach: Reach, damaged: Array) -> None:
    rows, columns = scene.shape or (1, damaged.shape[1])
    side = (reach.extent or 0.0) ** (0.5 if rows > 1 else 1)
    height, width = _part(rows, side if rows > 1 else 1), _part(columns, side)
    for point in scene.some(len(damaged), reach.share):
        place = np.zeros((rows, columns), dtype=bool)
        top, left = scene.start(rows, height), scene.start(columns, width)
        place[top : top + height, left : left + width] = True
        colour = scene.high if scene.random.uniform() < 0.5 else scene.low
        np.copyto(damaged[point], colour, where=place.ravel())


def _bands(scene: Scene, reach: Reach, damaged: Array) -> None:
    rows, columns = scene.shape or (damaged.shape[1], 1)
    height = _part(rows, reach.extent)
    top = scene.start(rows, height)
    place = slice(top * columns, (top + height) * columns)
    damaged[scene.some(len(damaged), reach.share), place] = scene.low[place]


def _salt_and_pepper(scene: Scene, reach: Reach, damaged: Array) -> None:
    hit = scene.random.uniform(size=damaged.shape)
    np.copyto(damaged, scene.low[None], where=hit < reach.share / 2)
    np.copyto(damaged, scene.high[None], where=(hit >= reach.share / 2) & (hit < reach.share))


def _swapped(scene: Scene, reach: Reach, damaged: Array) -> None:
    for point in scene.some(len(damaged), reach.share):
        there = np.flatnonzero(~np.isnan(scene.X[point]))
        pairs = max(1, _part(there.size, reach.extent) // 2) if reach.extent else 0
        drawn = there[scene.random.permutation(there.size)]
        one, other = drawn[:pairs], drawn[pairs : 2 * pairs]
        one = one[: other.size]
        damaged[point, one], damaged[point, other] = scene.X[point, other], scene.X[point, one]


class Stretch(NamedTuple):
    """What happens to one column (n) for a while."""

    column: Array
    low: float
    high: float
    amount: float
    random: Any

    @property
    def span(self) -> float:
        """The column's range; the size of its values where it has none, and 1 where they are 0."""
        return (self.high - self.low) or abs(self.high) or 1.0


def _dead(stretch: Stretch) -> Array:
    return np.zeros_like(stretch.column)


def _stuck(stretch: Stretch) -> Array:
    seen = stretch.column[~np.isnan(stretch.column)]
    return np.full_like(stretch.column, seen[0] if seen.size else 0)


def _saturated(stretch: Stretch) -> Array:
    return np.full_like(stretch.column, stretch.high)


def _drifting(stretch: Stretch) -> Array:
    """Up or down; where there are no negative values, up alone."""
    up = stretch.low >= 0 or stretch.random.uniform() < 0.5
    slope = np.arange(1, stretch.column.size + 1) / stretch.column.size
    return stretch.column + (1 if up else -1) * stretch.amount * stretch.span * slope


def _bursting(stretch: Stretch) -> Array:
    count = stretch.column.size
    shaken = np.arange(count) // _BURST % 2 == 0
    return stretch.column + np.where(shaken, stretch.amount * stretch.span * stretch.random.normal(size=count), 0)


def _gain(stretch: Stretch) -> Array:
    factor = 1 + stretch.amount
    return stretch.column * (factor if stretch.random.uniform() < 0.5 else 1 / factor)


_FAULTS: dict[str, Callable[[Stretch], Array]] = {
    "dead": _dead,
    "stuck": _stuck,
    "saturated": _saturated,
    "drifting": _drifting,
    "bursting": _bursting,
    "gain": _gain,
}


def _columns(*faults: Callable[[Stretch], Array]) -> Callable[[Scene, Reach, Array], None]:
    """A share of the columns, each with one of these faults for a while."""

    def damage(scene: Scene, reach: Reach, damaged: Array) -> None:
        n, m = damaged.shape
        length = _part(n, reach.extent)
        for j in scene.some(m, reach.share):
            fault = faults[int(scene.random.uniform() * len(faults))]
            rows = slice(start := scene.start(n, length), start + length)
            ends = float(scene.low[j]), float(scene.high[j])
            stretch = Stretch(scene.X[rows, j].astype(np.float64), *ends, reach.amount or 0.0, scene.random)
            damaged[rows, j] = fault(stretch) if length else scene.X[rows, j]

    return damage


_KINDS: dict[str, Callable[[Scene, Reach, Array], None]] = {
    "blocks": _blocks,
    "bands": _bands,
    "swapped": _swapped,
    "salt-and-pepper": _salt_and_pepper,
    **{name: _columns(fault) for name, fault in _FAULTS.items()},
    "faults": _columns(*_FAULTS.values()),
}
DAMAGES = tuple(_KINDS)
"""The kinds of `make_damage`."""

_COLUMNS, _STAY = (0.1, 0.25, 0.4), (0.15, 0.3, 0.45)
_FAR = (0.3, 0.6, 1.2)
_REACH: dict[str, dict[str, tuple[float, float, float]]] = {
    "blocks": {"share": (0.15, 0.3, 0.5), "extent": (1 / 16, 9 / 64, 1 / 4)},
    "bands": {"share": (0.15, 0.3, 0.45), "extent": (1 / 8, 3 / 16, 3 / 8)},
    "swapped": {"share": (0.15, 0.3, 0.5), "extent": (0.1, 0.2, 0.4)},
    "salt-and-pepper": {"share": (0.02, 0.05, 0.15)},
    **{name: {"share": _COLUMNS, "extent": _STAY} for name in ("dead", "stuck", "saturated")},
    **{name: {"share": _COLUMNS, "extent": _STAY, "amount": _FAR} for name in ("drifting", "bursting", "faults")},
    "gain": {"share": _COLUMNS, "extent": _STAY, "amount": (0.25, 0.5, 1.0)},
}
"""Mild, medium and strong."""
