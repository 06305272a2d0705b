"""Times of a whole simulation on this machine: a scenario with its controller and its recording."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.text import Text

from hydromechs.bench._machine import machine, report
from hydromechs.cli._console import Console
from hydromechs.cli._tables import print_heading
from hydromechs.library import load_scenario

__all__ = ["measure_simulation", "print_simulation"]

SCENARIO = "station_keeping"


def measure_simulation(*, quick: bool = False) -> dict[str, Any]:
    """Time the shipped scenario `station_keeping` as `hydromechs run` does it, recording to disk."""
    start, scenario = machine(), load_scenario(SCENARIO)
    duration = 5.0 if quick else scenario.duration
    begin = time.perf_counter()
    sim = scenario.simulation()
    sim.compile()
    compiled = time.perf_counter() - begin
    first, runs = sim.state, []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(2 if quick else 5):
            sim.reset(first)
            runs.append(sim.run(duration, path=Path(folder) / f"{k}.zarr"))
    best = max(runs, key=lambda r: r.real_time_factor)
    found = {
        "name": SCENARIO,
        "duration": duration,
        "wall_time": best.wall_time,
        "real_time_factor": best.real_time_factor,
        "median_factor": statistics.median(r.real_time_factor for r in runs),
        "compile_time": compiled,
    }
    return report(start, quick=quick, scenario=found)


def print_simulation(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_simulation`."""
    print_heading(report, console)
    s = report["scenario"]
    console.print(
        Text(
            f"{s['name']}: {s['duration']:g} s in {s['wall_time']:.3f} s with its recording: {s['real_time_factor']:.0f} x "
            f"real time (median {s['median_factor']:.0f}); set up and compiled in {s['compile_time']:.2f} s"
        )
    )
