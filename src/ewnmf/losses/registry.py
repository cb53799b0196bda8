"""Losses by name."""

from __future__ import annotations

from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler
from ewnmf.naming import unknown_name

__all__ = ["resolve"]

_NAMES = (Euclidean.name, KullbackLeibler.name, Alpha.name)


def resolve(loss: str | Loss, alpha: float = 0.5) -> Loss:
    """The loss of that name (``"alpha"`` takes `alpha`), or the object itself."""
    if isinstance(loss, Loss):
        return loss
    if loss == Euclidean.name:
        return Euclidean()
    if loss == KullbackLeibler.name:
        return KullbackLeibler()
    if loss == Alpha.name:
        return Alpha(alpha)
    if isinstance(loss, str):
        raise unknown_name("loss", loss, _NAMES)
    raise TypeError(
        f"loss={loss!r} must be one of {', '.join(map(repr, _NAMES))} or an object derived from losses.Loss."
    )
