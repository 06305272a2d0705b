"""Joint encoders, and force-torque sensors at joints."""

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
    """Names of the joints, which equal the names of the bodies that they carry."""
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
                fit = "revolute, prismatic, helical or other joints with one coordinate"
                raise ValueError(f"sensor {self.name!r}: joint {name!r} is {kind}; use encoders only for {fit}")

    def channels(self, model: Model) -> Sequence[Channel]:
        """Return the channels of positions, then of rates."""
        units = [model.joint_part(name).joint.unit for name in self.joints]
        out = [Channel(f"{name}.q", unit, self.position) for name, unit in zip(self.joints, units, strict=True)]
        return out + [Channel(f"{name}.v", f"{unit}/s", self.velocity) for name, unit in zip(self.joints, units, strict=True)]

    def read(self, instant: Instant) -> Array:
        parts = [instant.now.joint(name) for name in self.joints]
        return np.array([*(j.q[0] for j in parts), *(j.v[0] for j in parts)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceTorque(Mounted):
    """Joint wrench that the parent exerts on the frame's body, about the frame origin in frame axes.

    The wrench includes weight, buoyancy, drag and inertia of all bodies carried by the joint, and of held loads.
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
                f"sensor {self.name!r}: body {model.body_names[body]!r} has no parent, so the joint transmits no wrench; "
                "mount the sensor on the body outboard of the wrist"
            )

    def channels(self, model: Model) -> Sequence[Channel]:
        """Return the channels of force, then of torque."""
        force = [Channel(x, "N", self.force) for x in "XYZ"]
        return force + [Channel(x, "N m", self.torque) for x in "KMN"]

    def read(self, instant: Instant) -> Array:
        """Return (R_BSᵀ f, R_BSᵀ (n − p × f)) for the joint wrench (f, n), shape (6,)."""
        place = instant.mount(self.name, self.frame)
        F = instant.transmitted(place.body)
        f, n = F[:3], F[3:]
        return np.concatenate([place.R_B.T @ f, place.R_B.T @ (n - cross(place.p_B, f))])
