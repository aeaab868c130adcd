"""The machines as scikit-learn knows them."""

from adatron.estimators.fisher import KernelFisherDiscriminant
from adatron.estimators.neighbors import KernelNeighborsClassifier
from adatron.estimators.one_class import OneClassSVM
from adatron.estimators.svc import SVC, NuSVC
from adatron.estimators.svr import SVR, NuSVR

__all__ = [
    "SVC",
    "SVR",
    "KernelFisherDiscriminant",
    "KernelNeighborsClassifier",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
