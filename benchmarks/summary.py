"""From outcomes to figures: plain dictionaries, ready for JSON.

A time that reached the limit counts as the limit, so its ratio is a lower bound. So is the ratio
of a peer that stopped at a looser answer; means are given with and without those.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .limit import Rates
from .objective import SNAP, is_accurate, judge
from .run import Outcome, Settings, Task

Entry = dict[str, Any]


def problem_entry(task: Task, outcomes: dict[str, Outcome], settings: Settings, rates: Rates, reference: str) -> Entry:
    """Everything about one problem, each contender's figures included."""
    problem, (rows, features) = task.problem, task.X.shape
    held = task.X.nbytes
    entries = {name: figures(outcome, settings, held) for name, outcome in outcomes.items()}
    for name, outcome in outcomes.items():
        if outcome.beta is not None:
            certificate = judge(task, outcome.beta, settings.threads)
            entries[name] |= {
                "gap": finite(certificate.gap),
                "kkt_violation": finite(certificate.kkt_violation),
                "objective": finite(certificate.objective),
                "accurate": is_accurate(certificate, settings.tol),
                "n_sv": int(np.count_nonzero(np.abs(outcome.beta) > SNAP * problem.C)),
            }
    n_sv = support_vectors(entries)
    limit = rates.limit(n_sv, rows, features) if n_sv else None
    relate(entries, reference, limit)
    return {
        "name": problem.name,
        "rows": rows,
        "features": features,
        "C": problem.C,
        "gamma": problem.gamma,
        "n_sv": n_sv,
        "limit_seconds": limit,
        "skipped": None,
        "contenders": entries,
    }


def skipped_entry(name: str, reason: str) -> Entry:
    """A problem whose data is absent."""
    return {"name": name, "skipped": reason, "contenders": {}}


def figures(outcome: Outcome, settings: Settings, data_bytes: int) -> Entry:
    """Time and memory of one contender, before its answer is judged."""
    lower_bound = outcome.exceeded and not outcome.seconds
    seconds = min(outcome.seconds, default=settings.limit if lower_bound else None)
    allowed = data_bytes + (settings.cache_mb << 20)
    return {
        "seconds": seconds,
        "lower_bound": lower_bound,
        "all_seconds": outcome.seconds,
        "first_seconds": min(outcome.first_seconds, default=None),
        "memory_mb": outcome.memory / 2**20 if outcome.seconds else None,
        "memory_share": outcome.memory / allowed if outcome.seconds else None,
        "disturbance": outcome.disturbance,
        "failed": outcome.reason,
        "gap": None,
        "kkt_violation": None,
        "objective": None,
        "accurate": None,
        "n_sv": None,
    }


def support_vectors(entries: dict[str, Entry]) -> int | None:
    """The count of the most accurate answer, which the limit is computed from."""
    judged = [entry for entry in entries.values() if entry["gap"] is not None]
    return min(judged, key=lambda entry: entry["gap"])["n_sv"] if judged else None


def relate(entries: dict[str, Entry], reference: str, limit: float | None) -> None:
    """Add each time's ratio to the reference's time and its multiple of the limit."""
    base, first_base = reference_seconds(entries.get(reference)), entries.get(reference, {}).get("first_seconds")
    for entry in entries.values():
        seconds, first = entry["seconds"], entry["first_seconds"]
        entry["first_ratio"] = first / first_base if first and first_base else None
        entry["ratio"] = seconds / base if seconds and base else None
        entry["limit_multiple"] = seconds / limit if seconds and limit else None


def reference_seconds(entry: Entry | None) -> float | None:
    """The time that ratios divide by; None when it is unknown or only a bound."""
    return None if entry is None or entry["lower_bound"] else entry["seconds"]


def compare(entries: list[Entry], reference: str) -> Entry:
    """Geometric means of the peers' ratios, and where the reference is not the fastest."""
    peers = dict.fromkeys(name for entry in entries for name in entry["contenders"])
    peers.pop(reference, None)
    ran = any(reference_seconds(e["contenders"].get(reference)) for e in entries)
    return {
        "reference": reference,
        "reference_ran": ran,
        "geometric_means": {peer: mean_entry(entries, peer, reference) for peer in peers},
        "slower_on": [line for entry in entries for line in slower(entry, reference)],
    }


def mean_entry(entries: list[Entry], peer: str, reference: str) -> Entry:
    """One peer's mean ratio over the problems that both finished or ran out of time on."""
    both = [
        entry["contenders"]
        for entry in entries
        if peer in entry["contenders"] and entry["contenders"][peer]["ratio"] is not None
    ]
    equal = [c for c in both if c[peer]["accurate"] and c[reference]["accurate"]]
    bounded = [c for c in both if c[peer]["lower_bound"] and c[reference]["accurate"]]
    return {
        "all": geometric_mean([c[peer]["ratio"] for c in both]),
        "first": geometric_mean([c[peer]["first_ratio"] for c in both if c[peer]["first_ratio"]]),
        "problems": len(both),
        "equal_accuracy": geometric_mean([c[peer]["ratio"] for c in equal + bounded]),
        "equal_accuracy_problems": len(equal) + len(bounded),
        "lower_bound": bool(bounded),
    }


def slower(entry: Entry, reference: str) -> list[Entry]:
    """The fastest accurate contender, if it beats the reference on this problem."""
    times = {name: c["seconds"] for name, c in entry["contenders"].items() if c["accurate"]}
    if reference not in times:
        return []
    fastest = min(times, key=times.__getitem__)
    if fastest == reference:
        return []
    factor = times[reference] / times[fastest]
    return [{"problem": entry["name"], "fastest": fastest, "factor": factor}]


def geometric_mean(ratios: list[float]) -> float | None:
    """exp of the mean logarithm; None of nothing."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None


def finite(value: float) -> float | None:
    """The number, or None where JSON has no word for it."""
    return float(value) if math.isfinite(value) else None
