"""The benchmark's quick form: figures, arithmetic, and contenders that cannot run."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import __main__ as benchmarks
from benchmarks import contenders, limit, report, run, summary
from benchmarks.datasets import PROBLEMS, Problem
from benchmarks.objective import GaussianGram


def blobs():
    """A hundred points in two overlapping clouds."""
    generator = np.random.default_rng(0)
    y = np.repeat([1, -1], 50)
    return generator.normal(size=(100, 3)) + 0.7 * y[:, None], y


def absent():
    """A problem whose data is nowhere."""
    raise FileNotFoundError("absent.npz is not in $ADATRON_DATA nor in ../shared/data")


@pytest.fixture
def tiny(monkeypatch):
    """Two tiny problems, one without data, and rates that need no measuring."""
    monkeypatch.setitem(PROBLEMS, "tiny", Problem("tiny", 1.0, 0.5, blobs))
    monkeypatch.setitem(PROBLEMS, "second", Problem("second", 10.0, 0.5, blobs))
    monkeypatch.setitem(PROBLEMS, "absent", Problem("absent", 1.0, 0.5, absent))
    monkeypatch.setattr(limit, "measure", lambda threads: limit.Rates(1e11, 1e10))
    monkeypatch.setenv("COLUMNS", "200")  # a table in full, whoever draws it


def benchmark(tmp_path, *names):
    """Run the command on the tiny problems and read its JSON."""
    path = tmp_path / "run.json"
    words = ["--only", "tiny", "absent", "second", "--reference", "sklearn", "--repeat", "1"]
    benchmarks.main([*words, "--json", str(path), "--contenders", *names])
    return json.loads(path.read_text())


def adatron_runs():
    """Whether the library has its native core and estimators here."""
    try:
        from adatron import SVC  # noqa: F401
    except ImportError:
        return False
    return True


def test_json_holds_every_figure(tiny, tmp_path, capsys):
    names = ["sklearn", "adatron"] if adatron_runs() else ["sklearn"]
    result = benchmark(tmp_path, *names)
    assert {"date", "machine", "versions", "settings", "rates"} <= result.keys()
    assert result["machine"]["cores"] >= 1
    problem, skipped, _ = result["problems"]
    assert (problem["rows"], problem["features"]) == (100, 3)
    assert "not in $ADATRON_DATA" in skipped["skipped"]
    assert problem["limit_seconds"] == pytest.approx(problem["n_sv"] * 100 * (6e-11 + 4e-10))
    for entry in problem["contenders"].values():
        assert entry["accurate"]
        assert 0 <= entry["gap"] < 0.01
        assert entry["kkt_violation"] <= 1.5e-3
        assert entry["seconds"] == min(entry["all_seconds"])
        assert len(entry["all_seconds"]) == 2
        base = problem["contenders"]["sklearn"]["seconds"]
        assert entry["ratio"] == pytest.approx(entry["seconds"] / base)
        assert entry["limit_multiple"] == pytest.approx(entry["seconds"] / problem["limit_seconds"])
    assert "absent: skipped" in capsys.readouterr().out


def test_an_unimportable_contender_is_reported_and_not_tried_again(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(contenders.CONTENDERS, "nowhere", "nowhere:fit")
    start, tries = run.start_worker, []

    def start_without_sklearn(order):
        """The worker is another process: give it a path on which the library is missing."""
        if order["contender"] != "nowhere":
            return start(order)
        tries.append(order)
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", str(hide_sklearn(tmp_path)))
            return start(order | {"contender": "sklearn"})

    monkeypatch.setattr(run, "start_worker", start_without_sklearn)
    first, _, second = benchmark(tmp_path, "sklearn", "nowhere")["problems"]
    assert len(tries) == 1
    for problem in (first, second):
        assert problem["contenders"]["sklearn"]["failed"] is None
        assert problem["contenders"]["nowhere"]["failed"] == "ImportError: hidden"
        assert problem["contenders"]["nowhere"]["seconds"] is None
    assert "ImportError: hidden" in capsys.readouterr().out


def hide_sklearn(folder):
    """A folder whose scikit-learn cannot be imported."""
    (folder / "sklearn.py").write_text('raise ImportError("hidden")\n')
    return folder


def test_a_fit_over_the_limit_is_a_lower_bound(tiny, monkeypatch):
    outcome = run.Outcome()
    outcome.fail(-run.signal.SIGALRM, "", disturbance=0.0)
    figures = summary.figures(outcome, run.Settings(limit=7.0), data_bytes=0)
    assert figures["seconds"] == 7.0
    assert figures["lower_bound"]
    assert figures["failed"] is None


def test_a_crash_is_reported():
    outcome = run.Outcome()
    outcome.fail(-run.signal.SIGSEGV, "noise", disturbance=2.0)
    assert outcome.reason == "killed by SIGSEGV"
    assert not outcome.again(30)


@pytest.mark.parametrize("disturbance", [0.0, 1.0])
def test_a_slow_fit_is_repeated_only_if_others_were_in_the_way(disturbance):
    slow, stopped, quick = run.Outcome(), run.Outcome(), run.Outcome()
    slow.add(np.array([40.0]), 0, np.zeros(1), disturbance)
    quick.add(np.array([40.0, 4.0]), 0, np.zeros(1), disturbance)
    stopped.fail(-run.signal.SIGALRM, "", disturbance)
    assert slow.again(30) == stopped.again(30) == (disturbance > 0.1)
    assert quick.again(30)
    assert quick.first_seconds == [40.0]


def entry(seconds, base, accurate=True, lower_bound=False):
    """A contender's figures as far as comparing needs them."""
    ratio = seconds / base
    return {
        "seconds": seconds,
        "ratio": ratio,
        "first_seconds": 3 * seconds,
        "first_ratio": 2 * ratio,
        "accurate": None if lower_bound else accurate,
        "lower_bound": lower_bound,
    }


def test_means_and_defeats():
    problems = [
        {"name": "a", "contenders": {"ours": entry(1, 1), "peer": entry(2, 1)}},
        {"name": "b", "contenders": {"ours": entry(2, 2), "peer": entry(16, 2)}},
        {"name": "c", "contenders": {"ours": entry(3, 3), "peer": entry(1, 3)}},
        {"name": "d", "contenders": {"ours": entry(1, 1), "peer": entry(0.1, 1, False)}},
        {"name": "e", "contenders": {"ours": entry(1, 1), "peer": entry(9, 1, lower_bound=True)}},
    ]
    comparison = summary.compare(problems, "ours")
    mean = comparison["geometric_means"]["peer"]
    assert mean["equal_accuracy"] == pytest.approx((2 * 8 * (1 / 3) * 9) ** (1 / 4))
    assert mean["all"] == pytest.approx((2 * 8 * (1 / 3) * 0.1 * 9) ** (1 / 5))
    assert mean["first"] == pytest.approx(2 * mean["all"])
    assert (mean["problems"], mean["equal_accuracy_problems"]) == (5, 4)
    assert mean["lower_bound"]
    assert [case["problem"] for case in comparison["slower_on"]] == ["c"]
    assert comparison["slower_on"][0]["factor"] == pytest.approx(3)
    text = "\n".join(report.conclusion(comparison))
    assert f">= {mean['equal_accuracy']:.2f}" in text
    assert "c (peer x3.00)" in text


def test_ratios_are_times_over_the_reference_and_the_limit():
    entries = {"ours": entry(2, 2), "peer": entry(5, 2), "failed": entry(5, 2)}
    entries["failed"]["seconds"] = None
    summary.relate(entries, "ours", 0.5)
    assert [e["ratio"] for e in entries.values()] == [1.0, 2.5, None]
    assert [e["limit_multiple"] for e in entries.values()] == [4.0, 10.0, None]


def test_no_ratio_from_a_reference_that_ran_out_of_time():
    assert summary.reference_seconds(entry(5, 1, lower_bound=True)) is None
    assert summary.reference_seconds(entry(5, 1)) == 5


def test_geometric_mean_of_nothing_is_none():
    assert summary.geometric_mean([]) is None
    assert summary.geometric_mean([4.0, 1.0]) == pytest.approx(2.0)


def test_judging_product_is_the_kernel_matrix_times_the_coefficients(monkeypatch):
    monkeypatch.setattr("benchmarks.objective.BLOCK_BYTES", 512)
    X, y = blobs()
    coef = np.where(np.arange(100) % 3 == 0, y, 0.0)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    expected = np.exp(-0.5 * squares) @ coef
    np.testing.assert_allclose(GaussianGram(X, 0.5).product(coef), expected, atol=1e-12)


@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("name", ["sklearn", "libsvm", "thundersvm"])
def test_signs_follow_the_labels_whichever_comes_first(name, flip):
    X, y = blobs()
    y = (flip * y).astype(np.int8)
    try:
        fit = contenders.load(name)
    except ImportError as error:
        pytest.skip(str(error))
    _, beta, seconds = fit(X, y, 1.0, 0.5, 1e-3, 1, 100)
    assert np.all(beta * y >= 0)
    assert beta.any()
    assert seconds > 0


def test_every_generated_problem_loads_quickly_scaled_down():
    X, y = PROBLEMS["checkerboard"].load(quick=True)
    assert X.shape == (800, 2)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert set(np.unique(y)) == {-1, 1}
    assert math.isclose(abs(y.mean()), 0, abs_tol=0.2)


def test_climbers_climb_and_are_drawn(tmp_path):
    """The solvers' own comparison, on the small set only."""
    from benchmarks import climbers

    data = climbers.Data("sonar", 0.6)
    try:
        results = [climbers.climb(data, *who) for who in (("adatron", "none"), ("smo", "exact"), ("sor", "augmented"))]
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    assert [r.status for r in results] == ["reached"] * 3
    assert all(r.gap <= 1e-3 for r in results)
    few = {("adatron", "none"): climbers.climb(data, "adatron", "none", cache=climbers.FEW)}
    assert few["adatron", "none"].evaluations > 5 * results[0].evaluations
    lines = list(climbers.table(results, few))
    assert len(lines) == 5
    assert "adatron | none" in lines[2]
    letter = climbers.twin(data, results[0].iterations)
    assert letter["epochs"] > 0
    climbers.draw({"sonar": results}, tmp_path / "climbers.png")
    assert (tmp_path / "climbers.png").stat().st_size > 10_000


def test_selection_in_its_quick_form(monkeypatch, capsys):
    from benchmarks import selection, selection_study
    from sklearn.datasets import load_diabetes

    regressions = {"diabetes": lambda: load_diabetes(return_X_y=True)}
    for module in (selection, selection_study):
        monkeypatch.setattr(module, "SETS", {"blobs": blobs, "absent": absent})
        monkeypatch.setattr(module, "REGRESSIONS", regressions)
    monkeypatch.setattr(selection_study, "HELD_OUT", {"wine": selection.MANY_CLASSES["wine"]})
    monkeypatch.setattr(selection, "MANY_CLASSES", {"wine": selection.MANY_CLASSES["wine"], "absent": absent})
    selection.main(["study", "cost", "regression", "machines", "--quick"])
    told = capsys.readouterr().out
    assert "absent: absent.npz is not in $ADATRON_DATA" in told
    assert "| set | rows | splits | default | span | bound | cross_validate |" in told
    assert "| wine * | 106 x 13 | 1 |" in told
    assert "| diabetes (R²) | 120 x 10 | 1 |" in told
    assert '"held out: default from cross_validate"' in told
    assert "median for sigma and C" in told
    assert "'set': 'diabetes'" in told


def test_a_study_goes_on_where_it_ended(monkeypatch, tmp_path):
    from benchmarks import selection_study

    monkeypatch.setattr(selection_study, "SETS", {"blobs": blobs})
    to, measured, done = tmp_path / "study.json", selection_study.measured, []

    def ended(contender, *words):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(contender)
        return measured(contender, *words)

    monkeypatch.setattr(selection_study, "measured", ended)
    options = {"names": ["blobs"], "contenders": ("default", "span"), "splits": 2, "quick": True}
    with pytest.raises(KeyboardInterrupt):
        selection_study.study(to, **options)
    assert len(json.loads(to.read_text())) == 3
    monkeypatch.setattr(selection_study, "measured", lambda *words: done.append(words[0]) or measured(*words))
    figures = selection_study.study(to, **options)
    assert done == ["default", "span", "default", "span"]
    assert [figure["seed"] for figure in figures] == [10, 10, 11, 11]
    assert figures[:3] == list(json.loads(to.read_text()).values())[:3]


def test_a_grid_that_takes_too_long_has_the_choice_of_the_same_grid(monkeypatch, tmp_path):
    from benchmarks import selection_study

    monkeypatch.setattr(selection_study, "SETS", {"blobs": blobs})
    contenders = ("cross_validate", "scikit-learn")
    ours, theirs = selection_study.study(tmp_path / "s.json", ["blobs"], contenders, splits=1, limit=0.05, quick=True)
    assert theirs["complete"] is False
    assert (theirs["error"], theirs["gamma"], theirs["C"]) == (ours["error"], ours["gamma"], ours["C"])
    assert theirs["seconds"] >= 0.05
    assert " †" in selection_study.markdown([ours, theirs])
    assert "| > 0." in selection_study.markdown([ours, theirs])


def test_a_study_sums_up_to_a_table():
    from benchmarks import selection_study

    figures = []
    for contender, error, seconds in (("default", 0.12, 0.5), ("span", 0.2, 0.1), ("scikit-learn", 0.1, 20.0)):
        for seed in (10, 11):
            here = {"set": "wine", "rows": 10, "features": 2, "seed": seed, "contender": contender}
            figures.append(here | {"error": error, "seconds": seconds})
    found = selection_study.summary(figures)
    assert found["held out: default from scikit-learn"]["mean"] == pytest.approx(2.0)
    assert found["all: span from scikit-learn"]["worst"] == "wine 10 rows +10.000"
    assert found["scikit-learn over default, times"]["median"] == pytest.approx(40.0)
    assert "| wine * | 10 x 2 | 2 | 12.00 | 20.00 | 10.00 | 0.5 | 20 |" in selection_study.markdown(figures)


def test_small_in_its_quick_form(tmp_path, monkeypatch, capsys):
    from benchmarks import small

    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "small.json"
    small.main(["--quick", "--only", "50 rows SVC|predict 1 of iris|first fit checkerboard", "--json", str(path)])
    result = json.loads(path.read_text())
    assert {"date", "machine", "versions", "settings", "comparison"} <= result.keys()
    assert {point["kind"] for point in result["points"]} == {"fit", "predict", "first fit", "later fit"}
    for point in result["points"]:
        base = point["contenders"]["adatron"]["seconds"]
        for name, entry in point["contenders"].items():
            if entry["failed"]:  # intelex is not installed everywhere
                assert name == "intelex"
                assert entry["seconds"] is entry["ratio"] is None
                continue
            assert entry["calls"] >= 1
            assert entry["ratio"] == pytest.approx(entry["seconds"] / base)
            assert entry["accurate"] is (None if point["kind"] == "predict" else True)
            assert entry["agreement"] is None or entry["agreement"] > 0.95
    printed = capsys.readouterr().out
    assert "fit 50 rows SVC linear" in printed
    assert "scikit-learn / adatron" in printed


def test_small_points_have_names_of_their_own():
    from benchmarks.small_points import POINTS, RAW

    names = [point.name for point in POINTS]
    assert len(set(names)) == len(names)
    assert {point.data.removesuffix(" raw") for point in POINTS} <= RAW.keys()


def test_small_points_compared():
    from benchmarks import small_report as small

    def point(name, kind, rows, seconds):
        """A point with a time of each contender."""
        times = dict(zip(small.CONTENDERS, seconds, strict=True))
        figures = {who: small.figures([taken] if taken else []) for who, taken in times.items()}
        return small.entry(name, kind, (rows, 2), 2, figures, 0.0)

    entries = [
        point("a", "fit", 50, [4.0, 1.0, 2.0]),
        point("b", "fit", 500, [1.0, 2.0, None]),
        point("c", "fit", 600, [2.0, 1.0, 8.0]),
        point("d", "predict", 600, [1.0, 8.0, 4.0]),
    ]
    against_sklearn, against_intelex = small.compare(entries).values()
    assert against_sklearn["means"] == pytest.approx({"all": 2.0, "fit": 1.0, "predict": 8.0})
    assert against_sklearn["slower_on"] == {"a": 0.25, "c": 0.5}
    assert against_sklearn["slower_on_large"] == 1
    assert against_sklearn["worst"] == ["a", 0.25]
    assert against_intelex["means"] == pytest.approx({"all": 4.0, "fit": 4.0, "predict": 4.0})
    assert (against_intelex["points"], against_intelex["points_of_large"]) == (3, 2)


@pytest.mark.parametrize(
    ("name", "options", "n_classes"),
    [
        ("SVC", {"kernel": "poly", "coef0": 1.0}, 2),
        ("SVC", {"C": 5.0}, 4),
        ("NuSVC", {"nu": 0.3}, 2),
        ("NuSVC", {"nu": 0.3}, 3),
        ("SVR", {"kernel": "linear"}, 5),
        ("OneClassSVM", {"nu": 0.2}, 1),
    ],
)
@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
@pytest.mark.parametrize("library", ["adatron", "sklearn.svm"])
def test_violations_are_read_from_dual_coefficients(library, layout, name, options, n_classes):
    from importlib import import_module

    from benchmarks.objective import dense, largest_violation

    generator = np.random.default_rng(0)
    y = np.arange(120) % n_classes
    X = layout(generator.normal(size=(120, 3)) + 0.5 * y[:, None])
    model = getattr(import_module(library), name)(**options).fit(X, y)
    assert largest_violation(model, X, y) <= 1.5e-3
    spoiled = np.where(np.arange(len(model.support_)) % 7 == 0, 0.5, 1.0) * dense(model.dual_coef_)
    vars(model)["dual_coef_"] = spoiled
    assert largest_violation(model, X, y) > 0.01


def test_linear_kernels(tmp_path, capsys):
    from benchmarks import linear

    path = tmp_path / "linear.json"
    report = linear.main(["--quick", "--json", str(path)])
    assert json.loads(path.read_text()) == report
    for case in ("text", "dense"):
        figures = report[case]
        for comparison in ("hinge", "squared_hinge", "part"):
            names = figures[comparison].keys()
            assert names >= {"adatron", "SVC" if comparison == "part" else "LinearSVC"}
            for each in figures[comparison].values():
                assert each["seconds"] > 0
                assert each["gap"] >= -1e-6  # the bound is certified to that
            assert figures[comparison]["adatron"]["gap"] < 1e-4
        assert figures["megabytes"] < 100
    said = capsys.readouterr().out
    assert "LinearSVC, primal" in said
    assert "MB to the peak" in said
