"""`hydromechs papers`: the papers' tables, theirs beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._blocks import BENCHMARK, arms, measure_blocks, papers_runners, time_to
from ._count import compare_with_papers
from ._machine import machine, versions

TABLE_5 = {1: (0.117, 1.000), 2: (0.152, 0.770), 4: (0.241, 0.485)}
"""Thesis Table 5: block size to (time to 1e-6 m on one processor of a Cray Y-MP [s], slowdown)."""
TABLE_6 = {1: (3.10, "4 chains"), 2: (2.63, "2 chains × 2 points"), 4: (1.83, "4 points")}
"""Thesis Table 6: block size to (best speedup S_T over the serial B1PC5, what the four processors share)."""
SERIAL = {1: "B1PC5", 2: "B2PC5, one point after another", 4: "B4PC5, one point after another"}
LANES = {1: "B1PC5, arms on lanes", 2: "B2PC5, points on lanes", 4: "B4PC5, points on lanes"}


def measure_papers(*, quick: bool = False, report: Callable[[str], object] = lambda line: None) -> dict[str, Any]:
    """All that the command prints, as plain data; if quick, with few repeats and rough times.

    `report` is called with a line for each method.
    """
    where = machine()
    counts = [{**c._asdict(), "ratio": c.ratio} for c in compare_with_papers()]
    results = measure_blocks(papers_runners(arms()), report, repeat=30 if quick else 300)
    times = {name: time_to(rows, BENCHMARK) for name, rows in results.items()}
    where["load_after"] = machine()["load"]
    return {"machine": where, "versions": versions(), "counts": counts, **block_tables(times)}


def block_tables(times: Mapping[str, float]) -> dict[str, Any]:
    """Thesis Tables 5 and 6 beside ours, from the time of each method to `BENCHMARK` [s]."""
    return {
        "benchmark_error": BENCHMARK,
        "times_ms": {name: 1e3 * t for name, t in times.items()},
        "table_5": [
            {
                "method": f"B{p}PC5",
                "theirs_s": seconds,
                "theirs_slowdown": slowdown,
                "ours_ms": 1e3 * times[SERIAL[p]],
                "ours_slowdown": times[SERIAL[1]] / times[SERIAL[p]],
            }
            for p, (seconds, slowdown) in TABLE_5.items()
        ],
        "table_6": [
            {
                "method": f"B{p}PC5",
                "theirs_what": what,
                "theirs": speedup,
                "ours_what": "4 chains" if p == 1 else f"{p} points",
                "ours": times[SERIAL[1]] / times[LANES[p]],
            }
            for p, (speedup, what) in TABLE_6.items()
        ],
    }
