"""The bridge to scikit-learn's own callbacks (`set_callbacks`, version 1.9 on); absent where that is older."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ewnmf.models.base import Factors
from ewnmf.solvers.loop import Iteration

__all__ = ["CallbackSupport", "FitTasks", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """No callbacks of scikit-learn's."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


class FitTasks:
    """A fit as scikit-learn's callbacks see it: a task per start, and in it a task per iteration.

    `attributes` makes a fitted estimator of an iteration.
    """

    def __init__(
        self, estimator: Any, X: Any, n_starts: int, max_iter: int, attributes: Callable[[Iteration], dict[str, Any]]
    ) -> None:
        self._estimator = estimator
        self._X = X
        self._max_iter = max_iter
        self._attributes = attributes
        self._iteration: Any = None
        self._fit = estimator._init_callback_context(max_subtasks=n_starts)
        self._fit.call_on_fit_task_begin(estimator=estimator, X=X)

    def each(self, starts: Iterable[Factors]) -> Iterator[Factors]:
        """The starts, each a task until the next one is asked for."""
        for start in starts:
            self._start = self._fit.subcontext(task_name="start", max_subtasks=self._max_iter)
            self._start.call_on_fit_task_begin(estimator=self._estimator, X=self._X)
            self._begin_iteration()
            yield start
            if self._iteration is not None:
                self._end(self._iteration, None)
                self._iteration = None
            self._end(self._start, None)

    def after_iteration(self, report: Iteration) -> bool:
        """The callback of a run."""
        stop = self._end(self._iteration, lambda: self._attributes(report))
        self._iteration = None
        if not stop and report.number < self._max_iter:
            self._begin_iteration()
        return stop

    def end(self) -> None:
        """The fit is over."""
        self._end(self._fit, {})

    def _begin_iteration(self) -> None:
        self._iteration = self._start.subcontext(task_name="iteration")
        self._iteration.call_on_fit_task_begin(estimator=self._estimator, X=self._X)

    def _end(self, context: Any, attributes: Any) -> bool:
        return bool(
            context.call_on_fit_task_end(estimator=self._estimator, X=self._X, reconstruction_attributes=attributes)
        )
