"""Pose control of a vehicle with thrusters: PID on SE(3) with weight and buoyancy fed forward, and thrust allocation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hydromechs.actuation import Allocator, allocation_matrix
from hydromechs.model import joints
from hydromechs.simulation import mass_matrix
from hydromechs.spatial import quaternion_matrix, quaternion_product

from ._reference import JointMotion, Waypoints

__all__ = ["FollowPath", "HoldPose"]


class FollowPath:
    """Leads a vehicle along waypoints with its thrusters, and an arm along its own. A controller.

        τ = M (a_ref + 2 ζ ω_0 ė + ω_0² e + (ω_0³/k) ∫e dt) + g(q)

    e is the error of position and orientation (a rotation vector) in body axes, M the inertia of vehicle, arm and added mass at
    the start, g weight and buoyancy at the present configuration. The integral takes out the current; it waits while thrusters
    saturate. Thrusts come from bounded least squares.

    Args:
        waypoints: Mappings with t [s], position (3,) in world axes [m], and heading_deg, pitch_deg, roll_deg, 0 unless given.
        arm: Waypoints of servo-driven joints, as `JointMotion` takes them; none unless given.
        body: Name of the vehicle's body; the first free one unless given.
        frequency: ω_0, natural frequency of the closed loop [rad/s].
        damping: ζ, its damping ratio.
        integral: k, of the integral's strength; larger is weaker.
        period: Time between two commands [s].
    """

    def __init__(
        self,
        *,
        waypoints: Sequence[Mapping],
        arm: Sequence[Mapping[str, float]] = (),
        body: str | None = None,
        frequency: float = 0.6,
        damping: float = 1.0,
        integral: float = 5.0,
        period: float = 0.05,
    ):
        for name, value in (("frequency", frequency), ("damping", damping), ("integral", integral), ("period", period)):
            if not isinstance(value, int | float) or not 0.0 < value < math.inf:
                raise ValueError(f"{name} is {value!r}, must be a number above 0")
        rows = []
        for w in waypoints:
            unknown = set(w) - {"t", "position", "heading_deg", "pitch_deg", "roll_deg"}
            if unknown or "position" not in w or len(w["position"]) != 3:
                raise ValueError(f"a waypoint has t, position (3 numbers), heading_deg, pitch_deg, roll_deg; got {dict(w)}")
            angles = [math.radians(float(w.get(f"{x}_deg", 0.0))) for x in ("roll", "pitch", "heading")]
            rows.append([*map(float, w["position"]), *angles])
        self.path = Waypoints([float(w.get("t", 0.0)) for w in waypoints], rows)
        self.arm = JointMotion(waypoints=arm, period=period) if arm else None
        self.body, self.period = body, period
        self.gains = (frequency**2, 2.0 * damping * frequency, frequency**3 / integral)
        self.memory = np.zeros(6)
        """Integral of the error [m·s, rad·s], shape (6,)."""

    def start(self, simulation) -> None:
        """Look up the vehicle, its thrusters and its inertia.

        Args:
            simulation: The simulation that it will control.
        """
        from hydromechs.simulation._dynamics import compile_model  # CasADi and LLVM

        model, plant = simulation.model, simulation.plant
        free = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
        name = self.body or (free[0] if free else None)
        if name not in free:
            raise ValueError(f"pose control needs a body with a free joint; {name!r} is none of {', '.join(free) or 'none'}")
        if not plant.thrusters:
            raise ValueError("pose control needs thrusters; the simulation has none")
        i = model.body_index(name)
        self.q_at, self.v_at = model.q_slices[i].start, model.v_slices[i].start
        on = [t for t in plant.thrusters if model.bodies[model.frames[t.frame][0]].name == name]
        self.thrusters = [(t.name, t.curve) for t in on]
        limits = np.array([t.curve.limits for t in on])
        self.allocator = Allocator(allocation_matrix(model, on, name), limits[:, 0], limits[:, 1])
        at = slice(self.v_at, self.v_at + 6)
        self.inertia = np.array(mass_matrix(model, simulation.state.q), dtype=float)[at, at]
        self.restoring = compile_model(model).restoring_force
        self.memory = np.zeros(6)
        if self.arm is not None:
            self.arm.start(simulation)

    def error(self, state) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Error of the pose, of the velocity, and the acceleration of the reference, all in body axes, shape (6,) each.

        Args:
            state: State of the simulation.
        """
        reference = self.path(state.t)
        q = state.q[self.q_at : self.q_at + 7]
        R = quaternion_matrix(q[3:])
        turn = quaternion_product(np.array([q[3], -q[4], -q[5], -q[6]]), _quaternion(reference.position[3:]))
        turn = turn if turn[0] >= 0.0 else -turn
        sine = math.sqrt(turn[1] ** 2 + turn[2] ** 2 + turn[3] ** 2)
        angle = 2.0 if sine == 0.0 else 2.0 * math.atan2(sine, turn[0]) / sine
        e = np.concatenate([R.T @ (reference.position[:3] - q[:3]), angle * turn[1:]])
        # rates of the angles count as angular velocity about the world's axes: exact for the heading
        wanted = np.concatenate([R.T @ reference.rate[:3], R.T @ reference.rate[3:]])
        a = np.concatenate([R.T @ reference.acceleration[:3], R.T @ reference.acceleration[3:]])
        return e, wanted - state.v[self.v_at : self.v_at + 6], a

    def __call__(self, state) -> dict[str, float]:
        """Commands of the thrusters, and of the arm, at a `state`."""
        e, rate, a = self.error(state)
        stiffness, damping, integral = self.gains
        g = self.restoring(state.q)[self.v_at : self.v_at + 6]
        wanted = self.inertia @ (a + stiffness * e + damping * rate + integral * self.memory) + g
        given = self.allocator(wanted)
        if not given.saturated.any():
            self.memory = self.memory + self.period * e
        out = {name: float(curve.inverse(f)) for (name, curve), f in zip(self.thrusters, given.forces, strict=True)}
        return out if self.arm is None else out | self.arm(state)


class HoldPose(FollowPath):
    """Keeps a vehicle in its place. A controller.

    Args:
        position: Where, in world axes [m], shape (3,).
        heading_deg: Heading [°].
        arm: As in `FollowPath`.
        body: As in `FollowPath`.
        frequency: As in `FollowPath`.
        damping: As in `FollowPath`.
        integral: As in `FollowPath`.
        period: As in `FollowPath`.
    """

    def __init__(self, *, position: Sequence[float], heading_deg: float = 0.0, **options):
        super().__init__(waypoints=[{"t": 0.0, "position": position, "heading_deg": heading_deg}], **options)


def _quaternion(rpy: np.ndarray) -> np.ndarray:
    """Quaternion of roll, pitch and heading, shape (4,)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(0.5 * rpy), np.sin(0.5 * rpy)
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )
