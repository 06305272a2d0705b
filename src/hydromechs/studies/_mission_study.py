"""Do all engines fly the missions alike, and does every seed of sensors and gusts?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from hydromechs.recording import CheckResult, samples_of
from hydromechs.spatial import quaternion_matrix
from hydromechs.values import Array

from ._machine import machine, versions
from ._mission_flights import OURS, Flight, Said, chosen_engines, chosen_missions, fly, quiet

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


def _seeds(name: str, seeds: int, duration: float | None, said: Said) -> dict[str, Any]:
    """One mission with other seeds of sensors, gusts and waves, in our engine."""
    failed: dict[str, int] = {}
    errors, good = [], 0
    for seed in range(seeds):
        flight = fly(name, OURS, said=said, seed=1000 + seed, duration=duration)
        bad = [c.name for c in judged(flight) if not c.passed]
        good += not bad
        for check in bad:
            failed[check] = failed.get(check, 0) + 1
        errors.append(navigation_error(flight.recording))
    worst = max(errors, default=None)
    mean = float(np.mean(errors)) if errors else None
    return dict(mission=name, seeds=seeds, passed=good, failed=failed, navigation_mean=mean, navigation_worst=worst)


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
        missions: Names of missions; all unless given.
        engines: Names of engines; ours and all that are installed unless given.
        seeds: How many other seeds to fly in our engine.
        duration: How much of each mission [s]; all unless given.
        out: Folder for pictures, which is made; none unless given.
        said: Told how far it is.
    """
    from ._mission_pictures import draw_mission

    used, names, where = chosen_engines(engines), chosen_missions(missions), machine()
    rows: list[dict[str, Any]] = []
    pictures: list[str] = []
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
        "seeds": [_seeds(name, seeds, duration, said) for name in names] if seeds else [],
        "pictures": pictures,
        "passed": all(passed(row) for row in rows),
    }


def passed(row: Mapping[str, Any]) -> bool:
    """Whether a flight passed all its checks and knew where it was."""
    return row["passed"] == len(row["checks"]) and row["navigation_rms"] < LOST
