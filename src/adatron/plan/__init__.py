"""The plan of what is learnt: a spec, the binary tasks it becomes on given labels, and how their outputs are read."""

from adatron.plan.data import TrainingData, class_numbers, class_weights, sample_weights
from adatron.plan.margin import Margin, margin_is_clear
from adatron.plan.notices import is_unsaid, leaving_unsaid, said_once
from adatron.plan.plan import Classes, Plan
from adatron.plan.schemes import SCHEMES, BinaryTask, OneVsOne, OneVsRest, Scheme, Tree, Two, scheme
from adatron.plan.settings import Learning, Settings, seed_of
from adatron.plan.spec import LOSSES, Spec, Use

__all__ = [
    "LOSSES",
    "SCHEMES",
    "BinaryTask",
    "Classes",
    "Learning",
    "Margin",
    "OneVsOne",
    "OneVsRest",
    "Plan",
    "Scheme",
    "Settings",
    "Spec",
    "TrainingData",
    "Tree",
    "Two",
    "Use",
    "class_numbers",
    "class_weights",
    "is_unsaid",
    "leaving_unsaid",
    "margin_is_clear",
    "said_once",
    "sample_weights",
    "scheme",
    "seed_of",
]
