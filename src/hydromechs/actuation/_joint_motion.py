"""Prescribed motion of a joint; the required force is computed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import JointPart, Model
from hydromechs.model.component import Action, Component, MovedJoint, Now, Order, Output, Values
from hydromechs.values import Array, Checked, NotNegative

from ._drive import Drive
from ._joints import InJoint
from .motions import Motion

FAR = 0.1
"""Maximum initial deviation of a joint position from its prescribed motion [rad or m]."""
OTHER = 0.1
"""Maximum initial deviation of a joint velocity from its prescribed motion [rad/s or m/s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointMotion(Checked, InJoint):
    """Prescribed motion r(t) of a joint with one coordinate; the required force is unlimited, and other bodies react to it.

        q̈ = r̈ + 2 α (ṙ − q̇) + α² (r − q)

    The last two terms remove deviations due to integration errors and the initial state.
    """

    kind = "joint_motion"
    cause = "given motion"
    outputs = (Output("motion_force", "N, N m", "force required by the prescribed motion of the joint"),)
    suffix = "motion"

    joint: str
    """Name of the joint: the name of the carried body, or "body.2" for the second part of a composite joint."""
    motion: Motion
    """Motion as a function of time, such as `motions.Sine(...)`."""
    correction: NotNegative = 5.0
    """Rate α at which deviations from the prescribed motion decay [1/s]."""

    @property
    def replaces(self) -> tuple[str, ...]:
        """Names of the replaced components: friction and stops, which cannot change a prescribed motion."""
        return f"{self.joint}.friction", f"{self.joint}.stops"

    def order(self, model: Model) -> tuple[int, int]:
        return Order.MOTION.of_joint(model, self.joint)

    def check_beside(self, parts: Sequence[Component]) -> None:
        if any(isinstance(c, Drive) and c.joint == self.joint for c in parts):
            raise ValueError(f"joint {self.joint!r} has a drive and a prescribed motion; remove the drive or the motion")

    def entries(self, model: Model) -> list[str]:
        return [self.joint]

    def check(self, model: Model) -> None:
        if not isinstance(self.motion, Motion):
            raise TypeError(f"motion of joint {self.joint!r} is {self.motion!r}, must be a Motion, such as motions.Sine(...)")
        part = model.joint_part(self.joint)
        if part.joint.nq != 1 or part.joint.nv != 1:
            raise ValueError(
                f"motion of joint {self.joint!r}: the joint has {part.joint.nv} velocities, but a motion requires one; use a "
                "composite of joints with one velocity each, and prescribe the motions of all these joints"
            )
        faults = self.motion.faults()
        if faults:
            raise ValueError(
                f"motion of joint {self.joint!r} ({type(self.motion).__name__}): {faults[0]}; correct the rates of the motion"
            )

    @property
    def timed(self) -> Sequence[str]:
        return self.motion.timed

    def timed_values(self, t: float) -> tuple[Sequence[float], float]:
        return self.motion.timed_values(t)

    def initial(self, model: Model, t: float) -> Sequence[tuple[JointPart, Array, Array]]:
        now = self.motion.now(t)
        return [(model.joint_part(self.joint), np.array([now.position]), np.array([now.velocity]))]

    def check_start(self, now: Now) -> None:
        joint, given = now.joint(self.joint), self.motion.now(float(now.t))
        begins, speed = float(joint.q[0]), float(joint.v[0])
        remedy = f"at t = {float(now.t):g} s; start the joint on the prescribed motion with plant.on_motions(state)"
        if not abs(begins - given.position) <= FAR:
            raise ValueError(
                f"joint {self.joint!r} starts at {begins:.6g}, but its prescribed motion is at {given.position:.6g} {remedy}"
            )
        if not abs(speed - given.velocity) <= OTHER:
            raise ValueError(
                f"joint {self.joint!r} starts with velocity {speed:.6g}, "
                f"but its prescribed velocity is {given.velocity:.6g} {remedy}"
            )

    def act(self, now: Now, z: Values, u: Values) -> Action:
        joint = now.joint(self.joint)
        r = self.motion.at(now.t, [u[name] for name in self.timed])
        alpha = self.correction
        back = 2.0 * alpha * (r.velocity - joint.v[0]) + alpha * alpha * (r.position - joint.q[0])
        vdot = np.array([r.acceleration + back])
        return Action(motions=[MovedJoint(joint.part.v, vdot, lambda force: {"motion_force": force})])
