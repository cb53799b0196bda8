"""EWNMF by batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ewnmf.estimators.documented import documented
from ewnmf.estimators.nmf import EWNMF
from ewnmf.estimators.streaming import FORGET
from ewnmf.fitting import checks
from ewnmf.fitting.pipeline import Settings
from ewnmf.fitting.starts import Starts
from ewnmf.losses.base import Loss
from ewnmf.solvers.minibatch import Batches
from ewnmf.weightings.base import Weighting

__all__ = ["MiniBatchEWNMF"]


@documented
class MiniBatchEWNMF(EWNMF):
    """Entropy weighted NMF whose components move after every batch of points, not after all of them.

    They move by the sums of the batch and what is left of earlier ones, so that many points need fewer passes. With one
    batch of all points and ``forget_factor=0`` it is `EWNMF` with the same solver, to the bit. ``weighting="none"`` is
    plain NMF, by coordinate descent for squared errors. The objective of a pass is what was seen on the way. `fit` also
    takes an iterator or generator of batches, which is gone through once, with `partial_fit` for each of them.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    $attributes
    n_steps_ : int
        Batches that `partial_fit` was given; `fit` does not set it.

    See Also
    --------
    $related

    Examples
    --------
    >>> import numpy as np
    >>> from ewnmf import MiniBatchEWNMF
    >>> X = np.random.default_rng(0).random((500, 3)) @ np.random.default_rng(1).random((3, 12))
    >>> model = MiniBatchEWNMF(n_components=3, gamma=0.05, batch_size=100, tol=0, max_iter=20).fit(X)
    >>> model.components_.shape
    (3, 12)
    >>> stream = (X[i : i + 100] for i in range(0, 500, 100))
    >>> MiniBatchEWNMF(n_components=3, gamma=0.05, random_state=0).fit(stream).n_steps_
    5
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
        batch_size: int = 1024,
        forget_factor: float = FORGET,
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
        self.batch_size = batch_size
        self.forget_factor = forget_factor

    def _fit(self, X: Any, starts: Starts, grid: Any = None, checkpoint: Any = None, **weighed: Any) -> None:
        """A stream goes through `partial_fit`, once; everything else several times through batches."""
        if not isinstance(X, Iterator):
            super()._fit(X, starts, grid, checkpoint, **weighed)
            return
        for name, value in {"W": starts.codes, "H": starts.components, "checkpoint": checkpoint, **weighed}.items():
            if value is not None:
                raise ValueError(f"{name} was given, but X is an iterator of batches; hand it to partial_fit instead.")
        for name in ("components_", "_sums", "n_steps_"):
            self.__dict__.pop(name, None)
        for batch in X:
            self.partial_fit(batch)
        if not hasattr(self, "components_"):
            raise ValueError("X is an iterator without any batch; give at least one.")

    def _batches(self) -> Batches:
        share = checks.check_strength("forget_factor", self.forget_factor, 1)
        return Batches(checks.check_count("batch_size", self.batch_size), share)

    def _settings(self) -> Settings:
        if self.order == "components-first":
            raise ValueError("order='components-first' cannot be combined with batches; use 'auto' or 'codes-first'.")
        return replace(super()._settings(), batches=self._batches())

    def _share_left(self) -> float:
        return self._batches().forget
