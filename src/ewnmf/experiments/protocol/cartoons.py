"""Cartoon faces made of parts, the first of them with a hat: the data of Fig. 1, which nobody owns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ewnmf._types import Array

__all__ = ["SIDE", "Cartoons", "cartoon_faces"]


SIDE = 40
N_FACES = 60
_BLUR = 0.02
_CHOICES = (("bald", "fringe", "curls"), ("round eyes", "closed eyes"), ("smile", "sad"), ("none", "glasses", "beard"))
"""Each face has one of each; some of these are no part at all."""


class Cartoons(NamedTuple):
    """Ink of every pixel in [0, 1], faces x pixels; with the hat, without it, and where it is."""

    data: Array
    clean: Array
    damaged: Array


def cartoon_faces(seed: int) -> Cartoons:
    """Faces with a head, hair or none, round or closed eyes, a mouth that smiles or does not, glasses or a beard."""
    random = np.random.default_rng(seed)
    parts = _parts()
    clean = np.zeros((N_FACES, SIDE * SIDE))
    for face in clean:
        for name in ("head", "nose", *(random.choice(names) for names in _CHOICES)):
            if name in parts:
                face += random.uniform(0.6, 1.0) * parts[name]
    clean = np.minimum(clean, 1.0)
    damaged = np.zeros(clean.shape, dtype=bool)
    damaged[0] = parts["hat"] > 0.5
    return Cartoons(np.where(damaged, 0.95, clean), clean, damaged)


def _parts() -> dict[str, Array]:
    """Name -> ink of a part, a value for every pixel."""
    y, x = (place.ravel() for place in np.mgrid[0:SIDE, 0:SIDE] / (SIDE - 1))
    face = _disc(x, y, (0.5, 0.57), (0.35, 0.4))
    locks = ((0.22, 0.33), (0.34, 0.22), (0.5, 0.18), (0.66, 0.22), (0.78, 0.33))
    lids = _both(lambda at: _ring(x, y, (at, 0.47), (0.08, 0.07), 0.03))
    return {
        "head": _ring(x, y, (0.5, 0.57), (0.33, 0.38), 0.035),
        "nose": _disc(x, y, (0.5, 0.63), (0.03, 0.055)),
        "fringe": face * _edge(0.36 - y),
        "curls": np.minimum(np.sum([_disc(x, y, place, (0.085, 0.085)) for place in locks], axis=0), 1.0),
        "round eyes": _both(lambda at: _disc(x, y, (at, 0.52), (0.045, 0.06))),
        "closed eyes": lids * _edge(y - 0.5),
        "glasses": _both(lambda at: _ring(x, y, (at, 0.52), (0.115, 0.105), 0.03)),
        "smile": _ring(x, y, (0.5, 0.7), (0.15, 0.11), 0.035) * _edge(y - 0.73),
        "sad": _ring(x, y, (0.5, 0.87), (0.13, 0.1), 0.035) * _edge(0.84 - y),
        "beard": face * _edge(y - 0.86),
        "hat": np.maximum(_box(x, y, (0.26, 0.74), (0.02, 0.3)), _box(x, y, (0.1, 0.9), (0.28, 0.37))),
    }


def _both(part: Callable[[float], Array]) -> Array:
    """A part on the left and on the right."""
    return part(0.37) + part(0.63)


def _edge(distance: Array) -> Array:
    """1 where the distance is positive, 0 where it is negative, soft between."""
    return np.clip(0.5 + distance / _BLUR, 0.0, 1.0)


def _disc(x: Array, y: Array, centre: tuple[float, float], radii: tuple[float, float]) -> Array:
    away = np.hypot((x - centre[0]) / radii[0], (y - centre[1]) / radii[1])
    return _edge((1 - away) * min(radii))


def _ring(x: Array, y: Array, centre: tuple[float, float], radii: tuple[float, float], width: float) -> Array:
    away = np.hypot((x - centre[0]) / radii[0], (y - centre[1]) / radii[1])
    return _edge(width / 2 - np.abs(away - 1) * min(radii))


def _box(x: Array, y: Array, across: tuple[float, float], down: tuple[float, float]) -> Array:
    inside = np.minimum(np.minimum(x - across[0], across[1] - x), np.minimum(y - down[0], down[1] - y))
    return _edge(inside)
