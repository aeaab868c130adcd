"""The native core of adatron."""

from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Isa(enum.Enum):
    """Instruction sets that the hot loops are compiled for."""

    baseline = 0

    avx2 = 1

    avx512 = 2

def current_isa() -> Isa: ...

def isa_supported(isa: Isa) -> bool: ...

def force_isa(isa: Isa) -> None: ...

class Form(enum.Enum):
    linear = 0

    polynomial = 1

    gaussian = 2

    exponential = 3

    laplacian = 4

    sigmoid = 5

class Meeting(enum.Enum):
    dot = 0

    squared_distance = 1

    absolute_distance = 2

    absolute_from_norms = 3

class Factor:
    def __init__(self, form: Form, *, gamma: float = 1.0, coef0: float = 0.0, degree: int = 1, meeting: Meeting = Meeting.dot) -> None: ...

class Term:
    def __init__(self, coefficient: float, factors: Sequence[Factor]) -> None: ...

class Points32:
    """Data points packed for the kernel loops."""

    @overload
    @staticmethod
    def dense(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int) -> Points32: ...

    @overload
    @staticmethod
    def dense(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int) -> Points32: ...

    @staticmethod
    def sparse(*, start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: int) -> Points32: ...

    def norms(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """Squared norms of the (centred) points."""

    @property
    def count(self) -> int: ...

    @property
    def features(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class Points64:
    """Data points packed for the kernel loops."""

    @overload
    @staticmethod
    def dense(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int) -> Points64: ...

    @overload
    @staticmethod
    def dense(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int) -> Points64: ...

    @staticmethod
    def sparse(*, start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: int) -> Points64: ...

    def norms(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Squared norms of the (centred) points."""

    @property
    def count(self) -> int: ...

    @property
    def features(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class Predictor32:
    """Decision values of few rows."""

    def __init__(self, kernel: Sequence[Term], *, support: Points32, coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], edge: Sequence[int]) -> None: ...

    def decide(self, rows: Points32, *, bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """out = decision values, outputs x rows."""

class Predictor64:
    """Decision values of few rows."""

    def __init__(self, kernel: Sequence[Term], *, support: Points64, coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], edge: Sequence[int]) -> None: ...

    def decide(self, rows: Points64, *, bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """out = decision values, outputs x rows."""

def count_votes(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, votes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], confidence: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    One against one: pairs won by each class, and the sum of its outputs, from values of pairs x rows.
    """

@overload
def add_product(kernel: Sequence[Term], *, rows: Points32, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], columns: Points32, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def add_product(kernel: Sequence[Term], *, rows: Points64, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], columns: Points64, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """out += weight @ kernel(rows[index], columns), in float64."""

def cholesky(arg: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], /) -> bool:
    """
    The lower triangle of a becomes L with L Lᵀ = a; False if a is not positive definite.
    """

def cholesky_solve(arg0: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], arg1: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], /) -> None:
    """b, or every row of it, becomes the x with L Lᵀ x = b."""

def cholesky_forward(arg0: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], arg1: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], /) -> None:
    """Every row of b becomes the x with L x = b."""

def nearby_order(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """An order of rows that keeps neighbours together."""

class Distances32:
    """Distances of all pairs of points, and kernels of any width from them."""

    def __init__(self, points: Points32, *, form: Form, meeting: Meeting, threads: int) -> None: ...

    def advance(self, points: Points32, *, seconds: float = float('inf')) -> bool:
        """Compute distances for about so long; True when all are there."""

    def kernel(self, gamma: float, *, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], lit: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int, faint: float = 18.5) -> None: ...

    def rows(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

class Distances64:
    """Distances of all pairs of points, and kernels of any width from them."""

    def __init__(self, points: Points64, *, form: Form, meeting: Meeting, threads: int) -> None: ...

    def advance(self, points: Points64, *, seconds: float = float('inf')) -> bool:
        """Compute distances for about so long; True when all are there."""

    def kernel(self, gamma: float, *, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], lit: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int, faint: float = 18.5) -> None: ...

    def rows(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

class Gram32:
    """Kernel rows over the active columns, cached."""

    @staticmethod
    def of_points(kernel: Sequence[Term], points: Points32, *, diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cache_bytes: int, threads: int) -> Gram32: ...

    @staticmethod
    def of_distances(distances: Distances32, *, gamma: float, diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cache_bytes: int, threads: int) -> Gram32: ...

    def widen(self, gamma: float) -> None:
        """Another width, of what is made from distances."""

    @staticmethod
    def of_matrix(matrix: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, *, diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cache_bytes: int, threads: int, lit: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> Gram32: ...

    def activate(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def missing(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def store(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def fetch(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, seconds: float) -> bool:
        """True when every row is there."""

    def copy_rows(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

    def compact(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, done: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        out = K[index][:, index], of which the part of the first `done` is there already.
        """

    def add_product(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @property
    def active(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def forget(self) -> None:
        """Give the cache's memory back."""

    @property
    def active_count(self) -> int: ...

    @property
    def capacity(self) -> int: ...

    @property
    def rows_cached(self) -> int: ...

    @property
    def rows_computed(self) -> int: ...

    @property
    def cached_bytes(self) -> int: ...

class Gram64:
    """Kernel rows over the active columns, cached."""

    @staticmethod
    def of_points(kernel: Sequence[Term], points: Points64, *, diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cache_bytes: int, threads: int) -> Gram64: ...

    @staticmethod
    def of_distances(distances: Distances64, *, gamma: float, diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cache_bytes: int, threads: int) -> Gram64: ...

    def widen(self, gamma: float) -> None:
        """Another width, of what is made from distances."""

    @staticmethod
    def of_matrix(matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, *, diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cache_bytes: int, threads: int, lit: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> Gram64: ...

    def activate(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def missing(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def store(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def fetch(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, seconds: float) -> bool:
        """True when every row is there."""

    def copy_rows(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

    def compact(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, done: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        out = K[index][:, index], of which the part of the first `done` is there already.
        """

    def add_product(self, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @property
    def active(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def forget(self) -> None:
        """Give the cache's memory back."""

    @property
    def active_count(self) -> int: ...

    @property
    def capacity(self) -> int: ...

    @property
    def rows_cached(self) -> int: ...

    @property
    def rows_computed(self) -> int: ...

    @property
    def cached_bytes(self) -> int: ...

class Account:
    @property
    def objective(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def kkt_violation(self) -> float: ...

    @property
    def margin(self) -> float: ...

    @property
    def sum(self) -> float: ...

    @property
    def support(self) -> int: ...

    @property
    def at_bound(self) -> int: ...

def account(*, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: float, rho: float) -> Account:
    """What a row of the trace says of these coefficients."""

class Certificate:
    """What coefficients say of themselves; see adatron.certificates."""

    @property
    def objective(self) -> float: ...

    @property
    def primal(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def kkt_violation(self) -> float: ...

    @property
    def infeasibility(self) -> float: ...

    @property
    def bias(self) -> float: ...

    @property
    def rho(self) -> float: ...

def certify(*, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Certificate:
    """The certificate of these coefficients."""

class PairOutcome:
    @property
    def steps(self) -> int: ...

    @property
    def gap(self) -> float: ...

    @property
    def unbounded(self) -> bool: ...

class RunState(enum.Enum):
    converged = 0

    running = 1

    needs_rows = 2

    needs_product = 3

    stalled = 4

    out_of_steps = 5

    unbounded = 6

class RunOptions:
    """How the engine runs."""

    def __init__(self, *, goal: float, seconds: float = float('inf'), max_steps: float = float('inf'), max_effort: float = float('inf'), stay: float = 0.5, patience: int = 100, each_round: bool = False, record: bool = False) -> None: ...

def seconds_now() -> float:
    """The clock of traces."""

class Engine32:
    """Working-set decomposition over a Gram's active rows."""

    def __init__(self, gram: Gram32, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], working_size: int) -> None: ...

    def load(self, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Another problem of the same shape."""

    def select(self) -> float:
        """Choose the working set; returns the gap among the active."""

    @property
    def working_rows(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def advance(self, *, tolerance: float, max_steps: int) -> PairOutcome: ...

    def run(self, options: RunOptions) -> RunState:
        """
        Rounds until the KKT violation is at most the goal, or something else ends the run.
        """

    @property
    def trace(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    def newton(self, *, most: int, seconds: float = float('inf')) -> int:
        """
        Move all free coefficients at once; -1 when the time is up, to be called again.
        """

    def write(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @property
    def product(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def account(self) -> Account: ...

    @property
    def bias(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def effort(self) -> float: ...

    @property
    def rounds(self) -> int: ...

    @property
    def newtons(self) -> int: ...

class Engine64:
    """Working-set decomposition over a Gram's active rows."""

    def __init__(self, gram: Gram64, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], working_size: int) -> None: ...

    def load(self, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Another problem of the same shape."""

    def select(self) -> float:
        """Choose the working set; returns the gap among the active."""

    @property
    def working_rows(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def advance(self, *, tolerance: float, max_steps: int) -> PairOutcome: ...

    def run(self, options: RunOptions) -> RunState:
        """
        Rounds until the KKT violation is at most the goal, or something else ends the run.
        """

    @property
    def trace(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    def newton(self, *, most: int, seconds: float = float('inf')) -> int:
        """
        Move all free coefficients at once; -1 when the time is up, to be called again.
        """

    def write(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @property
    def product(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def account(self) -> Account: ...

    @property
    def bias(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def effort(self) -> float: ...

    @property
    def rounds(self) -> int: ...

    @property
    def newtons(self) -> int: ...

class ActiveRows:
    """Which rows are active, where not all are: those near the margin."""

    def __init__(self, *, neighbours: float = 2.0, spare: int = 256, most: float = 0.5, keep: bool = False) -> None: ...

class DriverOptions:
    """How the driver goes on."""

    def __init__(self, *, run: RunOptions, active: ActiveRows | None = None, working_size: int = 0, idle_runs: int = 2, ends_stalled: bool = False, time_left: float = float('inf')) -> None: ...

CERTAIN: float = 1.0001

class Driver32:
    """The loop around the engine: run, judge, choose active rows."""

    def __init__(self, gram: Gram32) -> None: ...

    def load(self, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """A problem and where to start."""

    def begin_with_samples(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, always: bool) -> None: ...

    def advance(self, options: DriverOptions) -> RunState:
        """Go on; what is needed next, or how it has ended."""

    def judge(self, product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Go on from this product of the coefficients."""

    def write(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @property
    def working_rows(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def account(self) -> Account: ...

    @property
    def product(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def trace(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def product_is_complete(self) -> bool: ...

    @property
    def violation(self) -> float: ...

    @property
    def active_rows(self) -> int: ...

    @property
    def bias(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def effort(self) -> float: ...

    @property
    def rounds(self) -> int: ...

class Driver64:
    """The loop around the engine: run, judge, choose active rows."""

    def __init__(self, gram: Gram64) -> None: ...

    def load(self, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """A problem and where to start."""

    def begin_with_samples(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, always: bool) -> None: ...

    def advance(self, options: DriverOptions) -> RunState:
        """Go on; what is needed next, or how it has ended."""

    def judge(self, product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Go on from this product of the coefficients."""

    def write(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    @property
    def working_rows(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def account(self) -> Account: ...

    @property
    def product(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def trace(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def product_is_complete(self) -> bool: ...

    @property
    def violation(self) -> float: ...

    @property
    def active_rows(self) -> int: ...

    @property
    def bias(self) -> float: ...

    @property
    def steps(self) -> int: ...

    @property
    def effort(self) -> float: ...

    @property
    def rounds(self) -> int: ...

class Polish:
    """Free coefficients made exact, in float64."""

    def __init__(self, gram: Gram64, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], kkt_violation: float) -> None: ...

    def advance(self, *, seconds: float = float('inf')) -> bool:
        """Go on for about so long; True when done."""

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def kkt_violation(self) -> float: ...

class BatchStatus(enum.Enum):
    open = 0

    converged = 1

    unsolved = 2

class Batch:
    """Many small problems, one per thread."""

    @staticmethod
    def of_points(kernel: Sequence[Term], points: Points64, *, diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], doubled: bool, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tol: float, cache_bytes: int, threads: int, record: bool) -> Batch: ...

    @staticmethod
    def of_matrix(matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], doubled: bool, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tol: float, cache_bytes: int, threads: int, record: bool) -> Batch: ...

    def advance(self, *, seconds: float = float('inf')) -> bool:
        """Go on for about so long; True when all problems are done."""

    def stop(self) -> None:
        """End: problems under way are judged as they are."""

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def status(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """BatchStatus of each problem."""

    @property
    def steps(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def certificates(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        One line per problem: objective, primal, dual, gap, KKT violation, infeasibility, bias, rho.
        """

    @property
    def traces(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """The rows of all traces, end to end."""

    @property
    def trace_start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """Where each problem's trace begins, and where the last one's ends."""

class Coordinate32:
    """One coefficient at a time: Kernel-Adatron, SVMseq, SOR."""

    def __init__(self, gram: Gram32, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def visit(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: float, augment: float, seconds: float) -> int: ...

    def visit_best(self, count: int, *, step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: float, augment: float, seconds: float) -> int: ...

    def begin_epoch(self) -> None: ...

    @property
    def shift(self) -> float: ...

    @property
    def largest(self) -> float: ...

    @property
    def gain(self) -> float: ...

    def account(self, *, bias: float, rho: float) -> Account: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def product(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def wanted(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def updates(self) -> int: ...

    def correct(self, product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Coordinate64:
    """One coefficient at a time: Kernel-Adatron, SVMseq, SOR."""

    def __init__(self, gram: Gram64, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def visit(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: float, augment: float, seconds: float) -> int: ...

    def visit_best(self, count: int, *, step: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: float, augment: float, seconds: float) -> int: ...

    def begin_epoch(self) -> None: ...

    @property
    def shift(self) -> float: ...

    @property
    def largest(self) -> float: ...

    @property
    def gain(self) -> float: ...

    def account(self, *, bias: float, rho: float) -> Account: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def product(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def wanted(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def updates(self) -> int: ...

    def correct(self, product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class PairRules:
    def __init__(self, *, tolerance: float, progress: float, seconds: float, most: int) -> None: ...

class PairEnd(enum.Enum):
    paused = 0

    missing = 1

    finished = 2

    unbounded = 3

class Pairs32:
    """Two coefficients at a time: SMO and nearest points."""

    def __init__(self, gram: Gram32, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: float, seed: int) -> None: ...

    def platt(self, rules: PairRules) -> PairEnd: ...

    def simplified(self, rules: PairRules, *, quiet_passes: int) -> PairEnd: ...

    def extreme(self, rules: PairRules) -> PairEnd: ...

    @property
    def bias(self) -> float: ...

    @property
    def passes(self) -> int: ...

    @property
    def last_first(self) -> int: ...

    @property
    def last_second(self) -> int: ...

    def account(self, *, bias: float, rho: float) -> Account: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def product(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def wanted(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def updates(self) -> int: ...

    def correct(self, product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Pairs64:
    """Two coefficients at a time: SMO and nearest points."""

    def __init__(self, gram: Gram64, *, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: float, seed: int) -> None: ...

    def platt(self, rules: PairRules) -> PairEnd: ...

    def simplified(self, rules: PairRules, *, quiet_passes: int) -> PairEnd: ...

    def extreme(self, rules: PairRules) -> PairEnd: ...

    @property
    def bias(self) -> float: ...

    @property
    def passes(self) -> int: ...

    @property
    def last_first(self) -> int: ...

    @property
    def last_second(self) -> int: ...

    def account(self, *, bias: float, rho: float) -> Account: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def product(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def wanted(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def updates(self) -> int: ...

    def correct(self, product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class EpochEnd(enum.Enum):
    paused = 0

    finished = 1

    settled = 2

class FeatureRows32:
    """Rows of X where they are, for linear kernels."""

    @staticmethod
    def dense(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> FeatureRows32: ...

    @staticmethod
    def sparse(*, start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], features: int) -> FeatureRows32: ...

    def add_weights(self, *, coef: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, last: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """out += coef[first:last] @ X[first:last]."""

    def values(self, *, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, last: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
        """out[first:last] = X[first:last] @ weights."""

    def add_outer(self, *, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """out += X[index].T @ diag(weight) @ X[index], its upper triangle."""

    @property
    def count(self) -> int: ...

    @property
    def features(self) -> int: ...

class LinearCoordinate32:
    """Dual coordinate descent that keeps the weight vector."""

    def __init__(self, x: FeatureRows32, *, scale: float, constant: float, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, shrinking: bool) -> None: ...

    def run(self, *, goal: float, most: int, seconds: float) -> EpochEnd:
        """
        Epochs over the active rows, until the violation seen in one is at most `goal`.
        """

    def set_bias(self, *, multiplier: float, penalty: float) -> None: ...

    def load(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Other coefficients, with w and their sum made anew and all rows active.
        """

    def activate_all(self) -> None: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def sum(self) -> float: ...

    @property
    def bias(self) -> float: ...

    @property
    def violation(self) -> float: ...

    @property
    def epochs(self) -> int: ...

    @property
    def updates(self) -> int: ...

    @property
    def active(self) -> int: ...

    @property
    def visited(self) -> float: ...

class FeatureRows64:
    """Rows of X where they are, for linear kernels."""

    @staticmethod
    def dense(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> FeatureRows64: ...

    @staticmethod
    def sparse(*, start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: int) -> FeatureRows64: ...

    def add_weights(self, *, coef: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, last: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """out += coef[first:last] @ X[first:last]."""

    def values(self, *, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, last: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
        """out[first:last] = X[first:last] @ weights."""

    def add_outer(self, *, index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """out += X[index].T @ diag(weight) @ X[index], its upper triangle."""

    @property
    def count(self) -> int: ...

    @property
    def features(self) -> int: ...

class LinearCoordinate64:
    """Dual coordinate descent that keeps the weight vector."""

    def __init__(self, x: FeatureRows64, *, scale: float, constant: float, linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, shrinking: bool) -> None: ...

    def run(self, *, goal: float, most: int, seconds: float) -> EpochEnd:
        """
        Epochs over the active rows, until the violation seen in one is at most `goal`.
        """

    def set_bias(self, *, multiplier: float, penalty: float) -> None: ...

    def load(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Other coefficients, with w and their sum made anew and all rows active.
        """

    def activate_all(self) -> None: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def sum(self) -> float: ...

    @property
    def bias(self) -> float: ...

    @property
    def violation(self) -> float: ...

    @property
    def epochs(self) -> int: ...

    @property
    def updates(self) -> int: ...

    @property
    def active(self) -> int: ...

    @property
    def visited(self) -> float: ...
