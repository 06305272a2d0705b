"""The missions as curves, engines on top of each other, and the crash from above; Razzanelli et al. 2019, Figs. 7-9."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.geometry import Box, Capsule
from hydromechs.recording import samples_of
from hydromechs.spatial import quaternion_matrix
from hydromechs.values import Array

from .mission_flights import OURS, Flight
from .mission_study import angles, tool_path

__all__ = ["draw_mission"]

ROV = "rov.vehicle"
SWINGS = (
    ("pitch rate", "rad/s", f"velocity.{ROV}.q"),
    ("pitch moment of the thrusters", "N·m", f"force_thrust.{ROV}.M"),
    ("depth of the end effector", "m", "tool"),
    ("shoulder torque", "N·m", "tau.rov.upper_arm"),
)
PANELS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "pick_and_release": (
        ("depth", "m", f"depth.{ROV}"),
        ("vertical force of the thrusters", "N", f"force_thrust.{ROV}.Z"),
        ("pitch", "°", "pitch"),
        ("pitch rate", "rad/s", f"velocity.{ROV}.q"),
        ("roll rate", "rad/s", f"velocity.{ROV}.p"),
    ),
    "fast_manipulation": SWINGS,
    "slow_manipulation": SWINGS,
    "crash": (
        ("surge", "m/s", f"velocity.{ROV}.u"),
        ("yaw rate", "rad/s", f"velocity.{ROV}.r"),
        ("roll", "°", "roll"),
        ("pitch", "°", "pitch"),
        ("heading", "°", "heading"),
    ),
    "turn_valve": (
        ("valve", "rad", "q.well.valve"),
        ("torque at the wrist, about x", "N·m", "signal.wrist.K"),
        ("torque at the wrist, about y", "N·m", "signal.wrist.M"),
        ("east", "m", f"position.{ROV}.y"),
    ),
    "hold_in_gusts": (
        ("north", "m", "position.vehicle.x"),
        ("east", "m", "position.vehicle.y"),
        ("depth", "m", "depth.vehicle"),
        ("heading", "°", "heading"),
    ),
}
"""Plots of each mission: title, unit and quantity; roll, pitch and heading of the vehicle, the depth of `rov.tool`."""
TIMES = (0.0, 3.0, 4.5, 6.0, 7.4, 8.5, 10.0, 12.0, 15.0, 20.0, 30.0, 60.0)
"""Times at which the top view shows the vehicle [s]."""


def draw_mission(flights: Sequence[Flight], out: Path) -> list[Path]:
    """Draw one mission.

    Args:
        flights: Its flights, one for each engine.
        out: Folder for the pictures.

    Returns:
        The files.
    """
    from hydromechs.viewer import figure

    name = flights[0].scenario.name
    panels, path = PANELS[name], out / f"mission_{name}.png"
    with figure(path, height=0.5 + 1.45 * len(panels)) as fig:
        axes = fig.subplots(len(panels), 1, sharex=True)
        for axis, (title, unit, quantity) in zip(axes, panels, strict=True):
            axis.set(title=title, ylabel=unit)
            for k, flight in enumerate(flights):
                y = _samples(flight, quantity)
                axis.plot(flight.recording["time"].values, y, label=flight.engine, linewidth=_width(k), linestyle=_dash(k))
        axes[0].legend(ncol=len(flights), loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
        axes[-1].set_xlabel("time, s")
    return [path, _top_view(flights, out / "mission_crash_top.png")] if name == "crash" else [path]


def _width(k: int) -> float:
    """Ours is a broad line under thin ones."""
    return 1.0 if k else 2.4


def _dash(k: int) -> Any:
    """Lines that lie on each other are seen all the same."""
    return ("-", "-", (0, (6, 2)), (0, (2, 2)))[min(k, 3)]


def _samples(flight: Flight, quantity: str) -> Array:
    if quantity in (named := ("roll", "pitch", "heading")):
        return angles(flight.recording, flight.scenario.model.body_names[0])[named.index(quantity)]
    if quantity == "tool":
        return tool_path(flight, "rov.tool")[:, 2]
    return samples_of(flight.recording, quantity)


def _top_view(flights: Sequence[Flight], out: Path) -> Path:
    """The vehicle from above at some instants: filled in our engine, the way of its centre and the end in the others."""
    from matplotlib.patches import Circle

    from hydromechs.viewer import figure

    ours = next(f for f in flights if f.engine == OURS)
    ends = [t for t in TIMES if t <= ours.duration]
    with figure(out, height=6.0) as fig:
        axis = fig.subplots()
        for k, t in enumerate(ends):
            outline, late = _outline(ours, t), k / max(len(ends) - 1, 1)
            axis.fill(*outline.T, color="C0", alpha=0.06 + 0.1 * late, linewidth=0)
            axis.plot(*_closed(outline), color="C0", alpha=0.3 + 0.6 * late, linewidth=1.0)
        for k, flight in enumerate(flights):
            way = flight.recording["position"].sel(body=ROV).values
            axis.plot(way[:, 0], way[:, 1], color=f"C{k}", label=flight.engine, linewidth=_width(k), linestyle=_dash(k))
            if k:
                axis.plot(*_closed(_outline(flight, flight.duration)), color=f"C{k}", linewidth=1.0, linestyle=_dash(k))
        for t in ends:
            white = dict(boxstyle="round,pad=0.15", facecolor="white", edgecolor="none", alpha=0.75)
            axis.annotate(f"{t:g} s", _outline(ours, t).mean(axis=0), fontsize=7.5, ha="center", va="center", bbox=white)
        for x, y, radius in _pillar(ours):
            axis.add_patch(Circle((x, y), radius, facecolor="#e68c26", edgecolor="none", zorder=3))
        axis.set(
            xlabel="north, m", ylabel="east, m", title="The crash from above: ours at some instants, the end in all engines"
        )
        axis.set_aspect("equal")
        axis.invert_yaxis()
        axis.legend(loc="lower left")
    return out


def _closed(outline: Array) -> Array:
    """North and east of a closed polygon, shape (2, 5)."""
    return np.vstack([outline, outline[:1]]).T


def _outline(flight: Flight, t: float) -> Array:
    """Corners of the vehicle's hull at one time, bow first, north and east [m], shape (4, 2)."""
    recording = flight.recording
    k = int(np.argmin(np.abs(recording["time"].values - t)))
    p, q = (recording[x].sel(body=ROV).values[k] for x in ("position", "orientation"))
    boxes = [(s.shape, s.origin) for s in flight.scenario.model.bodies[0].shapes if s.contact and isinstance(s.shape, Box)]
    hull, origin = max(boxes, key=lambda pair: pair[0].volume)
    length, width = 0.5 * hull.size[0], 0.5 * hull.size[1]
    corners = np.array([[length, -width], [length, width], [-length, width], [-length, -width]])
    local = np.column_stack([corners, np.zeros(4)]) + np.array(origin.xyz)
    return (p + local @ np.array(quaternion_matrix(q), dtype=float).T)[:, :2]


def _pillar(flight: Flight) -> list[tuple[float, float, float]]:
    """Discs that cover the pillar from above: north, east, radius [m]."""
    model = flight.scenario.model
    body = model.body_names.index("leg.pillar")
    capsule = next(s.shape for s in model.bodies[body].shapes if s.contact and isinstance(s.shape, Capsule))
    recording = flight.recording
    p, q = (recording[x].sel(body="leg.pillar").values[0] for x in ("position", "orientation"))
    axis = np.array(quaternion_matrix(q), dtype=float)[:, 2]
    places = [p + s * capsule.length * axis for s in np.linspace(-0.5, 0.5, 25)]
    return [(float(x[0]), float(x[1]), capsule.radius) for x in places]
