"""Base of components, such as drives, friction and stops, that act in a joint of any kind."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from hydromechs.model import JointPart, Model, MovingStep, joints
from hydromechs.model.component import Component, Output
from hydromechs.values import Array

AXES = ("x", "y", "z")
IN_JOINT = MappingProxyType({"joint": "joint"})
"""References of components in joints."""
TINY = 1e-150
"""Regularisation that keeps the direction of a zero rotation finite."""
ACTUATOR_OUTPUTS = (
    Output("actuator_force", "N, N m", "thrust, or force of the drive"),
    Output("saturated", "1", "1 while the actuator is at a limit", dtype="int8"),
)
"""Outputs of actuators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InJoint(Component):
    """Component that acts in one joint and is named after the joint."""

    kind = cause = label = "component"  # derived classes have their own
    refers = IN_JOINT
    suffix: ClassVar[str]
    """Suffix of the component name after the name of the joint."""

    joint: str
    """Name of the joint."""

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """Name of the joint with the suffix of the component."""
        return f"{self.joint}.{self.suffix}"


def checked_part(model: Model, joint: str, what: str) -> JointPart:
    """Return the joint named `joint`; raise an error if components cannot act in it."""
    part = model.joint_part(joint)
    if isinstance(part.joint, joints.Free):
        raise ValueError(f"joint of body {joint!r} is free; {what} a joint of another kind")
    return part


def axes(part: JointPart) -> tuple[str, ...]:
    """Return names of the degrees of freedom: one empty name, three for a ball joint, "v1", "v2", ... for custom joints."""
    if isinstance(part.joint, joints.Ball):
        return AXES
    return tuple(name for group in part.joint.rates for name in group.names)


def named(axis: str, name: str) -> str:
    """Return the name of a state of a degree of freedom."""
    return f"{name}.{axis}" if axis and name else axis or name


def chart(part: JointPart) -> MovingStep:
    """Return the chart that interprets configurations of a joint."""
    return next(step for step in part.joint.steps(0, 0) if isinstance(step, MovingStep))


def turned(part: JointPart, q: Array) -> Array:
    """Return joint coordinates relative to the zero configuration, for a ball joint the rotation vector, shape (nv,)."""
    return chart(part).difference(np.array(part.joint.neutral_q), q)
