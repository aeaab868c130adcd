"""Whatever data and parameters: a correct result or one clear error; no crash, no hang, no silent NaN."""

from __future__ import annotations

import re
import warnings

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from adatron import SVC, SVR, NuSVC, NuSVR, OneClassSVM

SECONDS = 2.0
LABELS = {
    "strings": np.array(["low", "middle", "high"]),
    "negative": np.array([-7, -3, -1]),
    "boolean": np.array([False, True]),
    "object": np.array(["a", "b", "c"], dtype=object),
    "float": np.array([0.0, 1.0, 2.0]),
    "one": np.array([1]),
}
relaxed = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def tables(draw):
    """Rows of any shape and scale, some of them equal, some columns constant."""
    rows, features = draw(st.integers(1, 30)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    X = random.normal(size=(rows, features)) * 10.0 ** draw(st.sampled_from([-150, -6, 0, 0, 0, 3, 6, 150]))
    if draw(st.booleans()):
        X[random.integers(0, rows, rows // 2)] = X[0]
    if draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, 1.0, -5.0]))
    if draw(st.integers(0, 9)) == 0:
        X[0, 0] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    with np.errstate(over="ignore"):
        X = X.astype(draw(st.sampled_from([np.float64, np.float64, np.float32])))
    return X, random


@st.composite
def cases(draw):
    X, random = draw(tables())
    rows = len(X)
    common = {
        "kernel": draw(st.sampled_from(["rbf", "rbf", "linear", "poly", "sigmoid", "exponential", "laplacian"])),
        "gamma": draw(st.sampled_from(["scale", "auto", 1e-8, 1.0, 1e8])),
        "coef0": draw(st.sampled_from([0.0, 1.0])),
        "tol": draw(st.sampled_from([1e-3, 1e-6])),
        "max_time": SECONDS,
    }
    C = draw(st.sampled_from([1e-8, 0.1, 1.0, 1e3, 1e8, np.inf, 0.0, -1.0]))
    nu = draw(st.sampled_from([1e-6, 0.1, 0.5, 1.0, 0.0, 2.0]))
    classes = LABELS[draw(st.sampled_from(list(LABELS)))]
    y, t = classes[random.integers(0, len(classes), rows)], random.normal(size=rows)
    price = {"C": C, "loss": draw(st.sampled_from(["hinge", "squared_hinge"]))}
    scheme = {
        "multiclass": draw(st.sampled_from(["ovo", "ovr", "tree"])),
        "class_weight": draw(st.sampled_from([None, "balanced"])),
    }
    machine, target = draw(
        st.sampled_from(
            [
                (SVC(**common, **price, **scheme, bias=draw(st.sampled_from(["exact", "augmented", "none"]))), y),
                (NuSVC(nu=nu, **common, **scheme), y),
                (SVR(C=C, epsilon=draw(st.sampled_from([0.0, 0.1, 10.0])), **common), t),
                (NuSVR(nu=nu, C=C, **common), t),
                (OneClassSVM(nu=nu, **common), None),
            ]
        )
    )
    weight = draw(
        st.sampled_from([None, random.integers(0, 3, rows).astype(float), np.zeros(rows), np.full(rows, 1e-9)])
    )
    X = sparse.csr_array(X) if draw(st.booleans()) and np.isfinite(X).all() else X
    return machine, X, target, weight


@relaxed
@given(cases())
def test_a_correct_result_or_a_clear_error(case):
    machine, X, target, weight = case
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            machine.fit(X, target, sample_weight=weight)
        except (ValueError, TypeError) as error:
            refused = str(error)
        else:
            refused = None
    if refused is not None:
        data = np.abs(X.data if sparse.issparse(X) else X)
        ordinary = data.max(initial=0.0) < 1e100  # beyond, the message may name what became infinite instead
        names = (*machine.get_params(), "X", "y", "sample_weight", "weight")
        assert not ordinary or any(re.search(rf"\b{name}\b", refused) for name in names), refused
        return
    values = machine.predict(X) if target is None or isinstance(machine, SVR | NuSVR) else machine.decision_function(X)
    assert np.isfinite(np.asarray(values, dtype=float)).all()
    assert machine.predict(X).shape == (X.shape[0],)
    assert machine.converged_ or any(issubclass(warning.category, ConvergenceWarning) for warning in heard)
    if machine.converged_:
        assert machine.kkt_violation_ <= machine.tol * 1.01
