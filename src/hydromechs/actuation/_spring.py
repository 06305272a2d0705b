"""Springs in joints, and rotors that rotate with joints."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.model import Model, joints
from hydromechs.model.component import Action, FastMode, InJoints, Law, Mobility, Now, Order, Values, mode_of
from hydromechs.spatial import cross, turn_between
from hydromechs.values import Array, Checked, Finite, Positive, check_fields

from ._joints import InJoint

SMALL = 1e-6
"""Value of θ² below which c of `JointSpring` equals 1/12 up to rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSpring(InJoints):
    """Springs in joints. With `stiffness`, joints have one coordinate and the torque is τ = −k (q − rest).

    Without `stiffness`, ball joints have the springs and dampers of the model, relaxed at zero orientation:

        E = ½ φᵀ K φ,    τ = −J⁻ᵀ K φ − d ω,    J⁻ᵀ = 1 − ½ φ̃ + c φ̃²,    c = (1 − (θ/2) cot(θ/2))/θ²

    Here φ is the rotation vector from zero, θ its length, and φ̇ = J⁻¹ ω its rate. K contains the stiffness about each body
    axis, and d is the damping of the joint. Angles above 180° are measured in the shorter direction. The modes of flexible
    links in the model have

        τ_j = −k_j q_j − d_j q̇_j
    """

    kind = "joint_spring"
    cause = "springs"
    refers = MappingProxyType({"joints": "joint"})

    joints: tuple[str, ...]
    """Names of the joints."""
    stiffness: Positive | None = None
    """Stiffness k [N·m/rad or N/m]. If omitted, the joints have the stiffness and damping of the model."""
    rest: Finite = 0.0
    """Relaxed position of joints with one coordinate [rad or m]."""
    name: str = ""
    """Name in files and recordings. Defaults to the joint name with ".spring", or to "springs" for several joints."""

    def __post_init__(self) -> None:
        if isinstance(self.joints, str) or not self.joints:
            raise FieldError("JointSpring.joints", self.joints, "must be a tuple of one or more joint names")
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "name", self.name or (f"{self.joints[0]}.spring" if len(self.joints) == 1 else "springs"))
        check_fields(self)

    def order(self, model: Model) -> tuple[int, int]:
        return Order.SPRING, 0

    def check(self, model: Model) -> None:
        for name in self.joints:
            joint = model.joint_part(name).joint
            if self.stiffness is not None and (joint.nq != 1 or joint.nv != 1):
                raise ValueError(
                    f"spring: joint {name!r} has {joint.nv} velocities, but a stiffness requires exactly one; omit stiffness"
                )
            if self.stiffness is None and not isinstance(joint, joints.Ball | joints.ModalJoint):
                raise ValueError(f"spring of joint {name!r}: the model has no stiffness for this joint; set stiffness")

    def joint_names(self, model: Model) -> Sequence[str]:
        return self.joints

    def numbers(self, model: Model) -> Array:
        """Return the parameters of the springs.

        Rows contain stiffness and rest, shape (joints, 2); for ball joints stiffness about x, y, z and damping, shape
        (joints, 4); for flexible links stiffness and damping of n modes, shape (joints, 2 n).
        """
        if self.stiffness is not None:
            return np.array([[self.stiffness, self.rest]] * len(self.joints))
        rows = []
        for name in self.joints:
            joint = model.joint_part(name).joint
            assert isinstance(joint, joints.Ball | joints.ModalJoint)
            rows.append([*joint.stiffness, *(joint.mode_damping if isinstance(joint, joints.ModalJoint) else (joint.damping,))])
        return np.array(rows, dtype=float)

    def law(self, q: Array, v: Array, numbers: Array) -> Law:
        if self.stiffness is not None:
            stretch = q[0] - numbers[1]
            return Law(np.array([-numbers[0] * stretch]), 0.5 * numbers[0] * stretch * stretch, 0.0)
        if len(numbers) == 2 * len(q):  # the modes of a flexible link
            pull, damper = numbers[: len(q)] * q, numbers[len(q) :] * v
            return Law(-pull - damper, 0.5 * (q @ pull), -(damper @ v))
        phi, half_cot = turn_between(np.array([1.0, 0.0, 0.0, 0.0]), q)
        square = phi @ phi
        c = (1.0 - half_cot + SMALL / 12.0) / (square + SMALL)  # 1/12 at 0; off by less than 1e-8 anywhere
        pull = numbers[:3] * phi
        across = cross(phi, pull)
        spring = pull - 0.5 * across + c * cross(phi, across)
        damper = numbers[3] * np.asarray(v)
        return Law(-spring - damper, 0.5 * (phi @ pull), -(damper @ v))

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        if self.stiffness is not None:
            places = [(name, model.joint_part(name).v) for name in self.joints]
            return [mode_of(f"spring of joint {name!r}", self.stiffness, 0.0, mobility.joint(v)) for name, v in places]
        k, d = np.zeros(model.nv), np.zeros(model.nv)
        for name, row in zip(self.joints, self.numbers(model), strict=True):
            at = model.joint_part(name).v
            n = at.stop - at.start
            k[at], d[at] = row[:n], row[n:]
        return (
            FastMode("springs of ball joints and flexible links", float(np.sqrt(mobility.together(k))), mobility.together(d)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRotor(Checked, InJoint):
    """Additional inertia a of joint velocities, such as geared rotors, on the diagonal of the mass matrix.

    In a free joint, the inertia resists the acceleration of the origin with a (v̇ + ω × v) and the angular acceleration with
    a ω̇. It has no weight.
    """

    kind = "joint_rotor"
    cause = "drives"
    suffix = "rotor"

    inertia: Positive
    """Inertia a reflected to the joint, such as N² J of a geared rotor [kg·m² or kg]."""

    @property
    def rotors(self) -> dict[str, float]:
        return {self.joint: self.inertia}

    def check(self, model: Model) -> None:
        model.joint_part(self.joint)

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Return the inertia; in a free joint, also return the workless force due to the rotation of the axes."""
        joint = now.joint(self.joint)
        forces = []
        if isinstance(joint.part.joint, joints.Free):
            v, w = joint.v[:3], joint.v[3:]
            forces = [joint.force(np.concatenate([-self.inertia * cross(w, v), np.zeros(3)]))]
        return Action(joint_forces=forces, armature=[(joint.part.v, self.inertia)])
