"""NMF and EWNMF."""

from __future__ import annotations

from typing import Any

from ewnmf.estimators.documented import documented
from ewnmf.estimators.streaming import Streaming
from ewnmf.fitting import checks
from ewnmf.losses.base import Loss
from ewnmf.models.base import Model
from ewnmf.models.nmf import NMF as NMFModel
from ewnmf.weightings.base import Weighting

__all__ = ["EWNMF", "NMF"]


@documented
class NMF(Streaming):
    """Nonnegative matrix factorization, Eq. (1), (2): ``X ~ codes @ components_``, both nonnegative.

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
    >>> from ewnmf import NMF
    >>> X = np.random.default_rng(0).random((20, 3)) @ np.random.default_rng(1).random((3, 12))
    >>> model = NMF(n_components=3, tol=0, random_state=0)
    >>> codes = model.fit_transform(X)
    >>> codes.shape, model.components_.shape
    ((20, 3), (3, 12))
    >>> bool(np.abs(X - codes @ model.components_).max() < 0.1)
    True
    """

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        loss: str | Loss = "euclidean",
        alpha: float = 0.5,
        weighting: str | Weighting = "none",
        gamma: float | str = "auto",
        alpha_W: float = 0.0,
        alpha_H: float | str = "same",
        l1_ratio: float = 0.0,
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
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio

    def _model(self) -> Model:
        on_codes = checks.check_strength("alpha_W", self.alpha_W)
        same = isinstance(self.alpha_H, str) and self.alpha_H == "same"
        on_components = on_codes if same else checks.check_strength("alpha_H", self.alpha_H)
        return NMFModel(on_codes, on_components, checks.check_strength("l1_ratio", self.l1_ratio, 1))


@documented
class EWNMF(NMF):
    """Entropy weighted nonnegative matrix factorization, Eq. (10).

    ``min sum_ij T_ij d(x_ij, y_ij) + gamma sum_ij T_ij ln T_ij`` over ``Y = codes @ components_``, both nonnegative,
    and weights ``T`` whose rows sum to one. Entries that no combination of components explains get little weight: a
    hat, a glare, a dead sensor. It protects against bad attributes of a point, not against bad points.

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
    >>> from ewnmf import EWNMF
    >>> X = np.random.default_rng(0).random((20, 3)) @ np.random.default_rng(1).random((3, 12))
    >>> X[0, :4] = 5
    >>> model = EWNMF(n_components=3, gamma=0.05, tol=0, random_state=0).fit(X)
    >>> bool(model.weights(X)[0, :4].max() < 1e-6)
    True
    """

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        loss: str | Loss = "euclidean",
        alpha: float = 0.5,
        weighting: str | Weighting = "entropy",
        gamma: float | str = "auto",
        alpha_W: float = 0.0,
        alpha_H: float | str = "same",
        l1_ratio: float = 0.0,
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
            alpha_W=alpha_W,
            alpha_H=alpha_H,
            l1_ratio=l1_ratio,
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
