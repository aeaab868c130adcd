"""The machines among scikit-learn's tools: searches, pipelines, ensembles, calibration, persistence, warm starts."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adatron import SVC, SVR, KernelFisherDiscriminant, KernelNeighborsClassifier, NuSVC, NuSVR, OneClassSVM

IRIS, SPECIES = load_iris(return_X_y=True)
DIGITS, NUMBERS = (part[:600] for part in load_digits(return_X_y=True))
CLASSIFIERS = [SVC(), NuSVC(nu=0.2), KernelFisherDiscriminant(), KernelNeighborsClassifier()]
MACHINES = [*CLASSIFIERS, SVR(), NuSVR(), OneClassSVM()]
named = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)


def values(machine, X):
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


def loads_and_answers(blob, X):
    return values(pickle.loads(blob), X)


def test_grid_search_over_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, {"svc__C": [0.1, 1, 10], "svc__gamma": [0.1, "scale"]}, cv=3, n_jobs=2)
    assert search.fit(IRIS, SPECIES).best_score_ > 0.94


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "tree"])
def test_cross_validation(multiclass):
    assert cross_val_score(SVC(C=10, multiclass=multiclass), DIGITS, NUMBERS, cv=3).mean() > 0.88


def test_ensembles():
    stack = StackingClassifier([("a", SVC()), ("b", NuSVC(nu=0.2))], cv=3).fit(IRIS, SPECIES)
    assert stack.score(IRIS, SPECIES) > 0.94
    bag = BaggingClassifier(SVC(), n_estimators=4, n_jobs=2, random_state=0).fit(IRIS, SPECIES)
    assert bag.score(IRIS, SPECIES) > 0.94


@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
def test_calibrated_probabilities(method):
    machine = CalibratedClassifierCV(SVC(), method=method, ensemble=False).fit(IRIS, SPECIES)
    probabilities = machine.predict_proba(IRIS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert machine.score(IRIS, SPECIES) > 0.94


@pytest.mark.parametrize("make", [SVC, NuSVC, SVR, OneClassSVM])
def test_probability_is_answered(make):
    with pytest.raises(TypeError, match=r"has no probability=: fit CalibratedClassifierCV"):
        make(probability=True)


def test_predict_proba_is_answered():
    assert not hasattr(SVC(), "predict_proba")
    with pytest.raises(AttributeError, match=r"SVC has no predict_proba: fit CalibratedClassifierCV"):
        _ = SVC().predict_proba


def test_permutation_importance():
    X = np.column_stack((IRIS[:, 2:], np.random.default_rng(0).normal(size=150)))
    found = permutation_importance(SVC().fit(X, SPECIES), X, SPECIES, n_repeats=3, random_state=0)
    assert found.importances_mean[2] < found.importances_mean[:2].min()


@named
def test_persistence(machine, tmp_path):
    fitted = clone(machine).fit(IRIS, SPECIES)
    joblib.dump(fitted, tmp_path / "machine")
    np.testing.assert_array_equal(values(joblib.load(tmp_path / "machine"), IRIS), values(fitted, IRIS))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        elsewhere = pool.submit(loads_and_answers, pickle.dumps(fitted), IRIS).result()
    np.testing.assert_allclose(elsewhere, values(fitted, IRIS), rtol=1e-12)


@named
def test_parameters_survive(machine):
    again = clone(machine)
    assert again.get_params() == machine.get_params()
    before = again.get_params()
    again.fit(IRIS, SPECIES)
    assert again.get_params() == before
    assert "<div" in again._repr_html_()
    assert again.set_params(kernel="linear").kernel == "linear"


@named
def test_frames_and_names(machine):
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    fitted = clone(machine).fit(frame, SPECIES)
    assert list(fitted.feature_names_in_) == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(values(fitted, frame), values(clone(machine).fit(IRIS, SPECIES), IRIS))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"a": "z"}))


def test_metadata_routing():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(IRIS))
    with sklearn.config_context(enable_metadata_routing=True):
        machine = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(machine, {"C": [0.1, 1.0]}, cv=3).fit(IRIS, SPECIES, sample_weight=weight)
    direct = SVC(C=search.best_params_["C"]).fit(IRIS, SPECIES, sample_weight=weight)
    np.testing.assert_allclose(search.decision_function(IRIS), direct.decision_function(IRIS), atol=1e-9)


def test_read_only_and_mapped_input(tmp_path):
    np.save(tmp_path / "X.npy", IRIS)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(
        SVC().fit(mapped, SPECIES).decision_function(mapped), SVC().fit(IRIS, SPECIES).decision_function(IRIS)
    )


def test_float32_is_kept():
    assert SVC().fit(IRIS.astype(np.float32), SPECIES).support_vectors_.dtype == np.float32


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_is_dense(make):
    X = np.where(IRIS > 2, IRIS, 0.0)
    dense, thin = SVC().fit(X, SPECIES), SVC().fit(make(X), SPECIES)
    np.testing.assert_allclose(thin.decision_function(make(X)), dense.decision_function(X), atol=1e-9)
    assert sparse.issparse(thin.support_vectors_)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "tree"])
@pytest.mark.parametrize("change", [{}, {"C": 20.0}, {"gamma": 0.05}, {"kernel": "poly"}])
def test_warm_start(multiclass, change):
    warm = SVC(multiclass=multiclass, gamma=0.01, warm_start=True).fit(IRIS, SPECIES)
    warm.set_params(**change).fit(IRIS, SPECIES)
    cold = clone(warm).fit(IRIS, SPECIES)
    np.testing.assert_allclose(warm.decision_function(IRIS), cold.decision_function(IRIS), atol=1e-8)
    if not change:
        assert warm.n_iter_.sum() == 0 < cold.n_iter_.sum()


def test_warm_start_is_for_the_same_rows():
    warm = SVC(warm_start=True).fit(IRIS, SPECIES)
    warm.fit(IRIS[::-1], SPECIES[::-1])
    assert (warm.n_iter_ == SVC().fit(IRIS[::-1], SPECIES[::-1]).n_iter_).all()
    for make in (SVR(warm_start=True), OneClassSVM(warm_start=True), NuSVC(nu=0.2, warm_start=True)):
        assert np.sum(make.fit(IRIS, SPECIES).fit(IRIS, SPECIES).n_iter_) == 0


def test_the_path_does_not_matter():
    order = np.random.default_rng(0).permutation(len(IRIS))
    X = IRIS[:40]
    plain = SVC(C=10, n_jobs=1).fit(IRIS, SPECIES).decision_function(X)
    for other in (
        SVC(C=10, n_jobs=2).fit(IRIS, SPECIES),
        SVC(C=10).fit(IRIS[order], SPECIES[order]),
        SVC(C=10, solver="smo").fit(IRIS, SPECIES),
        SVC(C=10, solver="adatron").fit(IRIS, SPECIES),
    ):
        np.testing.assert_allclose(other.decision_function(X), plain, atol=1e-9)


def test_many_small_machines_side_by_side():
    several, alone = SVC(n_jobs=2).fit(DIGITS, NUMBERS), SVC(n_jobs=1).fit(DIGITS, NUMBERS)
    np.testing.assert_allclose(several.decision_function(DIGITS), alone.decision_function(DIGITS), atol=1e-9)
    assert len(several.solutions_) == 45


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "tree"])
def test_no_time_still_gives_a_machine(multiclass):
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        machine = SVC(max_time=1e-6, multiclass=multiclass).fit(DIGITS, NUMBERS)
    assert machine.stop_reason_ == "max_time"
    assert machine.predict(DIGITS).shape == NUMBERS.shape


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_an_interrupt_leaves_a_machine(multiclass):
    class Impatient:
        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = setup

        def on_fit_task_end(self, estimator, context):
            if context.task_name == "epoch" and context.task_id == 5:
                raise KeyboardInterrupt

    machine = SVC(multiclass=multiclass, tol=1e-7).set_callbacks(Impatient())
    with pytest.raises(KeyboardInterrupt, match="keeps the best machine"):
        machine.fit(DIGITS, NUMBERS)
    assert machine.stop_reason_ == "interrupted"
    assert machine.predict(DIGITS).shape == NUMBERS.shape


@pytest.mark.parametrize("solver", ["adatron", "smo", "simplified-smo", "chunking", "qp"])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "tree"])
def test_every_scheme_with_every_solver(multiclass, solver):
    plain = SVC(multiclass=multiclass).fit(IRIS, SPECIES)
    other = SVC(multiclass=multiclass, solver=solver).fit(IRIS, SPECIES)
    np.testing.assert_allclose(other.decision_function(IRIS), plain.decision_function(IRIS), atol=1e-7)


def test_a_tree_has_every_class_once():
    def leaves(branch):
        return [leaf for part in branch for leaf in leaves(part)] if isinstance(branch, tuple) else [branch]

    machine = SVC(C=10, multiclass="tree").fit(DIGITS, NUMBERS)
    assert sorted(leaves(machine.tree_)) == list(range(10))
    assert len(machine.solutions_) == 9
    assert machine.score(DIGITS, NUMBERS) > 0.99


def test_rejection():
    far = np.vstack((IRIS, np.full((1, 4), 1e3)))
    machine = SVC(multiclass="ovr", C=10).fit(IRIS, SPECIES)
    rejected = machine.predict_with_reject(far, reject_label=-7) == -7
    np.testing.assert_array_equal(rejected, (machine.decision_function(far) <= 0).all(axis=1))
    two = SVC().fit(IRIS[50:], SPECIES[50:])
    doubtful = two.predict_with_reject(IRIS[50:], rule="margin", reject_label="?") == "?"
    np.testing.assert_array_equal(doubtful, np.abs(two.decision_function(IRIS[50:])) < 1)
    assert not (two.predict_with_reject(IRIS[50:]) == -1).any()
    with pytest.raises(ValueError, match="rule='often' is unknown"):
        two.predict_with_reject(IRIS, rule="often")


def test_ties():
    machine = SVC(break_ties=True).fit(IRIS, SPECIES)
    np.testing.assert_array_equal(machine.predict(IRIS), machine.decision_function(IRIS).argmax(axis=1))
    with pytest.raises(ValueError, match="break_ties=True"):
        machine.set_params(decision_function_shape="ovo").predict(IRIS)


def test_held_out_error_of_many_classes():
    machine = SVC().fit(IRIS[::2], SPECIES[::2], held_out=(IRIS[1::2], SPECIES[1::2]))
    assert len(machine.trace_) == 3
    assert all(trace["error"][-1] < 0.2 for trace in machine.trace_)


@pytest.mark.parametrize("reject_label", [-1, None, "?", 0.5])
@pytest.mark.parametrize("names", [["a", "b"], [3, 8], [False, True]])
def test_reject_labels_of_any_type(names, reject_label):
    machine = SVC(C=np.inf, kernel="linear").fit([[-1.0], [1.0]], np.array(names))
    found = machine.predict_with_reject([[-2.0], [0.0], [2.0]], rule="margin", reject_label=reject_label)
    assert found.tolist() == [names[0], reject_label, names[1]]


@pytest.mark.parametrize("machine", [OneClassSVM(kernel="linear"), NuSVR(kernel="linear"), SVR(kernel="linear")])
def test_rows_that_say_nothing(machine):
    weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    values_there = values(machine.fit(np.zeros((5, 2)), np.arange(5.0), sample_weight=weight), np.zeros((2, 2)))
    assert np.isfinite(values_there).all()
