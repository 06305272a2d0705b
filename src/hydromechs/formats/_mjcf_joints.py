"""Conversion of the MJCF joints of one body to one joint.

MuJoCo moves a body about anchors that are fixed on the body. With pose P on the parent, anchors p_k and motions R_k, the
pose is

    X = P · T(p_1) R_1 T(−p_1) · T(p_2) R_2 T(−p_2) · ...

In HydroMechs the origin of a body is on the axis of its last joint. The parts of the joint are therefore placed at p_1,
then at p_k − p_{k−1}, and the contents of the body are relative to the last anchor. Joint coordinates equal those of
MuJoCo, including `ref`. The velocity of a free joint is in body axes, whereas MuJoCo has the linear part in world axes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hydromechs.actuation import JointRotor, JointSpring
from hydromechs.model import joints
from hydromechs.model.component import Component
from hydromechs.spatial import axis_rotation, quaternion_from_matrix

from ._mjcf_document import Item
from ._mjcf_pose import Settings
from ._pose import Pose

KINDS = ("free", "ball", "slide", "hinge")


@dataclass(slots=True, kw_only=True)
class BodyJoint:
    """Joint of a body."""

    joint: joints.Joint | joints.Composite
    anchor: np.ndarray
    """Offset of the body origin in the model from the body origin in the file, in body axes [m], shape (3,)."""
    names: dict[str, str] = field(default_factory=dict)
    """Joints of the file, with their names in the model."""
    components: list[Component] = field(default_factory=list)
    zeros: dict[str, float] = field(default_factory=dict)
    """Nonzero coordinates at the zero position of the file, keyed by joint name in the model [m, rad]."""


def read_joints(items: list[Item], body: str, pose: Pose, settings: Settings) -> BodyJoint:
    """Return the joint of a body from its MJCF joints in file order; the pose is relative to the parent origin in the model."""
    if not items:
        return BodyJoint(joint=joints.Fixed(placement=pose.origin), anchor=np.zeros(3))
    kinds = ["free" if item.tag == "freejoint" else item.word("type", KINDS, "hinge") for item in items]
    if "free" in kinds:
        return _free(items, body, pose)
    out = BodyJoint(joint=joints.Fixed(), anchor=np.zeros(3))
    parts: list[joints.Revolute | joints.Prismatic | joints.Ball] = []
    for k, (item, kind) in enumerate(zip(items, kinds, strict=True)):
        name = body if len(items) == 1 else f"{body}.{k + 1}"
        anchor = out.anchor if kind == "slide" else np.array(item.numbers("pos", 3, (0.0, 0.0, 0.0)))
        item.text("pos")
        place = Pose(anchor - out.anchor, np.eye(3))
        place = pose @ place if k == 0 else place
        out.anchor = anchor
        part = _ball(item, place, settings) if kind == "ball" else _one_axis(item, kind, place, settings, name, out)
        parts.append(part)
        armature = item.number("armature", 0.0)
        if armature > 0.0:
            out.components.append(JointRotor(joint=name, inertia=armature))
        if own := item.element.attributes.get("name"):
            out.names[own] = name
    out.joint = parts[0] if len(parts) == 1 else joints.Composite(parts=tuple(parts))
    return out


def _free(items: list[Item], body: str, pose: Pose) -> BodyJoint:
    item = items[0]
    if len(items) > 1:
        words = f"body {body!r} has {len(items) - 1} joints in addition to a free joint"
        item.findings.fault(item.element, words, None, "delete the other joints")
    lost = [f"{name} {item.number(name, 0.0):g}" for name in ("damping", "stiffness", "frictionloss") if item.number(name, 0.0)]
    if lost:
        item.left_out(f"{', '.join(lost)} of a free joint", "a free joint does not support these attributes")
    for name in ("pos", "axis", "range", "limited", "type", "ref", "springref"):
        item.text(name)  # meaningless for a free joint
    joint = joints.Free(position=tuple(pose.p), orientation=tuple(quaternion_from_matrix(pose.R)))
    own, armature = item.element.attributes.get("name"), item.number("armature", 0.0)
    rotors: list[Component] = [JointRotor(joint=body, inertia=armature)] if armature > 0.0 else []
    return BodyJoint(joint=joint, anchor=np.zeros(3), names={own: body} if own else {}, components=rotors)


def _ball(item: Item, place: Pose, settings: Settings) -> joints.Ball:
    limits = _limits(item, settings.angle, settings)
    k = _linear(item, "stiffness")
    item.text("axis")
    limit = None if limits is None or not 0.0 < limits[1] < math.pi else limits[1]
    damping, friction = _resistance(item)
    return joints.Ball(placement=place.origin, stiffness=(k, k, k), limit=limit, damping=damping, friction=friction)


def _one_axis(
    item: Item, kind: str, place: Pose, settings: Settings, name: str, out: BodyJoint
) -> joints.Revolute | joints.Prismatic:
    """Return a hinge or slide; the spring of the joint is added to the components."""

    def scaled(x: float) -> float:
        return settings.angle(x) if kind == "hinge" else x

    axis = np.array(item.numbers("axis", 3, (0.0, 0.0, 1.0)))
    length = float(np.linalg.norm(axis))
    if not 1e-10 < length < 1e10:
        item.fault(f"axis is {tuple(axis)}, must not be zero", tuple(axis), of="axis")
        axis, length = np.array([0.0, 0.0, 1.0]), 1.0
    axis = axis / length
    ref = scaled(item.number("ref", 0.0))
    if ref:
        out.zeros[name] = ref
        back = Pose(np.zeros(3), axis_rotation(axis, -ref)) if kind == "hinge" else Pose(-ref * axis, np.eye(3))
        place = place @ back
    limits, position = _limits(item, scaled, settings), ref
    if limits is not None and not limits[0] <= ref <= limits[1]:
        position = min(max(ref, limits[0]), limits[1])
        unit = "rad" if kind == "hinge" else "m"
        done = f"the joint starts at {position:.4g} {unit}, the nearest limit"
        item.note("repaired", f"the zero position of the joint, {ref:g} {unit}, is outside its range", done)
    stiffness, rest = _linear(item, "stiffness"), scaled(item.number("springref", 0.0))
    if stiffness < 0.0:
        item.left_out(f"stiffness {stiffness:g}", "a negative stiffness would drive the joint away", of="stiffness")
    if stiffness > 0.0:
        out.components.append(JointSpring(joints=(name,), stiffness=stiffness, rest=rest))
    damping, friction = _resistance(item)
    joint = joints.Revolute if kind == "hinge" else joints.Prismatic
    return joint(placement=place.origin, axis=tuple(axis), limits=limits, damping=damping, friction=friction, position=position)


def _resistance(item: Item) -> tuple[float, float]:
    damping, friction = (_linear(item, name) for name in ("damping", "frictionloss"))
    for name, value in (("damping", damping), ("frictionloss", friction)):
        if value < 0.0:
            item.fault(f"{name} is {value:g}, must be at least 0", value, of=name)
    return max(damping, 0.0), max(friction, 0.0)


def _linear(item: Item, name: str) -> float:
    row = item.row(name, 1, 3) or (0.0,)
    if any(row[1:]):
        item.left_out(f"{name} {row}: higher powers", of=name)
    return row[0]


def _limits(item: Item, scaled: Callable[[float], float], settings: Settings) -> tuple[float, float] | None:
    row, limited = item.row("range", 2, 2), item.word("limited", ("true", "false", "auto"), "auto")
    if limited == "auto" and row is not None and any(row) and not settings.autolimits:
        item.left_out(f"range {row}", "autolimits is off, so the joint has no stops", of="range")
    if limited == "false" or row is None or (limited == "auto" and not (settings.autolimits and any(row))):
        return None
    low, high = scaled(row[0]), scaled(row[1])
    if not low < high:
        item.fault(f"range is {row}, must be in increasing order", row, "swap the limits", of="range")
        return None
    return low, high
