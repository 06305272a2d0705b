"""Speed of the missions in each engine, with sensors, filter and control on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hydromechs.bench._machine import machine, versions

from .goals import target
from .mission_flights import OURS, Said, chosen_engines, chosen_missions, fly, quiet

__all__ = ["measure_mission_speed"]

NEEDED = 20.0
"""Times real time that is asked of our engine."""


def measure_mission_speed(
    missions: Iterable[str] = (), engines: Iterable[str] = (), *, duration: float | None = None, said: Said = quiet
) -> dict[str, Any]:
    """Time the missions, ours three times and the others once, in memory.

    Real time over processor time is what an idle machine reaches by the clock: a run is one thread.

    Args:
        missions: Names of missions; defaults to all.
        engines: Names of engines; defaults to ours and all that are installed.
        duration: Simulated part of each mission [s]; defaults to all.
        said: Told how far it is.
    """
    where = machine()
    rows: list[dict[str, Any]] = []
    used = chosen_engines(engines)
    for name in chosen_missions(missions):
        for engine in used:
            flight = fly(name, engine, said=said, duration=duration, rounds=3 if engine == OURS else 1)
            rows.append(
                {
                    "mission": name,
                    "engine": engine,
                    "duration_s": flight.duration,
                    "compile_s": flight.compile_time,
                    "wall_s": flight.wall_time,
                    "processor_s": flight.processor_time,
                    "real_time_factor": flight.duration / flight.wall_time,
                    "processor_factor": flight.duration / flight.processor_time,
                }
            )
    where["load_after"] = machine()["load"]
    return {
        "machine": where,
        "versions": versions(),
        "quick": duration is not None,
        "engines": used,
        "flights": rows,
        "targets": [
            target(f"{row['mission']} in our engine, real time over processor time", f"≥ {NEEDED:g}", row["processor_factor"])
            for row in rows
            if row["engine"] == OURS
        ],
    }
