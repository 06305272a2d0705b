"""`hydromechs papers`: the papers' tables, theirs beside ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from ._bench import machine, table_of, versions
from ._block_study import BENCHMARK, arms, draw, lane_ratio, measure, time_to
from ._count import compare_with_papers

__all__ = ["measure_papers", "print_papers_tables"]

TABLE_5 = {1: (0.117, 1.000), 2: (0.152, 0.770), 4: (0.241, 0.485)}
"""Thesis Table 5: block size to (time to 1e-6 m on one processor of a Cray Y-MP [s], slowdown)."""
TABLE_6 = {1: 3.10, 2: 2.63, 4: 1.83}
"""Thesis Table 6: best speedup over the serial B1PC5 on four processors, by block size (1: chains in parallel)."""
SERIAL = {1: "B1PC5", 2: "B2PC5, one point after another", 4: "B4PC5, one point after another"}
LANES = {1: "B1PC5, arms on lanes", 2: "B2PC5, points on lanes", 4: "B4PC5, points on lanes"}


def measure_papers(*, quick: bool = False, picture: str = "", tell=lambda text: None) -> dict:
    """All that the command prints, as plain data.

    Args:
        quick: Few repeats: times are rough.
        picture: File for the plot of error against time; none if empty.
        tell: Called with a line now and then.
    """
    where = machine()
    counts = [{**c._asdict(), "ratio": c.ratio} for c in compare_with_papers()]
    model = arms()
    results = measure(model, tell, repeat=30 if quick else 300)
    if picture:
        draw(results, Path(picture))
    times = {name: time_to(rows, BENCHMARK) for name, rows in results.items()}
    serial = {name: t for name, t in times.items() if "lanes" not in name}
    best = min(serial, key=serial.get)
    where["load_after"] = machine()["load"]
    return {
        "machine": where,
        "versions": versions(),
        "counts": counts,
        "benchmark_error": BENCHMARK,
        "times_ms": {name: 1e3 * t for name, t in times.items()},
        "slowdown": {p: times[SERIAL[1]] / times[SERIAL[p]] for p in SERIAL},
        "speedup": {p: times[SERIAL[1]] / times[LANES[p]] for p in LANES},
        "best_serial": best,
        "speedup_over_best_serial": {name: serial[best] / t for name, t in times.items() if "lanes" in name},
        "four_points_over_one": lane_ratio(model, 4, 300 if quick else 3000),
        "orders": {name: _order(rows) for name, rows in results.items()},
    }


def _order(rows: np.ndarray) -> float:
    """Order of convergence between the finest runs above rounding."""
    good = rows[(rows[:, 1] < 1e-3) & (rows[:, 1] > 1e-11)]
    return float(np.polyfit(np.log(good[:, 0]), -np.log(good[:, 1]), 1)[0]) if len(good) > 1 else float("nan")


def print_papers_tables(report: dict, console: Console) -> None:
    """Print a report of `measure_papers`.

    Args:
        report: The report.
        console: Where to print.
    """
    from ._count import Comparison, print_papers

    counts = [
        Comparison(*(tuple(c[k]) if isinstance(c[k], list) else c[k] for k in Comparison._fields)) for c in report["counts"]
    ]
    print_papers(counts, console)
    console.print(
        Text(
            f"\nTime to an error of {report['benchmark_error']:g}, four arms of six joints on a free body, on one core", "bold"
        )
    )
    table = table_of(
        "Table 5: block size, points one after another", ">theirs, s", ">theirs, slowdown", ">ours, ms", ">ours, slowdown"
    )
    for p, (seconds, slowdown) in TABLE_5.items():
        ours = report["times_ms"][SERIAL[p]]
        table.add_row(f"B{p}PC5", f"{seconds:.3f}", f"{slowdown:.3f}", f"{ours:.3f}", f"{report['slowdown'][p]:.3f}")
    console.print(table)
    table = table_of("Table 6: over the serial B1PC5", ">theirs, 4 processors", ">ours, lanes of one core")
    for p, theirs in TABLE_6.items():
        what = f"B{p}PC5, " + ("chains side by side" if p == 1 else "points side by side")
        table.add_row(what, f"{theirs:.2f}", f"{report['speedup'][p]:.2f}")
    console.print(table)
    console.print(Text(f"Four points on lanes take {report['four_points_over_one']:.2f} times as long as one."))
    best = report["best_serial"]
    console.print(Text(f"\nThe best serial method is {best}, {report['times_ms'][best]:.3f} ms. On lanes, over that:"))
    for name, gain in sorted(report["speedup_over_best_serial"].items(), key=lambda pair: -pair[1]):
        console.print(Text(f"  {name:34s} {gain:5.2f}   (order {report['orders'][name]:.1f})"))
