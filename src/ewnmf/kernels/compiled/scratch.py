"""Buffers that compiled code works in, kept from one block to the next."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.kernels.compiled import loaded
from ewnmf.kernels.compiled.records import Room, Slots, Tiles

__all__ = ["Scratch"]


class Scratch(threading.local):
    """Buffers of one thread, by name; what is written stays until the name is asked for again."""

    def __init__(self) -> None:
        self._buffers: dict[str, Array] = {}
        self._room: tuple[Any, Room | None] = (None, None)

    def __reduce__(self) -> tuple[type[Scratch], tuple[()]]:
        return Scratch, ()  # a copy elsewhere has buffers of its own

    def take(self, name: str, shape: tuple[int, int], dtype: Any) -> Array:
        size = shape[0] * shape[1]
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)

    def room(self, K: int, m: int, dtype: Any) -> Room:
        """The buffers of a sweep; those of the last one where it was alike."""
        kind = K, m, dtype
        known, room = self._room
        if room is None or known != kind:
            group, take = loaded.sweeps().GROUP, self.take
            room = Room(
                A=take("group A", (group, m), dtype),
                Y=take("group Y", (group, m), dtype),
                NP=take("NP", (group, 2 * m), dtype),
                O=take("O", (2 * group, K), dtype),
                scaled=take("scaled", (group, K), dtype),
                rows=take("rows", (2, m), dtype),
                factors=take("factors", (1, group), dtype)[0],
            )
            self._room = kind, room
        return room

    def tiles(self, K: int, m: int, dtype: Any) -> Tiles:
        """The buffers of a sweep by tiles."""
        n, width, take = loaded.wide().POINTS, loaded.wide().TILE, self.take
        return Tiles(
            A=take("group A", (n, m), dtype),
            Y=take("group Y", (n, width), dtype),
            NP=take("NP", (2 * n, width), dtype),
            O=take("O", (2 * n, K), dtype),
            scaled=take("scaled", (n, K), dtype),
            rows=take("rows", (2, width), dtype),
            factors=take("factors", (1, n), dtype)[0],
            lowest=take("lowest", (1, n), dtype)[0],
            sums=take("sums", (n, 3), np.float64),
        )

    def slots(self, shape: tuple[int, ...], dtype: Any) -> Slots:
        """The buffers of rounds of least squares."""
        (m, K), take, n, stretch = shape, self.take, loaded.least_squares().SLOTS, loaded.least_squares().STRETCH
        pairs = K * (K + 1) // 2
        return Slots(
            Y=take("slots Y", (n, m), dtype),
            C=take("slots C", (n, m), np.float64),
            R=take("slots R", (n, m), np.float64),
            Q=take("slots Q", (K, n), np.float64),
            V=take("slots V", (pairs, n), np.float64),
            pairs=take("pairs", (stretch, pairs), np.float64),
            rows=take("rows", (2, m), dtype),
            losses=take("losses", (1, m), dtype)[0],
        )
