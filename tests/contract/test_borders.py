"""What crosses into the core is checked: a wrong size or index is a sentence, never a crash."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, random_array

from adatron import SVC, Gram, KernelFisherDiscriminant, KernelNeighborsClassifier, _core, certificate, problems
from adatron.kernels import Callable, Gaussian, Linear, Precomputed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] > 0, 1, -1)


def gram(**options):
    return Gram(Gaussian(gamma=0.5), X, dtype=np.float64, **options)


# ---------------------------------------------------------------- the public API


@pytest.mark.parametrize("index", [[10**9], [-5], [0, 40], [-1]])
@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.5), Callable(lambda a, b: a @ b.T)])
def test_rows_that_do_not_exist_are_refused(index, kernel):
    for act in (Gram(kernel, X).fetch, Gram(kernel, X).rows, Gram(kernel, X).activate):
        with pytest.raises(ValueError, match=r"index.*(out of range|names no rows): pass .* from 0 to 39"):
            act(index)


@pytest.mark.parametrize("shape", [(41,), (39,), (40, 1), ()])
def test_a_product_needs_one_coefficient_per_row(shape):
    with pytest.raises(ValueError, match=re.escape(f"coef has shape {shape}: pass 40 values")):
        gram().product(np.ones(shape))
    np.testing.assert_allclose(gram().product([1] + [0] * 39), gram().rows([0])[0])


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.5), Gaussian(), Linear(), Precomputed()])
def test_a_gram_matrix_needs_rows(kernel):
    empty = np.empty((0, 0)) if isinstance(kernel, Precomputed) else np.empty((0, 3))
    with pytest.raises(ValueError, match=r"X has shape .*: pass at least one row"):
        Gram(kernel, empty)


def test_a_certificate_needs_a_problem_of_the_same_rows():
    y = np.repeat([-1.0, 1.0], 25)
    problem = problems.hinge(y)
    with pytest.raises(ValueError, match="gram has 40 rows: pass one with 50"):
        certificate(problem, gram(), np.zeros(50))


def test_more_rows_than_the_cache_holds_are_refused():
    small = Gram(Gaussian(gamma=0.5), RNG.normal(size=(200, 3)), cache_bytes=1)
    with pytest.raises(ValueError, match="no room for so many rows"):
        small.fetch(np.arange(100))
    small.fetch(np.zeros(100, dtype=np.int64))  # the same one again and again has room
    assert small.rows(np.arange(200)).shape == (200, 200)


# ---------------------------------------------------------------- corrupt sparse data


def corrupt(how: str, format: str = "csr") -> csr_array | csc_array:
    bad = random_array((40, 6), density=0.5, format=format, rng=np.random.default_rng(1))
    bad.indices, bad.indptr = bad.indices.copy(), bad.indptr.copy()
    match how:
        case "index too large":
            bad.indices[3] = 10**6
        case "index negative":
            bad.indices[3] = -(10**6)
        case "indptr decreases":
            bad.indptr[5] = bad.indptr[6] + 10
        case "indptr negative":
            bad.indptr[5] = -(10**6)
        case "indptr too large":
            bad.indptr[-1] = 10**7
        case "indptr starts late":
            bad.indptr[0] = 1
        case "data too short":
            bad.data = bad.data[:5]
    return bad


FAULTS = [
    "index too large",
    "index negative",
    "indptr decreases",
    "indptr negative",
    "indptr too large",
    "indptr starts late",
    "data too short",
]
SENTENCE = "X is not a valid sparse matrix, its .*: rebuild it"


@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_corrupt_sparse_matrices_are_refused(how, format):
    good, bad = corrupt("not at all"), corrupt(how, format)
    for estimator in (SVC(), SVC(kernel="linear"), KernelFisherDiscriminant()):
        with pytest.raises(ValueError, match=SENTENCE):
            estimator.fit(bad, Y)
        estimator.fit(good, Y)
        with pytest.raises(ValueError, match=SENTENCE):
            estimator.predict(bad)
    with pytest.raises(ValueError, match=SENTENCE):
        Gram(Gaussian(gamma=0.5), bad)
    near = KernelNeighborsClassifier().fit(good, Y)
    with pytest.raises(ValueError, match=SENTENCE):
        near.predict(bad)


def test_coordinates_outside_of_the_shape_are_refused():
    bad = coo_array(X)
    bad.coords[1][7] = 10**6
    with pytest.raises(ValueError, match=SENTENCE):
        SVC().fit(bad, Y)


def test_the_core_checks_csr_itself():
    good = corrupt("not at all")

    def points(start, feature, value, features=6):
        return _core.Points64.sparse(
            start=np.asarray(start, dtype=np.int64),
            feature=np.asarray(feature, dtype=np.int32),
            value=np.asarray(value, dtype=np.float64),
            features=features,
        )

    assert points(good.indptr, good.indices, good.data).count == 40
    for how in FAULTS:
        bad = corrupt(how)
        with pytest.raises(ValueError, match="pass"):
            points(bad.indptr, bad.indices, bad.data)
    with pytest.raises(ValueError, match="pass"):
        points([], [], [])
    with pytest.raises(ValueError, match="pass"):
        points(good.indptr, good.indices, good.data, features=2)


# ---------------------------------------------------------------- the core's own border


def spans(rows: int = 40, **changes):
    data = {
        "linear": -Y.astype(float),
        "lower": np.minimum(0.0, Y),
        "upper": np.maximum(0.0, Y).astype(float),
        "ridge": np.zeros(40),
        "group": np.zeros(40, dtype=np.int8),
        "totals": np.zeros(1),
        "rows": rows,
        "beta": np.zeros(40),
        "product": np.zeros(40),
    }
    return {**data, **changes}


WRONG = [
    {"linear": np.zeros(41)},
    {"lower": np.zeros(39)},
    {"upper": np.zeros(80)},
    {"ridge": np.zeros(1)},
    {"group": np.zeros(39, dtype=np.int8)},
    {"group": np.full(40, 2, dtype=np.int8)},
    {"group": np.full(40, -1, dtype=np.int8)},
    {"totals": np.zeros(3)},
    {"beta": np.zeros(41)},
    {"product": np.zeros(41)},
    {"rows": 39},
    {"rows": 0},
    {"rows": 20},
    {"rows": -40},
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{next(iter(w))}")
def test_problems_must_fit_the_matrix(wrong):
    core = gram().core
    with pytest.raises(ValueError, match="pass"):
        _core.Engine64(core, **spans(**wrong), working_size=10)
    with pytest.raises(ValueError, match="pass"):
        _core.Coordinate64(core, **spans(**wrong))
    with pytest.raises(ValueError, match="pass"):
        _core.Pairs64(core, **spans(**wrong), bias=0.0, seed=0)
    engine = _core.Engine64(core, **spans(), working_size=10)
    with pytest.raises(ValueError, match="pass"):
        engine.load(**spans(**wrong))
    if "rows" not in wrong or wrong["rows"] != 20:
        with pytest.raises(ValueError, match="pass"):
            _core.account(**spans(**wrong), bias=0.0, rho=0.0)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{next(iter(w))}")
def test_certificates_and_polishing_are_checked(wrong):
    core, given = gram().core, spans(**wrong)
    if "rows" not in wrong or wrong["rows"] != 20:
        with pytest.raises(ValueError, match="pass"):
            _core.certify(**given)
    if "product" not in wrong:
        del given["product"]
        with pytest.raises(ValueError, match="pass"):
            _core.Polish(core, **given, kkt_violation=1.0)


BATCH = {"tol": 1e-3, "cache_bytes": 10**6, "threads": 1, "record": False, "doubled": False}
WRONG_BATCH = [
    *(wrong for wrong in WRONG if not {"totals", "product", "rows"} & set(wrong)),
    {"totals": np.zeros((1, 3))},
    {"totals": np.zeros((2, 1))},
    {"start": np.array([0])},
    {"start": np.array([1, 41])},
    {"start": np.array([0, 39])},
    {"start": np.array([0, 40, 40])},
    {"start": np.array([0, 40, 20])},
    {"rows": np.arange(39)},
    {"rows": np.full(40, 40)},
    {"rows": np.full(40, -1)},
    {"doubled": True},
]


@pytest.mark.parametrize("wrong", WRONG_BATCH, ids=lambda w: f"{next(iter(w))}")
def test_batches_are_checked(wrong):
    given = {**spans(), "totals": np.zeros((1, 1)), "start": np.array([0, 40]), "rows": None, **BATCH, **wrong}
    del given["product"]
    K = np.eye(40)
    with pytest.raises(ValueError, match="pass"):
        _core.Batch.of_matrix(K, diagonal=np.ones(40), **given)
    points = _core.Points64.dense(np.ones((40, 2)), threads=1)
    kernel = [_core.Term(1.0, [_core.Factor(_core.Form.linear)])]
    with pytest.raises(ValueError, match="pass"):
        _core.Batch.of_points(kernel, points, diagonal=np.ones(40), **given)


def test_predictors_are_checked():
    points = _core.Points64.dense(np.ones((6, 2)), threads=1)
    kernel = [_core.Term(1.0, [_core.Factor(_core.Form.linear)])]
    for coef, edge in [
        ((1, 5), []),
        ((2, 6), [0, 2, 4]),
        ((2, 6), [0, 4, 2, 6]),
        ((2, 6), [1, 2, 4, 6]),
        ((2, 6), [0, 2, 4, 7]),
    ]:
        with pytest.raises(ValueError, match="pass"):
            _core.Predictor64(kernel, support=points, coef=np.ones(coef), edge=edge)
    good = _core.Predictor64(kernel, support=points, coef=np.ones((2, 6)), edge=[0, 2, 4, 6])
    with pytest.raises(ValueError, match="pass 3"):
        good.decide(points, bias=np.zeros(2), out=np.zeros((3, 6)))
    with pytest.raises(ValueError, match="pass"):
        good.decide(points, bias=np.zeros(3), out=np.zeros((3, 5)))
    other = _core.Points64.dense(np.ones((6, 3)), threads=1)
    with pytest.raises(ValueError, match="alike"):
        good.decide(other, bias=np.zeros(3), out=np.zeros((3, 6)))
    with pytest.raises(ValueError, match="pass"):
        _core.count_votes(np.zeros((4, 5)), votes=np.zeros((5, 3)), confidence=np.zeros((5, 3)))
    with pytest.raises(ValueError, match="pass"):
        _core.count_votes(np.zeros((3, 5)), votes=np.zeros((5, 3)), confidence=np.zeros((4, 3)))


def test_solvers_of_part_of_the_columns_are_refused():
    core = gram().core
    core.activate(np.arange(10))
    with pytest.raises(ValueError, match="pass 10"):
        _core.Engine64(core, **spans(), working_size=10)
    with pytest.raises(ValueError, match="activate all"):
        _core.Coordinate64(core, **spans())


def test_arrays_of_the_engine_are_checked():
    core = gram().core
    engine = _core.Engine64(core, **spans(), working_size=10)
    with pytest.raises(ValueError, match="beta has 39 entries: pass 40"):
        engine.write(np.zeros(39))
    engine.select()
    with pytest.raises(RuntimeError, match="fetched first"):
        engine.advance(tolerance=1e-3, max_steps=10)
    with pytest.raises(ValueError, match="another shape"):
        engine.load(**spans(totals=np.zeros(0)))
    coordinate = _core.Coordinate64(core, **spans())
    rest = {"shift": 0.0, "augment": 0.0, "seconds": 1.0}
    for order, step in (([40], np.ones(40)), ([-1], np.ones(40)), ([0], np.ones(39))):
        with pytest.raises(ValueError, match="pass"):
            coordinate.visit(np.array(order), step=step, **rest)
    with pytest.raises(ValueError, match="pass"):
        coordinate.visit_best(3, step=np.ones(39), **rest)
    with pytest.raises(ValueError, match="pass"):
        coordinate.correct(np.zeros(39))


def test_arrays_of_the_matrix_are_checked():
    core, index = gram().core, np.arange(3)
    beyond = np.array([0, 40])
    core.fetch(index, seconds=1.0)
    out = np.empty((3, 40))
    core.copy_rows(index, out=out)
    refused = [
        lambda: core.copy_rows(beyond, out=np.empty((2, 40))),
        lambda: core.copy_rows(np.array([7]), out=np.empty((1, 40))),  # not cached
        lambda: core.copy_rows(index, out=np.empty((2, 40))),
        lambda: core.copy_rows(index, out=np.empty((3, 39))),
        lambda: core.compact(beyond, done=0, out=np.empty((2, 2))),
        lambda: core.compact(index, done=4, out=np.empty((3, 3))),
        lambda: core.compact(index, done=-1, out=np.empty((3, 3))),
        lambda: core.compact(index, done=0, out=np.empty((2, 3))),
        lambda: core.add_product(beyond, weight=np.ones(2), out=np.zeros(40)),
        lambda: core.add_product(index, weight=np.ones(2), out=np.zeros(40)),
        lambda: core.add_product(index, weight=np.ones(3), out=np.zeros(39)),
        lambda: core.missing(beyond),
        lambda: core.fetch(beyond, seconds=1.0),
        lambda: core.activate(beyond),
        lambda: core.activate(np.array([], dtype=np.int64)),
        lambda: core.activate(np.array([1, 1])),
        lambda: core.store(beyond, np.empty((2, 40))),
        lambda: core.store(index, np.empty((2, 40))),
        lambda: core.store(index, np.empty((3, 39))),
        lambda: _core.Gram64.of_matrix(np.eye(3), diagonal=np.ones(4), cache_bytes=1, threads=1),
        lambda: _core.Gram64.of_matrix(None, diagonal=np.ones(0), cache_bytes=1, threads=1),
        lambda: _core.Gram64.of_matrix(
            np.eye(3), diagonal=np.ones(3), cache_bytes=1, threads=1, lit=np.ones((3, 2), dtype=np.uint8)
        ),
    ]
    for act in refused:
        with pytest.raises(ValueError, match=r"pass|fetch|fewer|range"):
            act()
    core.copy_rows(index, out=out)  # and the matrix is as good as before
    np.testing.assert_allclose(out, gram().rows(index))


def test_arrays_of_points_and_distances_are_checked():
    points = _core.Points64.dense(X, threads=1)
    form, meeting = _core.Form.gaussian, _core.Meeting.squared_distance
    distances = _core.Distances64(points, form=form, meeting=meeting, threads=1)
    with pytest.raises(ValueError, match="call advance"):
        distances.rows(np.array([3]), out=np.empty((1, 40)))
    assert distances.advance(points)
    kernel = [_core.Term(1.0, [_core.Factor(_core.Form.linear)])]
    rest = {"rows": points, "columns": points, "threads": 1}
    lit = np.empty((40, 1), dtype=np.uint8)
    refused = [
        lambda: _core.Points64.dense(X, center=np.zeros(2), threads=1),
        lambda: distances.rows(np.array([40]), out=np.empty((1, 40))),
        lambda: distances.rows(np.array([3]), out=np.empty((1, 39))),
        lambda: distances.rows(np.array([3]), out=np.empty((0, 40))),
        lambda: distances.kernel(1.0, out=np.empty((40, 39)), lit=lit, threads=1),
        lambda: distances.kernel(1.0, out=np.empty((40, 40)), lit=lit[:39], threads=1),
        lambda: _core.Gram64.of_points(kernel, points, diagonal=np.ones(39), cache_bytes=1, threads=1),
        lambda: _core.Gram64.of_distances(distances, gamma=1.0, diagonal=np.ones(41), cache_bytes=1, threads=1),
        lambda: _core.add_product(kernel, index=np.array([40]), weight=np.ones((1, 1)), out=np.zeros((1, 40)), **rest),
        lambda: _core.add_product(kernel, index=np.array([4]), weight=np.ones((1, 2)), out=np.zeros((1, 40)), **rest),
        lambda: _core.add_product(kernel, index=np.array([4]), weight=np.ones((2, 1)), out=np.zeros((1, 40)), **rest),
        lambda: _core.add_product(kernel, index=np.array([4]), weight=np.ones((1, 1)), out=np.zeros((1, 41)), **rest),
        lambda: distances.advance(_core.Points64.dense(X[:9], threads=1)),
        lambda: _core.nearby_order(np.full((200, 2), np.nan)),
    ]
    for act in refused:
        with pytest.raises(ValueError, match="pass"):
            act()


def test_an_engine_loads_the_totals_of_another_problem():
    core = gram().core
    # one-class: β ≥ 0 with a sum of 1, then of 3
    box = {"linear": np.zeros(40), "lower": np.zeros(40), "upper": np.ones(40)}
    engine = _core.Engine64(core, **spans(**box, totals=np.array([1.0])), working_size=40)
    beta = np.full(40, 3 / 40)
    product = gram().product(beta)
    engine.load(**spans(**box, totals=np.array([3.0]), beta=beta, product=product))
    engine.select()
    told = _core.account(**spans(**box, totals=np.array([3.0]), beta=beta, product=product), bias=engine.bias, rho=0.0)
    assert engine.account().gap == pytest.approx(told.gap, rel=1e-9)
