"""Do all engines fly the missions alike, and does every seed of sensors and gusts?"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from hydromechs.bench._machine import machine, versions
from hydromechs.recording import CheckResult, samples_of
from hydromechs.spatial import quaternion_matrix
from hydromechs.sweeps import MissionCampaign, run_campaign
from hydromechs.values import Array

from .mission_flights import OURS, Flight, Said, chosen_engines, chosen_missions, fly, mission, quiet

__all__ = ["measure_missions"]

LOST = 0.3
"""Error of the filter's position that is asked for, rms [m]."""


def angles(recording: xarray.Dataset, body: str) -> tuple[Array, Array, Array]:
    """Roll, pitch and heading of a body [deg], shape (time,) each; the heading continues past 180°.

    Args:
        recording: The recording.
        body: Name of the body.
    """
    w, x, y, z = recording["orientation"].sel(body=body).values.T
    heading = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    return np.degrees(roll), np.degrees(np.arcsin(2 * (w * y - z * x))), np.degrees(heading)


def navigation_error(recording: xarray.Dataset) -> float:
    """Distance of the position of the filter from the true one, while it runs, rms [m]."""
    off = np.stack([samples_of(recording, f"signal.navigation.error_{x}") for x in "xyz"])
    squares = np.sum(off * off, axis=0)
    return float(np.sqrt(np.mean(squares[np.isfinite(squares)])))


def tool_path(flight: Flight, frame: str) -> Array:
    """True position of the origin of a frame in the world [m], shape (time, 3).

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
    """Outcome of one flight, and its differences from ours."""
    body = flight.scenario.model.body_names[0]
    (_, pitch, heading), (_, our_pitch, our_heading) = (angles(f.recording, body) for f in (flight, ours))
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


def _seeds(name: str, seeds: int, duration: float | None, folder: Path, said: Said) -> dict[str, Any]:
    """One mission with other seeds as a campaign of our engine; worlds that are in the folder are not flown again."""
    scenario = mission(name, OURS, duration=duration)
    what, each = f"{name}, {seeds} seeds", scenario.duration
    errors = [f"signal.navigation.error_{x}" for x in "xyz"]
    plan = MissionCampaign(scenario=scenario, worlds=seeds, watch=errors)
    results = run_campaign(plan, folder / name, progress=lambda p: said(what, p.done * each, seeds * each))
    lost = int(results.dataset.failed.sum())
    failed = {c.name: c.rate.worlds - c.rate.count for c in results.checks if c.rate.count < c.rate.worlds}
    rms = np.linalg.norm(results.dataset.rms.sel(quantity=errors).values, axis=1)
    return dict(
        mission=name,
        seeds=seeds,
        passed=results.success.count,
        failed=failed | ({"it ends": lost} if lost else {}),
        navigation_mean=_number(float(rms.mean())),
        navigation_worst=_number(float(rms.max())),
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
        out: Folder for pictures and the campaigns of the seeds, which is made; optional.
        said: Told how far it is.
    """
    from .mission_pictures import draw_mission

    used, names, where = chosen_engines(engines), chosen_missions(missions), machine()
    rows: list[dict[str, Any]] = []
    pictures: list[str] = []
    drawn = _all_seeds(names, seeds, duration, out, said) if seeds else []  # first: another study's folder is rejected at once
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
    """All missions with other seeds; a campaign that was killed is resumed if there is a folder."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if out is None else out / "campaigns"
        return [_seeds(name, seeds, duration, folder, said) for name in names]


def passed(row: Mapping[str, Any]) -> bool:
    """True if a flight passed all its checks and knew where it was."""
    return row["passed"] == len(row["checks"]) and row["navigation_rms"] < LOST
