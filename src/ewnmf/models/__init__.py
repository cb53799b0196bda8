"""Models: one file each, a model together with its update rules."""

from ewnmf.models.base import Model
from ewnmf.models.convex import Convex
from ewnmf.models.nmf import NMF
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.models.registry import resolve
from ewnmf.models.semi import Semi

__all__ = ["NMF", "Convex", "Model", "Orthogonal", "Semi", "resolve"]
