"""A slice of the campaign (`make fuzz`), and proof that its judge and its pool notice what they should."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from fuzz import exact
from fuzz.__main__ import Summary, main
from fuzz.base import Case
from fuzz.cases import case
from fuzz.judge import Judge
from fuzz.pool import campaign
from fuzz.worker import run

from adatron import SVC, SVR, NuSVC, OneClassSVM
from adatron.kernels import Gaussian, Linear, Polynomial, Sigmoid

CASES = 100


def judged(estimator, *, spoil=None, weight=None, seed=0):
    """What the judge finds in a fit on ordinary data; `spoil` changes the fitted estimator first."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(80, 3))
    y = X[:, 0] + 0.3 * random.normal(size=80)
    y = y if isinstance(estimator, SVR) else np.digitize(y, [0.0] if seed == 0 else [-0.5, 0.5])
    this = Case(0, "fit", estimator, X[:60], y[:60], weight, X[60:])
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        estimator.fit(this.X, this.y, sample_weight=weight)
    if spoil is not None:
        spoil(estimator)
    judge = Judge(this)
    judge.warnings(heard, estimator)
    judge.fit(estimator, heard)
    return {finding["kind"] for finding in judge.findings}


def claims(**changes):
    """A spoiler that changes what certificates say."""

    def spoil(estimator):
        for k, solution in enumerate(estimator.solutions_):
            estimator.solutions_[k] = replace(solution, certificate=replace(solution.certificate, **changes))

    return spoil


def coefficients(change):
    """A spoiler that changes the solutions' coefficients."""

    def spoil(estimator):
        for k, solution in enumerate(estimator.solutions_):
            estimator.solutions_[k] = replace(solution, beta=change(solution.beta))

    return spoil


def shifted(by):
    """A spoiler after which decision values are off."""

    def spoil(estimator):
        name = "decision_function" if hasattr(estimator, "decision_function") else "predict"
        plain = getattr(estimator, name)
        setattr(estimator, name, lambda X: plain(X) + by)

    return spoil


@pytest.mark.parametrize("kind", [SVC, NuSVC, SVR, OneClassSVM])
@pytest.mark.parametrize("seed", [0, 1])
def test_ordinary_fits_have_no_findings(kind, seed):
    assert judged(kind(), seed=seed) == set()


def test_a_margin_within_rounding_is_noticed():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    for centred, expected in ((X - X.mean(axis=0), {"no margin"}), (X - X.mean(axis=0) + 1e-6, set())):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = OneClassSVM(kernel="linear", nu=1.0).fit(centred)
        judge = Judge(Case(0, "fit", estimator, centred, None, None, X[:5]))
        judge.fit(estimator, [])  # as if nothing had been said
        assert {finding["kind"] for finding in judge.findings} == expected


def test_a_bias_is_open_where_all_coefficients_are_at_bounds():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 2)), np.repeat([0, 1], 20)
    for C, is_open in ((1e-3, True), (1.0, False)):
        estimator = SVC(C=C, class_weight="balanced").fit(X, y)
        assert Judge(Case(0, "fit", estimator, X, y, None, X)).leaves_bias_open(estimator) is is_open


def test_weights_and_schemes_are_rebuilt_as_they_are_solved():
    weight = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    for scheme in ("ovo", "ovr", "tree"):
        model = SVC(loss="squared_hinge", class_weight="balanced", multiclass=scheme, bias="augmented", augment=2.0)
        assert judged(model, weight=weight, seed=1) == set()


@pytest.mark.parametrize(
    ("estimator", "spoil", "kind"),
    [
        (SVC(), coefficients(lambda beta: 0.9 * beta), "violation"),
        (SVC(), coefficients(lambda beta: 0.9 * beta), "gap"),
        (SVC(), coefficients(lambda beta: beta + 0.1), "infeasible"),
        (SVC(), coefficients(lambda beta: 0.9 * beta), "model"),
        (SVC(max_iter=3, solver="smo"), claims(kkt_violation=1e-9, rounding=0.0), "violation"),
        (SVR(max_iter=3, solver="smo"), claims(gap=0.0), "gap"),
        (SVC(), claims(objective=-1.0), "objective"),
        (SVC(), claims(bias=2.0), "bias"),
        (NuSVC(), claims(rho=2.0), "bias"),
        (SVC(), claims(bias=2.0), "model"),
        (SVC(), shifted(1e-3), "values of test rows"),
        (SVR(), shifted(1e-3), "values of training rows"),
        (OneClassSVM(), shifted(np.nan), "not finite"),
    ],
)
def test_a_planted_defect_is_found(estimator, spoil, kind):
    assert kind in judged(estimator, spoil=spoil)


def test_labels_and_batches_are_compared():
    def flip(estimator):
        plain = estimator.predict
        estimator.predict = lambda X: 1 - plain(X)

    def centre(estimator):
        plain = estimator.decision_function
        estimator.decision_function = lambda X: plain(X - 1e-9 * np.mean(X))

    assert "labels of test rows" in judged(SVC(), spoil=flip)
    assert "batch" in judged(SVC(gamma=1.0), spoil=centre)


def test_exceptions_are_judged_by_their_words():
    this = case(0)
    for error, kind in (
        (KeyError("x"), "exception"),
        (ValueError("incompatible function arguments"), "message"),
        (ValueError("C is wrong:\nsee above."), "message"),
        (ValueError("Something is wrong."), "message"),
    ):
        judge = Judge(this)
        judge.error(error, "fit")
        assert kind in {finding["kind"] for finding in judge.findings}


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.3) + 0.5 * Linear(), Polynomial(3, gamma=0.2), Sigmoid(0.1)])
def test_bounds_of_rounding_hold(kernel):
    """Float32 values lie within their bound of those in extended precision, and close to it."""
    random = np.random.default_rng(0)
    X = (random.normal(size=(40, 5)) + 10).astype(np.float32)
    coef = random.normal(size=(1, 40))
    truth, _ = exact.expansion(kernel, X, X, coef, np.longdouble)
    values, bound = exact.expansion(kernel, X, X, coef, np.float32)
    used = np.abs(values - truth) / (np.finfo(np.float32).eps * bound)
    assert 1e-3 < used.max() < 1


WORKER = """
import json, os, sys, time
print(json.dumps({"phase": "ready", "limit": 60}), flush=True)
for line in sys.stdin:
    number = int(line)
    print(json.dumps({"phase": "fit", "about": "a case", "limit": 0.5}), flush=True)
    if number == 1:
        os.abort()
    while number == 2:
        pass
    if number == 7:
        time.sleep(600)
    print(json.dumps({"number": number, "about": "", "rows": 5, "outcome": "fitted", "findings": []}), flush=True)
"""


def test_the_pool_survives_crashes_and_hangs():
    results = {result["number"]: result for result in campaign(range(5), 2, command=(sys.executable, "-c", WORKER))}
    assert sorted(results) == [0, 1, 2, 3, 4]
    assert [results[k]["outcome"] for k in range(5)] == ["fitted", "crash", "hang", "fitted", "fitted"]
    assert "SIGABRT" in results[1]["findings"][0]["detail"]


def test_the_pool_ends_a_worker_that_does_nothing(monkeypatch):
    monkeypatch.setattr("fuzz.pool.STANDSTILL", 4)
    (result,) = campaign([7], command=(sys.executable, "-c", WORKER))
    assert "nothing done" in result["findings"][0]["detail"]


def test_a_case_is_the_same_every_time(capsys):
    first, second = case(12), case(12)
    assert str(first) == str(second)
    np.testing.assert_array_equal(first.X, second.X)
    assert main(["--case", "3"]) == int(bool(run(3)["findings"]))
    assert str(case(3)) in capsys.readouterr().out


@pytest.mark.parametrize(
    "number",
    [
        *(70000004856, 70000014853, 71000005265, 74000003646, 74000005347, 74000006416),
        *(80000007295, 80000009189, 80000011481, 80000018774),
        *(81000002642, 83000001184, 83000005310, 83000012780),
    ],
)
def test_what_was_found_once_is_found_no_more(number):
    assert main(["--case", str(number)]) == 0


def test_a_slice_of_the_campaign_finds_nothing():
    summary = Summary()
    for result in campaign(range(CASES), 2):
        summary.add(result)
    assert summary.cases == CASES
    assert not summary.findings, str(summary)
