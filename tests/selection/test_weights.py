"""What the user weighted is what "adapt" weighs, and the order of rows does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification, make_moons
from sklearn.metrics import balanced_accuracy_score

from adatron import SVC, SVR, NuSVC, OneClassSVM

BOTH = {"gamma": "adapt", "C": "adapt"}
CRITERIA = ("span", "bound", "xi-alpha", "cv")

X, Y = make_moons(200, noise=0.25, random_state=0)
TARGETS = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=200)
NOISE = np.random.default_rng(1).normal(size=(200, 2))
COIN = np.random.default_rng(2).integers(0, 2, 200)
MANY, NAMES = make_classification(1100, 6, n_informative=4, flip_y=0.05, random_state=0)


def choice_of(machine):
    """What was chosen."""
    return getattr(machine, "gamma_", 1.0), getattr(machine, "C_", 1.0), getattr(machine, "epsilon_", 1.0)


def targets_for(machine, labels, targets):
    return targets if isinstance(machine, SVR) else None if isinstance(machine, OneClassSVM) else labels


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_of_next_to_no_weight_change_next_to_nothing(criterion):
    rows, labels = np.vstack((X, NOISE)), np.concatenate((Y, COIN))
    weight = np.repeat((1.0, 1e-6), 200)
    machine, without = SVC(**BOTH, criterion=criterion), SVC(**BOTH, criterion=criterion).fit(X, Y)
    machine.fit(rows, labels, sample_weight=weight)
    assert machine.path_.best.value == pytest.approx(without.path_.best.value, abs=0.01)
    assert choice_of(machine) == pytest.approx(choice_of(without), rel=1e-3)


def test_rows_of_next_to_no_weight_in_regression_and_of_one_class():
    rows, targets = np.vstack((X, 5 * NOISE)), np.concatenate((TARGETS, 30.0 * COIN))
    weight = np.repeat((1.0, 1e-9), 200)
    for machine in (SVR(**BOTH, epsilon="adapt"), OneClassSVM(gamma="adapt")):
        with_them = clone(machine).fit(rows, targets, sample_weight=weight)
        assert choice_of(with_them) == pytest.approx(choice_of(machine.fit(X, TARGETS)), rel=1e-3)


MACHINES = [
    *(SVC(**BOTH, criterion=criterion) for criterion in CRITERIA),
    SVC(**BOTH, kernel="laplacian", loss="squared_hinge"),
    SVC(C="adapt"),
    SVC(C="adapt", kernel="poly", coef0=1.0, criterion="cv"),
    NuSVC(gamma="adapt", nu=0.3),
    SVR(**BOTH, epsilon="adapt"),
    OneClassSVM(gamma="adapt"),
]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("size", [150, 1100])
def test_a_row_of_weight_three_is_three_rows(machine, size):
    if size == 1100 and "criterion='cv'" in str(machine):
        pytest.skip("covered by the smaller set")
    rows, labels = (X[:150], Y[:150]) if size == 150 else (MANY, NAMES)
    y = targets_for(machine, labels, np.tanh(rows[:, 0]) + np.sin(1e3 * rows[:, 1]))
    weight = np.random.default_rng(3).integers(0, 4, size)
    again = np.repeat(np.arange(size), weight)
    by_weight = clone(machine).fit(rows, y, sample_weight=weight.astype(float))
    by_rows = clone(machine).fit(rows[again], None if y is None else y[again])
    assert choice_of(by_weight) == pytest.approx(choice_of(by_rows), rel=1e-9)


def test_leaving_one_out_leaves_out_all_of_a_row():
    weight = np.random.default_rng(3).integers(0, 3, 40)
    again = np.repeat(np.arange(40), weight)
    for machine, y in ((SVC(gamma="adapt", criterion="loo"), Y), (SVR(gamma="adapt", criterion="loo"), TARGETS)):
        by_weight = clone(machine).fit(X[:40], y[:40], sample_weight=weight.astype(float))
        by_rows = clone(machine).fit(X[again], y[again])
        assert choice_of(by_weight) == pytest.approx(choice_of(by_rows), rel=1e-9)
        assert by_weight.path_.best.value == pytest.approx(by_rows.path_.best.value, rel=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_weight_of_a_class_is_one_of_its_rows(criterion, multiclass):
    blobs, labels = make_blobs([60, 40, 20], 3, cluster_std=2.5, random_state=0)
    by_class = SVC(**BOTH, criterion=criterion, multiclass=multiclass, class_weight={0: 0.5, 2: 4.0}).fit(blobs, labels)
    by_row = SVC(**BOTH, criterion=criterion, multiclass=multiclass)
    by_row.fit(blobs, labels, sample_weight=np.array([0.5, 1.0, 4.0])[labels])
    assert choice_of(by_class) == pytest.approx(choice_of(by_row), rel=1e-9)
    unweighted = clone(by_row).fit(blobs, labels)
    assert by_row.path_.points[0].value != pytest.approx(unweighted.path_.points[0].value, rel=1e-3)


def test_cross_validation_counts_rows_by_their_weight():
    """The criterion's value is the weighted error over all folds, and over rows left out one by one."""
    weight = np.where(Y > 0, 3.0, 0.25)[:60]
    for criterion in ("cv", "loo"):
        machine = SVC(gamma="adapt", C=1.0, criterion=criterion).fit(X[:60], Y[:60], sample_weight=weight)
        errors = machine.path_["value"] * weight.sum() * 4 * 2  # split twice at most
        np.testing.assert_allclose(errors, errors.round(), atol=1e-6)


@pytest.mark.parametrize("criterion", ["span", "cv"])
def test_a_balance_is_kept(criterion):
    """With 5 % positives: as good as a plain fit with the same class_weight, in the mean."""
    plain, adapted = [], []
    for seed in range(6):
        rows, labels = make_classification(
            2500, 10, n_informative=5, weights=[0.95], flip_y=0.01, class_sep=0.8, random_state=seed
        )
        train, test = slice(1000), slice(1000, None)
        for machine, scores in ((SVC(), plain), (SVC(**BOTH, criterion=criterion), adapted)):
            machine.set_params(class_weight="balanced").fit(rows[train], labels[train])
            scores.append(balanced_accuracy_score(labels[test], machine.predict(rows[test])))
    assert np.mean(adapted) > np.mean(plain) - 0.02


@pytest.mark.parametrize("unit", [1e-4, 1e5])
def test_weights_of_another_magnitude(unit):
    """As of boosting, whose weights sum to 1: C moves with them."""
    for rows, labels in ((X, Y), (MANY, NAMES)):
        one = SVC(**BOTH).fit(rows, labels)
        other = SVC(**BOTH).fit(rows, labels, sample_weight=np.full(len(labels), unit))
        assert other.score(rows, labels) > one.score(rows, labels) - 0.03
        assert one.C_ / 100 < unit * other.C_ < one.C_ * 100


def test_a_weight_for_one_class_alone_is_refused():
    with pytest.raises(ValueError, match=r"^y holds one class, \[1\], in the rows of positive weight"):
        SVC(**BOTH, class_weight={0: 0.0}).fit(X, Y)
    extreme = SVC(**BOTH, class_weight={0: 1e-20}).fit(X, Y)
    assert (extreme.predict(X) == 1).all()


# ---------------------------------------------------------------- the order of rows


@pytest.mark.parametrize("sort", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("size", [150, 1100])
@pytest.mark.parametrize(
    "machine",
    [
        SVC(**BOTH),
        SVC(C="adapt"),
        SVC(**BOTH, criterion="cv", class_weight="balanced"),
        SVR(**BOTH, epsilon="adapt"),
        OneClassSVM(gamma="adapt"),
    ],
    ids=str,
)
def test_the_order_of_rows_does_not_matter(machine, size, sort):
    rows, labels = (X[:150].copy(), Y[:150]) if size == 150 else (MANY.copy(), NAMES)
    rows[np.abs(rows) < 0.2] = 0
    rows = {"dense": rows, "float32": rows.astype(np.float32), "sparse": sparse.csr_array(rows)}[sort]
    y = targets_for(machine, labels, np.asarray(np.sin(np.arange(size) * 0.7)))
    weight = np.random.default_rng(3).integers(1, 4, size).astype(float)
    choices = set()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(size)
        fitted = clone(machine).fit(rows[order], None if y is None else y[order], sample_weight=weight[order])
        choices.add(tuple(float(f"{number:.9g}") for number in choice_of(fitted)))
    assert len(choices) == 1


def test_the_order_of_a_kernel_matrix_does_not_matter():
    K = np.exp(-((MANY[:, None] - MANY) ** 2).sum(axis=2) / 10)
    choices = set()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(K))
        choices.add(SVC(C="adapt", kernel="precomputed").fit(K[np.ix_(order, order)], NAMES[order]).C_)
    assert len(choices) == 1


def test_names_of_classes_do_not_matter():
    names = np.array(["no", "yes"])[NAMES]
    assert choice_of(SVC(**BOTH).fit(MANY, names)) == choice_of(SVC(**BOTH).fit(MANY, NAMES))


def test_copies_start_the_fit_with_their_part():
    """The search looks at copies once; the fit has them all."""
    again = np.repeat(np.arange(150), np.random.default_rng(3).integers(1, 4, 150))
    machine = SVC(**BOTH, tol=1e-6).fit(X[again], Y[again])
    assert machine.path_.best.rows == 150
    plain = SVC(gamma=machine.gamma_, C=machine.C_, tol=1e-6).fit(X[again], Y[again])
    np.testing.assert_allclose(machine.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-4)
