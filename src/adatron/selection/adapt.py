"""σ and C chosen while training.

By cross-validation ("cv", which "auto" takes wherever every class has two rows) the search is that of growth.py. By the
other criteria it is a coarse map from few rows, then a closer look from more:

The map's axes are σ relative to the median distance, and c = C·v, where v is the variance of the rows in the kernel's
feature space (1 − mean K for a Gaussian): for wide kernels, whose v is small, C has to grow in proportion, so that the
best c hardly depends on σ. Every point is a climb that goes on from its neighbour, and a criterion read from it:

* "span": the smoothed leave-one-out error of the span rule (`bounds.span`);
* "bound": the margin's: Σα/m for a hard margin, and R̃²Σα/m of the squared hinge with R̃² = max K_ii + 1/2C otherwise;
* "xi-alpha": Joachims's estimate, with ρ = 1;
* "loo": exact leave-one-out (`cross_validate`).

A machine of one class has no errors to count. Its width is the one that spreads kernel values most: the largest
variance of K_ij, neither all alike (too wide) nor all nothing (too narrow), which needs no climb at all. (Evangelista,
Embrechts & Szymanski, 2007, divide by the mean; in few dimensions that takes widths at which every row is alone.)

Regression counts C, tol, and ε while it looks, in standard deviations of the targets. `epsilon="adapt"` then takes
3 s √(ln m / m) of Cherkassky & Ma (2004), with s² the mean squared error in cross-validation for the noise's variance.

What the user has weighted is what counts: every mean over rows (the criterion, the variance, the median distance, the
targets' deviation) weighs a row by its sample weight times its class's weight, and a row of weight 2 is the same as two
equal rows, which are looked at as one (`sample.py`). To leave a row out is to leave out all of its weight.

Values are blurred, each with its neighbours, before the least is taken, and a larger C has to be better by a little:
criteria are noisy, and a smooth valley is safer than a deep hole.

Cost, but for "cv": `COARSE`² climbs on about `FEW` rows and 3² on at most `MORE`, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from adatron._check import Array
from adatron.gram import Gram
from adatron.kernels import Gaussian, gamma_of, has_width, sigma_of, width_of
from adatron.plan import LOSSES, Learning, Plan, Settings, Spec, TrainingData, class_weights
from adatron.problems import Problem, squared_hinge
from adatron.selection.bounds import norm_is_known, span, xi_alpha
from adatron.selection.chain import Chain, Reached
from adatron.selection.folds import weighted_validation
from adatron.selection.grid import Part
from adatron.selection.growth import Growth
from adatron.selection.left_out import LeftOut
from adatron.selection.path import Path, Point
from adatron.selection.sample import CanonicalRows, along_a_line, spread_evenly, weighted_median
from adatron.selection.scoring import refuse_unfit, takes_weights
from adatron.selection.widths import Matrix, Widths, plain_matrix
from adatron.solvers import Decomposition
from adatron.threads import effective_threads

Index = NDArray[np.int64]
Starts = list[Array | None] | None  # coefficients of every task

EXACT = ("cv", "loo")
OF_ONE_ROW = ("accuracy", "neg_mean_squared_error", "neg_mean_absolute_error")  # scores that are means over rows
FEW, MORE = 256, 800  # rows of the coarse map, and of the closer look
FEWEST = 64  # rows of either, where `cache_size` has no room for more
STAGE_BYTES = 48  # for each pair of rows: distances, the matrix, its parts, those of a cross-validation
RARE = 48  # rows of the rarest class that the map should have
COARSE = 4  # values of σ and of c on the map; alone, one more
SIGMAS = (0.35, 4.2)  # times the median distance
TRADES = (0.3, 200.0)  # values of c
TOL = 1e-2  # of climbs that are only looked at
CAUTION = 0.002  # deviations of a single row's error that e times the C has to gain
ONE_CLASS_WIDTHS = 40
EPSILON = 0.1  # deviations of the targets, while the width and C are looked for
MEDIAN_OF = 65_536  # distances: all of `FEW` rows
LARGEST_C = 1e300
LONGEST = 0.5  # part of max_time
ALIKE = "All rows are alike: every distance is zero and any width will do; σ = 1 is taken."


def adapt(learning: Learning, criterion: str, scoring: Any = None) -> tuple[Path, Starts]:
    """The path of what says "adapt", whose chosen point holds what to train with; and where to start."""
    spec = learning.spec
    if spec.use == "one_class":
        return _one_class_path(learning.settings, learning.data), None
    criterion = _criterion(learning, criterion, scoring)
    tree = spec.multiclass == "tree"
    if tree:  # which classes it parts depends on the kernel: pairs stand for it
        learning = replace(learning, spec=replace(spec, multiclass="ovo"))
    search = _Search(learning, criterion, scoring)
    return search.run(), None if tree else search.starts


def _criterion(learning: Learning, criterion: str, scoring: Any) -> str:
    """By what it is chosen; refuses what does not go together."""
    refuse_unfit(scoring)
    counts_errors = learning.spec.use in LOSSES
    if criterion == "auto":
        counts = np.unique(learning.data.y, return_counts=True)[1] if counts_errors else np.array([2])
        criterion = "cv" if counts.min() > 1 or scoring is not None else "span"
    if not counts_errors and criterion not in EXACT:
        raise ValueError(f"criterion={criterion!r} is for SVC: {learning.settings.name} takes 'cv' or 'loo'.")
    counted = ("accuracy",) if criterion in ("span", "xi-alpha") else ()
    if criterion not in EXACT and scoring is not None and scoring not in counted:
        what = "is a bound on errors" if criterion == "bound" else "estimates the share of errors"
        raise ValueError(f"scoring={scoring!r} goes with criterion='cv' or 'loo': criterion={criterion!r} {what}.")
    if criterion == "loo" and isinstance(scoring, str) and scoring not in OF_ONE_ROW:
        raise ValueError(
            f"scoring={scoring!r} says nothing of a single row, and criterion='loo' tests on one at a time: "
            "pass criterion='cv'."
        )
    return criterion


class _Search:
    """One search: the map, then the closer look."""

    ALIKE = ALIKE

    def __init__(self, learning: Learning, criterion: str, scoring: Any) -> None:
        spec, settings, rows = learning.spec, learning.settings, learning.data
        self.classifies = spec.classifies
        self.by_class, self.classes = np.ones(1), np.zeros(1)
        weight = rows.weights()
        if self.classifies:
            self.classes, labels = np.unique(rows.y, return_inverse=True)
            self.by_class = class_weights(spec.class_weight, self.classes, rows.y, rows.weight)
            weight = weight * self.by_class[labels]
        self.scoring = scoring if criterion in EXACT else None
        self.plain_scores = not takes_weights(self.scoring)
        if self.plain_scores and np.ptp(rows.weights()) > 0:
            raise ValueError(f"scoring={scoring!r} takes no sample_weight, and rows have weights: let it take one.")
        self.data = _canonical(spec, settings, rows, weight, exact=criterion in EXACT, copies_apart=self.plain_scores)
        self.unit = 1.0 if self.classifies else _deviation(self.data) or 1.0
        self.any_epsilon = "epsilon" in settings.adapts
        if self.any_epsilon:
            spec = replace(spec, epsilon=EPSILON * self.unit)
        if self.classifies:
            spec = replace(spec, class_weight=None)  # it is in the rows' weights
        if "gamma" not in settings.adapts and not settings.precomputed:
            settings = replace(settings, kernel=settings.kernel.resolve(*self.data.gathered(rows.X, rows.weights())))
        self.learning = replace(learning, spec=spec, settings=settings)
        self.spec, self.settings, self.rows, self.criterion = spec, settings, rows, criterion
        self.own_C = np.nan if spec.C is None else spec.C
        self.has_width = has_width(settings.kernel)
        self.noise = np.nan  # mean squared error of the choice
        self.path = Path(criterion)
        self.any_gamma, self.any_C = "gamma" in settings.adapts, "C" in settings.adapts
        self.began = perf_counter()
        self.starts: Starts = None

    def run(self) -> Path:
        """The path, with its chosen point."""
        if self.criterion == "cv":
            Growth(self).run()
        else:
            self.look()
        if self.settings.tol > self.unit / 10:
            self.path.notes.append(
                f"tol={self.settings.tol:g} is coarse for targets that vary by {self.unit:.3g}: pass a smaller tol."
            )
        if self.any_epsilon:
            m = max(2.0, float(self.data.weight.sum()) / self.data.scale)
            noise = self.noise if np.isfinite(self.noise) else self.unit**2
            self.path.epsilon = float(3 * np.sqrt(noise * np.log(m) / m))
        return self.path

    def look(self) -> None:
        """A map from few rows, then a closer look from more."""
        few = self.stage(self.few())
        sigmas = None
        if self.any_gamma:
            median = few.median()
            sigmas = median * np.geomspace(*SIGMAS, COARSE if self.any_C else COARSE + 1)
            if median == 0:
                self.path.notes.append(ALIKE)
                sigmas = np.ones(1)
        trades = np.geomspace(*TRADES, COARSE if self.any_gamma else COARSE + 1) if self.any_C else None
        stage, (sigma, trade) = few, self.best(few, sigmas, trades)
        if not self.out_of_time():
            stage = few if len(few) == len(self.data) else self.stage(MORE)
            self.best(stage, _around(sigma, sigmas), _around(trade, trades))
        if len(stage) == len(self.data):
            self.starts = stage.starts(self.path.chosen)
        self.noise = self.path.best.value

    def few(self) -> int:
        """Rows of the map: more if a class is rare."""
        if not self.classifies:
            return FEW
        weights = np.bincount(np.unique(self.data.y, return_inverse=True)[1], self.data.weight)
        return int(min(max(FEW, RARE * weights.sum() / weights.min()), MORE))

    def out_of_time(self) -> bool:
        """Whether the search has used up its part of the time."""
        limit = self.settings.max_time
        late = limit is not None and perf_counter() - self.began > LONGEST * limit
        if late and not any("max_time" in note for note in self.path.notes):
            self.path.notes.append(f"max_time={limit:g} ended the search early.")
        return late

    def deadline(self) -> float:
        """When the search has used up its part of the time."""
        return np.inf if self.settings.max_time is None else self.began + LONGEST * self.settings.max_time

    def sample(self, most: int) -> TrainingData:
        """Some of the rows, with the weights that they stand for; no more than memory has room for their matrices."""
        most = min(most, max(FEWEST, int(np.sqrt(self.settings.cache_bytes / STAGE_BYTES))))
        places, weight = self.data.draw(most, self.data.y if self.classifies else None)
        return replace(self.rows.part(self.data.index[places]), weight=weight)

    def stage(self, most: int) -> _Stage:
        """Some of the rows, and room for their kernel matrix."""
        return _Stage(self, self.sample(most))

    def score_weight(self, rows: TrainingData) -> Array | None:
        """How rows count in scores: a scoring that was asked for knows of no class weights."""
        if self.scoring is None or not self.classifies:
            return None
        return np.asarray(rows.weights() / self.by_class[np.searchsorted(self.classes, rows.y)])

    def trial(self, rows: TrainingData, tol: float) -> tuple[Learning, Callable[[], Any]]:
        """What is learnt from some rows while looking, to a tolerance in the targets' unit and without other limits.

        And what makes an estimator of it, for folds that have to be fitted by themselves.
        """
        own, unit, spec = self.settings, self.unit, self.spec
        limits: dict[str, Any] = {"tol": max(min(own.tol, unit), tol * unit), "max_time": None, "max_iter": -1}
        settings = replace(own, **limits, solver=Decomposition(), linear=None)

        def fresh() -> Any:
            estimator = clone(self.learning.estimator)
            wanted = {"kernel": own.kernel, "gamma": "scale", "solver": "auto", **limits}
            wanted |= {"epsilon": spec.epsilon, "class_weight": spec.class_weight, "multiclass": spec.multiclass}
            has = estimator.get_params()
            return estimator.set_params(**{name: value for name, value in wanted.items() if name in has})

        return replace(self.learning, settings=settings, data=rows), fresh

    def refuse(self) -> None:
        """Nothing that was tried has a solution."""
        if self.any_C or self.spec.C is None or np.isfinite(self.spec.C):
            raise ValueError("nothing that was tried has a solution: pass features, targets and weights nearer to 1.")
        raise ValueError(
            f"C={self.spec.C} asks for a hard margin, and there is none at any width tried: rows that are "
            "alike may have different labels. Pass a finite C, or C='adapt'."
        )

    def best(self, stage: _Stage, sigmas: Array | None, trades: Array | None) -> tuple[float, float]:
        """σ and c of the best point among these, from small σ to large; None: as the estimator has it."""
        lines = []
        for sigma in [None] if sigmas is None else sigmas:
            lines.append(stage.line(sigma, trades))
            self.path.points.extend(point for point in lines[-1] if not any(point is old for old in self.path))
            if self.out_of_time():
                break
        values = np.array([[point.value for point in line] for line in lines])
        worth = _blurred(values) + self.caution(values, trades)
        i, j = np.unravel_index(worth.argmin(), values.shape)
        self.path.chosen = lines[i][j]
        if not np.isfinite(values).any():
            self.refuse()
        return float(lines[i][j].sigma), float(trades[j]) if trades is not None else np.nan

    def caution(self, values: Array, trades: Array | None) -> Array:
        """What a larger C has to be better by, in proportion to the least value's own spread, where it is an error."""
        known = values[np.isfinite(values)]
        if trades is None or self.criterion == "bound" or not self.classifies or not known.size:
            return np.zeros(1)
        share = float(np.clip(known.min(), 0.02, 0.5))
        return np.asarray(CAUTION * np.sqrt(share * (1 - share)) * np.log(trades / trades[0]))


class _Stage:
    """Climbs on some of the canonical rows, which stand for the weights given."""

    def __init__(self, search: _Search, rows: TrainingData) -> None:
        self.search, self.rows = search, rows
        settings = search.settings
        X, kernel = rows.X, settings.kernel
        self.threads = effective_threads(settings.n_jobs)
        self.widths: Widths | None = None
        self.order = np.arange(rows.n_rows) if settings.precomputed else along_a_line(X)
        X = X if settings.precomputed else X[self.order]
        if has_width(kernel):
            self.widths = Widths(kernel, X, dtype=np.float64, threads=self.threads)
            self.matrix, self.order = self.widths.blank(), self.order[self.widths.order]
        else:
            self.matrix = plain_matrix(Gram(kernel, X, dtype=np.float64, threads=self.threads))
        self.weight = rows.weights()[self.order]
        if search.criterion == "loo" and search.classifies:
            counts = np.unique(rows.y, return_counts=True)[1]
            if counts.min() < 2:
                raise ValueError("criterion='loo' needs two rows of every class, and one has 1: pass more rows.")
        if search.criterion not in EXACT:
            self.plan = Plan.of_fold(search.spec, rows.y[self.order], self.weight, np.arange(len(self)))
            self._last: list[Reached | None] = [None] * len(self.plan)
        self._known: dict[str, Point] = {}
        self._reached: dict[int, list[Reached]] = {}  # of a point, by its identity

    def __len__(self) -> int:
        return len(self.order)

    def median(self) -> float:
        """Distance of two rows, in the units of σ."""
        assert self.widths is not None
        return _median_length(self.widths, self.weight)

    def variance(self, gamma: float) -> float:
        """Of the rows in feature space, at a width; 1 if all are alike."""
        if self.widths is not None:
            self.widths.fill(self.matrix, gamma)
        share = self.weight / self.weight.sum()
        size = float((share * self.matrix.diagonal).sum())
        variance = size - float((share * self.matrix.product(share)).sum())
        return variance if variance > 1e-9 * size else 1.0

    def line(self, sigma: float | None, trades: Array | None) -> list[Point]:
        """All C at one width."""
        kernel, gamma = self.search.settings.kernel, np.nan
        if self.widths is not None:
            gamma = width_of(kernel) if sigma is None else gamma_of(kernel, float(sigma))
            sigma = sigma_of(kernel, gamma)
            self.widths.fill(self.matrix, gamma)  # also where C is given
        Cs = None
        if trades is not None:
            variance = self.variance(gamma)
            with np.errstate(over="ignore"):
                Cs = np.minimum(trades * self.search.unit / variance / self.search.data.scale, LARGEST_C).tolist()
        here = Point(np.nan if sigma is None else sigma, gamma, self.search.own_C, np.inf, rows=len(self))
        wanted = [f"{gamma:.9g} {C:.9g}" for C in (Cs or [np.nan])]
        new = [k for k, name in enumerate(wanted) if name not in self._known]
        if new:
            found = None if Cs is None else [Cs[k] for k in new]
            points = self._validated(here, found) if self.search.criterion in EXACT else self._climbed(here, found)
            self._known |= {wanted[k]: point for k, point in zip(new, points, strict=True)}
        return [self._known[name] for name in wanted]

    def _climbed(self, here: Point, Cs: Sequence[float] | None) -> list[Point]:
        plan = self.plan
        index = [plan.tasks.index(k) for k in range(len(plan))]
        chains = [Chain(self.matrix if rows is None else self.matrix.subset(rows), tol=TOL) for rows in index]
        weights = [self.weight if rows is None else self.weight[rows] for rows in index]
        sizes = [float(weight.sum()) for weight in weights]
        line: list[Point] = []
        last: list[Reached | None] = [None] * len(chains)
        if Cs is None:  # from the last width's coefficients, as the papers do
            last = [chain.carried(before) for chain, before in zip(chains, self._last, strict=True)]
        for C in [None] if Cs is None else Cs:
            began = perf_counter()
            problems = [each.problem for each in self._last if each is not None] if C is None else []
            if not problems:
                problems = [self._judgeable(plan.problem(k, C)) for k in range(len(plan))]
            reached = [
                chain.solve(problem, before) for chain, problem, before in zip(chains, problems, last, strict=True)
            ]
            self._last = list(reached)
            last = list(reached)
            values = [
                self._judged(each, chain.matrix, weight)
                for each, chain, weight in zip(reached, chains, weights, strict=True)
            ]
            value = float(np.average(values, weights=sizes)) if np.isfinite(values).all() else np.inf
            norm2 = float(np.mean([_norm2(each, chain.matrix) for each, chain in zip(reached, chains, strict=True)]))
            by_bound = self.search.criterion == "bound"
            point = replace(
                here,
                C=here.C if C is None else float(C),
                value=value,
                bound=value if by_bound else np.nan,
                radius=_radius(reached[0], self.matrix, weights[0]) if by_bound else np.nan,
                margin=float(1 / np.sqrt(norm2)),
                support=sum(int(np.count_nonzero(each.coef)) for each in reached),
                iterations=sum(each.steps for each in reached),
                seconds=perf_counter() - began,
            )
            line.append(point)
            self._reached[id(point)] = reached
        return line

    def _judgeable(self, problem: Problem) -> Problem:
        """The problem that the criterion knows: for the bound of a soft margin, that of the squared hinge."""
        if self.search.criterion != "bound" or problem.use != "hinge":
            return problem
        C = np.maximum(problem.upper, -problem.lower)
        if not np.isfinite(C).all():
            return problem
        exact = "exact" if len(problem.totals) else "none"
        return squared_hinge(-problem.linear, float(C.max()), bias=exact, weight=C / C.max())  # type: ignore[arg-type]

    def _judged(self, reached: Reached, matrix: Matrix, weight: Array) -> float:
        """The criterion's value for one machine; infinite if there is no such machine."""
        problem = reached.problem
        if reached.violation > 1 or not np.isfinite(reached.violation):  # a hard margin that does not exist
            return np.inf
        if self.search.criterion == "span":
            return span(problem, matrix, reached.beta, weight=weight, product=reached.product).smooth
        if self.search.criterion == "xi-alpha":
            if problem.use != "hinge":
                raise ValueError("criterion='xi-alpha' is for the hinge: pass criterion='span', or loss='hinge'.")
            return xi_alpha(
                problem, reached.beta, reached.product, reached.bias, matrix.diagonal, rho=1.0, weight=weight
            )
        if np.isnan(_norm2(reached, matrix)):
            return np.inf
        return float(np.abs(reached.beta).sum() * _radius(reached, matrix, weight) ** 2 / weight.sum())

    def _validated(self, here: Point, Cs: Sequence[float] | None) -> list[Point]:
        """The points of a line by leaving out one row at a time."""
        began = perf_counter()
        search = self.search
        learning, fresh = search.trial(self.rows, TOL)
        found, weight = weighted_validation(
            learning,
            LeftOut(np.arange(len(self))),
            gamma=None if self.widths is None else np.array([here.gamma]),
            C=None if Cs is None else np.array(Cs),
            scoring=search.scoring or (None if search.classifies else "neg_mean_squared_error"),
            fresh=fresh,
            part=Part(score_weight=search.score_weight(self.rows), plain_scores=search.plain_scores),
        )
        errors = search.classifies and search.scoring in (None, "accuracy")
        losses = np.average((1.0 if errors else 0.0) - found.scores[0], axis=1, weights=weight)
        unsolved = found.violation[0].max(axis=1) > search.unit  # hard margins that do not exist
        losses = np.where(unsolved, np.inf, losses)
        seconds = (perf_counter() - began) / len(losses)
        return [
            replace(here, C=here.C if Cs is None else float(Cs[c]), value=float(loss), seconds=seconds)
            for c, loss in enumerate(losses)
        ]

    def starts(self, point: Point | None) -> Starts:
        """The coefficients of a point's tasks, rows in their given order; None if they are of another problem."""
        reached = self._reached.get(id(point))
        if reached is None or any(each.problem.doubled for each in reached):
            return None
        starts: list[Array | None] = []
        data = self.search.data
        for k, each in enumerate(reached):
            index = self.plan.tasks.index(k)
            value = np.zeros(len(self) + 1)  # the last is of rows without weight
            value[self.order if index is None else self.order[index]] = each.beta
            start = value[data.place] * data.share
            if index is not None:
                start = start[np.isin(self.search.rows.y, self.rows.y[self.order[index]])]
            starts.append(start)
        return starts


def _canonical(
    spec: Spec, settings: Settings, rows: TrainingData, weight: Array, *, exact: bool, copies_apart: bool
) -> CanonicalRows:
    """The rows with all of their weight; copies stay apart where folds need them: a class of nothing else."""
    classifies = spec.classifies
    options = {"classes": classifies, "precomputed": settings.precomputed}
    data = CanonicalRows(rows.X, rows.y, weight, **options)
    counts = np.unique(data.y, return_counts=True)[1] if classifies else np.array([len(data)])
    if classifies and len(counts) < 2:
        raise ValueError(
            f"class_weight={spec.class_weight!r} leaves weight to one class: pass positive weights for two."
        )
    if (exact and counts.min() < 2) or copies_apart:
        data = CanonicalRows(rows.X, rows.y, weight, **options, every_row=True)
    return data


def _deviation(data: CanonicalRows) -> float:
    """Of the targets."""
    y, share = np.asarray(data.y, dtype=np.float64), data.weight / data.weight.sum()
    return float(np.sqrt((share * (y - (share * y).sum()) ** 2).sum()))


def _norm2(reached: Reached, matrix: Matrix) -> float:
    """‖w‖² with the ridge's part; NaN if it is not positive beyond rounding."""
    norm2 = float((reached.coef * reached.product).sum() + (reached.problem.ridge * reached.beta**2).sum())
    return norm2 if norm_is_known(norm2, reached.coef, matrix.diagonal, matrix.dtype) else np.nan


def _radius(reached: Reached, matrix: Matrix, weight: Array) -> float:
    """R of the rows as the kernel, with the problem's ridge, maps them: from the origin.

    A row of weight w is w rows whose ridge is w times as large.
    """
    share = weight / weight.sum()
    return float(np.sqrt(matrix.diagonal.max() + (share * (weight * reached.problem.ridge)).sum()))


def _around(center: float, grid: Array | None) -> Array | None:
    """The same, and half a step to either side; a grid of one stays as it is."""
    if grid is None or len(grid) == 1:
        return grid
    return np.asarray(center * (grid[1] / grid[0]) ** np.array([-0.5, 0.0, 0.5]))


def _one_class_path(settings: Settings, rows: TrainingData) -> Path:
    """The width that spreads kernel values most."""
    path = Path("variance of kernel values")
    weight = rows.weights()
    data = CanonicalRows(rows.X, np.zeros(len(weight)), weight)
    places, weight = data.draw(MORE, None)
    X = rows.X[data.index[places]]
    order = along_a_line(X)
    widths = Widths(settings.kernel, X[order], dtype=np.float64)
    matrix, weight = widths.blank(), weight[order[widths.order]] / data.scale
    median = _median_length(widths, weight)
    if median == 0:
        path.notes.append(ALIKE)
    alone = np.minimum(weight, weight * weight)  # a row has no value with itself, but w copies have w² - w
    pairs = float(weight.sum()) ** 2 - float(alone.sum())
    for sigma in (median or 1.0) * np.geomspace(0.02, 5.0, ONE_CLASS_WIDTHS):
        began = perf_counter()
        gamma = gamma_of(settings.kernel, float(sigma))
        moments = []
        for power in (1, 2):  # the squares are the kernel of twice the gamma
            widths.fill(matrix, power * gamma)
            moments.append(
                (float((weight * matrix.product(weight)).sum()) - float(alone.sum())) / pairs if pairs else 0
            )
        value = moments[0] ** 2 - moments[1]
        path.points.append(Point(float(sigma), gamma, np.nan, value, seconds=perf_counter() - began, rows=len(widths)))
    path.chosen = path.points[int(np.argmin(path["value"]))]
    if median == 0:
        path.chosen = replace(path.chosen, sigma=1.0, gamma=gamma_of(settings.kernel, 1.0))
        path.points.append(path.chosen)
    return path


def _median_length(widths: Widths, weight: Array) -> float:
    """Of distances between different rows, whose weights are in the matrix's order, in σ's unit; 0 if all are alike."""
    weight = weight / weight.max()
    index, own = spread_evenly(weight, MEDIAN_OF // len(weight))
    some = widths.distances(index)
    apart = some > 0
    median = weighted_median(some[apart], np.outer(own, weight)[apart])
    return float(np.sqrt(median)) if isinstance(widths.kernel, Gaussian) else median


def _blurred(values: Array) -> Array:
    """Each value with its neighbours: a criterion is noisy, and its smoothest valley is the safest."""
    worst = np.where(np.isfinite(values), values, values[np.isfinite(values)].max(initial=0.0) + 1.0)
    edge = np.pad(worst, 1, mode="edge")
    near = edge[:-2, 1:-1] + edge[2:, 1:-1] + edge[1:-1, :-2] + edge[1:-1, 2:]
    return np.asarray(near / 6 + worst / 3)
