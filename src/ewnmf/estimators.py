"""scikit-learn estimators: rows of ``X`` are points, ``components_`` is the paper's ``W'``, codes are its ``H'``."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from numpy.typing import NDArray

from ewnmf import checks
from ewnmf._factorizer import Factorizer
from ewnmf.losses import Loss
from ewnmf.models import NMF as NMFModel
from ewnmf.models import Convex, Model, Orthogonal, Semi
from ewnmf.starts import Starts
from ewnmf.weights import Weighting

__all__ = ["EWNMF", "NMF", "ONMF", "ConvexNMF", "SemiNMF"]

Estimator = TypeVar("Estimator", bound=type[Factorizer])

_PARAMETERS = """n_components : int, "auto" or "cv", default="auto"
        Number of components; ``"auto"`` takes it from a custom start, else the number of features. ``"cv"`` chooses it
        by entries that are held out of short fits, see `ewnmf.select_rank` (not for `ConvexNMF` and orthogonal methods
        that take no weights).
    loss : {"euclidean", "kullback-leibler", "alpha"} or Loss, default="euclidean"
        What a wrong entry costs.
    alpha : float, default=0.5
        Parameter of ``loss="alpha"``: any real number; values of at most 0 need data without zeros.
    weighting : {"entropy", "fixed", "none"} or Weighting, default=$weighting
        ``"entropy"``: a weight for every attribute of every point, learned with the factors. ``"fixed"``: the weights
        given to `fit`. ``"none"``: all entries alike.
    gamma : float, "auto", "self-tuned" or a text like "4x", default="auto"
        Strength of the entropy term, in the unit of the loss: small values trust few attributes, infinity trusts all
        alike. ``"auto"`` fits several from the first start and takes the one whose codes agree best with the
        neighbourhoods of the data, or plain NMF (an infinite gamma) where none is clearly better; at most 8 fits, and
        less than one more on large data, where a subsample decides. ``"self-tuned"`` settles 8 times the mean loss
        during the first half of the run, at no cost. ``"4x"`` is 4 times the mean loss of plain NMF: a number without
        unit, from about ``"16x"`` (mild) to ``"1x"`` (strong). See docs/choosing-gamma.md.
    feature_weight : array-like of shape (n_features,), default=None
        Prior importance of the attributes, at least 0: their weights in the loss, and before learning those of
        ``weighting="entropy"``. They hold for new points too.
    fixed_components : array-like of shape (k, n_features), default=None
        The first k components, which stay as they are, to the bit, while `fit` learns the others. Not for `ConvexNMF`
        and orthogonal components.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"}, default="random"
        ``"random"`` is uniform on [0.1, 1.1], as in the paper; the codes of a point are drawn from the point itself, so
        that order and repetition of points change nothing.
    n_init : int, default=1
        Number of starts; the one with the lowest objective is kept.
    solver : {"mu", "accelerated"}, default="mu"
        ``"mu"``: the paper's multiplicative updates. ``"accelerated"`` (`EWNMF` and `NMF`): the same from extrapolated
        points, which needs about a quarter of the iterations for the same objective. It goes lower than ``"mu"`` ever
        does; at small gamma that is not always good for clustering, so it is not the default.
    order : {"auto", "components-first", "codes-first"}, default="auto"
        Which factor moves first in an iteration. ``"auto"`` is ``"codes-first"`` for `EWNMF` and `NMF`, which needs one
        pass less over the data and leads to the same solutions, and ``"components-first"`` for the others.
    tol : float, default=1e-5
        Stop when an iteration lowers the objective by at most this share of its distance to its bound; 0 runs all
        iterations.
    max_iter : int, default=300
        Iterations at the most, for a start and for the codes of a point in `transform`.
    n_jobs : int, default=None
        Threads; None means all usable cores. The result is the same for every number.
    random_state : int, RandomState or None, default=None
        Source of the starts.
    verbose : int, default=0
        1 writes the progress to standard error."""

_PENALTIES = """alpha_W : float, default=0.0
        Strength of the penalty on the codes (scikit-learn's ``W``), times the number of features.
    alpha_H : float or "same", default="same"
        Strength of the penalty on the components (``H``), times the number of samples; ``"same"`` is `alpha_W`.
    l1_ratio : float, default=0.0
        The share of the L1 norm in both penalties; the rest is half the squared L2 norm. ``loss="alpha"`` takes 1 only.
        The unweighted cost is scikit-learn's (twice that for the Euclidean loss); under other weightings penalties are
        multiplied by the mean weight of an entry, so that a value means the same everywhere."""

_ATTRIBUTES = """components_ : ndarray of shape (n_components, n_features)
        The basis.
    n_components_ : int
        Number of components.
    rank_path_ : RankPath
        The candidates and their scores; with ``n_components="cv"`` only.
    gamma_ : float or None
        The gamma of the entropy weighting, infinite where plain NMF is the answer.
    gamma_path_ : GammaPath or None
        What ``gamma="auto"`` tried, and how it scored.
    n_iter_ : int
        Iterations of the best start.
    objective_ : float
        The objective ``J*`` of the best start.
    loss_curve_ : ndarray
        ``J*`` after every iteration at the final gamma.
    reconstruction_err_ : float
        Norm of the error of the run's own factors: the Frobenius norm for the Euclidean loss, else the square root of
        twice the divergence, as in scikit-learn.
    stop_reason_ : {"converged", "max_iter", "callback", "interrupted"}
        Why the best start ended.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where ``X`` had them."""


def _documented(weighting: str) -> Any:
    """Fill the sections that all estimators have in common."""

    def fill(cls: Estimator) -> Estimator:
        text = cls.__doc__ or ""
        for mark, words in (("parameters", _PARAMETERS), ("penalties", _PENALTIES), ("attributes", _ATTRIBUTES)):
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
    method : {"hard", "soft", "lagrange", "stiefel"}, default="hard"
        ``"hard"`` (exactly orthogonal) and ``"soft"`` (a penalty on overlaps; Euclidean and KL) descend under every
        weighting. ``"lagrange"`` (Ding et al., 2006; the paper's baseline) and ``"stiefel"`` (Choi, 2008) are Euclidean
        and unweighted, and may rise.
    of : {"codes", "components"}, default="codes"
        Which factor is orthogonal.
    mu : float, default=1.0
        ``"soft"``: strength of the penalty, times the mean weight.
    lam : float, default=1.0
        ``"soft"``: ridge on the other factor, times the mean weight.

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
