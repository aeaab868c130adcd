"""Machines that find their width and C while they train: what they say they chose is what they were trained with."""

from __future__ import annotations

import json
import pickle
import signal
import threading
import time
import warnings
from math import inf, sqrt

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adatron import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from adatron.kernels import Gaussian
from adatron.selection import chain, cross_validate

CRITERIA = ("span", "bound", "xi-alpha", "cv", "loo")
BOTH = {"gamma": "adapt", "C": "adapt"}

X, Y = make_moons(150, noise=0.25, random_state=0)
Z, NEW = make_moons(1000, noise=0.25, random_state=1)
TARGETS = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=150)
WEIGHT = np.random.default_rng(1).integers(0, 3, 150).astype(float)


def values(machine, X):
    return machine.predict(X) if isinstance(machine, SVR | NuSVR) else machine.decision_function(X)


def check(machine, X, y, **weight):
    """Fit it, and hold what it says against a plain fit with what it chose."""
    asked = dict(machine.get_params())
    machine.fit(X, y, **weight)
    assert all(machine.get_params()[name] is value for name, value in asked.items())
    path, plain = machine.path_, clone(machine)
    assert path.chosen in path.points
    if isinstance(machine.kernel, str) and machine.kernel in ("rbf", "laplacian", "exponential"):
        expected = sqrt(0.5 / machine.gamma_) if machine.kernel == "rbf" else 1 / machine.gamma_
        assert machine.sigma_ == pytest.approx(expected)
        assert machine.gamma_ == pytest.approx(path.chosen.gamma)
        assert machine.sigma_ == pytest.approx(path.chosen.sigma)
        plain.set_params(gamma=machine.gamma_)
    if "C" in asked:
        assert pytest.approx(path.chosen.C) == machine.C_
        plain.set_params(C=machine.C_)
    if asked.get("epsilon") == "adapt":
        plain.set_params(epsilon=machine.epsilon_)
    plain.fit(X, y, **weight)
    assert not hasattr(plain, "path_")
    expected = values(plain, X)
    np.testing.assert_allclose(values(machine, X), expected, rtol=0, atol=2e-3 * max(1.0, np.abs(expected).max()))
    assert machine.converged_
    return machine


# ---------------------------------------------------------------- every machine, every criterion


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion(criterion):
    machine = check(SVC(**BOTH, criterion=criterion), X, Y)
    assert machine.score(X, Y) > 0.85
    assert machine.score(Z, NEW) > 0.85
    path = machine.path_
    assert path.criterion == criterion
    assert path.notes == []
    assert set(path["rows"]) == {150.0}
    assert len(set(path["sigma"].round(9))) > 3
    assert len(path) == len({(point.gamma, point.C) for point in path}) > 16
    assert np.isfinite(path["value"]).all()
    assert path.chosen.value <= np.quantile(path["value"], 0.5)


@pytest.mark.parametrize("criterion", ["span", "bound", "xi-alpha", "cv"])
def test_the_width_alone(criterion):
    machine = check(SVC(gamma="adapt", C=3.0, criterion=criterion), X, Y)
    assert set(machine.path_["C"]) == {3.0}
    assert machine.C_ == 3.0
    assert machine.score(Z, NEW) > 0.85


@pytest.mark.parametrize("criterion", ["span", "bound", "xi-alpha", "cv"])
def test_c_alone(criterion):
    machine = check(SVC(C="adapt", criterion=criterion), X, Y)
    assert machine.gamma_ == pytest.approx(1 / (2 * X.var()))
    assert set(machine.path_["gamma"].round(9)) == {round(machine.gamma_, 9)}
    assert machine.score(Z, NEW) > 0.83


def test_the_default_is_better_than_guessing():
    """Rows whose scale tells nothing: "scale" is off by far, the search is not."""
    random = np.random.default_rng(0)
    X, y = make_moons(300, noise=0.15, random_state=0)
    X, other, y, labels = X[:150], X[150:], y[:150], y[150:]
    X, other = (np.column_stack((rows, 3 * random.normal(size=150))) for rows in (X, other))
    adapted, guessed = SVC(**BOTH).fit(X, y).score(other, labels), SVC().fit(X, y).score(other, labels)
    assert adapted > guessed + 0.02


def test_the_values_are_those_of_cross_validation():
    machine = SVC(**BOTH, criterion="cv").fit(X, Y)
    assert ((machine.path_["value"] > 0) & (machine.path_["value"] < 0.6)).all()
    errors = machine.path_["value"] * 150 * 2
    np.testing.assert_allclose(errors, errors.round(), atol=1e-6)  # of 150 rows in equal folds, split twice at most


@pytest.mark.parametrize(
    "machine",
    [
        SVR(**BOTH),
        SVR(C="adapt", kernel="linear"),
        SVR(**BOTH, kernel="laplacian", bias="none"),
        NuSVR(gamma="adapt"),
        NuSVR(C="adapt", nu=0.3),
        SVR(**BOTH, epsilon="adapt"),
        SVR(gamma=1.0, C=10.0, epsilon="adapt"),
    ],
    ids=str,
)
def test_regression(machine):
    machine = check(clone(machine), X, TARGETS)
    assert machine.score(X, TARGETS) > (0.05 if machine.kernel == "linear" else 0.9)
    assert machine.path_.criterion == "cv"


@pytest.mark.parametrize("unit", [2.0**-17, 0.125, 2.0**20])  # without rounding: the way there is the same
@pytest.mark.parametrize("machine", [SVR(**BOTH, epsilon="adapt"), NuSVR(**BOTH)], ids=str)
def test_the_unit_of_the_targets_does_not_matter(machine, unit):
    """In yards or in inches: the same machine."""
    one = clone(machine).set_params(tol=1e-3).fit(X, TARGETS)
    other = clone(machine).set_params(tol=1e-3 * unit).fit(X, unit * TARGETS)
    assert other.sigma_ == pytest.approx(one.sigma_)
    assert pytest.approx(unit * one.C_) == other.C_
    assert other.epsilon_ == pytest.approx(unit * one.epsilon_, rel=1e-4)
    np.testing.assert_allclose(other.predict(Z) / unit, one.predict(Z), rtol=0, atol=0.01)


def test_epsilon_is_what_its_rule_says():
    machine = SVR(**BOTH, epsilon="adapt").fit(X, TARGETS)
    path = machine.path_
    assert machine.epsilon_ == path.epsilon == pytest.approx(3 * np.sqrt(path.best.value * np.log(150) / 150))
    assert 0.05 < machine.epsilon_ < 0.1  # the noise is 0.1
    assert f"ε = {machine.epsilon_:.6g}" in str(path)
    assert json.loads(path.to_json())["epsilon"] == machine.epsilon_
    assert SVR(epsilon=0.3).fit(X, TARGETS).epsilon_ == 0.3
    again = machine.set_params(epsilon=0.2, gamma=1.0, C=1.0).fit(X, TARGETS)
    assert again.epsilon_ == 0.2
    assert not hasattr(again, "path_")


def test_targets_without_spread_have_a_tube_of_nothing():
    machine = SVR(**BOTH, epsilon="adapt").fit(X, np.full(150, 3.0))
    assert machine.epsilon_ == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(machine.predict(Z), 3.0)


def test_a_tolerance_too_coarse_for_the_targets_is_said():
    machine = SVR(**BOTH, epsilon="adapt").fit(X, 1e-4 * TARGETS)
    assert any(note.startswith("tol=0.001 is coarse for targets that vary by ") for note in machine.path_.notes)
    assert not SVR(**BOTH).fit(X, TARGETS).path_.notes


def test_cross_validation_wants_a_number():
    with pytest.raises(ValueError, match=r"^epsilon='adapt' is no number: pass a number of at least 0\.$"):
        cross_validate(SVR(epsilon="adapt"), X, TARGETS, C=[1.0])


def test_regression_by_leaving_one_out():
    machine = check(SVR(gamma="adapt", C=10.0, criterion="loo"), X[:40], TARGETS[:40])
    assert machine.score(X, TARGETS) > 0.7


@pytest.mark.parametrize("criterion", ["cv", "loo"])
def test_nu_classification(criterion):
    rows = slice(None) if criterion == "cv" else slice(30)
    machine = check(NuSVC(gamma="adapt", nu=0.3, criterion=criterion), X[rows], Y[rows])
    assert machine.score(Z, NEW) > 0.8
    assert not hasattr(machine, "C_")


def test_one_class():
    machine = check(OneClassSVM(gamma="adapt", nu=0.1), X, None)
    assert machine.path_.criterion == "variance of kernel values"
    usual = (machine.predict(X) == 1).mean()
    assert usual > 0.85
    assert (machine.predict(Z) == 1).mean() > 0.7  # rows like those learned from, not by heart
    away = np.random.default_rng(0).uniform(5, 9, size=(100, 2))
    assert (machine.predict(away) == -1).all()


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "tree"])
def test_many_classes(multiclass):
    blobs, labels = make_blobs([40, 25, 50, 15], 3, cluster_std=1.5, random_state=0)
    names = np.array(["north", "east", "south", "west"])[labels]
    machine = check(SVC(**BOTH, multiclass=multiclass), blobs, names)
    assert machine.score(blobs, names) > 0.9


def test_many_classes_by_cross_validation():
    blobs, labels = make_blobs([30, 20, 25], 3, cluster_std=1.5, random_state=0)
    assert check(SVC(**BOTH, criterion="cv"), blobs, labels).score(blobs, labels) > 0.9
    assert check(NuSVC(gamma="adapt", nu=0.2), blobs, labels).score(blobs, labels) > 0.9


@pytest.mark.parametrize("kernel", ["laplacian", "exponential"])
def test_other_kernels_with_a_width(kernel):
    machine = check(SVC(**BOTH, kernel=kernel), X, Y)
    assert machine.score(Z, NEW) > 0.85


@pytest.mark.parametrize(
    ("kernel", "rows"),
    [("linear", X), ("poly", X), ("precomputed", X @ X.T), (lambda A, B: (A @ B.T + 1) ** 3, X)],
    ids=["linear", "poly", "precomputed", "function"],
)
def test_c_of_kernels_without_a_width(kernel, rows):
    machine = check(SVC(C="adapt", kernel=kernel), rows, Y)
    assert machine.score(rows, Y) > 0.75
    assert np.isnan(machine.path_["sigma"]).all()
    assert not hasattr(machine, "gamma_")
    assert "nan" not in str(machine.path_)


@pytest.mark.parametrize(
    "given",
    [
        {"loss": "squared_hinge"},
        {"loss": "squared_hinge", "criterion": "bound"},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 1: 0.5}, "criterion": "cv"},
        {"bias": "none"},
        {"bias": "augmented"},
        {"solver": "smo"},
        {"solver": "qp"},
        {"warm_start": True},
        {"kernel": Gaussian()},
    ],
    ids=str,
)
def test_other_settings(given):
    if "kernel" in given:  # an object: it is its width that is sought
        machine = SVC(**BOTH, **given).fit(X, Y)
        assert machine.gamma_ == SVC(**BOTH).fit(X, Y).gamma_
    else:
        machine = check(SVC(**BOTH, **given), X, Y)
    assert machine.score(Z, NEW) > (0.7 if isinstance(given.get("class_weight"), dict) else 0.8)


def test_a_hard_margin():
    """The width matters most where no slack is given."""
    apart = X + 0.35 * np.where(Y[:, None] > 0, [1.0, -1.0], [-1.0, 1.0])
    for criterion in ("span", "bound", "cv"):
        machine = check(SVC(gamma="adapt", C=inf, criterion=criterion), apart, Y)
        assert machine.score(apart, Y) == 1.0


def test_a_hard_margin_that_not_every_width_has():
    rows, labels = make_moons(60, noise=0.4, random_state=0)
    machine = SVC(gamma="adapt", C=inf, criterion="cv").fit(rows, labels)
    assert np.isinf(machine.path_["value"]).any()
    assert machine.converged_
    assert machine.score(rows, labels) == 1.0


# ---------------------------------------------------------------- rows of every sort


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_sparse_rows(kernel):
    rows = X * (np.random.default_rng(3).random(X.shape) > 0.15)
    thin = check(SVC(**BOTH, kernel=kernel), sparse.csr_array(rows), Y)
    dense = SVC(**BOTH, kernel=kernel).fit(rows, Y)
    # the median distance comes from a sample, and rows of the two are in another order
    assert thin.gamma_ == pytest.approx(dense.gamma_, rel=0.3)
    assert thin.score(rows, Y) == pytest.approx(dense.score(rows, Y), abs=0.05)


@pytest.mark.parametrize("criterion", ["span", "bound", "cv"])
def test_weights(criterion):
    machine = check(SVC(**BOTH, criterion=criterion), X, Y, sample_weight=WEIGHT)
    known = WEIGHT > 0
    assert set(machine.path_["rows"]) == {float(known.sum())}
    without = SVC(**BOTH, criterion=criterion).fit(X[known], Y[known], sample_weight=WEIGHT[known])
    assert (machine.gamma_, machine.C_) == pytest.approx((without.gamma_, without.C_), rel=1e-9)


def test_weights_of_regression():
    assert check(SVR(gamma="adapt", C=5.0), X, TARGETS, sample_weight=WEIGHT).score(X, TARGETS) > 0.9


def test_weights_matter():
    """Rows that count little are let go: the errors are among them."""
    wrong = np.arange(150) % 10 == 0
    y = np.where(wrong, 1 - Y, Y)
    machine = check(SVC(**BOTH), X, y, sample_weight=np.where(wrong, 1e-3, 1.0))
    assert machine.score(Z, NEW) > 0.87


def test_more_rows_than_the_search_takes():
    rows, labels = make_classification(1500, 6, n_informative=4, flip_y=0.02, random_state=0)
    train, test = slice(1200), slice(1200, None)
    for criterion, most in (("span", 800), ("cv", 1200)):
        machine = check(SVC(**BOTH, criterion=criterion), rows[train], labels[train])
        assert machine.path_["rows"].max() <= most
        assert machine.path_.chosen.rows == machine.path_["rows"].max() > machine.path_["rows"].min()
        assert machine.score(rows[test], labels[test]) > max(
            0.85, SVC().fit(rows[train], labels[train]).score(rows[test], labels[test]) - 0.03
        )


def test_rare_classes_are_in_the_sample():
    random = np.random.default_rng(0)
    labels = (np.arange(2000) < 60).astype(int)
    rows = random.normal(size=(2000, 2)) + 3.0 * labels[:, None]
    for criterion, most in (("span", 808), ("auto", 2000)):
        machine = SVC(**BOTH, criterion=criterion).fit(rows, labels)
        assert machine.path_["rows"].max() <= most
        assert machine.predict(rows)[:60].mean() > 0.8


def test_the_same_again():
    rows, labels = make_classification(900, 6, n_informative=4, random_state=0)
    first, second = (SVC(**BOTH, random_state=seed).fit(rows, labels) for seed in (None, 7))
    for name in ("sigma", "C", "value"):
        np.testing.assert_array_equal(first.path_[name], second.path_[name])
    assert (first.gamma_, first.C_) == (second.gamma_, second.C_)


def test_scales_go_with_the_data():
    near, far = SVC(**BOTH).fit(X, Y), SVC(**BOTH).fit(1e4 * X + 3e5, Y)
    assert far.sigma_ == pytest.approx(1e4 * near.sigma_, rel=1e-4)
    assert pytest.approx(near.C_, rel=1e-4) == far.C_


# ---------------------------------------------------------------- as scikit-learn uses them


def test_clone_parameters_and_pickle():
    machine = SVC(**BOTH, criterion="bound").fit(X, Y)
    copy = clone(machine)
    assert not hasattr(copy, "path_")
    assert copy.get_params() == machine.get_params()
    assert (copy.gamma, copy.C, copy.criterion) == ("adapt", "adapt", "bound")
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(Z), machine.decision_function(Z))
    assert str(again.path_) == str(machine.path_)
    assert again.path_.chosen in again.path_.points
    assert "gamma='adapt'" in repr(machine)


def test_in_a_pipeline_and_a_search():
    pipe = make_pipeline(StandardScaler(), SVC(**BOTH)).fit(X * [1.0, 1000.0], Y)
    assert pipe.score(Z * [1.0, 1000.0], NEW) > 0.85
    assert len(pipe[-1].path_) > 16
    search = GridSearchCV(SVC(**BOTH), {"criterion": ["span", "bound", "xi-alpha"]}, cv=3).fit(X, Y)
    assert search.best_params_["criterion"] in CRITERIA
    assert search.best_estimator_.path_.criterion == search.best_params_["criterion"]
    assert search.cv_results_["mean_test_score"].min() > 0.8


def test_a_refit_tells_its_own_story():
    machine = SVC(**BOTH).fit(X, Y)
    machine.set_params(gamma=2.5, C=4.0).fit(X, Y)
    assert not hasattr(machine, "path_")
    assert (machine.gamma_, machine.sigma_, machine.C_) == (2.5, pytest.approx(sqrt(0.2)), 4.0)
    machine.set_params(gamma="adapt").fit(X, Y)
    assert machine.C_ == 4.0
    assert len(machine.path_) > 4
    machine.set_params(kernel="linear", gamma="scale").fit(X, Y)
    assert not hasattr(machine, "path_")
    assert not hasattr(machine, "gamma_")
    assert not hasattr(machine, "sigma_")


def test_warm_start_after_a_search():
    machine = SVC(**BOTH, warm_start=True, tol=1e-6).fit(X, Y)
    first = machine.decision_function(Z)
    np.testing.assert_allclose(machine.fit(X, Y).decision_function(Z), first, rtol=0, atol=1e-4)


# ---------------------------------------------------------------- the path


def test_the_path_prints():
    path = SVC(**BOTH).fit(X, Y).path_
    lines = str(path).splitlines()
    assert lines[0].split()[:3] == ["σ", "C", "value"]
    assert len(lines) == len(path) + 2
    assert sum(line.startswith("> ") for line in lines) == 1
    assert lines[-1].startswith(f"chosen by cv: σ = {path.chosen.sigma:.6g} (gamma = {path.chosen.gamma:.6g}), C = ")
    assert repr(path).startswith(f"Path({len(path)} points by 'cv', chosen Point(sigma=")
    assert "np.float64" not in repr(path)


def test_the_path_as_frame_and_json():
    machine = SVC(gamma="adapt", C=inf).fit(*make_moons(40, noise=0.1, random_state=0))
    path = machine.path_
    frame = pytest.importorskip("pandas").DataFrame(path.frame())
    assert len(frame) == len(path)
    np.testing.assert_array_equal(frame["sigma"], path["sigma"])
    assert frame["rows"].dtype.kind == "i"
    told = json.loads(path.to_json())
    assert told["criterion"] == "cv"
    assert told["estimate"] == path.estimate
    assert told["notes"] == path.notes
    assert [point["sigma"] for point in told["points"]] == path["sigma"].tolist()
    assert told["chosen"]["gamma"] == machine.gamma_
    assert told["chosen"]["C"] is None  # infinite
    assert told["chosen"]["error"] is None


# ---------------------------------------------------------------- what may go wrong


@pytest.mark.parametrize(
    "machine", [SVC(**BOTH), SVC(**BOTH, criterion="cv"), SVR(**BOTH), NuSVC(gamma="adapt")], ids=str
)
def test_hardly_any_time(machine):
    machine = clone(machine).set_params(max_time=1e-6)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        machine.fit(X, TARGETS if isinstance(machine, SVR) else Y)
    assert machine.path_.notes == ["max_time=1e-06 ended the search early."]
    assert str(machine.path_).endswith("max_time=1e-06 ended the search early.")
    assert machine.path_.chosen in machine.path_.points
    assert np.isfinite(values(machine, X)).all()
    told = [warning for warning in heard if issubclass(warning.category, ConvergenceWarning)]
    assert len(told) == (not machine.converged_)


def test_time_enough_changes_nothing():
    """A limit that is not reached: the same choice."""
    for machine, y in ((SVC(**BOTH), Y), (SVR(gamma="adapt", C=5.0), TARGETS)):
        free, limited = clone(machine).fit(X, y), clone(machine).set_params(max_time=1000.0).fit(X, y)
        assert (limited.gamma_, limited.C_) == (free.gamma_, free.C_)
        assert limited.path_.notes == []


@pytest.mark.parametrize("machine", [SVC(**BOTH), SVC(gamma="adapt", criterion="cv"), SVR(**BOTH)], ids=str)
def test_rows_all_alike(machine):
    machine = clone(machine).fit(np.ones((40, 3)), TARGETS[:40] if isinstance(machine, SVR) else Y[:40])
    note = "All rows are alike: every distance is zero and any width will do; σ = 1 is taken."
    assert machine.path_.notes == [note]
    assert np.isfinite(values(machine, X=np.ones((5, 3)))).all()
    assert np.ptp(values(machine, X=np.ones((5, 3)))) == 0
    assert machine.sigma_ == 1.0


def test_rows_all_alike_of_one_class():
    machine = OneClassSVM(gamma="adapt").fit(np.ones((40, 3)))
    assert machine.path_.notes == ["All rows are alike: every distance is zero and any width will do; σ = 1 is taken."]
    assert machine.sigma_ == 1.0
    assert (machine.predict(np.ones((5, 3))) == 1).all()


def test_one_constant_feature_says_nothing():
    extra = np.column_stack((X, np.full(150, 7.0)))
    assert SVC(**BOTH).fit(extra, Y).gamma_ == pytest.approx(SVC(**BOTH).fit(X, Y).gamma_)


@pytest.mark.parametrize("criterion", ["span", "bound", "xi-alpha", "cv"])
def test_a_hard_margin_that_does_not_exist(criterion):
    """Rows alike with different labels: a refusal that says what to do, which then helps."""
    rows, labels = np.vstack((X[:40], X[:2])), np.append(Y[:40], 1 - Y[:2])
    message = (
        r"^C=inf asks for a hard margin, and there is none at any width tried: .* Pass a finite C, or C='adapt'\.$"
    )
    with pytest.raises(ValueError, match=message):
        SVC(gamma="adapt", C=inf, criterion=criterion).fit(rows, labels)
    for C in (10.0, "adapt"):
        machine = SVC(gamma="adapt", C=C, criterion=criterion).fit(rows, labels)
        assert machine.converged_
        assert machine.path_.notes == []


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (
            SVC(gamma="adapt", criterion="lol"),
            r"criterion='lol' is unknown: pass one of 'span', 'bound', 'xi-alpha', 'cv'",
        ),
        (SVR(gamma="adapt", criterion="span"), r"criterion='span' is for SVC: SVR takes 'cv' or 'loo'\.$"),
        (NuSVC(gamma="adapt", criterion="bound"), r"criterion='bound' is for SVC: NuSVC takes 'cv' or 'loo'\.$"),
        (
            SVC(gamma="adapt", criterion="xi-alpha", loss="squared_hinge"),
            r"criterion='xi-alpha' is for the hinge: pass criterion='span', or loss='hinge'\.$",
        ),
        (
            SVC(gamma="adapt", kernel="poly"),
            r"gamma='adapt' finds a width, and kernel='poly' has none: pass kernel='rbf', ",
        ),
        (SVR(gamma="adapt", kernel="linear"), r"gamma='adapt' finds a width, and kernel='linear' has none"),
        (OneClassSVM(gamma="adapt", kernel="sigmoid"), r"gamma='adapt' finds a width, and kernel='sigmoid' has none"),
        (SVC(gamma="Adapt"), r"gamma='Adapt' is unknown"),
        (SVC(gamma="adapt", C=-1.0), r"C=-1\.0 is out of range"),
        (SVC(gamma=-1.0, C="adapt"), r"gamma=-1\.0 is out of range"),
        (SVC(**BOTH, tol=0), r"tol=0 is out of range"),
        (SVC(**BOTH, loss="lol"), r"loss='lol' is unknown"),
        (SVC(**BOTH, multiclass="lol"), r"multiclass='lol' is unknown"),
    ],
    ids=lambda given: str(given)[:60],
)
def test_refusals(machine, message):
    with pytest.raises(ValueError, match="^" + message):
        machine.fit(X, Y)


def test_words_other_than_adapt_are_no_numbers():
    for machine, name in ((SVC(C="Adapt"), "C"), (NuSVC(nu="adapt"), "nu"), (SVR(epsilon="Adapt"), "epsilon")):
        with pytest.raises(TypeError, match=f"^{name}='[Aa]dapt' is a str: pass a "):
            machine.fit(X, Y)
    with pytest.raises(TypeError, match=r"^criterion=3 is unknown"):
        SVC(gamma="adapt", criterion=3).fit(X, Y)


@pytest.mark.parametrize(
    ("machine", "rows"),
    [
        (SVC(**BOTH), 2),
        (SVR(**BOTH), 3),
        (NuSVR(gamma="adapt"), 4),
        (NuSVC(gamma="adapt"), 6),
        (OneClassSVM(gamma="adapt"), 1),
    ],
    ids=str,
)
def test_few_rows(machine, rows):
    """Fewer than five folds need: fewer folds."""
    y = np.arange(rows) % 2 if isinstance(machine, SVC | NuSVC) else TARGETS[:rows]
    machine = clone(machine).fit(X[:rows], y)
    assert np.isfinite(values(machine, X)).all()


@pytest.mark.parametrize("criterion", ["span", "bound", "xi-alpha", "cv", "loo"])
def test_a_class_of_one_row(criterion):
    labels = (np.arange(30) == 0).astype(int)
    machine = SVC(**BOTH, criterion=criterion)
    if criterion in ("cv", "loo"):  # left out, nothing is left to learn it from
        with pytest.raises(ValueError, match=f"^criterion='{criterion}' "):
            machine.fit(X[:30], labels)
    else:
        assert np.isfinite(machine.fit(X[:30], labels).decision_function(X)).all()


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_goes_on_its_way(monkeypatch):
    solve, climbs = chain.Chain.solve, []

    def interrupted(self, problem, last=None):
        climbs.append(None)
        if len(climbs) == 5:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.2 * (len(climbs) > 4))  # a busy machine may need some of them
        return solve(self, problem, last)

    monkeypatch.setattr(chain.Chain, "solve", interrupted)
    threads = threading.active_count()
    for criterion in ("span", "cv"):
        climbs.clear()
        with pytest.raises(KeyboardInterrupt):
            SVC(**BOTH, criterion=criterion).fit(X, Y)
        assert 5 <= len(climbs) < 60
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"C": "adpt"}, r"^C='adpt' is a str: pass a number greater than 0, or \"adapt\"\.$"),
        ({"gamma": "adpt"}, r"^gamma='adpt' is unknown: pass \"scale\", \"auto\" or a number .*, or \"adapt\"\.$"),
    ],
)
def test_a_slip_of_the_pen_is_told_what_was_meant(options, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        SVC(**options).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "fit",
    [
        lambda rows, labels: NuSVC(gamma="adapt", nu=0.9).fit(rows, labels),
        lambda rows, labels: NuSVC(nu=0.9).fit(rows, labels),
        lambda rows, labels: cross_validate(NuSVC(nu=0.9), rows, labels, gamma=[0.1, 1.0]),
        lambda rows, labels: cross_validate(NuSVC(nu=0.9, multiclass="tree"), rows, labels, gamma=[0.1, 1.0], cv=2),
    ],
    ids=["adapt", "fit", "cross_validate", "one by one"],
)
def test_one_warning_is_given_once(fit):
    rows, labels = make_blobs([60, 25, 10], 3, cluster_std=1.5, random_state=0)
    for _ in range(2):  # and again by the next fit
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            fit(rows, labels)
        assert [str(warning.message)[:11] for warning in heard] == ["nu=0.9 is m"]


def test_warnings_of_a_score_are_given_once():
    """However many points and folds there are; and as an error, if that is asked for."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.arange(60) % 5

    def score(estimator, X, y, sample_weight=None):
        warnings.warn("this score is odd", UserWarning, stacklevel=2)
        return estimator.predict(X).mean()

    machine = SVC(gamma="adapt", scoring=score)
    with pytest.warns(UserWarning, match="this score is odd") as heard:
        machine.fit(rows, labels)
    assert len(heard) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="this score is odd"):
            machine.fit(rows, labels)


def test_folds_with_many_classes_are_not_warned_of():
    """Scikit-learn warns of labels with more classes than half the rows: these are the library's own folds."""
    machine = SVC(gamma="adapt", criterion="cv", bias="augmented")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.fit(X[:60], np.arange(60) // 2)


def test_only_the_fit_of_the_parameters_chosen_says_that_it_did_not_converge():
    random = np.random.default_rng(0)
    rows = random.normal(size=(56, 1)) * np.where(np.arange(56) < 15, 1e6, 1.0)[:, None]
    machine = SVR(gamma="adapt", C=8e5, epsilon=0.5, bias="augmented", augment=1e3)  # its folds are fits of their own
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        machine.fit(rows, random.normal(size=56))
    assert [each.category for each in heard] == [ConvergenceWarning]


EXTREMES = {
    "weights of 1e40": (X[:60], Y[:60], np.full(60, 1e40)),
    "weights of 1e-40": (X[:60], Y[:60], np.full(60, 1e-40)),
    "features of 1e150": (1e150 * X[:60], Y[:60], None),
    "features of 1e-150": (1e-150 * X[:60], Y[:60], None),
    "a constant feature": (np.column_stack((X[:60], np.full(60, 7.0))), Y[:60], None),
    "copies": (X[np.arange(60) // 6], Y[np.arange(60) // 6], None),
    "two rows": (X[:2], np.array([0, 1]), None),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize(
    "machine",
    [*(SVC(**BOTH, criterion=criterion) for criterion in CRITERIA), SVR(**BOTH, epsilon="adapt"), SVC(C="adapt")],
    ids=str,
)
def test_no_warnings_of_numpy(machine, name):
    rows, labels, weight = EXTREMES[name]
    if name == "two rows" and getattr(machine, "criterion", "") in ("cv", "loo") and not isinstance(machine, SVR):
        pytest.skip("refused")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        clone(machine).set_params(max_time=10).fit(rows, labels, sample_weight=weight)
