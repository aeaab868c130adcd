"""What a fit says on its way and at its end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from adatron.estimators._outcome import VIOLATION, Outcome
from adatron.plan import Settings
from adatron.solution import Status
from adatron.trace import Watch

VERBOSE_SECONDS = 1.0

Progress = Callable[[dict[str, float]], Any]


def watch_for(settings: Settings) -> Watch:
    """Deadline and, when asked for, a line a second."""
    return Watch(max_time=settings.max_time, progress=_narrator(settings.name) if settings.verbose else None)


def both(first: Progress | None, second: Progress | None) -> Progress | None:
    """A progress callback that calls two, and asks for an end if either does."""
    if first is None or second is None:
        return first or second
    return lambda at: [first(at), second(at)].count(True) > 0


def _narrator(name: str) -> Progress:
    last = 0.0

    def tell(at: dict[str, float]) -> None:
        nonlocal last
        if at["seconds"] - last >= VERBOSE_SECONDS or at["seconds"] < last:
            last = at["seconds"]
            print(f"[{name}] {last:.1f} s: {at['updates']:.0f} steps, gap {at['kkt_violation']:.2e}", flush=True)

    return tell


ENDS = (
    Status.INTERRUPTED,
    Status.STOPPED,
    Status.UNBOUNDED,
    Status.MAX_TIME,
    Status.MAX_ITER,
    Status.STALLED,
    Status.IMPRECISE,
    Status.STATIONARY,
)


REMEDIES = {
    Status.STATIONARY: 'Pass a positive semidefinite kernel such as "rbf" for a certified optimum.',
    Status.IMPRECISE: "Scale or centre the features, or raise tol.",
}


def worst(outcome: Outcome) -> int:
    """The problem to be told of: the one that ended least well, or of several converged the least exact."""
    violation = outcome.certificates[:, VIOLATION]
    if outcome.converged:
        return int(violation.argmax())
    rank: dict[Status | None, int] = {status: place for place, status in enumerate((*ENDS, Status.CONVERGED))}
    return min(range(len(outcome)), key=lambda k: (rank[outcome.statuses[k]], -violation[k]))


def warn_unless_converged(settings: Settings, outcome: Outcome, *, quiet: bool = False) -> None:
    """Say loudly what was not reached; an interrupt goes on its way once the model is usable.

    ``quiet`` is for the fits of a search within a fit: only that of the parameters chosen has a word to say.
    """
    if outcome.converged and not outcome.interrupted:
        return
    solutions = outcome.solutions
    solution = solutions[worst(outcome)]
    if solution.status is Status.INTERRUPTED or outcome.interrupted:
        raise KeyboardInterrupt(f"{settings.name} keeps the best machine found before the interrupt.")
    if not solution.converged and not quiet:
        at = solution.certificate
        reached = (
            f"relative duality gap {at.gap:.2e}, KKT violation {at.kkt_violation:.2e}"
            if np.isfinite(at.kkt_violation)
            else "not certified for lack of time"
        )
        remedy = REMEDIES.get(solution.status, "Scale the features, or raise tol, max_iter or max_time.")
        failed = sum(not each.converged for each in solutions)
        ending = "has no certified optimum" if solution.status is Status.STATIONARY else "did not converge"
        which = f" in {failed} of its {len(solutions)} binary classifiers" if len(solutions) > 1 else ""
        warnings.warn(
            f"{settings.name} {ending}{which} ({reached}; tol={settings.tol:g}). {solution.status.sentence} " + remedy,
            ConvergenceWarning,
            stacklevel=6,  # past `_conclude`, `_fit`, fit and the callbacks around it
        )
