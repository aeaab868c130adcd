"""The one story of a fit: parameters -> kernel -> Gram -> problems -> solve -> polish, told for every estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from adatron._check import Array, choice, cost, flag, integer, real
from adatron.estimators._batch import clear_margins, solve_batch, suits_batch
from adatron.estimators._margin import CLEAR, ENDED, Margin
from adatron.estimators._margin import ROUNDING as MARGIN_ROUNDING
from adatron.estimators._outcome import VIOLATION, Outcome
from adatron.gram import Gram
from adatron.kernels import Constant, Exponential, Gaussian, Kernel, Laplacian, Linear, Precomputed, resolve_kernel
from adatron.packing import pack
from adatron.polish import polish
from adatron.precision import EXACT, Arithmetic
from adatron.problem_set import ProblemSet, Tasks, whole_task
from adatron.problems import Bias, Problem
from adatron.solution import Solution, Status
from adatron.solvers import SOLVERS, Decomposition, LinearSolver, Solver, make_solver, solve
from adatron.solvers._run import meet_sums, unsolved
from adatron.solvers.linear import FEWEST_ROWS
from adatron.threads import effective_threads
from adatron.trace import Trace, Watch

BIASES = ("exact", "augmented", "none")
SMALL = 1000  # rows up to which float64 costs nothing worth sparing
FLOAT64_TOL = 1e-5  # float32 values cannot give more
SHARED = 6000  # rows whose whole matrix a function is asked for at once, for several problems on parts of it
PASSING = 256  # rows of it that are cached while it is made
SIDE_BY_SIDE = 4000  # rows of a problem up to which several are solved at a time, a thread each
FURTHER_SHARE = 0.1  # of that time for each of the problems that look for a margin
FURTHER_STEPS = 1e6  # pair steps of each
LEAST_SHARE = 0.02  # of the CPU time for small problems that are hard to solve, however many a fit has
VERBOSE_SECONDS = 1.0
MOST_THREADS = 4096
MOST_BYTES = 2.0**62  # of a cache: more is as good as no limit
ADAPTABLE = ("gamma", "C", "epsilon")

Index = NDArray[np.int64]
Progress = Callable[[dict[str, float]], Any]


@dataclass(frozen=True)
class Settings:
    """The parameters that all machines share, checked."""

    name: str
    kernel: Kernel
    tol: float
    cache_bytes: float
    max_iter: int
    max_time: float | None
    bias: Bias
    augment: float
    solver: Solver
    n_jobs: int | None
    verbose: bool
    adapts: tuple[str, ...] = ()  # of "gamma", "C" and "epsilon", those to be found out
    linear: LinearSolver | None = None  # solver="auto": what solves linear kernels where that pays

    @property
    def precomputed(self) -> bool:
        """Whether X is the kernel matrix itself."""
        return isinstance(self.kernel, Precomputed)

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Read them from an estimator; ``fit`` leaves the estimator's own as they are."""
        jobs = estimator.n_jobs
        if jobs is not None and not ((jobs := integer("n_jobs", jobs, at_least=-(2**31))) and jobs <= MOST_THREADS):
            wish = f"pass None, -1 for all cores, or a number from 1 to {MOST_THREADS}"
            raise ValueError(f"n_jobs={jobs} is out of range: {wish}.")
        limit = estimator.max_time
        adapts = tuple(name for name in ADAPTABLE if says_adapt(getattr(estimator, name, None)))
        gamma = 1.0 if "gamma" in adapts else estimator.gamma
        if isinstance(gamma, str) and gamma not in ("scale", "auto"):
            raise ValueError(f'gamma={gamma!r} is unknown: pass "scale", "auto" or a number of at least 0, or "adapt".')
        if isinstance(C := getattr(estimator, "C", None), str) and "C" not in adapts:
            raise TypeError(f'C={C!r} is a str: pass a number greater than 0, or "adapt".')
        if isinstance(epsilon := getattr(estimator, "epsilon", None), str) and "epsilon" not in adapts:
            raise TypeError(f'epsilon={epsilon!r} is a str: pass a number of at least 0, or "adapt".')
        kernel = resolve_kernel(estimator.kernel, degree=estimator.degree, gamma=gamma, coef0=estimator.coef0)
        if "gamma" in adapts and not isinstance(kernel, Gaussian | Exponential | Laplacian):
            raise ValueError(
                f"gamma='adapt' finds a width, and kernel={estimator.kernel!r} has none: pass kernel='rbf', "
                "'exponential' or 'laplacian'."
            )
        flag("warm_start", estimator.warm_start)
        return cls(
            name=type(estimator).__name__,
            kernel=kernel,
            tol=real("tol", estimator.tol, above=0),
            cache_bytes=min(real("cache_size", estimator.cache_size, above=0), MOST_BYTES / 1e6) * 1e6,
            max_iter=integer("max_iter", estimator.max_iter, at_least=-1),
            max_time=None if limit is None else real("max_time", limit, above=0, infinite=True),
            bias=cast(Bias, choice("bias", getattr(estimator, "bias", "exact"), BIASES)),
            augment=cost("augment", getattr(estimator, "augment", 1.0), infinite=False),
            solver=_solver_of(estimator),
            n_jobs=jobs,
            verbose=flag("verbose", estimator.verbose),
            adapts=adapts,
            linear=_linear_solver_of(estimator) if isinstance(kernel, Linear) else None,
        )


def says_adapt(value: Any) -> bool:
    """Whether a parameter is to be found out while training."""
    return isinstance(value, str) and value == "adapt"


def _solver_of(estimator: Any) -> Solver:
    """The solver asked for, seeded by ``random_state``; an object handed in stays as it is."""
    wanted = estimator.solver
    if isinstance(wanted, str):
        choice("solver", wanted, ["auto", *SOLVERS])
    solver = make_solver("solver", "decomposition" if isinstance(wanted, str) and wanted == "auto" else wanted)
    if solver is wanted:
        solver = copy(solver)
    shrinks = flag("shrinking", estimator.shrinking)
    if isinstance(solver, Decomposition) and not shrinks:
        solver.lean = False
    if estimator.random_state is not None and hasattr(solver, "seed"):
        solver.seed = int(np.random.default_rng(_seed(estimator.random_state)).integers(2**31))
    return solver


def _linear_solver_of(estimator: Any) -> LinearSolver | None:
    """For linear kernels, unless a solver is asked for, or iterations are limited: those are the general engine's."""
    automatic = isinstance(estimator.solver, str) and estimator.solver == "auto"
    if not automatic or estimator.max_iter != -1:
        return None
    wanted, shrinking = estimator.random_state, flag("shrinking", estimator.shrinking)
    seed = 0 if wanted is None else int(np.random.default_rng(_seed(wanted)).integers(2**31))
    return LinearSolver(shrinking=shrinking, seed=seed)


def _seed(random_state: Any) -> Any:
    """What NumPy's generator takes: an old RandomState hands out a number."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    if isinstance(random_state, np.random.Generator | np.random.SeedSequence | np.random.BitGenerator):
        return random_state
    return integer("random_state", random_state)


@dataclass(frozen=True)
class Job:
    """One problem, over some of the rows (None: all), from a start; ``margin`` sees to it that it has one."""

    problem: Problem
    rows: Index | None = None
    start: Array | None = None
    held_out: Callable[[Array, float], float] | None = None
    margin: Margin | None = None


@dataclass(frozen=True)
class Work:
    """The problems of a fit: as flat arrays where that pays, and one by one for those that need more care."""

    tasks: Tasks
    problems: Callable[[], ProblemSet]
    job: Callable[[int], Job]  # problem k, from its start
    starts: Sequence[Array | None] | None = None
    margins: bool = False  # whether solutions need a look at their margin
    watched: bool = False  # whether somebody looks at single steps
    made: dict[int, Job] = field(default_factory=dict)  # the jobs that were asked for

    def one(self, k: int) -> Job:
        """Problem k by itself, the same object whenever it is asked for."""
        if k not in self.made:
            self.made[k] = self.job(k)
        return self.made[k]

    @classmethod
    def alone(cls, job: Job) -> Work:
        """One problem over all rows."""
        tasks = whole_task(job.problem.rows)
        starts = None if job.start is None else [job.start]
        return cls(tasks, lambda: ProblemSet.of([job.problem], tasks), lambda k: job, starts, job.margin is not None)

    def __len__(self) -> int:
        return len(self.tasks)


class Training:
    """The kernel matrix of X, and the problems solved on it."""

    def __init__(self, settings: Settings, X: Any, weight: Array | None = None) -> None:
        self.settings, self.X = settings, X
        self.kernel = settings.kernel.resolve(X, weight)
        self.whole: NDArray[Any] | None = None  # the matrix, where several problems share it
        self.everything: Gram | None = None  # that it was computed by
        self.augment = settings.augment**2 if settings.bias == "augmented" else 0.0

    def dtype(self, rows: int) -> np.dtype[Any]:
        """Of kernel values: small problems have float64, which costs nothing there, and are polished."""
        return np.dtype(np.float64 if rows <= SMALL or self.settings.tol < FLOAT64_TOL else np.float32)

    def gram(self, rows: Index | None, threads: int, dtype: Any = None, cache_bytes: float | None = None) -> Gram:
        """The matrix of these rows."""
        X, kernel = self.X, self.augmented_kernel
        options: dict[str, Any] = {"cache_bytes": cache_bytes or self.settings.cache_bytes, "threads": threads}
        if self.whole is not None and self.everything is not None and rows is not None:
            part = self.whole[np.ix_(rows, rows)]
            return Gram(Precomputed(), part, dtype=self.everything.dtype, part_of=(self.everything, rows), **options)
        if rows is not None:
            X = X[np.ix_(rows, rows)] if self.settings.precomputed else X[rows]
        if self.augment and self.settings.precomputed:
            X = X.astype(np.float64) + self.augment
        return Gram(kernel, X, dtype=dtype or self.dtype(X.shape[0]), **options)

    @cached_property
    def augmented_kernel(self) -> Kernel:
        """The kernel, with the constant that stands for a bias where there is one in it."""
        if self.augment and not self.settings.precomputed:
            return self.kernel + Constant(self.augment)
        return self.kernel

    def solve(self, work: Work, watch: Watch) -> Outcome:
        """Every problem: small ones in a batch of the core, the others and what it leaves one by one."""
        threads = effective_threads(self.settings.n_jobs)
        if work.watched or not suits_batch(self.settings, self.kernel, work.tasks, watch):
            return self._one_by_one(work, watch, threads)
        problems = work.problems()
        starts = problems.start()
        if work.starts is not None:
            for k, start in enumerate(work.starts):
                if start is not None:
                    starts[problems.variables(k)] = meet_sums(problems[k], start)
        outcome = Outcome(work.tasks, starts, doubled=problems.doubled)
        with np.errstate(over="ignore", invalid="ignore"):  # coefficients that grow without end overflow
            left = solve_batch(self, problems, outcome, watch, threads)
        if work.margins:
            left = sorted({*left, *self._unclear(problems, outcome)})
        if left:
            jobs = [work.one(k) for k in left]
            for k, solution in zip(left, self._solve_jobs(jobs, watch, threads), strict=True):
                outcome.put(k, solution)
        return outcome

    def _unclear(self, problems: ProblemSet, outcome: Outcome) -> list[int]:
        """The ν-problems whose margin is not more than their errors."""
        given = self.settings.precomputed and self.X.dtype == np.float32
        share = float(np.finfo(np.float32).eps) if given else MARGIN_ROUNDING
        clear = clear_margins(outcome, problems.totals.shape[1], share, CLEAR).tolist()
        return [k for k, status in enumerate(outcome.statuses) if not clear[k] and status in ENDED]

    def _one_by_one(self, work: Work, watch: Watch, threads: int) -> Outcome:
        jobs = [work.one(k) for k in range(len(work))]
        doubled = jobs[0].problem.doubled
        outcome = Outcome(work.tasks, np.zeros((2 if doubled else 1) * int(work.tasks.start[-1])), doubled=doubled)
        for k, solution in enumerate(self._solve_jobs(jobs, watch, threads)):
            outcome.put(k, solution)
        return outcome

    def _solve_jobs(self, jobs: Sequence[Job], watch: Watch, threads: int) -> list[Solution]:
        """Side by side, a thread each, where they are small; else in turn, all threads on one."""
        largest = max(job.problem.rows for job in jobs)
        alone = len(jobs) == 1 or threads == 1 or largest > SIDE_BY_SIDE or watch.progress is not None
        function = self.kernel.terms() is None and not self.settings.precomputed
        if function and any(job.rows is not None for job in jobs) and self.X.shape[0] <= SHARED:
            try:
                self._share(largest, threads, 1 if alone else threads)
            except KeyboardInterrupt:
                watch.cancelled.set()
        return self._in_turn(jobs, watch, threads) if alone else self._side_by_side(jobs, watch, threads)

    def by_weights(self, job: Job) -> bool:
        """Whether the solver for linear kernels takes this problem."""
        solver = self.settings.linear
        if solver is None or job.margin is not None or not isinstance(self.kernel, Linear):
            return False
        return job.problem.rows > FEWEST_ROWS and solver.accepts.refusal(job.problem) is None

    def _gram_of(self, job: Job, threads: int, cache_bytes: float | None = None) -> Gram:
        return self.gram(job.rows, threads, np.float64 if self.by_weights(job) else None, cache_bytes)

    def _left(self, job: Job, watch: Watch) -> Solution | None:
        """What becomes of a problem whose turn comes too late: it hands back its start."""
        if watch.cancelled.is_set():
            status = Status.INTERRUPTED
        elif watch.max_time is not None and watch.seconds > watch.max_time:
            status = Status.MAX_TIME
        else:
            return None
        solution = unsolved(job.problem, _start(job), status, convex=bool(self.kernel.positive_semidefinite))
        solution.trace = Trace()
        return solution

    def _share(self, largest: int, threads: int, at_once: int) -> None:
        """The whole matrix of a kernel that is a function, once: one against one, every value serves many problems.

        Only where it fits into the cache, with what is copied from it for the problems solved at a time.
        """
        m, dtype = self.X.shape[0], self.dtype(largest)
        left = self.settings.cache_bytes - dtype.itemsize * (m * m + at_once * largest**2)
        passing = dtype.itemsize * m * min(m, PASSING)
        if left >= passing:
            everything = self.gram(None, threads, dtype, passing)
            if everything.overflows:
                return  # in float64 it would take twice the memory; each problem sees to itself
            self.everything = everything
            self.whole = self.everything.rows(np.arange(m))
            self.everything.core.forget()

    def arithmetic(self, outcome: Outcome) -> Arithmetic:
        """What the model of these solutions predicts in: that of the solutions, if they have one in common."""
        known = [each or EXACT for each in outcome.arithmetics()]
        first = known[0]
        if all(each is first or (each == first and each.center is first.center) for each in known):
            return first
        if any(each.dtype == np.float64 for each in known) or not (terms := self.kernel.terms()):
            return EXACT
        # problems on parts of the rows have centres of their own; the model needs one for all
        together = pack(self.X, terms, np.float32, threads=effective_threads(self.settings.n_jobs)).arithmetic
        return replace(together, differences=together.differences or any(each.differences for each in known))

    def intercept(self, coef: Array, bias: float) -> float:
        """The bias, with what a bias in the kernel amounts to."""
        return float(bias + self.augment * coef.sum()) if self.augment else float(bias)

    def _in_turn(self, jobs: Sequence[Job], watch: Watch, threads: int) -> list[Solution]:
        solutions: list[Solution] = []
        shared: Gram | None = None
        for job in jobs:
            if (left := self._left(job, watch)) is not None:
                solutions.append(left)
                continue
            if job.rows is None:  # rows that one problem has computed serve the next
                gram = shared = shared or self._gram_of(job, threads)
            else:
                gram = self._gram_of(job, threads)
            share = _share(watch, len(jobs) - len(solutions), len(jobs), len(jobs))
            share.progress = _relay(share, watch)
            solutions.append(self._one(job, gram, share))
            if solutions[-1].status in (Status.INTERRUPTED, Status.STOPPED):
                watch.cancelled.set()  # the others hand back what they start from
        if any(solution.status is Status.STOPPED for solution in solutions):
            solutions = [_as_stopped(solution) for solution in solutions]
        return solutions

    def _side_by_side(self, jobs: Sequence[Job], watch: Watch, threads: int) -> list[Solution]:
        """The main thread waits, and calls the others off on Ctrl-C."""
        with ThreadPoolExecutor(threads) as pool:
            waiting = len(jobs)

            def run(job: Job) -> Solution:
                nonlocal waiting
                share = _share(watch, -(-waiting // threads), -(-len(jobs) // threads), len(jobs))
                waiting -= 1
                if (left := self._left(job, watch)) is not None:
                    return left
                gram = self._gram_of(job, 1, self.settings.cache_bytes / threads)
                return self._one(job, gram, share)

            try:
                futures = [pool.submit(run, job) for job in jobs]
                try:
                    while wait(futures, timeout=0.05).not_done:
                        pass
                except KeyboardInterrupt:
                    watch.cancelled.set()
                return [future.result() for future in futures]
            except BaseException:
                watch.cancelled.set()  # leaving the pool waits for what is under way
                raise

    def _one(self, job: Job, gram: Gram, watch: Watch) -> Solution:
        watch.held_out = job.held_out
        solver = self.settings.solver
        if self.settings.linear is not None and gram.linear is not None and self.by_weights(job):
            solver = self.settings.linear
        solution = self._solved(job.problem, gram, solver, job.start, self.settings.tol, watch)
        if job.margin is None or job.margin.is_clear(solution, gram):
            return solution
        exact = gram if gram.dtype == np.float64 else gram.refined() or gram

        def further(problem: Problem, start: Array | None, tol: float, n_iter: int) -> Solution:
            inner = watch.inner()
            inner.share *= FURTHER_SHARE
            return self._solved(problem, exact, Decomposition(most_steps=FURTHER_STEPS), start, tol, inner, n_iter)

        return replace(job.margin.settle(solution, exact, further), trace=solution.trace)

    def _solved(
        self,
        problem: Problem,
        gram: Gram,
        solver: Solver,
        start: Array | None,
        tol: float,
        watch: Watch,
        n_iter: int = 0,  # done already
    ) -> Solution:
        limit = self.settings.max_iter
        solution = solve(
            problem,
            gram,
            solver,
            start=None if start is None else meet_sums(problem, start),
            tol=tol,
            max_iter=limit if limit < 0 else max(limit - n_iter, 0),
            watch=watch,
        )
        exact = gram.dtype == np.float64 and solution.arithmetic == gram.arithmetic
        if solution.converged and exact and not (isinstance(solver, LinearSolver) and gram.size > SMALL):
            return polish(problem, gram, solution)
        return solution


def _start(job: Job) -> Array:
    """A feasible point to start from."""
    return job.problem.start() if job.start is None else meet_sums(job.problem, job.start)


def _share(watch: Watch, waiting: int, rounds: int, count: int) -> Watch:
    """A watch for the next of so many problems: a fair part of the time that is left, and of the grace after it."""
    left = None if watch.max_time is None else max(watch.max_time - watch.seconds, 1e-3) / max(waiting, 1)
    share = max(1 / count, LEAST_SHARE)
    return Watch(max_time=left, trace=Trace(), cancelled=watch.cancelled, grace=watch.grace / rounds, share=share)


def _relay(share: Watch, watch: Watch) -> Progress | None:
    """Calls the whole fit's listener, who finds the state of the problem at hand on the whole fit's watch."""
    if (listener := watch.progress) is None:
        return None

    def progress(at: dict[str, float]) -> Any:
        watch.last, watch.coef = share.last, share.coef
        return listener(at)

    return progress


def _as_stopped(solution: Solution) -> Solution:
    if solution.status is Status.INTERRUPTED:
        solution.status = Status.STOPPED
    return solution


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
            stacklevel=5,  # past `_conclude`, fit and the callbacks around it
        )
