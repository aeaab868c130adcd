"""The plan: what is learnt, its binary tasks and problems, and how outputs are read."""

from __future__ import annotations

import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from adatron import SVC, SVR, NuSVC, NuSVR, OneClassSVM, problems
from adatron.plan import OneVsOne, Plan, Spec, leaving_unsaid
from adatron.selection import cross_validate

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
T = IRIS[:, 0] - IRIS[:, 1]
WEIGHT = np.where(np.arange(150) % 4, 1.5, 0.5)
EVERYTHING = np.arange(150)


def alike(mine: problems.Problem, theirs: problems.Problem) -> None:
    assert (mine.use, mine.doubled) == (theirs.use, theirs.doubled)
    for name in ("linear", "lower", "upper", "ridge", "group", "totals"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-14)


# ---------------------------------------------------------------- what is learnt


def test_a_spec_is_a_checked_value():
    spec = Spec("hinge", C=2.0)
    assert spec.with_C(5.0) == Spec("hinge", C=5.0)
    assert spec == Spec("hinge", C=2)
    with pytest.raises(FrozenInstanceError):
        spec.C = 3.0
    with pytest.raises(ValueError, match="C=-1 is out of range"):
        spec.with_C(-1)
    with pytest.raises(TypeError, match="nu=None is a NoneType"):
        Spec("nu_classification")
    with pytest.raises(ValueError, match="C=inf is out of range"):
        Spec("nu_regression", C=np.inf, nu=0.5)


ESTIMATORS = {
    "SVC": (SVC(C=2.0), SPECIES),
    "squared hinge": (SVC(loss="squared_hinge", class_weight="balanced"), NAMES),
    "one against the rest": (SVC(multiclass="ovr", bias="none"), NAMES),
    "NuSVC": (NuSVC(nu=0.3), SPECIES),
    "SVR": (SVR(epsilon=0.2), T),
    "NuSVR": (NuSVR(nu=0.4, C=3.0), T),
    "OneClassSVM": (OneClassSVM(nu=0.3), None),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_learning_plan_checks_and_keeps_nothing(name):
    estimator, y = ESTIMATORS[name]
    estimator = clone(estimator)
    before = dict(vars(estimator))
    learning = estimator.learning_plan(IRIS, y, sample_weight=np.where(np.arange(150) % 3, 1.0, 0.0))
    assert vars(estimator) == before
    assert learning.data.n_rows == 150  # with rows of weight zero
    assert learning.settings.name == type(estimator).__name__
    assert getattr(estimator, "C", None) == learning.spec.C
    with pytest.raises(NotFittedError):
        estimator.predict(IRIS)
    with pytest.raises(ValueError, match="NaN"):
        estimator.learning_plan(np.full((150, 4), np.nan), y)


# ---------------------------------------------------------------- problems


def test_problems_are_those_of_the_constructors():
    spec = Spec("hinge", C=2.0)
    plan = Plan.of_fold(spec, SPECIES, WEIGHT, EVERYTHING)
    assert isinstance(plan.scheme, OneVsOne)
    for k, task in enumerate(plan.scheme.binary_tasks):
        rows = task.rows(SPECIES)
        np.testing.assert_array_equal(plan.tasks.index(k), rows)
        for C in (None, 7.0):
            expected = problems.hinge(task.signs(SPECIES[rows]), C or 2.0, weight=WEIGHT[rows])
            alike(plan.problem(k, C), expected)
        alike(plan.problems[k], plan.problem(k))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (Spec("epsilon_regression", C=2.0, epsilon=0.3), problems.epsilon_regression(T, 2.0, 0.3, weight=WEIGHT)),
        (Spec("nu_regression", C=2.0, nu=0.3), problems.nu_regression(T, 2.0, 0.3, weight=WEIGHT)),
        (Spec("one_class", nu=0.3), problems.one_class(150, 0.3, weight=WEIGHT)),
    ],
    ids=lambda value: getattr(value, "use", ""),
)
def test_problems_without_classes(spec, expected):
    plan = Plan.of_targets(spec, T, WEIGHT)
    alike(plan.problem(0), expected)
    alike(plan.problems[0], expected)


def test_a_fold_is_a_plan_whose_other_rows_have_no_weight():
    train = np.concatenate((np.flatnonzero(SPECIES < 2)[::2], [0]))  # without a class, and a row twice
    plan = Plan.of_fold(Spec("hinge", C=1.0), NAMES, None, train)
    assert plan.classes.tolist() == ["setosa", "versicolor"]
    index, problem = plan.tasks.index(0), plan.problem(0)
    np.testing.assert_array_equal(index, np.flatnonzero(SPECIES < 2))
    np.testing.assert_array_equal(problem.upper - problem.lower, np.bincount(train, minlength=150)[index])
    with pytest.raises(ValueError, match="in a fold's training rows: pass fewer folds"):
        Plan.of_fold(Spec("hinge", C=1.0), NAMES, None, np.flatnonzero(SPECIES == 0))


# ---------------------------------------------------------------- outputs


@pytest.mark.parametrize(
    "options", [{}, {"break_ties": True}, {"decision_function_shape": "ovo"}, {"multiclass": "ovr"}]
)
def test_a_plan_reads_outputs_as_the_estimator_does(options):
    model = SVC(**options).fit(IRIS, NAMES)
    plan = Plan.of_fold(model.learning_plan(IRIS, NAMES).spec, NAMES, None, EVERYTHING)
    outputs = model._values(IRIS)
    np.testing.assert_array_equal(plan.predict(outputs), model.predict(IRIS))
    np.testing.assert_array_equal(plan.decision(outputs), model.decision_function(IRIS))


def test_outputs_of_nu_problems_have_their_margin_at_one():
    plan = Plan.of_fold(Spec("nu_classification", nu=0.5), SPECIES[:100], None, np.arange(100))
    coef, bias = plan.outputs(np.full(100, 3.0), np.array([2.0]), np.array([0.5]))
    assert (coef == 6.0).all()
    assert bias == 4.0
    assert plan.unit(0.0) == 1.0
    flat, bias = plan.outputs(np.full(100, 3.0), np.array([2.0]), np.array([0.5]), flat=[0])
    assert not flat.any()
    assert bias == 0.0  # neither class is heavier


# ---------------------------------------------------------------- what flows through


def test_cross_validation_leaves_out_classes_without_weight_as_fits_do():
    model = SVC(class_weight={"setosa": 0.0})
    mine = cross_validate(model, IRIS, NAMES, C=[1.0, 10.0], cv=3).scores[0]
    for c, C in enumerate((1.0, 10.0)):
        np.testing.assert_allclose(mine[c], cross_val_score(clone(model).set_params(C=C), IRIS, NAMES, cv=3))
    assert (mine < 0.7).all()  # setosa is never predicted


def test_fits_inside_another_leave_warnings_to_it():
    y = np.arange(40) < 5
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.warns(UserWarning, match="more than the classes' weights allow"):
        NuSVC(nu=0.9).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with leaving_unsaid("parameters"):
            NuSVC(nu=0.9).fit(X, y)
        with leaving_unsaid("convergence"):
            SVC(solver="smo", max_iter=1).fit(X, y)
    with pytest.warns(UserWarning, match="more than the classes' weights allow"):
        NuSVC(nu=0.9).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_random_state_reaches_what_a_tree_is_arranged_by():
    """Classes of more rows than the sample, alike but for noise: which are nearest is decided by the sample."""
    X = np.random.default_rng(0).normal(size=(2400, 2))
    y = np.arange(2400) % 6
    trees = {str(SVC(multiclass="tree", random_state=seed, max_iter=1).fit(X, y).tree_) for seed in range(4)}
    again = {str(SVC(multiclass="tree", random_state=1, max_iter=1).fit(X, y).tree_) for _ in range(2)}
    assert len(trees) > 1
    assert len(again) == 1
