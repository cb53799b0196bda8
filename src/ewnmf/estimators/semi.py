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

    See Also
    --------
    $related

    Examples
    --------
    >>> import numpy as np
    >>> from ewnmf import SemiNMF
    >>> X = np.random.default_rng(0).normal(size=(20, 6))
    >>> model = SemiNMF(n_components=2, tol=1e-3, random_state=0).fit(X)
    >>> bool((model.transform(X) >= 0).all()), bool((model.components_ < 0).any())
    (True, True)
    """

    def _model(self) -> Model:
        return Semi()

    def _may_be_negative(self) -> bool:
        return True
