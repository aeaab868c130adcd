"""From the times of `benchmarks.small` to figures and their table."""

from __future__ import annotations

from statistics import median

from .machine import DISTURBED
from .objective import SLACK
from .report import number, table
from .summary import Entry, finite, geometric_mean

OURS, SKLEARN, INTELEX = CONTENDERS = "adatron", "scikit-learn", "intelex"
PEERS = (SKLEARN, INTELEX)
FEWEST_ROWS = 500  # of the points that means are over
TOL = 1e-3  # every estimator's default
NOTES = f"""medians in milliseconds; / name: that contender's time divided by adatron's
KKT: largest violation of {OURS}, {SKLEARN}, {INTELEX};  agree: least share of rows predicted as by {SKLEARN}
! KKT violation over {SLACK} tol, so not equal accuracy;  ~ other processes kept more than a tenth of a core busy"""


def figures(
    seconds: list[float], violation: float | None = None, agreement: float | None = None, failed: str | None = None
) -> Entry:
    """One contender's figures at one point."""
    return {
        "seconds": median(seconds) if seconds else None,
        "least_seconds": min(seconds, default=None),
        "calls": len(seconds),
        "kkt_violation": None if violation is None else finite(violation),
        "accurate": None if violation is None else bool(violation <= SLACK * TOL),
        "agreement": agreement,
        "failed": failed,
    }


def entry(
    name: str, kind: str, shape: tuple[int, int], classes: int, contenders: dict[str, Entry], disturbance: float
) -> Entry:
    """One point, with each contender's time divided by ours."""
    ours = contenders[OURS]["seconds"]
    for found in contenders.values():
        found["ratio"] = found["seconds"] / ours if found["seconds"] and ours else None
    size = {"rows": shape[0], "features": shape[1], "classes": classes}
    ordered = {contender: contenders[contender] for contender in CONTENDERS}
    return {"name": name, "kind": kind} | size | {"disturbance": disturbance, "contenders": ordered}


def compare(entries: list[Entry]) -> Entry:
    """For each peer: mean ratios of each kind and of all from `FEWEST_ROWS` rows on, and where ours is slower."""
    comparison: Entry = {}
    for peer in PEERS:
        known = [(e, e["contenders"][peer]["ratio"]) for e in entries if e["contenders"][peer]["ratio"]]
        large = [(e["kind"], ratio) for e, ratio in known if e["rows"] >= FEWEST_ROWS]
        ratios: dict[str, list[float]] = {"all": [ratio for _, ratio in large]}
        for kind, ratio in large:
            ratios.setdefault(kind, []).append(ratio)
        ordered = sorted(known, key=lambda pair: pair[1])
        comparison[peer] = {
            "points": len(known),
            "points_of_large": len(large),
            "means": {kind: geometric_mean(found) for kind, found in ratios.items()},
            "slower_on": {e["name"]: ratio for e, ratio in ordered if ratio < 1},
            "slower_on_large": sum(ratio < 1 for _, ratio in large),
            "worst": [ordered[0][0]["name"], ordered[0][1]] if ordered else None,
        }
    return comparison


def show(run: Entry) -> None:
    """Print the table, then the means."""
    head = ["point", "rows x features, classes", *CONTENDERS, *(f"/ {peer}" for peer in PEERS), "KKT", "agree", ""]
    table(head, [row(e) for e in run["points"]])
    print(f"\n{NOTES}")
    for peer, found in run["comparison"].items():
        if not found["points"]:
            continue
        means = ", ".join(f"{kind} {number(mean, '.2f')}" for kind, mean in found["means"].items())
        point, ratio = found["worst"]
        print(
            f"\n{peer} / {OURS}, geometric mean over {found['points_of_large']} points of at least {FEWEST_ROWS} rows:"
            f" {means}\n{OURS} slower at {len(found['slower_on'])} of {found['points']} points,"
            f" {found['slower_on_large']} of them of at least {FEWEST_ROWS} rows; worst ratio {ratio:.2f}, {point}"
        )


def row(e: Entry) -> list[str]:
    """One point as text."""
    found = list(e["contenders"].values())
    disturbed = "~" if e["disturbance"] > DISTURBED else ""
    size = f"{e['rows']:,} x {e['features']:,}" + (f", {e['classes']}" if e["classes"] else "")
    agreements = [c["agreement"] for c in found if c["agreement"] is not None]
    return [
        e["name"],
        size,
        *(number(c["seconds"] and 1e3 * c["seconds"], ",.3f") for c in found),
        *(number(e["contenders"][peer]["ratio"], ".2f") for peer in PEERS),
        " ".join(number(c["kkt_violation"], ".0e") + ("!" if c["accurate"] is False else "") for c in found),
        number(min(agreements, default=None), ".4f"),
        disturbed + " ".join(f"{name} {c['failed']}" for name, c in e["contenders"].items() if c["failed"]),
    ]
