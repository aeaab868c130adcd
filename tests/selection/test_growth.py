"""The search by cross-validation: what it tells is what fold-by-fold fits give, and it goes where the optimum is."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics import balanced_accuracy_score, f1_score, make_scorer
from sklearn.model_selection import cross_val_score

from adatron import SVC, SVR, NuSVC, NuSVR
from adatron.selection import folds, growth
from adatron.selection.lattice import Losses, Surface, across, around

BOTH = {"gamma": "adapt", "C": "adapt"}
X, Y = make_moons(200, noise=0.25, random_state=0)
TARGETS = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=200)


def surface(losses, rows=None, **options):
    """Of fold losses by place."""
    found = Surface(rows, **options)
    found.known = {
        place: Losses(np.atleast_2d(np.asarray(each, float)), np.ones((1, np.size(each))))
        for place, each in losses.items()
    }
    return found


def remembered(monkeypatch):
    """The pairs of rows of every cross-validation, as they are made."""
    seen, plain = [], folds.weighted_validation

    def noted(learning, splits, **options):
        seen.append((learning.data.X, learning.data.y, options | {"cv": splits}))
        return plain(learning, splits, **options)

    monkeypatch.setattr(growth, "weighted_validation", noted)
    return seen


# ---------------------------------------------------------------- what the path tells


@pytest.mark.parametrize("machine", [SVC(**BOTH), SVR(**BOTH)], ids=["SVC", "SVR"])
def test_means_and_standard_errors_are_those_of_fits_fold_by_fold(machine, monkeypatch):
    y = Y if isinstance(machine, SVC) else TARGETS
    seen = remembered(monkeypatch)
    monkeypatch.setattr(growth, "TOL", 1e-6)
    path = clone(machine).set_params(tol=1e-6).fit(X, y).path_
    first, again = seen[0][2]["cv"], seen[-1][2]["cv"]
    assert len(first) == len(again) == 5
    assert not any(np.array_equal(one[1], other[1]) for one in first for other in again)
    rows, labels = seen[0][:2]
    scoring = None if isinstance(machine, SVC) else "neg_mean_squared_error"
    once, twice = max(path.points[:20], key=lambda point: point.value), path.best
    for point, splits in ((once, [first]), (twice, [first, again])):
        plain = clone(machine).set_params(gamma=point.gamma, C=point.C, tol=1e-6)
        scores = [cross_val_score(plain, rows, labels, cv=cv, scoring=scoring) for cv in splits]
        losses = (1 if scoring is None else 0) - np.array(scores)
        assert point.value == pytest.approx(losses.mean(), rel=1e-4)
        error = np.sqrt(losses.var(axis=1, ddof=1).mean() / 5)
        assert point.standard_error == pytest.approx(error, rel=1e-3)
    assert "std error" in str(path).splitlines()[0]


def test_the_estimate_is_what_the_other_folds_choose():
    """Of two points that are best by turns, each fold's own luck does not count."""
    found = surface({(0, 0): [0.0, 0.0, 0.3, 0.3], (9, 0): [0.3, 0.3, 0.0, 0.0001]})
    assert min(found.means()) == pytest.approx(0.15, abs=1e-3)
    mean, error = found.honest()
    assert mean == pytest.approx((0.3 + 0.3 + 0.3 + 0.3) / 4, abs=1e-3)
    assert error == pytest.approx(0, abs=1e-3)


def test_the_estimate_is_no_less_than_the_least_value_in_the_mean():
    """Labels without any rule: half of them are wrong, and the least of many means is far from that."""
    random = np.random.default_rng(0)
    estimates, values = [], []
    for _ in range(12):
        path = SVC(**BOTH).fit(random.normal(size=(60, 3)), np.arange(60) % 2).path_
        estimates.append(path.estimate)
        values.append(path["value"].min())
        assert f"estimate {path.estimate:.4g} ± {path.estimate_error:.2g}" in str(path)
    assert np.mean(values) < 0.4
    assert np.mean(values) + 0.03 < np.mean(estimates) < 0.55


def test_folds_do_not_depend_on_unit_and_origin(monkeypatch):
    seen, splits = remembered(monkeypatch), []
    for rows in (X, 1024 * X - 4096, np.column_stack((X, np.full(200, 3.0)))):
        seen.clear()
        SVC(**BOTH).fit(rows, Y)
        found, _, options = seen[0]
        place = {tuple(row): k for k, row in enumerate(rows.tolist())}
        splits.append([sorted(place[tuple(row)] for row in found[test].tolist()) for _, test in options["cv"]])
    assert splits[0] == splits[1] == splits[2]


# ---------------------------------------------------------------- ties, noise, rims


def test_among_equals_the_smoother_one():
    flat = {(i, j): [0.1] * 5 for i in range(-2, 3) for j in range(-2, 3)}
    assert surface(flat).best() == (2, -2)
    assert surface(flat, rows=100).best() == (2, -2)


def test_a_larger_C_has_to_be_better_by_a_little():
    alone = {(0, 0): [0.1] * 5, (0, 9): [0.099] * 5}
    assert surface(alone).best() == (0, 0)
    assert surface(alone | {(0, 9): [0.05] * 5}).best() == (0, 9)


def test_a_valley_is_safer_than_a_hole():
    valley = {place: [0.10] * 5 for place in around((0, 0), (0, 1))}
    slope = {place: [0.30] * 5 for place in around((9, 0), (0, 1))}
    found = surface(valley | slope | {(9, 0): [0.09] * 5})
    assert found.best() in valley


def test_no_solution_is_never_the_best():
    found = surface({(0, 0): [np.inf] * 5, (1, 0): [0.4] * 5, (2, 0): [np.inf] * 5})
    assert found.best() == (1, 0)


def test_the_rim_is_followed_only_where_it_is_clearly_better():
    fall = {(i, 0): [0.3 - 0.1 * i + 0.001 * k for k in range(5)] for i in range(3)}
    assert surface(fall).beyond(0, 1, (-9, 9)) == 3
    assert surface(fall).beyond(0, 1, (-9, 2)) is None
    noisy = {(0, 0): [0.2] * 5, (1, 0): [0.2] * 5, (2, 0): [0.0, 0.4, 0.0, 0.4, 0.15]}
    assert surface(noisy).beyond(0, 1, (-9, 9)) is None
    flat = {(i, 0): [0.2] * 5 for i in range(3)}
    assert surface(flat).beyond(0, 1, (-9, 9)) is None


def test_a_width_below_the_map_is_found():
    """Classes alternate in narrow stripes: the best width is a small part of the median distance."""
    rows = np.random.default_rng(0).uniform(0, 1, size=(1500, 1))
    labels = (rows[:, 0] * 20).astype(int) % 2
    machine = SVC(**BOTH).fit(rows[:1000], labels[:1000])
    median = np.median(np.abs(rows[:300] - rows[300:600].T))
    assert machine.sigma_ < 0.25 * median  # the map begins at 0.35
    assert machine.score(rows[1000:], labels[1000:]) > 0.9


def test_a_width_above_the_map_is_found(monkeypatch):
    """A plane in noise, and a map that begins too low: the search leaves it."""
    monkeypatch.setattr(growth, "MAP", ((-9, -6, -3), (-2, 0, 2)))
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 10))
    labels = (rows @ np.ones(10) > 0).astype(int)
    machine = SVC(**BOTH).fit(rows, labels)
    median = np.median(np.linalg.norm(rows[:100, None] - rows[100:200], axis=2))
    assert machine.sigma_ > 0.9 * median  # the map ends at 0.35
    more = random.normal(size=(500, 10))
    assert machine.score(more, (more @ np.ones(10) > 0).astype(int)) > 0.9


def test_neighbours():
    assert len(around((0, 0), (0, 1))) == 9
    assert around((3, 1), (1,)) == [(3, 0), (3, 1), (3, 2)]
    assert set(across((0, 0), (0, 1))) == {(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)}


# ---------------------------------------------------------------- growth


def test_what_few_rows_choose_is_refined_on_more():
    rows, labels = make_classification(5000, 6, n_informative=4, random_state=0)
    path = SVC(**BOTH).fit(rows, labels).path_
    assert sorted(set(path["rows"])) == [256.0, 1024.0, 4096.0]
    assert path.chosen.rows == 4096
    counts = [int((path["rows"] == size).sum()) for size in (256, 1024, 4096)]
    assert counts[0] >= 20
    assert counts[1] >= 9
    assert counts[2] >= 9
    assert set(SVC(**BOTH).fit(rows[:900], labels[:900]).path_["rows"]) == {256.0, 900.0}
    assert set(SVC(**BOTH).fit(rows[:280], labels[:280]).path_["rows"]) == {280.0}


def test_more_rows_correct_what_few_rows_say(monkeypatch):
    """A board of 64 squares: 256 rows do not show it, 2,500 do."""
    random = np.random.default_rng(0)
    rows = random.uniform(0, 1, size=(3000, 2))
    labels = ((rows * 8).astype(int).sum(axis=1) + (random.random(3000) < 0.03)) % 2
    train, test = slice(2500), slice(2500, None)
    grown = SVC(**BOTH).fit(rows[train], labels[train]).score(rows[test], labels[test])
    monkeypatch.setattr(growth, "MOST", 256)
    assert SVC(**BOTH).fit(rows[train], labels[train]).score(rows[test], labels[test]) < 0.6
    assert grown > 0.85


def test_little_memory_means_few_rows():
    rows, labels = make_classification(3000, 6, random_state=0)
    path = SVC(**BOTH, cache_size=20).fit(rows, labels).path_
    assert path["rows"].max() <= np.sqrt(20e6 / 48)


# ---------------------------------------------------------------- scoring


def unbalanced(seed=0):
    rows, labels = make_classification(
        900, 6, n_informative=4, weights=[0.9], flip_y=0.05, class_sep=0.6, random_state=seed
    )
    return rows, labels


def test_scoring_is_what_is_optimised(monkeypatch):
    rows, labels = unbalanced()
    seen = remembered(monkeypatch)
    by_balance = SVC(**BOTH, scoring="balanced_accuracy", class_weight="balanced").fit(rows, labels)
    assert {options["scoring"] for _, _, options in seen} == {"balanced_accuracy"}
    path = by_balance.path_
    assert ((path["value"] < -0.4) & (path["value"] >= -1)).all()
    scores = []
    for train, test in seen[-1][2]["cv"]:
        X_, y_ = seen[-1][:2]
        plain = SVC(gamma=path.best.gamma, C=path.best.C, class_weight="balanced").fit(X_[train], y_[train])
        scores.append(balanced_accuracy_score(y_[test], plain.predict(X_[test])))
    assert -path.best.value == pytest.approx(np.mean(scores), abs=0.03)
    plain = SVC(**BOTH).fit(rows, labels)
    test_rows, test_labels = unbalanced(0)
    assert balanced_accuracy_score(test_labels, by_balance.predict(test_rows)) > balanced_accuracy_score(
        test_labels, plain.predict(test_rows)
    )


def test_accuracy_is_the_default():
    one, other = SVC(**BOTH).fit(X, Y), SVC(**BOTH, scoring="accuracy").fit(X, Y)
    np.testing.assert_array_equal(one.path_["value"], other.path_["value"])
    assert (one.gamma_, one.C_) == (other.gamma_, other.C_)


@pytest.mark.parametrize(
    ("machine", "y"),
    [
        (SVC(**BOTH, scoring="f1"), Y),
        (SVC(**BOTH, scoring="roc_auc"), Y),
        (SVC(**BOTH, scoring=make_scorer(f1_score)), Y),
        (SVC(gamma="adapt", scoring="accuracy", criterion="loo"), None),
        (NuSVC(gamma="adapt", nu=0.3, scoring="balanced_accuracy"), Y),
        (SVR(**BOTH, scoring="r2"), TARGETS),
        (SVR(**BOTH, scoring="neg_mean_absolute_error", epsilon="adapt"), TARGETS),
        (NuSVR(**BOTH, scoring="neg_median_absolute_error"), TARGETS),
    ],
    ids=str,
)
def test_scorers(machine, y):
    rows = slice(40) if y is None else slice(None)
    y = Y if y is None else y
    machine = clone(machine).fit(X[rows], y[rows])
    assert np.isfinite(machine.path_["value"]).all()
    assert machine.score(X, y) > 0.8
    if getattr(machine, "epsilon", None) == "adapt":
        assert 0.02 < machine.epsilon_ < 0.2  # from squared errors, whatever is scored


@pytest.mark.parametrize("scoring", ["neg_max_error", make_scorer(lambda truth, guess: -abs(truth - guess).max())])
def test_metrics_that_take_no_weights_can_be_scored_by(scoring):
    """Scikit-learn's scorers hand weights on to metrics, of which some take none."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    assert SVR(gamma="adapt", scoring=scoring).fit(rows, rows[:, 0]).path_.best.value > 0
    with pytest.raises(ValueError, match="takes no sample_weight, and rows have weights"):
        SVR(gamma="adapt", scoring=scoring).fit(rows, rows[:, 0], sample_weight=np.arange(1.0, 61.0))


def test_a_function_that_scores():
    def share(estimator, X, y):
        return float((estimator.predict(X) == y).mean())

    again = np.arange(200) % 150  # copies, which it has to see one by one
    machine = SVC(**BOTH, scoring=share).fit(X[again], Y[again])
    assert machine.path_.best.rows == 200
    assert -1 <= machine.path_.best.value < -0.8
    with pytest.raises(ValueError, match=r"takes no sample_weight, and rows have weights: let it take one\.$"):
        machine.fit(X, Y, sample_weight=np.arange(1, 201.0))


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (SVC(**BOTH, criterion="span", scoring="f1"), r"^scoring='f1' goes with criterion='cv' or 'loo': .*estimates"),
        (SVC(**BOTH, criterion="bound", scoring="accuracy"), r"^scoring='accuracy' goes with .* is a bound on errors"),
        (SVC(**BOTH, scoring=["f1", "accuracy"]), r"^scoring=\['f1', 'accuracy'\] is no single score"),
        (SVC(**BOTH, scoring="no such"), r"no such"),
        (
            SVC(**BOTH, criterion="loo", scoring="f1"),
            r"^scoring='f1' says nothing of a single row, .*='cv'\.$",
        ),
    ],
    ids=str,
)
def test_scorings_that_are_refused(machine, message):
    with pytest.raises((ValueError, TypeError), match=message):
        machine.fit(X, Y)


def test_span_counts_errors_and_so_takes_accuracy():
    assert SVC(**BOTH, criterion="span", scoring="accuracy").fit(X, Y).path_.criterion == "span"


def test_a_class_of_one_row_is_left_to_the_span_rule():
    machine = SVC(**BOTH).fit(X[:30], (np.arange(30) == 0).astype(int))
    assert machine.path_.criterion == "span"
    assert SVC(**BOTH).fit(X[:30], Y[:30]).path_.criterion == "cv"


# ---------------------------------------------------------------- time, progress


def test_a_limit_ends_a_stage_in_the_middle(monkeypatch):
    """The clock jumps while the second stage runs: what the first has found is used."""
    rows, labels = make_classification(2000, 6, random_state=0)
    free = SVC(**BOTH).fit(rows, labels).path_
    plain, calls = growth._Stage.judge, []

    def late(self, *words, **options):
        calls.append(len(self))
        if len(self) > 256:
            self.search.began -= 1e6
        return plain(self, *words, **options)

    monkeypatch.setattr(growth._Stage, "judge", late)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = SVC(**BOTH, max_time=1e5).fit(rows, labels)
    assert set(machine.path_["rows"]) == {256.0}
    assert machine.path_.notes == ["max_time=100000 ended the search early."]
    assert max(calls) > 256
    assert set(free["rows"]) == {256.0, 1024.0, 2000.0}


def test_progress_is_printed(capsys):
    SVC(**BOTH, verbose=True).fit(X, Y)
    lines = [line for line in capsys.readouterr().out.splitlines() if " points on " in line]
    assert len(lines) >= 2
    assert lines[0].startswith("[SVC] ")
    assert "20 points on 200 rows, best gamma = " in lines[0]
    SVC(**BOTH).fit(X, Y)
    assert " points on " not in capsys.readouterr().out


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_between_stages(monkeypatch):
    plain = growth._Stage.judge

    def interrupted(self, *words, **options):
        plain(self, *words, **options)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(growth._Stage, "judge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SVC(**BOTH).fit(X, Y)


@pytest.mark.parametrize(
    ("scoring", "error", "sentence"),
    [
        (3, TypeError, r"^scoring=3 is of type int: pass None, one of .*, or a function of an estimator, X and y\.$"),
        ("no such", ValueError, r"^scoring='no such' is unknown: pass None, one of .*\.$"),
    ],
)
def test_what_is_no_score_is_refused_by_name(scoring, error, sentence):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    labels = np.arange(20) % 2
    with pytest.raises(error, match=sentence):
        SVC(gamma="adapt", scoring=scoring).fit(rows, labels)
    with pytest.raises(error, match=sentence):
        folds.cross_validate(SVC(), rows, labels, scoring=scoring)
