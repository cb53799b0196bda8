"""Weightings: one file each."""

from ewnmf.weightings.base import Weighed, Weighting
from ewnmf.weightings.concave import L1, Cauchy, Huber, Welsch
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from ewnmf.weightings.registry import resolve
from ewnmf.weightings.uniform import Uniform

__all__ = ["L1", "Cauchy", "Entropy", "Fixed", "Huber", "Uniform", "Weighed", "Weighting", "Welsch", "resolve"]
