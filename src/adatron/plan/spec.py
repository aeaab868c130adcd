"""What is learnt, whatever the data: the loss, its parameters, and how many classes become binary tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from adatron import problems
from adatron._check import Array, choice, cost, flag, real
from adatron.plan.schemes import SCHEMES
from adatron.problem_set import ProblemSet, Tasks
from adatron.problems import Bias, checked_nu

Use = Literal["hinge", "squared_hinge", "nu_classification", "epsilon_regression", "nu_regression", "one_class"]

CLASSIFIES = ("hinge", "squared_hinge", "nu_classification")
LOSSES = ("hinge", "squared_hinge")
PARAMETERS = {
    "hinge": ("C",),
    "squared_hinge": ("C",),
    "nu_classification": ("nu",),
    "epsilon_regression": ("C", "epsilon"),
    "nu_regression": ("C", "nu"),
    "one_class": ("nu",),
}
BIASES = ("exact", "augmented", "none")
SHAPES = ("ovo", "ovr")


@dataclass(frozen=True)
class Spec:
    """The parameters of a model, checked; each is None where the loss has none.

    Parameters
    ----------
    use : str
        Which of the constructors in `adatron.problems` states the problem.
    C, nu, epsilon : float or None
        Of the loss.
    bias : {"exact", "augmented", "none"}
    augment : float
        The constant feature that stands for an augmented bias.
    multiclass : {"ovo", "ovr", "tree"}
    class_weight : None, "balanced" or dict
    shape : {"ovr", "ovo"}
        Of decision values with more than two classes.
    break_ties : bool
        Whether the largest score decides rather than the votes.
    """

    use: Use
    C: float | None = None
    nu: float | None = None
    epsilon: float | None = None
    bias: Bias = "exact"
    augment: float = 1.0
    multiclass: str = "ovo"
    class_weight: Any = None
    shape: str = "ovr"
    break_ties: bool = False

    def __post_init__(self) -> None:
        choice("bias", self.bias, BIASES)
        cost("augment", self.augment, infinite=False)
        choice("multiclass", self.multiclass, SCHEMES)
        choice("decision_function_shape", self.shape, SHAPES)
        flag("break_ties", self.break_ties)
        has = PARAMETERS[self.use]
        if "C" in has:
            object.__setattr__(self, "C", cost("C", self.C, infinite=self.use != "nu_regression"))
        if "nu" in has:
            object.__setattr__(self, "nu", checked_nu(self.nu))
        if "epsilon" in has:
            object.__setattr__(self, "epsilon", real("epsilon", self.epsilon, at_least=0))

    def with_C(self, C: float) -> Spec:
        """The same with another regularisation parameter."""
        return replace(self, C=C)

    @property
    def classifies(self) -> bool:
        """Whether targets are classes."""
        return self.use in CLASSIFIES

    @property
    def offset(self) -> float:
        """What an augmented bias adds to every kernel value."""
        return self.augment**2 if self.bias == "augmented" else 0.0

    def problems(self, tasks: Tasks, weight: Array | None, targets: Array | None = None) -> ProblemSet:
        """The problems of some tasks.

        Parameters
        ----------
        tasks : Tasks
        weight : ndarray or None
            Of the tasks' rows, end to end; 1 unless given.
        targets : ndarray, optional
            Of a regression.
        """
        return BUILDERS[self.use](self, tasks, weight, targets)


def _margin_problems(spec: Spec, tasks: Tasks, weight: Any, targets: Any) -> ProblemSet:
    """Of the hinge and the squared hinge."""
    box = problems.hinge_box if spec.use == "hinge" else problems.squared_hinge_box
    lower, upper, ridge = box(tasks.signs, _known(spec.C), weight)
    group = np.zeros(len(weight), dtype=np.int8)
    totals = np.zeros((len(tasks), 1 if spec.bias == "exact" else 0))
    return ProblemSet(spec.use, tasks, -tasks.signs, lower, upper, ridge, group, totals)


def _nu_problems(spec: Spec, tasks: Tasks, weight: Any, targets: Any) -> ProblemSet:
    """Of ν-classification; where the lighter class does not allow ν, with the largest that it does."""
    lower, upper, ridge = problems.hinge_box(tasks.signs, 1.0, weight)
    half = problems.nu_half(_known(spec.nu), tasks.sums(upper), -tasks.sums(lower))
    group = (tasks.signs < 0).astype(np.int8)
    totals = half[:, None] * (1.0, -1.0)
    return ProblemSet(spec.use, tasks, np.zeros(len(weight)), lower, upper, ridge, group, totals)


def _regression_problem(spec: Spec, tasks: Tasks, weight: Any, targets: Any) -> ProblemSet:
    if spec.use == "nu_regression":
        made = problems.nu_regression(targets, _known(spec.C), _known(spec.nu), weight=weight)
    else:
        made = problems.epsilon_regression(targets, _known(spec.C), _known(spec.epsilon), bias=spec.bias, weight=weight)
    return ProblemSet.of([made], tasks)


def _one_class_problem(spec: Spec, tasks: Tasks, weight: Any, targets: Any) -> ProblemSet:
    return ProblemSet.of([problems.one_class(tasks.largest, _known(spec.nu), weight=weight)], tasks)


BUILDERS: dict[str, Callable[[Spec, Tasks, Any, Any], ProblemSet]] = {
    "hinge": _margin_problems,
    "squared_hinge": _margin_problems,
    "nu_classification": _nu_problems,
    "epsilon_regression": _regression_problem,
    "nu_regression": _regression_problem,
    "one_class": _one_class_problem,
}


def _known(value: float | None) -> float:
    """A parameter that the loss has."""
    assert value is not None
    return value
