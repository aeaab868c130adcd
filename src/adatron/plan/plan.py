"""The binary tasks that a spec becomes on given labels and weights, and how their outputs are read.

`fit`, "adapt" and `cross_validate` all work on a `Plan`: it states the problems, one by one or as the flat arrays of a
batch, for the spec's C or any other, and turns the outputs of the solutions into decision values and predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array
from adatron.plan.data import Index, TrainingData, class_numbers, class_weights
from adatron.plan.margin import Margin
from adatron.plan.schemes import Scheme, scheme
from adatron.plan.spec import Spec
from adatron.problem_set import ProblemSet, Tasks, whole_task
from adatron.problems import Problem

HOPELESS = 0.1  # of ν, that the lighter class can bear
LEAST_RHO = 1e-290  # a smaller one is no unit for decision values: coefficients would overflow


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of some rows: names, each row's class as a number (-1: none of them), and the classes' weights."""

    names: NDArray[Any]
    numbers: NDArray[np.intp]
    weight: Array  # 0 comes last where some rows are of no class here
    some: bool = False  # whether there may be such rows

    def row_weights(self, weight: Array | None) -> Array:
        """Sample weights times those of the classes; 0 for rows of no class here."""
        return self.weight[self.numbers] * (1.0 if weight is None else weight)

    @classmethod
    def of(cls, spec: Spec, data: TrainingData) -> tuple[TrainingData, Classes]:
        """Those of data whose rows all have a weight; rows of classes without one are dropped."""
        names = np.unique(data.y)
        weight = class_weights(spec.class_weight, names, data.y, data.weight)
        numbers = names.searchsorted(data.y)
        if not weight.all():
            data = data.part(np.flatnonzero(weight[numbers]).astype(np.int64))
            names, weight = names[weight > 0], weight[weight > 0]
            numbers = names.searchsorted(data.y)
        if len(names) < 2:
            where = "" if data.index is None else ", in the rows of positive weight"
            raise ValueError(f"y holds one class, {names.tolist()}{where}: pass rows of two classes or more.")
        return data, cls(names, numbers, weight)


@dataclass(frozen=True, eq=False)
class Plan:
    """A spec on given labels and weights.

    Attributes
    ----------
    spec : Spec
    tasks : Tasks, which rows and signs each binary task has; one over all rows where there are no classes.
    weight : ndarray or None, what each row counts, its class's weight included.
    targets : ndarray or None, of a regression.
    classes : ndarray or None, the names of the classes.
    scheme : Scheme or None, how the classes are told apart.
    """

    spec: Spec
    tasks: Tasks
    weight: Array | None
    targets: Array | None = None
    classes: NDArray[Any] | None = None
    scheme: Scheme | None = None

    def __len__(self) -> int:
        return len(self.tasks)

    # ------------------------------------------------------------ making one

    @classmethod
    def of_classes(
        cls, spec: Spec, classes: Classes, weight: Array | None, distances: Callable[[int], Array] | None = None
    ) -> Plan:
        """Of a classifier; ``distances`` gives those between so many classes, for a tree."""
        way = scheme(spec.multiclass, len(classes.names), distances)
        tasks = way.tasks_of_known(classes.numbers) if classes.some else way.tasks(classes.numbers)
        return cls(spec, tasks, classes.row_weights(weight), classes=classes.names, scheme=way)

    @classmethod
    def of_targets(cls, spec: Spec, targets: NDArray[Any], weight: Array | None) -> Plan:
        """Of a regressor, or of a model of one class, which looks at no target."""
        values = None if spec.use == "one_class" else np.asarray(targets, dtype=np.float64)
        return cls(spec, whole_task(len(targets)), weight, values)

    @classmethod
    def of_fold(
        cls,
        spec: Spec,
        y: NDArray[Any],
        weight: Array | None,
        train: Index,
        distances: Callable[[int], Array] | None = None,
    ) -> Plan:
        """Of some of the rows, over all of them: the others have weight zero. A row taken twice counts twice."""
        taken = np.bincount(train, minlength=len(y)).astype(np.float64)
        weight = taken if weight is None else taken * weight
        if not spec.classifies:
            return cls.of_targets(spec, y, weight)
        known = weight > 0
        names = np.unique(y[known])
        own = class_weights(spec.class_weight, names, y[known], weight[known])
        names, own = names[own > 0], own[own > 0]
        if len(names) < 2:
            raise ValueError(f"y holds one class, {names.tolist()}, in a fold's training rows: pass fewer folds.")
        classes = Classes(names, class_numbers(names, y), np.append(own, 0.0), some=True)
        return cls.of_classes(spec, classes, weight, distances)

    # ------------------------------------------------------------ problems

    @cached_property
    def problems(self) -> ProblemSet:
        """Those of all tasks, as flat arrays."""
        weight = self.weight if self.scheme is None or self.weight is None else self.tasks.spread(self.weight)
        return self.spec.problems(self.tasks, weight, self.targets)

    def problem(self, k: int, C: float | None = None) -> Problem:
        """That of one task, for the spec's own C or another."""
        spec = self.spec if C is None else self.spec.with_C(C)
        index = self.tasks.index(k)
        weight = self.weight if index is None or self.weight is None else self.weight[index]
        return spec.problems(self.tasks.one(k), weight, self.targets)[0]

    @property
    def has_margins(self) -> bool:
        """Whether solutions need a look at their margin."""
        return self.spec.use in ("nu_classification", "one_class")

    def margin(self, k: int, tol: float) -> Margin | None:
        """What sees to the margin of a task's solution, where its problem has to find one."""
        if not self.has_margins or self.hopeless[k]:
            return None
        return Margin(self.problems[k], tol, raises_nu=self.spec.use == "nu_classification")

    @cached_property
    def hopeless(self) -> NDArray[np.bool_]:
        """Tasks of ν-classification whose lighter class can bear next to nothing of ν."""
        if self.spec.use != "nu_classification" or (nu := self.spec.nu) is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.problems.totals[:, 0] < HOPELESS * nu * self.problems.boxes / 2)

    # ------------------------------------------------------------ outputs

    def unit(self, rho: Any) -> Any:
        """What outputs are divided by, so that the margin is at ±1."""
        if self.spec.use != "nu_classification":
            return 1.0
        return np.where(rho > LEAST_RHO, rho, 1.0)

    def outputs(self, coef: Array, bias: Array, rho: Array, flat: Collection[int] = ()) -> tuple[Array, Array]:
        """Coefficients, end to end, and biases of the solutions' outputs; ``flat`` numbers those without a margin."""
        if self.spec.use != "nu_classification":
            return coef, bias
        unit, sizes = self.unit(rho), self.tasks.sizes
        coef, bias = coef / unit.repeat(sizes), bias / unit
        constant = self.hopeless.copy()
        constant[list(flat)] = True
        if constant.any():
            # as ν grows beyond what the lighter class can bear, b/ρ goes to ±1 and all else to nothing
            made = self.problems
            coef[constant.repeat(sizes)] = 0.0
            bias[constant] = np.sign(self.tasks.sums(made.upper + made.lower))[constant]
        return coef, bias

    def decision(self, values: Array) -> Array:
        """Decision values from outputs, one column per task."""
        return values[:, 0] if self.scheme is None else self.scheme.decision(values, self.spec.shape)

    def predict(self, values: Array) -> NDArray[Any]:
        """Predictions from outputs, one column per task."""
        if self.scheme is None or self.classes is None:
            return values[:, 0]
        break_ties = self.spec.break_ties and self.spec.shape == "ovr"
        return np.asarray(self.classes[self.scheme.choose(values, break_ties)])

    # ------------------------------------------------------------ notices

    def too_large_nu(self) -> str:
        """What to say where the classes' weights do not allow ν; nothing where they do."""
        if self.spec.use != "nu_classification" or self.spec.nu is None:
            return ""
        made, nu = self.problems, self.spec.nu
        allowed = made.totals[:, 0] * 2 / made.boxes
        short = allowed[allowed < nu * (1 - 1e-9)].tolist()
        if not short:
            return ""
        used = f"{max(short):.6g}" if max(short) - min(short) < 1e-9 else f"{min(short):.6g} to {max(short):.6g}"
        return (
            f"nu={nu:g} is more than the classes' weights allow{self._where(len(short))}: {used}, twice the lighter "
            "one's share, is used instead."
        )

    def too_small_nu(self, margins: Iterable[Margin]) -> str:
        """What to say where ν leaves no margin, from what was found of those that are not clear."""
        if self.spec.use != "nu_classification":
            return ""
        seen = list(margins)
        raised = [margin.smallest for margin in seen if margin.smallest is not None and not margin.flat]
        flat = sum(margin.flat for margin in seen)
        where = self._where(len(raised) or flat)
        if raised:
            return (
                f"nu={self.spec.nu:g} leaves no margin between the classes{where}: pass nu of at least "
                f"{max(raised):.6g}, the smallest that gives one, which was used here."
            )
        if flat:
            return (
                f"nu={self.spec.nu:g}, and any other, leaves no margin between the classes{where}: this kernel does "
                "not tell them apart, so the heavier class is predicted; scale the features, or pass another kernel."
            )
        return ""

    def _where(self, count: int) -> str:
        return "" if len(self) == 1 else f" in {count} of {len(self)} binary classifiers"
