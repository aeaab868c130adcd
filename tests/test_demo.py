"""The demo, its picture and the README's example do what they say."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

from adatron import SVC, demo, plots

README = Path(__file__).parents[1] / "README.md"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.2, random_state=1)
    return SVC(C=5.0, gamma=1.0).fit(X, y), X, y


@pytest.fixture
def axes():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    return figure.subplots()


def labelled(ax, label):
    """The points drawn under a label."""
    (found,) = (c for c in ax.collections if c.get_label() == label)
    return np.asarray(found.get_offsets())


def test_demo_prints_certificates_and_saves_picture(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    demo.main([])
    account = capsys.readouterr().out
    assert "398 rows to learn from, 171 to test on, 30 features" in account
    for line in (r"objective -\d+\.\d{6}", r"1/\|\|w\|\| = 0\.\d+", r"sigma = [\d.]+, C = \S+, from \d+ points"):
        assert re.search(line, account), line
    gaps = [float(gap) for gap in re.findall(r"relative duality gap (\S+):", account)]
    violations = [float(v) for v in re.findall(r"KKT violation (\S+),", account)]
    assert len(gaps) == len(violations) == 2
    assert max(gaps + violations) <= 1e-3
    assert float(re.search(r"test error +(\S+)%", account)[1]) < 6
    assert re.search(r"picture +out/demo\.png$", account, re.MULTILINE)
    assert re.search(r"bound is least at [\d.]+,\n +the test error at [\d.]+", account)
    for picture in ("out/demo.png", "out/path.png"):
        assert (tmp_path / picture).read_bytes().startswith(PNG)


def test_demo_without_matplotlib_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match=r"need matplotlib: pip install 'adatron\[plot\]'"):
        demo.main([])


def test_lines_drawn_are_boundary_and_margin(moons, axes):
    machine, X, y = moons
    plots.decision_boundary(machine, X, y, axes)
    (lines,) = (c for c in axes.collections if list(getattr(c, "levels", ())) == [-1, 0, 1])
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        assert len(path.vertices) > 10
        np.testing.assert_allclose(machine.decision_function(path.vertices), level, atol=0.02)


def test_points_and_rings_drawn(moons, axes):
    machine, X, y = moons
    plots.decision_boundary(machine, X, y, axes)
    for label in (0, 1):
        np.testing.assert_array_equal(labelled(axes, f"class {label}"), X[y == label])
    free = labelled(axes, "support vector, on the margin")
    bound = labelled(axes, "support vector, at the bound")
    full = np.abs(machine.dual_coef_[0]) >= machine.C
    np.testing.assert_array_equal(bound, machine.support_vectors_[full])
    np.testing.assert_array_equal(free, machine.support_vectors_[~full])
    assert min(len(free), len(bound)) > 0


def test_bound_is_known_under_weights_and_absent_from_the_squared_hinge(moons):
    _, X, y = moons
    weight = np.where(X[:, 0] > 0.5, 0.3, 2.0)
    weighted = SVC(C=5.0, gamma=1.0).fit(X, y, sample_weight=weight)
    full = np.abs(weighted.dual_coef_[0]) >= 5.0 * weight[weighted.support_] * (1 - 1e-12)
    np.testing.assert_array_equal(plots.at_bound(weighted), full)
    assert 0 < full.sum() < len(full)
    assert not plots.at_bound(SVC(gamma=1.0, loss="squared_hinge").fit(X, y)).any()


def test_new_figure_unless_given_axes(moons):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    ax = plots.decision_boundary(*moons)
    assert ax.figure.number in pyplot.get_fignums()
    pyplot.close(ax.figure)


def test_only_two_features_can_be_drawn(moons, axes):
    machine, X, y = moons
    with pytest.raises(ValueError, match=r"X has shape \(120, 3\): pass rows of two features"):
        plots.decision_boundary(machine, np.c_[X, X[:, 0]], y, axes)


def test_readme_example_runs(capsys):
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec("\n".join(examples), {})
    score, gap, sigma, C = map(float, capsys.readouterr().out.split()[:4])
    assert sigma > 0
    assert C > 0
    assert score > 0.95
    assert 0 <= gap < 1e-3
