"""Data with known damage, made from a seed."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from ewnmf.datasets._arguments import check_count, check_share, is_a, pair, random_of, shape_of_image
from ewnmf.datasets._scaling import as_points

__all__ = ["make_mixed_signals", "occlude"]

N_SOURCES = 2
FEWEST_SAMPLES = 16

_SIGNALS_DESCR = """\
Mixed signals with a destroyed part (the paper's Fig. 2)

clean = mixing @ sources, with {n_mixtures} mixtures of {n_sources} sources at {n_samples} times. The
sources are a half-wave sine (4 periods) and a sawtooth (7 periods), both in [0, 1]; the mixing matrix is
uniform on [0, 1]. data is clean with the first {n_damaged} samples of the first mixture replaced by noise
that is uniform between 1.5 and 2.5 times the largest clean value; damaged marks them. Everything is
nonnegative; rows are points.
"""


def make_mixed_signals(
    n_mixtures: int = 10, *, n_samples: int = 200, n_damaged: int = 20, random_state: Any = None
) -> Bunch:
    """``data = mixing @ sources`` (n_mixtures x n_samples) with the start of the first row destroyed.

    The paper's Fig. 2: two nonnegative sources, a mixing matrix uniform on [0, 1], and noise in place of the
    beginning of the first mixture. With as many mixtures as sources an exact factorization would reproduce
    the noise as well and hide it, so there must be more.

    Parameters
    ----------
    n_mixtures : int, default=10
        Number of mixtures (points), at least 3.
    n_samples : int, default=200
        Length of the signals (attributes), at least 16.
    n_damaged : int, default=20
        Number of samples destroyed at the start of the first mixture, less than `n_samples`.
    random_state : int, RandomState, Generator or None, default=None
        Source of the mixing matrix and the noise.

    Returns
    -------
    Bunch
        ``data`` and ``clean`` (n_mixtures x n_samples), ``damaged`` (bool, same shape), ``sources``
        (2 x n_samples), ``mixing`` (n_mixtures x 2), ``DESCR``.
    """
    check_count("n_mixtures", n_mixtures, N_SOURCES + 1, why=f"{N_SOURCES} sources fit {N_SOURCES} mixtures exactly")
    check_count("n_samples", n_samples, FEWEST_SAMPLES)
    check_count("n_damaged", n_damaged, 0, n_samples - 1)
    random = random_of(random_state)
    time = np.arange(n_samples) / n_samples
    sources = np.stack([np.maximum(np.sin(8 * np.pi * time), 0), 7 * time % 1])
    mixing = random.uniform(size=(n_mixtures, N_SOURCES))
    clean = mixing @ sources
    damaged = np.zeros(clean.shape, dtype=bool)
    damaged[0, :n_damaged] = True
    data = clean.copy()
    data[damaged] = clean.max() * random.uniform(1.5, 2.5, size=n_damaged)
    descr = _SIGNALS_DESCR.format(n_mixtures=n_mixtures, n_sources=N_SOURCES, n_samples=n_samples, n_damaged=n_damaged)
    return Bunch(data=data, clean=clean, damaged=damaged, sources=sources, mixing=mixing, DESCR=descr)


def occlude(
    X: Any,
    *,
    image_shape: tuple[int, int] | None = None,
    block: int | tuple[int, int] | None = None,
    fraction: float = 0.3,
    value: str | float = "black-or-white",
    random_state: Any = None,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The images X (n x rows*columns) with a block of one value on ``round(fraction * n)`` of them.

    Which images, and where in each, is drawn uniformly; the block lies wholly inside the image. `X` itself is
    not changed.

    Parameters
    ----------
    X : array-like of shape (n, rows * columns)
        One image per row, its pixels row by row.
    image_shape : (int, int), optional
        Rows and columns of an image; by default it is taken to be square.
    block : int or (int, int), optional
        Rows and columns of the block; by default three eighths of the image's, rounded down, at least 1.
    fraction : float, default=0.3
        Share of the images to occlude, in [0, 1].
    value : {"black-or-white", "black", "white"} or float, default="black-or-white"
        Black is the smallest value in `X`, white the largest; "black-or-white" draws one of them for each
        image.
    random_state : int, RandomState, Generator or None, default=None
        Source of images, places and values.

    Returns
    -------
    occluded : ndarray of shape (n, rows * columns)
        The images, with the type of `X`.
    mask : bool ndarray of the same shape
        True inside the blocks.
    """
    if sparse.issparse(X):
        raise TypeError("X is sparse; occlude needs a dense table of images, such as X.toarray().")
    images = as_points(X)
    n = len(images)
    rows, columns = shape_of_image(images.shape[1], image_shape)
    height, width = _block_shape(block, rows, columns)
    check_share("fraction", fraction)
    random = random_of(random_state)
    chosen = random.permutation(n)[: round(fraction * n)]
    top = (random.uniform(size=chosen.size) * (rows - height + 1)).astype(int)
    left = (random.uniform(size=chosen.size) * (columns - width + 1)).astype(int)
    blocks = np.zeros((n, rows, columns), dtype=bool)
    for image, r, c in zip(chosen, top, left, strict=True):
        blocks[image, r : r + height, c : c + width] = True
    mask = blocks.reshape(n, -1)
    paint = np.zeros(n, dtype=images.dtype)
    paint[chosen] = _paint(images, value, random.uniform(size=chosen.size) < 0.5)
    occluded = images.copy()
    np.copyto(occluded, paint[:, None], where=mask)
    return occluded, mask


def _paint(images: NDArray[Any], value: str | float, black: NDArray[np.bool_]) -> Any:
    """The value of the block of every occluded image."""
    lowest, highest = images.min(), images.max()
    colours = {"black-or-white": np.where(black, lowest, highest), "black": lowest, "white": highest}
    if isinstance(value, str) and value in colours:
        return colours[value]
    if isinstance(value, str) or not is_a(Real, value):
        raise ValueError(f"value={value!r} must be one of {', '.join(map(repr, colours))} or a number.")
    with np.errstate(all="ignore"):
        paint = np.asarray(value).astype(images.dtype)
    if not np.isfinite(paint) or (images.dtype.kind in "biu" and paint != value):
        raise ValueError(f"value={value!r} does not fit X of type {images.dtype}; give a finite value that does.")
    return paint


def _block_shape(block: int | tuple[int, int] | None, rows: int, columns: int) -> tuple[int, int]:
    if block is None:
        return max(1, 3 * rows // 8), max(1, 3 * columns // 8)
    height, width = pair("block", (block, block) if is_a(Integral, block) else block)
    if height > rows or width > columns:
        raise ValueError(f"block={block!r} must fit into the image of {rows} x {columns} pixels.")
    return height, width
