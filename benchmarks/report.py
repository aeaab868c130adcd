"""The run as a table in the terminal; rich draws it where installed."""

from __future__ import annotations

from .machine import DISTURBED
from .summary import Entry

HEAD = ["contender", "seconds", "ratio", "gap", "KKT", "n_sv", "x limit", "MB", "share", ""]
NOTES = """! KKT violation over 1.5 tol, so not equal accuracy;  > stopped at the time limit;
~ other processes kept more than a tenth of a core busy: measure again
MB: growth of the peak memory during the fit;  share: of the data and the cache allowed"""


def show(run: Entry) -> None:
    """Print the machine, every problem, then the means."""
    print(setting(run))
    for entry in run["problems"]:
        print(f"\n{title(entry)}")
        if entry["contenders"]:
            table(HEAD, [row(name, c) for name, c in entry["contenders"].items()])
    print(f"\n{NOTES}")
    print("\n".join(conclusion(run["comparison"])))


def setting(run: Entry) -> str:
    """Machine, threads and rates in one line."""
    rates = run["rates"]
    mark = "~" if rates["disturbance"] > DISTURBED else ""
    return (
        f"{run['machine']['cpu']}, {run['settings']['threads']} threads:"
        f" sgemm {rates['sgemm_gflops']:.0f} GFlop/s{mark},"
        f" memory written at {rates['write_gb']:.0f} GB/s{mark}"
    )


def title(entry: Entry) -> str:
    """A problem in one line."""
    if entry["skipped"]:
        return f"{entry['name']}: skipped, {entry['skipped']}"
    size = f"{entry['rows']:,} x {entry['features']}"
    line = f"{entry['name']}  {size}  C={entry['C']:g}  gamma={entry['gamma']:.4g}"
    if entry["n_sv"]:
        line += f"  n_sv={entry['n_sv']:,}  limit={entry['limit_seconds']:.3f} s"
    return line


def row(name: str, entry: Entry) -> list[str]:
    """One contender's figures as text."""
    bound = "> " if entry["lower_bound"] else ""
    loose = "!" if entry["accurate"] is False else ""
    disturbed = "~" if entry["disturbance"] > DISTURBED else ""
    return [
        name,
        bound + number(entry["seconds"], ".3f") + loose + disturbed,
        bound + number(entry["ratio"], ".2f"),
        number(entry["gap"], ".1e"),
        number(entry["kkt_violation"], ".1e"),
        number(entry["n_sv"], ",d"),
        number(entry["limit_multiple"], ".1f"),
        number(entry["memory_mb"], ",.0f"),
        number(entry["memory_share"], ".0%"),
        entry["failed"] or "",
    ]


def number(value: float | None, form: str) -> str:
    """A formatted number, or a dash for none."""
    return "-" if value is None else format(value, form)


def conclusion(comparison: Entry) -> list[str]:
    """Mean ratios against each peer, and where the reference is slower than the fastest."""
    reference, lines = comparison["reference"], [""]
    if not comparison["reference_ran"]:
        return [f"\n{reference} did not run, so there are no ratios"]
    for peer, mean in comparison["geometric_means"].items():
        if mean["all"] is None:
            continue
        bound = ">= " if mean["lower_bound"] else ""
        equal = number(mean["equal_accuracy"], ".2f")
        lines.append(
            f"{peer} / {reference}: {bound}{equal} at equal accuracy"
            f" ({mean['equal_accuracy_problems']} problems),"
            f" {bound}{mean['all']:.2f} over all {mean['problems']},"
            f" {number(mean['first'], '.2f')} in first fits of a process"
        )
    slower = comparison["slower_on"]
    behind = [f"{case['problem']} ({case['fastest']} x{case['factor']:.2f})" for case in slower]
    lines.append(f"{reference} slower than the fastest on: {', '.join(behind) or 'none'}")
    return lines


def table(head: list[str], rows: list[list[str]]) -> None:
    """Columns aligned, words to the left and figures to the right."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for cells in (head, *rows):
            pairs = list(zip(cells, widths, strict=True))
            middle = "  ".join(cell.rjust(width) for cell, width in pairs[1:-1])
            print(f"  {cells[0].ljust(widths[0])}  {middle}  {cells[-1]}".rstrip())
        return
    drawing = Table(box=None)
    for place, name in enumerate(head):
        drawing.add_column(name, justify="left" if place in (0, len(head) - 1) else "right")
    for cells in rows:
        drawing.add_row(*cells)
    Console().print(drawing)
