"""The machines as scikit-learn knows them."""

from adatron.estimators.svc import SVC

__all__ = ["SVC"]
