"""Classification by machines of two classes, shared by SVC and NuSVC."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from adatron._check import Array, choice, flag, real, shown, sound
from adatron.estimators._callbacks import with_callbacks
from adatron.estimators._fit import Index, Job, Settings, Training, Work
from adatron.estimators._machine import HEAVIEST, NO_PROBABILITY, Machine, Rows, Starts, is_plain
from adatron.estimators._margin import Margin
from adatron.estimators._outcome import BIAS, Outcome
from adatron.kernels import Precomputed
from adatron.model import Model
from adatron.multiclass import OneVsOne, Part, Scheme, Tree, Two, scheme
from adatron.packing import expansion
from adatron.precision import EXACT, Arithmetic
from adatron.problem_set import ProblemSet, Tasks, class_pairs
from adatron.problems import Problem

SHAPES = ("ovo", "ovr")
REJECTS = ("none-positive", "margin")
SAMPLE = 200  # rows of a class from which its place among the others is told


class KernelClassifier(ClassifierMixin, Machine):  # type: ignore[misc]
    """A classifier whose parts are problems of two classes."""

    _has_margins = False  # whether `_margin` has something to see to

    @abstractmethod
    def _problem(self, settings: Settings, signs: Array, weight: Array) -> Problem:
        """The problem of one part."""

    @abstractmethod
    def _problems(self, settings: Settings, tasks: Tasks, weight: Array) -> ProblemSet:
        """The problems of all parts, whose rows' weights are given end to end."""

    def _read(self, work: Work, outcome: Outcome) -> tuple[Array, Array]:
        """Coefficients, one per row of each part end to end, and biases."""
        return outcome.coef, outcome.certificates[:, BIAS]

    def _margin(self, settings: Settings, problem: Problem) -> Margin | None:
        """What sees to the margin of a part's solution, where its problem has to find one."""
        return None

    def _tell(self, work: Work) -> None:
        """Warn, once per fit, of parameters that were not taken as they are."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, held_out: Any = None) -> Self:
        """Learn from rows X and their classes y.

        A row of weight w counts as w equal rows. ``held_out``, a pair of other rows and their classes, adds the column
        "error" to ``trace_``: the share of them (with many classes, of those that a machine knows) that the machine
        gets wrong as it stands.
        """
        settings = Settings.of(self)
        choice("decision_function_shape", self.decision_function_shape, SHAPES)
        flag("break_ties", self.break_ties)
        rows = self._validated(X, y, sample_weight)
        if not is_plain(rows.y) and not getattr(self, "_quiet", False):  # or a fold of rows that were checked
            check_classification_targets(rows.y)
        rows, classes, labels, class_weight = self._weighted(rows)
        weight = class_weight[labels] * (1.0 if rows.weight is None else rows.weight)
        maker, settings, starts = self._adapted(settings, rows)
        training = Training(settings, rows.X, rows.weight)
        arrangement = scheme(self.multiclass, len(classes), lambda: _class_distances(training, labels))
        held = self._held_out(training, arrangement, classes, labels, held_out)
        tasks = arrangement.tasks(labels)
        work = maker._work(settings, tasks, tasks.spread(weight), held, starts)

        def attributes(coef: Array, biases: Array) -> dict[str, Any]:
            model, _ = self._assembled(training, rows, arrangement, labels, tasks, coef, biases, EXACT)
            return {"_model": model, "_scheme": arrangement, "classes_": classes, "intercept_": model.bias}

        outcome = self._solve(settings, training, rows, work, attributes)
        coef, biases = self._read(work, outcome)
        arithmetic = training.arithmetic(outcome)
        self._model, support = self._assembled(training, rows, arrangement, labels, tasks, coef, biases, arithmetic)
        self._scheme = arrangement
        self.classes_ = classes
        self.class_weight_ = class_weight
        self._set_support(training, rows, support)
        self.n_support_ = np.bincount(labels[support], minlength=len(classes)).astype(np.int32)
        self.dual_coef_ = self._model.coef
        self.intercept_ = self._model.bias
        self.n_iter_ = outcome.n_iter
        if isinstance(arrangement, Tree):
            self.tree_ = _named(arrangement.arrangement, classes)
        if not getattr(self, "_quiet", False):
            self._tell(work)
        self._conclude(settings, rows, outcome)
        return self

    def decision_function(self, X: Any) -> Array:
        """Outputs for each row of X.

        With two classes the signed distance from the boundary, in units where the margin is 1, positive for
        ``classes_[1]``. With more, a column a class (``decision_function_shape="ovr"``) or a column a machine ("ovo").
        """
        values = self._values(X)
        if isinstance(self._scheme, Two):
            return values[:, 0]
        return self._scheme.scores(values) if self.decision_function_shape == "ovr" else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties=True breaks no tie with decision_function_shape='ovo': pass 'ovr'.")
        values = self._values(X)
        if self.break_ties and len(self.classes_) > 2:
            return np.asarray(self.classes_[self._scheme.scores(values).argmax(axis=1)])
        return np.asarray(self.classes_[self._scheme.predict(values)])

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
        return np.where(known, labels, reject_label)

    @property
    def predict_proba(self) -> Any:
        """Not here: the error says where."""
        raise AttributeError(NO_PROBABILITY.format(name=type(self).__name__, what="predict_proba"))

    # ------------------------------------------------------------ parts

    def _targets(self) -> dict[str, Any]:
        """How targets are validated."""
        return {}

    def _unit(self, reached: Any) -> float:
        """What a machine's outputs are divided by."""
        return 1.0

    def _pieces(self, settings: Settings, y: NDArray[Any], weight: Array) -> tuple[Any, Any, Any, Any]:
        """The parts learnt from the rows of positive weight: rows and problem for any C; and how outputs are read."""
        known = weight > 0
        classes = np.unique(y[known])
        if len(classes) < 2:
            raise ValueError(f"y holds one class, {classes.tolist()}, in a fold's training rows: pass fewer folds.")
        labels = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        labels = np.where(classes[labels] == y, labels, -1)
        there = Rows(None, y[known], weight[known], None, (0, 0))
        weight = weight * np.append(_class_weight(self.class_weight, classes, there), 0.0)[labels]
        arrangement = scheme(self.multiclass, len(classes), lambda: np.zeros((len(classes), len(classes))))

        def piece(part: Part) -> tuple[Index | None, Callable[[float | None], Problem]]:
            index = part.rows(labels)
            signs, own = part.signs(labels[index]), weight[index]

            def problem(C: float | None) -> Problem:
                machine = copy(self)
                if C is not None:
                    machine.C = C
                return machine._problem(settings, signs, own)

            return None if len(index) == len(labels) else index, problem

        def decision(values: Array) -> Array:
            if isinstance(arrangement, Two):
                return values[:, 0]
            return arrangement.scores(values) if self.decision_function_shape == "ovr" else values

        def predict(values: Array) -> NDArray[Any]:
            broken = self.break_ties and len(classes) > 2 and self.decision_function_shape == "ovr"
            chosen = arrangement.scores(values).argmax(axis=1) if broken else arrangement.predict(values)
            return np.asarray(classes[chosen])

        return [piece(part) for part in arrangement.parts], predict, decision, classes

    def _weighted(self, rows: Rows) -> tuple[Rows, NDArray[Any], NDArray[Any], Array]:
        """Rows of classes that have a weight, their classes, each row's class as a number, and the classes' weights."""
        classes = np.unique(rows.y)
        class_weight = _class_weight(self.class_weight, classes, rows)
        labels = classes.searchsorted(rows.y)
        if not class_weight.all():
            rows = self._part(rows, np.flatnonzero(class_weight[labels]).astype(np.int64))
            classes, class_weight = (each[class_weight > 0] for each in (classes, class_weight))
            labels = classes.searchsorted(rows.y)
        if len(classes) < 2:
            where = "" if rows.kept is None else ", in the rows of positive weight"
            raise ValueError(f"y holds one class, {classes.tolist()}{where}: pass rows of two classes or more.")
        return rows, classes, labels, class_weight

    def _work(self, settings: Settings, tasks: Tasks, weight: Array, held_out: Sequence[Any], starts: Starts) -> Work:
        """The problems of all parts."""
        betas = None if starts is None else [start for _, start in starts]

        @cache
        def problems() -> ProblemSet:
            return self._problems(settings, tasks, weight)

        def job(k: int) -> Job:
            problem = problems()[k]
            start = None if betas is None else betas[k]
            margin = self._margin(settings, problem)
            return Job(problem, tasks.index(k), start, held_out=held_out[k] if held_out else None, margin=margin)

        return Work(tasks, problems, job, betas, self._has_margins, watched=bool(held_out))

    def _assembled(
        self,
        training: Training,
        rows: Rows,
        arrangement: Scheme,
        labels: NDArray[Any],
        tasks: Tasks,
        coef: Array,
        biases: Array,
        arithmetic: Arithmetic,
    ) -> tuple[Model, Index]:
        """One model of all parts: support rows by class, in scikit-learn's order, and their coefficients."""
        some = coef.nonzero()[0]
        index, part = tasks.flat_rows[some], tasks.owner[some]
        used = np.zeros(len(labels), dtype=bool)
        used[index] = True
        support = used.nonzero()[0].astype(np.int64, copy=False)
        support = support[labels[support].argsort(kind="stable")]
        place = np.empty(len(labels), dtype=np.intp)
        place[support] = np.arange(len(support))
        edges: tuple[int, ...] = ()
        line, lines = part, len(tasks)
        if isinstance(arrangement, OneVsOne):  # a row has coefficients against every other class alone
            first, second = class_pairs(arrangement.count)
            line = np.where(labels[index] == first[part], second[part] - 1, first[part])
            lines = arrangement.count - 1
            edges = tuple(labels[support].searchsorted(np.arange(arrangement.count + 1)).tolist())
        matrix = np.zeros((lines, len(support)))
        matrix[line, place[index]] = coef[some]
        intercept = biases + training.augment * tasks.sums(coef) if training.augment else biases.copy()
        return self._model_of(training, rows, support, matrix, intercept, arithmetic, edges), support

    def _held_out(
        self, training: Training, arrangement: Scheme, classes: NDArray[Any], labels: NDArray[Any], held_out: Any
    ) -> list[Callable[[Array, float], float]]:
        """For each part, the error of its machine on other rows of its classes; none where there are no other rows."""
        if held_out is None:
            return []
        if not (isinstance(held_out, tuple | list) and len(held_out) == 2):
            raise ValueError(f"held_out={type(held_out).__name__} is no pair: pass (X, y) of rows to test on.")
        sound("X of held_out", held_out[0])
        X, y = validate_data(self, *held_out, reset=False, **self._accepted())
        numbers = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        numbers = np.where(classes[numbers] == y, numbers, -1)

        def error_of(part: Part) -> Callable[[Array, float], float]:
            theirs = part.rows(numbers)
            points, signs = X[theirs], part.signs(numbers[theirs])
            index = part.rows(labels)

            def error(coef: Array, bias: float) -> float:
                some = np.flatnonzero(coef)
                support = index[some]
                if isinstance(training.kernel, Precomputed):
                    values = np.asarray(points[:, support], dtype=np.float64) @ coef[some]
                else:
                    values = expansion(training.kernel, training.X[support], coef[some][None], points)[0]
                guessed = np.where(values + training.intercept(coef, bias) > 0, 1.0, -1.0)
                return float(np.mean(guessed != signs)) if len(signs) else float("nan")

            return error

        return [error_of(part) for part in arrangement.parts]


def _class_weight(wanted: Any, classes: NDArray[Any], rows: Rows) -> Array:
    if wanted is None:
        return np.ones(len(classes))
    if isinstance(wanted, dict):
        for name, value in wanted.items():
            number = real(f"class_weight[{shown(name)}]", value)
            if number < 0:
                raise ValueError(
                    f"class_weight={shown(wanted)} is negative: pass weights of at least 0, and finite ones."
                )
            if number > HEAVIEST:
                raise ValueError(f"class_weight[{shown(name)}]={value} is out of range: pass at most {HEAVIEST:g}.")
    else:
        wish = 'pass None, "balanced" or a dict from classes to weights'
        if not isinstance(wanted, str):
            raise TypeError(f"class_weight={shown(wanted)} is a {type(wanted).__name__}: {wish}.")
        if wanted != "balanced":
            raise ValueError(f"class_weight={wanted!r} is unknown: {wish}.")
    weight = compute_class_weight(wanted, classes=classes, y=rows.y, sample_weight=rows.weight)
    return np.asarray(weight, dtype=np.float64)


def _class_distances(training: Training, labels: NDArray[Any]) -> Array:
    """Squared distances between the classes' means in feature space, from a sample of each."""
    random = np.random.default_rng(0)
    samples = [np.flatnonzero(labels == k) for k in range(int(labels.max()) + 1)]
    samples = [np.sort(random.permutation(rows)[:SAMPLE]) for rows in samples]
    index = np.concatenate(samples)
    if isinstance(training.kernel, Precomputed):
        K = np.asarray(training.X[np.ix_(index, index)], dtype=np.float64)
    else:
        K = training.kernel(training.X[index])
    owner = np.repeat(np.arange(len(samples)), [len(rows) for rows in samples])
    mean = np.eye(len(samples))[owner] / np.bincount(owner)[owner][:, None]
    between = mean.T @ K @ mean
    return np.asarray(between.diagonal()[:, None] + between.diagonal() - 2 * between)


def _named(branch: Any, classes: NDArray[Any]) -> Any:
    """A tree with the classes' names for its leaves."""
    return classes.tolist()[branch] if isinstance(branch, int) else tuple(_named(part, classes) for part in branch)
