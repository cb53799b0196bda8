"""Weightings: one file each."""

from ewnmf.weightings.base import Weighed, Weighting
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from ewnmf.weightings.registry import resolve
from ewnmf.weightings.uniform import Uniform

__all__ = ["Entropy", "Fixed", "Uniform", "Weighed", "Weighting", "resolve"]
