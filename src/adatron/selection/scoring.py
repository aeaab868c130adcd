"""Scores of held-out rows: of an estimator that was fitted, or of outputs that are known without one."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names, r2_score

from adatron._check import Array
from adatron.plan import Plan


def refuse_unfit(scoring: Any) -> None:
    """Refuse what is more than one score, or none at all."""
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(f"scoring={scoring!r} is no single score: pass one, such as 'accuracy', or None.")
    wish = "pass None, one of sklearn.metrics.get_scorer_names(), or a function of an estimator, X and y"
    if isinstance(scoring, str):
        if scoring not in get_scorer_names():
            raise ValueError(f"scoring={scoring!r} is unknown: {wish}.")
    elif scoring is not None and not callable(scoring):
        raise TypeError(f"scoring={scoring!r} is of type {type(scoring).__name__}: {wish}.")


def takes_weights(scoring: Any) -> bool:
    """Whether rows can count by their weights in a score: a function that takes none has to be given every copy."""
    if scoring is None:
        return True
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    # scikit-learn's scorers hand weights on to a metric, and have no public word for whether it takes any
    named = signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    return any(each.name == "sample_weight" or each.kind is each.VAR_KEYWORD for each in named)


class _Known:
    """What a scorer asks: an estimator whose answers on the held-out rows are known already."""

    def __init__(self, estimator: Any, plan: Plan, values: Array) -> None:
        self._estimator_type = getattr(estimator, "_estimator_type", None)
        self._estimator, self._plan, self._values = estimator, plan, values
        if plan.classes is not None:
            self.classes_ = plan.classes

    def __sklearn_tags__(self) -> Any:
        return self._estimator.__sklearn_tags__()

    def fit(self, X: Any, y: Any) -> Any:
        raise NotImplementedError("its answers are known already.")

    @property
    def predict_proba(self) -> Any:
        return self._estimator.predict_proba  # which says where probabilities come from

    def predict(self, X: Any) -> Any:
        return self._plan.predict(self._values)

    def decision_function(self, X: Any) -> Any:
        return self._plan.decision(self._values)


class Scoring:
    """How predictions are scored; None: accuracy of a classifier, R² of a regressor."""

    def __init__(self, estimator: Any, scoring: Any) -> None:
        self.estimator, self.scoring = estimator, scoring

    def of_outputs(self, plan: Plan, values: Array, rows: Callable[[], Any], truth: Any, weight: Array | None) -> float:
        """Of outputs, one column per task; ``rows`` gives the features, which some scorers look at."""
        if self.scoring is None:
            predicted = plan.predict(values)
            if plan.spec.classifies:
                return float(np.average(predicted == truth, weights=weight))
            return float(r2_score(truth, predicted, sample_weight=weight))
        named = type(type(self.estimator).__name__, (_Known,), {})  # scorers name whom they complain of
        return self.of_fitted(named(self.estimator, plan, values), rows(), truth, weight)

    def of_fitted(self, estimator: Any, X: Any, truth: Any, weight: Array | None) -> float:
        """Of an estimator's predictions."""
        scorer = check_scoring(estimator, scoring=self.scoring)
        more = {} if weight is None else {"sample_weight": weight}
        with np.errstate(over="ignore"):  # squares of errors beyond 1e154 are infinite
            return float(scorer(estimator, X, truth, **more))
