"""What compiled code is handed, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

from ewnmf._types import Array, Float64

__all__ = ["Before", "Bounds", "Given", "How", "Left", "Room", "Slots", "StoredEntries", "Systems", "Tiles", "Work"]


class StoredEntries(NamedTuple):
    """The entries of a block that are not zero, point after point, each point's in the order of its attributes."""

    data: Array
    indices: Array
    indptr: Array


class Given(NamedTuple):
    """A block, rows as points. ``P`` may be None, an empty ``s`` stands for ones; `constant` are its weights.

    Weights that depend on the losses leave `constant` empty. Where only `stored` entries are to be looked at they are
    there, else None.
    """

    X: Array
    P: Array | None
    s: Array
    silent: int
    constant: Array
    stored: StoredEntries | None = None


class How(NamedTuple):
    """The scalar forms of a loss and of a weighting; the latter is not asked where weights are constant."""

    loss: Any
    weighting: Any


class Before(NamedTuple):
    """What the weights before the basis moved came from."""

    given: Given
    how: How
    Wt: Array


class Bounds(NamedTuple):
    """The least code, the largest factor of a step, the largest code, and the penalty on the codes."""

    floor: float
    cap: float
    most: float
    linear: float
    ridge: float


class Work(NamedTuple):
    """What a sweep starts from: the product's address, codes (b x K), ``W'`` (K x M) and the bounds of a step."""

    gemm: int
    codes: Array
    Wt: Array
    bounds: Bounds


class Room(NamedTuple):
    """Buffers for a group of points: weights, ``Y``, pulls side by side, their products, codes, two rows, factors."""

    A: Array
    Y: Array
    NP: Array
    O: Array
    scaled: Array
    rows: Array
    factors: Array


class Tiles(NamedTuple):
    """Buffers for points of which a tile is made at a time: whole weights, the tile's ``Y`` and pulls, their products.

    Pulls have two rows a point. Then codes, two rows, factors, least losses, and three sums of every point.
    """

    A: Array
    Y: Array
    NP: Array
    O: Array
    scaled: Array
    rows: Array
    factors: Array
    lowest: Array
    sums: Float64


class Left(NamedTuple):
    """Where a sweep leaves its answers: new codes, sums, and every point's ``J*``, ``E`` and loss (3 x b)."""

    new: Array
    S: Array
    seen: Float64


class Systems(NamedTuple):
    """What systems of least squares are made of: ``W'`` and ``W``, half the penalty, and the largest code.

    Systems are made in double precision: where few entries have weight, single would choose between solutions at
    random. `pairs` (M x K(K+1)/2) are the products of the entries of every row of ``W``; where they are too large it is
    empty.
    """

    gemm: int
    Wt: Array
    double_gemm: int
    double_Wt: Float64
    rows: Float64
    pairs: Float64
    linear: float
    ridge: float
    most: float


class Slots(NamedTuple):
    """Buffers for the points that are solved together, a row each.

    Reconstructions, weights of the systems and pulled residuals; the products of these and the systems have a column
    each. Then products of pairs of components, two rows, and losses.
    """

    Y: Array
    C: Float64
    R: Float64
    Q: Float64
    V: Float64
    pairs: Float64
    rows: Array
    losses: Array
