"""scikit-learn estimators: one file a model."""

from ewnmf.estimators.convex import ConvexNMF
from ewnmf.estimators.minibatch import MiniBatchEWNMF
from ewnmf.estimators.nmf import EWNMF, NMF
from ewnmf.estimators.orthogonal import ONMF
from ewnmf.estimators.repairer import Repairer
from ewnmf.estimators.semi import SemiNMF

__all__ = ["EWNMF", "NMF", "ONMF", "ConvexNMF", "MiniBatchEWNMF", "Repairer", "SemiNMF"]
