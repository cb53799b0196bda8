"""Models by name."""

from __future__ import annotations

from ewnmf.models.base import Model
from ewnmf.models.convex import Convex
from ewnmf.models.nmf import NMF
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.models.semi import Semi
from ewnmf.naming import unknown_name

__all__ = ["MODELS", "resolve"]

MODELS: dict[str, type[Model]] = {model.name: model for model in (NMF, Semi, Convex, Orthogonal)}
"""All that can be asked for by name."""


def resolve(model: str | Model) -> Model:
    """The model of that name, or the object itself."""
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        if model in MODELS:
            return MODELS[model]()
        raise unknown_name("model", model, MODELS)
    raise TypeError(f"model={model!r} must be one of {', '.join(map(repr, MODELS))} or an object of ewnmf.models.")
