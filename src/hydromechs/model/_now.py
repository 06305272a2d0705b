"""The current instant for components: frames, joints and water, and forces on frames and joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from hydromechs.spatial import cross
from hydromechs.values import Array, Scalar

from ._model import JointPart, Model


class Wrench(NamedTuple):
    """Wrench on one body."""

    body: int
    """Index of the body."""
    F_Bo_B: Array
    """Wrench about the body origin in body axes [N, N·m], shape (6,)."""


class JointForce(NamedTuple):
    """Generalised force in one joint."""

    dofs: slice
    """Indices of the joint in v."""
    tau: Array
    """Force dual to the joint velocities [N, N·m], shape (n,)."""


class FrameNow:
    """Frame of the mechanism at the current instant."""

    def __init__(self, now: Now, name: str) -> None:
        self.now, self.name = now, name
        place = now.model.locate(name)
        self.body = place.body
        """Index of the body of the frame."""
        self.p_B = place.p
        """Origin of the frame from the body origin, in body axes [m], shape (3,)."""
        self.R_B = place.R
        """Axes of the frame, expressed in body axes, shape (3, 3)."""

    @property
    def p(self) -> Array:
        """Origin of the frame in world axes [m], shape (3,)."""
        return self.now.p_WB[self.body] + self.now.R_WB[self.body] @ self.p_B

    @property
    def R(self) -> Array:
        """Axes of the frame, expressed in world axes, shape (3, 3)."""
        return self.now.R_WB[self.body] @ self.R_B

    @property
    def v_B(self) -> Array:
        """Velocity of the frame origin in body axes [m/s], shape (3,)."""
        V = self.now.V[self.body]
        return V[:3] + cross(V[3:], self.p_B)

    @property
    def v(self) -> Array:
        """Velocity of the frame origin in world axes [m/s], shape (3,)."""
        return self.now.R_WB[self.body] @ self.v_B

    @property
    def w(self) -> Array:
        """Angular velocity of the body in world axes [rad/s], shape (3,)."""
        return self.now.R_WB[self.body] @ self.now.V[self.body][3:]

    @property
    def v_water(self) -> Array:
        """Velocity of the undisturbed water at the frame origin, in world axes [m/s], shape (3,)."""
        return self.now.water.on_body(self.body, self.p_B).velocity

    @property
    def depth(self) -> Scalar | None:
        """Depth of the frame origin below the free surface [m]; None without a surface."""
        return self.now.water.on_body(self.body, self.p_B).depth

    def force(self, f: Array, torque: Array | None = None) -> Wrench:
        """Return the wrench of a force [N] at the frame origin and an optional torque [N·m], in world axes, shape (3,) each."""
        R = self.now.R_WB[self.body]
        return self.force_B(R.T @ f, None if torque is None else R.T @ torque)

    def force_B(self, f: Array, torque: Array | None = None) -> Wrench:
        """Return the wrench of a force [N] at the frame origin and an optional torque [N·m], in body axes, shape (3,) each."""
        moment = np.cross(self.p_B, f)
        return Wrench(self.body, np.concatenate([f, moment if torque is None else moment + torque]))


class JointNow(NamedTuple):
    """Joint of the mechanism at the current instant."""

    part: JointPart
    q: Array
    """Joint position: angle [rad], displacement [m], or quaternion, shape (nq,)."""
    v: Array
    """Joint velocity [rad/s, m/s], shape (nv,)."""

    def force(self, tau: Array) -> JointForce:
        """Return a force dual to the joint velocity [N·m, N], shape (nv,)."""
        return JointForce(self.part.v, tau)


class WaterPoint(NamedTuple):
    """Undisturbed water at a point of the world."""

    velocity: Array
    """Velocity in world axes [m/s], shape (3,)."""
    acceleration: Array
    """Acceleration of the water particles, in world axes [m/s²], shape (3,)."""
    depth: Scalar | None
    """Depth of the point below the free surface [m]; None without a surface."""
    rise: Scalar
    """Rate at which the free surface above the point rises [m/s]."""
    slope: Array
    """Gradient of the surface height [-], shape (3,)."""


class WaterNow(Protocol):
    """Undisturbed water at the current instant."""

    def point(self, p: Array) -> WaterPoint:
        """Return the water at a point p in world axes [m], shape (3,)."""

    def waves_at(self, p: Array) -> tuple[Scalar, Scalar]:
        """Return the wave elevation [m] above the mean surface at a point p (3,), and its rate [m/s]."""

    def on_body(self, body: int, p_B: Array) -> WaterPoint:
        """Return the water at a point p_B of a body, in body axes [m], shape (3,)."""


class StillWater:
    """Water at rest. All points have the same depth below the free surface [m]; None without a surface."""

    def __init__(self, depth: float | None) -> None:
        self._depth = depth

    def point(self, p: Array) -> WaterPoint:
        """Return water at rest."""
        return WaterPoint(np.zeros(3), np.zeros(3), self._depth, 0.0, np.zeros(3))

    def waves_at(self, p: Array) -> tuple[Scalar, Scalar]:
        """Return zero elevation and rate."""
        return 0.0, 0.0

    def on_body(self, body: int, p_B: Array) -> WaterPoint:
        """Return water at rest."""
        return self.point(p_B)


def _in_turn(
    function: Callable[..., Any],
    *rows: Sequence[Any],
    conditions: Sequence[Any] | None = None,
    kept: Sequence[Any] | None = None,
) -> list[Any]:
    points = list(zip(*rows, strict=True))
    if conditions is None or kept is None or any(hasattr(c, "where") for c in conditions):
        return [function(*point) for point in points]
    return [function(*point) if c else other for point, c, other in zip(points, conditions, kept, strict=True)]


class Now:
    """The current instant t [s] for a component: configuration q (nq,), velocity v (nv,), kinematics, undisturbed water.

    `each` evaluates a function at several points. Without derivatives, it is `compiler.each`; with derivatives, it also
    evaluates points whose condition is 0.
    """

    def __init__(
        self,
        model: Model,
        t: Scalar,
        q: Array,
        v: Array,
        kin: Any,
        water: WaterNow,
        each: Callable[..., list[Any]] | None = None,
    ) -> None:
        self.model, self.t, self.q, self.v, self.kin, self.water = model, t, q, v, kin, water
        self.each: Callable[..., list[Any]] = _in_turn if each is None else each

    @property
    def R_WB(self) -> Sequence[Array]:
        """Axes of all bodies, expressed in world axes, shape (3, 3) each."""
        return self.kin.R_WB

    @property
    def p_WB(self) -> Sequence[Array]:
        """Origins of all bodies in world axes [m], shape (3,) each."""
        return self.kin.p_WB

    @property
    def V(self) -> Sequence[Array]:
        """Velocities of all bodies in body axes [m/s, rad/s], shape (6,) each."""
        return self.kin.V

    def frame(self, name: str) -> FrameNow:
        """Return the frame or body named `name`; a body has a frame at its origin."""
        return FrameNow(self, name)

    def joint(self, name: str) -> JointNow:
        """Return the joint named `name`, see `Model.joint_parts`."""
        part = self.model.joint_part(name)
        return JointNow(part, self.q[part.q], self.v[part.v])
