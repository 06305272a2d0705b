"""Do all engines fly the missions alike, and does every seed of sensors and gusts?"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from hydromechs.bench._machine import machine, versions
from hydromechs.recording import CheckResult, samples_of
from hydromechs.scenario import Scenario
from hydromechs.spatial import quaternion_matrix
from hydromechs.sweeps import Choices, Grid, Local, ParameterSweep, Progress, Result, Serial, run_sweep
from hydromechs.values import Array

from .mission_flights import OURS, Flight, Said, chosen_engines, chosen_missions, fly, mission, quiet

__all__ = ["measure_missions"]

LOST = 0.3
"""Error of the filter's position that is asked for, rms [m]."""


def angles(recording: xarray.Dataset, body: str) -> tuple[Array, Array]:
    """Pitch and heading of a body [deg], shape (time,) each; the heading goes on past 180°.

    Args:
        recording: The recording.
        body: Name of the body.
    """
    w, x, y, z = recording["orientation"].sel(body=body).values.T
    heading = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    return np.degrees(np.arcsin(2 * (w * y - z * x))), np.degrees(heading)


def navigation_error(recording: xarray.Dataset) -> float:
    """Distance of the position of the filter from the true one, while it runs, rms [m]."""
    off = np.stack([samples_of(recording, f"signal.navigation.error_{x}") for x in "xyz"])
    squares = np.sum(off * off, axis=0)
    return float(np.sqrt(np.mean(squares[np.isfinite(squares)])))


def tool_path(flight: Flight, frame: str) -> Array:
    """Where the origin of a frame truly is in the world [m], shape (time, 3).

    Args:
        flight: The flight.
        frame: Name of the frame.
    """
    model, recording = flight.scenario.model, flight.recording
    at, found = model.frames[frame]
    places, turns = (recording[x].sel(body=model.body_names[at]).values for x in ("position", "orientation"))
    return np.array([p + quaternion_matrix(q) @ np.array(found.origin.xyz) for p, q in zip(places, turns, strict=True)])


def tool_error(flight: Flight) -> float | None:
    """Distance of the tool from its reference, as it truly is, in the time that a check of its error looks at, rms [m].

    The check itself sees what the controller knows. None where no check asks for it, or the run ended before.
    """
    head = "signal.error."
    for check in flight.scenario.checks:
        if check.quantity.startswith(head):
            frame = check.quantity.removeprefix(head).rpartition(".")[0]
            time = flight.recording["time"].values
            chosen = (time >= check.after) & (time < (math.inf if check.before is None else check.before))
            wanted = [samples_of(flight.recording, f"signal.reference.{frame}.{x}") for x in "xyz"]
            off = (tool_path(flight, frame) - np.stack(wanted, axis=1))[chosen]
            return float(np.sqrt(np.mean(np.sum(off * off, axis=1)))) if chosen.any() else None
    return None


def judged(flight: Flight) -> list[CheckResult]:
    """The checks of a flight."""
    return [check.judge(flight.recording) for check in flight.scenario.checks]


def _row(flight: Flight, ours: Flight) -> dict[str, Any]:
    """What one flight came to, and how it differs from ours."""
    body = flight.scenario.model.body_names[0]
    (pitch, heading), (our_pitch, our_heading) = (angles(f.recording, body) for f in (flight, ours))
    force, our_force = (samples_of(f.recording, f"force_thrust.{body}.Z") for f in (flight, ours))
    checks = judged(flight)
    return {
        "mission": flight.scenario.name,
        "engine": flight.engine,
        "checks": [dict(name=c.name, passed=c.passed, value=_number(c.value), limit=c.limit) for c in checks],
        "passed": sum(c.passed for c in checks),
        "force_rms": _rms(force - our_force),
        "pitch_rms": _rms(pitch - our_pitch),
        "heading": float(heading[-1]),
        "heading_off": float(heading[-1] - our_heading[-1]),
        "navigation_rms": navigation_error(flight.recording),
        "tool_rms": tool_error(flight),
        "real_time_factor": flight.duration / flight.processor_time,
    }


def _number(x: float) -> float | None:
    """None where there is no number: the run ended before."""
    return x if math.isfinite(x) else None


def _rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x * x)))


@dataclass(frozen=True, kw_only=True)
class NavigationError(Result):
    """Error of the filter's position over a run, rms [m]."""

    quantity: str = "signal.navigation.error_x"

    def of(self, recording: xarray.Dataset) -> float:
        """See `Result.of`."""
        return navigation_error(recording)


def seeds_sweep(scenario: Scenario, seeds: int) -> ParameterSweep:
    """A mission with other seeds of sensors, gusts and waves.

    Args:
        scenario: The mission.
        seeds: How many.
    """
    return ParameterSweep(
        name=f"{scenario.name}_{seeds}_seeds",
        title=f"{scenario.name} with other seeds of sensors, gusts and waves",
        scenario=scenario,
        parameters=(Choices(name="drawn", path="seed", values=tuple(range(1000, 1000 + seeds))),),
        sampling=Grid(),
        results=(NavigationError(name="navigation"),),
    )


def _seeds(name: str, seeds: int, duration: float | None, folder: Path, said: Said) -> dict[str, Any]:
    """One mission with other seeds, in our engine, on all cores; runs that are in the folder are not run again."""
    sweep = seeds_sweep(mission(name, OURS, duration=duration), seeds)
    what, each = f"{name}, {seeds} seeds", sweep.scenario.duration
    engine = Serial() if seeds == 1 else Local(min(seeds, os.cpu_count() or 1))

    def told(progress: Progress) -> None:
        said(what, progress.done * each, seeds * each)

    found = run_sweep(sweep, folder / sweep.name, engine=engine, progress=told).dataset
    lost, passed = (found.status != 1).values, found.passed.values
    failed = {str(check): int(n) for check, n in zip(found.check.values, (~passed[~lost]).sum(axis=0), strict=True) if n}
    failed |= {"it ends": int(lost.sum())} if lost.any() else {}
    errors = found.navigation.values[~lost]
    return dict(
        mission=name,
        seeds=seeds,
        passed=int(passed.all(axis=1).sum()),
        failed=failed,
        navigation_mean=float(np.mean(errors)) if errors.size else None,
        navigation_worst=float(errors.max()) if errors.size else None,
    )


def measure_missions(
    missions: Iterable[str] = (),
    engines: Iterable[str] = (),
    *,
    seeds: int = 0,
    duration: float | None = None,
    out: Path | None = None,
    said: Said = quiet,
) -> dict[str, Any]:
    """Fly the missions in all engines and compare with ours; as plain data.

    Args:
        missions: Names of missions; defaults to all.
        engines: Names of engines; defaults to ours and all that are installed.
        seeds: How many other seeds to fly in our engine.
        duration: Simulated part of each mission [s]; defaults to all.
        out: Folder for pictures and the sweeps of the seeds, which is made; optional.
        said: Told how far it is.
    """
    from .mission_pictures import draw_mission

    used, names, where = chosen_engines(engines), chosen_missions(missions), machine()
    rows: list[dict[str, Any]] = []
    pictures: list[str] = []
    drawn = _all_seeds(names, seeds, duration, out, said) if seeds else []  # first: a folder of others is refused at once
    for name in names:
        flights: dict[str, Flight] = {}
        for engine in used:
            flights[engine] = fly(name, engine, said=said, duration=duration)
            rows.append(_row(flights[engine], flights[OURS]))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            pictures += [path.name for path in draw_mission(list(flights.values()), out)]
    where["load_after"] = machine()["load"]
    return {
        "machine": where,
        "versions": versions(),
        "engines": used,
        "flights": rows,
        "seeds": drawn,
        "pictures": pictures,
        "passed": all(passed(row) for row in rows),
    }


def _all_seeds(names: list[str], seeds: int, duration: float | None, out: Path | None, said: Said) -> list[dict[str, Any]]:
    """All missions with other seeds; a sweep that was killed is resumed if there is a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if out is None else out / "sweeps"
        return [_seeds(name, seeds, duration, folder, said) for name in names]


def passed(row: Mapping[str, Any]) -> bool:
    """Whether a flight passed all its checks and knew where it was."""
    return row["passed"] == len(row["checks"]) and row["navigation_rms"] < LOST
