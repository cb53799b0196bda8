"""scikit-learn estimators: rows of ``X`` are points, ``components_`` is the paper's ``W'``, codes are its ``H'``."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from numpy.typing import NDArray

from ewnmf import checks, parameters
from ewnmf._factorizer import Factorizer
from ewnmf.losses import Loss
from ewnmf.models import NMF as NMFModel
from ewnmf.models import Convex, Model, Orthogonal, Semi
from ewnmf.starts import Starts
from ewnmf.weights import Weighting

__all__ = ["EWNMF", "NMF", "ONMF", "ConvexNMF", "SemiNMF"]

Estimator = TypeVar("Estimator", bound=type[Factorizer])


def _documented(weighting: str) -> Any:
    """Fill the sections that all estimators have in common."""

    def fill(cls: Estimator) -> Estimator:
        text = cls.__doc__ or ""
        for mark, words in {**parameters.SECTIONS, "attributes": parameters.ATTRIBUTES}.items():
            text = text.replace(f"${mark}", words)
        cls.__doc__ = text.replace("$weighting", f'"{weighting}"')
        return cls

    return fill


@_documented("none")
class NMF(Factorizer):
    """Nonnegative matrix factorization, Eq. (1), (2): ``X ~ codes @ components_``, both nonnegative.

    Parameters
    ----------
    $parameters
    $penalties

    Attributes
    ----------
    $attributes
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
        solver: str = "mu",
        order: str = "auto",
        tol: float = 1e-5,
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


@_documented("entropy")
class EWNMF(NMF):
    """Entropy weighted nonnegative matrix factorization, Eq. (10).

    ``min sum_ij T_ij d(x_ij, y_ij) + gamma sum_ij T_ij ln T_ij`` over ``Y = codes @ components_``, both nonnegative,
    and weights ``T`` whose rows sum to one. Entries that no combination of components explains get little weight: a
    hat, a glare, a dead sensor. It protects against bad attributes of a point, not against bad points.

    Parameters
    ----------
    $parameters
    $penalties

    Attributes
    ----------
    $attributes

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
        solver: str = "mu",
        order: str = "auto",
        tol: float = 1e-5,
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


@_documented("none")
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


@_documented("none")
class ConvexNMF(Factorizer):
    """Convex-NMF: components are nonnegative combinations of data points, ``components_ = combinations_.T @ X``.

    Every loss on nonnegative data; the Euclidean loss on data of both signs.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    combinations_ : ndarray of shape (n_samples, n_components)
        The share of every point in every component.
    $attributes
    """

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, W: Any = None, U: Any = None, weights: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn the combinations of ``X`` (n x m).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows are points, without missing values.
        y : ignored
            For scikit-learn's conventions.
        W : array-like of shape (n_samples, n_components), optional
            Codes to start from, with ``init="custom"``.
        U : array-like of shape (n_samples, n_components), optional
            Combinations to start from, with ``init="custom"``.
        weights : array-like of shape (n_samples, n_features), optional
            The weights of ``weighting="fixed"``; ones where not given.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the points: one of weight 2 counts as two, one of weight 0 not at all.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, Starts(codes=W, combinations=U), weights=weights, sample_weight=sample_weight)
        return self

    def fit_transform(  # type: ignore[override]
        self, X: Any, y: Any = None, W: Any = None, U: Any = None, weights: Any = None, sample_weight: Any = None
    ) -> NDArray[Any]:
        """``fit(X).transform(X)``, to the bit; parameters as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The codes.
        """
        fitted = self.fit(X, W=W, U=U, weights=weights, sample_weight=sample_weight)
        return fitted._transform(fitted._read(X, weights=weights))

    def _may_be_missing(self) -> bool:
        return False

    def _model(self) -> Model:
        return Convex()

    def _may_be_negative(self) -> bool:
        return self.loss == "euclidean"


@_documented("none")
class ONMF(Factorizer):
    """Orthogonal NMF: nonnegative factors with orthogonal codes or components.

    Codes of new points: with ``method="hard"`` the best single component; with the other methods nonnegative codes for
    the fixed components, which are not orthogonal.

    Parameters
    ----------
    $parameters
    $orthogonal

    Attributes
    ----------
    $attributes
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
        solver: str = "mu",
        order: str = "auto",
        tol: float = 1e-5,
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
