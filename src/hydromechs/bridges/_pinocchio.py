"""Conversion of a model to Pinocchio, joint by joint."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from hydromechs._lazy import import_extra
from hydromechs.errors import UnsupportedFeature
from hydromechs.hybrid import depth_first, placement_pose
from hydromechs.model import Model, joints
from hydromechs.spatial import tensor_matrix

from ._coordinates import CoordinateMap


class InPinocchio(NamedTuple):
    """Model in Pinocchio."""

    model: Any
    coordinates: CoordinateMap
    """Conversion between q, v, tau of HydroMechs and of Pinocchio."""
    lost: tuple[str, ...]
    """Features missing from the Pinocchio model, in particular water, as texts."""


def to_pinocchio(model: Model) -> InPinocchio:
    """Convert a mechanism to a `pinocchio.Model`.

    The result contains bodies, joints with damping, friction and limits, gravity, and a frame for each body and each named
    frame. Inertias are dry, because Pinocchio has no added mass. Joints are named after the body that they carry; a
    composite joint is one `JointModelComposite`. The mass of a fixed body belongs to the joint that carries it and its
    parent; the body also has a frame. This also applies to a body fixed to the world.

    Pinocchio orders bodies by contiguous subtrees, and its quaternions are (x, y, z, w). Velocities, forces and
    accelerations are equal numbers in a different order: linear first, in body axes for a free joint. `coordinates`
    converts between both.

    Args:
        model: The mechanism, with joint types from `JOINTS`.

    Raises:
        ModuleNotFoundError: Pinocchio is not installed; install the extra `pinocchio`.
        UnsupportedFeature: Pinocchio has no equivalent of a joint type.
    """
    pin = import_extra("pinocchio", "pinocchio", "to_pinocchio")
    if model.loops:
        names = ", ".join(repr(loop.name) for loop in model.loops)
        raise UnsupportedFeature(f"{model.name}: a Pinocchio model is a tree; remove its loops ({names})")
    there = pin.Model()
    there.name = model.name
    there.gravity = pin.Motion(np.concatenate([model.world.gravity_vector, np.zeros(3)]))
    carrier: dict[int, tuple[int, Any, int]] = {-1: (0, pin.SE3.Identity(), 0)}  # joint, pose on it and frame of each body
    numbers: dict[int, int] = {}
    for i in depth_first(model):
        body, parts = model.bodies[i], model.bodies[i].joint.parts
        joint, pose, frame = carrier[model.parent[i]]
        pose = pose * pin.SE3(placement_pose(parts[0]))
        if parts[0].nv:
            kind = _joint(pin, parts[0], body.name)
            if len(parts) > 1:
                kind = pin.JointModelComposite(kind)
                for part in parts[1:]:
                    kind.addJoint(_joint(pin, part, body.name), pin.SE3(placement_pose(part)))
            joint, pose = there.addJoint(joint, kind, pose, body.name), pin.SE3.Identity()
            numbers[i] = joint
            frame = there.addJointFrame(joint, frame)
        m = body.inertia
        there.appendBodyToJoint(joint, pin.Inertia(m.mass, np.array(m.com), tensor_matrix(m.tensor)), pose)
        frame = there.addBodyFrame(body.name, joint, pose, frame)
        carrier[i] = (joint, pose, frame)
        for own in body.frames:
            place = pin.SE3(own.origin.R, np.array(own.origin.xyz))
            there.addFrame(pin.Frame(own.name, joint, frame, pose * place, pin.FrameType.OP_FRAME))
    coordinates = _coordinates(model, there, numbers)
    _properties(model, there, coordinates)
    return InPinocchio(there, coordinates, tuple(_lost(model)))


def _along_axis(pin: ModuleType, part: Any) -> Any:
    word = part.kind.capitalize()
    for letter, value in zip("XYZ", part.unit_axis, strict=True):
        if value == 1.0:  # the types for coordinate axes are faster
            return getattr(pin, f"JointModel{word[0]}{letter}")()
    return getattr(pin, f"JointModel{word}Unaligned")(part.unit_axis)


JOINTS: Mapping[type[joints.Joint], Callable[[ModuleType, Any], Any]] = {
    joints.Free: lambda pin, part: pin.JointModelFreeFlyer(),
    joints.Ball: lambda pin, part: pin.JointModelSpherical(),
    joints.Revolute: _along_axis,
    joints.Prismatic: _along_axis,
    joints.Helical: lambda pin, part: pin.JointModelHelicalUnaligned(part.unit_axis, part.advance),
}
"""Constructors of the Pinocchio joints, keyed by joint class."""


def _joint(pin: ModuleType, part: joints.Joint, name: str) -> Any:
    row = joints.foreign(JOINTS, part, f"body {name!r}", "Pinocchio", "use HydroMechs itself")
    return row(pin, part)


def _coordinates(model: Model, there: Any, numbers: dict[int, int]) -> CoordinateMap:
    """Return the coordinate indices in Pinocchio, given the Pinocchio joint number of each moving body."""
    q_of, v_of = np.zeros(model.nq, dtype=int), np.zeros(model.nv, dtype=int)
    for part in model.joint_parts.values():
        joint = there.joints[numbers[part.body]]
        where = np.arange(part.joint.nq)
        if (k := part.joint.quaternion) is not None:  # (x, y, z, w) there
            where[k : k + 4] = where[k : k + 4][[3, 0, 1, 2]]
        q_of[part.q] = joint.idx_q + part.q.start - model.q_slices[part.body].start + where
        v_of[part.v] = joint.idx_v + part.v.start - model.v_slices[part.body].start + np.arange(part.joint.nv)
    return CoordinateMap(model=model, q_of=q_of, v_of=v_of)


def _properties(model: Model, there: Any, at: CoordinateMap) -> None:
    lower, upper = there.lowerPositionLimit.copy(), there.upperPositionLimit.copy()
    damping, friction = np.zeros(model.nv), np.zeros(model.nv)
    for part in model.joint_parts.values():
        joint = part.joint
        if joint.limits is not None:
            lower[at.q_of[part.q]], upper[at.q_of[part.q]] = joint.limits
        damping[at.v_of[part.v]], friction[at.v_of[part.v]] = joint.damping, joint.friction
    there.lowerPositionLimit, there.upperPositionLimit = lower, upper
    there.damping, there.friction = damping, friction


def _lost(model: Model) -> list[str]:
    wet = [body.name for body in model.bodies if body.hydro is not None]
    out = [f"water of {model.world.water_density:g} kg/m³, and the hydrodynamics of {', '.join(wet)}"] if wet else []
    for part in model.joint_parts.values():
        if isinstance(part.joint, joints.Ball) and (part.joint.limit is not None or any(part.joint.stiffness)):
            out.append(f"joint {part.name!r}: limit and stiffness of a ball joint")
    seen = [body.name for body in model.bodies if body.shapes]
    return [*out, *([f"shapes of {', '.join(seen)}"] if seen else [])]
