"""Joint encoders, and force-torque sensors in joints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import Model
from hydromechs.spatial import cross
from hydromechs.values import Array

from ._instant import Instant
from ._sensor import PERFECT, Channel, Mounted, Noise, Sensor


@dataclass(frozen=True, slots=True, kw_only=True)
class JointEncoders(Sensor):
    """Positions and rates of revolute, prismatic and helical joints."""

    joints: tuple[str, ...]
    """Names of the joints, which are the names of the bodies that they carry."""
    position: Noise = PERFECT
    """Errors of the positions [rad or m]."""
    velocity: Noise = PERFECT
    """Errors of the rates [rad/s or m/s]."""

    def __post_init__(self) -> None:
        Sensor.__post_init__(self)
        object.__setattr__(self, "joints", tuple(self.joints))
        if not self.joints:
            raise FieldError(f"sensor {self.name!r}.joints", [], "must name at least one joint")

    def check(self, model: Model) -> None:
        for name in self.joints:
            try:
                part = model.joint_part(name)
            except KeyError as e:
                raise KeyError(f"sensor {self.name!r}: {e.args[0]}") from None
            if part.joint.nq != 1:
                kind = type(part.joint).__name__.lower()
                fit = "revolute, prismatic and helical joints, and others with one coordinate"
                raise ValueError(f"sensor {self.name!r}: joint {name!r} is {kind}; encoders are for {fit}")

    def channels(self, model: Model) -> Sequence[Channel]:
        """Positions, then rates."""
        units = [model.joint_part(name).joint.unit for name in self.joints]
        out = [Channel(f"{name}.q", unit, self.position) for name, unit in zip(self.joints, units, strict=True)]
        return out + [Channel(f"{name}.v", f"{unit}/s", self.velocity) for name, unit in zip(self.joints, units, strict=True)]

    def read(self, instant: Instant) -> Array:
        parts = [instant.now.joint(name) for name in self.joints]
        return np.array([*(j.q[0] for j in parts), *(j.v[0] for j in parts)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceTorque(Mounted):
    """Wrench on the body of its frame through its joint from its parent, about the frame's origin in its axes.

    It includes weight, buoyancy, drag and inertia of all bodies that the joint carries, and of held loads.
    """

    force: Noise = PERFECT
    """Errors of the force [N]."""
    torque: Noise = PERFECT
    """Errors of the torque [N·m]."""

    def check(self, model: Model) -> None:
        Mounted.check(self, model)
        body = model.locate(self.frame).body
        if model.parent[body] < 0 and model.bodies[body].joint.nv == 6:
            raise ValueError(
                f"sensor {self.name!r}: body {model.body_names[body]!r} has no parent, so no wrench goes through its joint; "
                "mount it on the body outboard of the wrist"
            )

    def channels(self, model: Model) -> Sequence[Channel]:
        """Force, then torque."""
        force = [Channel(x, "N", self.force) for x in "XYZ"]
        return force + [Channel(x, "N m", self.torque) for x in "KMN"]

    def read(self, instant: Instant) -> Array:
        """(R_BSᵀ f, R_BSᵀ (n − p × f)) of the wrench (f, n) through the joint."""
        place = instant.mount(self.name, self.frame)
        F = instant.transmitted(place.body)
        f, n = F[:3], F[3:]
        return np.concatenate([place.R_B.T @ f, place.R_B.T @ (n - cross(place.p_B, f))])
