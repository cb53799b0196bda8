"""Losses by name."""

from __future__ import annotations

from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss
from ewnmf.losses.beta import Beta
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler
from ewnmf.naming import unknown_name

__all__ = ["LOSSES", "resolve"]

LOSSES: dict[str, type[Loss]] = {cls.name: cls for cls in (Euclidean, KullbackLeibler, Alpha, Beta)}
"""All that can be asked for by name."""


def resolve(loss: str | Loss, alpha: float = 0.5) -> Loss:
    """The loss of that name (``"alpha"`` takes `alpha`), or the object itself."""
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(
            f"loss={loss!r} must be one of {', '.join(map(repr, LOSSES))} or an object derived from losses.Loss."
        )
    if loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    return Alpha(alpha) if loss == Alpha.name else LOSSES[loss]()
