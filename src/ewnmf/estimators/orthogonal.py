"""ONMF."""

from __future__ import annotations

from typing import Any

from ewnmf.estimators.base import Factorizer
from ewnmf.estimators.documented import documented
from ewnmf.losses.base import Loss
from ewnmf.models.base import Model
from ewnmf.models.orthogonal import Orthogonal
from ewnmf.weightings.base import Weighting

__all__ = ["ONMF"]


@documented
class ONMF(Factorizer):
    """Orthogonal NMF: nonnegative factors with orthogonal codes or components.

    Codes of new points: with ``method="hard"`` the best single component; with the other methods nonnegative codes for
    the fixed components, which are not orthogonal.

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
    >>> from ewnmf import ONMF
    >>> X = np.repeat(np.eye(3), 5, axis=0) + 0.1
    >>> codes = ONMF(n_components=3, n_init=5, random_state=0).fit_transform(X)
    >>> bool(((codes > 0).sum(axis=1) == 1).all())
    True
    """

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        method: str = "hard",
        of: str = "codes",
        mu: float = 1.0,
        lam: float = 1.0,
        loss: str | Loss = "euclidean",
        alpha: float = 0.5,
        weighting: str | Weighting = "none",
        gamma: float | str = "auto",
        feature_weight: Any = None,
        fixed_components: Any = None,
        init: str = "random",
        n_init: int = 1,
        solver: str = "auto",
        order: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 300,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_components,
            loss=loss,
            alpha=alpha,
            weighting=weighting,
            gamma=gamma,
            feature_weight=feature_weight,
            fixed_components=fixed_components,
            init=init,
            n_init=n_init,
            solver=solver,
            order=order,
            tol=tol,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.method = method
        self.of = of
        self.mu = mu
        self.lam = lam

    def _model(self) -> Model:
        return Orthogonal(self.method, self.of, self.mu, self.lam)

    def _may_be_missing(self) -> bool:
        return self.method in ("hard", "soft")
