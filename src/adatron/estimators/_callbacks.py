"""scikit-learn's callbacks (`sklearn.callback`), served from here alone.

A fit is a task, each report of its solver a subtask: an epoch, or some steps. So scikit-learn's `ProgressBar` shows a
climb, its `ScoringMonitor` scores the machine on the way, and a callback that returns True at a subtask's end stops
the fit with what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.callback import CallbackSupportMixin, with_callbacks

__all__ = ["CallbackSupportMixin", "Reporter", "with_callbacks"]


class Reporter:
    """Calls the hooks of an estimator's callbacks as its fit goes on.

    ``state`` gives, to a callback that wants a fitted estimator, the attributes that make one of the present state.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        max_epochs: int | None,
        state: Callable[[], dict[str, Any]] | None,
    ) -> None:
        self.estimator, self.state = estimator, state
        self.context: Any = None
        if not self.wanted and not hasattr(estimator, "_parent_callback_ctx"):
            return  # nobody to call: most fits
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.data = {"X": X, "y": y, "metadata": metadata}
        self.context = estimator._init_callback_context(max_subtasks=max_epochs)
        self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    @property
    def wanted(self) -> bool:
        """Whether there is anybody to call."""
        return bool(getattr(self.estimator, "_skl_callbacks", None))

    def __call__(self, at: dict[str, float]) -> bool:
        """One more subtask is done; whether to stop."""
        task = self.context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return bool(
            task.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes=self.state, **self.data)
        )

    def end(self) -> None:
        """The fit is over."""
        if self.context is None:
            return
        self.context.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=lambda: vars(self.estimator), **self.data
        )
