"""Data of a running scenario for pages: numbers for the head-up display, poses for the scene."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hydromechs import contact, lines
from hydromechs.actuation.drives import Drive
from hydromechs.dynamics import kinematics
from hydromechs.model import Model, State
from hydromechs.simulation import Simulation
from hydromechs.spatial import quaternion_matrix, rpy_from_matrix

from ._pilot import Pilot


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Snapshot of a running scenario."""

    t: float
    """Time [s]."""
    number: int
    run: int
    """Number of the run, which changes after a reset."""
    position: np.ndarray
    """Positions of all bodies [m], shape (nb, 3)."""
    wxyz: np.ndarray
    """Orientations of all bodies as quaternions (w, x, y, z), shape (nb, 4)."""
    force: np.ndarray
    """Actuator forces [N, N·m], shape (na,)."""
    flow: np.ndarray
    """Water velocity at the vehicle, in world axes [m/s], shape (3,)."""
    tethers: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Points of tethers from the vehicle upwards, in world axes [m], shape (n, 3), keyed by name."""
    tools: tuple[tuple[float, ...], ...] = ()
    """Tool positions in world axes [m], shape (arms, 3)."""
    hud: Mapping[str, Any] = field(default_factory=dict)
    """Numbers for the head-up display, as plain data."""
    ghost: Snapshot | None = None
    """Prediction of the vehicle at the time when a command sent now arrives; None without a link."""


class Display:
    """Converter from the present state of a simulation to data for pages."""

    def __init__(self, simulation: Simulation, pilot: Pilot, terrain: Iterable[contact.Terrain]) -> None:
        self.simulation, self.pilot, self.model = simulation, pilot, simulation.model
        parts, actuators = simulation.plant.components, simulation.actuators
        self._vehicle, vehicle = pilot.vehicle, pilot.vehicle.body
        self._thrusters = [
            (t.name, actuators.index(t.name), max(map(abs, t.curve.limits)), thruster_plan(self.model, vehicle, t.frame))
            for t in self._vehicle.thrusters
        ]
        """Name, index, maximum thrust [N], position and direction of each thruster."""
        self._joints = [
            (c.joint, actuators.index(c.joint), float(getattr(c, "limit", np.inf)))
            for c in parts
            if isinstance(c, Drive) and c.joint in actuators
        ]
        self._terrain = tuple(terrain)
        self._tethers = {
            c.name: (c, len(c.entries(self.model))) for c in parts if isinstance(c, lines.Tether | lines.HangingLine)
        }
        self._grips = [c.name for c in parts if isinstance(c, contact.Holding)]
        self._down = np.array(self.model.world.down, dtype=float)

    def snapshot(self, number: int, run: int) -> Snapshot:
        """Return a snapshot of the present state."""
        sim, i = self.simulation, self._vehicle.body
        seen = sim.observe()
        state = sim.state
        position, wxyz, force = seen["position"], seen["orientation"], seen["actuator_force"]
        R = np.array(quaternion_matrix(wxyz[i]), dtype=float)
        V, flow = seen["velocity"][i], seen["fluid_velocity"][i]
        facing = R if self._down[2] > 0.0 else np.diag([1.0, -1.0, -1.0]) @ R @ np.diag([1.0, -1.0, -1.0])
        roll, pitch, heading = (float(x) for x in rpy_from_matrix(facing))
        saturated = seen["saturated"] if "saturated" in seen else np.zeros(len(force), bool)
        tools = tuple(tuple(arm.place(state.q).tolist()) for arm in self.pilot.arms)
        hud = {
            "depth": float(position[i] @ self._down),
            "altitude": self._altitude(position[i]),
            "heading": float(np.degrees(heading * self._down[2])) % 360.0,  # from x towards y, as in all headings
            "pitch": float(np.degrees(pitch)),
            "roll": float(np.degrees(roll)),
            "speed": float(np.linalg.norm(V[:3])),
            "velocity": np.round(V, 4).tolist(),
            "position": np.round(position[i], 4).tolist(),
            "current": np.round(flow, 3).tolist(),
            "thrusters": [
                [n, round(float(force[k]) / most, 3), bool(saturated[k]), *place] for n, k, most, place in self._thrusters
            ],
            "joints": [
                [n, round(float(force[k]), 2), round(float(force[k]) / most, 3), bool(saturated[k])]
                for n, k, most in self._joints
            ],
            "tethers": self._tether_rows(state, seen),
            "grips": [[name, closed > 0.0] for name, closed in self._switches(state.held)],
            "tools": [[arm.frame, *np.round(p, 3).tolist()] for arm, p in zip(self.pilot.arms, tools, strict=True)],
        }
        return Snapshot(
            number=number,
            t=state.t,
            run=run,
            position=position,
            wxyz=wxyz,
            force=force,
            flow=flow,
            tethers={name: seen["line_position"][rows] for name, rows in self._rows()},
            tools=tools,
            hud=hud,
        )

    def _rows(self) -> Iterator[tuple[str, slice]]:
        """Yield the name of each tether, and the slice of its points among all line points."""
        start = 0
        for name, (_, points) in self._tethers.items():
            if points:
                yield name, slice(start, start + points)
            start += points

    def _tether_rows(self, state: State, seen: Mapping[str, Any]) -> list[list[Any]]:
        """Return the name, paid-out length [m], winch rate [m/s] (None without winch), maximum tension [N] of each tether."""
        names = self.simulation.plant.layout.states
        out = []
        for name, rows in self._rows():
            length, rate = float(self._tethers[name][0].length), None
            if f"{name}.length" in names:
                length = float(state.internal[names.index(f"{name}.length")])
                rate = round(float(state.internal[names.index(f"{name}.winch_rate")]), 3)
            out.append([name, round(length, 2), rate, round(float(np.max(seen["line_tension"][rows])), 1)])
        return out

    def _altitude(self, p: np.ndarray) -> float | None:
        """Return the height above the ground [m], or None if there is no ground below."""
        heights = [float(thing.ray(p, self._down, self._down)) for thing in self._terrain]
        lowest = min(heights, default=np.inf)
        return lowest if np.isfinite(lowest) else None

    def _switches(self, held: np.ndarray) -> list[tuple[str, float]]:
        names = self.simulation.plant.layout.held
        return [(g, float(held[names.index(f"{g}.closed")])) for g in self._grips if f"{g}.closed" in names]


def thruster_plan(model: Model, vehicle: int, frame: str) -> list[float]:
    """Return the position (forward, starboard) [m] and direction (forward, starboard, up) of a thruster frame on a vehicle.

    The result is empty if the frame moves relative to the body with index `vehicle`. In robot files, each thruster has a link
    of its own.
    """
    body, place, axes = model.locate(frame)
    x, along = np.asarray(place, dtype=float), np.asarray(axes, dtype=float)[:, 0]
    root = body
    while root != vehicle:
        if root < 0 or model.bodies[root].joint.nv:
            return []
        root = model.parent[root]
    if body != vehicle:
        at = kinematics(model, model.initial().q, np.zeros(model.nv))
        R, R_v = (np.asarray(at.R_WB[k], dtype=float) for k in (body, vehicle))
        x, along = R_v.T @ (R @ x + at.p_WB[body] - at.p_WB[vehicle]), R_v.T @ R @ along
    side = float(model.world.down[2])  # y points to starboard if z points down
    return np.round([x[0], side * x[1], along[0], side * along[1], -side * along[2]], 3).tolist()
