"""Models by name."""

from __future__ import annotations

from ewnmf.models.base import Model
from ewnmf.models.convex import Convex
from ewnmf.models.nmf import NMF
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.models.semi import Semi
from ewnmf.naming import unknown_name

__all__ = ["resolve"]

_MODELS = {model.name: model for model in (NMF, Semi, Convex, Orthogonal)}


def resolve(model: str | Model) -> Model:
    """The model of that name, or the object itself."""
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        if model in _MODELS:
            return _MODELS[model]()
        raise unknown_name("model", model, _MODELS)
    raise TypeError(f"model={model!r} must be one of {', '.join(map(repr, _MODELS))} or an object of ewnmf.models.")
