"""Flights of the library's missions in our engine and in those of others, with sensors, filter and control on."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

import xarray

from hydromechs.hybrid import ENGINES, Hybrid
from hydromechs.library import load_scenario
from hydromechs.scenario import Scenario
from hydromechs.values import nearest

__all__ = ["MISSIONS", "OURS", "Flight", "Said", "chosen_engines", "chosen_missions", "fly", "mission", "quiet"]

OURS = "hydromechs"
"""Name of our engine."""
MISSIONS = ("pick_and_release", "fast_manipulation", "slow_manipulation", "crash", "turn_valve", "hold_in_gusts")
"""Scenarios of the library that are missions."""

Said = Callable[[str, float, float], None]
"""Told now and then: what is flown, the time reached and the duration [s]."""


class Flight(NamedTuple):
    """One run of a mission."""

    scenario: Scenario
    """Flown mission."""
    engine: str
    """In which engine."""
    recording: xarray.Dataset
    """Recording."""
    compile_time: float
    """Time to get ready, with what is in the cache [s]."""
    wall_time: float
    """Time of the run by the clock [s]."""
    processor_time: float
    """Time of the run by the processor [s]."""

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return self.scenario.duration


def chosen_missions(names: Iterable[str]) -> list[str]:
    """Missions by name; all if there are no names.

    Args:
        names: Names of missions.
    """
    out = list(names) or list(MISSIONS)
    for name in out:
        if name not in MISSIONS:
            raise ValueError(f"no mission {name!r}{nearest(name, MISSIONS)}")
    return out


def chosen_engines(names: Iterable[str]) -> list[str]:
    """Engines by name, ours first; ours and all that are installed if there are no names.

    Args:
        names: Names of engines.
    """
    wanted = list(names)
    if not wanted:
        wanted = [name for name, engine in ENGINES.items() if importlib.util.find_spec(engine.module)]
    for name in wanted:
        if name != OURS:
            Hybrid(engine=name)  # raises where there is no such engine
            ENGINES[name]().library()
    return [OURS, *(name for name in dict.fromkeys(wanted) if name != OURS)]


def mission(name: str, engine: str, *, duration: float | None = None) -> Scenario:
    """A mission in an engine.

    Args:
        name: Its name in the library.
        engine: Name of the engine.
        duration: Simulated part of it [s]; defaults to all.
    """
    scenario = load_scenario(name)
    return replace(
        scenario,
        engine=None if engine == OURS else Hybrid(engine=engine),
        duration=scenario.duration if duration is None else min(duration, scenario.duration),
    )


def fly(name: str, engine: str, *, said: Said, duration: float | None = None, rounds: int = 1) -> Flight:
    """Fly a mission; the times are those of its fastest round.

    Args:
        name: Name of the mission.
        engine: Name of the engine.
        said: Told how far it is.
        duration: Simulated part of it [s]; defaults to all.
        rounds: How often it is flown.
    """
    scenario, what = mission(name, engine, duration=duration), f"{name} in {engine}"
    said(what, 0.0, scenario.duration)
    start = time.perf_counter()
    sim = scenario.simulation()
    sim.compile()
    compiled, first = time.perf_counter() - start, sim.state
    walls, processors = [], []
    for _ in range(rounds):
        sim.reset(first)
        wall, processor = time.perf_counter(), time.process_time()
        recording = sim.run(scenario.duration, progress=lambda t: said(what, t, scenario.duration)).recording
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return Flight(scenario, engine, recording.load(), compiled, min(walls), min(processors))


def quiet(what: str, t: float, duration: float) -> None:
    """Silent progress."""
