"""Every joint type through the interface that all of them share."""

from dataclasses import dataclass

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import joints
from hydromechs.model import MovingStep
from hydromechs.model.joints._consistency import disagreements
from hydromechs.spatial import quaternion_matrix

PLACED = hm.Origin((0.1, -0.2, 0.3), (0.4, -0.5, 0.6))
DATA = {
    "helical": [dict(pitch=0.7), dict(pitch=-0.2, axis=(1, 2, -2))],
    "revolute": [dict(axis=(0, -3, 0)), dict(axis=(1, 1, 0))],
}
DATA["prismatic"] = DATA["revolute"]
MOVING = [
    kind(placement=PLACED, **data)
    for name, kind in joints.TYPES.items()
    for data in DATA.get(name, [{}])
    if kind is not joints.Fixed
]
inertia = hm.Inertia(mass=2.0, com=(0.1, 0.0, 0.2), tensor=(1, 2, 2.5, 0, 0, 0))


@dataclass(frozen=True, kw_only=True)
class Diagonal(joints.Joint):
    """A slide along (1, 1, 0), with nothing but the methods that a joint must have."""

    unit = "m"

    def pose(self, q):
        return np.eye(3), q[0] * np.array([0.6, 0.8, 0.0])

    def subspace(self, q):
        return np.array([[0.6], [0.8], [0.0], [0.0], [0.0], [0.0]])

    def subspace_rate(self, q, v):
        return np.zeros((6, 1))


@pytest.mark.parametrize("joint", MOVING, ids=lambda joint: joint.kind)
def test_built_in_joints_obey_the_interface(joint):
    """Pose, subspace, its derivative and the chart agree, as they must for a custom joint."""
    if joint.kind != "free":  # its chart moves the position in the joint frame, so u̇ is not v at the centre
        assert list(disagreements(joint)) == []
    q = joint.random_q(np.random.default_rng(1), 5)
    assert q.shape == (5, joint.nq)
    assert len(joint.initial_q) == joint.nq == sum(len(group.names) for group in joint.coordinates)
    assert len(joint.initial_v) == joint.nv == sum(len(group.names) for group in joint.rates)
    (step,) = (step for step in joint.steps(0, 0) if isinstance(step, MovingStep))
    turns = step.turn(q.T)  # None of the general step, whose rotation is that of its pose
    for row, turn in zip(q, () if turns is None else turns.T, strict=turns is not None):
        np.testing.assert_allclose(quaternion_matrix(turn), step.transformation(row).R, atol=1e-15)


def test_a_joint_needs_no_fields():
    """The base class is enough: no limits, no friction, a start at zero; it moves as the built-in one does."""
    models = [
        hm.Model(bodies=[hm.Body(name="b", joint=joint, inertia=inertia)])
        for joint in (Diagonal(placement=PLACED), joints.Prismatic(placement=PLACED, axis=(3, 4, 0)))
    ]
    ours, theirs = (hm.forward_dynamics(model, [0.3], [0.2], [1.0]) for model in models)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    joint = models[0].joint_part("b").joint
    assert (joint.limits, joint.damping, joint.friction, joint.kind) == (None, 0.0, 0.0, "Diagonal")
    assert models[0].coordinate_names == (("b",), ("b",))
    assert hm.Simulation(models[0], step=1e-2).run(0.1).state.q.shape == (1,)


def test_the_error_of_a_foreign_table():
    model = hm.Model(bodies=[hm.Body(name="b", joint=Diagonal(), inertia=inertia)])
    with pytest.raises(hm.UnsupportedFeature, match=r"body 'b': a URDF has no Diagonal joint, only free, fixed.*; write"):
        joints.foreign(
            {joints.Free: 1, joints.Fixed: 2}, model.bodies[0].joint, "body 'b'", "a URDF", "write the model as .yaml"
        )
    assert joints.foreign({joints.Free: 1}, joints.Free(), "", "", "") == 1
