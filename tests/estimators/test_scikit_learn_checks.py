"""scikit-learn's own checks, all of them, for every estimator."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from adatron import SVC, SVR, NuSVC, NuSVR, OneClassSVM

MACHINES = [
    SVC(),
    SVC(kernel="linear", loss="squared_hinge", bias="augmented"),
    SVC(multiclass="ovr", solver="adatron"),
    SVC(multiclass="tree", solver="smo", warm_start=True),
    NuSVC(),
    SVR(),
    NuSVR(),
    OneClassSVM(),
]


@parametrize_with_checks(MACHINES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
