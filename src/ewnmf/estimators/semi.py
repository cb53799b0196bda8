"""Semi-NMF."""

from __future__ import annotations

from ewnmf.estimators.base import Factorizer
from ewnmf.estimators.documented import documented
from ewnmf.models.base import Model
from ewnmf.models.semi import Semi

__all__ = ["SemiNMF"]


@documented
class SemiNMF(Factorizer):
    """Semi-NMF: nonnegative codes; data and components may be negative. Euclidean loss only.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    $attributes
    """

    def _model(self) -> Model:
        return Semi()

    def _may_be_negative(self) -> bool:
        return True
