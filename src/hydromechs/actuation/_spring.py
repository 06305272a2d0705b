"""What a joint has besides friction and stops: a spring to a rest position, a rotor that turns with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydromechs.model import Model, joints
from hydromechs.model.component import Action, Component, FastMode, Mobility, Now, Values, mode_of
from hydromechs.spatial import cross
from hydromechs.values import Finite, Positive, check_fields

from ._joints import IN_JOINT


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSpring(Component):
    """A spring in a joint with one coordinate: τ = −k (q − rest)."""

    kind = "joint_spring"
    cause = "springs"
    refers = IN_JOINT

    joint: str
    """Name of the joint."""
    stiffness: Positive
    """k [N·m/rad or N/m]."""
    rest: Finite = 0.0
    """Position without force [rad or m]."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """That of the joint, and what it is."""
        return f"{self.joint}.spring"

    def check(self, model: Model) -> None:
        """The joint must be there, with one coordinate."""
        part = model.joint_part(self.joint)
        if part.joint.nq != 1 or part.joint.nv != 1:
            raise ValueError(f"spring of joint {self.joint!r}: it has {part.joint.nv} velocities, a spring needs one")

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """Force, and what it stores; nothing is lost."""
        joint = now.joint(self.joint)
        stretch = joint.q[0] - self.rest
        return Action(
            joint_forces=[joint.force(np.array([-self.stiffness * stretch]))],
            energy=0.5 * self.stiffness * stretch * stretch,
            power=0.0,
        )

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """That of the spring."""
        return (
            mode_of(f"spring of joint {self.joint!r}", self.stiffness, 0.0, mobility.joint(model.joint_part(self.joint).v)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRotor(Component):
    """Inertia that a joint's velocities feel besides that of bodies, as of geared rotors: a on the diagonal of the mass matrix.

    In a free joint it resists the acceleration of the origin, a (v̇ + ω × v), and that of the rotation, a ω̇, and has no weight.
    """

    kind = "joint_rotor"
    cause = "drives"
    refers = IN_JOINT

    joint: str
    """Name of the joint."""
    inertia: Positive
    """Inertia a as the joint feels it, N² J of a geared rotor [kg·m² or kg]."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def name(self) -> str:  # type: ignore[override]  # the interface's attribute, computed
        """That of the joint, and what it is."""
        return f"{self.joint}.rotor"

    @property
    def rotors(self) -> dict[str, float]:
        """Its own."""
        return {self.joint: self.inertia}

    def check(self, model: Model) -> None:
        """The joint must be there."""
        model.joint_part(self.joint)

    def act(self, now: Now, z: Values, u: Values) -> Action:
        """The inertia; in a free joint also what the turning of its axes adds, which does no work."""
        joint = now.joint(self.joint)
        forces = []
        if isinstance(joint.part.joint, joints.Free):
            v, w = joint.v[:3], joint.v[3:]
            forces = [joint.force(np.concatenate([-self.inertia * cross(w, v), np.zeros(3)]))]
        return Action(joint_forces=forces, armature=[(joint.part.v, self.inertia)])
