"""Classification by binary tasks, shared by SVC and NuSVC."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from adatron._check import Array, choice, sound
from adatron.estimators._assembly import named
from adatron.estimators._callbacks import with_callbacks
from adatron.estimators._machine import NO_PROBABILITY, Machine, is_plain
from adatron.estimators._matrix import TrainingMatrix
from adatron.estimators._outcome import Outcome
from adatron.estimators._training import Training
from adatron.kernels import Precomputed
from adatron.model import Model
from adatron.packing import expansion
from adatron.plan import Classes, Plan, Spec, TrainingData, Tree, class_numbers, is_unsaid

REJECTS = ("none-positive", "margin")


class KernelClassifier(ClassifierMixin, Machine):  # type: ignore[misc]
    """A classifier whose binary tasks are problems of two classes."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, held_out: Any = None) -> Self:
        """Learn from rows X and their classes y.

        A row of weight w counts as w equal rows. ``held_out``, a pair of other rows and their classes, adds the column
        "error" to ``trace_``: the share of them (with many classes, of those that a machine knows) that the machine
        gets wrong as it stands.
        """
        return self._fit(X, y, sample_weight, held_out)

    def decision_function(self, X: Any) -> Array:
        """Outputs for each row of X.

        With two classes the signed distance from the boundary, in units where the margin is 1, positive for
        ``classes_[1]``. With more, one column per class (``decision_function_shape="ovr"``) or per binary
        classifier ("ovo").
        """
        values, scheme = self._values(X), self._scheme
        return np.asarray(scheme.decision(values, self.decision_function_shape))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties=True breaks no tie with decision_function_shape='ovo': pass 'ovr'.")
        values = self._values(X)
        return np.asarray(self.classes_[self._scheme.choose(values, self.break_ties)])

    def predict_with_reject(self, X: Any, *, rule: str = "none-positive", reject_label: Any = None) -> NDArray[Any]:
        """The class of each row, or ``reject_label`` where the binary classifiers disagree or are not sure.

        Parameters
        ----------
        X : rows to classify.
        rule : "none-positive" rejects where no class has all its binary classifiers on its side: one against the rest,
            where no output is positive; one against one, where no class wins against every other. "margin" rejects
            where one of the binary classifiers that decide for the class has the point inside its margin, |f| < 1.
        reject_label : what a rejected row gets; any scalar that is not one of ``classes_``. With None, the default, and
            with a label of another type than the classes, the array that comes back has dtype object.
        """
        choice("rule", rule, REJECTS)
        values = self._values(X)
        if np.ndim(reject_label):
            raise ValueError(f"reject_label={reject_label!r} is an array: pass one label, such as None.")
        if any(reject_label == each for each in self.classes_.tolist()):
            raise ValueError(f"reject_label={reject_label!r} is one of classes_: pass another label, such as None.")
        known = self._scheme.accepted(values) if rule == "none-positive" else self._scheme.sure(values)
        labels = self.classes_[self._scheme.predict(values)]
        kinds = {labels.dtype.kind, np.asarray(reject_label).dtype.kind}
        if len(kinds) > 1 and not kinds <= set("iuf"):
            labels = labels.astype(object)
        return np.asarray(np.where(known, labels, reject_label))

    @property
    def predict_proba(self) -> Any:
        """Not here: the error says where."""
        raise AttributeError(NO_PROBABILITY.format(name=type(self).__name__, what="predict_proba"))

    # ------------------------------------------------------------ fit

    def _classes(self, spec: Spec, data: TrainingData) -> tuple[TrainingData, Classes | None]:
        if not is_plain(data.y) and not is_unsaid("parameters"):  # or a fold of rows that were checked
            check_classification_targets(data.y)
        return Classes.of(spec, data)

    def _state(self, model: Model, plan: Plan) -> dict[str, Any]:
        return {"_model": model, "_scheme": plan.scheme, "classes_": plan.classes, "intercept_": model.bias}

    def _take_over(
        self, model: Model, plan: Plan, classes: Classes | None, support: Any, outcome: Outcome, training: Training
    ) -> None:
        assert classes is not None
        super()._take_over(model, plan, classes, support, outcome, training)
        self._scheme: Any = plan.scheme
        self.classes_ = classes.names
        self.class_weight_ = classes.weight
        self.n_support_ = np.bincount(classes.numbers[support], minlength=len(classes.names)).astype(np.int32)
        self.n_iter_ = outcome.n_iter
        if isinstance(plan.scheme, Tree):
            self.tree_ = named(plan.scheme.arrangement, classes.names)
        if plan.has_margins and not is_unsaid("parameters"):
            told = [text for text in (plan.too_large_nu(), plan.too_small_nu(training.margins.values())) if text]
            if told:
                warnings.warn(" ".join(told), UserWarning, stacklevel=5)  # past `_fit`, fit and the callbacks around it

    def _held_out(
        self, matrix: TrainingMatrix, plan: Plan, held_out: Any
    ) -> Sequence[Callable[[Array, float], float]] | None:
        """For each task, the error of its classifier on other rows of its classes."""
        if not (isinstance(held_out, tuple | list) and len(held_out) == 2):
            raise ValueError(f"held_out={type(held_out).__name__} is no pair: pass (X, y) of rows to test on.")
        sound("X of held_out", held_out[0])
        X, y = validate_data(self, *held_out, reset=False, **self._accepted())
        assert plan.scheme is not None
        assert plan.classes is not None
        others = plan.scheme.tasks_of_known(class_numbers(plan.classes, y))

        def error_of(k: int) -> Callable[[Array, float], float]:
            index, signs = plan.tasks.index(k), others.signs[others.of(k)]
            points = X[others.flat_rows[others.of(k)]]

            def error(coef: Array, bias: float) -> float:
                some = np.flatnonzero(coef)
                support = some if index is None else index[some]
                if isinstance(matrix.kernel, Precomputed):
                    values = np.asarray(points[:, support], dtype=np.float64) @ coef[some]
                else:
                    values = expansion(matrix.kernel, matrix.X[support], coef[some][None], points)[0]
                guessed = np.where(values + matrix.intercept(coef, bias) > 0, 1.0, -1.0)
                return float(np.mean(guessed != signs)) if len(signs) else float("nan")

            return error

        return [error_of(k) for k in range(len(plan))]
