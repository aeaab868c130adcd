"""Rounds of worker processes in which the contenders alternate.

A full run gives each problem and contender a process of its own. A quick run hands a contender
all its problems at once, since importing would take longer than fitting. What other processes
took of the machine meanwhile is kept beside each time, for a disturbed time proves nothing.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field

import numpy as np

from adatron.datasets import PROJECT

from .datasets import Problem
from .machine import DISTURBED, OtherLoad
from .worker import CANNOT_IMPORT

POOLS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """What every fit of a run has in common."""

    tol: float = 1e-3
    threads: int = 2
    cache_mb: int = 4096
    limit: float = 300.0
    repeat: int = 2
    fits: int = 2
    quick: bool = False

    @property
    def patience(self) -> float:
        """A fit of more seconds is not repeated: noise matters little, waiting does."""
        return min(30.0, self.limit / 2)


@dataclass(frozen=True, eq=False)
class Task:
    """A problem with its data."""

    problem: Problem
    X: np.ndarray
    y: np.ndarray

    def store(self, folder: str) -> dict[str, object]:
        """Write the data for the workers and say where."""
        stem = f"{folder}/{self.problem.name}"
        np.save(f"{stem}-X.npy", self.X)
        np.save(f"{stem}-y.npy", self.y)
        files = {"X": f"{stem}-X.npy", "y": f"{stem}-y.npy", "result": f"{stem}.npz"}
        return files | {"name": self.problem.name, "C": self.problem.C, "gamma": self.problem.gamma}


@dataclass
class Outcome:
    """What became of one contender on one problem."""

    seconds: list[float] = field(default_factory=list)
    first_seconds: list[float] = field(default_factory=list)  # of fresh processes alone
    memory: int = 0
    beta: np.ndarray | None = None
    disturbance: float = 0.0
    reason: str | None = None
    exceeded: bool = False
    importable: bool = True

    def add(self, seconds: np.ndarray, memory: np.ndarray, beta: np.ndarray, disturbance: float) -> None:
        """Take in one process's fits; the answer kept is that of the fastest."""
        if not self.seconds or seconds.min() < min(self.seconds):
            self.beta, self.disturbance = beta, disturbance
        self.seconds += seconds.tolist()
        self.first_seconds.append(float(seconds[0]))
        self.memory = max(self.memory, int(memory))

    def fail(self, code: int, words: str, disturbance: float) -> None:
        """Take in why a process ended without a result."""
        if code == -signal.SIGALRM:
            self.exceeded = True
            self.disturbance = self.disturbance if self.seconds else disturbance
            return
        self.importable = code != CANNOT_IMPORT
        last = words.strip().splitlines()[-1:] or [f"exit code {code}"]
        self.reason = f"killed by {signal.Signals(-code).name}" if code < 0 else last[0]

    def again(self, patience: float) -> bool:
        """Whether another round can tell more: slow is settled, unless others were in the way."""
        slow = self.exceeded or min(self.seconds, default=0) > patience
        return not self.reason and (not slow or self.disturbance > DISTURBED)

    def __str__(self) -> str:
        """The outcome in a few words."""
        if self.reason:
            return self.reason
        return f"{min(self.seconds):.3f} s" if self.seconds else "over the limit"


Outcomes = dict[str, dict[str, Outcome]]


def compete(tasks: list[Task], contenders: list[str], settings: Settings, tell: Tell) -> Outcomes:
    """All rounds of all contenders on some tasks: outcomes by problem, then by contender."""
    outcomes = {task.problem.name: {name: Outcome() for name in contenders} for task in tasks}
    with tempfile.TemporaryDirectory() as folder:
        stored = [task.store(folder) for task in tasks]
        common = asdict(settings) | {"patience": settings.patience}
        for _ in range(settings.repeat):
            for contender in contenders:
                mine = {name: found[contender] for name, found in outcomes.items()}
                open_tasks = [task for task in stored if mine[task["name"]].again(common["patience"])]
                for name in take_turn(common | {"contender": contender}, open_tasks, mine):
                    tell(f"{name:15} {contender:12} {mine[name]}")
    return outcomes


def take_turn(order: dict, tasks: list[dict], outcomes: dict[str, Outcome]) -> Iterator[str]:
    """Work through the tasks, in a new process after each task that broke the last one."""
    while tasks:
        done, disturbance = start_worker(order | {"tasks": tasks})
        while tasks and os.path.exists(tasks[0]["result"]):
            task = tasks.pop(0)
            with np.load(task["result"]) as result:
                outcomes[task["name"]].add(**result, disturbance=disturbance)
            os.remove(task["result"])
            yield task["name"]
        broken = len(tasks) if done.returncode == CANNOT_IMPORT else 1
        for task in tasks[:broken]:
            outcomes[task["name"]].fail(done.returncode, done.stderr, disturbance)
            yield task["name"]
        tasks = tasks[broken:]


def start_worker(order: dict) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a worker to its end, thread pools limited; also the cores that others kept busy."""
    pools = {f"{pool}_NUM_THREADS": str(order["threads"]) for pool in POOLS}
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(order)]
    load = OtherLoad()
    done = subprocess.run(command, cwd=PROJECT, env=os.environ | pools, capture_output=True, text=True)
    return done, load.cores()
