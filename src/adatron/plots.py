"""Pictures of machines; matplotlib is loaded when one is drawn, not before.

Blue and orange stay apart for every kind of colour vision, and colour never speaks alone: the
classes differ in their markers too, and the boundary and the margin in their lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adatron._check import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, PAPER = "#1B1F23", "#FFFFFF"
COLOURS = ("#0072B2", "#D55E00")  # of the negative and the positive class
SHADES = ("#9CC7E4", "#F6F6F4", "#F2BE98")  # from f = -2 over 0 to 2
LINES = (INK, "#0072B2", "#56B4E9", "#009E73", "#D55E00", "#E69F00", "#CC79A7", "#8A8A8A", "#7B5EA7")  # of climbs
MARKERS = ("o", "^")
SIZES = (30, 38)  # a triangle of the same size looks smaller than a disc
BANDS = 20  # of the shade
GRID = 250  # points a side at which the decision value is computed
ROOM = 0.08  # around the points, as a part of their extent


def decision_boundary(machine: Any, X: Any, y: Any, ax: Axes | None = None) -> Axes:
    """Draw a machine of two features: boundary f = 0, margin f = ±1, points, support vectors.

    The shade is the decision value f, the solid line the boundary, the dashed lines the margin.
    A support vector on the margin has a bold ring; one past it, whose coefficient is at the bound,
    a thin dotted ring.

    Parameters
    ----------
    machine : a fitted classifier of two classes and two features, such as `adatron.SVC`.
    X, y : the points to draw and their classes.
    ax : where to draw; a new figure unless given.
    """
    _require_matplotlib()
    points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X has shape {points.shape}: pass rows of two features.")
    if len(machine.classes_) != 2:
        raise ValueError(f"machine has {len(machine.classes_)} classes: pass one of two classes.")
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(layout="constrained")
    _draw_decision_values(machine, points, ax)
    for i, label in enumerate(machine.classes_):
        look = {"c": COLOURS[i], "marker": MARKERS[i], "s": SIZES[i], "edgecolors": PAPER}
        _scatter(ax, points[labels == label], f"class {label}", linewidths=0.6, zorder=3, **look)
    support, bound = np.asarray(machine.support_vectors_), at_bound(machine)
    ring = {"s": 110, "facecolors": "none", "edgecolors": INK, "zorder": 4}
    _scatter(ax, support[~bound], "support vector, on the margin", linewidths=1.6, **ring)
    _scatter(ax, support[bound], "support vector, at the bound", linestyles=":", linewidths=1, **ring)
    return ax


def save_decision_boundary(machine: Any, X: Any, y: Any, path: Path) -> None:
    """Write the picture of `decision_boundary`, with a legend, to a file; no display is needed."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.2), layout="constrained")
    ax = decision_boundary(machine, X, y, figure.subplots())
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8.5, handletextpad=0.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def climbs(
    traces: Mapping[str, Any],
    ax: Axes | None = None,
    *,
    column: str = "gap",
    by: str = "seconds",
    best: bool = True,
) -> Axes:
    """Draw a column of several traces, such as the duality gap, against time or epochs: a line a climb.

    Parameters
    ----------
    traces : from a name for the legend to a `Trace`, or any mapping of columns; names that begin alike (up to a
        space) share a colour and differ in their lines.
    column, by : what is drawn against what.
    best : draw the least value so far, which an oscillating climb need not have at hand any more.
    ax : where to draw; a new figure unless given.
    """
    _require_matplotlib()
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(layout="constrained")
    families: dict[str, int] = {}
    for name, trace in traces.items():
        family = name.split(" ")[0]
        used = families[family] = families.get(family, -1) + 1
        colour = LINES[list(families).index(family) % len(LINES)]
        values = np.asarray(trace[column], dtype=np.float64)
        if best:
            values = np.fmin.accumulate(values)
        known = np.isfinite(values) & (values > 0)
        at = np.asarray(trace[by], dtype=np.float64)[known]
        ax.plot(at, values[known], color=colour, linestyle=("-", "--", ":")[used % 3], linewidth=1.6, label=name)
        if known.any():
            ax.plot(at[-1:], values[known][-1:], color=colour, marker="o", markersize=4)
    ax.set(xscale="log", yscale="log", xlabel=by, ylabel=column)
    ax.grid(True, which="major", color="#E4E4E0", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def save_climbs(panels: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Write panels of `climbs`, each under its title and with a legend, to a file; no display is needed."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.2 * len(panels), 4.6), layout="constrained")
    for ax, (title, traces) in zip(np.ravel(figure.subplots(1, len(panels))), panels.items(), strict=True):
        climbs(traces, ax)
        ax.set_title(title, loc="left", fontsize=11)
        ax.set(ylabel="relative duality gap, least so far")
        ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def path(path: Any, ax: Axes | None = None) -> Axes:
    """Draw a `selection.Path`: the criterion along σ, and held-out errors where they are known; over σ and C a map."""
    _require_matplotlib()
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(layout="constrained")
    if len({point.C for point in path}) > 1 and len({point.sigma for point in path}) > 1:
        return _map_of_path(path, ax)
    points = sorted(path, key=lambda point: point.sigma)
    along = "sigma" if len({point.sigma for point in points}) > 1 else "C"
    at = [getattr(point, along) for point in points]
    name = "bound R²/mγ²" if path.criterion == "bound" else path.criterion
    ax.plot(
        at, [point.value for point in points], color=COLOURS[0], linewidth=1.8, marker="o", markersize=3.5, label=name
    )
    errors = np.array([point.error for point in points])
    if np.isfinite(errors).any():
        beside = ax.twinx()
        beside.plot(
            at, errors, color=COLOURS[1], linewidth=1.8, linestyle="--", marker="^", markersize=4, label="test error"
        )
        beside.set_ylim(0, None)
        beside.set_ylabel("error on rows not seen", color=COLOURS[1])
        beside.spines[["top"]].set_visible(False)
        ax.plot([], [], color=COLOURS[1], linewidth=1.8, linestyle="--", marker="^", markersize=4, label="test error")
    if path.chosen is not None:
        here = getattr(path.chosen, along)
        ax.axvline(here, color=INK, linewidth=1.0, linestyle=":", label=f"chosen, {here:.3g}")
    values = np.array([point.value for point in points])
    wide = (values > 0).all() and values.max() > 10 * values.min()
    ax.set(xscale="log", yscale="log" if wide else "linear", xlabel="σ" if along == "sigma" else along)
    ax.set_ylabel(name, color=COLOURS[0])
    _readable(ax)
    ax.grid(True, which="major", color="#E4E4E0", linewidth=0.6)
    ax.spines[["top"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper center")
    return ax


def _map_of_path(path: Any, ax: Axes) -> Axes:
    """Every point of σ and C by the shade of its value; the size tells on how many rows it was judged."""
    known = [point for point in path if np.isfinite(point.value)]
    rows = np.array([point.rows for point in known], dtype=np.float64)
    dots = ax.scatter(
        [point.sigma for point in known],
        [point.C for point in known],
        c=[point.value for point in known],
        s=60 + 120 * rows / rows.max(),
        cmap="viridis_r",
        edgecolors=PAPER,
        linewidths=0.6,
        zorder=2,
    )
    here = path.chosen.sigma, path.chosen.C
    ax.scatter(*here, s=420, facecolors="none", edgecolors=COLOURS[1], linewidths=2.2, zorder=3)
    ax.plot([], [], color=COLOURS[1], marker="o", markersize=11, fillstyle="none", linestyle="none", label="chosen")
    ax.set(xscale="log", yscale="log", xlabel="σ", ylabel="C")
    ax.figure.colorbar(dots, ax=ax, label=f"{path.criterion}: the less the better", shrink=0.85)
    _readable(ax)
    ax.margins(0.12)
    ax.grid(True, which="major", color="#E4E4E0", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    return ax


def _readable(ax: Axes) -> None:
    """Plain numbers on a logarithmic axis of a few octaves."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def save_paths(panels: Mapping[str, Any], to: Path) -> None:
    """Write pictures of paths, each under its title, to a file; no display is needed."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    across = len(panels) if len(panels) < 4 else -(-len(panels) // 2)
    down = -(-len(panels) // across)
    figure = Figure(figsize=(6.4 * across, 4.4 * down), layout="constrained")
    for ax, (title, each) in zip(np.ravel(figure.subplots(down, across)), panels.items(), strict=False):
        path(each, ax)
        ax.set_title(title, loc="left", fontsize=11)
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, dpi=130)


def at_bound(machine: Any) -> NDArray[np.bool_]:
    """Which support vectors have their coefficient at the bound: those past the margin.

    Optimality makes the two the same for the hinge loss, whatever the weights of classes and rows.
    The squared hinge has no bound.
    """
    coefficients: Array = machine.dual_coef_[0]
    if getattr(machine, "loss", "hinge") != "hinge":
        return np.zeros(len(coefficients), dtype=np.bool_)
    margins = np.sign(coefficients) * machine.decision_function(machine.support_vectors_)
    return np.asarray(1.0 - margins > machine.tol)


def _draw_decision_values(machine: Any, points: Array, ax: Axes) -> None:
    """Shade, boundary and margin, over the points' extent and a little more."""
    from matplotlib.colors import LinearSegmentedColormap

    low, high = points.min(axis=0), points.max(axis=0)
    room = ROOM * np.where(high > low, high - low, 1.0)
    (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
    across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    plane = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    values = machine.decision_function(plane).reshape(GRID, GRID)
    ax.contourf(
        across,
        up,
        values,
        levels=np.linspace(-2, 2, BANDS + 1),
        cmap=LinearSegmentedColormap.from_list("sides", SHADES),
        extend="both",
        zorder=0,
    )
    ax.contour(
        across,
        up,
        values,
        levels=[-1, 0, 1],
        colors=[COLOURS[0], INK, COLOURS[1]],
        linestyles=["--", "-", "--"],
        linewidths=[1.2, 1.8, 1.2],
        zorder=2,
    )
    ax.plot([], [], color=INK, linewidth=1.8, label="boundary, f = 0")
    ax.plot([], [], color=INK, linewidth=1.2, linestyle="--", label="margin, f = ±1")


def _scatter(ax: Axes, rows: Array, label: str, **look: Any) -> None:
    ax.scatter(rows[:, 0], rows[:, 1], label=label, **look)


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'adatron[plot]'.") from error
