"""Cross-validation over a grid against a fit of every fold by itself, which it may beat in time but not differ from."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from adatron import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from adatron.kernels import Gaussian
from adatron.selection import CrossValidation, chain, cross_validate

ROWS = 90
EXACT = {"tol": 1e-6}  # so that no prediction hangs on the tolerance
GAMMA, C = (0.1, 1.0), (0.5, 20.0)


def data(rows: int = ROWS, seed: int = 0):
    """Rows with zeros in them; two classes, three classes and targets that overlap."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 4)) * (random.random((rows, 4)) > 0.2)
    signs = np.where(X[:, 0] - X[:, 1] ** 2 + 0.5 + 0.4 * random.normal(size=rows) > 0, 1, -1)
    classes = np.digitize(X[:, 0] + 0.3 * random.normal(size=rows), [-0.4, 0.4])
    return X, signs, classes, np.sin(X[:, 0]) + X[:, 1] + 0.2 * random.normal(size=rows)


X, SIGNS, CLASSES, TARGETS = data()
NAMES = np.array(["autumn", "spring", "winter"])[CLASSES]
K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
WEIGHT = np.random.default_rng(1).integers(1, 4, ROWS) * 0.7
SOME_ZERO = np.random.default_rng(1).integers(0, 3, ROWS).astype(float)


def by_fits(estimator, X, y, *, gamma=None, C=None, cv=5, scoring=None, sample_weight=None):
    """The same by scikit-learn: ``scores[g, c, k]``."""
    params = None if sample_weight is None else {"sample_weight": sample_weight}

    def scores(g, c):
        given = {name: value for name, value in (("gamma", g), ("C", c)) if value is not None}
        machine = clone(estimator).set_params(**given)
        return cross_val_score(machine, X, y, cv=cv, scoring=scoring, params=params, error_score="raise")

    return np.array(
        [[scores(g, c) for c in ([None] if C is None else C)] for g in ([None] if gamma is None else gamma)]
    )


def agree(estimator, X, y, *, against=None, close=1e-12, **grid):
    found = cross_validate(estimator, X, y, **grid)
    np.testing.assert_allclose(found.scores, by_fits(against or estimator, X, y, **grid), rtol=0, atol=close)
    assert np.nanmax(found.violation) <= 1.001 * estimator.tol
    return found


# ---------------------------------------------------------------- the scores of fits

CLASSIFIERS = {
    "two classes": (SVC(), SIGNS),
    "balanced": (SVC(class_weight="balanced"), SIGNS),
    "weighted classes": (SVC(class_weight={1: 3.0, -1: 0.5}), SIGNS),
    "squared hinge": (SVC(loss="squared_hinge"), SIGNS),
    "no bias": (SVC(bias="none"), SIGNS),
    "bias in the kernel": (SVC(bias="augmented"), SIGNS),
    "one against one": (SVC(), NAMES),
    "one against the rest": (SVC(multiclass="ovr"), NAMES),
    "a tree": (SVC(multiclass="tree"), NAMES),
    "balanced, many classes": (SVC(class_weight="balanced", loss="squared_hinge"), CLASSES),
}
REGRESSORS = {"SVR": SVR(), "no slack": SVR(epsilon=0.0), "SVR, no bias": SVR(bias="none"), "NuSVR": NuSVR(nu=0.37)}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name):
    machine, y = CLASSIFIERS[name]
    found = agree(clone(machine).set_params(**EXACT), X, y, gamma=GAMMA, C=C, cv=3)
    assert found.scores.shape == (2, 2, 3)
    assert len(np.unique(found.scores)) > 3  # scores that differ can tell a mistake


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name):
    agree(clone(REGRESSORS[name]).set_params(**EXACT), X, TARGETS, gamma=GAMMA, C=C, cv=3, close=1e-5)


@pytest.mark.parametrize(("y", "nu"), [(SIGNS, 0.31), (NAMES, 0.17)], ids=["two classes", "three"])
def test_nu_classification(y, nu):
    agree(NuSVC(nu=nu, **EXACT), X, y, gamma=GAMMA, cv=3)


@pytest.mark.parametrize(
    ("kernel", "machine", "y"),
    [("laplacian", SVC(), SIGNS), ("exponential", SVC(), NAMES), ("laplacian", SVR(), TARGETS)],
    ids=["laplacian, two classes", "exponential, three", "laplacian, targets"],
)
def test_other_kernels_with_a_width(kernel, machine, y):
    machine = clone(machine).set_params(kernel=kernel, **EXACT)
    agree(machine, X, y, gamma=GAMMA, C=C, cv=3, close=1e-5 if isinstance(machine, SVR) else 1e-12)


LINEAR = {"kernel": "linear"}
POLYNOMIAL = {"kernel": "poly", "coef0": 1.0, "degree": 2}


@pytest.mark.parametrize(
    ("kernel", "rows", "machine", "y"),
    [
        (LINEAR, X, SVC(), SIGNS),
        (LINEAR, X, SVR(), TARGETS),
        (POLYNOMIAL | {"gamma": 0.3}, X, SVC(), NAMES),
        (POLYNOMIAL | {"gamma": 0.3}, X, SVR(), TARGETS),
        (POLYNOMIAL | {"gamma": "scale"}, X, SVC(), SIGNS),
        ({"kernel": "precomputed"}, K, SVC(), NAMES),
        ({"kernel": "precomputed"}, K, SVR(), TARGETS),
    ],
    ids=lambda given: given["kernel"] if isinstance(given, dict) else "",
)
def test_kernels_without_a_width(kernel, rows, machine, y):
    machine = clone(machine).set_params(**kernel, **EXACT)
    agree(machine, rows, y, C=C, cv=3, close=1e-5 if isinstance(machine, SVR) else 1e-12)


@pytest.mark.parametrize(("kernel", "gamma"), [("rbf", "scale"), ("rbf", "auto"), ("laplacian", "scale")])
def test_each_fold_has_a_scale_of_its_own(kernel, gamma):
    rows = X * np.linspace(0.3, 3.0, ROWS)[:, None]  # so that folds differ in it
    agree(SVC(kernel=kernel, gamma=gamma, **EXACT), rows, SIGNS, C=C, cv=KFold(3))
    agree(SVR(kernel=kernel, gamma=gamma, **EXACT), rows, TARGETS, C=C, cv=KFold(3), sample_weight=WEIGHT, close=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_sparse_rows(kernel):
    grid = {"C": C, "cv": 3} | ({} if kernel == "linear" else {"gamma": (0.6,)})
    agree(SVC(kernel=kernel, **EXACT), sparse.csr_array(X), NAMES, **grid)
    agree(SVC(kernel=kernel, **EXACT), sparse.csc_matrix(X), SIGNS, **grid)


@pytest.mark.parametrize("name", ["balanced", "squared hinge", "one against the rest", "balanced, many classes"])
def test_weights(name):
    machine, y = CLASSIFIERS[name]
    agree(clone(machine).set_params(**EXACT), X, y, gamma=(0.6,), C=C, cv=3, sample_weight=WEIGHT)


def test_weights_of_regression():
    for machine in REGRESSORS.values():
        machine = clone(machine).set_params(**EXACT)
        agree(machine, X, TARGETS, gamma=(0.6,), C=C, cv=3, sample_weight=WEIGHT, close=1e-5)


PAIRS = list(KFold(3, shuffle=True, random_state=3).split(X))


@pytest.mark.parametrize("cv", [5, PAIRS], ids=["stratified", "pairs"])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_rows_of_no_weight_are_not_learned_from_but_asked_about(cv, kernel):
    """As by scikit-learn, whose folds are those of all rows."""
    machine = SVC(kernel=kernel, gamma=0.5, **EXACT)
    agree(machine, K if kernel == "precomputed" else X, SIGNS, C=C, cv=cv, sample_weight=SOME_ZERO)


@pytest.mark.parametrize(
    ("machine", "y", "scoring"),
    [
        (SVC(), SIGNS, "roc_auc"),
        (SVC(), NAMES, "f1_macro"),
        (NuSVC(nu=0.31), SIGNS, "average_precision"),
        (SVR(), TARGETS, "neg_mean_absolute_error"),
        (NuSVR(nu=0.37), TARGETS, "neg_mean_squared_error"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_scorings(machine, y, scoring):
    grid = {"gamma": (0.6,)} | ({} if isinstance(machine, NuSVC) else {"C": C})
    close = 1e-5 if isinstance(machine, SVR | NuSVR) else 1e-9
    agree(clone(machine).set_params(**EXACT), X, y, scoring=scoring, cv=3, close=close, **grid)


def test_scorings_of_any_function():
    seen = []

    def score(machine, X, y):
        seen.append(machine.decision_function(X))
        assert machine.classes_.tolist() == [-1, 1]
        return float((machine.predict(X) == y).sum())

    found = cross_validate(SVC(gamma=0.5, **EXACT), X, SIGNS, cv=PAIRS, scoring=score, C=(2.0,))
    for k, (train, test) in enumerate(PAIRS):
        machine = SVC(gamma=0.5, C=2.0, **EXACT).fit(X[train], SIGNS[train])
        np.testing.assert_allclose(seen[k], machine.decision_function(X[test]), rtol=0, atol=1e-5)
        assert found.scores[0, 0, k] == (machine.predict(X[test]) == SIGNS[test]).sum()


def test_a_scoring_function_sees_the_rows():
    found = cross_validate(SVC(gamma=0.5), X, SIGNS, cv=PAIRS, scoring=lambda machine, X, y: float(X[:, 0].sum()))
    np.testing.assert_allclose(found.scores[0, 0], [X[test, 0].sum() for _, test in PAIRS])


# ---------------------------------------------------------------- folds of every sort

BOOTSTRAP = [(np.random.default_rng(k).integers(0, ROWS, ROWS), np.arange(k, ROWS, 3)) for k in range(3)]
THIRDS = np.arange(ROWS) % 3


@pytest.mark.parametrize(
    "cv",
    [
        3,
        KFold(3, shuffle=True, random_state=0),
        StratifiedKFold(3, shuffle=True, random_state=0),
        PAIRS,
        [(train.tolist(), test.tolist()) for train, test in PAIRS],
        [(np.arange(0, 90, 2), np.arange(0, 90, 5))],  # neither all rows nor apart
        list(ShuffleSplit(8, train_size=12, test_size=1, random_state=0).split(X)),
        BOOTSTRAP,
        [(k != THIRDS, k == THIRDS) for k in range(3)],
    ],
    ids=["number", "shuffled", "stratified", "pairs", "lists", "apart", "one each", "twice", "masks"],
)
def test_folds_of_every_sort(cv):
    agree(SVC(gamma=0.5, **EXACT), X, SIGNS, C=C, cv=cv)
    agree(SVC(gamma=0.5, C=5.0, **EXACT), X, NAMES, cv=cv)


def test_a_generator_of_pairs():
    found = cross_validate(SVC(**EXACT), X, SIGNS, gamma=GAMMA, C=C, cv=KFold(3, shuffle=True, random_state=3).split(X))
    np.testing.assert_array_equal(found.scores, by_fits(SVC(**EXACT), X, SIGNS, gamma=GAMMA, C=C, cv=PAIRS))


def test_a_class_that_a_fold_does_not_know():
    order = np.argsort(CLASSES, kind="stable")
    cv = [(np.arange(80), np.arange(80, 90)), (np.arange(30, 90), np.arange(30)), (np.arange(88), np.arange(85, 90))]
    y = NAMES[order].copy()
    y[85:] = "monsoon"  # held out by the first
    agree(SVC(**EXACT), X[order], y, gamma=(0.5,), C=C, cv=cv)
    agree(SVC(multiclass="ovr", **EXACT), X[order], y, gamma=(0.5,), C=C, cv=cv)


def test_ties_between_classes_are_broken_where_asked():
    random = np.random.default_rng(1)
    noise, classes = random.normal(size=(80, 2)), random.integers(0, 4, 80)
    agree(SVC(break_ties=True, **EXACT), noise, classes, gamma=(1.0,), C=(1.0,))


def test_grids_in_any_order():
    up = cross_validate(SVC(**EXACT), X, SIGNS, gamma=GAMMA, C=(0.1, 1.0, 10.0), cv=3)
    down = cross_validate(SVC(**EXACT), X, SIGNS, gamma=GAMMA[::-1], C=(10.0, 1.0, 0.1), cv=3)
    np.testing.assert_array_equal(down.scores[::-1, ::-1], up.scores)
    assert down.gamma.tolist() == list(GAMMA[::-1])
    assert down.C.tolist() == [10.0, 1.0, 0.1]
    alone = cross_validate(SVC(**EXACT), X, SIGNS, gamma=1, C=10, cv=3)
    np.testing.assert_array_equal(alone.scores[0, 0], up.scores[1, 2])


def test_threads_change_nothing():
    one, two = (cross_validate(SVC(**EXACT), X, NAMES, gamma=GAMMA, C=C, cv=3, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores, two.scores)


def test_what_is_not_on_the_grid_is_the_estimators_own():
    machine = SVC(C=7.0, gamma=0.6, **EXACT)
    both = cross_validate(SVC(**EXACT), X, SIGNS, gamma=(0.6,), C=(7.0,)).scores
    for grid in ({}, {"gamma": (0.6,)}, {"C": (7.0,)}):
        found = cross_validate(machine, X, SIGNS, **grid)
        np.testing.assert_array_equal(found.scores, both)
        assert (found.gamma.tolist(), found.C.tolist()) == ([0.6], [7.0])


def test_a_hard_margin():
    apart = X + 0.4 * np.where(X[:, :1] > 0, 1, -1) * [1.0, 0.0, 0.0, 0.0]
    agree(SVC(C=np.inf, **EXACT), apart, np.where(X[:, 0] > 0, 1, -1), gamma=(0.3, 1.0), cv=3)


@pytest.mark.parametrize("given", [{"solver": "smo"}, {"max_iter": 100_000}, {"max_time": 60.0}], ids=str)
def test_what_cannot_share_a_matrix_is_fitted_fold_by_fold(given, monkeypatch):
    monkeypatch.setattr(chain.Chain, "solve", None)  # nobody may ask it
    agree(SVC(**given, **EXACT), X, SIGNS, gamma=(0.6,), C=C, cv=3)
    agree(SVC(kernel="precomputed", **given, **EXACT), K, SIGNS, C=C, cv=3)


def test_more_rows_than_a_matrix_holds_are_fitted_fold_by_fold(monkeypatch):
    monkeypatch.setattr("adatron.selection.grid.MOST", ROWS - 1)
    monkeypatch.setattr(chain.Chain, "solve", None)
    agree(SVC(**EXACT), X, NAMES, gamma=(0.6,), C=C, cv=3)


def test_the_estimator_and_the_data_are_left_alone():
    machine, rows, labels, weight = SVC(**EXACT), X.copy(), SIGNS.copy(), WEIGHT.copy()
    before = vars(machine).copy()
    cross_validate(machine, rows, labels, gamma=GAMMA, C=C, sample_weight=weight)
    assert vars(machine) == before
    for now, given in ((rows, X), (labels, SIGNS), (weight, WEIGHT)):
        np.testing.assert_array_equal(now, given)


@pytest.mark.parametrize(
    ("ours", "theirs", "y", "grid"),
    [
        (SVC(), svm.SVC(), SIGNS, {"gamma": GAMMA, "C": C}),
        (SVC(), svm.SVC(), NAMES, {"gamma": GAMMA, "C": C}),
        (SVC(class_weight="balanced"), svm.SVC(class_weight="balanced"), NAMES, {"gamma": GAMMA, "C": C}),
        (SVC(kernel="linear"), svm.SVC(kernel="linear"), SIGNS, {"C": C}),
        (SVC(), svm.SVC(), SIGNS, {"C": C}),
        (NuSVC(nu=0.31), svm.NuSVC(nu=0.31), SIGNS, {"gamma": GAMMA}),
        (SVR(), svm.SVR(), TARGETS, {"gamma": GAMMA, "C": C}),
        (NuSVR(nu=0.37), svm.NuSVR(nu=0.37), TARGETS, {"gamma": GAMMA, "C": C}),
    ],
    ids=lambda given: "" if isinstance(given, np.ndarray) else str(given)[:40],
)
def test_scores_of_scikit_learn(ours, theirs, y, grid):
    ours, theirs = (clone(machine).set_params(**EXACT) for machine in (ours, theirs))
    agree(ours, X, y, against=theirs, cv=3, close=1e-12 if y is not TARGETS else 1e-4, **grid)


def test_without_a_bias_the_faintest_neighbour_decides():
    """Kernel values of 1e-40 and less, whose sign is all there is to go by."""
    many, labels = make_classification(400, 12, n_informative=8, flip_y=0.08, random_state=1)
    found = cross_validate(SVC(bias="none"), many, labels, gamma=(3.0, 20.0), C=(1.0,), cv=3)
    for g, gamma in enumerate((3.0, 20.0)):
        K = Gaussian(gamma=gamma)(many)
        for k, (train, test) in enumerate(StratifiedKFold(3).split(many, labels)):
            machine = SVC(bias="none", gamma=gamma).fit(many[train], labels[train])
            coef = np.zeros(len(train))
            coef[machine.support_] = machine.dual_coef_[0]
            assert found.scores[g, 0, k] == np.mean((K[np.ix_(test, train)] @ coef > 0) == (labels[test] == 1))


# ---------------------------------------------------------------- many rows


def test_many_rows_in_float32_by_few_of_them(monkeypatch):
    """Those near the margin alone are climbed: each score is within two rows of a fit's, and no less exact."""
    many, labels = make_classification(2300, 10, n_informative=6, flip_y=0.05, random_state=0)
    parts = []
    solve = chain.Chain.solve

    def spy(self, *problem):
        reached = solve(self, *problem)
        parts.append((self.matrix.values.dtype, self.matrix.core.active_count / len(many)))
        return reached

    monkeypatch.setattr(chain.Chain, "solve", spy)
    grid = {"gamma": (0.02, 0.2), "C": (5.0, 50.0, 500.0), "cv": 3}
    found = cross_validate(SVC(), many, labels, **grid)
    monkeypatch.undo()
    assert {dtype for dtype, _ in parts} == {np.dtype(np.float32)}
    assert min(part for _, part in parts) < 0.8
    assert found.violation.max() <= 1.001e-3
    fitted = by_fits(SVC(), many, labels, **grid)
    tests = [len(test) for _, test in StratifiedKFold(3).split(many, labels)]
    assert (np.abs(found.scores - fitted) * tests).max() <= 2 + 1e-9


# ---------------------------------------------------------------- leave one out


class Counted:
    """How many climbs there were."""

    def __init__(self, monkeypatch):
        self.climbs = 0
        solve = chain.Chain.solve

        def counting(this, problem, last=None):
            self.climbs += 1
            return solve(this, problem, last)

        monkeypatch.setattr(chain.Chain, "solve", counting)


LONE = 40
WIDE = X[:LONE] + 0.8 * SIGNS[:LONE, None] * [1.0, -0.5, 0.0, 0.0]  # apart enough for rows that support nothing


@pytest.mark.parametrize("machine", [SVC(), SVC(kernel="laplacian", loss="squared_hinge")], ids=str)
def test_leave_one_out_of_classes(machine, monkeypatch):
    machine = clone(machine).set_params(gamma=0.2, **EXACT)
    few, price = SIGNS[:LONE], (0.5, 10.0) if machine.kernel == "rbf" else (10.0,)
    expected = by_fits(machine, WIDE, few, C=price, cv=LeaveOneOut())
    support = [len(clone(machine).set_params(C=c).fit(WIDE, few).support_) for c in price]
    assert sum(support) < 0.9 * len(price) * LONE
    counted = Counted(monkeypatch)
    for cv in ("loo", LeaveOneOut(), list(LeaveOneOut().split(WIDE))):
        counted.climbs = 0
        found = cross_validate(machine, WIDE, few, C=price, cv=cv)
        np.testing.assert_array_equal(found.scores, expected)
        assert found.scores.shape == (1, len(price), LONE)
        assert found.violation.max() <= 1.001e-6
        assert len(price) < counted.climbs <= sum(support) + len(price)


def test_leave_one_out_of_targets(monkeypatch):
    machine, price = SVR(gamma=0.2, epsilon=0.5, **EXACT), (2.0,)
    how = {"C": price, "scoring": "neg_mean_squared_error"}
    rows, targets = X[:LONE], TARGETS[:LONE]
    expected = by_fits(machine, rows, targets, cv=LeaveOneOut(), **how)
    support = [len(clone(machine).set_params(C=c).fit(rows, targets).support_) for c in price]
    assert sum(support) < 0.9 * len(price) * LONE
    counted = Counted(monkeypatch)
    found = cross_validate(machine, rows, targets, cv="loo", **how)
    np.testing.assert_allclose(found.scores, expected, rtol=0, atol=1e-5)
    assert counted.climbs <= sum(support) + len(price)


@pytest.mark.parametrize(
    ("machine", "y"),
    [(SVC(C=0.5, class_weight="balanced"), SIGNS), (NuSVC(nu=0.23), CLASSES)],
    ids=["balanced", "NuSVC"],
)
def test_leave_one_out_felt_by_the_others(machine, y):
    """Where a row has a say in the others' weights, its absence is felt even if it supports nothing."""
    machine = clone(machine).set_params(gamma=0.2, **EXACT)

    def value(machine, X, y):
        return float(np.ravel(machine.decision_function(X))[0])

    agree(machine, WIDE, y[:LONE], cv=LeaveOneOut(), scoring=value, close=1e-4)


def test_leave_one_out_at_scale():
    expected = by_fits(SVC(**EXACT), WIDE, SIGNS[:LONE], cv=LeaveOneOut())
    np.testing.assert_array_equal(cross_validate(SVC(**EXACT), WIDE, SIGNS[:LONE], cv="loo").scores, expected)


def test_leave_one_out_with_weights():
    machine, weight = SVC(gamma=0.2, **EXACT), WEIGHT[:LONE]
    expected = by_fits(machine, WIDE, SIGNS[:LONE], cv=LeaveOneOut(), sample_weight=weight)
    found = cross_validate(machine, WIDE, SIGNS[:LONE], cv="loo", sample_weight=weight)
    np.testing.assert_array_equal(found.scores, expected)


# ---------------------------------------------------------------- refusals

RARE = SIGNS.copy()
RARE[0] = 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cv": 91}, r"cv=91 .*90 rows"),
        ({"cv": 60}, r"cv=60 "),
        ({"cv": 1}, r"cv=1 "),
        ({"cv": 0}, r"cv=0 "),
        ({"cv": []}, r"cv=\[\] "),
        ({"cv": [([0, 1, 95], [2])]}, r"cv has a pair with row 95: pass numbers from 0 to 89\.$"),
        ({"cv": [([0, 1, 2], [-1])]}, r"cv has a pair with row -1: pass numbers from 0 to 89\.$"),
        ({"cv": "lol"}, r"cv='lol' is unknown: pass a number of folds, a splitter or 'loo'\.$"),
        ({"C": (1.0, 0)}, r"C=0 is out of range: pass a finite number greater than 0\.$"),
        ({"C": -1}, r"C=-1 is out of range"),
        ({"C": (1.0, np.nan)}, r"C=nan is out of range"),
        ({"C": ()}, r"C has shape \(0,\): pass a list of numbers\.$"),
        ({"gamma": []}, r"gamma has shape \(0,\): pass a list of numbers\.$"),
        ({"gamma": [[0.1, 1.0]]}, r"gamma has shape \(1, 2\): pass a list of numbers\.$"),
        ({"gamma": (-0.5, 1.0)}, r"gamma=-0\.5 is out of range: pass a finite number of at least 0\.$"),
        ({"sample_weight": [1.0, 2.0]}, r"sample_weight has 2 values: pass 90"),
        ({"n_jobs": 0}, r"n_jobs=0 "),
    ],
    ids=lambda given: str(given)[:40],
)
def test_refusals(given, message):
    with pytest.raises(ValueError, match="^" + message):
        cross_validate(SVC(), X, SIGNS, **given)


@pytest.mark.parametrize(
    ("machine", "y", "given", "message"),
    [
        (SVC(), RARE, {}, r"cv=5 .* class .* one row alone: drop that class\.$"),
        (SVC(), np.ones(ROWS), {}, r"y holds one class, \[1\.0\]: "),
        (SVC(), TARGETS, {}, r"Unknown label type: continuous"),
        (SVC(kernel="linear"), SIGNS, {"gamma": [0.5]}, r"gamma=\[0\.5\] is given, but kernel='linear' has no width"),
        (SVC(kernel="poly"), SIGNS, {"gamma": [0.5]}, r"gamma=\[0\.5\] is given, but kernel='poly' has no width"),
        (NuSVC(), SIGNS, {"C": [1.0]}, r"C=\[1\.0\] is given, but NuSVC has none: leave it out\.$"),
        (SVC(C="adapt"), SIGNS, {"gamma": [1.0]}, r"C='adapt' "),
        (SVC(gamma="adapt"), SIGNS, {"C": [1.0]}, r"gamma='adapt' "),
        (SVC(C=-1.0), SIGNS, {}, r"C=-1\.0 is out of range"),
    ],
    ids=lambda given: str(given)[:30],
)
def test_refusals_of_a_machine(machine, y, given, message):
    with pytest.raises(ValueError, match="^" + message):
        cross_validate(machine, X, y, **given)


def test_numbers_are_asked_for():
    with pytest.raises(TypeError, match=r"^C='a' is a str: pass a finite number greater than 0\.$"):
        cross_validate(SVC(), X, SIGNS, C=["a"])
    with pytest.raises(TypeError, match=r"^gamma='scale' is a str"):
        cross_validate(SVC(), X, SIGNS, gamma="scale")


@pytest.mark.parametrize("machine", [OneClassSVM(), svm.SVC(), make_pipeline(SVC())], ids=lambda m: type(m).__name__)
def test_other_estimators_are_refused(machine):

    with pytest.raises(TypeError, match=rf"^estimator={type(machine).__name__}\b.*SVC"):
        cross_validate(machine, X, SIGNS)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_a_nu_without_a_margin_scores_as_fits_do(scheme):
    """The solution is w = 0 there; fits take the smallest ν that gives a margin."""
    rows, labels = make_classification(240, 6, n_informative=4, n_classes=3, flip_y=0.3, random_state=0)
    machine = NuSVC(nu=0.2, kernel="linear", multiclass=scheme)
    with pytest.warns(UserWarning, match=r"^nu=0\.2 leaves no margin .* of 4 fits") as heard:
        found = cross_validate(machine, rows, labels, cv=4)
    assert len(heard) == 1
    with pytest.warns(UserWarning, match="leaves no margin"):
        expected = cross_val_score(machine, rows, labels, cv=4)
    np.testing.assert_allclose(found.scores[0, 0], expected, atol=0.02)


def test_a_class_of_one_row_where_folds_do_not_mind():
    agree(SVC(gamma=0.5, **EXACT), X, RARE, cv=KFold(3))


def test_probabilities_are_refused_by_name():
    with pytest.raises((AttributeError, ValueError), match=r"^SVC.*predict_proba"):
        cross_validate(SVC(), X, SIGNS, scoring="neg_log_loss")


# ---------------------------------------------------------------- interrupts


def interrupted(monkeypatch, interrupt, jobs):
    """Solves, of 300, of a cross-validation that is interrupted at its sixth.

    From there on each takes 0.2 s more, so that a thread that gets little of a busy machine can still end it in time.
    """
    solve, climbs = chain.Chain.solve, []

    def slow(self, problem, last=None):
        climbs.append(None)
        if len(climbs) == 6:
            interrupt()
        time.sleep(0.2 * (len(climbs) > 5))
        return solve(self, problem, last)

    monkeypatch.setattr(chain.Chain, "solve", slow)
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        cross_validate(SVC(), X, SIGNS, gamma=np.geomspace(0.01, 10, 20), C=(0.1, 1.0, 10.0), n_jobs=jobs)
    for _ in range(200):  # a thread that was just starting is not waited for, but ends at its next step
        if threading.active_count() == threads:
            break
        time.sleep(0.05)
    assert threading.active_count() == threads
    return len(climbs)


def raised():
    raise KeyboardInterrupt


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_in_a_climb_goes_on_its_way(monkeypatch, jobs):
    assert 6 <= interrupted(monkeypatch, raised, jobs) < 150


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_all_threads(monkeypatch, jobs):
    assert 6 <= interrupted(monkeypatch, lambda: signal.raise_signal(signal.SIGINT), jobs) < 150


def test_a_complaint_from_a_thread_is_heard():
    def never(machine, X, y):
        raise RuntimeError("no score today")

    with pytest.raises(RuntimeError, match="no score today"):
        cross_validate(SVC(), X, SIGNS, gamma=GAMMA, scoring=never, n_jobs=2)


# ---------------------------------------------------------------- the answer


def answer(means, gamma=(0.1, 1.0, 10.0), C=(1.0, 10.0)):
    scores = np.repeat(np.array(means, dtype=float)[:, :, None], 2, axis=2)
    return CrossValidation(np.array(gamma), np.array(C), scores, np.zeros_like(scores), 1.5)


def test_the_best_is_the_largest_mean():
    found = answer([[0.5, 0.6], [0.7, 0.9], [0.8, 0.4]])
    assert found.best == (1, 1)
    assert found.best_params == {"gamma": 1.0, "C": 10.0}
    found.scores[2, 0] = (0.8, 1.1)
    np.testing.assert_allclose(found.mean, [[0.5, 0.6], [0.7, 0.9], [0.95, 0.4]])
    assert found.best == (2, 0)


def test_ties_go_to_the_smaller_gamma_then_the_smaller_c():
    assert answer([[0.5, 0.6], [0.9, 0.9], [0.9, 0.9]]).best == (1, 0)
    assert answer([[0.5, 0.9], [0.9, 0.9], [0.9, 0.9]]).best == (0, 1)
    backwards = answer([[0.9, 0.9], [0.9, 0.9], [0.5, 0.5]], gamma=(10.0, 1.0, 0.1), C=(10.0, 1.0))
    assert backwards.best == (1, 1)
    assert backwards.best_params == {"gamma": 1.0, "C": 1.0}
    rounded = answer([[0.5, 0.6], [0.9, 0.9], [0.5, 0.5]])
    rounded.scores[1, 1] += 1e-15
    assert rounded.best == (1, 0)


def test_it_prints_as_a_table():
    lines = str(answer([[0.5, 0.6], [0.7, 0.9], [0.8, 0.4]])).splitlines()
    assert lines[0].split() == ["gamma\\C", "1", "10"]
    assert [line.split() for line in lines[1:4]] == [
        ["0.1", "0.5000", "0.6000"],
        ["1", "0.7000", "0.9000"],
        ["10", "0.8000", "0.4000"],
    ]
    assert lines[4] == "best 0.9000 at gamma=1, C=10; 12 fits in 1.5 s"


def test_what_is_found_can_be_set():
    found = cross_validate(SVC(**EXACT), X, SIGNS, gamma=GAMMA, C=C, cv=PAIRS)
    best = SVC(**EXACT).set_params(**found.best_params)
    assert cross_val_score(best, X, SIGNS, cv=PAIRS).mean() == pytest.approx(found.mean.max())
    assert str(found).endswith(f"{2 * 2 * 3} fits in {found.seconds:.3g} s")


@pytest.mark.parametrize(
    ("machine", "grid"),
    [
        (SVC(), {"C": C}),
        (SVC(gamma=0.7), {"C": C}),
        (SVC(kernel="poly", gamma=0.3), {"C": C}),
        (SVC(kernel="linear"), {"C": C}),
        (SVC(C=3.0), {"gamma": GAMMA}),
        (NuSVC(nu=0.3), {"gamma": GAMMA}),
        (SVC(), {}),
    ],
    ids=str,
)
def test_what_is_found_can_be_set_whatever_the_grid(machine, grid):
    found = cross_validate(machine, X, SIGNS, **grid)
    best = clone(machine).set_params(**found.best_params)
    assert cross_val_score(best, X, SIGNS).mean() == pytest.approx(found.mean.max(), abs=0.03)
    assert "best" in str(found)


def test_scores_that_do_not_exist_are_told():
    """R² of one row is none; scikit-learn gives NaN, which no machine can be chosen by."""
    with pytest.raises(ValueError, match="scoring"):
        cross_validate(SVR(gamma=0.5), X[:20], TARGETS[:20], cv="loo")


@pytest.mark.parametrize("scoring", [["accuracy"], ("accuracy", "f1"), {"a": "accuracy"}, []], ids=str)
def test_several_scores_are_refused(scoring):
    with pytest.raises(ValueError, match=r"^scoring=.* is no single score: pass one, such as 'accuracy', or None\.$"):
        cross_validate(SVC(gamma=0.5), X, SIGNS, scoring=scoring)


def test_the_threads_of_blas_are_left_alone():
    """They are the process's, not ours: another thread may be using them."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    seen = set()

    def score(machine, X, y):
        seen.update(pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas")
        return 1.0

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        cross_validate(SVC(), X, SIGNS, gamma=[0.1, 1.0], C=[1.0], scoring=score)
    assert seen <= {2}


@pytest.mark.parametrize("grid", [{"gamma": [0.1, 1.0, 10.0], "C": [1.0, 10.0]}, {"C": [0.1, 1.0, 10.0]}])
def test_results_are_named_as_grid_search_names_them(grid):
    """The same points in the same order, with the same scores, means, deviations and ranks."""
    X, y = make_classification(120, 4, random_state=3)
    found = cross_validate(SVC(gamma=1.0, tol=1e-6), X, y, cv=4, **grid).cv_results_
    search = GridSearchCV(SVC(gamma=1.0, tol=1e-6), grid, cv=4).fit(X, y).cv_results_
    assert found["params"] == search["params"]
    for name, values in found.items():
        if name != "params":
            np.testing.assert_allclose(values, np.asarray(search[name], dtype=np.float64), err_msg=name)
    assert set(search) - set(found) == {"mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"}
