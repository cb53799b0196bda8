"""A run that was killed goes on: components, gamma and iteration, written to a file on the way."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.fitting.checks import GammaRequest
from ewnmf.fitting.pipeline import Job
from ewnmf.fitting.points import Points
from ewnmf.fitting.unit import times
from ewnmf.io import read_archive, write_archive
from ewnmf.models.base import Factors
from ewnmf.solvers.loop import Iteration
from ewnmf.storage.matrix import filled, gaps_of, is_lazy, tabulated
from ewnmf.storage.priors import prior_of

__all__ = ["Checkpoint"]

_EVERY = 5
"""Iterations between two checkpoints."""
_KIND = "checkpoint"
_FREE = ("max_iter", "n_init", "n_jobs", "random_state", "tol", "verbose")
"""Parameters that may differ when a run goes on."""
_CLOSE = 1e-5
_BLOCK_ENTRIES = 1 << 18


@dataclass
class Checkpoint:
    """Where a run is, in a file; a callback that writes it.

    Parameters
    ----------
    estimator : estimator
        Whose run it is; it knows the mean point of its data.
    path : path-like
        The file.
    """

    estimator: Any
    path: str | os.PathLike[str]

    def __post_init__(self) -> None:
        self.number, self.history = 0, list[float]()
        self.components: Array | None = None
        self.gamma: float | None = None
        self._known = {
            "class": type(self.estimator).__name__,
            "parameters": {name: repr(value) for name, value in self._parameters().items()},
        }
        if self.estimator.n_init != 1:
            raise ValueError(f"checkpoint was given, but n_init={self.estimator.n_init}: one run goes on, not several.")
        if self.estimator._settings().batches is not None:
            raise ValueError(
                "checkpoint was given, but batches need none: save the estimator after some, go on with partial_fit."
            )

    def _parameters(self) -> dict[str, Any]:
        given = self.estimator.get_params(deep=False)
        return {name: value for name, value in given.items() if name not in _FREE}

    def continued(self, job: Job, starts: Iterable[Factors]) -> tuple[Job, Iterator[Factors]]:
        """The job, and its start, from where the file says that it was; as they are where there is none."""
        if os.path.exists(self.path):
            self._read(job)
        job = job.watched([self])
        if self.components is None:
            return job, iter(starts)
        left = max(1, job.settings.max_iter - self.number)
        job = replace(job, settings=replace(job.settings, max_iter=left, warm=True))
        if self.gamma is not None:
            gamma = job.unit.asked.at_gamma(self.gamma).times(job.unit.value).weighting.strength
            assert gamma is not None
            job = replace(job.at(gamma), request=GammaRequest(gamma))
        return job, iter([self._start(job)])

    def _start(self, job: Job) -> Factors:
        """The components that were kept, and the codes that points have for them."""
        assert self.components is not None
        fitted = copy(self.estimator)
        fitted.components_, fitted.n_components_ = self.components, len(self.components)
        fitted._fitted_problem = job.unit.asked if self.gamma is None else job.unit.asked.at_gamma(self.gamma)
        points, K = job.points, len(self.components)
        if is_lazy(points.X):
            work = _Encode(fitted, points.unit)
            options: dict[str, Any] = {"n_entries": _BLOCK_ENTRIES, "beside": K, "stays": True}
            codes = tabulated(points.X, work, K, points.X.dtype, **options)
        else:
            codes = np.ascontiguousarray(fitted._codes(points))
        return Factors((np.asfortranarray(times(self.components.T, job.unit.value)),), codes.T)

    def _read(self, job: Job) -> None:
        try:
            document, arrays = read_archive(self.path)
        except (ValueError, IsADirectoryError) as error:
            raise ValueError(
                f"{os.fspath(self.path)} is no checkpoint that this ewnmf can read, or a damaged one, and is left as "
                "it is; name another file, or remove it."
            ) from error
        if document.get("kind") != _KIND:
            raise ValueError(f"{os.fspath(self.path)} is no checkpoint, and is left as it is; name another file.")
        mean = arrays["mean_point"]
        asked = {**self._known, "shape": list(job.points.X.shape), "dtype": str(job.points.X.dtype)}
        for name, value in asked.items():
            if document[name] != value:
                other = _first_difference(name, document[name], value)
                raise ValueError(
                    f"{os.fspath(self.path)} is the checkpoint of another problem ({other}), and is left as it is; "
                    "name another file, or remove it."
                )
        known = self.estimator._mean_point
        if mean.shape != known.shape or not np.allclose(mean, known, rtol=_CLOSE, atol=0):
            raise ValueError(
                f"{os.fspath(self.path)} is the checkpoint of other data, whose mean point differs, and is left as it "
                "is; name another file, or remove it."
            )
        self.components, self.number = arrays["components"], int(document["number"])
        self.history = [float(J) for J in arrays["history"]]
        self.gamma = None if document["gamma"] is None else float(document["gamma"])

    def __call__(self, at: Iteration) -> None:
        """Write the state every few iterations, once gamma is final."""
        if not at.settled:
            return
        self.history.append(at.objective)
        done = len(self.history)
        if done % _EVERY:
            return
        document = {
            **self._known,
            "kind": _KIND,
            "shape": [self._n_points(at), at.components.shape[1]],
            "dtype": str(at.components.dtype),
            "number": done,
            "gamma": None if at.gamma is None else repr(float(at.gamma)),
        }
        arrays = {
            "components": np.array(at.components, order="C"),
            "history": np.array(self.history),
            "mean_point": self.estimator._mean_point,
        }
        write_archive(self.path, document, arrays)

    def _n_points(self, at: Iteration) -> int:
        return int(at.factors.H.shape[1])

    def finish(self) -> None:
        """Tell of all iterations, and remove the file."""
        estimator = self.estimator
        estimator.n_iter_ += self.number
        estimator.loss_curve_ = np.concatenate([self.history[: self.number], estimator.loss_curve_])
        if os.path.exists(self.path):
            os.unlink(self.path)


def _first_difference(name: str, one: Any, other: Any) -> str:
    if not isinstance(one, dict):
        return f"its {name} is {one}, and this one's {other}"
    key = next(key for key in {**one, **other} if one.get(key) != other.get(key))
    return f"its {key} is {one.get(key)}, and this one's {other.get(key)}"


@dataclass(frozen=True, eq=False)
class _Encode:
    """Codes of some points; other processes can be sent it."""

    estimator: Any
    unit: float

    def __call__(self, X: Any, rows: slice) -> Array:
        f, positive = self.estimator._feature_weight, self.estimator._fitted_problem.loss.needs_positive
        P = None if f is None else np.broadcast_to(f, X.shape)
        hidden = gaps_of(X)
        if hidden is not None:
            X, P = filled(X, hidden, positive), prior_of(~hidden, f, X.dtype)
        return np.asarray(self.estimator._codes(Points(X, P, unit=self.unit)))
