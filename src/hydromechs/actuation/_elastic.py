"""Springs that the model gives its ball joints: an umbilical's stiffness in bending and torsion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hydromechs.model import Model, joints
from hydromechs.model.component import FastMode, InJoints, Law, Mobility, Order
from hydromechs.spatial import cross, turn_between
from hydromechs.values import Array

SMALL = 1e-6
"""θ² below which c of `ElasticJoints` is 1/12 to rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticJoints(InJoints):
    """Springs and dampers in all ball joints that have a `stiffness`, at rest in their zero orientation.

        E = ½ φᵀ K φ,    τ = −J⁻ᵀ K φ − d ω,    J⁻ᵀ = 1 − ½ φ̃ + c φ̃²,    c = (1 − (θ/2) cot(θ/2))/θ²

    with the rotation vector φ from zero, of length θ, and its rate φ̇ = J⁻¹ ω; K has the stiffness about each axis of the body,
    d is the joint's damping. Angles beyond 180° count the shorter way.
    """

    kind = "elastic_joints"
    refers = MappingProxyType({"joints": "joint"})
    name: str = "elasticity"
    """Name in files and recordings."""
    joints: tuple[str, ...]
    """Names of the joints."""

    def order(self, model: Model) -> tuple[int, int]:
        """After friction."""
        return Order.SPRING, 0

    def check(self, model: Model) -> None:
        """All must be ball joints."""
        for name in self.joints:
            if not isinstance(model.joint_part(name).joint, joints.Ball):
                raise ValueError(f"joint {name!r} is no ball joint; springs of ElasticJoints act in ball joints")

    def joint_names(self, model: Model) -> Sequence[str]:
        """As given."""
        return self.joints

    def numbers(self, model: Model) -> Array:
        """Stiffness about x, y and z, and damping, shape (joints, 4)."""
        rows = []
        for name in self.joints:
            joint = model.joint_part(name).joint
            assert isinstance(joint, joints.Ball)
            rows.append([*joint.stiffness, joint.damping])
        return np.array(rows, dtype=float)

    def law(self, q: Array, v: Array, numbers: Array) -> Law:
        """See the class."""
        phi, half_cot = turn_between(np.array([1.0, 0.0, 0.0, 0.0]), q)
        square = phi @ phi
        c = (1.0 - half_cot + SMALL / 12.0) / (square + SMALL)  # 1/12 at 0; off by less than 1e-8 anywhere
        pull = numbers[:3] * phi
        across = cross(phi, pull)
        spring = pull - 0.5 * across + c * cross(phi, across)
        damper = numbers[3] * np.asarray(v)
        return Law(-spring - damper, 0.5 * (phi @ pull), -(damper @ v))

    def modes(self, model: Model, mobility: Mobility) -> Sequence[FastMode]:
        """The fastest of all together."""
        k, d = np.zeros(model.nv), np.zeros(model.nv)
        for name, (*stiffness, damping) in zip(self.joints, self.numbers(model), strict=True):
            at = model.joint_part(name).v
            k[at], d[at] = stiffness, damping
        return (FastMode("springs of ball joints", float(np.sqrt(mobility.together(k))), mobility.together(d)),)
